internal import Store
internal import Web

/// What the users want otherwise than servers say, site by site.
struct SiteRules {
    private var byHost: [String: [CacheRules.Rule]] = [:]
    private var all: [CacheRules.Rule] = []
    /// The server's own, which count first.
    private var own: [CacheRules.Rule] = []
    /// Of the sites that start on a host, their names and where they start.
    private var starts: [String: [(name: String, start: String)]] = [:]

    init() {}

    /// Reads the rules that each site's settings hold. What is no rule was refused when it was given, and is passed over.
    init(_ sites: [(name: String, start: [String], settings: String)], own: [CacheRules.Rule] = []) {
        self.own = own
        for site in sites {
            let texts = (try? JSONValue.parse(site.settings.utf8.span))?["rules"]?.array?.compactMap(\.string) ?? []
            let rules = texts.compactMap { try? CacheRules.Rule($0) }
            all += rules
            for host in Set(site.start.compactMap { WebURL($0)?.host }) { byHost[host, default: []] += rules }
            for start in site.start {
                if let host = WebURL(start)?.host { starts[host, default: []].append((site.name, start)) }
            }
        }
    }

    /// Whether some site starts there: the user named it.
    func knows(host: String) -> Bool { byHost[host] != nil }

    /// The site whose next visit fetches what was missed there: one that starts on its host, of several the one whose start it
    /// has most in common with; what pages need, that of the page that asked.
    func site(bringing href: String, askedBy page: String?, isPage: Bool) -> String? {
        if let found = WebURL(href).flatMap({ starts[$0.host] }) {
            func common(_ start: String) -> Int { zip(start.utf8, href.utf8).prefix { $0 == $1 }.count }
            return found.max { common($0.start) < common($1.start) }?.name
        }
        guard !isPage else { return nil }
        return page.flatMap { WebURL($0) }.flatMap { starts[$0.host]?.first?.name }
    }

    /// Those of the sites that start on the URL's host; where no site does, everybody's: their pages ask for it.
    func rules(for url: WebURL) -> CacheRules {
        own.isEmpty && all.isEmpty ? CacheRules() : CacheRules(own + (byHost[url.host] ?? all))
    }
}
