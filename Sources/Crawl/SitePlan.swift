internal import Glibc
public import Web

/// How a site is prefetched: said on a command line, in a file of settings or by a manifest, stored with the
/// site, and used by whoever fetches for it later. Nothing in it is secret, and nothing is about one run
/// alone.
public struct SitePlan: Sendable, Equatable {
    public var scope = ScopeOptions()
    /// Lists of pages beside those that robots.txt names.
    public var sitemaps: [String] = []
    /// Nil for `obey`; in an update, for what held the last time, as with the two below.
    public var robots: RobotsPolicy?
    /// What `nofollow` keeps from being followed; nil for `pages`, or for `ignore` where robots.txt is
    /// ignored.
    public var nofollow: NofollowPolicy?
    /// Whether pages that say `noindex` are read for their links alone: words to search engines. Nil for
    /// `ignore`.
    public var noindex: RobotsPolicy?
    /// What the user wants otherwise than servers say, a rule each: `https://api.example.com/** max-age=600`.
    public var rules: [String] = []
    /// Scripts' strings that may be links are tried.
    public var guesses = true
    /// Whether and how pages are shown in a browser, to see what their scripts ask for; nil for the usual or,
    /// in an update, for what held the last time.
    public var render: RenderSettings?
    /// Pages of these patterns brought something when they were rendered in the last visit.
    package var rendered: [String] = []
    /// Those of which pages were rendered in this or an earlier visit, in the way that `render` says: pages
    /// of them that are as they were need not be rendered again.
    package var lookedAt: [String] = []
    /// How many sockets pages opened when they were last shown: what comes over them is not held.
    package var sockets = 0
    /// How many pages are wanted of the site, now and by updates; a prefetch with a higher number, or none,
    /// goes on beyond.
    public var maxPages: Int?
    /// The most connections that one host gets at once; nil for 16 or, in an update, for what held the last
    /// time.
    public var connectionsPerHost: Int?
    /// Nil for a site whose bundles nobody vouches for.
    package var manifest: ManifestPlan?
    /// The nearest network zone that requests for the site's start URLs may connect to, as allowed by the
    /// principal that added the site. Updates use it, whoever asks for them. Nil if the site was stored without
    /// it: then the principal of the update decides.
    package var zone: NetworkZone?
    /// What the last visit left out, by a limit or for a trap; nil when it left out nothing.
    package var leftOut: LeftOut?
    /// Changes that the last visit held back, as `ReplacementCheck` writes them.
    package var doubts: [String] = []

    public init() {}

    /// What is missing, or of another kind than it should be, is as if nothing had been said.
    package init(text: String) {
        guard let json = try? JSONValue.parse(text.utf8.span) else { return }
        func texts(_ key: String) -> [String] { json[key]?.array?.compactMap(\.string) ?? [] }
        scope = ScopeOptions(
            extent: json["scope"]?.string.flatMap(SiteExtent.init) ?? .host, include: texts("include"),
            exclude: texts("exclude"), depth: json["depth"]?.int)
        sitemaps = texts("sitemaps")
        robots = json["robots"]?.string.flatMap(RobotsPolicy.init)
        rules = texts("rules")
        guesses = json["guesses"]?.bool ?? true
        nofollow = json["nofollow"]?.string.flatMap(NofollowPolicy.init)
        noindex = json["noindex"]?.string.flatMap(RobotsPolicy.init)
        render = json["render"].map { RenderSettings($0) }
        rendered = texts("rendered")
        lookedAt = texts("lookedAt")
        sockets = json["sockets"]?.int ?? 0
        maxPages = json["maxPages"]?.int
        connectionsPerHost = json["perHost"]?.int
        manifest = json["manifest"].flatMap { ManifestPlan($0) }
        leftOut = json["leftOut"].map { LeftOut($0) }
        zone = json["zone"]?.string.flatMap { NetworkZone(name: $0) }
        doubts = texts("doubts")
    }

    /// Only what differs from the usual is written.
    package var text: String { members.text(.compact) }

    /// What this says of one run, over what held the last time. A list or a scope is never said anew in an
    /// update; the manifest, and what was left out, are the last visit's.
    package func over(_ held: SitePlan) -> SitePlan {
        var plan = held
        (plan.manifest, plan.leftOut) = (nil, nil)
        plan.robots = robots ?? held.robots
        plan.nofollow = nofollow ?? held.nofollow
        plan.noindex = noindex ?? held.noindex
        plan.render = render ?? held.render
        plan.maxPages = maxPages ?? held.maxPages
        plan.connectionsPerHost = connectionsPerHost ?? held.connectionsPerHost
        return plan
    }

    public var obeysRobots: Bool { robots != .ignore }

    package var manners: PageManners {
        PageManners(nofollow: nofollow ?? (obeysRobots ? .pages : .ignore), noindex: noindex ?? .ignore)
    }
}

/// Where a site's manifest comes from, and what is made of it. The manifest itself is kept with each visit
/// that it was in force in, so that a roll-back has the digests that belong to it.
package struct ManifestPlan: Sendable, Equatable {
    /// The path of a file, from the root on, or an http or https URL.
    package var place: String
    /// What the user says that its references are relative to.
    package var base: String?
    /// The form that was named; nil for what its shape tells.
    package var format: String?
    /// The site is the bundles, with what they need: the manifest does not say where it starts.
    package var isAlone = false
    /// What the bundles need comes along.
    package var hasRequisites = true
    /// Nothing of that was missing in the end.
    package var isWhole = true

    package init(place: String, base: String? = nil, format: String? = nil) {
        self.place = place
        self.base = base
        self.format = format
    }

    package init?(_ json: JSONValue) {
        guard let place = json["place"]?.string else { return nil }
        self.init(place: place, base: json["base"]?.string, format: json["format"]?.string)
        isAlone = json["alone"]?.bool ?? false
        hasRequisites = json["requisites"]?.bool ?? true
        isWhole = json["whole"]?.bool ?? true
    }

    /// The same manifest, whatever else is wanted of it.
    package func isSamePlace(_ other: ManifestPlan) -> Bool { place == other.place && base == other.base }

    /// A path as it is from the root on, whatever folder larder is run in next time.
    package static func fullPlace(_ name: String) -> String {
        if let url = WebURL(name), url.isHTTP { return name }
        guard let path = realpath(name, nil) else { return name }
        defer { free(path) }
        return String(cString: path)
    }
}

/// Which pages a visit did not ask for although its scope has them.
package struct LeftOut: Sendable, Equatable {
    /// Which limit kept pages out.
    package var limit: String?
    /// Why pages like these were stopped, by what their URLs have in common.
    package var traps: [String: String] = [:]
    /// Pages that were asked for and did not come: no limit is to blame for them.
    package var failed: Set<String> = []

    /// With more failures than these, nothing is put down to a limit.
    private static let mostFailures = 1000

    /// Nil when the visit asked for everything.
    package init?(_ report: CrawlReport) {
        limit = report.limit?.description
        for trap in report.traps { traps[trap.pattern] = trap.description }
        guard limit != nil || !traps.isEmpty else { return nil }
        failed = Set(report.missing.filter { !$0.isRequisite && !$0.isGone }.map(\.url))
        if failed.count > Self.mostFailures {
            limit = nil
            failed = []
        }
    }

    package init(_ json: JSONValue) {
        limit = json["limit"]?.string
        for trap in json["traps"]?.members ?? [] { traps[trap.key] = trap.value.string ?? "a trap" }
        failed = Set(json["failed"]?.array?.compactMap(\.string) ?? [])
    }

    /// Why a page was not asked for; nil when it was, or ought to have been.
    package func reason(for page: WebURL) -> String? {
        if let trap = traps[TrapReason.pattern(of: page)] { return trap }
        return failed.contains(page.href) ? nil : limit
    }
}

extension SitePlan: JSONObject {
    /// Those that differ from the usual.
    package var members: JSONMembers {
        [
            "scope": IfAny(scope.extent == .host ? nil : scope.extent.rawValue),
            "include": IfAny(scope.include),
            "exclude": IfAny(scope.exclude), "depth": IfAny(scope.depth), "sitemaps": IfAny(sitemaps),
            "robots": IfAny(robots == .obey ? nil : robots?.rawValue), "rules": IfAny(rules),
            "guesses": IfAny(guesses ? nil : false), "nofollow": IfAny(nofollow?.rawValue),
            "noindex": IfAny(noindex == .ignore ? nil : noindex?.rawValue), "render": IfAny(render),
            "rendered": IfAny(rendered), "lookedAt": IfAny(lookedAt),
            "sockets": IfAny(sockets == 0 ? nil : sockets), "maxPages": IfAny(maxPages),
            "perHost": IfAny(connectionsPerHost), "manifest": IfAny(manifest), "leftOut": IfAny(leftOut),
            "zone": IfAny(zone?.name), "doubts": IfAny(doubts),
        ]
    }
}

extension ManifestPlan: JSONObject {
    package var members: JSONMembers {
        [
            "place": place, "base": IfAny(base), "format": IfAny(format),
            "alone": IfAny(isAlone ? true : nil),
            "requisites": IfAny(hasRequisites ? nil : false), "whole": IfAny(isWhole ? nil : false),
        ]
    }
}

extension LeftOut: JSONObject {
    package var members: JSONMembers {
        let sorted = traps.sorted { $0.key < $1.key }
        return [
            "limit": IfAny(limit), "traps": sorted.reduce(JSONMembers()) { $0 + [$1.key: $1.value] },
            "failed": failed.sorted(),
        ]
    }
}
