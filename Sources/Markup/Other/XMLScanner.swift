/// Walks XML and has a vocabulary say which attributes and texts are links.
///
/// Elements are known by their local names, whatever their namespaces: half of all feeds and sitemaps get those wrong.
final class XMLScanner {
    /// An element that is open.
    struct Element {
        var tag: XMLTag
        /// The texts in it, without white space at their ends: usually one, with a CDATA section in the middle several.
        var content: [(range: Range<Int>, isSection: Bool)] = []
        /// There is another element in it.
        var hasElements = false
    }

    let text: SourceText
    let sink: LinkSink
    private let vocabulary: any XMLVocabulary
    /// The elements that are open, from the root on.
    private(set) var elements: [Element] = []
    /// How many elements are open beyond those: nesting has a limit.
    private var surplus = 0
    /// Links that are put together from several places.
    var implied: [ImpliedLink] = []

    private static let maximalDepth = 256
    private static let maximalPieces = 64
    /// How many elements may have been left open inside one that is closed.
    private static let nearness = 16

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
        sink.imply(scanner.implied)
    }

    private func scan() {
        var lexer = XMLLexer(text.bytes)
        while let token = lexer.next() {
            switch token {
            case .start(let tag): open(tag)
            case .end(let name): close(name)
            case .text(let range): content(range, isSection: false)
            case .section(let range): content(range, isSection: true)
            case .instruction(let tag): if elements.isEmpty { XMLProlog.add(tag, text, sink) }
            }
        }
        while !elements.isEmpty { close() }
    }

    private func open(_ tag: XMLTag) {
        if !elements.isEmpty { elements[elements.count - 1].hasElements = true }
        guard elements.count < Self.maximalDepth else {
            if !tag.isEmpty { surplus += 1 }
            return
        }
        elements.append(Element(tag: tag))
        if elements.count == 1 { base(of: tag) }
        vocabulary.opened(self)
        if tag.isEmpty { close() }
    }

    /// Closes the element of this name, and what was left open inside it; nothing when none of that name is near.
    private func close(_ name: Range<Int>) {
        if surplus > 0 {
            surplus -= 1
            return
        }
        let name = text.bytes.part(name)
        let near = elements.indices.suffix(Self.nearness).last {
            text.bytes.part(elements[$0].tag.name).elementsEqual(name)
        }
        guard let near else { return }
        while elements.count > near { close() }
    }

    private func close() {
        guard let element = elements.last else { return }
        if !element.content.isEmpty, !element.hasElements { vocabulary.closed(self) }
        elements.removeLast()
    }

    private func content(_ range: Range<Int>, isSection: Bool) {
        guard surplus == 0, !elements.isEmpty else { return }
        let range = text.bytes.trimmed(range)
        guard !range.isEmpty else { return }
        let last = elements.count - 1
        guard elements[last].content.count < Self.maximalPieces else { return }
        elements[last].content.append((range, isSection))
    }

    /// The `xml:base` of the root is that of the document. Further inside nobody writes one.
    private func base(of tag: XMLTag) {
        guard let attribute = tag.attributes.first(where: { text.bytes.part($0.name).equals("xml:base") }) else {
            return
        }
        add(attribute, .base, .ignoresBase)
        if sink.table.base == nil { sink.table.base = value(attribute) }
    }
}

/// What the elements of a kind of document mean.
protocol XMLVocabulary: AnyObject {
    /// The last of the scanner's elements has just been opened: its attributes are known.
    func opened(_ scanner: XMLScanner)
    /// The last of the scanner's elements is complete, and holds text and nothing else.
    func closed(_ scanner: XMLScanner)
}
