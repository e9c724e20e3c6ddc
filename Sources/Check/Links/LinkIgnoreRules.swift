internal import Web

/// A rule for links that are not reported.
///
/// ```text
/// # Comments are on lines of their own.
/// https://www.linkedin.com/*                    # answers 999 to programs
/// https://old.example.com/* until 2027-01-31    # moves in January
/// * in docs/archive/*                           # not maintained
/// ```
struct LinkIgnoreRule: Sendable, Equatable {
    /// A pattern of targets. An asterisk stands for any characters.
    var target: String
    /// A pattern of documents; nil for all documents.
    var document: String?
    /// The last day on which the rule holds, as `2027-01-31`; nil if it does not end.
    var expiry: String?
    var reason: String
    /// The line of the ignore file; nil for a pattern of the options.
    var line: Int?

    init(target: String, reason: String) {
        (self.target, self.reason) = (target, reason)
    }

    /// Reads a line; nil if it is empty or a comment.
    ///
    /// - Throws: `LarderError` of kind `.input` that names the line.
    init?(_ text: Substring, number: Int, of file: String) throws(LarderError) {
        var words = text.split { $0 == " " || $0 == "\t" || $0 == "\r" }
        let comment = words.firstIndex { $0.hasPrefix("#") }
        let explanation = comment.map { words[$0...].joined(separator: " ").drop { $0 == "#" || $0 == " " } }
        if let comment { words.removeSubrange(comment...) }
        guard let target = words.first else { return nil }
        self.init(target: String(target), reason: explanation.map(String.init) ?? "\(file):\(number)")
        line = number
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            switch (word, rest.popFirst()) {
            case ("in", let pattern?): document = String(pattern)
            case ("until", let date?) where Self.isDate(date): expiry = String(date)
            case ("until", let date?):
                throw LarderError(
                    .input, "\(file):\(number): \"\(date)\" is not a date; write it like 2027-01-31")
            default:
                throw LarderError(
                    .input,
                    "\(file):\(number): \"\(word)\" is not understood; write: PATTERN [in PATTERN] [until 2027-01-31] [# reason]"
                )
            }
        }
    }

    /// Whether a text is a date: `2027-01-31`.
    private static func isDate(_ text: Substring) -> Bool {
        text.utf8.count == "2027-01-31".utf8.count && HTTPDate(iso8601: "\(text)T00:00:00Z") != nil
    }

    /// Whether a text has the form of a pattern, in which each asterisk stands for any characters. All other characters stand
    /// for themselves, because `?` and brackets are usual in URLs.
    static func matches(_ pattern: String, _ text: String) -> Bool {
        matches(Array(pattern.utf8), Array(text.utf8))
    }

    static func matches(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
        var (place, index) = (0, 0)
        // Where to go on if the text after the last asterisk does not match: the asterisk stands for one character more.
        var lastAsterisk: (place: Int, index: Int)?
        while index < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                lastAsterisk = (place, index)
                place += 1
            } else if place < pattern.count, pattern[place] == text[index] {
                (place, index) = (place + 1, index + 1)
            } else if let last = lastAsterisk {
                lastAsterisk = (last.place, last.index + 1)
                (place, index) = (last.place + 1, last.index + 1)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }

    /// Whether a pattern is the path of a file, or of a folder around it.
    static func matchesPath(_ pattern: String, _ path: String) -> Bool {
        let (pattern, path) = (Array(pattern.utf8), Array(path.utf8))
        let bare = pattern.last == UInt8(ascii: "/") ? Array(pattern.dropLast()) : pattern
        if matches(bare, path) { return true }
        return path.indices.contains {
            path[$0] == UInt8(ascii: "/") && matches(bare, Array(path[..<$0]))
        }
    }
}

// MARK: - LinkIgnoreRules

/// All rules in their order, with an index, so that each link is compared with few of many rules.
struct LinkIgnoreRules {
    let all: [LinkIgnoreRule]
    private var targets: [[UInt8]] = []
    private var documents: [[UInt8]?] = []
    /// The rules by their patterns of targets.
    private var byTarget = PatternIndex()
    /// The rules for all targets of some documents.
    private var byDocument = PatternIndex()

    /// A link is compared with at most this number of rules whose patterns have the same fixed beginning or end.
    private static let maxSimilarRules = 2000

    /// - Throws: `LarderError` of kind `.input` if too many patterns have the same beginning, so that a check would take hours.
    init(_ rules: [LinkIgnoreRule]) throws(LarderError) {
        all = rules
        for (number, rule) in rules.enumerated() {
            targets.append(Array(rule.target.utf8))
            documents.append(rule.document.map { Array($0.utf8) })
            let isForAllTargets = targets[number].allSatisfy { $0 == UInt8(ascii: "*") }
            let count: Int
            if isForAllTargets, let document = documents[number] {
                count = byDocument.insert(document, number)
            } else {
                count = byTarget.insert(targets[number], number)
            }
            guard count <= Self.maxSimilarRules else {
                throw LarderError(
                    .input,
                    "more than \(Self.maxSimilarRules) patterns of ignored links begin like \(rule.target): write longer beginnings, or fewer patterns"
                )
            }
        }
    }

    /// The numbers of the rules for a link, in their order.
    func numbers(matching target: String, in document: String) -> [Int] {
        guard !all.isEmpty else { return [] }
        let (target, document) = (Array(target.utf8), Array(document.utf8))
        return (byTarget.candidates(for: target) + byDocument.candidates(for: document)).sorted().filter {
            LinkIgnoreRule.matches(targets[$0], target)
                && (documents[$0].map { LinkIgnoreRule.matches($0, document) } ?? true)
        }
    }
}

/// Finds the patterns that may match a text by hashes of their fixed beginnings, or of their fixed ends if they begin with an
/// asterisk. The caller compares the whole patterns.
private struct PatternIndex {
    private struct Bucket {
        /// The different lengths of the fixed parts.
        var lengths: Set<Int> = []
        var numbers: [UInt64: [Int]] = [:]

        /// Returns the number of patterns with this fixed part.
        mutating func insert(_ part: some Sequence<UInt8>, length: Int, _ number: Int) -> Int {
            lengths.insert(length)
            let hash = part.reduce(PatternIndex.hashStart, PatternIndex.hash)
            numbers[hash, default: []].append(number)
            return numbers[hash]?.count ?? 0
        }

        func add(to found: inout [Int], for text: some Sequence<UInt8>) {
            var (hash, length) = (PatternIndex.hashStart, 0)
            for byte in text {
                (hash, length) = (PatternIndex.hash(hash, byte), length + 1)
                if lengths.contains(length), let numbers = numbers[hash] { found += numbers }
            }
        }
    }

    private var beginnings = Bucket()
    private var ends = Bucket()
    /// Patterns that begin and end with an asterisk.
    private var others: [Int] = []

    /// FNV-1a.
    fileprivate static let hashStart: UInt64 = 0xCBF2_9CE4_8422_2325
    fileprivate static func hash(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }

    /// Adds a pattern. Returns the number of patterns that are candidates together with it.
    mutating func insert(_ pattern: [UInt8], _ number: Int) -> Int {
        let beginning = pattern.prefix { $0 != UInt8(ascii: "*") }
        if !beginning.isEmpty { return beginnings.insert(beginning, length: beginning.count, number) }
        let end = pattern.reversed().prefix { $0 != UInt8(ascii: "*") }
        if !end.isEmpty { return ends.insert(end, length: end.count, number) }
        others.append(number)
        return others.count
    }

    func candidates(for text: [UInt8]) -> [Int] {
        var found = others
        if !beginnings.lengths.isEmpty { beginnings.add(to: &found, for: text) }
        if !ends.lengths.isEmpty { ends.add(to: &found, for: text.reversed()) }
        return found
    }
}
