/// Tests for single signs of a login page in a URL, a title or the HTML of a page.
///
/// Each test is a heuristic that also matches other pages: "a design on paper" contains "sign on". Callers combine
/// several signs, for example a title and a password field. The tests search bytes and do not parse HTML, so they
/// also find tags in comments and scripts.
package enum LoginPageSigns {
    /// Phrases in titles. ASCII letters are in lower case; other letters must match exactly.
    private static let titlePhrases = [
        "log in", "login", "log-in", "logon", "sign in", "signin", "sign-in", "sign on", "authentication",
        "anmelden", "anmeldung", "einloggen", "connexion", "se connecter", "identification", "iniciar sesión",
        "inicio de sesión", "accedi", "accesso", "iniciar sessão", "inloggen", "logga in", "log ind",
        "kirjaudu",
        "zaloguj", "přihlášení", "вход", "войти", "giriş yap", "登录", "登入", "ログイン", "로그인",
    ].map { Array($0.utf8) }

    /// Names that indicate a login page as a whole segment of a path, not counting a file extension, or as the first
    /// label of a host: `/account/login.php`, `https://sso.example.com/`.
    private static let urlNames: Set<String> = [
        "login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "sign-on", "auth",
        "authenticate",
        "authorize", "authentication", "sso", "saml", "saml2", "oauth", "oauth2", "oidc", "cas", "idp",
        "wp-login",
        "user_session", "users_sign_in",
    ]

    /// Longer titles are searched up to this length.
    private static let maxTitleBytes = 512

    /// Whether a title contains a phrase for logging in.
    package static func isLoginTitle(_ title: String) -> Bool {
        let bytes = Array(String(decoding: title.utf8.prefix(maxTitleBytes), as: UTF8.self).lowercased().utf8)
        return titlePhrases.contains { contains($0, in: bytes) }
    }

    /// Whether a segment of the path or the first label of the host is one of the names for login pages.
    package static func isLoginURL(_ url: WebURL) -> Bool {
        let segments = url.path.utf8.split(separator: UInt8(ascii: "/")).map { segment in
            HTTPGrammar.lowercased(segment.prefix { $0 != UInt8(ascii: ".") })
        }
        let label = HTTPGrammar.lowercased(url.host.utf8.prefix { $0 != UInt8(ascii: ".") })
        return urlNames.contains(label) || segments.contains { urlNames.contains($0) }
    }

    /// Whether a page has an `<input>` tag that contains "password", as its type or anywhere else, such as in its name.
    package static func hasPasswordField(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("input", in: page) { tag in contains(Array("password".utf8), in: tag) }
        }
    }

    /// Whether a page has any `<input>` tag. A login in several steps asks only for a name on its first page.
    package static func hasInputField(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in hasTag("input", in: page) { _ in true } }
    }

    /// Whether a page has no script and a `<form>` tag that contains "post", usually as its method. The terms page of a
    /// captive portal is such a page.
    package static func isFormWithoutScript(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("form", in: page) { tag in contains(Array("post".utf8), in: tag) }
                && !hasTag("script", in: page) { _ in true }
        }
    }

    /// Whether a `<form>` tag of the page contains a word for logins, usually in its `action` URL.
    package static func hasLoginForm(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("form", in: page) { tag in formWords.contains { contains($0, in: tag) } }
        }
    }

    /// Words in the `action` URL of a login form.
    private static let formWords = [
        "login", "log-in", "logon", "signin", "sign-in", "sign_in", "session", "auth",
    ]
    .map { Array($0.utf8) }

    /// Whether any start tag with this name meets a condition. The condition gets the bytes between the name and the
    /// next `>`, with ASCII letters in lower case.
    private static func hasTag(
        _ name: String, in page: UnsafeBufferPointer<UInt8>, where condition: ([UInt8]) -> Bool
    ) -> Bool {
        let name = Array(name.utf8)
        var rest = page[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            guard rest.count > name.count,
                zip(rest, name).allSatisfy({ $0.lowercasedASCII == $1 }),
                !rest[rest.startIndex + name.count].isASCIIAlphanumeric
            else { continue }
            let tag = rest.dropFirst(name.count).prefix(maxTagBytes).prefix { $0 != UInt8(ascii: ">") }
            if condition(tag.map(\.lowercasedASCII)) { return true }
        }
        return false
    }

    /// Longer tags are searched up to this length.
    private static let maxTagBytes = 2048

    private static func contains(_ phrase: [UInt8], in bytes: [UInt8]) -> Bool {
        guard bytes.count >= phrase.count else { return false }
        return (0...bytes.count - phrase.count).contains { bytes[$0...].starts(with: phrase) }
    }
}
