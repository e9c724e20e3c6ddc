/// A URL as parsed and serialized by the WHATWG URL standard (https://url.spec.whatwg.org).
///
/// It is stored as its serialization, which is always ASCII, with the offsets of its components. Two URLs are
/// equal if their serializations are.
///
///     WebURL("../b?q#top", base: page)   // "https://example.com/b?q#top" for the page "https://example.com/a/"
///
/// `URLParser` implements the standard's state machine. A fast path in `WebURL+Resolving.swift` handles the inputs
/// that need no encoding.
package struct WebURL: Sendable {
    /// The serialization, including the fragment.
    package let href: String
    let layout: Layout
}

extension WebURL {
    /// The scheme in lower case, without the colon.
    package var scheme: String { part(0, layout.schemeEnd) }

    /// Whether the scheme is `http` or `https`.
    package var isHTTP: Bool { layout.kind == .http || layout.kind == .https }

    /// The user name, percent-encoded as in the serialization; empty if there is none.
    package var username: String { part(layout.usernameStart, layout.usernameEnd) }

    /// The password, percent-encoded as in the serialization; empty if there is none.
    package var password: String {
        layout.passwordEnd > layout.usernameEnd ? part(layout.usernameEnd + 1, layout.passwordEnd) : ""
    }

    package var hasCredentials: Bool { layout.hostStart > layout.usernameStart }

    /// The domain in its ASCII form, the IPv4 address in dotted decimals, or the IPv6 address in brackets;
    /// empty if there is no host.
    package var host: String { part(layout.hostStart, layout.hostEnd) }

    /// The port in the serialization; nil if there is none, as for the default port of the scheme.
    package var port: Int? {
        layout.authorityEnd > layout.hostEnd ? Int(part(layout.hostEnd + 1, layout.authorityEnd)) : nil
    }

    /// The port to connect to; 0 if the scheme has none.
    package var effectivePort: Int { port ?? layout.kind.defaultPort ?? 0 }

    package var path: String { part(layout.pathStart, layout.pathEnd) }

    /// The query without the question mark; nil if there is none.
    package var query: String? {
        layout.queryEnd > layout.pathEnd ? part(layout.pathEnd + 1, layout.queryEnd) : nil
    }

    /// The fragment without the number sign; nil if there is none.
    package var fragment: String? {
        hasFragment ? part(layout.queryEnd + 1, UInt32(href.utf8.count)) : nil
    }

    /// The path and query, as in a request line.
    package var target: String { part(layout.pathStart, layout.queryEnd) }

    /// The serialized origin, such as `https://example.com:8443`; `null` for schemes with opaque origins.
    package var origin: String {
        switch layout.kind {
        case .http, .https, .ws, .wss, .ftp:
            if hasCredentials { return scheme + "://" + part(layout.hostStart, layout.authorityEnd) }
            return part(0, layout.authorityEnd)
        case .file:
            return "null"
        case .other:
            // By the standard, a blob URL has the origin of the http URL in its path.
            guard scheme == "blob", let inner = WebURL(path), inner.isHTTP else { return "null" }
            return inner.origin
        }
    }

    /// Hashes the serialization up to the end of the host and port, including any credentials.
    package func hashOrigin(into hasher: inout Hasher) { hashPrefix(to: layout.authorityEnd, into: &hasher) }

    /// Hashes the serialization up to the last slash of the path, the part that most references are resolved
    /// against.
    package func hashFolder(into hasher: inout Hasher) {
        let bytes = href.utf8.span
        var end = layout.pathEnd
        while end > layout.pathStart, bytes[Int(end) - 1] != UInt8(ascii: "/") { end -= 1 }
        hashPrefix(to: end, into: &hasher)
    }

    private func hashPrefix(to end: UInt32, into hasher: inout Hasher) {
        href.utf8.span.extracting(..<Int(end)).withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    /// Whether this is an http URL without credentials whose origin is `origin`.
    package func begins(withOrigin origin: String) -> Bool {
        Int(layout.authorityEnd) == origin.utf8.count && isHTTP && !hasCredentials
            && href.utf8.starts(with: origin.utf8)
    }

    /// The URL without its fragment, as it is requested and stored.
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

    /// The URL without fragment and credentials: the key under which responses are stored. Credentials must
    /// not be stored.
    package var key: WebURL { withoutFragment.withoutCredentials }

    /// Whether the path is opaque, as in `mailto:` and `data:` URLs, so that references cannot be resolved
    /// against it.
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
    /// The maximum length of an input; longer ones are rejected. The limit keeps offsets far below 2^32.
    package static let maxBytes = 16 << 20

    /// Parses a URL, resolved against `base` if it is relative. Returns nil if the standard defines a
    /// failure.
    package init?(_ text: String, base: WebURL? = nil) {
        self.init(utf8: text.utf8.span, base: base)
    }

    /// Parses a URL. Malformed UTF-8 is read as U+FFFD.
    ///
    /// - Parameter queryEncoding: the encoding of the document that contains the URL. Browsers encode the
    ///   query of an http URL in it.
    package init?(utf8 bytes: Span<UInt8>, base: WebURL? = nil, queryEncoding: TextEncoding = .utf8) {
        guard bytes.count <= Self.maxBytes else { return nil }
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

    /// The range without C0 controls and spaces at either end, which the standard removes.
    private static func trimmedRange(of bytes: Span<UInt8>) -> Range<Int> {
        var lower = 0
        var upper = bytes.count
        while lower < upper, bytes[lower] <= 0x20 { lower += 1 }
        while lower < upper, bytes[upper - 1] <= 0x20 { upper -= 1 }
        return lower..<upper
    }

    /// Whether the standard removes a byte anywhere in a URL.
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
    /// The offsets of the components in a serialization. Most of them are the end of a component. A component
    /// that is missing differs from an empty one by its delimiter.
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
        /// Greater than `authorityEnd` by the two bytes of `/.` if there is no host and the path begins with
        /// two slashes.
        var pathStart: UInt32 = 0
        var pathEnd: UInt32 = 0
        var queryEnd: UInt32 = 0

        var hasAuthority: Bool { authorityEnd > schemeEnd + 1 }
        var usernameStart: UInt32 { hasAuthority ? schemeEnd + 3 : schemeEnd + 1 }
        var isSpecial: Bool { kind != .other }

        /// Makes all parts of the authority empty, at the offset `start`.
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

    /// The special schemes of the standard, and all others.
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
