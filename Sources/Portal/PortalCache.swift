internal import Reports
internal import Search
internal import Store

/// Caches what the portal's pages count, until the store changes. It belongs to the thread of its reader.
package final class PortalCache {
    private weak var reader: StoreReader?
    private var version: Int64 = 0
    private var sites: [Site]?
    private var tallies: [Int64: SnapshotTally] = [:]
    private var typeTallies: [Int64: [TypeTally]] = [:]
    private var needs: [Int64: SiteNeeds] = [:]
    /// For sites that were too large to walk: the highest limit that was tried.
    private var triedLimits: [Int64: Int] = [:]
    /// Counts for the metrics.
    var kindCounts: [Int64: [(String, Int)]] = [:]
    private var searcher: Searcher?
    /// Whether a client still waits for the search.
    var isSearchWanted: () -> Bool = { true }
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

    func sites(_ reader: StoreReader) throws(StoreError) -> [Site] {
        if let sites { return sites }
        let read = try reader.sites()
        sites = read
        return read
    }

    func searcher(_ reader: StoreReader) -> Searcher {
        let known = searcher ?? Searcher(reader)
        known.isWanted = isSearchWanted
        searcher = known
        return known
    }

    func tally(ofSnapshot snapshot: Int64, _ reader: StoreReader) throws(StoreError) -> SnapshotTally {
        if let tally = tallies[snapshot] { return tally }
        let tally = try reader.tally(ofSnapshot: snapshot, limit: PortalLimits.maxCountedResponses)
        tallies[snapshot] = tally
        return tally
    }

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
