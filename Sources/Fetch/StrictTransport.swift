internal import System
package import Web

/// The hosts that have demanded TLS for all requests (HSTS, RFC 6797).
package struct StrictTransport: Sendable, Equatable {
    /// The demand of one host.
    struct Rule: Sendable, Equatable {
        var includesSubdomains: Bool
        /// The time when it expires; nil if never.
        var end: HTTPDate?
    }

    /// The rules by host name.
    var rules: [String: Rule] = [:]

    /// The maximum number of hosts whose responses add a rule. Further ones are ignored, since only an attacker
    /// uses so many names.
    private static let maxHosts = 100_000

    package init() {}

    /// Applies the value of a `Strict-Transport-Security` field. The response must have been received over
    /// TLS with a verified certificate. A malformed value changes nothing.
    package mutating func applyHeader(_ value: String, from url: WebURL, now: HTTPDate) {
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
    package func httpsURL(for url: WebURL, now: HTTPDate) -> WebURL? {
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
            if let rule = rules[String(name)], rule.end.map({ now < $0 }) ?? true,
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
            let pair = part.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false).map(
                trimmed)
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

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        var text = text
        while let first = text.first, first == 0x20 || first == 0x09 { text.removeFirst() }
        while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
        return String(decoding: text, as: UTF8.self)
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

/// The file format of curl's `--hsts`. Each line has a host, with a dot before it to include subdomains, and
/// the time when the rule expires, in quotes.
extension StrictTransport {
    /// The maximum size of a file in bytes. Loading a larger one fails.
    private static let maxFileBytes = 16 * 1024 * 1024

    /// Adds the rules of a file. Like curl, it skips invalid lines. Throws if the file cannot be read.
    package mutating func load(_ path: String) throws(FetchFailure) {
        let bytes = try FetchFailure.wrapping { () throws(SystemError) in
            try WholeFile.read(path, atMost: Self.maxFileBytes)
        }
        for line in bytes.split(separator: 0x0A) { add(String(decoding: line, as: UTF8.self)) }
    }

    /// Replaces a file with these rules.
    package func save(_ path: String) throws(FetchFailure) {
        try FetchFailure.wrapping { () throws(SystemError) in try WholeFile.replace(path, with: text) }
    }

    /// Adds the rule of a line. Does nothing if the line is invalid.
    mutating func add(_ line: String) {
        guard !line.hasPrefix("#") else { return }
        let parts = line.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard parts.count == 2 else { return }
        let includesSubdomains = parts[0].hasPrefix(".")
        let host = Self.name(String(parts[0].drop { $0 == "." })).lowercased()
        let date = parts[1].filter { $0 != "\"" && $0 != "\r" }
        guard !host.isEmpty else { return }
        if date == "unlimited" {
            rules[host] = Rule(includesSubdomains: includesSubdomains, end: nil)
        } else if let end = Self.date(date) {
            rules[host] = Rule(includesSubdomains: includesSubdomains, end: end)
        }
    }

    /// The contents of the file.
    var text: String {
        rules.sorted { $0.key < $1.key }.reduce(into: "# Hosts that are requested over TLS only\n") {
            text, entry in
            let end = entry.value.end.map(Self.compact) ?? "unlimited"
            text += "\(entry.value.includesSubdomains ? "." : "")\(entry.key) \"\(end)\"\n"
        }
    }

    /// Parses a date such as `20261231 23:59:59`, in UTC.
    private static func date(_ text: String) -> HTTPDate? {
        let parts = text.split(separator: " ")
        guard parts.count == 2, parts[0].utf8.count == 8, parts[0].utf8.allSatisfy(\.isASCIIDigit) else {
            return nil
        }
        return HTTPDate(
            iso8601:
                "\(parts[0].prefix(4))-\(parts[0].dropFirst(4).prefix(2))-\(parts[0].suffix(2))T\(parts[1])Z")
    }

    private static func compact(_ date: HTTPDate) -> String {
        let parts = date.iso8601.dropLast().split(separator: "T")
        return parts[0].filter { $0 != "-" } + " " + (parts.last ?? "")
    }
}
