/// What stands in front of the root element of an XML document: `<?xml-stylesheet href="…"?>`.
enum XMLProlog {
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        var lexer = XMLLexer(text.bytes)
        while let token = lexer.next() {
            switch token {
            case .instruction(let tag): add(tag, text, sink)
            case .text, .section: break
            case .start, .end: return
            }
        }
    }

    static func add(_ tag: XMLTag, _ text: SourceText, _ sink: LinkSink) {
        guard text.bytes.part(tag.name).equals("xml-stylesheet"),
            let address = tag.attributes.first(where: { text.bytes.part($0.name).equals("href") })
        else { return }
        let type = tag.attributes.first { text.bytes.part($0.name).equals("type") }.map { text.bytes.part($0.value) }
        let isTransform = type.map { $0.firstIndex(of: "xsl") != nil || $0.firstIndex(of: "xml") != nil } ?? false
        text.withDecoded(address.value) { text in
            sink.add(text.bytes.trimmed(0..<text.bytes.count), in: text, isTransform ? .transform : .style)
        }
    }
}
