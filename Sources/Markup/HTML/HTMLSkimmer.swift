/// Walks the bytes of a document just as the tokenizer of the HTML standard does, and makes nothing of them
/// but places.
///
/// It knows as much of tree construction as the tokenizer needs: which elements' content is no markup, and
/// what is foreign content. Scripting counts as off, so the inside of `<noscript>` is markup.
struct HTMLSkimmer<Delegate: HTMLSkimmerDelegate>: ~Copyable {
    /// More attributes of one tag than these are passed over.
    private static var attributeLimit: Int { 1024 }

    let bytes: UnsafePointer<UInt8>
    let count: Int
    let dialect: MarkupDialect
    let delegate: Delegate
    let vocabulary: HTMLVocabulary
    /// Tell of every tag with all its attributes, not only of those with a known name.
    let isThorough: Bool
    /// Those of the last tag stand at its beginning.
    private let room: UnsafeMutablePointer<HTMLAttribute>
    private var attributeCount = 0
    var foreign = ForeignContent()
    /// There are attributes such as `onload`, or elements such as `svg:script`.
    private(set) var hasHandlers = false

    /// Nil where there is nothing to walk.
    init?(
        _ text: Bytes, _ dialect: MarkupDialect = .html, vocabulary: HTMLVocabulary = .shared,
        isThorough: Bool = false,
        _ delegate: Delegate
    ) {
        guard let start = text.baseAddress, !text.isEmpty else { return nil }
        bytes = start
        count = text.count
        self.dialect = dialect
        self.delegate = delegate
        self.vocabulary = vocabulary
        self.isThorough = isThorough
        // Not before anything has failed: what was never made is not cleared away.
        room = .allocate(capacity: Self.attributeLimit)
    }

    deinit { room.deallocate() }

    fileprivate var attributes: UnsafeBufferPointer<HTMLAttribute> {
        UnsafeBufferPointer(start: room, count: attributeCount)
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
        let name = elementName(at: &index)
        let nameRange = start &+ 1..<index
        let isPrefixedMeta = name == 0 && dialect.hasCDATA && isPrefixedMeta(nameRange)
        if name == 0, dialect.hasCDATA, endsInScript(nameRange) { hasHandlers = true }
        attributeCount = 0
        var isSelfClosing = false
        if index < count, bytes[index] == UInt8(ascii: ">") {
            index &+= 1
        } else {
            guard let end = tagEnd(from: index, isRecording: true, &isSelfClosing) else { return count }
            index = end
        }
        if isPrefixedMeta {
            delegate.skimmed(
                HTMLTag(
                    range: start..<index, nameRange: nameRange, name: vocabulary.element.meta,
                    namespace: .html,
                    isSelfClosing: isSelfClosing, attributes: attributes))
            return index
        }
        let traits = vocabulary.traits[Int(name)]
        foreign.breakOut(traits)
        let namespace = foreign.namespace
        if isThorough || attributeCount > 0 || traits.content != .markup {
            delegate.skimmed(
                HTMLTag(
                    range: start..<index, nameRange: nameRange, name: name, namespace: namespace,
                    isSelfClosing: isSelfClosing, attributes: attributes))
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
        guard let encoding = attributes.first(where: { $0.name == vocabulary.attribute.encoding }) else {
            return false
        }
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

    /// The number of the name that begins at a place, which moves behind it.
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

    private mutating func endTag(at start: Int) -> Int {
        var index = start &+ 2
        guard index < count else { return count }
        guard bytes[index].isLetter else {
            // `</>` is nothing; `</` with anything else is a comment up to the next `>`.
            return behind(UInt8(ascii: ">"), from: index)
        }
        let name = elementName(at: &index)
        foreign.leave(name, vocabulary.traits[Int(name)])
        if name == vocabulary.element.form { delegate.skimmedEndOfForm() }
        if index < count, bytes[index] == UInt8(ascii: ">") { return index &+ 1 }
        var isSelfClosing = false
        return tagEnd(from: index, isRecording: false, &isSelfClosing) ?? count
    }
}

/// Who is told what the skimmer meets. Places count in the text that is skimmed.
protocol HTMLSkimmerDelegate: AnyObject {
    /// A start tag that is complete. The attributes are gone when this returns.
    func skimmed(_ tag: HTMLTag)
    /// The content of an element whose content is no markup: script, style, title, textarea and so on; in
    /// foreign content that of script and style, stretch by stretch.
    func skimmed(content: Range<Int>, of name: UInt8, _ form: HTMLContentForm)
    /// The inside of a comment.
    func skimmed(comment: Range<Int>)
    /// The end tag of a form.
    func skimmedEndOfForm()
}

extension HTMLSkimmerDelegate {
    func skimmedEndOfForm() {}
}

/// Who wants to be told of nothing.
final class SilentDelegate: HTMLSkimmerDelegate {
    func skimmed(_ tag: HTMLTag) {}
    func skimmed(content: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}
    func skimmed(comment: Range<Int>) {}
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

/// One attribute of a start tag, as places in the text that is skimmed.
struct HTMLAttribute {
    enum Quoting: UInt8 {
        /// `name` alone.
        case none
        case unquoted
        case single
        case double
    }

    /// The number of the name in ``HTMLVocabulary``; 0 where it is not known.
    var name: UInt8
    var quoting: Quoting
    var nameRange: Range<Int>
    var valueRange: Range<Int>

    /// The value of the attribute whose known name begins at a place of a tag that was walked before; empty
    /// where it has none.
    static func value(behind name: Int, in text: Bytes) -> Range<Int> {
        guard var skimmer = HTMLSkimmer(text, vocabulary: .shared, SilentDelegate()),
            skimmer.attribute(at: name, true) != nil
        else { return name..<name }
        return skimmer.attributes.last?.valueRange ?? name..<name
    }
}

/// A start tag with its attributes. It lives in the skimmer's buffer until the next tag.
struct HTMLTag {
    /// From `<` to behind `>`.
    var range: Range<Int>
    var nameRange: Range<Int>
    /// The number of the name in ``HTMLVocabulary``; 0 where it is not known.
    var name: UInt8
    var namespace: MarkupNamespace
    var isSelfClosing: Bool
    var attributes: UnsafeBufferPointer<HTMLAttribute>
}

/// Where an element belongs, as far as it decides how its content is read.
enum MarkupNamespace: UInt8 {
    case html = 0
    case svg = 1
    case mathML = 2
}

// MARK: - Attributes

extension HTMLSkimmer {
    /// Walks the attributes of a tag; the place behind its `>`, or nil when the text ends before.
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
            guard let next = attribute(at: index, isRecording) else { return nil }
            index = next
        }
    }

    /// Walks one attribute; the place behind it. An `=` in front belongs to the name.
    @inline(__always)
    fileprivate mutating func attribute(at start: Int, _ isRecording: Bool) -> Int? {
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
                hasHandlers = hasHandlers || isHandler(nameRange)
            }
            if name != 0 || isThorough, attributeCount < Self.attributeLimit {
                (room + attributeCount).initialize(
                    to: HTMLAttribute(
                        name: name, quoting: quoting, nameRange: nameRange, valueRange: valueRange))
                attributeCount &+= 1
            }
        }
        return index
    }

    /// `on` and more letters.
    private func isHandler(_ name: Range<Int>) -> Bool {
        name.count > 2 && bytes[name.lowerBound + 1] | 0x20 == UInt8(ascii: "n")
            && name.dropFirst(2).allSatisfy { bytes[$0].isLetter }
    }

    /// A script's name with a prefix.
    private func endsInScript(_ name: Range<Int>) -> Bool {
        name.count > 7 && Bytes(start: bytes, count: count).part(name.suffix(7)).equals(":script")
    }

    /// Of XHTML, wherever it stands: it may lead on by itself.
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

// MARK: - Content that is no markup

/// The script data states, as far as they differ in what ends the script.
private enum ScriptState {
    case plain
    case escaped
    case doubleEscaped
}

extension HTMLSkimmer {
    /// Walks the content of an element whose content is no markup, and its end tag.
    mutating func content(of name: UInt8, _ form: ElementTraits.Content, from start: Int) -> Int {
        let end: Int
        switch form {
        case .markup: return start
        case .plainText: end = count
        case .script: end = scriptEnd(name, from: start)
        case .rawText, .escapableText: end = textEnd(name, from: start)
        }
        if end > start {
            delegate.skimmed(content: start..<end, of: name, form == .escapableText ? .text : .raw)
        }
        return end < count ? endTag(at: end) : count
    }

    /// The next end tag of that name, or the end of the text.
    private func textEnd(_ name: UInt8, from start: Int) -> Int {
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            guard index < count else { return count }
            if isEndTag(name, at: index) { return index }
            index += 1
        }
    }

    /// `</`, the name, and white space, `/` or `>`.
    private func isEndTag(_ name: UInt8, at start: Int) -> Bool {
        start + 1 < count && bytes[start + 1] == UInt8(ascii: "/") && isName(name, at: start + 2)
    }

    /// The name without ASCII case, and what ends it.
    private func isName(_ name: UInt8, at start: Int) -> Bool {
        let expected = vocabulary.elements.names[Int(name)]
        guard start + expected.count < count else { return false }
        for index in 0..<expected.count where bytes[start + index].lowercased != expected[index] {
            return false
        }
        let next = bytes[start + expected.count]
        return next == UInt8(ascii: ">") || next == UInt8(ascii: "/") || next.isSpace
    }

    /// The end of a script: in `<!-- -->` a `<script>` opens a stretch in which `</script>` ends only that
    /// stretch (script data escaped and double escaped states).
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

    /// The text of a script or style in foreign content: character references and CDATA sections, up to the
    /// next tag.
    private mutating func foreignText(of name: UInt8, from start: Int) -> Int {
        var index = start
        while index < count {
            let end = bytes.find(UInt8(ascii: "<"), from: index, to: count)
            if end > index { delegate.skimmed(content: index..<end, of: name, .text) }
            guard end < count, isCDATA(at: end) else { return end }
            let section = cdataEnd(from: end + Self.cdataMark)
            if section.text > end + Self.cdataMark {
                delegate.skimmed(content: end + Self.cdataMark..<section.text, of: name, .raw)
            }
            index = section.next
        }
        return count
    }

    // MARK: - Declarations

    /// Behind `<!`: a comment, CDATA in foreign content, or something that ends at the next `>`: a doctype
    /// ends there even inside its quotes, as a bogus comment does.
    mutating func declaration(at start: Int) -> Int {
        let text = Bytes(start: bytes, count: count)
        if text.starts(with: "--", at: start + 2) { return comment(from: start + 4) }
        if foreign.namespace != .html || dialect.hasCDATA, isCDATA(at: start) {
            return cdataEnd(from: start + Self.cdataMark).next
        }
        return behind(UInt8(ascii: ">"), from: start)
    }

    private static var cdataMark: Int { 9 }

    /// Whether `<![CDATA[` stands here, in just this case.
    private func isCDATA(at start: Int) -> Bool {
        guard count - start >= Self.cdataMark else { return false }
        let mark: StaticString = "<![CDATA["
        for index in 0..<Self.cdataMark where bytes[start + index] != mark.utf8Start[index] { return false }
        return true
    }

    /// Where the text of a CDATA section ends, and the place behind `]]>`.
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

    /// Behind `<!--`. The comment ends at `-->` or `--!>`, and at once at `>` or `->`.
    private mutating func comment(from start: Int) -> Int {
        let dash = UInt8(ascii: "-")
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: ">"), from: index, to: count)
            guard index < count else {
                delegate.skimmed(comment: start..<count)
                return count
            }
            let length = index - start
            if length == 0 || (length == 1 && bytes[start] == dash) { return index + 1 }
            let isBang = length >= 3 && bytes[index - 1] == UInt8(ascii: "!")
            let end = isBang ? index - 1 : index
            if end - start >= 2, bytes[end - 1] == dash, bytes[end - 2] == dash {
                delegate.skimmed(comment: start..<end - 2)
                return index + 1
            }
            index += 1
        }
    }
}
