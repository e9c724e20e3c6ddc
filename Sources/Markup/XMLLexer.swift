/// Splits XML into tokens, even if it is not well-formed. It never moves back, so its time is linear in the
/// length.
///
/// Comments and declarations are skipped. The bytes are borrowed.
struct XMLLexer {
    private let bytes: Bytes
    private(set) var index = 0

    /// The maximum number of attributes of an element. Further ones are ignored.
    private static let maxAttributes = 256

    init(_ bytes: Bytes) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    /// Reads the next token; nil at the end.
    mutating func next() -> XMLToken? {
        while index < bytes.count {
            let start = index
            if bytes[index] != UInt8(ascii: "<") || !isMarkup(at: index) {
                index = textEnd(from: index + 1)
                return .text(start..<index)
            }
            switch bytes[index + 1] {
            case UInt8(ascii: "!"):
                if let section = readDeclaration() { return .section(section) }
            case UInt8(ascii: "?"):
                return .instruction(readInstruction())
            case UInt8(ascii: "/"):
                index += 2
                let name = readName()
                index = (find(UInt8(ascii: ">"), from: index) ?? bytes.count - 1) + 1
                return .end(name)
            default:
                return .start(readTag())
            }
        }
        return nil
    }

    /// Returns the end of a text, which is the start of the next markup.
    private func textEnd(from start: Int) -> Int {
        var end = start
        while let next = find(UInt8(ascii: "<"), from: end) {
            if isMarkup(at: next) { return next }
            end = next + 1
        }
        return bytes.count
    }

    /// Whether the `<` at an offset begins markup. Any other `<` is text, as in browsers.
    private func isMarkup(at start: Int) -> Bool {
        guard start + 1 < bytes.count else { return false }
        switch bytes[start + 1] {
        case UInt8(ascii: "!"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "_"), UInt8(ascii: ":"),
            0x80...:
            return true
        default: return bytes[start + 1].isLetter
        }
    }

    private func find(_ byte: UInt8, from start: Int) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        let offset = base.find(byte, from: start, to: bytes.count)
        return offset < bytes.count ? offset : nil
    }

    // MARK: Tags

    private mutating func readTag() -> XMLTag {
        index += 1
        var tag = XMLTag(name: readName())
        readAttributes(of: &tag, to: UInt8(ascii: ">"))
        return tag
    }

    private mutating func readName() -> Range<Int> {
        let start = index
        while index < bytes.count, !bytes[index].isSpace, !"=/>?<\"'".utf8.contains(bytes[index]) {
            index += 1
        }
        return start..<index
    }

    /// Reads attributes up to and including `end`. A `<` ends an unclosed tag.
    private mutating func readAttributes(of tag: inout XMLTag, to end: UInt8) {
        while index < bytes.count {
            let byte = bytes[index]
            if byte == end {
                index += 1
                return
            }
            if byte == UInt8(ascii: "<") { return }
            let name = readName()
            guard !name.isEmpty else {
                tag.isEmpty = byte == UInt8(ascii: "/")
                index += 1
                continue
            }
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { continue }
            index += 1
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'")
            else {
                continue
            }
            let start = index + 1
            let close = find(bytes[index], from: start) ?? bytes.count
            index = min(close + 1, bytes.count)
            if tag.attributes.count < Self.maxAttributes {
                tag.attributes.append(XMLTag.Attribute(name: name, value: start..<close))
            }
        }
    }

    private mutating func skipSpace() {
        while index < bytes.count, bytes[index].isSpace { index += 1 }
    }

    // MARK: Declarations

    /// Skips a comment or a document type after `<!`. Returns the content of a CDATA section.
    private mutating func readDeclaration() -> Range<Int>? {
        if bytes.starts(with: "<!--", at: index) {
            index = offset(after: "-->", from: index + 4)
        } else if bytes.starts(with: "<![cdata[", at: index) {
            let start = index + 9
            index = offset(after: "]]>", from: start)
            let isClosed = index - start >= 3 && bytes.starts(with: "]]>", at: index - 3)
            return start..<(isClosed ? index - 3 : index)
        } else {
            skipDocumentType()
        }
        return nil
    }

    /// Skips a document type up to the `>` outside of quotes, brackets and comments.
    private mutating func skipDocumentType() {
        index += 2
        var brackets = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                index = (find(byte, from: index) ?? bytes.count - 1) + 1
            case UInt8(ascii: "["): brackets += 1
            case UInt8(ascii: "]"): brackets -= 1
            case UInt8(ascii: "<"):
                if bytes.starts(with: "!--", at: index) { index = offset(after: "-->", from: index + 3) }
            case UInt8(ascii: ">"): if brackets <= 0 { return }
            default: break
            }
        }
    }

    private mutating func readInstruction() -> XMLTag {
        index += 2
        var tag = XMLTag(name: readName())
        readAttributes(of: &tag, to: UInt8(ascii: ">"))
        return tag
    }

    /// Returns the offset after the mark, or the end of the text.
    private func offset(after mark: StaticString, from start: Int) -> Int {
        let last = mark.utf8Start[mark.utf8CodeUnitCount - 1]
        var offset = start
        while let end = find(last, from: offset) {
            let first = end + 1 - mark.utf8CodeUnitCount
            if first >= start, bytes.starts(with: mark, at: first) { return end + 1 }
            offset = end + 1
        }
        return bytes.count
    }
}

/// A token of XML. Ranges count in the scanned text.
enum XMLToken {
    case start(XMLTag)
    /// An end tag. The range is that of the name.
    case end(Range<Int>)
    case text(Range<Int>)
    /// The content of a CDATA section, which has no character references.
    case section(Range<Int>)
    /// A processing instruction, with the content after its target read as attributes.
    case instruction(XMLTag)
}

/// A start tag or a processing instruction.
struct XMLTag {
    /// An attribute, with its name as written.
    struct Attribute {
        var name: Range<Int>
        /// The range between the quotes.
        var value: Range<Int>
    }

    var name: Range<Int>
    var attributes: [Attribute] = []
    /// Whether the tag closes itself: `<a/>`.
    var isEmpty = false
}
