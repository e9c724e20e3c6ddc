/// A robots.txt file, parsed by RFC 9309 for all user agents.
///
/// Accepts the same errors as Google's parser: misspelt record names, and spaces instead of the colon. Only
/// the first 500 KiB are read.
package struct RobotsFile: Sendable {
    /// The URLs of `Sitemap` records as written, in order and without repetitions. Some are relative. They
    /// apply to all agents.
    package private(set) var sitemaps: [String] = []
    /// Whether the file is longer than `maxBytes`, so that its end was not read.
    package let isTruncated: Bool

    private var groups: [Group] = []

    /// A group of rules and the user agents that they apply to.
    private struct Group {
        var agents: [String] = []
        var rules: [RobotsRules.Rule] = []
        /// The delays. Each applies to the agents that were named before it; more agents can be added to the
        /// group after it.
        var delays: [(agentCount: Int, seconds: Double)] = []

        /// The delay of an agent. If there are several, the longest one.
        func delay(of agent: String) -> Double? {
            guard let index = agents.firstIndex(of: agent) else { return nil }
            return delays.lazy.filter { $0.agentCount > index }.map { $0.seconds }.max()
        }
    }

    /// Reads no more than this, the minimum that RFC 9309, section 2.5, requires.
    static let maxBytes = 500 * 1024
    /// Longer lines are truncated to this, as in Google's parser: eight times the longest URL of old browsers.
    static let maxLineBytes = 2083 * 8 - 1

    /// Parses a file in UTF-8, or in UTF-16 if it has its byte order mark.
    package init(_ body: Span<UInt8>) {
        isTruncated = body.count > Self.maxBytes
        let bytes = body.extracting(first: Self.maxBytes).withUnsafeBufferPointer { Self.utf8($0) }
        var lines = RobotsLines(bytes, isTruncated: isTruncated)
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

    /// Returns the rules for the agent with a product token (`Larder`, without a version): those of all
    /// groups that name it, regardless of case. If there are none, those of all groups for `*`; else none.
    package func rules(for productToken: String) -> RobotsRules {
        let token = HTTPGrammar.lowercased(productToken.utf8)
        let named = groups.filter { $0.agents.contains(token) }
        let key = named.isEmpty ? "*" : token
        let chosen = named.isEmpty ? groups.filter { $0.agents.contains("*") } : named
        return RobotsRules(
            chosen.flatMap { $0.rules }, crawlDelay: chosen.compactMap { $0.delay(of: key) }.max())
    }

    /// The token in lower case, `*`, or nil. Text after the token, such as a version or a second word, is
    /// ignored. Digits belong to the token although the grammar excludes them, since there are bots such as
    /// `MJ12bot`.
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

    /// Parses a decimal number of seconds, at most 2^31. Text after the number is ignored.
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

// MARK: - RobotsLines

/// The records of a robots.txt file, line by line. Lines end with LF, CR or CRLF.
struct RobotsLines {
    /// The records that Larder evaluates.
    enum Record {
        case userAgent
        case allow
        case disallow
        case crawlDelay
        case sitemap
    }

    /// A line with a known record.
    struct Line {
        let record: Record
        /// The value without comments and surrounding spaces.
        let value: ArraySlice<UInt8>
        /// Counted from 1.
        let number: Int
    }

    private let bytes: [UInt8]
    private let isTruncated: Bool
    private var at = 0
    private var number = 0

    /// Creates a reader. If the text was cut off, it skips the last line: half a path would forbid or allow
    /// too much.
    init(_ bytes: [UInt8], isTruncated: Bool) {
        self.bytes = bytes
        self.isTruncated = isTruncated
    }

    /// The next line with a known record; nil at the end.
    mutating func next() -> Line? {
        while at < bytes.count {
            let start = at
            while at < bytes.count, bytes[at] != 0x0A, bytes[at] != 0x0D { at += 1 }
            if isTruncated, at == bytes.count { return nil }
            let line = bytes[start..<min(at, start + RobotsFile.maxLineBytes)]
            if at + 1 < bytes.count, bytes[at] == 0x0D, bytes[at + 1] == 0x0A { at += 1 }
            at += 1
            number += 1
            if let (record, value) = Self.parse(line) {
                return Line(record: record, value: value, number: number)
            }
        }
        return nil
    }

    private static func parse(_ line: ArraySlice<UInt8>) -> (Record, ArraySlice<UInt8>)? {
        let text = HTTPGrammar.trimmed(line.prefix { $0 != 0x23 })
        if let colon = text.firstIndex(of: 0x3A) {
            let name = HTTPGrammar.trimmed(text[..<colon])
            let value = HTTPGrammar.trimmed(text[(colon + 1)...])
            if let record = record(name) { return (record, value) }
            return isBareSitemap(name, value) ? (.sitemap, text) : nil
        }
        // Without a colon, spaces may replace it if they split the line into exactly two words.
        let words = text.split(maxSplits: 2, whereSeparator: HTTPGrammar.isSpace)
        guard words.count == 2, let record = record(words[0]) else { return nil }
        return (record, words[1])
    }

    private static func record(_ name: ArraySlice<UInt8>) -> Record? {
        guard name.count <= 16 else { return nil }
        return names[HTTPGrammar.lowercased(name)]
    }

    private static let names: [String: Record] = [
        "user-agent": .userAgent, "useragent": .userAgent, "user agent": .userAgent, "user_agent": .userAgent,
        "user-agents": .userAgent, "useg-agent": .userAgent, "ser-agent": .userAgent,
        "disallow": .disallow, "dissallow": .disallow, "dissalow": .disallow, "disalow": .disallow,
        "diasllow": .disallow, "disallaw": .disallow, "desallow": .disallow, "dis-allow": .disallow,
        "allow": .allow,
        "crawl-delay": .crawlDelay, "crawldelay": .crawlDelay, "crawl delay": .crawlDelay,
        "sitemap": .sitemap, "site-map": .sitemap, "sitemaps": .sitemap,
    ]

    /// Whether the line is the URL of a sitemap without the name of the record.
    private static func isBareSitemap(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool {
        let scheme = HTTPGrammar.lowercased(name.prefix(6))
        return (scheme == "http" || scheme == "https") && value.starts(with: [0x2F, 0x2F])
            && HTTPGrammar.lowercased(value).contains("sitemap")
    }
}

// MARK: - RobotsRules

/// The rules of a robots.txt for one user agent.
package struct RobotsRules: Sendable {
    /// An `Allow` or `Disallow` rule.
    package struct Rule: Sendable, CustomStringConvertible {
        package let isAllow: Bool
        /// The pattern as written, to show to users.
        package let text: String
        /// The line in the file, counted from 1.
        package let line: Int
        let pattern: RobotsPattern

        /// The rule as shown to users: `Disallow: /private/ (line 12)`.
        package var description: String { "\(isAllow ? "Allow" : "Disallow"): \(text) (line \(line))" }

        /// The rules for a record: none without a pattern. `Allow: …/index.html` adds a second rule for the
        /// folder itself, as in Google's parser.
        static func rules(isAllow: Bool, pattern: ArraySlice<UInt8>, line: Int) -> [Rule] {
            guard !pattern.isEmpty else { return [] }
            let text = HTTPGrammar.text(pattern)
            var rules = [Rule(isAllow: isAllow, text: text, line: line, pattern: RobotsPattern(pattern))]
            if isAllow, let slash = pattern.lastIndex(of: 0x2F),
                pattern[slash...].starts(with: "/index.htm".utf8)
            {
                let folder = Array(pattern[...slash]) + [0x24]
                rules.append(Rule(isAllow: true, text: text, line: line, pattern: RobotsPattern(folder[...])))
            }
            return rules
        }
    }

    /// The time between requests that the file asks for, in seconds.
    package let crawlDelay: Double?
    /// The rules, the longest patterns first and `Allow` before `Disallow` for equal lengths, so that the
    /// first rule that matches decides.
    private let rules: [Rule]

    init(_ rules: [Rule], crawlDelay: Double?) {
        self.crawlDelay = crawlDelay
        self.rules = rules.sorted {
            $0.pattern.length == $1.pattern.length
                ? $0.isAllow && !$1.isAllow : $0.pattern.length > $1.pattern.length
        }
    }

    /// The rules if there is no robots.txt (RFC 9309, section 2.3.1.3).
    package static let allowsAll = RobotsRules([], crawlDelay: nil)

    /// Whether the agent may request a path with its query, such as `/a/b?c`. Percent-encoding is normalized
    /// in both the path and the rules. An empty target means `/`; `/robots.txt` is always allowed.
    package func allows(_ target: String) -> Bool { decidingRule(for: target)?.isAllow ?? true }

    /// The rule that decides about a path with its query; nil if none matches, so that it is allowed.
    package func decidingRule(for target: String) -> Rule? {
        if rules.isEmpty || target == "/robots.txt" { return nil }
        let path = target.isEmpty ? [0x2F] : RobotsPattern.normalized(target.utf8, isPattern: false)
        return path.withUnsafeBytes { path in rules.first { $0.pattern.matches(path) } }
    }
}

// MARK: - RobotsPattern

/// The path pattern of a rule, split at its wildcards. Matching takes time linear in the path, regardless of
/// the number of wildcards.
struct RobotsPattern: Sendable {
    /// The normalized text without stars and without `$` at its end.
    private let literals: [UInt8]
    /// The ranges of the texts between stars in `literals`. The first one matches at the beginning of the
    /// path, unless there is a star before it.
    private let pieces: [Range<Int>]
    /// The failure table of Knuth-Morris-Pratt search for each piece; see `failureTable(of:_:)`.
    private let failureTable: [UInt32]
    private let beginsWithStar: Bool
    private let endsWithStar: Bool
    private let isAnchoredAtEnd: Bool
    /// The length of the normalized pattern in bytes, including wildcards. The longest pattern that matches
    /// decides.
    let length: Int

    init(_ text: ArraySlice<UInt8>) {
        let normalized = Self.normalized(text, isPattern: true)
        length = normalized.count
        isAnchoredAtEnd = normalized.last == 0x24
        let body = isAnchoredAtEnd ? normalized.dropLast() : normalized[...]
        beginsWithStar = body.first == 0x2A
        endsWithStar = body.last == 0x2A
        var literals: [UInt8] = []
        var pieces: [Range<Int>] = []
        for piece in body.split(separator: 0x2A) {
            pieces.append(literals.count..<literals.count + piece.count)
            literals.append(contentsOf: piece)
        }
        self.literals = literals
        self.pieces = pieces
        // A piece at the beginning of the path is compared only once and needs no table.
        let searched = body.first == 0x2A ? pieces : Array(pieces.dropFirst())
        failureTable = searched.isEmpty ? [] : Self.failureTable(of: literals, searched)
    }

    /// Whether the pattern matches the beginning of a normalized path.
    func matches(_ path: UnsafeRawBufferPointer) -> Bool {
        literals.withUnsafeBytes { literals in
            var at = 0
            for (index, range) in pieces.enumerated() {
                let piece = UnsafeRawBufferPointer(rebasing: literals[range])
                let rest = UnsafeRawBufferPointer(rebasing: path[at...])
                let isLast = index == pieces.count - 1
                if index == 0, !beginsWithStar {
                    guard rest.starts(with: piece) else { return false }
                    at += piece.count
                } else if isLast, isAnchoredAtEnd, !endsWithStar {
                    return rest.count >= piece.count && rest.suffix(piece.count).elementsEqual(piece)
                } else {
                    guard let end = end(of: range, in: path, from: at, literals) else { return false }
                    at = end
                }
            }
            return !isAnchoredAtEnd || endsWithStar || at == path.count
        }
    }

    /// Returns the end of the first occurrence of a piece at or after an offset of the path
    /// (Knuth-Morris-Pratt). The first occurrence is always sufficient, since the star after the piece
    /// matches any text.
    private func end(
        of range: Range<Int>, in path: UnsafeRawBufferPointer, from start: Int,
        _ literals: UnsafeRawBufferPointer
    ) -> Int? {
        var matched = 0
        for at in start..<path.count {
            while matched > 0, path[at] != literals[range.lowerBound + matched] {
                matched = Int(failureTable[range.lowerBound + matched - 1])
            }
            if path[at] == literals[range.lowerBound + matched] { matched += 1 }
            if matched == range.count { return at + 1 }
        }
        return nil
    }

    /// The failure tables: for each byte of a piece, the length of the longest proper prefix of the piece
    /// that also ends there.
    private static func failureTable(of literals: [UInt8], _ pieces: [Range<Int>]) -> [UInt32] {
        var failureTable = [UInt32](repeating: 0, count: literals.count)
        for piece in pieces {
            var length = 0
            for at in piece.dropFirst() {
                while length > 0, literals[at] != literals[piece.lowerBound + length] {
                    length = Int(failureTable[piece.lowerBound + length - 1])
                }
                if literals[at] == literals[piece.lowerBound + length] { length += 1 }
                failureTable[at] = UInt32(length)
            }
        }
        return failureTable
    }

    /// Normalizes percent-encoding for the comparison (RFC 9309, section 2.2.2): decodes escapes of
    /// unreserved characters, writes other escapes in upper case, and escapes bytes that URLs do not contain
    /// unescaped. Also escapes stars and dollar signs that are not wildcards, since a pattern can only
    /// contain them escaped. Malformed escapes are unchanged.
    static func normalized(_ text: some Collection<UInt8>, isPattern: Bool) -> [UInt8] {
        let bytes = Array(text)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            if byte == 0x25, at + 2 < bytes.count, let high = bytes[at + 1].hexDigitValue,
                let low = bytes[at + 2].hexDigitValue
            {
                let decoded = high << 4 | low
                if isUnreserved(decoded) {
                    result.append(decoded)
                } else {
                    result.appendPercentEncoded(decoded)
                }
                at += 3
                continue
            }
            let isWildcard = isPattern && (byte == 0x2A || (byte == 0x24 && at == bytes.count - 1))
            if isAllowedUnescaped(byte) || isWildcard {
                result.append(byte)
            } else {
                result.appendPercentEncoded(byte)
            }
            at += 1
        }
        return result
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
    }

    /// Whether a byte is left unescaped: it is printable, not a wildcard, and not one of those that URLs
    /// always escape in a path or query.
    private static func isAllowedUnescaped(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x22, 0x24, 0x27, 0x2A, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B, 0x7C, 0x7D: false
        case 0x21...0x7E: true
        default: false
        }
    }
}

/// Whether a crawl obeys robots rules: it does not fetch pages that robots.txt forbids, and does not store pages marked
/// `noindex`.
public enum RobotsPolicy: String, Sendable, CaseIterable {
    case obey, ignore
}

/// Which links marked `nofollow` are not followed to pages. The mark is meant for search engines, and says nothing
/// about whether a page may be read. Assets are never affected.
public enum NofollowPolicy: String, Sendable, CaseIterable {
    /// All links are followed.
    case follow
    /// The links of pages that are marked as a whole, in the head or in `X-Robots-Tag`, are not followed.
    case pages
    /// The same, and single links marked `rel=nofollow`, `ugc` or `sponsored` are not followed either.
    case obey

    /// Also accepts the names of earlier versions: `ignore` for `follow` and `links` for `obey`.
    public init?(rawValue: String) {
        switch rawValue {
        case "follow", "ignore": self = .follow
        case "pages": self = .pages
        case "obey", "links": self = .obey
        default: return nil
        }
    }
}

/// The name, version and home page under which Larder identifies itself.
package enum Product {
    package static let version = "0.2.0"
    /// The home page, without a slash at the end. Schemas, packages and `scripts/install.sh` derive their URLs from it. It is a
    /// reserved name (RFC 6761) until the project has a public address; `scripts/release` makes only test releases until then.
    package static let home = "https://larder.example"
    /// The token by which robots.txt files name Larder.
    package static let token = "larder"
    /// The `User-Agent` header (RFC 9110, section 10.1.5).
    package static let userAgent = "\(token)/\(version)"
}
