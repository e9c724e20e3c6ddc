extension XMLScanner {
    // MARK: Where we are

    /// Whether the element so many levels out has this local name; `name` is lower case.
    func isElement(_ name: StaticString, out levels: Int = 0) -> Bool {
        guard elements.count > levels else { return false }
        return localName(elements[elements.count - 1 - levels].tag.name).equals(name)
    }

    /// A name without its prefix.
    func localName(_ range: Range<Int>) -> Bytes {
        let name = text.bytes.part(range)
        return name.part((name.lastIndex(of: UInt8(ascii: ":")) ?? -1) + 1..<name.count)
    }

    /// An attribute of the innermost element; with its prefix, if it has one.
    func attribute(_ name: StaticString) -> XMLTag.Attribute? {
        elements.last?.tag.attributes.first { text.bytes.part($0.name).equals(name) }
    }

    /// Whether an attribute says just this, without ASCII case.
    func attribute(_ name: StaticString, is value: StaticString) -> Bool {
        attribute(name).map { text.bytes.part(text.bytes.trimmed($0.value)).equals(value) } ?? false
    }

    /// What an attribute says.
    func value(_ attribute: XMLTag.Attribute) -> String {
        var value: [UInt8] = []
        CharacterReferences.decode(text.bytes.part(text.bytes.trimmed(attribute.value)), into: &value)
        return String(decoding: value, as: UTF8.self)
    }

    /// What the text of the innermost element says.
    var content: String {
        var value: [UInt8] = []
        for piece in elements.last?.content ?? [] {
            if piece.isSection {
                value.append(contentsOf: text.bytes[piece.range])
            } else {
                CharacterReferences.decode(text.bytes.part(piece.range), into: &value)
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    // MARK: What is found

    func add(_ attribute: XMLTag.Attribute?, _ kind: LinkKind, _ flags: LinkFlags = []) {
        guard let attribute else { return }
        text.withDecoded(attribute.value, flags: flags) { [sink] text in
            sink.add(text.bytes.trimmed(0..<text.bytes.count), in: text, kind)
        }
    }

    /// Adds the text of the innermost element. In several pieces it has no place of its own.
    func addContent(_ kind: LinkKind, _ flags: LinkFlags = []) {
        guard elements.last?.content.count == 1 else {
            imply(ImpliedLink(content, kind, flags))
            return
        }
        withContent { [sink] text in sink.add(text.bytes.trimmed(0..<text.bytes.count), in: text, kind, .plain, flags) }
    }

    /// Hands over the pieces of the text of the innermost element with their references undone.
    func withContent(_ body: (SourceText) -> Void) {
        for piece in elements.last?.content ?? [] {
            if piece.isSection {
                body(text.part(piece.range))
            } else {
                text.withDecoded(piece.range, body)
            }
        }
    }

    func imply(_ link: ImpliedLink) {
        if implied.count < Self.maximalImplied, link.reference.utf8.count <= Self.maximalLength { implied.append(link) }
    }

    private static var maximalImplied: Int { 65_536 }
    /// What is put together from several places is no longer than this.
    static var maximalLength: Int { 4096 }
}
