internal import Crawl
internal import Digest
internal import Store
internal import Updates
internal import Web

/// Tells which stored site a URL belongs to, so that an update file of another site cannot replace it.
struct SiteOwners {
    private let reader: StoreReader?
    private let site: String
    /// The other sites by origin.
    private let otherSites: [String: [(name: String, isProtected: Bool)]]

    /// - Parameters:
    ///   - reader: nil if nothing is stored.
    ///   - site: the site whose update is applied.
    init(_ reader: StoreReader?, besides site: String) throws(StoreError) {
        (self.reader, self.site) = (reader, site)
        var otherSites: [String: [(name: String, isProtected: Bool)]] = [:]
        for other in try reader?.siteSettings() ?? [] where other.name != site {
            // A mirrored site has its origin to itself. Sites of manifests may share one, unless they require a signature.
            let manifest = SitePlan(text: other.settings).manifest
            let isProtected = manifest?.requiresSignature ?? true
            for origin in Set(([other.name] + other.start).compactMap { WebURL($0)?.origin }) {
                otherSites[origin, default: []].append((other.name, isProtected))
            }
        }
        self.otherSites = otherSites
    }

    /// Returns the other site to which a URL belongs. Nil if it belongs to none, or if that site has stored the same body.
    func owner(of url: WebURL, _ body: UpdateList.Blob?) throws(StoreError) -> String? {
        let isEqual = { (stored: StoredResponse) in
            stored.body != nil && stored.body?.sha256 == body?.sha256.bytes
        }
        let versions = try reader?.versions(of: url.key.href).filter { $0.site != site } ?? []
        if let other = versions.first(where: { !isEqual($0.response) }) { return other.site }
        guard versions.isEmpty else { return nil }
        return otherSites[url.origin]?.first(where: \.isProtected)?.name
    }
}
