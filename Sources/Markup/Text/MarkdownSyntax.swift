/// The lines of a block as one text, with the places of the lines in the document.
struct MarkdownText {
    private(set) var bytes: [UInt8] = []
    /// The offsets at which the lines start, in the text and in the document.
    private var starts: [(text: Int, document: Int)] = []

    init(_ document: Bytes, _ lines: ArraySlice<Range<Int>>) {
        for line in lines {
            if !starts.isEmpty { bytes.append(0x0A) }
            starts.append((bytes.count, line.lowerBound))
            bytes.append(contentsOf: document[line])
        }
    }

    /// The number of the line at an offset.
    func line(at offset: Int) -> Int {
        var (lower, upper) = (0, starts.count)
        while upper - lower > 1 {
            let middle = (lower + upper) / 2
            if starts[middle].text <= offset { lower = middle } else { upper = middle }
        }
        return lower
    }

    /// The range in the document of a range that is on one line.
    func range(of range: Range<Int>) -> Range<Int> {
        let start = starts[line(at: range.lowerBound)]
        let lower = range.lowerBound - start.text + start.document
        return lower..<lower + range.count
    }

    /// The ranges in the document of a range that may contain several lines.
    func ranges(of range: Range<Int>) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var index = line(at: range.lowerBound)
        while index < starts.count, starts[index].text < range.upperBound {
            let start = starts[index]
            let end = index + 1 < starts.count ? starts[index + 1].text - 1 : bytes.count
            let part = range.clamped(to: start.text..<end)
            let lower = part.lowerBound - start.text + start.document
            ranges.append(lower..<lower + part.count)
            index += 1
        }
        return ranges
    }
}

/// The destination of a link, in the text of its block.
struct MarkdownDestination {
    let range: Range<Int>
    /// The destination, without escapes and character references.
    let reference: String
}

/// The parts of Markdown's syntax that one line, or one construct in a text, consists of.
enum MarkdownSyntax {
    // MARK: - Lines

    /// Returns the length of a list item's mark, and whether the item may interrupt a paragraph: bullets, and the number 1.
    static func listMark(_ bytes: Bytes, _ content: Range<Int>) -> (length: Int, isFirst: Bool)? {
        let text = bytes.part(content)
        var length = 1
        var isFirst = true
        switch text.first {
        case UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "*"): break
        default:
            let digits = text.prefix(10).prefix { $0.isDigit }
            guard !digits.isEmpty, digits.count < 10, digits.count < text.count,
                text[digits.count] == UInt8(ascii: ".") || text[digits.count] == UInt8(ascii: ")")
            else { return nil }
            length = digits.count + 1
            isFirst =
                digits.last == UInt8(ascii: "1") && digits.dropLast().allSatisfy { $0 == UInt8(ascii: "0") }
        }
        guard length == text.count || text[length] == 0x20 || text[length] == 0x09 else { return nil }
        return (length, isFirst)
    }

    /// Returns the length of the mark of a footnote's text: `[^label]:`.
    static func footnoteMarkLength(_ bytes: Bytes, _ content: Range<Int>) -> Int? {
        let text = bytes.part(content.prefix(maxLabelBytes))
        guard text.starts(with: "[^"), let end = text.firstIndex(of: UInt8(ascii: "]")), end > 2,
            end + 1 < text.count,
            text[end + 1] == UInt8(ascii: ":"), !text[..<end].contains(where: \.isSpace)
        else { return nil }
        return end + 2
    }

    /// Whether a line is the title of an admonition or a tab of Python-Markdown: `!!! note`, `??? note`, `=== "Title"`.
    static func isAdmonition(_ bytes: Bytes, _ content: Range<Int>) -> Bool {
        let text = bytes.part(content)
        return text.starts(with: "!!! ") || text.starts(with: "??? ") || text.starts(with: "???+ ")
            || text.starts(with: "=== \"")
    }

    /// Returns the range of an ATX heading's content; nil if the line is not a heading.
    static func headingContent(_ text: Bytes) -> Range<Int>? {
        let level = text.prefix { $0 == UInt8(ascii: "#") }.count
        guard 1...6 ~= level, level == text.count || text[level] == 0x20 || text[level] == 0x09 else {
            return nil
        }
        let content = text.trimmed(level..<text.count)
        var end = content.upperBound
        while end > content.lowerBound, text[end - 1] == UInt8(ascii: "#") { end -= 1 }
        if end == content.lowerBound { return end..<end }
        return text[end - 1].isSpace ? text.trimmed(content.lowerBound..<end) : content
    }

    static func isThematicBreak(_ text: Bytes) -> Bool {
        var count = 0
        for byte in text {
            if byte == text[0] { count += 1 } else if !byte.isSpace { return false }
        }
        return count >= 3
    }

    /// Returns the number of columns, if the line is the one below a table's header.
    static func delimiterCount(_ text: Bytes) -> Int? {
        guard let first = text.first, "|:-".utf8.contains(first),
            text.allSatisfy({ "|:- \t".utf8.contains($0) })
        else {
            return nil
        }
        let cells = cells(text, 0..<text.count)
        let areValid = cells.allSatisfy { cell in
            var marks = text.part(cell)[...]
            if marks.first == UInt8(ascii: ":") { marks = marks.dropFirst() }
            if marks.last == UInt8(ascii: ":") { marks = marks.dropLast() }
            return !marks.isEmpty && marks.allSatisfy { $0 == UInt8(ascii: "-") }
        }
        return areValid && !cells.isEmpty ? cells.count : nil
    }

    /// Returns the ranges of the cells in the row of a table.
    static func cells(_ bytes: Bytes, _ row: Range<Int>) -> [Range<Int>] {
        let row = bytes.trimmed(row)
        var cells: [Range<Int>] = []
        var index = row.lowerBound
        if index < row.upperBound, bytes[index] == UInt8(ascii: "|") { index += 1 }
        var start = index
        while index < row.upperBound {
            if bytes[index] == UInt8(ascii: "|") {
                cells.append(bytes.trimmed(start..<index))
                start = index + 1
            } else if bytes[index] == UInt8(ascii: "\\"), index + 1 < row.upperBound {
                index += 1
            }
            index += 1
        }
        if start < row.upperBound { cells.append(bytes.trimmed(start..<row.upperBound)) }
        return cells
    }

    // MARK: - Definitions and links

    /// The maximum length of a label, as CommonMark has it, with its brackets.
    private static let maxLabelBytes = 1001
    /// The maximum depth of parentheses in a destination, as in cmark.
    private static let maxParentheses = 32

    /// Reads the definition of a label at the start of a line.
    ///
    /// - Returns: Its label, its destination, and the offset of the next line.
    static func definition(
        _ text: Bytes, at start: Int
    ) -> (label: String, destination: MarkdownDestination, end: Int)? {
        guard let labelEnd = labelEnd(text, at: start), labelEnd < text.count,
            text[labelEnd] == UInt8(ascii: ":"),
            let label = label(text.part(start + 1..<labelEnd - 1)),
            let (destination, destinationEnd) = destination(
                text, at: skipSpace(text, labelEnd + 1), isInline: false)
        else { return nil }
        let titleStart = skipSpace(text, destinationEnd)
        if titleStart > destinationEnd, let titleEnd = titleEnd(text, at: titleStart),
            let end = nextLine(text, titleEnd)
        {
            return (label, destination, end)
        }
        // Without the title, the definition ends on the line of its destination.
        return nextLine(text, destinationEnd).map { (label, destination, $0) }
    }

    /// Reads the destination and title after the text of a link.
    ///
    /// - Parameter start: The offset of the opening parenthesis.
    /// - Returns: The destination, and the offset after the closing parenthesis.
    static func inlineTarget(_ text: Bytes, at start: Int) -> (destination: MarkdownDestination, end: Int)? {
        var index = skipSpace(text, start + 1)
        guard let (destination, end) = destination(text, at: index, isInline: true) else { return nil }
        index = skipSpace(text, end)
        if index > end, let end = titleEnd(text, at: index) { index = skipSpace(text, end) }
        guard index < text.count, text[index] == UInt8(ascii: ")") else { return nil }
        return (destination, index + 1)
    }

    /// Returns the offset after the label at `start`, with its brackets.
    static func labelEnd(_ text: Bytes, at start: Int) -> Int? {
        guard start < text.count, text[start] == UInt8(ascii: "[") else { return nil }
        var index = start + 1
        let limit = min(text.count, start + maxLabelBytes)
        while index < limit {
            switch text[index] {
            case UInt8(ascii: "]"): return index + 1
            case UInt8(ascii: "["): return nil
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return nil
    }

    /// Returns the form of a label in which equal labels are equal: without the difference between upper and lower case, and with
    /// white space collapsed; nil if it is empty, too long, or that of a footnote.
    static func label(_ text: Bytes) -> String? {
        guard text.count <= maxLabelBytes - 2, text.first != UInt8(ascii: "^") else { return nil }
        var bytes: [UInt8] = []
        text.forEachWord { word in
            if !bytes.isEmpty { bytes.append(0x20) }
            bytes.append(contentsOf: text[word])
        }
        guard !bytes.isEmpty else { return nil }
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes.map(\.lowercased), as: UTF8.self) }
        // The upper case of some letters is more than one letter, as that of "ß", so that this is the case folding of Unicode for
        // almost all letters.
        return String(decoding: bytes, as: UTF8.self).lowercased().uppercased().lowercased()
    }

    private static func destination(
        _ text: Bytes, at start: Int, isInline: Bool
    ) -> (destination: MarkdownDestination, end: Int)? {
        var index = start
        if index < text.count, text[index] == UInt8(ascii: "<") {
            index += 1
            while index < text.count {
                switch text[index] {
                case UInt8(ascii: ">"):
                    let range = start + 1..<index
                    return (
                        MarkdownDestination(range: range, reference: unescaped(text.part(range))), index + 1
                    )
                case UInt8(ascii: "<"), 0x0A: return nil
                case UInt8(ascii: "\\") where index + 1 < text.count && text[index + 1].isPunctuation:
                    index += 2
                default: index += 1
                }
            }
            return nil
        }
        var depth = 0
        scan: while index < text.count {
            switch text[index] {
            case 0...0x20, 0x7F: break scan
            case UInt8(ascii: "("):
                depth += 1
                if depth > maxParentheses { return nil }
            case UInt8(ascii: ")"):
                if depth == 0 { break scan }
                depth -= 1
            case UInt8(ascii: "\\") where index + 1 < text.count && text[index + 1].isPunctuation: index += 1
            default: break
            }
            index += 1
        }
        guard depth == 0, isInline || index > start else { return nil }
        return (
            MarkdownDestination(range: start..<index, reference: unescaped(text.part(start..<index))), index
        )
    }

    private static func titleEnd(_ text: Bytes, at start: Int) -> Int? {
        guard start < text.count else { return nil }
        let close: UInt8
        switch text[start] {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): close = text[start]
        case UInt8(ascii: "("): close = UInt8(ascii: ")")
        default: return nil
        }
        var index = start + 1
        while index < text.count {
            if text[index] == close { return index + 1 }
            if text[index] == UInt8(ascii: "("), close == UInt8(ascii: ")") { return nil }
            index += text[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    private static func skipSpace(_ text: Bytes, _ start: Int) -> Int {
        var index = start
        while index < text.count, text[index].isSpace { index += 1 }
        return index
    }

    /// Returns the offset after the end of the line; nil if something else is before it.
    private static func nextLine(_ text: Bytes, _ start: Int) -> Int? {
        var index = start
        while index < text.count, text[index] == 0x20 || text[index] == 0x09 { index += 1 }
        if index == text.count { return index }
        return text[index] == 0x0A ? index + 1 : nil
    }

    // MARK: - Escapes

    /// Decodes backslash escapes and character references.
    static func unescaped(_ text: Bytes) -> String {
        guard text.contains(where: { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "&") }) else {
            return String(decoding: text, as: UTF8.self)
        }
        var bytes: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "\\"), index + 1 < text.count, text[index + 1].isPunctuation {
                bytes.append(text[index + 1])
                index += 2
            } else if let length = appendReference(text, at: index, to: &bytes) {
                index += length
            } else {
                bytes.append(text[index])
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes a character reference, which ends with a semicolon in Markdown. Returns its length.
    static func appendReference(_ text: Bytes, at index: Int, to output: inout [UInt8]) -> Int? {
        guard text[index] == UInt8(ascii: "&"), let reference = CharacterReferences.read(text, at: index),
            text[index + reference.length - 1] == UInt8(ascii: ";")
        else { return nil }
        output.append(codePoint: reference.first)
        if reference.second != 0 { output.append(codePoint: reference.second) }
        return reference.length
    }

    /// Returns the id in a list of attributes such as `{#id}`, `{: #id .class}` or `{/* #id */}`, and the offset after the list.
    static func attributeList(_ text: Bytes, at start: Int) -> (id: Range<Int>?, end: Int)? {
        let limit = min(text.count, start + maxAttributeListBytes)
        guard let end = text[start..<limit].firstIndex(of: UInt8(ascii: "}")) else { return nil }
        var content = start + 1..<end
        if text.part(content).starts(with: "/*") { content = content.dropFirst(2) }
        if text.part(content).starts(with: ":") { content = content.dropFirst() }
        content = text.trimmed(content)
        guard let first = content.first, "#.".utf8.contains(text[first]) else { return nil }
        var id: Range<Int>?
        text.part(content).forEachWord { word in
            guard id == nil, word.count > 1, text[first + word.lowerBound] == UInt8(ascii: "#") else {
                return
            }
            id = first + word.lowerBound + 1..<first + word.upperBound
        }
        return (id, end + 1)
    }

    private static let maxAttributeListBytes = 256
}

extension UInt8 {
    /// Whether the byte is a punctuation character of ASCII.
    var isPunctuation: Bool { 0x21...0x7E ~= self && !isLetter && !isDigit }
}
