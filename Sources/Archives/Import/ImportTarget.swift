internal import Store
internal import Web

/// The site that receives the responses of an import, and the URLs that belong to it.
struct ImportTarget {
    /// The name of the site.
    let name: String
    /// The URLs that the site starts with.
    let start: [String]
    /// The names of other stored sites by the hosts of their start URLs. An archive must not add responses
    /// for these hosts.
    let otherSitesByHost: [String: String]
    /// The hosts of the site's start URLs. A new site that the user did not name has none: an archive must not add
    /// responses for existing sites unless the user names one of them.
    let ownHosts: Set<String>
    /// Whether the user named a stored site. On its own hosts, imported responses then replace stored ones.
    private let isNamedSite: Bool
    /// The page that the user has saved in a browser; nil for other imports.
    private let savedPage: WebURL?

    /// Determines the site. If the user named none, an archive may only update a site that consists of earlier imports of
    /// the same files.
    ///
    /// - Parameters:
    ///   - name: the name that the user gave, or the page at which the archives start.
    ///   - start: the page at which the archives start; nil if they have none.
    ///   - archives: the paths of the archives.
    /// - Throws: an error of the kind `.input` if the archives start at a stored site that the user did not name.
    init(_ plan: ImportPlan, name: String, start: String?, archives: [String]) throws(ArchiveError) {
        let (reader, sites) = try ArchiveError.storing { () throws(StoreError) in
            let reader = try StoreReader(plan.folder)
            return (reader, try reader.sites())
        }
        var name = name
        if plan.isSavedPage {
            // A saved page does not replace a site that was fetched from its origin, but becomes another site.
            let stored = sites.first { $0.name == name }
            let isFetched = try ArchiveError.storing { () throws(StoreError) in
                try stored.map { (site) throws(StoreError) in
                    try reader.hasAnythingFromOrigin(site: site.id)
                } ?? false
            }
            if isFetched { name += " (saved)" }
        } else if plan.site == nil, let site = Self.site(of: sites, startingNear: name) {
            let isImport = try ArchiveError.storing { () throws(StoreError) in
                try Self.isImport(site, of: archives, reader)
            }
            guard isImport else {
                throw ArchiveError(
                    .input,
                    "\(plan.paths.joined(separator: ", ")) starts at \(name), which belongs to the stored site \(site.name); import it as a snapshot of that site",
                    remedy: .siteName(site.name)
                )
            }
            name = site.name
        }
        let stored = sites.first { $0.name == name }
        self.name = name
        let ownStarts: [String]
        if plan.isSavedPage {
            self.start = [start ?? name]
            ownStarts = self.start
        } else if let stored {
            self.start = stored.start
            ownStarts = stored.start
        } else {
            self.start = plan.start.isEmpty ? [start ?? name] : plan.start
            ownStarts = plan.site == nil ? [] : [name] + self.start
        }
        otherSitesByHost = Self.otherSitesByHost(of: sites, besides: name, at: ownStarts)
        ownHosts = Set(ownStarts.compactMap { WebURL($0)?.host })
        isNamedSite = plan.isSavedPage || stored != nil && plan.site != nil
        savedPage = plan.isSavedPage ? start.flatMap { WebURL($0) } : nil
    }

    /// Returns the names of the sites other than `name` by the hosts of their start URLs, without the hosts of the
    /// URLs in `own`. Ports are ignored: cookies do not distinguish them, and pages on other ports of a host are
    /// same-site.
    private static func otherSitesByHost(
        of sites: [Site], besides name: String, at own: [String]
    ) -> [String: String] {
        var otherSitesByHost: [String: String] = [:]
        for site in sites where site.name != name {
            for start in site.start.compactMap({ WebURL($0) }) { otherSitesByHost[start.host] = site.name }
        }
        for start in own.compactMap({ WebURL($0) }) { otherSitesByHost[start.host] = nil }
        return otherSitesByHost
    }

    /// Returns the stored site that has the page as its name or among its start pages, else one that starts on the
    /// same host.
    private static func site(of sites: [Site], startingNear page: String) -> Site? {
        let host = WebURL(page)?.host
        return sites.first { $0.name == page }
            ?? sites.first { $0.start.contains { WebURL($0)?.key.href == page } }
            ?? sites.first { site in host != nil && site.start.contains { WebURL($0)?.host == host } }
    }

    /// Whether no response of the site was fetched from its origin, and a snapshot of it was imported from the same
    /// files.
    private static func isImport(
        _ site: Site, of archives: [String], _ reader: StoreReader
    ) throws(StoreError) -> Bool {
        guard try !reader.hasAnythingFromOrigin(site: site.id) else { return false }
        for snapshot in site.snapshots where try reader.archives(ofSnapshot: snapshot.id) == archives {
            return true
        }
        return false
    }

    /// Whether an imported response for the URL replaces a stored one, which the user agreed to by naming the site.
    func replacesStored(_ url: WebURL) -> Bool { isNamedSite && ownHosts.contains(url.host) }

    /// Whether the browser that saved the page may have sent the user's cookies with the request: for documents, and
    /// for all URLs of the page's own registrable domain.
    func isPartOfSavedPage(_ url: WebURL, isPage: Bool) -> Bool {
        guard let savedPage else { return false }
        func site(_ host: String) -> String { PublicSuffixes.system.registrableDomain(of: host) ?? host }
        return isPage || site(url.host) == site(savedPage.host)
    }
}
