internal import Web

/// Which of a stored response's fields go out again, and how.
struct AnswerFields {
    private let layout: OriginLayout
    /// Clients may keep what they get, by the server's own word.
    let isProxy: Bool

    init(layout: OriginLayout, isProxy: Bool = false) {
        self.layout = layout
        self.isProxy = isProxy
    }

    /// The fields of an answer that stands for a stored response. Only one with a body has a tag.
    func fields(
        of stored: HTTPFields, base: WebURL, source: AnswerSource, entityTag: String? = nil
    ) -> [(String, String)] {
        var fields: [(String, String)] = []
        for field in stored.list {
            switch Self.treatment(of: field.name) {
            case .cache: if isProxy { fields.append((field.name, field.value)) }
            case .keep: fields.append((field.name, field.value))
            case .address: fields.append((field.name, led(field.value, base: base)))
            case .links: fields.append((field.name, ledLinks(field.value, base: base)))
            case .refresh: fields.append((field.name, ledRefresh(field.value, base: base)))
            case .drop: break
            }
        }
        if let entityTag { fields.append(("ETag", entityTag)) }
        return fields + ownFields(source)
    }

    /// What every copy says, beside what was stored.
    func ownFields(_ source: AnswerSource) -> [(String, String)] {
        // The browser asks each time, so that a newer visit shows at once; the answer is a 304 from memory.
        (isProxy ? [] : [("Cache-Control", "no-cache")]) + [("Larder", source.text)] + layout.commonFields
    }

    /// Whether a redirect leads to where it was asked for: from http to https, say, where one local name stands for both.
    func isLed(_ stored: HTTPFields, from base: WebURL, to asked: WebURL) -> Bool {
        guard let location = stored["Location"].flatMap({ WebURL($0, base: base) }) else { return false }
        return layout.address(of: location.withoutFragment) == layout.address(of: asked.withoutFragment)
    }

    private func led(_ value: String, base: WebURL) -> String {
        guard let url = WebURL(value, base: base), let local = layout.address(of: url) else { return value }
        return local
    }

    /// RFC 8288: what stands between angle brackets.
    private func ledLinks(_ value: String, base: WebURL) -> String {
        var bytes = Array(value.utf8)
        for link in LinkField.parse(value).reversed() {
            bytes.replaceSubrange(link.targetRange, with: led(link.target, base: base).utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func ledRefresh(_ value: String, base: WebURL) -> String {
        guard let refresh = RefreshDirective(value), let range = refresh.urlRange, let url = refresh.url else {
            return value
        }
        var bytes = Array(value.utf8)
        bytes.replaceSubrange(range, with: led(url, base: base).utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    private enum Treatment {
        case keep
        /// An address that must lead to the larder, and those of `Link` and `Refresh`.
        case address, links, refresh
        /// What a cache goes by.
        case cache
        case drop
    }

    /// Dropped is what speaks of the connection, of a coding that is undone, of an origin's security that the mirror
    /// replaces by its own, or of addresses on the network.
    private static func treatment(of name: String) -> Treatment {
        switch String(decoding: name.utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self) {
        case "location", "content-location": .address
        case "link": .links
        case "refresh": .refresh
        case "cache-control", "expires", "pragma", "age", "vary": .cache
        case "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding",
            "upgrade", "content-length", "content-encoding", "content-md5", "content-digest", "repr-digest", "digest",
            "etag", "accept-ranges", "content-range",
            "strict-transport-security", "content-security-policy", "content-security-policy-report-only",
            "x-frame-options", "cross-origin-opener-policy", "cross-origin-embedder-policy",
            "cross-origin-resource-policy", "access-control-allow-origin", "access-control-allow-credentials",
            "expect-ct", "public-key-pins", "report-to", "reporting-endpoints", "nel",
            "alt-svc", "clear-site-data", "set-cookie", "server-timing", "sourcemap", "x-sourcemap", "larder",
            "x-dns-prefetch-control":
            .drop
        default:
            .keep
        }
    }
}
