internal import CXML2
internal import Glibc
internal import Web

/// A reader that extracts the text of an HTML document with libxml2's parser: the text of its blocks, the
/// headings above them, and the anchors of the headings. It ignores scripts, styles and hidden elements.
final class HTMLTextReader {
    /// An element whose end tag is still to come.
    private struct OpenElement {
        let element: HTMLTextElement
        var isHidden = false
        var isAside = false
        /// The element's own anchor, until a section uses it.
        var anchor: String?
    }

    private var document = DocumentText()
    private var body = BlockLines(maxBytes: DocumentText.maxTextBytes)
    private var aside = BlockLines(maxBytes: DocumentText.maxTextBytes / 4)
    private var open: [OpenElement] = []
    /// The number of open elements beyond the maximum depth, which are ignored.
    private var ignoredDepth = 0
    private var hiddenDepth = 0
    private var asideDepth = 0
    private var mainDepth = 0
    private var preformattedDepth = 0
    private var title: BlockLines?
    private var heading: (words: BlockLines, start: Int, anchor: String)?
    /// The anchor of an element that no text has followed yet.
    private var lastAnchor: String?

    /// Deeper elements are not tracked.
    private static let maxDepth = 4096
    /// The number of elements around a heading whose anchor can become the heading's.
    private static let maxAnchorDistance = 3

    private init() {
        AttributeDecoder.initializeLibraryOnce()
    }

    /// Reads the text of a document.
    ///
    /// - Parameter text: The document in UTF-8.
    static func read(_ text: [UInt8]) -> DocumentText {
        let reader = HTMLTextReader()
        reader.parse(withBoundedTags(text))
        return reader.finish()
    }

    /// Further attributes of a tag are removed before parsing.
    private static let maxAttributes = 256

    /// Returns the text without the attributes beyond 256 in a tag, because libxml2 compares each attribute
    /// with all others before it.
    private static func withBoundedTags(_ text: [UInt8]) -> [UInt8] {
        var surplus: [Range<Int>] = []
        text.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var index = 0
            while index < bytes.count, let found = memchr(base + index, 0x3C, bytes.count - index) {
                let start = UnsafeRawPointer(found) - base
                index = start + 1
                guard index < bytes.count, bytes[index].isASCIIAlpha else { continue }
                let tag = tag(at: start, in: bytes)
                if let range = tag.surplus { surplus.append(range) }
                index = tag.end
            }
        }
        guard !surplus.isEmpty else { return text }
        var bounded = text
        for range in surplus { for offset in range { bounded[offset] = 0x20 } }
        return bounded
    }

    /// Returns the end of a tag and the range of its surplus attributes. A quote counts only after an equals
    /// sign.
    private static func tag(
        at start: Int, in bytes: UnsafeRawBufferPointer
    ) -> (surplus: Range<Int>?, end: Int) {
        var (index, count, quote, isBehindEquals) = (start + 1, 0, UInt8(0), false)
        var first: Int?
        while index < bytes.count {
            let byte = bytes[index]
            if quote != 0 {
                if byte == quote { quote = 0 }
            } else if byte == UInt8(ascii: ">") {
                return (first.map { $0..<index }, index + 1)
            } else if isBehindEquals, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                (quote, isBehindEquals) = (byte, false)
            } else if byte <= 0x20 || byte == UInt8(ascii: "/") {
                if bytes[index - 1] > 0x20 { count += 1 }
                if count > maxAttributes, first == nil { first = index }
            } else {
                isBehindEquals = byte == UInt8(ascii: "=")
            }
            index += 1
        }
        // The tag has no end, so it extends to the end of the text.
        return (nil, bytes.count)
    }

    private func parse(_ text: [UInt8]) {
        guard !text.isEmpty, text.count <= Int(Int32.max) else { return }
        text.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self),
                let parser = htmlCreateMemoryParserCtxt(start, Int32(bytes.count))
            else { return }
            defer { htmlFreeParserCtxt(parser) }
            let options =
                HTML_PARSE_RECOVER.rawValue | HTML_PARSE_NONET.rawValue | HTML_PARSE_NOERROR.rawValue
                | HTML_PARSE_NOWARNING.rawValue | HTML_PARSE_IGNORE_ENC.rawValue
            _ = htmlCtxtUseOptions(parser, Int32(options))
            guard xmlSwitchEncoding(parser, XML_CHAR_ENCODING_UTF8) == 0, let handler = parser.pointee.sax
            else {
                return
            }
            handler.pointee = Self.makeHandler()
            parser.pointee.userData = Unmanaged.passUnretained(self).toOpaque()
            // The result only says whether the document is well-formed.
            _ = htmlParseDocument(parser)
        }
    }

    /// Returns the handler of libxml2's events. The pointers that it receives are valid only during a call.
    private static func makeHandler() -> xmlSAXHandler {
        var handler = xmlSAXHandler()
        handler.startElement = { context, name, attributes in
            guard let context, let name else { return }
            HTMLTextReader.reader(context).didStartElement(
                HTMLTextElement(name), HTMLTextAttributes(attributes))
        }
        handler.endElement = { context, name in
            guard let context, let name else { return }
            HTMLTextReader.reader(context).didEndElement(HTMLTextElement(name))
        }
        handler.characters = { context, bytes, count in
            guard let context, let bytes, count > 0 else { return }
            HTMLTextReader.reader(context).didReadText(UnsafeBufferPointer(start: bytes, count: Int(count)))
        }
        // The raw text of scripts and styles arrives as `cdataBlock`, which has no handler.
        handler.ignorableWhitespace = handler.characters
        return handler
    }

    private static func reader(_ context: UnsafeMutableRawPointer) -> HTMLTextReader {
        Unmanaged<HTMLTextReader>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: - Elements

    private func didStartElement(_ element: HTMLTextElement, _ attributes: HTMLTextAttributes) {
        guard open.count < Self.maxDepth else {
            ignoredDepth += 1
            return
        }
        var next = OpenElement(element: element)
        let facts = attributes.facts
        next.isHidden = element.isInvisible || facts.isHidden
        next.isAside =
            facts.isAside || element == .nav || element == .aside
            || (element == .header || element == .footer) && mainDepth == 0
        if element == .main || element == .article { mainDepth += 1 }
        if next.isHidden { hiddenDepth += 1 }
        if next.isAside, hiddenDepth == 0 { aside.breakLine() }
        if next.isAside { asideDepth += 1 }
        defer { open.append(next) }
        switch element {
        case .html where document.language.isEmpty:
            document.language = attributes.text("lang") ?? attributes.text("xml:lang") ?? ""
        case .meta: readMeta(attributes)
        case .title where document.title.isEmpty && hiddenDepth == 0:
            title = BlockLines(maxBytes: 4 * DocumentText.maxTitleBytes)
        default: break
        }
        guard hiddenDepth == 0 else { return }
        // A heading without an end tag ends before the next block.
        if element.isBlock || element == .cell, heading != nil { endHeading() }
        if element.isBlock {
            breakLine()
        } else if element == .br {
            if preformattedDepth > 0 { breakLine() } else { space() }
        }
        if element == .cell { breakLine() }
        if element == .pre { preformattedDepth += 1 }
        if element == .img, let words = attributes.text("alt"), !words.isEmpty {
            space()
            var words = words
            words.withUTF8 { didReadText($0) }
            space()
        }
        next.anchor = anchor(element, attributes)
        if element.isHeading || element == .dt && next.anchor != nil { beginHeading(&next) }
    }

    private func anchor(_ element: HTMLTextElement, _ attributes: HTMLTextAttributes) -> String? {
        // A section never starts at a control before its heading.
        guard asideDepth == 0, element != .control else { return nil }
        guard let anchor = attributes.text("id") ?? (element == .a ? attributes.text("name") : nil),
            !anchor.isEmpty,
            anchor.utf8.count <= DocumentText.maxAnchorBytes
        else { return nil }
        if let heading, heading.anchor.isEmpty {
            self.heading?.anchor = anchor
        } else {
            lastAnchor = anchor
        }
        return anchor
    }

    private func beginHeading(_ next: inout OpenElement) {
        guard asideDepth == 0 else { return }
        endHeading()
        var anchor = next.anchor ?? lastAnchor
        next.anchor = nil
        if anchor == nil {
            for offset in open.indices.reversed().prefix(Self.maxAnchorDistance)
            where open[offset].anchor != nil {
                anchor = open[offset].anchor
                open[offset].anchor = nil
                break
            }
        }
        lastAnchor = nil
        heading = (BlockLines(maxBytes: 4 * DocumentText.maxTitleBytes), body.startBlock(), anchor ?? "")
    }

    private func endHeading() {
        guard let heading else { return }
        self.heading = nil
        let words = heading.words.line
        if !words.isEmpty { document.addSection(heading.start, anchor: heading.anchor, title: words) }
    }

    private func didEndElement(_ element: HTMLTextElement) {
        if ignoredDepth > 0 {
            ignoredDepth -= 1
            return
        }
        // libxml2 reports the ends of elements in order.
        guard let last = open.popLast() else { return }
        if last.isHidden { hiddenDepth -= 1 }
        if last.isAside {
            asideDepth -= 1
            aside.breakLine()
        }
        if last.element == .main || last.element == .article { mainDepth -= 1 }
        if last.element == .title, let words = title {
            document.title = DocumentText.truncateTitle(words.line)
            title = nil
        }
        guard hiddenDepth == 0, !last.isHidden else { return }
        if last.element == .pre { preformattedDepth -= 1 }
        if last.element.isHeading || last.element == .dt { endHeading() }
        if last.element.isBlock || last.element == .cell { breakLine() }
    }

    private func readMeta(_ attributes: HTMLTextAttributes) {
        guard document.description.isEmpty, let name = attributes.text("name") ?? attributes.text("property"),
            ["description", "og:description"].contains(name.lowercased()),
            let words = attributes.text("content")
        else { return }
        var lines = BlockLines(maxBytes: 4 * DocumentText.maxTitleBytes)
        lines.append(words)
        document.description = DocumentText.truncateTitle(lines.line)
    }

    // MARK: - Text

    private func didReadText(_ bytes: Bytes) {
        if title != nil { title?.append(bytes) }
        guard hiddenDepth == 0, title == nil else { return }
        guard asideDepth == 0 else { return aside.append(bytes, keepsLines: preformattedDepth > 0) }
        body.append(bytes, keepsLines: preformattedDepth > 0)
        if heading != nil {
            heading?.words.append(bytes)
        } else if lastAnchor != nil, bytes.contains(where: { !$0.isSpace }) {
            lastAnchor = nil
        }
    }

    private func breakLine() {
        if asideDepth > 0 { aside.breakLine() } else { body.breakLine() }
        heading?.words.space()
    }

    private func space() {
        if asideDepth > 0 { aside.space() } else { body.space() }
        heading?.words.space()
    }

    private func finish() -> DocumentText {
        endHeading()
        body.breakLine()
        aside.breakLine()
        document.body = body.bytes
        document.aside = aside.bytes
        if document.title.isEmpty { document.title = document.sections.first?.title ?? "" }
        return document
    }
}

/// The role of an element in the text of a document.
enum HTMLTextElement: UInt8 {
    case inline, block, invisible, heading
    case html, meta, title, nav, aside, header, footer, main, article, a, br, cell, control, dt, img, pre

    init(_ name: UnsafePointer<UInt8>) {
        // The first eight letters are enough to tell the names apart.
        var key: UInt64 = 0
        var index = 0
        while index < 8, name[index] != 0 {
            key = key << 8 | UInt64(name[index])
            index += 1
        }
        self = Self.byName[key] ?? .inline
    }

    var isInvisible: Bool { self == .invisible }
    var isHeading: Bool { self == .heading }

    /// Whether the element has lines of its own.
    var isBlock: Bool {
        switch self {
        case .block, .heading, .nav, .aside, .header, .footer, .main, .article, .dt, .pre: true
        case .inline, .invisible, .html, .meta, .title, .a, .br, .cell, .control, .img: false
        }
    }

    private static let byName: [UInt64: HTMLTextElement] = {
        var names: [UInt64: HTMLTextElement] = [:]
        func add(_ element: HTMLTextElement, _ list: String) {
            for name in list.split(separator: " ") {
                names[name.utf8.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }] = element
            }
        }
        add(
            .block,
            """
            address blockquote body caption center dd details dialog dir div dl fieldset figcaption figure form hgroup hr
            legend li menu ol optgroup p search section summary table tbody tfoot thead tr ul
            """.replacing("\n", with: " "))
        add(
            .invisible,
            "script style template noscript iframe object canvas audio video svg select datalist textarea")
        add(.heading, "h1 h2 h3 h4 h5 h6")
        for element in [.html, .meta, .title, .nav, .aside, .header, .footer, .main, .article]
            as [HTMLTextElement]
        {
            add(element, "\(element)")
        }
        for element in [.a, .br, .dt, .img, .pre] as [HTMLTextElement] { add(element, "\(element)") }
        add(.cell, "td th")
        add(.control, "button input")
        return names
    }()
}

/// The attributes of an element. They refer to memory of libxml2 that is valid only during the event.
struct HTMLTextAttributes {
    private let pairs: UnsafeMutablePointer<UnsafePointer<UInt8>?>?

    init(_ pairs: UnsafeMutablePointer<UnsafePointer<UInt8>?>?) { self.pairs = pairs }

    private func value(_ name: String) -> UnsafePointer<UInt8>? {
        guard var pair = pairs else { return nil }
        while let own = pair[0] {
            if strcmp(UnsafeRawPointer(own).assumingMemoryBound(to: CChar.self), name) == 0 { return pair[1] }
            pair += 2
        }
        return nil
    }

    /// Returns the value of an attribute; nil if there is none.
    func text(_ name: String) -> String? {
        value(name).map { String(cString: $0) }
    }

    /// Whether the element is hidden, or is not part of the document's main text.
    var facts: (isHidden: Bool, isAside: Bool) {
        guard var pair = pairs else { return (false, false) }
        var (isHidden, isAside) = (false, false)
        while let name = pair[0] {
            let value = pair[1]
            pair += 2
            let length = strlen(UnsafeRawPointer(name).assumingMemoryBound(to: CChar.self))
            let own = Bytes(start: name, count: length)
            switch length {
            case 4 where own.equals("role"):
                Self.eachToken(value) { isAside = isAside || Self.isIn($0, Self.asideRoles) }
            case 5 where own.equals("class"):
                Self.eachToken(value) { token in
                    isAside = isAside || Self.isIn(token, Self.asideClasses)
                    isHidden = isHidden || Self.isIn(token, Self.headingSymbolClasses)
                }
            case 5 where own.equals("style"):
                if let value {
                    let style = String(cString: value).lowercased().replacing(" ", with: "")
                    isHidden =
                        isHidden || style.contains("display:none") || style.contains("visibility:hidden")
                }
            case 6 where own.equals("hidden"): isHidden = true
            case 11 where own.equals("aria-hidden"):
                Self.eachToken(value) { isHidden = isHidden || $0.equals("true") }
            default: break
            }
        }
        return (isHidden, isAside)
    }

    private static let asideRoles: [StaticString] = [
        "navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar",
    ]
    /// Classes that generators and templates use for elements around the main text.
    private static let asideClasses: [StaticString] = [
        "sidebar", "sphinxsidebar", "navbar", "toc", "breadcrumb", "breadcrumbs", "footer", "related", "nav",
        "navigation", "menu",
    ]
    /// Classes of the symbols that link to a heading and are not part of its text.
    private static let headingSymbolClasses: [StaticString] = [
        "headerlink", "anchor", "anchorjs-link", "src", "srclink",
    ]

    private static func isIn(_ token: Bytes, _ names: [StaticString]) -> Bool {
        names.contains { token.equals($0) }
    }

    /// Passes each word of a value to `body`.
    private static func eachToken(_ value: UnsafePointer<UInt8>?, _ body: (Bytes) -> Void) {
        guard let value else { return }
        let length = min(strlen(UnsafeRawPointer(value).assumingMemoryBound(to: CChar.self)), 512)
        var start = 0
        for end in 0...length where end == length || value[end].isSpace {
            if end > start { body(Bytes(start: value + start, count: end - start)) }
            start = end + 1
        }
    }
}
