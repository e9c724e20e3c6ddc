package import Web

/// The settings with which pages are rendered in a browser. They are stored with the site (`SitePlan.render`).
public struct RenderSettings: Sendable, Equatable {
    /// Which pages are rendered.
    public var mode = RenderMode.auto
    /// The number of screens by which a page is scrolled, to load lazy images and endless lists.
    public var scroll = 20
    /// The sizes of the window, such as `1280x900` or `390x844@3`. The page is rendered in the first one, and
    /// then shown in the others for a moment.
    public var viewports: [String] = []
    /// Which controls of pages are used, so that the content behind them is loaded and stored.
    public var acting = RenderActing.all
    /// How banners are answered that ask for consent to cookies.
    public var consent = RenderConsent.reject
    /// Whether pages are also stored as they were shown, without their scripts.
    public var freezing = RenderFreezing.auto
    /// Uses controls on every rendered page, and not only on the first ones of each kind, and plays the
    /// beginning of videos.
    public var isDeep = false
    /// Also shows the page with the dark colour scheme.
    public var seesDark = false
    /// Stores a screenshot of each page, with which an offline check compares the page.
    public var takesPictures = false
    /// A fixed time for scripts, in seconds since 1970, together with fixed random numbers, while pages are
    /// rendered and when they are served. Nil for the real time. Updates keep it.
    public var steadySince: Int64?
    /// The maximum time per page.
    public var limit = Duration.seconds(20)
    /// Scripts that run in pages after they have loaded.
    public var scripts: [Script] = []

    /// A script that runs in pages.
    public struct Script: Sendable, Equatable {
        /// The pattern of its pages, as for `include`; nil for all pages.
        public var pages: String?
        /// The source of the script.
        public var text: String

        /// Creates a script for the pages that match a pattern.
        public init(pages: String? = nil, text: String) {
            self.pages = pages
            self.text = text
        }
    }

    /// Creates the default settings.
    public init() {}

    /// Reads stored settings. Missing and malformed members have their default values.
    init(_ json: JSONValue) {
        mode = json["mode"]?.string.flatMap(RenderMode.init) ?? mode
        scroll = json["scroll"]?.int ?? scroll
        viewports = json["viewports"]?.array?.compactMap(\.string) ?? []
        acting = json["act"]?.string.flatMap(RenderActing.init) ?? acting
        consent = json["consent"]?.string.flatMap(RenderConsent.init) ?? consent
        freezing = json["freeze"]?.string.flatMap(RenderFreezing.init) ?? freezing
        isDeep = json["deep"]?.bool ?? false
        seesDark = json["dark"]?.bool ?? false
        takesPictures = json["pictures"]?.bool ?? false
        steadySince = json["steady"]?.int.map { Int64($0) }
        limit = json["seconds"]?.int.map { .seconds($0) } ?? limit
        scripts =
            json["scripts"]?.array?.compactMap { script in
                script["text"]?.string.map { Script(pages: script["pages"]?.string, text: $0) }
            } ?? []
    }
}

extension RenderSettings: JSONObject {
    /// The settings that differ from the defaults.
    package var members: JSONMembers {
        let defaults = RenderSettings()
        return [
            "mode": mode.rawValue, "scroll": IfAny(scroll == defaults.scroll ? nil : scroll),
            "viewports": IfAny(viewports), "act": IfAny(acting == defaults.acting ? nil : acting.rawValue),
            "consent": IfAny(consent == defaults.consent ? nil : consent.rawValue),
            "freeze": IfAny(freezing == defaults.freezing ? nil : freezing.rawValue),
            "deep": IfAny(isDeep ? true : nil),
            "dark": IfAny(seesDark ? true : nil),
            "pictures": IfAny(takesPictures ? true : nil), "steady": IfAny(steadySince),
            "seconds": IfAny(limit == defaults.limit ? nil : Int(limit / .seconds(1))),
            "scripts": IfAny(scripts.map { ["pages": IfAny($0.pages), "text": $0.text] as JSONMembers }),
        ]
    }
}

/// Which pages are rendered in a browser, to find the requests of their scripts.
public enum RenderMode: String, Sendable, CaseIterable {
    /// One page for each set of scripts that can send requests, a few of each URL pattern whose scripts could
    /// not be analysed, and more while rendering finds new URLs.
    case auto
    /// Every page.
    case always
    /// No page.
    case never

    /// Whether the crawl chooses the pages by what scripts and earlier renderings show.
    var choosesPages: Bool {
        switch self {
        case .auto: true
        case .always, .never: false
        }
    }
}

/// Which controls of rendered pages are used.
public enum RenderActing: String, Sendable, CaseIterable {
    /// No control.
    case never
    /// The search field: it gets the focus and a word of the page.
    case search
    /// The search field, collapsed parts, tabs, menus and buttons. Controls whose names say that they change
    /// something are not used, and requests that could change something are not sent then.
    case all
}

/// How banners on rendered pages are answered that ask for consent to cookies.
public enum RenderConsent: String, Sendable, CaseIterable {
    /// The choice with the least tracking. A banner without such a choice is closed, or stays.
    case reject
    /// All purposes.
    case accept
    /// Banners stay as they are.
    case leave
}

/// Whether rendered pages are also stored as they were shown, as HTML without scripts: frozen copies.
public enum RenderFreezing: String, Sendable, CaseIterable {
    /// Pages that show something else offline than online are served as frozen copies.
    case auto
    /// All rendered pages are served as frozen copies.
    case always
    /// No frozen copies are stored.
    case never
}
