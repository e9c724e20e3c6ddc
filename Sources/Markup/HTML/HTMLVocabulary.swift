/// Numbers for the names that matter, and the table of link rules in a form that is looked up by them. Built once.
struct HTMLVocabulary: Sendable {
    static let shared = HTMLVocabulary()

    private(set) var elements = NameTable()
    private(set) var attributes = NameTable()
    private(set) var traits: [ElementTraits] = []
    private var rules: [LinkRule] = []
    /// By namespace, element, attribute: 0 for none, else one more than the place in `rules`.
    private var cells: [UInt8] = []
    private var columns = 0

    /// Names that the scanner asks for beside those of the rules.
    struct Elements: Sendable {
        var script, style, title, meta, annotation, audio, video, source, track, form, noframes, noembed: UInt8
    }
    struct Attributes: Sendable {
        var rel, `as`, type, httpEquiv, property, name, content, charset, method, formmethod, valuetype, codebase: UInt8
        var itemprop, href, encoding, crossorigin, form, dataMethod, dataTurboMethod: UInt8
    }
    let element: Elements
    let attribute: Attributes

    private init() {
        element = Elements(
            script: elements.number("script"), style: elements.number("style"), title: elements.number("title"),
            meta: elements.number("meta"), annotation: elements.number("annotation-xml"),
            audio: elements.number("audio"), video: elements.number("video"), source: elements.number("source"),
            track: elements.number("track"), form: elements.number("form"), noframes: elements.number("noframes"),
            noembed: elements.number("noembed"))
        attribute = Attributes(
            rel: attributes.number("rel"), as: attributes.number("as"), type: attributes.number("type"),
            httpEquiv: attributes.number("http-equiv"), property: attributes.number("property"),
            name: attributes.number("name"), content: attributes.number("content"),
            charset: attributes.number("charset"), method: attributes.number("method"),
            formmethod: attributes.number("formmethod"), valuetype: attributes.number("valuetype"),
            codebase: attributes.number("codebase"), itemprop: attributes.number("itemprop"),
            href: attributes.number("href"), encoding: attributes.number("encoding"),
            crossorigin: attributes.number("crossorigin"), form: attributes.number("form"),
            dataMethod: attributes.number("data-method"), dataTurboMethod: attributes.number("data-turbo-method"))
        for name in ElementTraits.named + ElementTraits.breakouts { _ = elements.number(name) }
        let lines = LinkRule.table
        for line in lines {
            for element in line.elements.split(separator: " ") where !element.hasSuffix("*") {
                _ = elements.number(Self.localName(element))
            }
            for attribute in line.attributes.split(separator: " ") { _ = attributes.number(String(attribute)) }
        }
        traits = elements.names.map { .of(String(decoding: $0, as: UTF8.self)) }
        columns = attributes.names.count
        cells = Array(repeating: 0, count: 3 * elements.names.count * columns)
        for line in lines { add(line) }
    }

    private static func localName(_ name: Substring) -> String {
        guard let colon = name.firstIndex(of: ":") else { return String(name) }
        return String(name[name.index(after: colon)...])
    }

    private mutating func add(_ line: LinkRule.Line) {
        rules.append(line.rule)
        let mark = UInt8(rules.count)
        for element in line.elements.split(separator: " ") {
            let spaces: [MarkupNamespace]
            if element == "*" {
                spaces = [.html, .svg, .mathML]
            } else {
                spaces = element.hasPrefix("svg:") ? [.svg] : element.hasPrefix("math:") ? [.mathML] : [.html]
            }
            let isAny = element.hasSuffix("*")
            let first = isAny ? 0 : Int(elements.number(Self.localName(element)))
            for space in spaces {
                for row in first...(isAny ? elements.names.count - 1 : first) {
                    for attribute in line.attributes.split(separator: " ") {
                        cells[index(space, UInt8(row), attributes.number(String(attribute)))] = mark
                    }
                }
            }
        }
    }

    @inline(__always)
    private func index(_ space: MarkupNamespace, _ element: UInt8, _ attribute: UInt8) -> Int {
        (Int(space.rawValue) * traits.count + Int(element)) * columns + Int(attribute)
    }

    /// The rule for an attribute of an element.
    @inline(__always)
    func rule(_ space: MarkupNamespace, _ element: UInt8, _ attribute: UInt8) -> LinkRule? {
        let mark = cells[index(space, element, attribute)]
        return mark == 0 ? nil : rules[Int(mark) - 1]
    }
}
