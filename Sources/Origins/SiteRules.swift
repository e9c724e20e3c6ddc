package import Web

/// The rules of users that override what origins say, by site.
package struct SiteRules {
    private var byHost: [String: [CacheRules.Rule]] = [:]
    private var all: [CacheRules.Rule] = []
    /// The rules from the server's options, which take precedence.
    private var own: [CacheRules.Rule] = []
    private var zones: [String: NetworkZone] = [:]
    /// The URLs of pages that are served as frozen copies.
    package private(set) var frozen: Set<String> = []
    /// The names and start URLs of the sites that start on a host.
    private var starts: [String: [(name: String, start: String)]] = [:]

    package init() {}

    /// The origins on a host at which sites start.
    package func startOrigins(onHost host: String) -> [String] {
        (starts[host] ?? []).compactMap { WebURL($0.start)?.origin }
    }

    /// Reads the rules from the settings of each site. Invalid rules, which were rejected when they were
    /// entered, are ignored.
    ///
    /// - Parameter importedSites: The names of sites that consist of imported responses only.
    package init(
        _ sites: [(name: String, start: [String], settings: String)], importedSites: Set<String> = [],
        own: [CacheRules.Rule] = []
    ) {
        self.own = own
        for site in sites {
            let settings = try? JSONValue.parse(site.settings.utf8.span)
            let texts = settings?["rules"]?.array?.compactMap(\.string) ?? []
            frozen.formUnion(settings?["frozen"]?.array?.compactMap(\.string) ?? [])
            let zone =
                importedSites.contains(site.name)
                ? .publicNetwork : settings?["zone"]?.string.flatMap { NetworkZone(name: $0) } ?? .thisMachine
            for host in site.start.compactMap({ WebURL($0)?.host }) {
                zones[host] = max(zone, zones[host] ?? .publicNetwork)
            }
            let rules = texts.compactMap { try? CacheRules.Rule($0) }
            all += rules
            for host in Set(site.start.compactMap { WebURL($0)?.host }) { byHost[host, default: []] += rules }
            for start in site.start {
                if let host = WebURL(start)?.host { starts[host, default: []].append((site.name, start)) }
            }
        }
    }

    /// The nearest network zone in which a user has named the host, by adding a site that starts there. Nil
    /// if no site does. An archive names no host for the user.
    package func namedZone(ofHost host: String) -> NetworkZone? { zones[host] }

    /// The name of the site whose next snapshot fetches a missed URL. This is the site on the URL's host
    /// whose start URL has the longest prefix in common with it. For an asset on another host, it is a site
    /// that starts on the host of the requesting page.
    package func site(bringing href: String, askedBy page: String?, isPage: Bool) -> String? {
        if let found = WebURL(href).flatMap({ starts[$0.host] }) {
            func common(_ start: String) -> Int { zip(start.utf8, href.utf8).prefix { $0 == $1 }.count }
            return found.max { common($0.start) < common($1.start) }?.name
        }
        guard !isPage else { return nil }
        return page.flatMap { WebURL($0) }.flatMap { starts[$0.host]?.first?.name }
    }

    /// The rules of the sites that start on the URL's host, or the rules of all sites if none starts there,
    /// because the pages of any site may use that host.
    package func rules(for url: WebURL) -> CacheRules {
        if all.isEmpty { return own.isEmpty ? CacheRules() : CacheRules(own) }
        let others = byHost[url.host] ?? all
        return CacheRules(own.isEmpty ? others : own + others)
    }
}
