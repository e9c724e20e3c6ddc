internal import Origins
internal import Web

/// Rewrites a Set-Cookie field of an origin for the origin's mirror name.
enum SetCookieLine {
    /// The cookie with the mirror's domain. Removes `Secure`, since the mirror uses http, unless the cookie's
    /// name requires it; removes `SameSite=None`, which needs `Secure`. Nil if the origin may not set the
    /// cookie.
    static func rewrite(_ value: String, of url: WebURL, layout: OriginLayout) -> String? {
        let parts = value.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map {
            String(decoding: HTTPGrammar.trimmed($0), as: UTF8.self)
        }
        let isBound = parts.first.map { $0.lowercased() }.map {
            $0.hasPrefix("__secure-") || $0.hasPrefix("__host-")
        }
        var lines: [String] = []
        for (number, part) in parts.enumerated() {
            let words = part.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1).map {
                String(decoding: HTTPGrammar.trimmed($0), as: UTF8.self)
            }
            switch number == 0 ? nil : words.first?.lowercased() {
            case "domain":
                guard words.count == 2, !words[1].isEmpty else { continue }
                guard let domain = domain(words[1].lowercased(), of: url.host, layout.names) else {
                    return nil
                }
                // The name of a site at the root is shared with no other host.
                if !(layout.root?.isRoot(url) ?? false), let name = domain { lines.append("Domain=\(name)") }
            case "secure": if isBound ?? false { lines.append(part) }
            case "samesite": if isBound ?? false || words.last?.lowercased() != "none" { lines.append(part) }
            default: lines.append(part)
            }
        }
        return lines.joined(separator: "; ")
    }

    /// The mirror name of a domain; `.some(nil)` for a host-only cookie, nil if it is refused (RFC 6265,
    /// section 5.3).
    private static func domain(_ domain: String, of host: String, _ names: OriginNames) -> String?? {
        let domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        guard let url = WebURL("http://\(domain)/") else { return nil }
        if url.host == host { return names.sharesCookies(host) ? names.name(of: url) : .some(nil) }
        guard host.hasSuffix("." + url.host), names.isSameSite(host, url.host) else { return nil }
        return names.name(of: url)
    }
}
