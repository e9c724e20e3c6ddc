/// A URL as the WHATWG standard parses and serialises it.
///
/// It is kept as its serialisation, which is always ASCII, and the places of its parts therein. Two URLs are
/// equal when their serialisations are.
package struct WebURL: Sendable {
    /// The serialisation, fragment included.
    package let href: String
    let layout: Layout
}

extension WebURL {
    /// In lower case, without the colon.
    package var scheme: String { part(0, layout.schemeEnd) }

    /// Whether the scheme is `http` or `https`.
    package var isHTTP: Bool { layout.kind == .http || layout.kind == .https }

    /// Percent-encoded, as it stands in the serialisation; empty when there is none.
    package var username: String { part(layout.usernameStart, layout.usernameEnd) }

    /// Percent-encoded, as it stands in the serialisation; empty when there is none.
    package var password: String {
        layout.passwordEnd > layout.usernameEnd ? part(layout.usernameEnd + 1, layout.passwordEnd) : ""
    }

    package var hasCredentials: Bool { layout.hostStart > layout.usernameStart }

    /// The domain in its ASCII form, the IPv4 address in dotted decimals, or the IPv6 address in brackets;
    /// empty when there is no host.
    package var host: String { part(layout.hostStart, layout.hostEnd) }

    /// The port as it stands in the URL; nil when it is the scheme's default.
    package var port: Int? {
        layout.authorityEnd > layout.hostEnd ? Int(part(layout.hostEnd + 1, layout.authorityEnd)) : nil
    }

    /// The port that a connection goes to; 0 when the scheme has none.
    package var effectivePort: Int { port ?? layout.kind.defaultPort ?? 0 }

    package var path: String { part(layout.pathStart, layout.pathEnd) }

    /// What follows the question mark; nil when there is none.
    package var query: String? {
        layout.queryEnd > layout.pathEnd ? part(layout.pathEnd + 1, layout.queryEnd) : nil
    }

    /// What follows the number sign; nil when there is none.
    package var fragment: String? {
        hasFragment ? part(layout.queryEnd + 1, UInt32(href.utf8.count)) : nil
    }

    /// Path and query, as a request line carries them.
    package var target: String { part(layout.pathStart, layout.queryEnd) }

    /// The origin's serialisation, `https://example.com:8443`; `null` for schemes that have none to compare.
    package var origin: String {
        switch layout.kind {
        case .http, .https, .ws, .wss, .ftp:
            if hasCredentials { return scheme + "://" + part(layout.hostStart, layout.authorityEnd) }
            return part(0, layout.authorityEnd)
        case .file:
            return "null"
        case .other:
            // The standard lends a blob URL the origin of the URL in its path, where that is one of http.
            guard scheme == "blob", let inner = WebURL(path), inner.isHTTP else { return "null" }
            return inner.origin
        }
    }

    /// With the credentials, where there are any.
    package func hash(originInto hasher: inout Hasher) { hash(layout.authorityEnd, into: &hasher) }

    /// Everything up to the last slash of the path, against which most references are resolved.
    package func hash(folderInto hasher: inout Hasher) {
        let bytes = href.utf8.span
        var end = layout.pathEnd
        while end > layout.pathStart, bytes[Int(end) - 1] != UInt8(ascii: "/") { end -= 1 }
        hash(end, into: &hasher)
    }

    private func hash(_ end: UInt32, into hasher: inout Hasher) {
        href.utf8.span.extracting(..<Int(end)).withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Whether its origin is this one, where that is how it begins: of others nobody knows.
    package func begins(withOrigin origin: String) -> Bool {
        Int(layout.authorityEnd) == origin.utf8.count && isHTTP && !hasCredentials
            && href.utf8.starts(with: origin.utf8)
    }

    /// The URL up to its fragment: what a request asks for and a larder keys by.
    package var withoutFragment: WebURL {
        hasFragment ? WebURL(href: part(0, layout.queryEnd), layout: layout) : self
    }

    package var withoutCredentials: WebURL {
        guard hasCredentials else { return self }
        var bare = layout
        bare.removeCredentials()
        let href = part(0, layout.usernameStart) + part(layout.hostStart, UInt32(self.href.utf8.count))
        return WebURL(href: href, layout: bare)
    }

    /// With neither fragment nor credentials: what a larder keys by. Whoever wrote a password into an address
    /// did not mean it to be kept.
    package var key: WebURL { withoutFragment.withoutCredentials }

    /// Whether the path is one opaque string, as in `mailto:` and `data:`, against which nothing can be
    /// resolved.
    package var hasOpaquePath: Bool {
        !layout.hasAuthority
            && !(layout.pathEnd > layout.pathStart && byte(at: layout.pathStart) == UInt8(ascii: "/"))
    }

    private var hasFragment: Bool { Int(layout.queryEnd) < href.utf8.count }

    private func part(_ start: UInt32, _ end: UInt32) -> String {
        let bytes = href.utf8
        let lower = bytes.index(bytes.startIndex, offsetBy: Int(start))
        return String(href[lower..<bytes.index(lower, offsetBy: Int(end - start))])
    }

    private func byte(at offset: UInt32) -> UInt8 { href.utf8.span[Int(offset)] }
}

extension WebURL: Hashable {
    package static func == (left: WebURL, right: WebURL) -> Bool { left.href == right.href }

    package func hash(into hasher: inout Hasher) { hasher.combine(href) }
}

extension WebURL: CustomStringConvertible {
    package var description: String { href }
}

extension WebURL {
    /// `about:blank`
    package static let blank: WebURL = {
        let href = "about:blank"
        var layout = Layout()
        layout.schemeEnd = 5
        layout.setAuthority(at: 6)
        layout.pathStart = 6
        layout.pathEnd = UInt32(href.utf8.count)
        layout.queryEnd = layout.pathEnd
        return WebURL(href: href, layout: layout)
    }()
}

extension WebURL {
    /// The longest input that is looked at; what is longer is no URL. Offsets fit 32 bits with room to spare.
    package static let maximumByteCount = 16 << 20

    /// The URL that `text` names, resolved against `base` when it is relative; nil when the standard calls it
    /// a failure.
    package init?(_ text: String, base: WebURL? = nil) {
        self.init(utf8: text.utf8.span, base: base)
    }

    /// The URL that `bytes` names. `queryEncoding` is the character set of the document in which it stands:
    /// browsers encode the query of an http URL in it. Malformed UTF-8 is read as U+FFFD.
    package init?(utf8 bytes: Span<UInt8>, base: WebURL? = nil, queryEncoding: TextEncoding = .utf8) {
        guard bytes.count <= Self.maximumByteCount else { return nil }
        let input = bytes.extracting(Self.trimmedRange(of: bytes))
        if let plain = WebURL(plain: input, base: base) {
            self = plain
            return
        }
        if input.indices.allSatisfy({ input[$0] < 0x80 && !Self.isTabOrNewline(input[$0]) }) {
            self.init(clean: input, base: base, queryEncoding: queryEncoding)
        } else {
            let clean = TextEncoding.repairedUTF8(input).filter { !Self.isTabOrNewline($0) }
            self.init(clean: clean.span, base: base, queryEncoding: queryEncoding)
        }
    }

    private init?(clean input: Span<UInt8>, base: WebURL?, queryEncoding: TextEncoding) {
        var parser = URLParser(
            queryEncoding: queryEncoding, capacity: input.count + (base?.href.utf8.count ?? 0) + 8)
        guard parser.parse(input, base: base) else { return nil }
        self.init(href: String(decoding: parser.output, as: UTF8.self), layout: parser.layout)
    }

    /// The range without C0 controls and spaces at either end.
    private static func trimmedRange(of bytes: Span<UInt8>) -> Range<Int> {
        var lower = 0
        var upper = bytes.count
        while lower < upper, bytes[lower] <= 0x20 { lower += 1 }
        while lower < upper, bytes[upper - 1] <= 0x20 { upper -= 1 }
        return lower..<upper
    }

    /// The standard drops these anywhere in a URL.
    private static func isTabOrNewline(_ byte: UInt8) -> Bool {
        byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension [UInt8] {
    init(copying bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer { [UInt8]($0) }
    }
}

extension WebURL {
    /// Where the parts of a serialisation stand. Each offset is one past the part that it ends, so a part
    /// that is missing altogether differs from an empty one by the delimiter before it.
    ///
    ///     https://user:word@host:8443/path?query#fragment
    ///          ↑      ↑    ↑↑   ↑    ↑    ↑     ↑
    ///          │      │    ││   │    │    │     queryEnd
    ///          │      │    ││   │    │    pathEnd
    ///          │      │    ││   │    authorityEnd, pathStart
    ///          │      │    ││   hostEnd
    ///          │      │    │hostStart
    ///          │      │    passwordEnd
    ///          │      usernameEnd
    ///          schemeEnd
    struct Layout: Sendable {
        var kind = SchemeKind.other
        var schemeEnd: UInt32 = 0
        var usernameEnd: UInt32 = 0
        var passwordEnd: UInt32 = 0
        var hostStart: UInt32 = 0
        var hostEnd: UInt32 = 0
        var authorityEnd: UInt32 = 0
        /// Past `authorityEnd` by the two bytes of `/.` when there is no host and the path begins with two
        /// slashes.
        var pathStart: UInt32 = 0
        var pathEnd: UInt32 = 0
        var queryEnd: UInt32 = 0

        var hasAuthority: Bool { authorityEnd > schemeEnd + 1 }
        var usernameStart: UInt32 { hasAuthority ? schemeEnd + 3 : schemeEnd + 1 }
        var isSpecial: Bool { kind != .other }

        /// Makes every part of the authority empty, to be filled from `start` on.
        mutating func setAuthority(at start: UInt32) {
            usernameEnd = start
            passwordEnd = start
            hostStart = start
            hostEnd = start
            authorityEnd = start
        }

        mutating func removeCredentials() {
            let length = hostStart - usernameStart
            usernameEnd = usernameStart
            passwordEnd = usernameStart
            hostStart -= length
            hostEnd -= length
            authorityEnd -= length
            movePath(by: -Int64(length))
        }

        mutating func movePath(by distance: Int64) {
            pathStart = UInt32(Int64(pathStart) + distance)
            pathEnd = UInt32(Int64(pathEnd) + distance)
            queryEnd = UInt32(Int64(queryEnd) + distance)
        }
    }

    /// The special schemes of the standard, and all the others.
    enum SchemeKind: UInt8, Sendable {
        case other, http, https, ws, wss, ftp, file

        init(_ scheme: Span<UInt8>) {
            if scheme.equalsIgnoringASCIICase("https") {
                self = .https
            } else if scheme.equalsIgnoringASCIICase("http") {
                self = .http
            } else if scheme.equalsIgnoringASCIICase("file") {
                self = .file
            } else if scheme.equalsIgnoringASCIICase("ftp") {
                self = .ftp
            } else if scheme.equalsIgnoringASCIICase("wss") {
                self = .wss
            } else if scheme.equalsIgnoringASCIICase("ws") {
                self = .ws
            } else {
                self = .other
            }
        }

        var defaultPort: Int? {
            switch self {
            case .http, .ws: 80
            case .https, .wss: 443
            case .ftp: 21
            case .file, .other: nil
            }
        }
    }
}
