internal import Web

/// A cookie that an origin sets, as the larder's name for the origin can set it.
enum SetCookieLine {
    /// With its domain as the larder has that, and without `Secure` unless the cookie's name demands it: the larder speaks
    /// http. `SameSite=None` is for secure cookies alone. Nil for a cookie that its origin may not set.
    static func led(_ value: String, of url: WebURL, layout: OriginLayout) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(trimmed)
        let isBound = parts.first.map { $0.lowercased() }.map { $0.hasPrefix("__secure-") || $0.hasPrefix("__host-") }
        var kept: [String] = []
        for (number, part) in parts.enumerated() {
            let words = part.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1).map(trimmed)
            switch number == 0 ? nil : words.first?.lowercased() {
            case "domain":
                guard words.count == 2, !words[1].isEmpty else { continue }
                guard let domain = domain(words[1].lowercased(), of: url.host, layout.names) else { return nil }
                if layout.root == nil, let name = domain { kept.append("Domain=\(name)") }
            case "secure": if isBound ?? false { kept.append(part) }
            case "samesite": if isBound ?? false || words.last?.lowercased() != "none" { kept.append(part) }
            default: kept.append(part)
            }
        }
        return kept.joined(separator: "; ")
    }

    /// The name of a domain; `.some(nil)` where the cookie is its host's alone, nil where it is refused (RFC 6265, section
    /// 5.3).
    private static func domain(_ domain: String, of host: String, _ names: OriginNames) -> String?? {
        let domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        guard let url = WebURL("http://\(domain)/") else { return nil }
        if url.host == host { return names.sharesCookies(host) ? names.name(of: url) : .some(nil) }
        guard host.hasSuffix("." + url.host), names.isSameSite(host, url.host) else { return nil }
        return names.name(of: url)
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        return String(decoding: text.drop(while: isSpace).reversed().drop(while: isSpace).reversed(), as: UTF8.self)
    }
}
