/// The links in the text of a Markdown block: phase 2 of CommonMark's appendix "A parsing strategy", with GitHub's autolinks.
/// Emphasis is only read in headings, since it does not affect links.
///
/// The cost is linear in the text: a search that failed is not repeated, and the other ones are bounded.
struct MarkdownInlines {
    /// A link or image with its destination.
    struct Link {
        /// The destination in the text.
        let range: Range<Int>
        let reference: String
        let isImage: Bool
        /// Whether it is an autolink without `<` and `>`, which is plain text inside another link.
        var isBare = false
    }

    /// `[` or `![`.
    private struct Opener {
        let offset: Int
        let textStart: Int
        let isImage: Bool
        /// The length of the heading's text before it.
        let headingCount: Int
        /// Whether another bracket follows, so that the text is not a label.
        var hasBracket = false
    }

    private let text: Bytes
    private var index = 0
    private var openers: [Opener] = []
    /// The openers before this one cannot start a link, because a link follows them, and links do not contain links.
    private var inactiveCount = 0
    private var backticks = BacktickRuns()
    private var failedSearches: Set<String> = []
    /// The end of the last construct: a bare autolink does not reach back before it.
    private var floor = 0

    private(set) var links: [Link] = []
    /// The labels that links and images refer to.
    private(set) var labels: [(label: String, isImage: Bool)] = []
    /// The tags in the text.
    private(set) var tags: [Range<Int>] = []
    /// The ids in lists of attributes.
    private(set) var ids: [Range<Int>] = []
    /// The text of a heading without its markup. Removed marks are NUL.
    private(set) var headingText: [UInt8]?
    private var underscores: [(offset: Int, count: Int)] = []

    /// - Parameter isDefined: whether a label has a definition.
    init(_ text: Bytes, isHeading: Bool, isDefined: (String) -> Bool) {
        self.text = text
        if isHeading { headingText = [] }
        while index < text.count { step(isDefined) }
    }

    private mutating func step(_ isDefined: (String) -> Bool) {
        let byte = text[index]
        switch byte {
        case UInt8(ascii: "\\"):
            let isEscape = index + 1 < text.count && text[index + 1].isPunctuation
            if isEscape { index += 1 }
            advance(by: 1)
        case UInt8(ascii: "`"): readCode()
        case UInt8(ascii: "<"): readAngle()
        case UInt8(ascii: "!") where index + 1 < text.count && text[index + 1] == UInt8(ascii: "["):
            open(isImage: true)
        case UInt8(ascii: "["): open(isImage: false)
        case UInt8(ascii: "]"): close(isDefined)
        case UInt8(ascii: "{"): readBrace()
        case UInt8(ascii: "&"):
            var decoded: [UInt8] = []
            guard let length = MarkdownSyntax.appendReference(text, at: index, to: &decoded) else {
                return advance(by: 1)
            }
            headingText?.append(contentsOf: decoded)
            index += length
        case UInt8(ascii: "_") where headingText != nil: readUnderscores()
        case UInt8(ascii: ":"): if !readBareURL() { advance(by: 1) }
        case UInt8(ascii: "w"), UInt8(ascii: "W"): if !readBareHost() { advance(by: 1) }
        default: advance(by: 1)
        }
    }

    /// Skips text, which becomes a part of the heading's text.
    private mutating func advance(by count: Int) {
        headingText?.append(contentsOf: text[index..<index + count])
        index += count
    }

    // MARK: - Code, HTML and attributes

    private mutating func readCode() {
        let count = text[index...].prefix { $0 == UInt8(ascii: "`") }.count
        let start = index + count
        guard let end = backticks.end(ofCodeAt: start, count, in: text) else { return advance(by: count) }
        var code = start..<end - count
        // One space at both ends is not a part of the code.
        if code.count > 2, text[code.lowerBound] == 0x20, text[code.upperBound - 1] == 0x20 {
            code = code.dropFirst().dropLast()
        }
        headingText?.append(contentsOf: text[code])
        (index, floor) = (end, end)
    }

    private mutating func readAngle() {
        defer { floor = index }
        if let end = autolinkEnd() {
            let range = index + 1..<end - 1
            let address = String(decoding: text[range], as: UTF8.self)
            let isURL = address.utf8.prefix(33).contains(UInt8(ascii: ":"))
            // Backslashes are not escapes here, but character references count.
            let reference = isURL ? Self.decoded(text.part(range)) : "mailto:" + address
            links.append(Link(range: range, reference: reference, isImage: false))
            headingText?.append(contentsOf: text[range])
            index = end
        } else if let end = MarkdownHTML.tagEnd(text, at: index) {
            if !MarkdownHTML.hidesText(text, at: index) { tags.append(index..<end) }
            index = end
        } else if let end = markupEnd() {
            index = end
        } else {
            advance(by: 1)
        }
    }

    /// Returns the offset after a comment, instruction, declaration or CDATA section.
    private mutating func markupEnd() -> Int? {
        let rest = text.part(index..<min(text.count, index + 9))
        if rest.starts(with: "<!-->") { return index + 5 }
        if rest.starts(with: "<!--->") { return index + 6 }
        if rest.starts(with: "<!--") { return end(of: "-->", from: index + 4) }
        if rest.starts(with: "<?") { return end(of: "?>", from: index + 2) }
        if rest.starts(with: "<![cdata[") { return end(of: "]]>", from: index + 9) }
        guard rest.count > 2, rest[1] == UInt8(ascii: "!"), rest[2].isLetter else { return nil }
        return end(of: ">", from: index + 2)
    }

    /// Returns the offset after the next `mark`. Once there is none, there is none later.
    private mutating func end(of mark: StaticString, from start: Int) -> Int? {
        guard !failedSearches.contains("\(mark)") else { return nil }
        guard let found = text.firstIndex(of: mark, from: start) else {
            failedSearches.insert("\(mark)")
            return nil
        }
        return found + mark.utf8CodeUnitCount
    }

    /// Skips a list of attributes, or a comment of MDX.
    private mutating func readBrace() {
        if let (id, end) = MarkdownSyntax.attributeList(text, at: index) {
            if let id { ids.append(id) }
            (index, floor) = (end, end)
        } else if text.starts(with: "{/*", at: index), let end = end(of: "*/}", from: index + 3) {
            (index, floor) = (end, end)
        } else {
            advance(by: 1)
        }
    }

    /// Removes underscores that are marks of emphasis from the heading's text. Others are part of its fragment.
    private mutating func readUnderscores() {
        let mark = UInt8(ascii: "_")
        let count = text[index...].prefix { $0 == mark }.count
        let before = index > 0 ? text[index - 1] : 0x20
        let after = index + count < text.count ? text[index + count] : 0x20
        let opens = !after.isSpace && (!after.isPunctuation || before.isSpace || before.isPunctuation)
        let closes = !before.isSpace && (!before.isPunctuation || after.isSpace || after.isPunctuation)
        let offset = headingText?.count ?? 0
        advance(by: count)
        var left = count
        if closes, !opens || before.isPunctuation {
            while left > 0, let opener = underscores.popLast() {
                let matched = min(left, opener.count)
                for position in 0..<matched {
                    headingText?[opener.offset + opener.count - 1 - position] = 0
                    headingText?[offset + count - left + position] = 0
                }
                left -= matched
                if opener.count > matched { underscores.append((opener.offset, opener.count - matched)) }
            }
        }
        if left > 0, opens, !closes || before.isPunctuation {
            underscores.append((offset + count - left, left))
        }
    }

    // MARK: - Links in brackets

    private mutating func open(isImage: Bool) {
        if let last = openers.indices.last { openers[last].hasBracket = true }
        let start = index + (isImage ? 2 : 1)
        openers.append(
            Opener(offset: index, textStart: start, isImage: isImage, headingCount: headingText?.count ?? 0))
        (index, floor) = (start, start)
    }

    private mutating func close(_ isDefined: (String) -> Bool) {
        let labelEnd = index
        index += 1
        defer { floor = index }
        guard let opener = openers.popLast() else { return }
        let isInactive = inactiveCount > openers.count
        inactiveCount = min(inactiveCount, openers.count)
        if isInactive, !opener.isImage { return }
        if index < text.count, text[index] == UInt8(ascii: "("),
            let (destination, end) = MarkdownSyntax.inlineTarget(text, at: index)
        {
            index = end
            finish(opener)
            links.append(
                Link(range: destination.range, reference: destination.reference, isImage: opener.isImage))
        } else if let (label, end) = label(of: opener, endingAt: labelEnd), isDefined(label) {
            index = end
            finish(opener)
            labels.append((label, opener.isImage))
        }
    }

    /// Returns the label of a link that refers to a definition, and the offset after the link.
    private func label(of opener: Opener, endingAt labelEnd: Int) -> (label: String, end: Int)? {
        var end = labelEnd + 1
        if let nextEnd = MarkdownSyntax.labelEnd(text, at: end) {
            if nextEnd > end + 2 {
                return MarkdownSyntax.label(text.part(end + 1..<nextEnd - 1)).map { ($0, nextEnd) }
            }
            end = nextEnd
        }
        guard !opener.hasBracket else { return nil }
        return MarkdownSyntax.label(text.part(opener.textStart..<labelEnd)).map { ($0, end) }
    }

    /// Removes links that do not count inside the link or image that starts with `opener`.
    private mutating func finish(_ opener: Opener) {
        let first = links.lastIndex { $0.range.lowerBound < opener.offset }.map { $0 + 1 } ?? 0
        if opener.isImage {
            // The text of an image has no links and tags, and is not a part of a heading's text.
            links.removeSubrange(first...)
            while let last = tags.last, last.lowerBound >= opener.offset { tags.removeLast() }
            let imageCount = (headingText?.count ?? 0) - opener.headingCount
            headingText?.removeLast(imageCount)
            while let last = underscores.last, last.offset >= opener.headingCount { underscores.removeLast() }
        } else {
            links[first...].removeAll(where: \.isBare)
            inactiveCount = openers.count
        }
    }
}

// MARK: - Autolinks

extension MarkdownInlines {
    /// Decodes the character references of an autolink.
    private static func decoded(_ text: Bytes) -> String {
        guard text.contains(UInt8(ascii: "&")) else { return String(decoding: text, as: UTF8.self) }
        var bytes: [UInt8] = []
        var index = 0
        while index < text.count {
            if let length = MarkdownSyntax.appendReference(text, at: index, to: &bytes) {
                index += length
            } else {
                bytes.append(text[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the offset after `<https://…>` or `<a@b.c>` at the current offset.
    private func autolinkEnd() -> Int? {
        var end = index + 1
        while end < text.count, text[end].isLetter || text[end].isDigit || "+.-".utf8.contains(text[end]) {
            end += 1
        }
        guard end < text.count, end > index + 1 else { return emailEnd() }
        let isScheme = text[index + 1].isLetter && 3...33 ~= end - index
        guard text[end] == UInt8(ascii: ":"), isScheme else { return emailEnd() }
        while end < text.count, text[end] > 0x20, text[end] != UInt8(ascii: "<"),
            text[end] != UInt8(ascii: ">")
        { end += 1 }
        return end < text.count && text[end] == UInt8(ascii: ">") ? end + 1 : nil
    }

    private func emailEnd() -> Int? {
        var end = index + 1
        while end < text.count,
            text[end].isLetter || text[end].isDigit || ".!#$%&'*+/=?^_`{|}~-".utf8.contains(text[end])
        {
            end += 1
        }
        guard end < text.count, end > index + 1, text[end] == UInt8(ascii: "@") else { return nil }
        let host = end + 1
        while end + 1 < text.count,
            text[end + 1].isLetter || text[end + 1].isDigit || ".-".utf8.contains(text[end + 1])
        { end += 1 }
        guard end + 1 > host, end + 1 < text.count, text[end + 1] == UInt8(ascii: ">") else { return nil }
        let labels = text[host...end].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areValid = labels.allSatisfy {
            1...63 ~= $0.count && $0.first != UInt8(ascii: "-") && $0.last != UInt8(ascii: "-")
        }
        return areValid ? end + 2 : nil
    }

    /// Longer names of hosts are invalid (RFC 1035 2.3.4). This bounds the cost of `www._www._`.
    private static let maxHostBytes = 512
    private static let schemes: [StaticString] = ["https", "http", "ftp"]

    /// Reads a URL without `<` and `>`. The current offset is that of the colon after its scheme.
    private mutating func readBareURL() -> Bool {
        guard text.starts(with: "://", at: index), index + 3 < text.count else { return false }
        let first = text[index + 3]
        guard first.isLetter || first.isDigit || first >= 0x80 else { return false }
        let scheme = Self.schemes.first { scheme in
            let start = index - scheme.utf8CodeUnitCount
            return start >= floor && text.starts(with: scheme, at: start)
                && (start == floor || !text[start - 1].isLetter)
        }
        guard let scheme else { return false }
        return addBare(from: index - scheme.utf8CodeUnitCount, host: index + 3, isHostOnly: false)
    }

    private mutating func readBareHost() -> Bool {
        guard text.starts(with: "www.", at: index) else { return false }
        let before = index > 0 ? text[index - 1] : 0x20
        guard before.isSpace || "*_~([".utf8.contains(before) else { return false }
        return addBare(from: index, host: index, isHostOnly: true)
    }

    /// Adds a bare autolink, if its host is valid. It ends at white space, `<`, or the end of the brackets around it.
    private mutating func addBare(from start: Int, host: Int, isHostOnly: Bool) -> Bool {
        guard hasValidHost(at: host, isHostOnly: isHostOnly) else { return false }
        var end = host
        while end < text.count, !text[end].isSpace, text[end] != UInt8(ascii: "<"),
            openers.isEmpty || text[end] != UInt8(ascii: "]")
        {
            end += 1
        }
        end = trimmedEnd(start..<end)
        guard end > host else { return false }
        // GitHub does not decode character references here.
        let reference = String(decoding: text[start..<end], as: UTF8.self)
        links.append(
            Link(
                range: start..<end, reference: isHostOnly ? "http://" + reference : reference, isImage: false,
                isBare: true))
        advance(by: end - index)
        floor = index
        return true
    }

    /// GitHub's rule: a host without underscores in its last two labels. One that follows no scheme has a dot
    /// after `www.` or another label.
    private func hasValidHost(at start: Int, isHostOnly: Bool) -> Bool {
        var end = start
        var dots = 0
        var underscores = (last: 0, previous: 0)
        // The last character of the text does not count, so that `_https://host.org_` is a link.
        while end + 1 < text.count {
            guard end - start < Self.maxHostBytes else { return false }
            let byte = text[end]
            if byte == UInt8(ascii: "_") {
                underscores.last += 1
            } else if byte == UInt8(ascii: ".") {
                underscores = (0, underscores.last)
                dots += 1
            } else if byte.isSpace || byte.isPunctuation && byte != UInt8(ascii: "-") {
                break
            }
            end += 1
        }
        return underscores.last == 0 && underscores.previous == 0
            && (!isHostOnly || end - start > 3)
    }

    /// GitHub's rule for the end of an autolink: without punctuation, a character reference, and closing parentheses that have
    /// no counterpart in it.
    private func trimmedEnd(_ range: Range<Int>) -> Int {
        var balance = 0
        for byte in text[range] {
            if byte == UInt8(ascii: "(") { balance += 1 } else if byte == UInt8(ascii: ")") { balance -= 1 }
        }
        var end = range.upperBound
        while end > range.lowerBound {
            switch text[end - 1] {
            case UInt8(ascii: ")"):
                if balance >= 0 { return end }
                balance += 1
                end -= 1
            case UInt8(ascii: ";"):
                var name = end - 1
                while name > range.lowerBound, text[name - 1].isLetter { name -= 1 }
                let isReference =
                    name < end - 1 && name > range.lowerBound && text[name - 1] == UInt8(ascii: "&")
                end = isReference ? name - 1 : end - 1
            case let byte where "?!.,:*_~'\"".utf8.contains(byte): end -= 1
            default: return end
            }
        }
        return end
    }
}

/// The runs of backticks in a text. A code span ends at the next run that is as long as the one that starts it.
private struct BacktickRuns {
    private static let maxLength = 80
    /// The offset of the last run of each length, once the text has been searched to its end.
    private var last: [Int] = []

    /// Returns the offset after the run that ends a code span; nil if there is none.
    mutating func end(ofCodeAt start: Int, _ count: Int, in text: Bytes) -> Int? {
        guard count <= Self.maxLength, last.isEmpty || last[count] >= start else { return nil }
        var found = [Int](repeating: -1, count: Self.maxLength + 1)
        var index = start
        while index < text.count {
            guard text[index] == UInt8(ascii: "`") else {
                index += 1
                continue
            }
            let run = index
            while index < text.count, text[index] == UInt8(ascii: "`") { index += 1 }
            if index - run == count { return index }
            if index - run <= Self.maxLength { found[index - run] = run }
        }
        last = found
        return nil
    }
}
