package import Web

/// Recognises links that end a session. A crawl that requests one continues without the session of the user, and
/// stores the public pages in place of those of the user.
package enum LogoutLinks {
    /// Whether the last part of the path, or a word of the query, means "log out" in one of the major
    /// languages.
    package static func contain(_ url: WebURL) -> Bool {
        let segments = url.path.utf8.split(separator: UInt8(ascii: "/"))
        if let last = segments.last {
            let name = last.prefix { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ";") }
            if isLogoutWord(name) { return true }
        }
        guard let query = url.query else { return false }
        return query.utf8.split {
            $0.separatesQueryItems || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":")
        }
        .contains { isLogoutWord($0) }
    }

    private static func isLogoutWord(_ word: some Collection<UInt8>) -> Bool {
        let bytes = Array(word.prefix(maxWordBytes + 1))
        guard (3...maxWordBytes).contains(bytes.count) else { return false }
        let plain = [UInt8](percentDecoding: bytes.span).filter { !separators.contains($0) }
        return words.contains(String(decoding: plain, as: UTF8.self).lowercased())
    }

    /// The maximum length of a word, including its percent escapes. Longer ones cannot be one of `words`.
    private static let maxWordBytes = 64
    /// Characters that are ignored within a word, so that `log-out` and `log_out` match.
    private static let separators = "-_+ ".utf8

    private static let words: Set<String> = [
        "logout", "logoff", "logmeout", "signout", "signoff", "userlogout", "endsession", "disconnect",
        "abmelden", "ausloggen", "deconnexion", "déconnexion", "deconnecter", "déconnecter", "sedeconnecter",
        "cerrarsesion", "cerrarsesión", "desconectar", "desconectarse", "sair", "terminarsessao",
        "terminarsessão",
        "esci", "disconnetti", "uitloggen", "afmelden", "wyloguj", "loggaut", "loggut", "logud",
        "kirjauduulos",
        "odhlasit", "odhlásit", "odhlaseni", "odhlášení", "kijelentkezes", "kijelentkezés", "cikis", "çıkış",
        "oturumukapat", "выход", "выйти", "вийти", "exitsession", "退出", "退出登录", "登出", "注销", "ログアウト",
        "로그아웃", "تسجيلالخروج", "keluar", "dangxuat", "đăngxuất",
    ]
}
