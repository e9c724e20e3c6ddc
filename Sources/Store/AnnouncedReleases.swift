internal import Database
internal import Web

/// The releases that a channel of an app announces, or could announce again by a roll-back. Their files must stay stored.
///
/// The store does not interpret the states of channels. It only searches them for the URLs of files, so that it never loses
/// a release because a later version of Larder wrote the state.
package struct AnnouncedReleases: Sendable {
    /// The names of the channels, by the names of the apps.
    package private(set) var channels: [String: [String]] = [:]
    private var urls: Set<String> = []
    private var bases: Set<String> = []
    /// The apps with a damaged channel. All of their releases count as announced.
    private var damagedApps: Set<String> = []
    /// Whether there are channels, or were. If their database is lost, all releases count as announced.
    private var hasDatabase = false

    package init(in folder: StoreFolder) throws(StoreError) {
        guard let database = try ChannelDatabase.openIfExists(folder) else { return }
        hasDatabase = true
        for row in try database.channels() {
            channels[row.key.app, default: []].append(row.key.channel)
            guard let state = try? JSONValue.parse(row.state.utf8.span) else {
                damagedApps.insert(row.key.app)
                continue
            }
            addURLs(in: state)
        }
    }

    private mutating func addURLs(in value: JSONValue) {
        if let href = value.string, let url = AppURL(href) {
            urls.insert(href)
            bases.insert(url.base)
        }
        for element in value.array ?? [] { addURLs(in: element) }
        for member in value.members ?? [] { addURLs(in: member.value) }
    }

    /// Whether a URL belongs to a file of an announced release.
    package func contains(_ href: String) -> Bool {
        guard let url = AppURL(href) else { return false }
        return !hasDatabase || bases.contains(url.base) || damagedApps.contains(url.app)
    }

    /// The URLs of an app's files that channels name, and the beginnings of the URLs of its releases, both in alphabetical order.
    package func files(ofApp app: String) -> (urls: [String], bases: [String]) {
        let start = AppURL.base(ofApp: app)
        return (urls.filter { $0.hasPrefix(start) }.sorted(), bases.filter { $0.hasPrefix(start) }.sorted())
    }
}

extension StoreWriter {
    /// Removes the releases of apps that no channel announces any more, except pinned ones. Returns the number of snapshots that
    /// are gone with them.
    ///
    /// The caller has the store for itself. A publisher writes to the store until its release is announced, so that no release
    /// is between the two steps now.
    func removeUnannouncedReleases() throws(StoreError) -> Int {
        let reader = try StoreReader(folder)
        let pins = PinSet(try reader.pins())
        let locked = try sitesLockedByOthers()
        let sites = try reader.sites().filter {
            AppURL.app(ofSite: $0.name) != nil && !pins.contains(site: $0.name) && !locked.contains($0.id)
        }
        guard !sites.isEmpty else { return 0 }
        let announced = try AnnouncedReleases(in: folder)
        var removed = 0
        for site in sites {
            var urls: [Int64] = []
            try eachRow(
                """
                SELECT DISTINCT url.id, url.href FROM url JOIN response ON response.url = url.id
                JOIN snapshot ON snapshot.id = response.snapshot WHERE snapshot.site = ?
                """, .integer(site.id)
            ) { row in
                let href = row.text(1)
                if AppURL(href) != nil, !announced.contains(href), !pins.contains(url: href) {
                    urls.append(row.integer(0))
                }
            }
            guard !urls.isEmpty else { continue }
            isJournalStale = true
            try withSiteLock(site, doing: "collect") { () throws(StoreError) in
                try removeResponses(ofURLs: urls, of: site)
                removed += try removeEmptySnapshots(of: site)
            }
        }
        return removed
    }

    private func removeResponses(ofURLs urls: [Int64], of site: Site) throws(StoreError) {
        let delete = try prepare(
            "DELETE FROM response WHERE url = ? AND snapshot IN (SELECT id FROM snapshot WHERE site = ?)")
        for url in urls { try delete.run(.integer(url), .integer(site.id)) }
        try deleteCounts()
    }

    /// Removes the snapshots of a site that have no responses, except the live one; the whole site if it has no responses. Returns
    /// their number.
    private func removeEmptySnapshots(of site: Site) throws(StoreError) -> Int {
        var empty: [Int64] = []
        try eachRow(
            """
            SELECT id FROM snapshot WHERE site = ? AND NOT EXISTS (
                SELECT 1 FROM response WHERE response.snapshot = snapshot.id) ORDER BY id
            """, .integer(site.id)
        ) { empty.append($0.integer(0)) }
        guard empty.count < site.snapshots.count else {
            try removeRows(of: site)
            return empty.count
        }
        let live = try liveSnapshot(of: site.id)
        for snapshot in empty where snapshot != live { try deleteSnapshot(snapshot) }
        return empty.count { $0 != live }
    }
}
