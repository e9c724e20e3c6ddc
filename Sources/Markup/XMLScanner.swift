/// A scanner of XML documents that lets a vocabulary decide which attributes and texts are links.
///
/// It compares elements by their local names and ignores namespaces, since half of all feeds and sitemaps use
/// wrong ones.
final class XMLScanner {
    /// An open element.
    struct Element {
        var tag: XMLTag
        /// The texts in the element without surrounding white space. There are several if a CDATA section is
        /// in the middle.
        var content: [(range: Range<Int>, isSection: Bool)] = []
        /// Whether the element contains other elements.
        var hasElements = false
    }

    let text: SourceText
    let sink: LinkSink
    private let vocabulary: any XMLVocabulary
    /// The open elements, from the root to the innermost one.
    private(set) var elements: [Element] = []
    /// The number of open elements beyond the maximum depth, which are ignored.
    private var ignoredDepth = 0
    /// Links whose URLs are composed from several places.
    var implied: [ImpliedLink] = []

    private static let maxDepth = 256
    private static let maxTextPieces = 64
    /// The maximum distance of an end tag's element from the innermost open one.
    private static let maxEndTagDistance = 16

    private init(_ text: SourceText, _ sink: LinkSink, _ vocabulary: any XMLVocabulary) {
        let context = LinkContext(
            levels: text.context.levels, isUnquoted: text.context.isUnquoted, isXML: true, text.context.inner)
        self.text = SourceText(text.bytes, map: text.map, context: context, flags: text.flags)
        self.sink = sink
        self.vocabulary = vocabulary
    }

    static func scan(_ text: SourceText, _ sink: LinkSink, _ vocabulary: any XMLVocabulary) {
        let scanner = XMLScanner(text, sink, vocabulary)
        scanner.scan()
        sink.addImplied(scanner.implied)
    }

    private func scan() {
        var lexer = XMLLexer(text.bytes)
        while let token = lexer.next() {
            switch token {
            case .start(let tag): open(tag)
            case .end(let name): close(name)
            case .text(let range): addText(range, isSection: false)
            case .section(let range): addText(range, isSection: true)
            case .instruction(let tag): if elements.isEmpty { XMLProlog.add(tag, text, sink) }
            }
        }
        while !elements.isEmpty { close() }
    }

    private func open(_ tag: XMLTag) {
        if !elements.isEmpty { elements[elements.count - 1].hasElements = true }
        guard elements.count < Self.maxDepth else {
            if !tag.isEmpty { ignoredDepth += 1 }
            return
        }
        elements.append(Element(tag: tag))
        if elements.count == 1 { base(of: tag) }
        vocabulary.didOpenElement(self)
        if tag.isEmpty { close() }
    }

    /// Closes the innermost element with this name and all unclosed elements inside it. Does nothing if none
    /// of the innermost 16 elements has that name.
    private func close(_ name: Range<Int>) {
        if ignoredDepth > 0 {
            ignoredDepth -= 1
            return
        }
        let name = text.bytes.part(name)
        let match = elements.indices.suffix(Self.maxEndTagDistance).last {
            text.bytes.part(elements[$0].tag.name).elementsEqual(name)
        }
        guard let match else { return }
        while elements.count > match { close() }
    }

    private func close() {
        guard let element = elements.last else { return }
        if !element.content.isEmpty, !element.hasElements { vocabulary.didCloseElement(self) }
        elements.removeLast()
    }

    private func addText(_ range: Range<Int>, isSection: Bool) {
        guard ignoredDepth == 0, !elements.isEmpty else { return }
        let range = text.bytes.trimmed(range)
        guard !range.isEmpty else { return }
        let last = elements.count - 1
        guard elements[last].content.count < Self.maxTextPieces else { return }
        elements[last].content.append((range, isSection))
    }

    /// Records the `xml:base` of the root as the base of the document. Other elements practically never have
    /// one.
    private func base(of tag: XMLTag) {
        guard let attribute = tag.attributes.first(where: { text.bytes.part($0.name).equals("xml:base") })
        else {
            return
        }
        add(attribute, .base, .ignoresBase)
        if sink.table.base == nil { sink.table.base = value(attribute) }
    }
}

/// The meaning of the elements in one type of XML document.
protocol XMLVocabulary: AnyObject {
    /// Handles the start tag of the scanner's innermost element. Its attributes are available.
    func didOpenElement(_ scanner: XMLScanner)
    /// Handles the end of the scanner's innermost element, which contains only text.
    func didCloseElement(_ scanner: XMLScanner)
}

extension XMLScanner {
    // MARK: Position

    /// Whether the element `levels` levels out from the innermost one has this local name, given in lower
    /// case.
    func isElement(_ name: StaticString, out levels: Int = 0) -> Bool {
        guard elements.count > levels else { return false }
        return localName(elements[elements.count - 1 - levels].tag.name).equals(name)
    }

    /// Returns a name without its prefix.
    func localName(_ range: Range<Int>) -> Bytes {
        let name = text.bytes.part(range)
        return name.part((name.lastIndex(of: UInt8(ascii: ":")) ?? -1) + 1..<name.count)
    }

    /// Returns an attribute of the innermost element by its name, including a prefix.
    func attribute(_ name: StaticString) -> XMLTag.Attribute? {
        elements.last?.tag.attributes.first { text.bytes.part($0.name).equals(name) }
    }

    /// Whether an attribute has exactly this value, in any ASCII case.
    func attribute(_ name: StaticString, is value: StaticString) -> Bool {
        attribute(name).map { text.bytes.part(text.bytes.trimmed($0.value)).equals(value) } ?? false
    }

    /// Returns the decoded value of an attribute.
    func value(_ attribute: XMLTag.Attribute) -> String {
        var value: [UInt8] = []
        CharacterReferences.decode(text.bytes.part(text.bytes.trimmed(attribute.value)), into: &value)
        return String(decoding: value, as: UTF8.self)
    }

    /// The decoded text of the innermost element.
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

    // MARK: Results

    /// Marks the places in the innermost element that are not links but change when the document is served
    /// from another place, and records whether the document runs scripts.
    func addMarks() {
        guard let tag = elements.last?.tag else { return }
        if isElement("script") { sink.runsScript = true }
        let isMeta = isElement("meta")
        for attribute in tag.attributes {
            let name = text.bytes.part(attribute.name)
            if name.equals("referrerpolicy") {
                sink.addMark(.referrerPolicy, attribute.name, in: text)
            } else if isMeta, name.equals("http-equiv") {
                sink.markPolicy(in: attribute.value, of: text)
            } else if isMeta, name.equals("name") {
                sink.markReferrer(in: attribute.value, of: text)
            } else if name.starts(with: "on"), name.count > 2, name.allSatisfy(\.isLetter) {
                sink.runsScript = true
            }
        }
    }

    func add(_ attribute: XMLTag.Attribute?, _ kind: LinkKind, _ flags: LinkFlags = []) {
        guard let attribute else { return }
        text.withDecoded(attribute.value, flags: flags) { [sink] text in
            sink.add(text.bytes.trimmed(0..<text.bytes.count), in: text, kind)
        }
    }

    /// Adds the text of the innermost element as a link. A text in several pieces has no place, so it becomes
    /// an implied link.
    func addContent(_ kind: LinkKind, _ flags: LinkFlags = []) {
        guard elements.last?.content.count == 1 else {
            addImplied(ImpliedLink(content, kind, flags))
            return
        }
        withContent { [sink] text in
            sink.add(text.bytes.trimmed(0..<text.bytes.count), in: text, kind, .plain, flags)
        }
    }

    /// Calls `body` with each piece of the innermost element's text, with character references decoded.
    func withContent(_ body: (SourceText) -> Void) {
        for piece in elements.last?.content ?? [] {
            if piece.isSection {
                body(text.part(piece.range))
            } else {
                text.withDecoded(piece.range, body)
            }
        }
    }

    func addImplied(_ link: ImpliedLink) {
        if implied.count < Self.maxImplied, link.reference.utf8.count <= Self.maxURLBytes {
            implied.append(link)
        }
    }

    private static var maxImplied: Int { 65_536 }
    /// The maximum length of a composed URL in bytes. Longer ones are ignored.
    static var maxURLBytes: Int { 4096 }
}

/// The part of an XML document before the root element: `<?xml-stylesheet href="…"?>`.
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
        let type = tag.attributes.first { text.bytes.part($0.name).equals("type") }.map {
            text.bytes.part($0.value)
        }
        let isTransform =
            type.map { $0.firstIndex(of: "xsl") != nil || $0.firstIndex(of: "xml") != nil } ?? false
        text.withDecoded(address.value) { text in
            sink.add(text.bytes.trimmed(0..<text.bytes.count), in: text, isTransform ? .transform : .style)
        }
    }
}
