internal import Crawl
internal import Glibc
internal import Web

/// What the store keeps of how a site is prefetched, so that whoever fetches for it later does it in the same way: its
/// scope, and the manifest by which its bundles are held against their digests. Nothing in it is secret, and nothing is
/// about one run alone.
struct SitePlan: Sendable, Equatable {
    var scope = ScopeOptions()
    var sitemaps: [String] = []
    var robots = RobotsPolicy.obey
    var rules: [String] = []
    var guesses = true
    var nofollow: NofollowPolicy?
    var noindex = RobotsPolicy.ignore
    /// How many pages are wanted of the site.
    var maxPages: Int?
    var connectionsPerHost: Int?
    /// Nil for a site whose bundles nobody vouches for.
    var manifest: ManifestPlan?
    /// What the last visit left out, by a limit or for a trap; nil when it left out nothing.
    var leftOut: LeftOut?

    init() {}

    init(_ options: PrefetchOptions) {
        scope = ScopeOptions(
            extent: ScopeOptions.Extent(rawValue: options.scope.extent.rawValue) ?? .host,
            include: options.scope.include, exclude: options.scope.exclude, depth: options.scope.depth)
        sitemaps = options.sitemaps
        robots = options.robots ?? .obey
        rules = options.rules
        guesses = options.guesses
        nofollow = options.nofollow
        noindex = options.noindex ?? .ignore
        maxPages = options.limits.pages
        connectionsPerHost = options.connectionsPerHost
    }

    /// What is missing, or of another kind than it should be, is as if nothing had been said.
    init(text: String) {
        guard let json = try? JSONValue.parse(text.utf8.span) else { return }
        func texts(_ key: String) -> [String] { json[key]?.array?.compactMap(\.string) ?? [] }
        scope = ScopeOptions(
            extent: json["scope"]?.string.flatMap(ScopeOptions.Extent.init) ?? .host, include: texts("include"),
            exclude: texts("exclude"), depth: json["depth"]?.int)
        sitemaps = texts("sitemaps")
        robots = json["robots"]?.string.flatMap(RobotsPolicy.init) ?? .obey
        rules = texts("rules")
        guesses = json["guesses"]?.bool ?? true
        nofollow = json["nofollow"]?.string.flatMap(NofollowPolicy.init)
        noindex = json["noindex"]?.string.flatMap(RobotsPolicy.init) ?? .ignore
        maxPages = json["maxPages"]?.int
        connectionsPerHost = json["perHost"]?.int
        manifest = json["manifest"].flatMap { ManifestPlan($0) }
        leftOut = json["leftOut"].map { LeftOut($0) }
    }

    /// Only what differs from the usual is written.
    var text: String {
        var writer = JSONWriter()
        writer.object { object in
            if scope.extent != .host { object.member("scope", scope.extent.rawValue) }
            if !scope.include.isEmpty { object.member("include", scope.include) }
            if !scope.exclude.isEmpty { object.member("exclude", scope.exclude) }
            if let depth = scope.depth { object.member("depth", depth) }
            if !sitemaps.isEmpty { object.member("sitemaps", sitemaps) }
            if robots != .obey { object.member("robots", robots.rawValue) }
            if !rules.isEmpty { object.member("rules", rules) }
            if !guesses { object.member("guesses", guesses) }
            object.memberIfPresent("nofollow", nofollow?.rawValue)
            if noindex != .ignore { object.member("noindex", noindex.rawValue) }
            if let maxPages { object.member("maxPages", maxPages) }
            if let connectionsPerHost { object.member("perHost", connectionsPerHost) }
            if let manifest { object.member("manifest") { manifest.write(to: &$0) } }
            if let leftOut { object.member("leftOut") { leftOut.write(to: &$0) } }
        }
        return writer.text
    }

    func apply(to options: inout PrefetchOptions) {
        options.scope.extent = PrefetchScope.Extent(rawValue: scope.extent.rawValue) ?? .host
        options.scope.include = scope.include
        options.scope.exclude = scope.exclude
        options.scope.depth = scope.depth
        options.sitemaps = sitemaps
        options.robots = options.robots ?? robots
        options.rules = rules
        options.guesses = guesses
        options.nofollow = options.nofollow ?? nofollow
        options.noindex = options.noindex ?? noindex
        options.limits.pages = options.limits.pages ?? maxPages
        options.connectionsPerHost = options.connectionsPerHost ?? connectionsPerHost
    }

    var manners: PageManners {
        let implied = robots == .obey ? NofollowPolicy.pages : .ignore
        return PageManners(
            nofollow: PageManners.Nofollow(rawValue: (nofollow ?? implied).rawValue) ?? .pages,
            obeysNoindex: noindex == .obey)
    }
}

/// Where a site's manifest comes from, and what is made of it. The manifest itself is kept with each visit that it was
/// in force in, so that a roll-back has the digests that belong to it.
struct ManifestPlan: Sendable, Equatable {
    /// The path of a file, from the root on, or an http or https URL.
    var place: String
    /// What the user says that its references are relative to.
    var base: String?
    /// The form that was named; nil for what its shape tells.
    var format: String?
    /// The site is the bundles, with what they need: the manifest does not say where it starts.
    var isAlone = false
    /// What the bundles need comes along.
    var hasRequisites = true
    /// Nothing of that was missing in the end.
    var isWhole = true

    init(place: String, base: String? = nil, format: String? = nil) {
        self.place = place
        self.base = base
        self.format = format
    }

    init?(_ json: JSONValue) {
        guard let place = json["place"]?.string else { return nil }
        self.init(place: place, base: json["base"]?.string, format: json["format"]?.string)
        isAlone = json["alone"]?.bool ?? false
        hasRequisites = json["requisites"]?.bool ?? true
        isWhole = json["whole"]?.bool ?? true
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("place", place)
            object.memberIfPresent("base", base)
            object.memberIfPresent("format", format)
            if isAlone { object.member("alone", isAlone) }
            if !hasRequisites { object.member("requisites", hasRequisites) }
            if !isWhole { object.member("whole", isWhole) }
        }
    }

    /// The same manifest, whatever else is wanted of it.
    func isSamePlace(_ other: ManifestPlan) -> Bool { place == other.place && base == other.base }

    /// A path as it is from the root on, whatever folder larder is run in next time.
    static func fullPlace(_ name: String) -> String {
        if let url = WebURL(name), url.isHTTP { return name }
        guard let path = realpath(name, nil) else { return name }
        defer { free(path) }
        return String(cString: path)
    }

    /// - Parameter network: how to ask for it.
    func checkOptions(_ network: NetworkOptions? = nil) -> CheckOptions {
        var options = CheckOptions()
        options.network = network
        options.bases = base.map { [$0] } ?? []
        options.format = format
        return options
    }
}

extension CacheRules {
    /// - Throws: `LarderError` of kind `.input` that names the rule and what is wrong with it.
    init(texts: [String]) throws(LarderError) {
        var rules: [Rule] = []
        for text in texts {
            do throws(Rule.Mistake) {
                rules.append(try Rule(text))
            } catch {
                let reason =
                    switch error {
                    case .empty: "it is empty"
                    case .pattern(let pattern): "\(pattern) is no pattern of URLs"
                    case .setting(let word): "\"\(word)\" is nothing that a rule can set"
                    case .nothingSet: "it sets nothing"
                    }
                throw LarderError(
                    .input, "the rule \"\(text)\" cannot be used: \(reason); write it like \"/api/** max-age=600\"")
            }
        }
        self.init(rules)
    }
}
