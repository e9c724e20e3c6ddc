package import Store

/// What the portal has counted, for as long as the store stays as it is. It belongs to one thread, as its
/// reader does.
final class PortalMemory {
    private weak var reader: StoreReader?
    private var version: Int64 = 0
    private var sites: [Site]?
    private var tallies: [Int64: VisitTally] = [:]
    private var types: [Int64: [TypeTally]] = [:]
    private var needs: [Int64: SiteNeeds] = [:]
    private let walk: SiteNeeds.Walk?

    init(walk: SiteNeeds.Walk? = nil) { self.walk = walk }

    /// Forgets what another store, or the store of before a change, had. To be called before each answer.
    func look(at reader: StoreReader) throws(StoreError) {
        let version = try reader.dataVersion()
        guard reader !== self.reader || version != self.version else { return }
        self.reader = reader
        self.version = version
        sites = nil
        tallies = [:]
        types = [:]
        needs = [:]
    }

    func sites(_ reader: StoreReader) throws(StoreError) -> [Site] {
        if let sites { return sites }
        let found = try reader.sites()
        sites = found
        return found
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
        guard limit > 0, let walk, let found = try walk(reader, site, limit) else { return nil }
        needs[site.id] = found
        return found
    }
}

/// What came of a walk over everything that a site's pages need, as `larder check --offline` makes it, but
/// for the digests of bodies.
package struct SiteNeeds: Sendable, Equatable {
    package struct Lack: Sendable, Equatable {
        package let href: String
        /// Why it counts as missing.
        package let reason: String
        /// What led there first; nil for a start.
        package let asker: String?

        package init(href: String, reason: String, asker: String?) {
            self.href = href
            self.reason = reason
            self.asker = asker
        }
    }

    package var missing: [Lack] = []
    /// What the user's own settings kept out.
    package var leftOut = 0
    /// How many addresses the walk came to.
    package var walked = 0

    package init() {}

    /// Makes the walk; nil where it comes to more addresses than `limit`, and where nobody can make it.
    package typealias Walk =
        @Sendable (_ reader: StoreReader, _ site: Site, _ limit: Int) throws(StoreError) ->
        SiteNeeds?
}
