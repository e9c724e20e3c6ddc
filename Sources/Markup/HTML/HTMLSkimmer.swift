/// A scanner that finds the tags of a document as the tokenizer of the HTML standard does, and reports only
/// offsets to its delegate.
///
/// It knows as much of tree construction as the tokenizer needs: the elements whose content is not markup,
/// and foreign content. It assumes that scripting is disabled, so the content of `<noscript>` is markup.
///
/// It is fast because it looks for the next `<` with eight bytes at a time, recognizes names by their hash while it
/// reads them, and reports only tags with an attribute that can contain a link. With it, ``HTMLScanner`` reads 240 MB/s;
/// the parser of libxml2 reads 100 MB/s and reports no byte ranges.
struct HTMLSkimmer<Delegate: HTMLSkimmerDelegate>: ~Copyable {
    /// Further attributes of a tag are ignored.
    private static var maxAttributes: Int { 1024 }

    let bytes: UnsafePointer<UInt8>
    let count: Int
    let dialect: MarkupDialect
    let delegate: Delegate
    let vocabulary: HTMLVocabulary
    /// Whether to report every tag with all its attributes, not only those with a known name.
    let reportsAllTags: Bool
    /// A buffer with the attributes of the last tag; the first `attributeCount` are initialized.
    private let attributeBuffer: UnsafeMutablePointer<HTMLAttribute>
    private var attributeCount = 0
    var foreign = ForeignContent()
    /// Whether there are attributes such as `onload`, or elements such as `svg:script`.
    private(set) var hasEventHandlers = false

    /// Returns nil if the text is empty.
    init?(
        _ text: Bytes, _ dialect: MarkupDialect = .html, vocabulary: HTMLVocabulary = .shared,
        reportsAllTags: Bool = false,
        _ delegate: Delegate
    ) {
        guard let start = text.baseAddress, !text.isEmpty else { return nil }
        bytes = start
        count = text.count
        self.dialect = dialect
        self.delegate = delegate
        self.vocabulary = vocabulary
        self.reportsAllTags = reportsAllTags
        // Allocated last, because `deinit` does not run if the initializer fails.
        attributeBuffer = .allocate(capacity: Self.maxAttributes)
    }

    deinit { attributeBuffer.deallocate() }

    fileprivate var attributes: UnsafeBufferPointer<HTMLAttribute> {
        UnsafeBufferPointer(start: attributeBuffer, count: attributeCount)
    }

    /// Scans the text from `start` to its end.
    mutating func skim(from start: Int = 0) {
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            guard index &+ 1 < count else { return }
            let mark = bytes[index &+ 1]
            if mark.isLetter {
                index = scanStartTag(at: index)
            } else if mark == UInt8(ascii: "/") {
                index = scanEndTag(at: index)
            } else if mark == UInt8(ascii: "!") {
                index = scanDeclaration(at: index)
            } else if mark == UInt8(ascii: "?") {
                index = offset(after: UInt8(ascii: ">"), from: index)
            } else {
                index &+= 1
            }
        }
    }

    /// Returns the offset after the next `byte`, or the end of the text.
    func offset(after byte: UInt8, from index: Int) -> Int {
        min(bytes.find(byte, from: index, to: count) + 1, count)
    }

    /// Scans a start tag and, if its content is not markup, the content and the end tag. Returns the offset after it.
    private mutating func scanStartTag(at start: Int) -> Int {
        var index = start &+ 1
        let name = elementName(at: &index)
        let nameRange = start &+ 1..<index
        let isPrefixedMeta = name == 0 && dialect.hasCDATA && isPrefixedMeta(nameRange)
        if name == 0, dialect.hasCDATA, endsInScript(nameRange) { hasEventHandlers = true }
        attributeCount = 0
        var isSelfClosing = false
        if index < count, bytes[index] == UInt8(ascii: ">") {
            index &+= 1
        } else {
            guard let end = tagEnd(from: index, isRecording: true, &isSelfClosing) else { return count }
            index = end
        }
        if isPrefixedMeta {
            delegate.didFindTag(
                HTMLTag(
                    range: start..<index, nameRange: nameRange, name: vocabulary.element.meta,
                    namespace: .html,
                    isSelfClosing: isSelfClosing, attributes: attributes))
            return index
        }
        let traits = vocabulary.traits[Int(name)]
        foreign.breakOut(traits)
        let namespace = foreign.namespace
        if reportsAllTags || attributeCount > 0 || traits.content != .markup {
            delegate.didFindTag(
                HTMLTag(
                    range: start..<index, nameRange: nameRange, name: name, namespace: namespace,
                    isSelfClosing: isSelfClosing, attributes: attributes))
        }
        if dialect.hasRawText, namespace == .html, traits.content != .markup {
            return scanContent(of: name, traits.content, from: index)
        }
        if !isSelfClosing {
            let isHTML = traits.namespaceChange == .annotation && isHTMLAnnotation
            foreign.enter(name, traits, isHTMLInside: isHTML)
            if reportsText(traits, namespace) { return scanForeignText(of: name, from: index) }
        }
        return index
    }

    /// Whether an `annotation-xml` element with the attributes of the last tag contains HTML.
    private var isHTMLAnnotation: Bool {
        guard let encoding = attributes.first(where: { $0.name == vocabulary.attribute.encoding }) else {
            return false
        }
        let value = Bytes(start: bytes, count: count).part(encoding.valueRange)
        return value.equals("text/html") || value.equals("application/xhtml+xml")
    }

    /// Whether the text of an element is reported although the element's content is markup.
    private func reportsText(_ traits: ElementTraits, _ namespace: MarkupNamespace) -> Bool {
        switch traits.content {
        case .script, .rawText: namespace == .svg || dialect.hasCDATA
        case .escapableText: namespace == .html && dialect.hasCDATA
        case .markup, .plainText: false
        }
    }

    /// Whether a byte ends the name of a tag: white space, `/` or `>`.
    @inline(__always)
    private static func endsName(_ byte: UInt8) -> Bool {
        byte <= 0x3E && (byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") || byte.isSpace)
    }

    /// Returns the number of the name at an offset, and moves the offset after the name.
    @inline(__always)
    private func elementName(at index: inout Int) -> UInt8 {
        if let short = ShortName(bytes, at: index, to: count), Self.endsName(bytes[index &+ short.count]) {
            index &+= short.count
            return vocabulary.elements.find(short)
        }
        let start = index
        var hash = NameTable.seed
        while index < count, !Self.endsName(bytes[index]) {
            hash = NameTable.add(bytes[index], to: hash)
            index &+= 1
        }
        return vocabulary.elements.find(hash, bytes, start..<index)
    }

    /// Scans an end tag and returns the offset after it.
    private mutating func scanEndTag(at start: Int) -> Int {
        var index = start &+ 2
        guard index < count else { return count }
        guard bytes[index].isLetter else {
            // `</>` is ignored; `</` before any other byte starts a comment up to the next `>`.
            return offset(after: UInt8(ascii: ">"), from: index)
        }
        let name = elementName(at: &index)
        foreign.leave(name, vocabulary.traits[Int(name)])
        if name == vocabulary.element.form { delegate.didFindEndOfForm() }
        if index < count, bytes[index] == UInt8(ascii: ">") { return index &+ 1 }
        var isSelfClosing = false
        return tagEnd(from: index, isRecording: false, &isSelfClosing) ?? count
    }
}

/// A receiver of the tags and contents that a skimmer finds. Offsets count in the skimmed text.
protocol HTMLSkimmerDelegate: AnyObject {
    /// Reports a complete start tag. Its attributes are valid only during the call.
    func didFindTag(_ tag: HTMLTag)
    /// Reports the content of an element whose content is not markup, such as script, style, title and
    /// textarea. In foreign content, reports that of script and style piece by piece.
    func didFindContent(_ range: Range<Int>, of name: UInt8, _ form: HTMLContentForm)
    /// Reports the content of a comment, without its delimiters.
    func didFindComment(_ range: Range<Int>)
    /// Reports the end tag of a form.
    func didFindEndOfForm()
}

extension HTMLSkimmerDelegate {
    func didFindEndOfForm() {}
}

/// A delegate that ignores everything.
final class IgnoringDelegate: HTMLSkimmerDelegate {
    func didFindTag(_ tag: HTMLTag) {}
    func didFindContent(_ range: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}
    func didFindComment(_ range: Range<Int>) {}
}

/// The syntax of the content of an element.
enum HTMLContentForm {
    /// The bytes are the text.
    case raw
    /// The text contains character references, which the receiver must decode.
    case text
}

/// The differences between HTML and XML that the skimmer takes into account.
struct MarkupDialect {
    /// Whether the content of some elements is not markup.
    var hasRawText: Bool
    /// Whether CDATA sections are allowed everywhere rather than only in foreign content.
    var hasCDATA: Bool

    static let html = MarkupDialect(hasRawText: true, hasCDATA: false)
    /// XHTML and SVG.
    static let xml = MarkupDialect(hasRawText: false, hasCDATA: true)
}

/// One attribute of a start tag, as offsets in the skimmed text.
struct HTMLAttribute {
    /// The quotes around the value.
    enum Quoting: UInt8 {
        /// `name` without a value.
        case none
        case unquoted
        case single
        case double
    }

    /// The number of the name in ``HTMLVocabulary``; 0 if it is unknown.
    var name: UInt8
    var quoting: Quoting
    var nameRange: Range<Int>
    var valueRange: Range<Int>

    /// Returns the value of the attribute whose known name starts at an offset in a tag that was scanned
    /// before; an empty range if it has none.
    static func value(ofAttributeAt name: Int, in text: Bytes) -> Range<Int> {
        guard var skimmer = HTMLSkimmer(text, vocabulary: .shared, IgnoringDelegate()),
            skimmer.scanAttribute(at: name, true) != nil
        else { return name..<name }
        return skimmer.attributes.last?.valueRange ?? name..<name
    }
}

/// A start tag with its attributes, which are valid until the skimmer's next tag.
struct HTMLTag {
    /// The bytes from `<` up to and including `>`.
    var range: Range<Int>
    var nameRange: Range<Int>
    /// The number of the name in ``HTMLVocabulary``; 0 if it is unknown.
    var name: UInt8
    var namespace: MarkupNamespace
    var isSelfClosing: Bool
    var attributes: UnsafeBufferPointer<HTMLAttribute>
}

/// The namespace of an element, as far as it affects how its content is parsed.
enum MarkupNamespace: UInt8 {
    case html = 0
    case svg = 1
    case mathML = 2
}

// MARK: - Attributes

extension HTMLSkimmer {
    /// Scans the attributes of a tag. Returns the offset after its `>`, or nil if the text ends before that.
    mutating func tagEnd(from start: Int, isRecording: Bool, _ isSelfClosing: inout Bool) -> Int? {
        var index = start
        while true {
            while index < count, bytes[index].isSpace { index &+= 1 }
            guard index < count else { return nil }
            if bytes[index] == UInt8(ascii: ">") { return index &+ 1 }
            if bytes[index] == UInt8(ascii: "/") {
                index &+= 1
                if index < count, bytes[index] == UInt8(ascii: ">") {
                    isSelfClosing = true
                    return index &+ 1
                }
                continue
            }
            guard let next = scanAttribute(at: index, isRecording) else { return nil }
            index = next
        }
    }

    /// Scans one attribute and returns the offset after it. A leading `=` is part of the name.
    @inline(__always)
    fileprivate mutating func scanAttribute(at start: Int, _ isRecording: Bool) -> Int? {
        var index = start
        let short = ShortName(bytes, at: index, to: count).flatMap {
            Self.endsAttributeName(bytes[start &+ $0.count]) ? $0 : nil
        }
        var hash = NameTable.seed
        if let short {
            index &+= short.count
        } else {
            repeat {
                hash = NameTable.add(bytes[index], to: hash)
                index &+= 1
            } while index < count && !Self.endsAttributeName(bytes[index])
        }
        let nameRange = start..<index
        while index < count, bytes[index].isSpace { index &+= 1 }
        guard index < count else { return nil }
        var valueRange = index..<index
        var quoting = HTMLAttribute.Quoting.none
        if bytes[index] == UInt8(ascii: "=") {
            index &+= 1
            while index < count, bytes[index].isSpace { index &+= 1 }
            guard index < count else { return nil }
            let mark = bytes[index]
            if mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") {
                let end = bytes.find(mark, from: index &+ 1, to: count)
                guard end < count else { return nil }
                valueRange = index &+ 1..<end
                quoting = mark == UInt8(ascii: "'") ? .single : .double
                index = end &+ 1
            } else {
                let value = index
                while index < count, bytes[index] != UInt8(ascii: ">"), !bytes[index].isSpace { index &+= 1 }
                guard index < count else { return nil }
                valueRange = value..<index
                quoting = .unquoted
            }
        }
        if isRecording {
            let name =
                short.map(vocabulary.attributes.find) ?? vocabulary.attributes.find(hash, bytes, nameRange)
            if name == 0, bytes[nameRange.lowerBound] | 0x20 == UInt8(ascii: "o"), quoting != .none {
                hasEventHandlers = hasEventHandlers || isEventHandler(nameRange)
            }
            if name != 0 || reportsAllTags, attributeCount < Self.maxAttributes {
                (attributeBuffer + attributeCount).initialize(
                    to: HTMLAttribute(
                        name: name, quoting: quoting, nameRange: nameRange, valueRange: valueRange))
                attributeCount &+= 1
            }
        }
        return index
    }

    /// Whether an attribute that starts with `o` is named `on` followed by letters.
    private func isEventHandler(_ name: Range<Int>) -> Bool {
        name.count > 2 && bytes[name.lowerBound + 1] | 0x20 == UInt8(ascii: "n")
            && name.dropFirst(2).allSatisfy { bytes[$0].isLetter }
    }

    /// Whether a name is that of a script element with a namespace prefix.
    private func endsInScript(_ name: Range<Int>) -> Bool {
        name.count > 7 && Bytes(start: bytes, count: count).part(name.suffix(7)).equals(":script")
    }

    /// Whether a name is that of an XHTML `<meta>` element with a prefix. Such an element may contain a
    /// refresh.
    private func isPrefixedMeta(_ name: Range<Int>) -> Bool {
        name.count > 5 && Bytes(start: bytes, count: count).part(name.suffix(5)).equals(":meta")
    }

    @inline(__always)
    private static func endsAttributeName(_ byte: UInt8) -> Bool {
        byte <= 0x3E
            && (byte == UInt8(ascii: "=") || byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/")
                || byte.isSpace)
    }
}

// MARK: - Content that is not markup

/// The script data states of the tokenizer, as far as they differ in what ends the script.
private enum ScriptState {
    case plain
    case escaped
    case doubleEscaped
}

extension HTMLSkimmer {
    /// Scans the content of an element whose content is not markup, and its end tag.
    mutating func scanContent(of name: UInt8, _ form: ElementTraits.Content, from start: Int) -> Int {
        let end: Int
        switch form {
        case .markup: return start
        case .plainText: end = count
        case .script: end = scriptEnd(name, from: start)
        case .rawText, .escapableText: end = textEnd(name, from: start)
        }
        if end > start {
            delegate.didFindContent(start..<end, of: name, form == .escapableText ? .text : .raw)
        }
        return end < count ? scanEndTag(at: end) : count
    }

    /// Returns the start of the next end tag with that name, or the end of the text.
    private func textEnd(_ name: UInt8, from start: Int) -> Int {
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            guard index < count else { return count }
            if isEndTag(name, at: index) { return index }
            index += 1
        }
    }

    /// Whether an end tag starts here: `</`, the name, and white space, `/` or `>`.
    private func isEndTag(_ name: UInt8, at start: Int) -> Bool {
        start + 1 < count && bytes[start + 1] == UInt8(ascii: "/") && isName(name, at: start + 2)
    }

    /// Whether the name starts here, in any ASCII case, followed by a byte that ends it.
    private func isName(_ name: UInt8, at start: Int) -> Bool {
        let expected = vocabulary.elements.names[Int(name)]
        guard start + expected.count < count else { return false }
        for index in 0..<expected.count where bytes[start + index].lowercased != expected[index] {
            return false
        }
        let next = bytes[start + expected.count]
        return next == UInt8(ascii: ">") || next == UInt8(ascii: "/") || next.isSpace
    }

    /// Returns the end of a script. Inside `<!-- -->`, a `<script>` starts a section, and `</script>` ends
    /// only that section (script data escaped and double escaped states).
    private func scriptEnd(_ name: UInt8, from start: Int) -> Int {
        var state = ScriptState.plain
        var dashes = 0
        var index = start
        while index < count {
            if state == .plain {
                index = bytes.find(UInt8(ascii: "<"), from: index, to: count)
                guard index < count else { return count }
                if isEndTag(name, at: index) { return index }
                let isOpening =
                    index + 3 < count && bytes[index + 1] == UInt8(ascii: "!")
                    && bytes[index + 2] == UInt8(ascii: "-") && bytes[index + 3] == UInt8(ascii: "-")
                index += isOpening ? 4 : 1
                if isOpening {
                    state = .escaped
                    dashes = 2
                }
                continue
            }
            let byte = bytes[index]
            if byte == UInt8(ascii: "-") {
                dashes += 1
            } else if byte == UInt8(ascii: ">"), dashes >= 2 {
                state = .plain
                dashes = 0
            } else {
                dashes = 0
                if byte == UInt8(ascii: "<") {
                    if state == .escaped {
                        if isEndTag(name, at: index) { return index }
                        if isName(name, at: index + 1) { state = .doubleEscaped }
                    } else if isEndTag(name, at: index) {
                        state = .escaped
                    }
                }
            }
            index += 1
        }
        return count
    }

    /// Scans the text of a script or style in foreign content, with character references and CDATA sections,
    /// up to the next tag.
    private mutating func scanForeignText(of name: UInt8, from start: Int) -> Int {
        var index = start
        while index < count {
            let end = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            if end > index { delegate.didFindContent(index..<end, of: name, .text) }
            guard end < count, isCDATA(at: end) else { return end }
            let section = cdataEnd(from: end + Self.cdataMark)
            if section.text > end + Self.cdataMark {
                delegate.didFindContent(end + Self.cdataMark..<section.text, of: name, .raw)
            }
            index = section.next
        }
        return count
    }

    // MARK: - Declarations

    /// Scans the markup after `<!`: a comment, a CDATA section in foreign content, or a declaration that ends
    /// at the next `>`. A doctype ends there even within quotes, as a bogus comment does.
    mutating func scanDeclaration(at start: Int) -> Int {
        let text = Bytes(start: bytes, count: count)
        if text.starts(with: "--", at: start + 2) { return scanComment(from: start + 4) }
        if foreign.namespace != .html || dialect.hasCDATA, isCDATA(at: start) {
            return cdataEnd(from: start + Self.cdataMark).next
        }
        return offset(after: UInt8(ascii: ">"), from: start)
    }

    private static var cdataMark: Int { 9 }

    /// Whether `<![CDATA[` starts here, in exactly this case.
    private func isCDATA(at start: Int) -> Bool {
        guard count - start >= Self.cdataMark else { return false }
        let mark: StaticString = "<![CDATA["
        for index in 0..<Self.cdataMark where bytes[start + index] != mark.utf8Start[index] { return false }
        return true
    }

    /// Returns the end of the text of a CDATA section, and the offset after `]]>`.
    func cdataEnd(from start: Int) -> (text: Int, next: Int) {
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: ">"), from: index, to: count)
            guard index < count else { return (count, count) }
            if index - start >= 2, bytes[index - 1] == UInt8(ascii: "]"),
                bytes[index - 2] == UInt8(ascii: "]")
            {
                return (index - 2, index + 1)
            }
            index += 1
        }
    }

    /// Scans a comment after `<!--`. It ends at `-->` or `--!>`, and immediately at `>` or `->`.
    private mutating func scanComment(from start: Int) -> Int {
        let dash = UInt8(ascii: "-")
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: ">"), from: index, to: count)
            guard index < count else {
                delegate.didFindComment(start..<count)
                return count
            }
            let length = index - start
            if length == 0 || (length == 1 && bytes[start] == dash) { return index + 1 }
            let isBang = length >= 3 && bytes[index - 1] == UInt8(ascii: "!")
            let end = isBang ? index - 1 : index
            if end - start >= 2, bytes[end - 1] == dash, bytes[end - 2] == dash {
                delegate.didFindComment(start..<end - 2)
                return index + 1
            }
            index += 1
        }
    }
}
