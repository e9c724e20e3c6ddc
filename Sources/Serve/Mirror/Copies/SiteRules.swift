internal import Store
internal import Web

/// What the users want otherwise than servers say, site by site.
struct SiteRules {
    private var byHost: [String: [CacheRules.Rule]] = [:]
    private var all: [CacheRules.Rule] = []
    /// The server's own, which count first.
    private var own: [CacheRules.Rule] = []

    init() {}

    /// Reads the rules that each site's settings hold. What is no rule was refused when it was given, and is passed over.
    init(_ sites: [(name: String, start: [String], settings: String)], own: [CacheRules.Rule] = []) {
        self.own = own
        for site in sites {
            let texts = (try? JSONValue.parse(site.settings.utf8.span))?["rules"]?.array?.compactMap(\.string) ?? []
            let rules = texts.compactMap { try? CacheRules.Rule($0) }
            all += rules
            for host in Set(site.start.compactMap { WebURL($0)?.host }) { byHost[host, default: []] += rules }
        }
    }

    /// Whether some site starts there: the user named it.
    func knows(host: String) -> Bool { byHost[host] != nil }

    /// Those of the sites that start on the URL's host; where no site does, everybody's: their pages ask for it.
    func rules(for url: WebURL) -> CacheRules {
        own.isEmpty && all.isEmpty ? CacheRules() : CacheRules(own + (byHost[url.host] ?? all))
    }
}
