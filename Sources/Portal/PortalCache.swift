internal import Reports
internal import Search
internal import Store

/// The sites, counts and reports that pages of the portal show. They are computed once per version of the store, since
/// counting a large snapshot takes long.
///
/// Not thread-safe: it belongs to the thread of its reader. Call `update` before each answer.
package final class PortalCache {
    /// The reader of the cached values. Weak: the thread owns it and may replace it.
    private weak var reader: StoreReader?
    /// The `dataVersion` of the cached values.
    private var version: Int64 = 0
    private var sites: [Site]?
    /// The counts of snapshots, by their ids.
    private var tallies: [Int64: SnapshotTally] = [:]
    private var typeTallies: [Int64: [TypeTally]] = [:]
    /// The missing URLs of sites, by the ids of the sites.
    private var needs: [Int64: SiteNeeds] = [:]
    /// For sites that were too large to walk: the highest limit that was tried. A walk with the same limit would fail again.
    private var triedLimits: [Int64: Int] = [:]
    /// The numbers of responses of each kind for the metrics, by the ids of snapshots.
    var kindCounts: [Int64: [(String, Int)]] = [:]
    /// The searcher of the reader. It stays when only the store's content changes.
    private var searcher: Searcher?
    /// Whether a client still waits for the search.
    var isSearchWanted: () -> Bool = { true }
    /// Finds the missing URLs of a site; nil if pages are shown without them.
    private let walk: SiteNeeds.Walk?

    init(walk: SiteNeeds.Walk? = nil) { self.walk = walk }

    /// Drops the cache if the reader or the store has changed. Call it before each answer.
    func update(from reader: StoreReader) throws(StoreError) {
        let version = try reader.dataVersion()
        guard reader !== self.reader || version != self.version else { return }
        if reader !== self.reader { searcher = nil }
        self.reader = reader
        self.version = version
        sites = nil
        tallies = [:]
        typeTallies = [:]
        (needs, triedLimits) = ([:], [:])
        kindCounts = [:]
    }

    /// All sites of the store.
    func sites(_ reader: StoreReader) throws(StoreError) -> [Site] {
        if let sites { return sites }
        let read = try reader.sites()
        sites = read
        return read
    }

    /// The searcher, which stops when the current search is no longer wanted.
    func searcher(_ reader: StoreReader) -> Searcher {
        let known = searcher ?? Searcher(reader)
        known.isWanted = isSearchWanted
        searcher = known
        return known
    }

    /// The counts of a snapshot, based on its first `PortalLimits.maxCountedResponses` responses.
    func tally(ofSnapshot snapshot: Int64, _ reader: StoreReader) throws(StoreError) -> SnapshotTally {
        if let tally = tallies[snapshot] { return tally }
        let tally = try reader.tally(ofSnapshot: snapshot, limit: PortalLimits.maxCountedResponses)
        tallies[snapshot] = tally
        return tally
    }

    /// The media types in a snapshot, with the same limit.
    func types(ofSnapshot snapshot: Int64, _ reader: StoreReader) throws(StoreError) -> [TypeTally] {
        if let known = typeTallies[snapshot] { return known }
        let read = try reader.types(ofSnapshot: snapshot, limit: PortalLimits.maxCountedResponses)
        typeTallies[snapshot] = read
        return read
    }

    /// The missing URLs of a site; nil if the walk would exceed `limit` URLs.
    func needs(of site: Site, limit: Int, _ reader: StoreReader) throws(StoreError) -> SiteNeeds? {
        if let known = needs[site.id] { return known }
        guard limit > triedLimits[site.id] ?? 0, let walk else { return nil }
        let found = try walk(reader, site, limit)
        (needs[site.id], triedLimits[site.id]) = (found, found == nil ? limit : nil)
        return found
    }

    /// The report on a site, with cached counts.
    ///
    /// - Parameter limit: the maximum number of URLs to walk to find missing ones. Beyond it, they are left out.
    func report(
        on site: Site, limit: Int = PortalLimits.maxMissingWalkURLs, _ reader: StoreReader
    ) throws(StoreError) -> SiteReport {
        let shown = SiteReport.shownSnapshot(of: site)
        let tally = try shown.map { (snapshot) throws(StoreError) in
            try self.tally(ofSnapshot: snapshot.id, reader)
        }
        return try SiteReport(
            site, tally: tally ?? SnapshotTally(), needs: needs(of: site, limit: limit, reader), reader)
    }
}
