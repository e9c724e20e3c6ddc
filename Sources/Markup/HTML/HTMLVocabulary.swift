/// The numbers of the known element and attribute names, and the table of link rules indexed by them.
///
/// Names become numbers below 256, so that the rule of an attribute is found with one array access. The tables are
/// built once and never changed or freed, so any thread may read them.
final class HTMLVocabulary: @unchecked Sendable {
    static let shared = HTMLVocabulary()

    let elements: NameTable
    let attributes: NameTable
    // Never freed, like the tables of names.
    let traits: UnsafePointer<ElementTraits>
    private let rules: UnsafePointer<LinkRule>
    /// The rule of each namespace, element and attribute: 0 for none, otherwise the index in `rules` plus 1.
    private let cells: UnsafePointer<UInt8>
    private let columns: Int
    private let rowCount: Int

    /// Names that the scanner uses in addition to those of the rules.
    struct Elements: Sendable {
        var script, style, title, meta, annotation, audio, video, source, track, form, noframes,
            noembed, img: UInt8
    }
    struct Attributes: Sendable {
        var rel, `as`, type, httpEquiv, property, name, content, charset, method, formmethod, valuetype,
            codebase: UInt8
        var itemprop, href, encoding, crossorigin, form, dataMethod, dataTurboMethod, src, dataMain: UInt8
    }
    let element: Elements
    let attribute: Attributes

    private init() {
        var (elements, attributes) = (NameTable(), NameTable())
        element = Elements(
            script: elements.number("script"), style: elements.number("style"),
            title: elements.number("title"),
            meta: elements.number("meta"), annotation: elements.number("annotation-xml"),
            audio: elements.number("audio"), video: elements.number("video"),
            source: elements.number("source"),
            track: elements.number("track"), form: elements.number("form"),
            noframes: elements.number("noframes"),
            noembed: elements.number("noembed"), img: elements.number("img"))
        attribute = Attributes(
            rel: attributes.number("rel"), as: attributes.number("as"), type: attributes.number("type"),
            httpEquiv: attributes.number("http-equiv"), property: attributes.number("property"),
            name: attributes.number("name"), content: attributes.number("content"),
            charset: attributes.number("charset"), method: attributes.number("method"),
            formmethod: attributes.number("formmethod"), valuetype: attributes.number("valuetype"),
            codebase: attributes.number("codebase"), itemprop: attributes.number("itemprop"),
            href: attributes.number("href"), encoding: attributes.number("encoding"),
            crossorigin: attributes.number("crossorigin"), form: attributes.number("form"),
            dataMethod: attributes.number("data-method"),
            dataTurboMethod: attributes.number("data-turbo-method"), src: attributes.number("src"),
            dataMain: attributes.number("data-main"))
        for name in ElementTraits.named + ElementTraits.breakouts { _ = elements.number(name) }
        let lines = LinkRule.table
        for line in lines {
            for element in line.elements.split(separator: " ") where !element.hasSuffix("*") {
                _ = elements.number(Self.localName(element))
            }
            for attribute in line.attributes.split(separator: " ") {
                _ = attributes.number(String(attribute))
            }
        }
        traits = Self.permanentCopy(elements.names.map { .of(String(decoding: $0, as: UTF8.self)) })
        columns = attributes.names.count
        rowCount = elements.names.count
        (self.elements, self.attributes, rules) = (
            elements, attributes, Self.permanentCopy(lines.map(\.rule))
        )
        var cells = [UInt8](repeating: 0, count: 3 * elements.names.count * columns)
        for (place, line) in lines.enumerated() {
            let names = line.attributes.split(separator: " ").map { attributes.number(String($0)) }
            for element in line.elements.split(separator: " ") {
                let spaces: [MarkupNamespace]
                if element == "*" {
                    spaces = [.html, .svg, .mathML]
                } else {
                    spaces =
                        element.hasPrefix("svg:") ? [.svg] : element.hasPrefix("math:") ? [.mathML] : [.html]
                }
                let isAny = element.hasSuffix("*")
                let first = isAny ? 0 : Int(elements.number(Self.localName(element)))
                for space in spaces {
                    for row in first...(isAny ? elements.names.count - 1 : first) {
                        let start = (Int(space.rawValue) * elements.names.count + row) * columns
                        for name in names { cells[start + Int(name)] = UInt8(place + 1) }
                    }
                }
            }
        }
        self.cells = Self.permanentCopy(cells)
    }

    private static func permanentCopy<Element>(_ list: [Element]) -> UnsafePointer<Element> {
        let room = UnsafeMutablePointer<Element>.allocate(capacity: list.count)
        room.initialize(from: list, count: list.count)
        return UnsafePointer(room)
    }

    private static func localName(_ name: Substring) -> String {
        guard let colon = name.firstIndex(of: ":") else { return String(name) }
        return String(name[name.index(after: colon)...])
    }

    @inline(__always)
    private func index(_ space: MarkupNamespace, _ element: UInt8, _ attribute: UInt8) -> Int {
        (Int(space.rawValue) * rowCount + Int(element)) * columns + Int(attribute)
    }

    /// Returns the rule for an attribute of an element; nil if there is none.
    @inline(__always)
    func rule(_ space: MarkupNamespace, _ element: UInt8, _ attribute: UInt8) -> LinkRule? {
        let mark = cells[index(space, element, attribute)]
        return mark == 0 ? nil : rules[Int(mark) - 1]
    }
}

/// The properties of an element, by its name, that affect how the skimmer parses it.
struct ElementTraits {
    /// The syntax of the element's content.
    enum Content: UInt8 {
        case markup
        case rawText
        /// Raw text with character references: title and textarea.
        case escapableText
        case script
        case plainText
    }

    /// The change of namespace between an element and its content.
    enum NamespaceChange: UInt8 {
        case none
        case svg
        case mathML
        /// An SVG element with HTML content.
        case htmlInSVG
        case htmlInMathML
        /// `annotation-xml`, whose content is HTML if its `encoding` says so.
        case annotation
    }

    var content = Content.markup
    var namespaceChange = NamespaceChange.none
    /// Whether its start tag ends foreign content.
    var breaksOut = false
    /// Whether its end tag ends foreign content.
    var breaksOutAtEnd = false
    /// Whether it has neither content nor an end tag.
    var isVoid = false

    static func of(_ name: String) -> ElementTraits {
        var traits = ElementTraits()
        switch name {
        case "script": traits.content = .script
        case "title", "textarea": traits.content = .escapableText
        case "style", "xmp", "iframe", "noembed", "noframes": traits.content = .rawText
        case "plaintext": traits.content = .plainText
        default: break
        }
        switch name {
        case "svg": traits.namespaceChange = .svg
        case "math": traits.namespaceChange = .mathML
        case "foreignobject", "desc", "title": traits.namespaceChange = .htmlInSVG
        case "mi", "mo", "mn", "ms", "mtext": traits.namespaceChange = .htmlInMathML
        case "annotation-xml": traits.namespaceChange = .annotation
        default: break
        }
        traits.breaksOut = breakouts.contains(name)
        traits.isVoid = voids.contains(name)
        traits.breaksOutAtEnd = name == "p" || name == "br"
        return traits
    }

    static let named = [
        "script", "title", "textarea", "style", "xmp", "iframe", "noembed", "noframes", "plaintext", "svg",
        "math",
        "foreignobject", "desc", "annotation-xml", "mi", "mo", "mn", "ms", "mtext", "button", "label",
        "figure",
        "section", "article", "nav", "header", "footer", "main", "aside", "g", "path", "symbol", "defs",
    ]

    private static let voids = [
        "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "link",
        "meta",
        "param",
        "source", "track", "wbr",
    ]

    /// The elements whose start tags end foreign content (tree construction, rules for foreign content).
    static let breakouts = [
        "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed",
        "h1", "h2",
        "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p",
        "pre",
        "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var",
    ]
}

/// A set of numbers from a ``NameTable``.
struct NameSet {
    private var words = SIMD4<UInt64>.zero

    /// Returns false if the set already contains the number.
    mutating func insert(_ number: UInt8) -> Bool {
        let word = Int(number >> 6)
        let bit: UInt64 = 1 << UInt64(number & 63)
        defer { words[word] |= bit }
        return words[word] & bit == 0
    }
}

/// A table that gives numbers to a fixed set of lower-case names. The caller computes the hash of a name
/// while it scans the name.
struct NameTable: @unchecked Sendable {
    // Safe to share: only the code that builds a table changes it, before it is shared. The memory is never
    // freed, so looking up a tag retains nothing.
    private static let bits: UInt32 = 11
    private static let mask = 1 << Int(bits) - 1
    private static let recordBytes = 32

    private let slots: UnsafeMutablePointer<UInt8> = allocate(1 << Int(bits))
    /// The names, each in a slot of the same size and with its length in front.
    private let nameRecords: UnsafeMutablePointer<UInt8> = allocate(256 * recordBytes)
    private(set) var names: [[UInt8]] = [[]]
    /// The hash slots of names that fit into one word.
    private let shortSlots: UnsafeMutablePointer<UInt8> = allocate(1 << Int(bits))
    private let words: UnsafeMutablePointer<UInt64> = allocate(256)

    private static func allocate<Value: FixedWidthInteger>(_ count: Int) -> UnsafeMutablePointer<Value> {
        let room = UnsafeMutablePointer<Value>.allocate(capacity: count)
        room.initialize(repeating: 0, count: count)
        return room
    }

    /// The hash of the empty name.
    static let seed: UInt32 = 0

    /// Adds the next byte of a name to its hash. Upper and lower case have the same hash.
    @inline(__always)
    static func add(_ byte: UInt8, to hash: UInt32) -> UInt32 {
        (hash ^ UInt32(byte | 0x20)) &* 0x9E37_79B1
    }

    /// Returns the number of a name, and adds the name if it is new. There are at most 255 names.
    mutating func number(_ name: String) -> UInt8 {
        let bytes = Array(name.utf8)
        let hash = bytes.reduce(Self.seed) { Self.add($1, to: $0) }
        let known = bytes.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.map { find(hash, $0, 0..<bytes.count) } ?? 0
        }
        if known != 0 || bytes.isEmpty { return known }
        precondition(names.count <= 255 && bytes.count < Self.recordBytes)
        let number = UInt8(names.count)
        names.append(bytes)
        let room = nameRecords + Int(number) * Self.recordBytes
        room.pointee = UInt8(bytes.count)
        for (place, byte) in bytes.enumerated() { room[place + 1] = byte }
        var slot = Self.slot(hash)
        while slots[slot] != 0 { slot = (slot + 1) & Self.mask }
        slots[slot] = number
        if let short = ShortName(bytes) {
            var slot = Self.slot(short)
            while shortSlots[slot] != 0 { slot = (slot + 1) & Self.mask }
            (shortSlots[slot], words[Int(number)]) = (number, short.word)
        }
        return number
    }

    /// Returns the number of a name; 0 if it is unknown.
    @inline(__always)
    func find(_ name: ShortName) -> UInt8 {
        var slot = Self.slot(name)
        while true {
            let number = shortSlots[slot]
            if number == 0 || words[Int(number)] == name.word { return number }
            slot = (slot &+ 1) & Self.mask
        }
    }

    /// Returns the number of the name with this hash in a range of `text`; 0 if it is unknown.
    @inline(__always)
    func find(_ hash: UInt32, _ text: UnsafePointer<UInt8>, _ range: Range<Int>) -> UInt8 {
        var slot = Self.slot(hash)
        while true {
            let number = slots[slot]
            if number == 0 || isEqual(nameRecords + Int(number) &* Self.recordBytes, text, range) {
                return number
            }
            slot = (slot &+ 1) & Self.mask
        }
    }

    @inline(__always)
    private func isEqual(_ room: UnsafePointer<UInt8>, _ text: UnsafePointer<UInt8>, _ range: Range<Int>)
        -> Bool
    {
        guard Int(room.pointee) == range.count else { return false }
        var (place, index) = (1, range.lowerBound)
        while index < range.upperBound {
            guard text[index].lowercased == room[place] else { return false }
            (place, index) = (place &+ 1, index &+ 1)
        }
        return true
    }

    @inline(__always)
    private static func slot(_ hash: UInt32) -> Int {
        Int(hash >> (32 - bits))
    }

    @inline(__always)
    private static func slot(_ name: ShortName) -> Int {
        Int(truncatingIfNeeded: (name.word &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 - bits))
    }
}

/// A name of at most seven letters, as most are, which is looked up as one word.
struct ShortName {
    /// The letters in lower case.
    let word: UInt64
    let count: Int

    /// Reads the letters at an offset of a text that ends at `end`, up to a byte that may end a name. Returns
    /// nil if there are none or more than seven, or if fewer than eight bytes are left. Some other bytes
    /// count as letters here, but no known name contains them.
    @inline(__always)
    init?(_ text: UnsafePointer<UInt8>, at place: Int, to end: Int) {
        guard place &+ 8 <= end else { return nil }
        let bytes = UInt64(littleEndian: UnsafeRawPointer(text + place).loadUnaligned(as: UInt64.self))
        // A letter has one of the two upper bits set; a byte that ends a name has neither.
        let others = ~(bytes | bytes << 1) & 0x8080_8080_8080_8080
        let bits = others.trailingZeroBitCount & ~7
        guard bits > 0, bits < 64 else { return nil }
        let mask = (1 as UInt64) << UInt64(bits) &- 1
        word = (bytes | 0x2020_2020_2020_2020) & mask
        count = bits / 8
    }

    /// Returns nil for a name that is longer or contains other characters.
    fileprivate init?(_ name: [UInt8]) {
        guard name.allSatisfy(\.isLetter) else { return nil }
        let text = name + [UInt8](repeating: 0, count: 8)
        let short = text.withUnsafeBufferPointer { text in
            text.baseAddress.flatMap { ShortName($0, at: 0, to: text.count) }
        }
        guard let short else { return nil }
        self = short
    }
}
