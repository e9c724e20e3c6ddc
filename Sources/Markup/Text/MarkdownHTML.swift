/// The HTML in Markdown, as CommonMark delimits it.
enum MarkdownHTML {
    /// The end of a block of HTML.
    enum BlockEnd: Equatable {
        /// The end tag of an element whose content is not Markdown.
        case rawEndTag
        case comment
        case instruction
        case declaration
        case cdata
        case blankLine

        /// Whether the block has tags: comments and the like have none.
        var isMarkup: Bool { self == .rawEndTag || self == .blankLine }

        /// Returns the offset at which the block ends, if it ends on this line.
        func offset(in line: Bytes) -> Int? {
            switch self {
            case .rawEndTag: rawElements.contains(where: line.containsEndTag) ? line.count : nil
            case .comment: line.firstIndex(of: "-->").map { $0 + 3 }
            case .instruction: line.firstIndex(of: "?>").map { $0 + 2 }
            case .declaration: line.firstIndex(of: ">").map { $0 + 1 }
            case .cdata: line.firstIndex(of: "]]>").map { $0 + 3 }
            case .blankLine: nil
            }
        }
    }

    private static let rawElements: [StaticString] = ["script", "pre", "style", "textarea"]

    /// Elements that GitHub shows as text, since their content would hide the rest of the document.
    private static let hidingElements: [StaticString] = [
        "title", "textarea", "style", "xmp", "noembed", "noframes", "script", "plaintext",
    ]

    /// The elements of CommonMark's sixth kind of HTML block.
    private static let blockElements: Set<String> = [
        "address", "article", "aside", "base", "basefont", "blockquote", "body", "caption", "center", "col",
        "colgroup", "dd",
        "details", "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
        "frame", "frameset",
        "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link",
        "main", "menu",
        "menuitem", "nav", "noframes", "ol", "optgroup", "option", "p", "param", "search", "section",
        "source", "summary", "table",
        "tbody", "td", "tfoot", "th", "thead", "title", "tr", "track", "ul",
    ]
    private static let maxBlockElementBytes = 10

    /// Returns the end of the HTML block that a line starts, and whether the block is only a tag, which cannot interrupt a
    /// paragraph.
    static func blockEnd(ofBlockStartingWith line: Bytes) -> (end: BlockEnd, isTagAlone: Bool)? {
        guard line.count > 1 else { return nil }
        if line[1] == UInt8(ascii: "?") { return (.instruction, false) }
        if line[1] == UInt8(ascii: "!") {
            if line.starts(with: "<!--") { return (.comment, false) }
            if line.starts(with: "<![cdata[") { return (.cdata, false) }
            return line.count > 2 && line[2].isLetter ? (.declaration, false) : nil
        }
        let isEnd = line[1] == UInt8(ascii: "/")
        let name = nameRange(line, at: isEnd ? 2 : 1)
        guard !name.isEmpty else { return nil }
        let next = name.upperBound < line.count ? line[name.upperBound] : 0x20
        if !isEnd, next.isSpace || next == UInt8(ascii: ">"),
            rawElements.contains(where: line.part(name).equals)
        {
            return (.rawEndTag, false)
        }
        let isClosed =
            next == UInt8(ascii: "/") && name.upperBound + 1 < line.count
            && line[name.upperBound + 1] == UInt8(ascii: ">")
        if name.count <= maxBlockElementBytes, next.isSpace || next == UInt8(ascii: ">") || isClosed,
            blockElements.contains(String(decoding: line[name].lazy.map(\.lowercased), as: UTF8.self))
        {
            return (.blankLine, false)
        }
        guard let end = tagEnd(line, at: 0), line[end...].allSatisfy(\.isSpace) else { return nil }
        return (.blankLine, true)
    }

    /// Whether the tag at an offset would hide the text after it.
    static func hidesText(_ text: Bytes, at start: Int) -> Bool {
        let name = nameRange(text, at: start + 1)
        return !name.isEmpty && hidingElements.contains(where: text.part(name).equals)
    }

    private static func nameRange(_ text: Bytes, at start: Int) -> Range<Int> {
        var end = start
        guard start < text.count, text[start].isLetter else { return start..<start }
        while end < text.count, text[end].isLetter || text[end].isDigit || text[end] == UInt8(ascii: "-") {
            end += 1
        }
        return start..<end
    }

    /// A tag that does not end before this length is text. This bounds the cost of unclosed tags.
    private static let maxTagBytes = 16_384

    /// Returns the offset after the start tag or end tag at `start`; nil if there is none.
    static func tagEnd(_ text: Bytes, at start: Int) -> Int? {
        let text = Bytes(rebasing: text[..<min(text.count, start + maxTagBytes)])
        let isEnd = start + 1 < text.count && text[start + 1] == UInt8(ascii: "/")
        let name = nameRange(text, at: start + (isEnd ? 2 : 1))
        guard !name.isEmpty else { return nil }
        var index = name.upperBound
        while true {
            let hasSpace = skipSpace(text, &index)
            guard index < text.count else { return nil }
            switch text[index] {
            case UInt8(ascii: ">"): return index + 1
            case UInt8(ascii: "/") where !isEnd:
                return index + 1 < text.count && text[index + 1] == UInt8(ascii: ">") ? index + 2 : nil
            default:
                guard hasSpace, !isEnd, skipAttribute(text, &index) else { return nil }
            }
        }
    }

    private static func skipSpace(_ text: Bytes, _ index: inout Int) -> Bool {
        let start = index
        while index < text.count, text[index].isSpace { index += 1 }
        return index > start
    }

    private static func skipAttribute(_ text: Bytes, _ index: inout Int) -> Bool {
        guard text[index].isLetter || text[index] == UInt8(ascii: "_") || text[index] == UInt8(ascii: ":")
        else { return false }
        while index < text.count,
            text[index].isLetter || text[index].isDigit || "_.:-".utf8.contains(text[index])
        { index += 1 }
        let end = index
        _ = skipSpace(text, &index)
        guard index < text.count, text[index] == UInt8(ascii: "=") else {
            index = end
            return true
        }
        index += 1
        _ = skipSpace(text, &index)
        guard index < text.count else { return false }
        let quote = text[index]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            guard let close = text[(index + 1)...].firstIndex(of: quote) else { return false }
            index = close + 1
            return true
        }
        let start = index
        while index < text.count, text[index] > 0x20, !"\"'=<>`".utf8.contains(text[index]) { index += 1 }
        return index > start
    }
}

extension Bytes {
    /// Whether an end tag with this name is somewhere in the bytes.
    fileprivate func containsEndTag(_ name: StaticString) -> Bool {
        var index = 0
        while let found = firstIndex(of: "</", from: index) {
            index = found + 2
            if starts(with: name, at: index), starts(with: ">", at: index + name.utf8CodeUnitCount) {
                return true
            }
        }
        return false
    }
}
