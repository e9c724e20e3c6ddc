/// Who is told what the skimmer meets. Places count in the text that is skimmed.
protocol HTMLSkimmerDelegate: AnyObject {
    /// A start tag that is complete. The attributes are gone when this returns.
    func skimmed(_ tag: HTMLTag)
    /// The content of an element whose content is no markup: script, style, title, textarea and so on; in foreign
    /// content that of script and style, stretch by stretch.
    func skimmed(content: Range<Int>, of name: UInt8, _ form: HTMLContentForm)
    /// The inside of a comment.
    func skimmed(comment: Range<Int>)
    /// The end tag of a form.
    func skimmedEndOfForm()
}

extension HTMLSkimmerDelegate {
    func skimmedEndOfForm() {}
}

/// How the content of an element is written.
enum HTMLContentForm {
    /// The bytes are the text.
    case raw
    /// Character references are to be undone.
    case text
}

/// What there is beside the plain tokenizer.
struct MarkupDialect {
    /// The content of some elements is no markup.
    var hasRawText: Bool
    /// CDATA may stand everywhere, not only in foreign content.
    var hasCDATA: Bool

    static let html = MarkupDialect(hasRawText: true, hasCDATA: false)
    /// XHTML and SVG.
    static let xml = MarkupDialect(hasRawText: false, hasCDATA: true)
    /// The tokenizer alone, without what tree construction tells it.
    static let bare = MarkupDialect(hasRawText: false, hasCDATA: false)
}

/// Walks the bytes of a document just as the tokenizer of the HTML standard does, and makes nothing of them but places.
///
/// It knows as much of tree construction as the tokenizer needs: which elements' content is no markup, and what is
/// foreign content. Scripting counts as off, so the inside of `<noscript>` is markup.
struct HTMLSkimmer<Delegate: HTMLSkimmerDelegate> {
    /// More attributes of one tag than these are passed over.
    static var attributeLimit: Int { 1024 }

    let bytes: UnsafePointer<UInt8>
    let count: Int
    let dialect: MarkupDialect
    let delegate: Delegate
    let vocabulary: HTMLVocabulary
    /// Tell of every tag with all its attributes, not only of those with a known name.
    let isThorough: Bool
    var attributes: [HTMLAttribute] = []
    var foreign = ForeignContent()

    /// Nil where there is nothing to walk.
    init?(
        _ text: Bytes, _ dialect: MarkupDialect = .html, vocabulary: HTMLVocabulary = .shared, isThorough: Bool = false,
        _ delegate: Delegate
    ) {
        guard let start = text.baseAddress, !text.isEmpty else { return nil }
        bytes = start
        count = text.count
        self.dialect = dialect
        self.delegate = delegate
        self.vocabulary = vocabulary
        self.isThorough = isThorough
        attributes.reserveCapacity(64)
    }

    /// Walks the text from `start` to its end.
    mutating func skim(from start: Int = 0) {
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            guard index &+ 1 < count else { return }
            let mark = bytes[index &+ 1]
            if mark.isLetter {
                index = startTag(at: index)
            } else if mark == UInt8(ascii: "/") {
                index = endTag(at: index)
            } else if mark == UInt8(ascii: "!") {
                index = declaration(at: index)
            } else if mark == UInt8(ascii: "?") {
                index = behind(UInt8(ascii: ">"), from: index)
            } else {
                index &+= 1
            }
        }
    }

    /// The place behind the next `byte`, or the end.
    func behind(_ byte: UInt8, from index: Int) -> Int {
        min(bytes.find(byte, from: index, to: count) + 1, count)
    }

    private mutating func startTag(at start: Int) -> Int {
        var index = start &+ 1
        var hash = NameTable.seed
        while index < count, !Self.endsName(bytes[index]) {
            hash = NameTable.add(bytes[index], to: hash)
            index &+= 1
        }
        let nameRange = start &+ 1..<index
        let name = vocabulary.elements.find(hash, bytes, nameRange)
        attributes.removeAll(keepingCapacity: true)
        var isSelfClosing = false
        if index < count, bytes[index] == UInt8(ascii: ">") {
            index &+= 1
        } else {
            guard let end = tagEnd(from: index, isRecording: true, &isSelfClosing) else { return count }
            index = end
        }
        let traits = vocabulary.traits[Int(name)]
        foreign.breakOut(traits)
        let namespace = foreign.namespace
        if isThorough || !attributes.isEmpty || traits.content != .markup {
            attributes.withUnsafeBufferPointer {
                delegate.skimmed(
                    HTMLTag(
                        range: start..<index, nameRange: nameRange, name: name, namespace: namespace,
                        isSelfClosing: isSelfClosing, attributes: $0))
            }
        }
        if dialect.hasRawText, namespace == .html, traits.content != .markup {
            return content(of: name, traits.content, from: index)
        }
        if !isSelfClosing {
            let isHTML = traits.door == .annotation && isHTMLAnnotation
            foreign.enter(name, traits, isHTMLInside: isHTML)
            if tellsText(traits, namespace) { return foreignText(of: name, from: index) }
        }
        return index
    }

    /// Whether an `annotation-xml` with the attributes of the last tag holds HTML.
    private var isHTMLAnnotation: Bool {
        guard let encoding = attributes.first(where: { $0.name == vocabulary.attribute.encoding }) else { return false }
        let value = Bytes(start: bytes, count: count).part(encoding.valueRange)
        return value.equals("text/html") || value.equals("application/xhtml+xml")
    }

    /// Whether the text of an element is told of although it is written as markup.
    private func tellsText(_ traits: ElementTraits, _ namespace: MarkupNamespace) -> Bool {
        switch traits.content {
        case .script, .rawText: namespace == .svg || dialect.hasCDATA
        case .escapableText: namespace == .html && dialect.hasCDATA
        case .markup, .plainText: false
        }
    }

    /// White space, `/` or `>`: what ends the name of a tag.
    @inline(__always)
    private static func endsName(_ byte: UInt8) -> Bool {
        byte <= 0x3E && (byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") || byte.isSpace)
    }

    mutating func endTag(at start: Int) -> Int {
        var index = start &+ 2
        guard index < count else { return count }
        guard bytes[index].isLetter else {
            // `</>` is nothing; `</` with anything else is a comment up to the next `>`.
            return behind(UInt8(ascii: ">"), from: index)
        }
        var hash = NameTable.seed
        while index < count, !Self.endsName(bytes[index]) {
            hash = NameTable.add(bytes[index], to: hash)
            index &+= 1
        }
        let name = vocabulary.elements.find(hash, bytes, start &+ 2..<index)
        foreign.leave(name, vocabulary.traits[Int(name)])
        if name == vocabulary.element.form { delegate.skimmedEndOfForm() }
        if index < count, bytes[index] == UInt8(ascii: ">") { return index &+ 1 }
        var isSelfClosing = false
        return tagEnd(from: index, isRecording: false, &isSelfClosing) ?? count
    }
}
