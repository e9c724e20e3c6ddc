/// The properties of a stored or new response that ``ReplacementCheck`` uses.
package struct JudgedResponse: Sendable, Equatable {
    /// How the end of a body was told.
    package enum Ending: Sendable, Equatable {
        /// By its head, or by the last chunk.
        case declared
        /// By the end of the connection: nothing says whether it is whole.
        case connection
        /// By its length, and more bytes came: the length is wrong.
        case bytesBeyondLength
    }

    package let status: Int
    /// Of the body without its content coding; equal for equal bodies. That of a redirect is its target's.
    package let digest: UInt64
    package let byteCount: Int
    /// The media type without parameters.
    package let type: String?
    package let title: String?
    /// The target of a redirect.
    package let target: WebURL?
    package let ending: Ending
    /// The response had a length or, as HTTP/2 does, an end of its own.
    package let hasLength: Bool
    package let isChallenge: Bool
    /// A page whose title asks for a login, with a field for a password. Not known of stored responses.
    package let asksForLogin: Bool
    /// Whether a stored response was fetched with credentials. False for new responses.
    package let isPrivate: Bool
    private let entityTag: String?
    private let lastModified: String?

    /// - Parameters:
    ///   - digest: 0 without a body.
    ///   - asksForLogin: what ``asksForLogin(_:titled:)`` says of a new body.
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
        // A weak one is the same for bodies that differ in their bytes.
        entityTag = fields["ETag"].flatMap { $0.hasPrefix("W/") ? nil : $0 }
        hasLength = fields.contains("Content-Length")
        isChallenge =
            fields["cf-mitigated"] == "challenge" || title.map { Self.challenges.contains($0) } ?? false
        self.asksForLogin = asksForLogin
        self.isPrivate = isPrivate
    }

    /// Whether a page asks for a login: its title says so, and it has a field for a password.
    package static func asksForLogin(_ body: [UInt8], titled title: String?) -> Bool {
        guard let title, LoginWords.areSaid(in: title) else { return false }
        return LoginWords.isAsked(in: body.span)
    }

    /// The titles of pages by which networks and services ask for a browser.
    private static let challenges: Set<String> = [
        "Just a moment...", "Attention Required! | Cloudflare", "DDoS-Guard", "Verifying your browser...",
        "Checking your browser", "Human Verification",
    ]

    package var isHTML: Bool { type == "text/html" || type == "application/xhtml+xml" }

    /// Something that a page loads and that is never HTML.
    package var isNoDocument: Bool {
        guard let type else { return false }
        return ["image/", "font/", "audio/", "video/"].contains { type.hasPrefix($0) }
            || type.hasSuffix("javascript") || type.hasSuffix("ecmascript")
            || ["text/css", "application/wasm", "application/font-woff"].contains(type)
    }

    /// Whether a reader gets something of it.
    package var isUsable: Bool { (200..<400).contains(status) }

    package var isTitledLogin: Bool { title.map(LoginWords.areSaid) ?? false }

    /// Whether the server gives both the same validators, although their bodies differ.
    func hasSameVersion(as stored: JudgedResponse) -> Bool {
        guard digest != stored.digest else { return false }
        if let entityTag { return entityTag == stored.entityTag }
        return lastModified != nil && lastModified == stored.lastModified
    }

    /// Whether only the origin can have sent it: a portal has neither the stored body nor the assets of the site.
    func provesOrigin(over stored: JudgedResponse?) -> Bool {
        guard status == 200, byteCount > 0, ending != .bytesBeyondLength else { return false }
        guard let stored, stored.isUsable else { return isNoDocument }
        return digest == stored.digest
    }
}

/// How a new body that is shorter than the stored one relates to it.
package struct BodyComparison: Sendable, Equatable {
    /// The new body is, byte for byte, the beginning of the stored one.
    package var isBeginning: Bool
    /// The stored body ends a document of HTML, and the new one does not.
    package var lacksEnd: Bool

    package init(stored: Span<UInt8>, new: Span<UInt8>) {
        isBeginning = new.count < stored.count && Self.isEqual(stored.extracting(first: new.count), new)
        lacksEnd = Self.endsHTML(stored) && !Self.endsHTML(new)
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
