/// A robots.txt as RFC 9309 reads it, for all user agents.
///
/// Lenient where Google's parser is: misspelt names of records, spaces instead of the colon. Only the first 500 KiB are
/// looked at.
package struct RobotsFile: Sendable {
    /// The URLs of `Sitemap` records as written (some are relative), each once, in order. They belong to no group.
    package private(set) var sitemaps: [String] = []
    /// Whether the file went on beyond what is looked at.
    package let isTruncated: Bool

    private var groups: [Group] = []

    private struct Group {
        var agents: [String] = []
        var rules: [RobotsRules.Rule] = []
        /// A delay holds for the agents named above it; others may still join the group below.
        var delays: [(agentCount: Int, seconds: Double)] = []

        /// Of several delays the longest counts.
        func delay(of agent: String) -> Double? {
            guard let index = agents.firstIndex(of: agent) else { return nil }
            return delays.lazy.filter { $0.agentCount > index }.map { $0.seconds }.max()
        }
    }

    /// The least that section 2.5 has a crawler parse, and the most that this one does.
    static let byteLimit = 500 * 1024
    /// Longer lines are cut here, where Google's parser cuts them: eight times the longest URL of old browsers.
    static let lineLimit = 2083 * 8 - 1

    /// Reads a body in UTF-8, or in UTF-16 when it begins with that byte order mark.
    package init(_ body: Span<UInt8>) {
        isTruncated = body.count > Self.byteLimit
        let bytes = body.extracting(first: Self.byteLimit).withUnsafeBufferPointer { Self.utf8($0) }
        var lines = RobotsLines(bytes, isCut: isTruncated)
        var isCollectingAgents = false
        while let line = lines.next() {
            switch line.record {
            case .userAgent:
                if !isCollectingAgents { groups.append(Group()) }
                isCollectingAgents = true
                if let token = Self.productToken(line.value) { groups[groups.count - 1].agents.append(token) }
            case .allow, .disallow:
                guard !groups.isEmpty else { continue }
                isCollectingAgents = false
                let rules = RobotsRules.Rule.rules(
                    isAllow: line.record == .allow, pattern: line.value, line: line.number)
                groups[groups.count - 1].rules.append(contentsOf: rules)
            case .crawlDelay:
                guard !groups.isEmpty, let seconds = Self.seconds(line.value) else { continue }
                let last = groups.count - 1
                groups[last].delays.append((groups[last].agents.count, seconds))
            case .sitemap:
                let url = HTTPGrammar.text(line.value)
                if !url.isEmpty { sitemaps.append(url) }
            }
        }
        var seen: Set<String> = []
        sitemaps = sitemaps.filter { seen.insert($0).inserted }
    }

    /// What holds for the agent with this product token (`Larder`, without a version): all groups that name it taken
    /// together, in any case of letters, or else all groups of `*`, or else no rule at all.
    package func rules(for productToken: String) -> RobotsRules {
        let token = HTTPGrammar.lowercased(productToken.utf8)
        let named = groups.filter { $0.agents.contains(token) }
        let key = named.isEmpty ? "*" : token
        let chosen = named.isEmpty ? groups.filter { $0.agents.contains("*") } : named
        return RobotsRules(chosen.flatMap { $0.rules }, crawlDelay: chosen.compactMap { $0.delay(of: key) }.max())
    }

    /// The token in lower case, `*`, or nil. What follows the token, a version or a second word, does not count.
    /// Digits belong to it, although the grammar leaves them out: bots are called `MJ12bot`.
    private static func productToken(_ value: ArraySlice<UInt8>) -> String? {
        if value.first == 0x2A {
            let second = value.dropFirst().first
            return second.map(HTTPGrammar.isSpace) ?? true ? "*" : nil
        }
        let token = value.prefix {
            $0.isASCIIAlphanumeric || $0 == 0x2D || $0 == 0x5F
        }
        return token.isEmpty ? nil : HTTPGrammar.lowercased(token)
    }

    /// A decimal number of seconds, at most 2^31; what follows the number does not count.
    private static func seconds(_ value: ArraySlice<UInt8>) -> Double? {
        let whole = value.prefix(while: \.isASCIIDigit)
        let rest = value.dropFirst(whole.count)
        let fraction = rest.first == 0x2E ? rest.dropFirst().prefix(while: \.isASCIIDigit).prefix(6) : []
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        let scaled = fraction.reversed().reduce(0.0) { ($0 + Double($1 - 0x30)) / 10 }
        return Double(HTTPGrammar.cappedInteger(whole) ?? 0) + scaled
    }

    private static func utf8(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return Array(bytes.dropFirst(3)) }
        let isBigEndian = bytes.starts(with: [0xFE, 0xFF])
        guard isBigEndian || bytes.starts(with: [0xFF, 0xFE]) else { return Array(bytes) }
        let units = stride(from: 2, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        return Array(String(decoding: units, as: UTF16.self).utf8)
    }
}
