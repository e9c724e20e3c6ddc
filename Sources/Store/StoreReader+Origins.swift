package import Database
internal import Web

/// The hosts and domains that stored responses came from, as opposed to imported ones. Valid for one version
/// of the store.
struct OriginHosts {
    let version: Int64
    /// The registrable domains in which the sites with such responses start.
    let domains: Set<String>
    /// The results for the hosts that were looked up, at most `maxHosts`.
    var hosts: [String: Bool] = [:]

    static let maxHosts = 10_000
}

extension StoreReader {
    /// Whether a stored response came from a server of this host, or a site with such responses starts in the
    /// host's registrable domain. Imported documents are not shown on such a host, because they could use the
    /// origin's cookies, storage and private responses.
    package func hasResponsesFromOrigin(host: String) throws(StoreError) -> Bool {
        let version = try dataVersion()
        if originHosts?.version != version { originHosts = try knownOrigins(version) }
        if originHosts?.domains.contains(Self.domain(of: host)) == true { return true }
        if let known = originHosts?.hosts[host] { return known }
        let isKnown = try hasResponse(fromHost: host)
        if originHosts?.hosts.count ?? 0 >= OriginHosts.maxHosts { originHosts?.hosts = [:] }
        originHosts?.hosts[host] = isKnown
        return isKnown
    }

    /// Whether all responses in the store are imported.
    package func hasImportsOnly() throws(StoreError) -> Bool {
        let version = try dataVersion()
        if originHosts?.version != version { originHosts = try knownOrigins(version) }
        return originHosts?.domains.isEmpty == true
    }

    private func knownOrigins(_ version: Int64) throws(StoreError) -> OriginHosts {
        var sites: [(id: Int64, start: String)] = []
        try prepare("SELECT id, start FROM site").each { sites.append(($0.integer(0), $0.text(1))) }
        var domains: Set<String> = []
        for site in sites where try hasAnythingFromOrigin(site: site.id) {
            for start in site.start.split(separator: "\n") {
                if let url = WebURL(String(start)) { domains.insert(Self.domain(of: url.host)) }
            }
        }
        return OriginHosts(version: version, domains: domains)
    }

    private static func domain(of host: String) -> String {
        PublicSuffixes.system.registrableDomain(of: host) ?? host
    }

    private func hasResponse(fromHost host: String) throws(StoreError) -> Bool {
        for table in hidesPrivate ? ["response", "hidden_response"] : ["response"] {
            let find = try prepare(
                """
                SELECT 1 FROM url CROSS JOIN \(table) AS own ON own.url = url.id
                WHERE url.href >= ? AND url.href < ? AND NOT \(Provenance.isImported("own")) LIMIT 1
                """)
            for scheme in ["https", "http"] {
                for (start, end) in [("/", Self.afterSlash), (":", Self.afterColon)] {
                    let place = "\(scheme)://\(host)"
                    if try find.first(.text(place + start), .text(place + end), read: { _ in true }) == true {
                        return true
                    }
                }
            }
        }
        return false
    }
}
