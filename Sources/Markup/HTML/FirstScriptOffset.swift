/// Finds the offset at which a server can insert a script that runs before the document's own scripts.
enum FirstScriptOffset {
    /// Returns the mark of a document that runs scripts; nil if no script can precede the document's own.
    static func mark(in document: Bytes, _ format: BodyFormat) -> DocumentMark? {
        if format.isXMLDocument { return xmlOffset(in: document).map { DocumentMark(.start, at: $0) } }
        guard format == .html, var skimmer = HTMLSkimmer(document, vocabulary: .shared, IgnoringDelegate())
        else {
            return nil
        }
        return skimmer.startMark()
    }

    /// In XML, the script must be inside the root element.
    private static func xmlOffset(in document: Bytes) -> Int? {
        // Without these namespaces, the document cannot contain a script element that runs.
        guard
            document.firstIndex(of: "http://www.w3.org/1999/xhtml") != nil
                || document.firstIndex(of: "http://www.w3.org/2000/svg") != nil
        else { return nil }
        var lexer = XMLLexer(document)
        var offset: Int?
        while let token = lexer.next() {
            switch token {
            case .instruction: continue
            case .text(let range) where document.trimmed(range).isEmpty: continue
            case .start(let tag) where offset == nil:
                if tag.isEmpty { return nil }
                offset = lexer.index
                if document.part(tag.name).equals("html") { continue }
            case .start(let tag):
                if document.part(tag.name).equals("head"), !tag.isEmpty { return lexer.index }
            case .text, .section, .end: break
            }
            return offset
        }
        return offset
    }
}

extension BodyFormat {
    /// Returns the offset at which to insert content that applies to the whole document, before all its other
    /// content; nil if there is none.
    package func headOffset(in document: Span<UInt8>) -> Int? {
        document.withUnsafeBufferPointer { FirstScriptOffset.mark(in: $0, self)?.offset }
    }
}

extension HTMLSkimmer {
    /// Returns the offset after `<html>` and `<head>`, or after the doctype if they are omitted. Without all
    /// three, the body may be only a fragment of a document.
    fileprivate mutating func startMark() -> DocumentMark {
        let text = Bytes(start: bytes, count: count)
        var index = text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        var (offset, hasDoctype): (Int?, Bool) = (nil, false)
        while index < count {
            if bytes[index].isSpace {
                index += 1
            } else if text.starts(with: "<!", at: index) {
                hasDoctype = hasDoctype || text.starts(with: "<!doctype", at: index)
                index = scanDeclaration(at: index)
            } else if text.starts(with: "<?", at: index) {
                index = self.offset(after: UInt8(ascii: ">"), from: index)
            } else if let tag = startTag(of: "html", at: index) {
                (index, offset) = (tag, tag)
            } else {
                offset = startTag(of: "head", at: index) ?? offset
                break
            }
        }
        if let offset { return DocumentMark(.start, at: offset) }
        return DocumentMark(hasDoctype ? .start : .startOfFragment, at: index)
    }

    /// Returns the offset after the start tag with this name that begins here; nil if there is none.
    private mutating func startTag(of name: StaticString, at start: Int) -> Int? {
        let end = start + 1 + name.utf8CodeUnitCount
        guard end < count, bytes[start] == UInt8(ascii: "<"),
            Bytes(start: bytes, count: count).starts(with: name, at: start + 1),
            bytes[end].isSpace || bytes[end] == UInt8(ascii: "/") || bytes[end] == UInt8(ascii: ">")
        else { return nil }
        var isSelfClosing = false
        return tagEnd(from: end, isRecording: false, &isSelfClosing)
    }
}
