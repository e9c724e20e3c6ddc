/// How one attribute of one element names links.
struct LinkRule {
    enum Syntax: UInt8 {
        case url
        case srcset
        /// Several, between white space.
        case spaceList
        case commaList
        /// CSS declarations, or the value of one.
        case css
        /// A whole document: `srcdoc`.
        case document
        /// An address that a library reads once the element comes near the screen; only when it looks like one.
        case lazy
        /// The same, or a CSS value.
        case lazyBackground
        /// Only when it names an origin.
        case absolute
        /// Those words that name an origin.
        case absoluteWords
        // Those that other attributes decide about.
        case base
        case link
        case meta
        case form
        case button
        case script
        case input
        case parameter

        /// The whole value is one reference, read without more than the tag.
        var isOneReference: Bool {
            switch self {
            case .url, .link, .form, .button, .script, .input: true
            case .srcset, .spaceList, .commaList, .css, .document, .lazy, .lazyBackground, .absolute, .absoluteWords,
                .base, .meta, .parameter:
                false
            }
        }
    }

    var syntax: Syntax
    var kind: LinkKind
    var flags: LinkFlags = []
}
