/// What a reference is for. The raw values are part of the stored form of a ``LinkTable``: they never change their
/// meaning.
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

    // Requisites.
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
        case 32..<96: .requisite
        default: .other
        }
    }

    /// Whether a browser asks for it by CORS: with the origin of its document, and only for what the other origin lets that
    /// have.
    package func isCORS(_ flags: LinkFlags) -> Bool {
        role == .requisite && (flags.contains(.isCORS) || isAlwaysCORS)
    }

    /// Fonts, modules and manifests by their standards, and what scripts load, as they do unless they say otherwise.
    private var isAlwaysCORS: Bool {
        self == .font || self == .module || self == .manifest || self == .data || self == .playlist
    }

    /// A short word for people.
    package var name: String {
        switch self {
        case .htmlImport: "HTML import"
        case .feedEntry: "feed entry"
        case .sitemapEntry: "sitemap entry"
        case .imageMap: "image map"
        case .sourceMap: "source map"
        case .about, .alternate, .applet, .base, .canonical, .citation, .codebase, .data, .drawing, .embed, .enclosure,
            .entity, .font, .form, .frame, .icon, .image, .item, .manifest, .media, .metadata, .module, .name,
            .navigation, .origin, .page, .parameter, .part, .ping, .playlist, .policy, .prefetch, .preload, .profile,
            .refresh, .script, .search, .sharing, .speculation, .style, .submission, .track, .transform, .worker:
            "\(self)"
        }
    }
}
