/// The purpose of a reference. The raw values are part of the stored form of a ``LinkTable``, so they never
/// change their meaning. Their range determines the ``LinkRole``: pages below 32, assets below 96.
package enum LinkKind: UInt8, CaseIterable, Sendable {
    // Pages.

    /// A link that a user follows: `<a href>`.
    case page = 1
    /// A document shown inside another one.
    case frame = 2
    /// The target of a form that is sent with GET.
    case form = 3
    /// `<meta http-equiv=refresh>`.
    case refresh = 4
    /// An alternate representation of the same document, such as a translation or a feed.
    case alternate = 5
    case canonical = 6
    /// `rel=next`, `prev`, `first`, `last`, `up` and similar values.
    case navigation = 7
    /// `rel=prefetch` and `prerender`.
    case prefetch = 8
    /// `rel=author`, `license`, `help` and similar values; `longdesc`.
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
    /// A resource that a script loads as data, or a preload with `as=fetch`.
    case data = 45
    /// A preload without `as`.
    case preload = 46
    /// An HTML import.
    case htmlImport = 47
    /// An SVG document that another document uses a part of: `<use href>`, `filter: url()`.
    case drawing = 48
    /// An XSLT style sheet of an XML document.
    case transform = 49
    /// A playlist, or a media segment listed in one.
    case playlist = 50
    /// An enclosure of a feed entry.
    case enclosure = 51
    /// A document type definition or an external entity.
    case entity = 52
    /// A 3D model or its lighting environment: `<model-viewer>`.
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
    /// Open Graph and similar images, which only sharing services load.
    case sharing = 103
    case metadata = 104
    /// A form sent with POST.
    case submission = 105
    /// `rel=preconnect` and `dns-prefetch`, which name only an origin.
    case origin = 106
    case parameter = 107
    /// Content-Security-Policy and its reporting URLs.
    case policy = 108
    /// The source map that a debugger loads for a script or style sheet.
    case sourceMap = 109
    /// A namespace or another identifier that only looks like a URL.
    case name = 110
    /// An SVG element that another element refers to: the template of a gradient, the path of a text.
    case part = 111

    /// The role of the kind, which follows from the range of its raw value.
    package var role: LinkRole {
        switch rawValue {
        case 1..<32: .page
        case 32..<96: .asset
        default: .other
        }
    }

    /// Whether a browser requests the asset in CORS mode, so that the response must allow the document's
    /// origin.
    package func isCORS(_ flags: LinkFlags) -> Bool {
        role == .asset && (flags.contains(.isCORS) || isAlwaysCORS)
    }

    /// Whether the kind is always requested in CORS mode: fonts, modules and manifests by their standards;
    /// data, playlists and models because scripts load them that way by default.
    private var isAlwaysCORS: Bool { traits.isAlwaysCORS }

    /// Whether the target is a part of the page: an asset, or a document shown inside it.
    package var isPartOfPage: Bool {
        switch traits.use {
        case .embeddedDocument, .resource: true
        case .destination, .reference: false
        }
    }

    /// How a page that is opened as a file loads the target.
    package var fileLoading: FileLoading { traits.fileLoading }

    /// How a page that is opened as a file loads the target of a link. Browsers refuse such pages some requests.
    package enum FileLoading: Sendable {
        /// Loads like from a server.
        case direct
        /// A script fetches it, which browsers refuse.
        case byScript
        /// Browsers refuse modules from files.
        case asModule
        /// Browsers refuse workers from files.
        case asWorker
        /// An element fetches it, which browsers refuse, and no script can do so in its place.
        case never
    }

    /// How a page uses the target of a link.
    private enum Use {
        /// A person navigates to it.
        case destination
        /// The page shows it inside itself.
        case embeddedDocument
        /// The page needs it to look and work as on the live site.
        case resource
        /// The page only names it.
        case reference
    }

    private struct Traits {
        let use: Use
        let fileLoading: FileLoading
        let isAlwaysCORS: Bool

        init(_ use: Use, _ fileLoading: FileLoading = .direct, isAlwaysCORS: Bool = false) {
            (self.use, self.fileLoading, self.isAlwaysCORS) = (use, fileLoading, isAlwaysCORS)
        }
    }

    /// The properties that other code depends on. A new kind does not compile before it is added here.
    private var traits: Traits {
        switch self {
        case .page, .form, .refresh, .alternate, .canonical, .navigation, .prefetch, .about, .speculation,
            .feedEntry, .sitemapEntry:
            Traits(.destination)
        case .frame: Traits(.embeddedDocument)
        case .script, .style, .image, .icon, .media, .track, .embed, .applet, .search, .preload, .htmlImport,
            .drawing, .transform, .enclosure, .entity:
            Traits(.resource)
        case .font, .manifest, .playlist: Traits(.resource, isAlwaysCORS: true)
        case .data: Traits(.resource, .byScript, isAlwaysCORS: true)
        case .module: Traits(.resource, .asModule, isAlwaysCORS: true)
        case .worker: Traits(.resource, .asWorker)
        case .model: Traits(.resource, .never, isAlwaysCORS: true)
        case .base, .codebase, .ping, .citation, .profile, .imageMap, .item, .sharing, .metadata, .submission,
            .origin, .parameter, .policy, .sourceMap, .name, .part:
            Traits(.reference)
        }
    }

    /// Whether following the links of a document requests the target. Forms, names, policies and beacons are not requested by
    /// following a link.
    package var isFollowed: Bool {
        switch self {
        case .page, .frame, .refresh, .alternate, .canonical, .navigation, .prefetch, .about, .feedEntry,
            .sitemapEntry, .script, .module, .worker, .style, .image, .icon, .font, .media, .track, .embed,
            .manifest, .search, .data, .preload, .htmlImport, .drawing, .transform, .playlist, .enclosure,
            .model, .citation, .imageMap, .sharing:
            true
        case .form, .speculation, .applet, .entity, .base, .codebase, .ping, .profile, .item, .metadata,
            .submission, .origin, .parameter, .policy, .sourceMap, .name, .part:
            false
        }
    }

    /// Whether the target is a video or a sound, or belongs to one.
    package var isMedia: Bool {
        switch self {
        case .media, .playlist, .track: true
        case .page, .frame, .form, .refresh, .alternate, .canonical, .navigation, .prefetch, .about,
            .speculation, .feedEntry, .sitemapEntry, .script, .module, .worker, .style, .image, .icon, .font,
            .embed, .applet, .manifest, .search, .data, .preload, .htmlImport, .drawing, .transform,
            .enclosure, .entity, .model, .base, .codebase, .ping, .citation, .profile, .imageMap, .item,
            .sharing, .metadata, .submission, .origin, .parameter, .policy, .sourceMap, .name, .part:
            false
        }
    }

    /// A short name to show to users.
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

/// How a crawl treats a link.
package enum LinkRole: UInt8, Sendable {
    /// A page that a person navigates to. Followed as far as the scope allows.
    case page
    /// A resource that a page needs to look and work as on the live site. Always followed.
    case asset
    /// A name, a base URL or a beacon. Rewritten or left unchanged, never fetched.
    case other
}

/// Properties of one link occurrence in addition to its kind. The bits are stored and never change their
/// meaning.
package struct LinkFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    /// The reference has a scheme or starts with two slashes, so it names its own origin.
    package static let namesOrigin = LinkFlags(rawValue: 1)
    /// The reference is only probably a link: a string in a script, or a `data-` attribute that some library
    /// reads.
    package static let isGuess = LinkFlags(rawValue: 2)
    /// The reference is only a fragment, so it points into the same document unless there is a `<base>`.
    package static let isFragment = LinkFlags(rawValue: 4)
    /// The reference is inside a conditional comment, which only old browsers read.
    package static let isConditional = LinkFlags(rawValue: 8)
    /// The reference is relative to the `codebase` of the same element, which has its own occurrence.
    package static let hasCodebase = LinkFlags(rawValue: 16)
    /// The reference is not resolved against the document's `<base>`.
    package static let ignoresBase = LinkFlags(rawValue: 32)
    /// A script loads the resource when it comes near the viewport (`data-src` and similar attributes).
    package static let isLazy = LinkFlags(rawValue: 64)
    /// The link's `rel` says that the page does not endorse the target: `nofollow`, `ugc`, `sponsored`.
    package static let isNofollow = LinkFlags(rawValue: 128)
    /// The element has `crossorigin`, or the reference is the value of a CSS property whose images are loaded
    /// in CORS mode. Kinds that always use CORS mode do not need the flag; see ``LinkKind/isCORS(_:)``.
    package static let isCORS = LinkFlags(rawValue: 256)

    /// The raw value with all bits set; decoding rejects larger ones.
    static let allBits: UInt16 = 511
}

/// The syntax around a reference, which determines how a replacement must be escaped.
///
/// The outer part counts the levels of markup that a reader unescapes first: one for an attribute, and one
/// more for each `srcdoc` around it. The inner part is the syntax of the value itself.
///
/// The bits are stored and never change their meaning. The three highest ones stay zero, since a stored
/// ``LinkTable`` puts bits of ``LinkFlags`` there.
package struct LinkContext: RawRepresentable, Hashable, Sendable {
    /// The syntax of the value inside the markup.
    package enum Inner: UInt8, CaseIterable, Sendable {
        /// The whole value is the reference.
        case plain = 0
        /// Inside the quotes of a CSS string.
        case cssString = 1
        /// Inside `url(` and `)` without quotes.
        case cssURL = 2
        /// Inside the quotes of a script string literal.
        case scriptString = 3
        /// Inside a script template literal without substitutions.
        case scriptTemplate = 4
        /// Inside the quotes of a JSON string.
        case json = 5
        /// The URL of a candidate in a `srcset`.
        case srcset = 6
        /// An item of a list separated by white space.
        case spaceList = 7
        /// An item of a list separated by commas.
        case commaList = 8
        /// The URL in the value of a `<meta http-equiv=refresh>`.
        case refresh = 9
        /// A whole line or the rest of one, as in a playlist, a plain-text sitemap or a source map comment.
        case line = 10
        /// An attribute value in markup that is itself inside a script string literal.
        case scriptMarkup = 11
    }

    package let rawValue: UInt16

    /// The maximum number of markup levels, which limits how deeply nested `srcdoc` attributes are scanned.
    static let maxLevels = 5

    package init?(rawValue: UInt16) {
        guard Inner(rawValue: UInt8(truncatingIfNeeded: rawValue)) != nil,
            rawValue >> 8 & 7 <= Self.maxLevels,
            rawValue >> 13 == 0
        else { return nil }
        self.rawValue = rawValue
    }

    /// - Parameters:
    ///   - levels: The number of times that character references must be decoded, at most ``maxLevels``.
    ///   - isUnquoted: Whether an attribute value at any level has no quotes.
    ///   - isXML: Whether the character references are those of XML.
    package init(levels: Int, isUnquoted: Bool = false, isXML: Bool = false, _ inner: Inner) {
        precondition((0...Self.maxLevels).contains(levels))
        let outer = UInt16(levels) | (isUnquoted ? 8 : 0) | (isXML ? 16 : 0)
        rawValue = outer << 8 | UInt16(inner.rawValue)
    }

    package static let plain = LinkContext(levels: 0, .plain)
    package static let attribute = LinkContext(levels: 1, .plain)

    package var levels: Int { Int(rawValue >> 8 & 7) }
    package var isUnquoted: Bool { rawValue >> 11 & 1 != 0 }
    package var isXML: Bool { rawValue >> 12 & 1 != 0 }
    package var inner: Inner { Inner(rawValue: UInt8(truncatingIfNeeded: rawValue)) ?? .plain }

    /// Whether the reference is the value of an attribute, or an item of a list in it, also in markup that a script writes.
    package var isOfAttribute: Bool {
        switch inner {
        case .plain, .srcset, .spaceList, .commaList: levels > 0
        case .scriptMarkup: true
        case .cssString, .cssURL, .scriptString, .scriptTemplate, .json, .refresh, .line: false
        }
    }

    /// Returns the same position in the markup with a different inner syntax.
    package func with(_ inner: Inner) -> LinkContext {
        LinkContext(levels: levels, isUnquoted: isUnquoted, isXML: isXML, inner)
    }
}
