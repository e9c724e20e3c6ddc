internal import Crawl
internal import Web

/// What the store keeps of how a site is prefetched, so that `larder update` does it in the same way. Nothing in it is
/// secret, and nothing is about one run alone.
struct SiteSettings: Sendable, Equatable {
    var scope = ScopeOptions()
    var robots = RobotsPolicy.obey
    var rules: [String] = []
    var guesses = true
    var nofollow: NofollowPolicy?
    var noindex = RobotsPolicy.ignore
    /// How many pages are wanted of the site.
    var maxPages: Int?
    /// What the last visit left out, by a limit or for a trap; nil when it left out nothing.
    var leftOut: LeftOut?

    init() {}

    init(_ options: PrefetchOptions) {
        scope = ScopeOptions(
            extent: ScopeOptions.Extent(rawValue: options.scope.extent.rawValue) ?? .host,
            include: options.scope.include, exclude: options.scope.exclude, depth: options.scope.depth)
        robots = options.robots ?? .obey
        rules = options.rules
        guesses = options.guesses
        nofollow = options.nofollow
        noindex = options.noindex ?? .ignore
        maxPages = options.limits.pages
    }

    /// What is missing, or of another kind than it should be, is as if nothing had been said.
    init(text: String) {
        guard let json = try? JSONValue.parse(text.utf8.span) else { return }
        func texts(_ key: String) -> [String] { json[key]?.array?.compactMap(\.string) ?? [] }
        scope = ScopeOptions(
            extent: json["scope"]?.string.flatMap(ScopeOptions.Extent.init) ?? .host, include: texts("include"),
            exclude: texts("exclude"), depth: json["depth"]?.int)
        robots = json["robots"]?.string.flatMap(RobotsPolicy.init) ?? .obey
        rules = texts("rules")
        guesses = json["guesses"]?.bool ?? true
        nofollow = json["nofollow"]?.string.flatMap(NofollowPolicy.init)
        noindex = json["noindex"]?.string.flatMap(RobotsPolicy.init) ?? .ignore
        maxPages = json["maxPages"]?.int
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
            if robots != .obey { object.member("robots", robots.rawValue) }
            if !rules.isEmpty { object.member("rules", rules) }
            if !guesses { object.member("guesses", guesses) }
            object.memberIfPresent("nofollow", nofollow?.rawValue)
            if noindex != .ignore { object.member("noindex", noindex.rawValue) }
            if let maxPages { object.member("maxPages", maxPages) }
            if let leftOut { object.member("leftOut") { leftOut.write(to: &$0) } }
        }
        return writer.text
    }

    func apply(to options: inout PrefetchOptions) {
        options.scope.extent = PrefetchScope.Extent(rawValue: scope.extent.rawValue) ?? .host
        options.scope.include = scope.include
        options.scope.exclude = scope.exclude
        options.scope.depth = scope.depth
        options.robots = options.robots ?? robots
        options.rules = rules
        options.guesses = guesses
        options.nofollow = options.nofollow ?? nofollow
        options.noindex = options.noindex ?? noindex
        options.limits.pages = options.limits.pages ?? maxPages
    }

    var manners: PageManners {
        let implied = robots == .obey ? NofollowPolicy.pages : .ignore
        return PageManners(
            nofollow: PageManners.Nofollow(rawValue: (nofollow ?? implied).rawValue) ?? .pages,
            obeysNoindex: noindex == .obey)
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
