/// What the skimmer must know of an element by its name.
struct ElementTraits {
    enum Content: UInt8 {
        case markup
        case rawText
        /// Raw text with character references: title and textarea.
        case escapableText
        case script
        case plainText
    }

    /// How an element changes what namespace its content is in.
    enum Door: UInt8 {
        case none
        case svg
        case mathML
        /// An island of HTML in SVG.
        case htmlInSVG
        case htmlInMathML
        /// `annotation-xml`, which has an island of HTML when it says so.
        case annotation
    }

    var content = Content.markup
    var door = Door.none
    /// Its start tag ends foreign content.
    var breaksOut = false
    /// So does its end tag.
    var breaksOutAtEnd = false
    /// It has no content and no end tag.
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
        case "svg": traits.door = .svg
        case "math": traits.door = .mathML
        case "foreignobject", "desc", "title": traits.door = .htmlInSVG
        case "mi", "mo", "mn", "ms", "mtext": traits.door = .htmlInMathML
        case "annotation-xml": traits.door = .annotation
        default: break
        }
        traits.breaksOut = breakouts.contains(name)
        traits.isVoid = voids.contains(name)
        traits.breaksOutAtEnd = name == "p" || name == "br"
        return traits
    }

    static let named = [
        "script", "title", "textarea", "style", "xmp", "iframe", "noembed", "noframes", "plaintext", "svg", "math",
        "foreignobject", "desc", "annotation-xml", "mi", "mo", "mn", "ms", "mtext", "button", "label", "figure",
        "section", "article", "nav", "header", "footer", "main", "aside", "g", "path", "symbol", "defs",
    ]

    static let voids = [
        "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta",
        "param",
        "source", "track", "wbr",
    ]

    /// The start tags that end foreign content (tree construction, rules for foreign content).
    static let breakouts = [
        "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2",
        "h3", "h4", "h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre",
        "ruby", "s", "small", "span", "strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var",
    ]
}
