internal import Web

/// The hosts that have demanded TLS for all requests (HSTS, RFC 6797).
package struct StrictTransport: Sendable, Equatable {
    /// The demand of one host.
    struct Rule: Sendable, Equatable {
        var includesSubdomains: Bool
        /// The time when it expires.
        var end: HTTPDate
    }

    /// The rules by host name.
    var rules: [String: Rule] = [:]

    /// The maximum number of hosts whose responses add a rule. Further ones are ignored, since only an attacker
    /// uses so many names.
    private static let maxHosts = 100_000

    package init() {}

    /// Applies the value of a `Strict-Transport-Security` field. The response must have been received over
    /// TLS with a verified certificate. A malformed value changes nothing.
    mutating func applyHeader(_ value: String, from url: WebURL, now: HTTPDate) {
        guard url.scheme == "https", IPAddress(url.host) == nil, let policy = Self.parsePolicy(value) else {
            return
        }
        let host = Self.name(url.host)
        if policy.seconds == 0 {
            rules[host] = nil
        } else if rules[host] != nil || rules.count < Self.maxHosts {
            rules[host] = Rule(
                includesSubdomains: policy.includesSubdomains, end: now.adding(seconds: policy.seconds))
        }
    }

    /// The https URL to request in place of an http URL; nil if the host did not demand TLS.
    func httpsURL(for url: WebURL, now: HTTPDate) -> WebURL? {
        guard !rules.isEmpty, url.scheme == "http", covers(url.host, now: now) else { return nil }
        let port = url.port.map { ":\($0)" } ?? ""
        return WebURL("https://\(url.host)\(port)\(url.target)\(url.fragment.map { "#" + $0 } ?? "")")
    }

    /// Whether a rule of the host applies, or one of a parent domain that includes subdomains.
    private func covers(_ host: String, now: HTTPDate) -> Bool {
        guard IPAddress(host) == nil else { return false }
        var name = Self.name(host)[...]
        var isParent = false
        while true {
            if let rule = rules[String(name)], now < rule.end,
                !isParent || rule.includesSubdomains
            {
                return true
            }
            guard let dot = name.firstIndex(of: ".") else { return false }
            name = name[name.index(after: dot)...]
            isParent = true
        }
    }

    /// The host name without the dot that may end it.
    static func name(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    /// Parses the value of the field. RFC 6797, section 6.1: directives are separated by semicolons, none may
    /// occur twice, and max-age is required.
    private static func parsePolicy(_ value: String) -> (seconds: Int64, includesSubdomains: Bool)? {
        var seen: Set<String> = []
        var seconds: Int64?
        var includesSubdomains = false
        for part in value.utf8.split(separator: 0x3B) {
            let pair = part.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false).map {
                String(decoding: HTTPGrammar.trimmed($0), as: UTF8.self)
            }
            guard let name = pair.first?.lowercased(), !name.isEmpty else { continue }
            guard seen.insert(name).inserted else { return nil }
            switch name {
            case "max-age":
                guard pair.count == 2, let number = number(pair[1]) else { return nil }
                seconds = number
            case "includesubdomains":
                guard pair.count == 1 else { return nil }
                includesSubdomains = true
            default:
                // Section 6.1: unknown directives such as `preload` are ignored.
                continue
            }
        }
        return seconds.map { ($0, includesSubdomains) }
    }

    /// Parses digits with or without quotes. A number of more than 12 digits could overflow, and becomes 10^12,
    /// which is over 30,000 years.
    private static func number(_ text: String) -> Int64? {
        var digits = text.utf8[...]
        if digits.count >= 2, digits.first == 0x22, digits.last == 0x22 {
            digits = digits.dropFirst().dropLast()
        }
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        return digits.count > 12 ? 1_000_000_000_000 : Int64(String(decoding: digits, as: UTF8.self))
    }
}
