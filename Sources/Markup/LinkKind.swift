/// What a reference is for. The raw values are part of the stored form of a ``LinkTable``: they never change
/// their meaning.
package enum LinkKind: UInt8, CaseIterable, Sendable {
    // Pages.
    case page = 1
    /// A document shown inside another one.
    case frame = 2
    /// Where a form leads that is sent with GET.
    case form = 3
    /// `<meta http-equiv=refresh>`.
    case refresh = 4
    /// Another form of the same document: another language, a feed.
    case alternate = 5
    case canonical = 6
    /// `rel=next`, `prev`, `first`, `last`, `up` and their like.
    case navigation = 7
    /// `rel=prefetch` and `prerender`.
    case prefetch = 8
    /// `rel=author`, `license`, `help` and their like; `longdesc`.
    case about = 9
    /// A speculation rule.
    case speculation = 10
    /// An entry of a feed.
    case feedEntry = 11
    /// An entry of a sitemap, or a further sitemap.
    case sitemapEntry = 12

    // Assets.
    case script = 32
    case module = 33
    case worker = 34
    case style = 35
    case image = 36
    case icon = 37
    case font = 38
    case media = 39
    case track = 40
    /// `<object>`, `<embed>`.
    case embed = 41
    /// Java archives and classes, old ActiveX classes.
    case applet = 42
    /// A web app manifest.
    case manifest = 43
    /// An OpenSearch description.
    case search = 44
    /// What a script loads as data, or a preload `as=fetch`.
    case data = 45
    /// A preload that does not say as what.
    case preload = 46
    /// An HTML import.
    case htmlImport = 47
    /// A drawing that another one takes a part from: `<use href>`, `filter: url()`.
    case drawing = 48
    /// A stylesheet of XML: XSLT.
    case transform = 49
    /// A playlist, or a segment that one names.
    case playlist = 50
    /// An enclosure of a feed entry.
    case enclosure = 51
    /// A document type definition or an external entity.
    case entity = 52
    /// What a view in three dimensions shows, and what lights it: `<model-viewer>`.
    case model = 53

    // Others.
    case base = 96
    /// `codebase` of `<object>` and `<applet>`.
    case codebase = 97
    case ping = 98
    case citation = 99
    case profile = 100
    case imageMap = 101
    case item = 102
    /// Open Graph and other pictures that only a sharing service loads.
    case sharing = 103
    case metadata = 104
    /// A form sent with POST.
    case submission = 105
    /// `rel=preconnect`, `dns-prefetch`: names an origin.
    case origin = 106
    case parameter = 107
    /// Content-Security-Policy and its reporting addresses.
    case policy = 108
    /// Where a debugger would find the source of a script or stylesheet.
    case sourceMap = 109
    /// A namespace or another name that only looks like an address.
    case name = 110
    /// An element of a drawing that another element is made from: a gradient's template, the path of a text.
    case part = 111

    package var role: LinkRole {
        switch rawValue {
        case 1..<32: .page
        case 32..<96: .asset
        default: .other
        }
    }

    /// Whether a browser asks for it by CORS: with the origin of its document, and only for what the other
    /// origin lets that have.
    package func isCORS(_ flags: LinkFlags) -> Bool {
        role == .asset && (flags.contains(.isCORS) || isAlwaysCORS)
    }

    /// Fonts, modules and manifests by their standards, and what scripts load, as they do unless they say
    /// otherwise.
    private var isAlwaysCORS: Bool {
        self == .font || self == .module || self == .manifest || self == .data || self == .playlist
            || self == .model
    }

    /// A short word for people.
    package var name: String {
        switch self {
        case .htmlImport: "HTML import"
        case .feedEntry: "feed entry"
        case .sitemapEntry: "sitemap entry"
        case .imageMap: "image map"
        case .sourceMap: "source map"
        case .about, .alternate, .applet, .base, .canonical, .citation, .codebase, .data, .drawing, .embed,
            .enclosure,
            .entity, .font, .form, .frame, .icon, .image, .item, .manifest, .media, .metadata, .model,
            .module,
            .name,
            .navigation, .origin, .page, .parameter, .part, .ping, .playlist, .policy, .prefetch, .preload,
            .profile,
            .refresh, .script, .search, .sharing, .speculation, .style, .submission, .track, .transform,
            .worker:
            "\(self)"
        }
    }
}

/// What a crawl does with a link.
package enum LinkRole: UInt8, Sendable {
    /// Something a person navigates to: followed as far as the scope says.
    case page
    /// What a page needs to look and work as it did: followed always.
    case asset
    /// A name, a base, a beacon: rewritten or left as it stands, never fetched.
    case other
}

/// What is known of one occurrence beside its kind. Stored: a bit never changes its meaning.
package struct LinkFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The reference has a scheme, or starts with two slashes: it names an origin by itself.
    package static let namesOrigin = LinkFlags(rawValue: 1)
    /// It probably is a link: a string in a script, a `data-` attribute that some library reads.
    package static let isGuess = LinkFlags(rawValue: 2)
    /// It is only a fragment, so it stays in the document unless there is a `<base>`.
    package static let isFragment = LinkFlags(rawValue: 4)
    /// It stands in a conditional comment that only old browsers read.
    package static let isConditional = LinkFlags(rawValue: 8)
    /// It is relative to the `codebase` of the same element, which is an occurrence of its own beside it.
    package static let hasCodebase = LinkFlags(rawValue: 16)
    /// The document's `<base>` does not apply to it.
    package static let ignoresBase = LinkFlags(rawValue: 32)
    /// It is loaded by a script once it is near the screen (`data-src` and its like).
    package static let isLazy = LinkFlags(rawValue: 64)
    /// Its `rel` says that the page does not stand for it: `nofollow`, `ugc`, `sponsored`.
    package static let isNofollow = LinkFlags(rawValue: 128)
    /// Its element says `crossorigin`, or it is for a property whose pictures other origins have to allow.
    /// What is asked for by CORS without that, ``LinkKind/isCORS(_:)`` knows.
    package static let isCORS = LinkFlags(rawValue: 256)

    /// All of them.
    static let largest: UInt16 = 511
}

/// How a reference is written where it stands, which is how a replacement must be escaped.
///
/// Outside are the levels of markup that a reader undoes first (one for an attribute, one more for each
/// `srcdoc` around it), inside is the small language of the value itself. Stored: the bits never change their
/// meaning, and the three highest stay free for ``LinkFlags``.
package struct LinkContext: RawRepresentable, Hashable, Sendable {
    /// The small language inside the markup.
    package enum Inner: UInt8, CaseIterable, Sendable {
        /// The reference as it is.
        case plain = 0
        /// Inside the quotes of a CSS string.
        case cssString = 1
        /// Inside `url(` and `)` without quotes.
        case cssURL = 2
        /// Inside the quotes of a script's string.
        case scriptString = 3
        /// Inside a script's template without substitutions.
        case scriptTemplate = 4
        /// Inside the quotes of a JSON string.
        case json = 5
        /// A candidate of a `srcset`.
        case srcset = 6
        /// One of several, separated by white space.
        case spaceList = 7
        /// One of several, separated by commas.
        case commaList = 8
        /// The address of a refresh.
        case refresh = 9
        /// A whole line or the rest of one: a playlist, a plain sitemap, a source map comment.
        case line = 10
        /// The value of an attribute in markup that is the inside of a script's string.
        case scriptMarkup = 11
    }

    package let rawValue: UInt16

    /// The deepest nesting of `srcdoc` that is scanned.
    package static let maximalLevels = 5

    package init?(rawValue: UInt16) {
        guard Inner(rawValue: UInt8(truncatingIfNeeded: rawValue)) != nil,
            rawValue >> 8 & 7 <= Self.maximalLevels,
            rawValue >> 13 == 0
        else { return nil }
        self.rawValue = rawValue
    }

    /// - Parameters:
    ///   - levels: how often character references are to be undone; at most ``maximalLevels``.
    ///   - isUnquoted: an attribute's value without quotes, at any level.
    ///   - isXML: the references are those of XML.
    package init(levels: Int, isUnquoted: Bool = false, isXML: Bool = false, _ inner: Inner) {
        precondition((0...Self.maximalLevels).contains(levels))
        let outer = UInt16(levels) | (isUnquoted ? 8 : 0) | (isXML ? 16 : 0)
        rawValue = outer << 8 | UInt16(inner.rawValue)
    }

    package static let plain = LinkContext(levels: 0, .plain)
    package static let attribute = LinkContext(levels: 1, .plain)

    package var levels: Int { Int(rawValue >> 8 & 7) }
    package var isUnquoted: Bool { rawValue >> 11 & 1 != 0 }
    package var isXML: Bool { rawValue >> 12 & 1 != 0 }
    package var inner: Inner { Inner(rawValue: UInt8(truncatingIfNeeded: rawValue)) ?? .plain }

    /// The same place in the markup with another small language inside.
    package func with(_ inner: Inner) -> LinkContext {
        LinkContext(levels: levels, isUnquoted: isUnquoted, isXML: isXML, inner)
    }
}
