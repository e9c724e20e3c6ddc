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
