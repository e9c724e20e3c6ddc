/// The numbers of the known element and attribute names, and the table of link rules indexed by them.
///
/// Names become numbers below 256, so that the rule of an attribute is found with one array access. The tables are
/// built once and never changed or freed, so any thread may read them.
final class HTMLVocabulary: @unchecked Sendable {
    static let shared = HTMLVocabulary()

    let elements: NameTable
    let attributes: NameTable
    /// The traits of the elements, by their numbers.
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
        // Elements without a rule need numbers too, if they have traits that the skimmer looks up.
        for name in ElementTraits.named + ElementTraits.breakouts { _ = elements.number(name) }
        let lines = LinkRule.table
        // All names get numbers first, because the number of columns must be known before the cells are filled.
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
        var cells = [UInt8](repeating: 0, count: 3 * rowCount * columns)
        for (index, line) in lines.enumerated() {
            let names = line.attributes.split(separator: " ").map { attributes.number(String($0)) }
            for element in line.elements.split(separator: " ") {
                let rows: Range<Int>
                if element.hasSuffix("*") {
                    rows = 0..<rowCount
                } else {
                    let row = Int(elements.number(Self.localName(element)))
                    rows = row..<row + 1
                }
                for namespace in Self.namespaces(of: element) {
                    for row in rows {
                        let start = (Int(namespace.rawValue) * rowCount + row) * columns
                        for name in names { cells[start + Int(name)] = UInt8(index + 1) }
                    }
                }
            }
        }
        self.cells = Self.permanentCopy(cells)
    }

    /// Copies a list to memory that is never freed: a lookup in an array would count a reference for each attribute.
    private static func permanentCopy<Element>(_ list: [Element]) -> UnsafePointer<Element> {
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: list.count)
        memory.initialize(from: list, count: list.count)
        return UnsafePointer(memory)
    }

    /// The namespaces of an element in a rule: `a`, `svg:a`, `svg:*` and so on, or `*` for any element in any
    /// namespace.
    private static func namespaces(of element: Substring) -> [MarkupNamespace] {
        if element == "*" { return [.html, .svg, .mathML] }
        return element.hasPrefix("svg:") ? [.svg] : element.hasPrefix("math:") ? [.mathML] : [.html]
    }

    /// The name of an element without the prefix of its namespace.
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
        let cell = cells[index(space, element, attribute)]
        return cell == 0 ? nil : rules[Int(cell) - 1]
    }
}
