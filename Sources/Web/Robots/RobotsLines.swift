/// The records of a robots.txt, line by line. Lines end with LF, CR or CRLF.
struct RobotsLines {
    enum Record {
        case userAgent
        case allow
        case disallow
        case crawlDelay
        case sitemap
    }

    struct Line {
        let record: Record
        /// Without a comment, and without spaces around it.
        let value: ArraySlice<UInt8>
        /// Counted from 1.
        let number: Int
    }

    private let bytes: [UInt8]
    private let isCut: Bool
    private var at = 0
    private var number = 0

    /// When the text is cut off, its last line is not read: half a path would forbid or allow too much.
    init(_ bytes: [UInt8], isCut: Bool) {
        self.bytes = bytes
        self.isCut = isCut
    }

    /// The next line that holds a record known here.
    mutating func next() -> Line? {
        while at < bytes.count {
            let start = at
            while at < bytes.count, bytes[at] != 0x0A, bytes[at] != 0x0D { at += 1 }
            if isCut, at == bytes.count { return nil }
            let line = bytes[start..<min(at, start + RobotsFile.lineLimit)]
            if at + 1 < bytes.count, bytes[at] == 0x0D, bytes[at + 1] == 0x0A { at += 1 }
            at += 1
            number += 1
            if let (record, value) = Self.parse(line) { return Line(record: record, value: value, number: number) }
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
        // Without a colon, spaces may stand for it when they part the line in exactly two.
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

    /// Whether the line is the URL of a sitemap whose record's name was forgotten.
    private static func isBareSitemap(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) -> Bool {
        let scheme = HTTPGrammar.lowercased(name.prefix(6))
        return (scheme == "http" || scheme == "https") && value.starts(with: [0x2F, 0x2F])
            && HTTPGrammar.lowercased(value).contains("sitemap")
    }
}
