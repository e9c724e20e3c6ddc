/// Signs by which a page, its title or its URL shows that it asks the user to log in. Each sign alone is weak: callers
/// combine them.
package enum LoginPageSigns {
    /// Phrases in titles, in lower case.
    private static let phrases = [
        "log in", "login", "log-in", "logon", "sign in", "signin", "sign-in", "sign on", "authentication",
        "anmelden", "anmeldung", "einloggen", "connexion", "se connecter", "identification", "iniciar sesión",
        "inicio de sesión", "accedi", "accesso", "iniciar sessão", "inloggen", "logga in", "log ind",
        "kirjaudu",
        "zaloguj", "přihlášení", "вход", "войти", "giriş yap", "登录", "登入", "ログイン", "로그인",
    ].map { Array($0.utf8) }

    /// Names that indicate a login as a part of a path, without file extension, or as the first label of a
    /// host.
    private static let names: Set<String> = [
        "login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "sign-on", "auth",
        "authenticate",
        "authorize", "authentication", "sso", "saml", "saml2", "oauth", "oauth2", "oidc", "cas", "idp",
        "wp-login",
        "user_session", "users_sign_in",
    ]

    /// The rest of a longer title is ignored.
    private static let maxTitleBytes = 512

    /// Whether a title contains a phrase for logging in.
    package static func isLoginTitle(_ title: String) -> Bool {
        let bytes = title.utf8.prefix(maxTitleBytes).map(\.lowercasedASCII)
        return phrases.contains { contains($0, in: bytes) }
    }

    /// Whether the path or the host of a URL contains a name for a login.
    package static func isLoginURL(_ url: WebURL) -> Bool {
        let parts = url.path.utf8.split(separator: UInt8(ascii: "/")).map { part in
            HTTPGrammar.lowercased(part.prefix { $0 != UInt8(ascii: ".") })
        }
        let label = HTTPGrammar.lowercased(url.host.utf8.prefix { $0 != UInt8(ascii: ".") })
        return names.contains(label) || parts.contains { names.contains($0) }
    }

    /// Whether a page has an input field for a password.
    package static func hasPasswordField(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("input", in: page) { tag in contains(Array("password".utf8), in: tag) }
        }
    }

    /// Whether a page has any input field.
    package static func hasInputField(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in hasTag("input", in: page) { _ in true } }
    }

    /// Whether a page has a form with the method POST and no script, as the terms page of a captive portal.
    package static func isFormWithoutScript(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("form", in: page) { tag in contains(Array("post".utf8), in: tag) }
                && !hasTag("script", in: page) { _ in true }
        }
    }

    /// Whether a form of the page is submitted to a URL for logins.
    package static func submitsToLoginURL(_ page: Span<UInt8>) -> Bool {
        page.withUnsafeBufferPointer { page in
            hasTag("form", in: page) { tag in loginURLParts.contains { contains($0, in: tag) } }
        }
    }

    private static let loginURLParts = [
        "login", "log-in", "logon", "signin", "sign-in", "sign_in", "session", "auth",
    ]
    .map { Array($0.utf8) }

    /// Whether any tag with this name meets a condition, which gets the bytes of the tag after its name in
    /// lower case.
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

    /// The rest of a longer tag is ignored.
    private static let maxTagBytes = 2048

    private static func contains(_ phrase: [UInt8], in bytes: [UInt8]) -> Bool {
        guard bytes.count >= phrase.count else { return false }
        return (0...bytes.count - phrase.count).contains { bytes[$0...].starts(with: phrase) }
    }
}
