internal import Web

/// Which of a stored response's fields go out again, and how.
struct AnswerFields {
    private let layout: OriginLayout

    init(layout: OriginLayout) {
        self.layout = layout
    }

    /// The fields of an answer that stands for a stored response. Only one with a body has a tag.
    func fields(of stored: HTTPFields, base: WebURL, entityTag: String? = nil) -> [(String, String)] {
        var fields: [(String, String)] = []
        for field in stored.list {
            switch Self.treatment(of: field.name) {
            case .keep: fields.append((field.name, field.value))
            case .lead: fields.append((field.name, lead(field.value, base: base)))
            case .drop: break
            }
        }
        if let entityTag { fields.append(("ETag", entityTag)) }
        // The browser asks each time, so that a newer visit shows at once; the answer is a 304 from memory.
        fields.append(("Cache-Control", "no-cache"))
        fields.append(("Larder", "hit"))
        return fields + layout.commonFields
    }

    /// A redirect from http to https, or back, leads to itself where one local name stands for both.
    func leadToThemselves(_ stored: HTTPFields, base: WebURL) -> Bool {
        guard let location = stored["Location"].flatMap({ WebURL($0, base: base) }) else { return false }
        return layout.address(of: location.withoutFragment) == layout.address(of: base.withoutFragment)
    }

    private func lead(_ value: String, base: WebURL) -> String {
        guard let url = WebURL(value, base: base), let local = layout.address(of: url) else { return value }
        return local
    }

    private enum Treatment {
        case keep
        /// An address that must lead to the larder.
        case lead
        case drop
    }

    /// Dropped is what speaks of the connection, of a coding that is undone, of an origin's security that the mirror
    /// replaces by its own, or of addresses on the network.
    private static func treatment(of name: String) -> Treatment {
        switch String(decoding: name.utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self) {
        case "location", "content-location":
            .lead
        case "connection", "keep-alive", "proxy-authenticate", "proxy-connection", "te", "trailer", "transfer-encoding",
            "upgrade", "content-length", "content-encoding", "content-md5", "content-digest", "repr-digest", "digest",
            "etag", "cache-control", "expires", "pragma", "age", "vary", "accept-ranges", "content-range",
            "strict-transport-security", "content-security-policy", "content-security-policy-report-only",
            "x-frame-options", "cross-origin-opener-policy", "cross-origin-embedder-policy",
            "cross-origin-resource-policy", "access-control-allow-origin", "access-control-allow-credentials",
            "expect-ct", "public-key-pins", "report-to", "reporting-endpoints", "nel",
            "alt-svc", "clear-site-data", "refresh", "link", "set-cookie", "server-timing", "sourcemap", "x-sourcemap",
            "x-dns-prefetch-control":
            .drop
        default:
            .keep
        }
    }
}
