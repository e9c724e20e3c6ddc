internal import Web

/// Links that end a session: whoever follows one goes on as nobody, and hears so of every page after.
enum SessionEnd {
    /// Whether the last word of the path, or a word of the query, says so in one of the great languages.
    static func isAt(_ url: WebURL) -> Bool {
        let segments = url.path.utf8.split(separator: UInt8(ascii: "/"))
        if let last = segments.last {
            let name = last.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ";") }
            if isEnd(name) { return true }
        }
        guard let query = url.query else { return false }
        return query.utf8.split { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }
            .contains { isEnd($0) }
    }

    private static func isEnd(_ word: some Collection<UInt8>) -> Bool {
        let bytes = Array(word.prefix(longest + 1))
        guard (3...longest).contains(bytes.count) else { return false }
        let plain = [UInt8](percentDecoding: bytes.span).filter { !separators.contains($0) }
        return words.contains(String(decoding: plain, as: UTF8.self).lowercased())
    }

    private static let longest = 64
    private static let separators = "-_+ ".utf8

    private static let words: Set<String> = [
        "logout", "logoff", "logmeout", "signout", "signoff", "userlogout", "endsession", "disconnect",
        "abmelden", "ausloggen", "deconnexion", "déconnexion", "deconnecter", "déconnecter", "sedeconnecter",
        "cerrarsesion", "cerrarsesión", "desconectar", "desconectarse", "sair", "terminarsessao", "terminarsessão",
        "esci", "disconnetti", "uitloggen", "afmelden", "wyloguj", "loggaut", "loggut", "logud", "kirjauduulos",
        "odhlasit", "odhlásit", "odhlaseni", "odhlášení", "kijelentkezes", "kijelentkezés", "cikis", "çıkış",
        "oturumukapat", "выход", "выйти", "вийти", "exitsession", "退出", "退出登录", "登出", "注销", "ログアウト",
        "로그아웃", "تسجيلالخروج", "keluar", "dangxuat", "đăngxuất",
    ]
}
