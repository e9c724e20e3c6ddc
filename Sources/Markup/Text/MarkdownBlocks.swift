/// A block of a Markdown document that has inline content, or is HTML.
struct MarkdownBlock {
    enum Kind {
        /// A paragraph, or the cell of a table.
        case text
        case heading
        case html
    }

    let kind: Kind
    /// The block's lines in ``MarkdownBlocks/lines``.
    let lines: Range<Int>
}

/// The definition of a link label: `[label]: destination "title"`.
struct MarkdownDefinition {
    let label: String
    let destination: MarkdownDestination
    /// The range of the destination in the document.
    let range: Range<Int>
}

/// The block structure of a Markdown document: phase 1 of CommonMark's appendix "A parsing strategy", with the tables and
/// footnotes of GitHub's extensions.
///
/// An admonition of Python-Markdown (`!!! note`) contains the indented lines after it, which CommonMark reads as code.
struct MarkdownBlocks {
    /// A block that contains others.
    private enum Container {
        case quote
        /// An item of a list, a footnote or an admonition. Its lines are indented by at least this number of columns. `isBare` until
        /// the item has content.
        case item(indent: Int, isBare: Bool)
    }

    /// The block that the next line may continue.
    private enum Leaf: Equatable {
        case none
        case paragraph
        case table
        case code
        case fence(UInt8, length: Int)
        case html(MarkdownHTML.BlockEnd)
    }

    /// Deeper quotes and items are text. This bounds the cost of a line.
    private static let maxDepth = 100

    private let bytes: Bytes
    private(set) var blocks: [MarkdownBlock] = []
    /// The lines of all blocks: ranges in the document without the marks of containers, indentation and line ends.
    private(set) var lines: [Range<Int>] = []
    private(set) var definitions: [MarkdownDefinition] = []
    private var containers: [Container] = []
    private var leaf = Leaf.none
    /// The first line of the leaf.
    private var leafStart = 0

    init(_ bytes: Bytes) {
        self.bytes = bytes
        var index = Self.contentStart(of: bytes)
        while index < bytes.count {
            let line = Self.line(at: index, in: bytes)
            read(MarkdownLine(bytes, line.range))
            index = line.next
        }
        closeLeaf()
    }

    // MARK: - Lines

    /// Returns the line at an offset without its end, and the offset of the next line.
    private static func line(at start: Int, in bytes: Bytes) -> (range: Range<Int>, next: Int) {
        let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
        let isPair = end + 1 < bytes.count && bytes[end] == 0x0D && bytes[end + 1] == 0x0A
        return (start..<end, min(end + (isPair ? 2 : 1), bytes.count))
    }

    /// Returns the offset after a byte order mark and the front matter.
    private static func contentStart(of bytes: Bytes) -> Int {
        let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        guard start < bytes.count else { return start }
        let first = line(at: start, in: bytes)
        let mark = bytes.part(bytes.trimmed(first.range))
        guard mark.equals("---") || mark.equals("+++"), bytes[start] == mark[0] else { return start }
        var index = first.next
        while index < bytes.count {
            let line = line(at: index, in: bytes)
            let text = bytes.part(bytes.trimmed(line.range))
            index = line.next
            if text.isEqual(to: mark) || mark[0] == UInt8(ascii: "-") && text.equals("...") { return index }
        }
        return start
    }

    private mutating func read(_ line: MarkdownLine) {
        var line = line
        var depth = 0
        while depth < containers.count, continueContainer(depth, &line) { depth += 1 }
        let isContinued = depth == containers.count
        if isContinued, continueLeaf(line) { return }

        var hasOpened = false
        while !line.isBlank {
            let isParagraph = (leaf == .paragraph || leaf == .table) && !hasOpened
            if line.indent >= 4 {
                if isParagraph { break }
                close(to: depth)
                leaf = .code
                return
            }
            if isContinued, isParagraph, leaf == .paragraph, isUnderline(line), endParagraphAsHeading() {
                return
            }
            if openLeaf(line, depth, inParagraph: isContinued && isParagraph) { return }
            guard depth < Self.maxDepth, openContainer(&line, depth, inParagraph: isContinued && isParagraph)
            else { break }
            depth += 1
            hasOpened = true
        }
        if line.isBlank {
            close(to: depth)
        } else if leaf == .paragraph, !hasOpened {
            // CommonMark's laziness: a line continues a paragraph even without the marks of its containers.
            addToParagraph(line.content)
        } else if leaf == .table, isContinued, !hasOpened {
            lines.append(line.content)
        } else {
            close(to: depth)
            leaf = .paragraph
            leafStart = lines.count
            lines.append(line.content)
        }
    }

    // MARK: - Containers

    /// Whether the line is in an open container. Moves the line after its mark.
    private mutating func continueContainer(_ depth: Int, _ line: inout MarkdownLine) -> Bool {
        switch containers[depth] {
        case .quote: return line.skipQuoteMark()
        case .item(let indent, let isBare):
            if line.isBlank { return !isBare }
            guard line.indent >= indent else { return false }
            line.skip(columns: indent)
            if isBare { containers[depth] = .item(indent: indent, isBare: false) }
            return true
        }
    }

    private mutating func openContainer(_ line: inout MarkdownLine, _ depth: Int, inParagraph: Bool) -> Bool {
        let indent = line.indent
        if line.skipQuoteMark() {
            close(to: depth)
            containers.append(.quote)
            return true
        }
        let start = line.content.lowerBound
        if let length = MarkdownSyntax.footnoteMarkLength(bytes, line.content) {
            line.skip(to: start + length)
            close(to: depth)
            containers.append(.item(indent: 4, isBare: false))
            return true
        }
        if MarkdownSyntax.isAdmonition(bytes, line.content) {
            line.skip(to: line.content.upperBound)
            close(to: depth)
            containers.append(.item(indent: indent + 4, isBare: false))
            return true
        }
        guard let (length, isFirst) = MarkdownSyntax.listMark(bytes, line.content) else { return false }
        var rest = line
        rest.skip(to: start + length)
        if inParagraph, rest.isBlank || !isFirst { return false }
        let spaces = rest.indent
        let isCode = !rest.isBlank && spaces > 4
        let padding = rest.isBlank || isCode ? 1 : spaces
        if !rest.isBlank { rest.skip(columns: padding) }
        close(to: depth)
        containers.append(.item(indent: indent + length + padding, isBare: rest.isBlank))
        line = rest
        return true
    }

    /// Closes the leaf, and the containers from this depth on.
    private mutating func close(to depth: Int) {
        closeLeaf()
        containers.removeLast(containers.count - depth)
    }

    // MARK: - Leaves

    /// Adds the line to a leaf whose content may be anything. Returns false if the line may start a block.
    private mutating func continueLeaf(_ line: MarkdownLine) -> Bool {
        switch leaf {
        case .none, .paragraph, .table: return false
        case .code:
            if line.isBlank || line.indent >= 4 { return true }
            leaf = .none
            return false
        case .fence(let mark, let length):
            if line.indent < 4 {
                let run = bytes.part(line.content).prefix { $0 == mark }.count
                let rest = line.content.dropFirst(run)
                if run >= length, rest.allSatisfy({ bytes[$0].isSpace }) { leaf = .none }
            }
            return true
        case .html(let end):
            if end == .blankLine, line.isBlank {
                closeLeaf()
                return true
            }
            addHTML(line, end)
            return true
        }
    }

    private mutating func addHTML(_ line: MarkdownLine, _ end: MarkdownHTML.BlockEnd) {
        let line = line.rest
        if end.isMarkup { lines.append(line) }
        guard let offset = end.offset(in: bytes.part(line)) else { return }
        // Tags after a comment belong to its block.
        if !end.isMarkup { lines.append(line.dropFirst(offset)) }
        closeLeaf()
    }

    /// Starts a leaf other than a paragraph. Returns false if the line does not start one.
    private mutating func openLeaf(_ line: MarkdownLine, _ depth: Int, inParagraph: Bool) -> Bool {
        let content = line.content
        let text = bytes.part(content)
        switch text[0] {
        case UInt8(ascii: "#"):
            guard let heading = MarkdownSyntax.headingContent(text) else { return false }
            close(to: depth)
            let start = content.lowerBound
            lines.append(start + heading.lowerBound..<start + heading.upperBound)
            blocks.append(MarkdownBlock(kind: .heading, lines: lines.count - 1..<lines.count))
        case UInt8(ascii: "`"), UInt8(ascii: "~"):
            let run = text.prefix { $0 == text[0] }.count
            guard run >= 3, text[0] == UInt8(ascii: "~") || !text[run...].contains(UInt8(ascii: "`")) else {
                return false
            }
            close(to: depth)
            leaf = .fence(text[0], length: run)
        case UInt8(ascii: "<"):
            guard let end = MarkdownHTML.blockEnd(ofBlockStartingWith: text), !inParagraph || !end.isTagAlone
            else {
                return false
            }
            close(to: depth)
            leaf = .html(end.end)
            leafStart = lines.count
            addHTML(line, end.end)
        case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            guard MarkdownSyntax.isThematicBreak(text) else { return false }
            close(to: depth)
        default: return false
        }
        return true
    }

    private mutating func closeLeaf() {
        let range = leafStart..<lines.count
        switch leaf {
        case .none, .code, .fence: break
        case .html: if !range.isEmpty { blocks.append(MarkdownBlock(kind: .html, lines: range)) }
        case .paragraph: closeParagraph(as: .text)
        case .table: closeTable()
        }
        leaf = .none
        leafStart = lines.count
    }

    // MARK: - Paragraphs

    /// Whether the line is the underline of a heading.
    private func isUnderline(_ line: MarkdownLine) -> Bool {
        let text = bytes.part(bytes.trimmed(line.content))
        return (text[0] == UInt8(ascii: "=") || text[0] == UInt8(ascii: "-"))
            && text.allSatisfy { $0 == text[0] }
    }

    /// Returns false if the paragraph consists of definitions only, and is therefore not a heading.
    private mutating func endParagraphAsHeading() -> Bool {
        readDefinitions()
        guard leafStart < lines.count else {
            leaf = .none
            return false
        }
        blocks.append(MarkdownBlock(kind: .heading, lines: leafStart..<lines.count))
        leaf = .none
        return true
    }

    private mutating func closeParagraph(as kind: MarkdownBlock.Kind) {
        readDefinitions()
        if leafStart < lines.count {
            blocks.append(MarkdownBlock(kind: kind, lines: leafStart..<lines.count))
        }
    }

    /// Reads the definitions at the start of the paragraph, and moves `leafStart` after them.
    private mutating func readDefinitions() {
        guard leafStart < lines.count, bytes[lines[leafStart].lowerBound] == UInt8(ascii: "[") else { return }
        let first = leafStart
        let text = MarkdownText(bytes, lines[first...])
        text.bytes.withUnsafeBufferPointer { written in
            var index = 0
            while let found = MarkdownSyntax.definition(written, at: index) {
                definitions.append(
                    MarkdownDefinition(
                        label: found.label, destination: found.destination,
                        range: text.range(of: found.destination.range)))
                index = found.end
                leafStart = index == written.count ? lines.count : first + text.line(at: index)
            }
        }
    }

    private mutating func addToParagraph(_ content: Range<Int>) {
        let header = lines.count - 1
        lines.append(content)
        guard let count = MarkdownSyntax.delimiterCount(bytes.part(content)),
            MarkdownSyntax.cells(bytes, lines[header]).count == count
        else { return }
        // The line before the delimiters is the header of a table; those before it are a paragraph.
        let table = lines[header...]
        lines.removeLast(table.count)
        closeLeaf()
        leaf = .table
        leafStart = lines.count
        lines.append(contentsOf: table)
    }

    private mutating func closeTable() {
        for (number, row) in lines[leafStart...].enumerated() where number != 1 {
            for cell in MarkdownSyntax.cells(bytes, row) where !cell.isEmpty {
                lines.append(cell)
                blocks.append(MarkdownBlock(kind: .text, lines: lines.count - 1..<lines.count))
            }
        }
    }
}

/// The rest of a line after the marks of its containers.
struct MarkdownLine {
    private let bytes: Bytes
    private let end: Int
    /// The offset of the next byte. A tab that is partly skipped is still the next byte.
    private var offset: Int
    private var column = 0
    /// The number of columns of spaces and tabs.
    private(set) var indent = 0
    private var contentStart = 0

    init(_ bytes: Bytes, _ range: Range<Int>) {
        self.bytes = bytes
        (offset, end) = (range.lowerBound, range.upperBound)
        measureIndent()
    }

    /// The line from its next byte on.
    var rest: Range<Int> { offset..<end }
    /// The line from its first byte on that is not a space or tab.
    var content: Range<Int> { contentStart..<end }
    var isBlank: Bool { contentStart == end }

    private mutating func measureIndent() {
        var column = column
        contentStart = offset
        while contentStart < end, bytes[contentStart] == 0x20 || bytes[contentStart] == 0x09 {
            column += bytes[contentStart] == 0x09 ? 4 - column % 4 : 1
            contentStart += 1
        }
        indent = column - self.column
    }

    /// Skips spaces and tabs. Tabs have stops at each fourth column.
    mutating func skip(columns: Int) {
        let last = column + columns
        while column < last, offset < contentStart {
            let next = bytes[offset] == 0x09 ? column + 4 - column % 4 : column + 1
            if next > last { break }
            (offset, column) = (offset + 1, next)
        }
        column = last
        measureIndent()
    }

    /// Skips to an offset in the content.
    mutating func skip(to offset: Int) {
        column += indent + offset - contentStart
        self.offset = offset
        measureIndent()
    }

    /// Skips `>` and the space after it.
    mutating func skipQuoteMark() -> Bool {
        guard indent < 4, !isBlank, bytes[contentStart] == UInt8(ascii: ">") else { return false }
        skip(to: contentStart + 1)
        if indent > 0 { skip(columns: 1) }
        return true
    }
}
