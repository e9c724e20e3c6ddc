/// The rule that determines which links an attribute of an element contains.
struct LinkRule {
    /// The syntax of the attribute's value.
    enum Syntax: UInt8 {
        case url
        case srcset
        /// Several URLs, separated by white space.
        case spaceList
        case commaList
        /// CSS declarations, or the value of one.
        case css
        /// A whole document: `srcdoc`.
        case document
        /// A URL that a library loads when the element comes near the viewport. Only values that look like a
        /// URL count.
        case lazy
        /// The same, or a CSS value.
        case lazyBackground
        /// A URL that counts only if it is absolute.
        case absolute
        /// A list of words, of which only absolute URLs count.
        case absoluteWords
        // Values whose meaning depends on other attributes.
        case base
        case link
        case meta
        case form
        case button
        case script
        case input
        case parameter
        // Values that are not links but are marked.
        case integrity
        case referrerPolicy
        case pragma
        case metaName

        /// Whether the whole value is one reference, which can be read with only the tag.
        var isOneReference: Bool {
            switch self {
            case .url, .link, .form, .button, .script, .input: true
            case .srcset, .spaceList, .commaList, .css, .document, .lazy, .lazyBackground, .absolute,
                .absoluteWords,
                .base, .meta, .parameter, .integrity, .referrerPolicy, .pragma, .metaName:
                false
            }
        }

        /// Whether the value does not contain a link.
        var isMark: Bool {
            switch self {
            case .integrity, .referrerPolicy, .pragma, .metaName: true
            case .url, .srcset, .spaceList, .commaList, .css, .document, .lazy, .lazyBackground, .absolute,
                .absoluteWords, .base, .link, .meta, .form, .button, .script, .input, .parameter:
                false
            }
        }
    }

    var syntax: Syntax
    var kind: LinkKind
    var flags: LinkFlags = []
}

extension LinkRule {
    /// One line of the table: elements and attributes, separated by spaces. `*` means every element, `svg:*`
    /// and `math:*` every one in that namespace. A later line takes precedence.
    ///
    /// `.isCORS` applies if the element has `crossorigin`, and always for the syntax `.css`.
    struct Line {
        var elements: String
        var attributes: String
        var rule: LinkRule

        init(
            _ elements: String, _ attributes: String, _ syntax: Syntax, _ kind: LinkKind,
            _ flags: LinkFlags = []
        ) {
            self.elements = elements
            self.attributes = attributes
            rule = LinkRule(syntax: syntax, kind: kind, flags: flags)
        }
    }

    static let table: [Line] = everywhere + pages + assets + others + drawings + marks

    /// Attributes that any element may have.
    private static let everywhere: [Line] = [
        Line("*", "style", .css, .image),
        Line("*", "itemid", .absolute, .item),
        Line("*", "itemtype itemprop", .absoluteWords, .item),
        Line("*", "url swurl", .lazy, .parameter, .isGuess),
        Line("*", "hotspot0 hotspot1 hotspot2 hotspot3 hotspot4 hotspot5", .lazy, .parameter, .isGuess),
        Line("*", "xml:base", .url, .base),
        // The attributes of common lazy-loading libraries.
        Line(
            "*", "data-src data-original data-lazy-src data-lazyload data-lazy data-echo", .lazy, .image,
            [.isLazy, .isCORS]),
        Line(
            "*", "data-ll-src data-original-src data-hi-res-src data-src-retina", .lazy, .image,
            [.isLazy, .isCORS]),
        Line(
            "*", "data-flickity-lazyload data-zoom-image data-large_image data-retina", .lazy, .image,
            [.isLazy, .isCORS]),
        Line("*", "data-thumb data-image data-img data-poster", .lazy, .image, [.isLazy, .isGuess]),
        Line(
            "*", "data-srcset data-lazy-srcset data-original-set data-bgset", .srcset, .image,
            [.isLazy, .isCORS]),
        Line(
            "*", "data-bg data-background data-background-image data-bg-image", .lazyBackground, .image,
            .isLazy),
        Line("*", "data-lazy-background data-lazy-bg data-bg-src", .lazyBackground, .image, .isLazy),
        Line("iframe frame embed amp-iframe", "data-src data-lazy-src data-lazy", .lazy, .frame, .isLazy),
        Line("script", "data-src data-lazy-src", .lazy, .script, [.isLazy, .isCORS]),
        Line("link", "data-src data-lazy-src", .lazy, .style, [.isLazy, .isCORS]),
        Line("audio video", "data-src data-lazy-src", .lazy, .media, [.isLazy, .isCORS]),
        Line("source", "data-src data-lazy-src", .lazy, .media, [.isLazy, .isCORS]),
    ]

    private static let pages: [Line] = [
        Line("a area", "href", .url, .page),
        Line("embed", "href", .url, .page),
        Line("form", "action", .form, .form),
        Line("button input", "formaction", .button, .form),
        Line("iframe frame portal fencedframe layer ilayer amp-iframe", "src", .url, .frame),
        Line("iframe", "srcdoc", .document, .frame),
        Line("iframe frame img", "longdesc", .url, .about),
        Line("link", "href", .link, .metadata, .isCORS),
        Line("meta", "content", .meta, .metadata),
    ]

    private static let assets: [Line] = [
        Line("img image amp-img amp-anim overlay fig", "src", .url, .image, .isCORS),
        Line("img source image amp-img amp-anim", "srcset", .srcset, .image, .isCORS),
        Line("link", "imagesrcset", .srcset, .image, .isCORS),
        Line("img", "lowsrc href", .url, .image),
        Line("img", "dynsrc", .url, .media),
        Line("script", "src", .script, .script, .isCORS),
        Line("amp-script", "src", .url, .script),
        Line("audio video source bgsound amp-audio amp-video", "src", .url, .media, .isCORS),
        Line("track", "src", .url, .track, .isCORS),
        Line("embed", "src", .url, .embed),
        Line("input", "src", .input, .image),
        Line("video audio amp-video model-viewer", "poster", .url, .image),
        Line("amp-list amp-state", "src", .url, .data),
        Line("amp-story", "poster-portrait-src publisher-logo-src", .url, .image),
        Line("model-viewer", "src ios-src environment-image skybox-image", .url, .model),
        Line("object", "data", .url, .embed),
        Line("object", "classid", .url, .applet, .hasCodebase),
        Line("object", "archive", .spaceList, .applet, .hasCodebase),
        Line("applet", "code object", .url, .applet, .hasCodebase),
        Line("applet", "archive", .commaList, .applet, .hasCodebase),
        Line("html", "manifest", .url, .manifest, .ignoresBase),
        Line("body table td th tr thead tbody tfoot layer", "background", .url, .image),
        Line("command menuitem", "icon", .url, .icon),
    ]

    private static let others: [Line] = [
        Line("base", "href", .base, .base),
        Line("a area", "ping", .spaceList, .ping),
        Line("blockquote q del ins", "cite", .url, .citation),
        Line("head", "profile", .spaceList, .profile),
        Line("object applet", "codebase", .url, .codebase),
        Line("object img input", "usemap", .url, .imageMap),
        Line("param", "value", .parameter, .parameter),
    ]

    /// SVG and MathML. Element names are in lower case, as the tokenizer converts them.
    private static let drawings: [Line] = [
        Line("svg:a", "href xlink:href", .url, .page),
        Line("svg:image svg:feimage", "href xlink:href", .url, .image, .isCORS),
        Line("svg:script", "href xlink:href", .script, .script, .isCORS),
        Line("svg:use svg:tref svg:glyphref svg:altglyph", "href xlink:href", .url, .drawing),
        Line("svg:cursor", "href xlink:href", .url, .image),
        Line("svg:font-face-uri", "href xlink:href", .url, .font),
        Line("svg:color-profile", "href xlink:href", .url, .drawing),
        Line("svg:pattern svg:lineargradient svg:radialgradient svg:filter", "href xlink:href", .url, .part),
        Line("svg:textpath svg:mpath svg:animate svg:set", "href xlink:href", .url, .part),
        Line("svg:animatemotion svg:animatetransform svg:animatecolor", "href xlink:href", .url, .part),
        Line("svg:*", "fill stroke", .css, .drawing),
        Line("svg:*", "filter mask clip-path", .css, .drawing, .isCORS),
        Line("svg:*", "marker marker-start marker-mid marker-end cursor color-profile", .css, .drawing),
        Line("math:*", "href xlink:href", .url, .page),
        Line("math:annotation math:annotation-xml", "src", .url, .data),
        Line("math:mglyph", "src", .url, .image),
    ]

    /// Places that are not links but change when the document is served from another place.
    private static let marks: [Line] = [
        Line("script link svg:script", "integrity", .integrity, .name),
        Line("*", "referrerpolicy", .referrerPolicy, .policy),
        Line("meta", "http-equiv", .pragma, .policy),
        Line("meta", "name", .metaName, .policy),
    ]
}
