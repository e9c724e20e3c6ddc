/// A URL as the WHATWG standard parses and serialises it.
///
/// It is kept as its serialisation, which is always ASCII, and the places of its parts therein. Two URLs are equal
/// when their serialisations are.
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

    /// The domain in its ASCII form, the IPv4 address in dotted decimals, or the IPv6 address in brackets; empty when
    /// there is no host.
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

    /// With neither fragment nor credentials: what a larder keys by. Whoever wrote a password into an address did not mean
    /// it to be kept.
    package var key: WebURL { withoutFragment.withoutCredentials }

    /// Whether the path is one opaque string, as in `mailto:` and `data:`, against which nothing can be resolved.
    package var hasOpaquePath: Bool {
        !layout.hasAuthority && !(layout.pathEnd > layout.pathStart && byte(at: layout.pathStart) == UInt8(ascii: "/"))
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
