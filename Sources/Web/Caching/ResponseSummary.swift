/// The properties of a stored or new response by which ``ReplacementCheck`` compares them.
package struct ResponseSummary: Sendable, Equatable {
    /// How the end of the body was determined.
    package enum Ending: Sendable, Equatable {
        /// By the length in the head, or by the last chunk.
        case declared
        /// By the end of the connection, so that the body may be incomplete.
        case connection
        /// By the length, but more bytes followed: the length is wrong.
        case bytesBeyondLength
    }

    package let status: Int
    /// A digest of the body without its content coding. Equal bodies have equal digests. For a redirect, it
    /// is computed from the target.
    package let digest: UInt64
    package let byteCount: Int
    /// The media type without parameters.
    package let type: String?
    package let title: String?
    /// The target of a redirect.
    package let target: WebURL?
    package let ending: Ending
    /// Whether the response had a length or, as in HTTP/2, an explicit end.
    package let hasLength: Bool
    let isChallenge: Bool
    /// Whether the response is a page whose title asks for a login and that has a password field. False for
    /// stored responses, since it is not stored.
    package let asksForLogin: Bool
    /// Whether a stored response was fetched with credentials. False for new responses.
    package let isPrivate: Bool
    private let entityTag: String?
    private let lastModified: String?

    /// - Parameters:
    ///   - digest: 0 without a body.
    ///   - asksForLogin: the result of ``asksForLogin(_:titled:)`` for a new body.
    package init(
        _ url: WebURL, status: Int, fields: HTTPFields, digest: UInt64, byteCount: Int, title: String? = nil,
        ending: Ending = .declared, asksForLogin: Bool = false, isPrivate: Bool = false
    ) {
        self.status = status
        self.byteCount = byteCount
        self.title = title
        self.ending = ending
        let isRedirect = [301, 302, 303, 307, 308].contains(status)
        target = isRedirect ? fields["Location"].flatMap { WebURL($0, base: url)?.key } : nil
        self.digest =
            target.map { UInt64($0.href.utf8.reduce(5381) { ($0 &* 33) ^ UInt64($1) }) } ?? digest
        type = fields.contentType?.essence
        lastModified = fields["Last-Modified"]
        // Bodies with the same weak entity tag may differ in their bytes.
        entityTag = fields["ETag"].flatMap { $0.hasPrefix("W/") ? nil : $0 }
        hasLength = fields.contains("Content-Length")
        isChallenge =
            BotChallenge(status: status, fields: fields) != nil
            || title.map { BotChallenge(title: $0) != nil } ?? false
        self.asksForLogin = asksForLogin
        self.isPrivate = isPrivate
    }

    /// Whether a page asks for a login: its title says so, and it has a password field.
    package static func asksForLogin(_ body: [UInt8], titled title: String?) -> Bool {
        guard let title, LoginPageSigns.isLoginTitle(title) else { return false }
        return LoginPageSigns.hasPasswordField(body.span)
    }

    package var isHTML: Bool { type == "text/html" || type == "application/xhtml+xml" }

    /// Whether the response has a type that pages load and that is never HTML.
    var isNeverHTML: Bool {
        guard let type else { return false }
        return ["image/", "font/", "audio/", "video/"].contains { type.hasPrefix($0) }
            || type.hasSuffix("javascript") || type.hasSuffix("ecmascript")
            || ["text/css", "application/wasm", "application/font-woff"].contains(type)
    }

    /// Whether the response is a success or a redirect.
    package var isUsable: Bool { (200..<400).contains(status) }

    /// Whether the title contains a phrase for logging in.
    var hasLoginTitle: Bool { title.map(LoginPageSigns.isLoginTitle) ?? false }

    /// Whether both responses have the same validator, although their bodies differ.
    func hasSameValidator(as stored: ResponseSummary) -> Bool {
        guard digest != stored.digest else { return false }
        if let entityTag { return entityTag == stored.entityTag }
        return lastModified != nil && lastModified == stored.lastModified
    }

    /// Whether only the origin can have sent the response: a captive portal has neither the stored body nor
    /// the assets of the site.
    func provesOrigin(over stored: ResponseSummary?) -> Bool {
        guard status == 200, byteCount > 0, ending != .bytesBeyondLength else { return false }
        guard let stored, stored.isUsable else { return isNeverHTML }
        return digest == stored.digest
    }
}

/// How a new body that is shorter than the stored one relates to it.
package struct BodyComparison: Sendable, Equatable {
    /// The new body is, byte for byte, the beginning of the stored one.
    var isPrefixOfStored: Bool
    /// The stored body ends an HTML document, and the new one does not.
    var onlyStoredEnds: Bool
    /// Both bodies end an HTML document.
    var bothEnd: Bool

    package init(stored: Span<UInt8>, new: Span<UInt8>) {
        isPrefixOfStored = new.count < stored.count && Self.isEqual(stored.extracting(first: new.count), new)
        let (storedEnds, newEnds) = (Self.endsHTML(stored), Self.endsHTML(new))
        onlyStoredEnds = storedEnds && !newEnds
        bothEnd = storedEnds && newEnds
    }

    private static func isEqual(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        for index in one.indices where one[index] != other[index] { return false }
        return true
    }

    private static let maxTailBytes = 1024

    /// Whether `</html>` is near the end; comments may follow.
    private static func endsHTML(_ body: Span<UInt8>) -> Bool {
        let end = Array("</html".utf8)
        let tail = body.extracting(last: maxTailBytes)
        var matched = 0
        for index in tail.indices {
            let byte = tail[index].lowercasedASCII
            matched = byte == end[matched] ? matched + 1 : byte == end[0] ? 1 : 0
            if matched == end.count { return true }
        }
        return false
    }
}
