internal import Reports
internal import Search
internal import Store

/// What the portal has counted, for as long as the store stays as it is. It belongs to one thread, as its
/// reader does.
final class PortalMemory {
    private weak var reader: StoreReader?
    private var version: Int64 = 0
    private var sites: [Site]?
    private var tallies: [Int64: VisitTally] = [:]
    private var types: [Int64: [TypeTally]] = [:]
    private var needs: [Int64: SiteNeeds] = [:]
    /// Of sites that have more addresses, the most that was allowed.
    private var limits: [Int64: Int] = [:]
    /// Of the metrics.
    var counts: [Int64: [(String, Int)]] = [:]
    private var searcher: Searcher?
    /// Whether somebody still waits for what is searched for.
    var isWanted: () -> Bool = { true }
    private let walk: SiteNeeds.Walk?

    init(walk: SiteNeeds.Walk? = nil) { self.walk = walk }

    /// Forgets what another store, or the store of before a change, had. To be called before each answer.
    func look(at reader: StoreReader) throws(StoreError) {
        let version = try reader.dataVersion()
        guard reader !== self.reader || version != self.version else { return }
        if reader !== self.reader { searcher = nil }
        self.reader = reader
        self.version = version
        sites = nil
        tallies = [:]
        types = [:]
        (needs, limits) = ([:], [:])
        counts = [:]
    }

    func sites(_ reader: StoreReader) throws(StoreError) -> [Site] {
        if let sites { return sites }
        let found = try reader.sites()
        sites = found
        return found
    }

    func searcher(_ reader: StoreReader) -> Searcher {
        let known = searcher ?? Searcher(reader)
        known.isWanted = isWanted
        searcher = known
        return known
    }

    func tally(ofVisit visit: Int64, _ reader: StoreReader) throws(StoreError) -> VisitTally {
        if let tally = tallies[visit] { return tally }
        let tally = try reader.tally(ofVisit: visit, limit: PortalLimits.counted)
        tallies[visit] = tally
        return tally
    }

    func types(ofVisit visit: Int64, _ reader: StoreReader) throws(StoreError) -> [TypeTally] {
        if let known = types[visit] { return known }
        let found = try reader.types(ofVisit: visit, limit: PortalLimits.counted)
        types[visit] = found
        return found
    }

    /// What is missing of a site; nil where the walk would come to more addresses than `limit`.
    func needs(of site: Site, limit: Int, _ reader: StoreReader) throws(StoreError) -> SiteNeeds? {
        if let known = needs[site.id] { return known }
        guard limit > limits[site.id] ?? 0, let walk else { return nil }
        let found = try walk(reader, site, limit)
        (needs[site.id], limits[site.id]) = (found, found == nil ? limit : nil)
        return found
    }

    /// - Parameter limit: how many addresses may be walked over.
    func report(
        on site: Site, limit: Int = PortalLimits.neededURLs, _ reader: StoreReader
    ) throws(StoreError) -> SiteReport {
        let shown = SiteReport.shownVisit(of: site)
        let tally = try shown.map { (visit) throws(StoreError) in try self.tally(ofVisit: visit.id, reader) }
        return try SiteReport(
            site, tally: tally ?? VisitTally(), needs: needs(of: site, limit: limit, reader), reader)
    }
}
