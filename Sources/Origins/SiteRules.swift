package import Web

/// The settings of users that override what origins say: cache rules, frozen pages and network zones, by site.
///
/// A site's rules apply to the hosts on which it starts. Its pages also use other hosts, and which site a request
/// for those belongs to is unknown; so for hosts on which no site starts, the rules of all sites apply.
package struct SiteRules {
    /// The rules of sites, by the hosts on which they start.
    private var rulesByHost: [String: [CacheRules.Rule]] = [:]
    private var allSiteRules: [CacheRules.Rule] = []
    /// The rules from the server's options, which take precedence.
    private var serverRules: [CacheRules.Rule] = []
    /// The nearest network zone in which a user has named a host.
    private var zones: [String: NetworkZone] = [:]
    /// The URLs of pages that are served as frozen copies.
    package private(set) var frozen: Set<String> = []
    /// The URLs among these whose pages are served with their scripts and their recorded live messages instead.
    package private(set) var replayed: Set<String> = []
    /// The keys of the entries of `localStorage` without which pages start (`ScriptCopies`), by the origins of the pages.
    private var scriptCopyKeys: [String: Set<String>] = [:]
    /// The names and start URLs of the sites that start on a host.
    private var sitesByHost: [String: [(name: String, start: String)]] = [:]

    package init() {}

    /// The origins on a host at which sites start.
    package func startOrigins(onHost host: String) -> [String] {
        (sitesByHost[host] ?? []).compactMap { WebURL($0.start)?.origin }
    }

    /// Reads the rules from the settings of each site. Invalid rules, which were rejected when they were
    /// entered, are ignored.
    ///
    /// - Parameters:
    ///   - importedSites: The names of sites that consist of imported responses only.
    ///   - serverRules: The rules from the server's options.
    package init(
        _ sites: [(name: String, start: [String], settings: String)], importedSites: Set<String> = [],
        serverRules: [CacheRules.Rule] = []
    ) {
        self.serverRules = serverRules
        for site in sites {
            let settings = try? JSONValue.parse(site.settings.utf8.span)
            let texts = settings?["rules"]?.array?.compactMap(\.string) ?? []
            frozen.formUnion(settings?["frozen"]?.array?.compactMap(\.string) ?? [])
            replayed.formUnion(settings?["replayed"]?.array?.compactMap(\.string) ?? [])
            for copies in ScriptCopies.all(inSettings: settings) {
                scriptCopyKeys[copies.origin, default: []].formUnion(copies.keys)
            }
            let zone =
                importedSites.contains(site.name)
                ? .publicNetwork : settings?["zone"]?.string.flatMap { NetworkZone(name: $0) } ?? .thisMachine
            for host in site.start.compactMap({ WebURL($0)?.host }) {
                zones[host] = max(zone, zones[host] ?? .publicNetwork)
            }
            let rules = texts.compactMap { try? CacheRules.Rule($0) }
            allSiteRules += rules
            for host in Set(site.start.compactMap { WebURL($0)?.host }) {
                rulesByHost[host, default: []] += rules
            }
            for start in site.start {
                if let host = WebURL(start)?.host {
                    sitesByHost[host, default: []].append((site.name, start))
                }
            }
        }
    }

    /// The keys of the entries of `localStorage` without which the pages of an origin start (`ScriptCopies`), in order.
    package func scriptCopyKeys(ofOrigin origin: String) -> [String] {
        scriptCopyKeys[origin]?.sorted() ?? []
    }

    /// The nearest network zone in which a user has named the host, by adding a site that starts there. Nil if no
    /// site does. The hosts of an imported archive were not named by the user, so they count as public.
    package func namedZone(ofHost host: String) -> NetworkZone? { zones[host] }

    /// The name of the site whose next snapshot fetches a missed URL: of the sites on the URL's host, the nearest one. For
    /// an asset on another host, it is a site that starts on the host of the requesting page.
    package func site(fetching href: String, requestedBy page: String?, isPage: Bool) -> String? {
        if let starts = WebURL(href).flatMap({ sitesByHost[$0.host] }) {
            return NearestStart.index(of: starts.map(\.start), for: href).map { starts[$0].name }
        }
        guard !isPage else { return nil }
        return page.flatMap { WebURL($0) }.flatMap { sitesByHost[$0.host]?.first?.name }
    }

    /// The rules of the sites that start on the URL's host, or the rules of all sites if none starts there,
    /// because the pages of any site may use that host.
    package func rules(for url: WebURL) -> CacheRules {
        if allSiteRules.isEmpty { return serverRules.isEmpty ? CacheRules() : CacheRules(serverRules) }
        let siteRules = rulesByHost[url.host] ?? allSiteRules
        return CacheRules(serverRules.isEmpty ? siteRules : serverRules + siteRules)
    }
}
