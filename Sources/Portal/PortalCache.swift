internal import Reports
internal import Search
internal import Store
internal import Web

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
    /// The icons of sites, by the ids of the site and its shown snapshot; nil for a site without one. They stay when the
    /// store changes, since finding them reads start pages.
    private var icons: [[Int64]: StoredBody?] = [:]
    /// The newest snapshots with a screenshot of the start page, by the ids of the sites.
    private var pictures: [Int64: SnapshotName?] = [:]
    /// The changes between snapshots, by the ids of the earlier and the later snapshot.
    private var changeCounts: [[Int64]: SnapshotTimeline.ChangeCounts] = [:]
    /// The pages that were read last, and when they were looked up, in seconds since 1970.
    private var lastRead: (pages: [StoreReader.ReadPage], at: Int64)?
    /// For sites that were too large to walk: the highest limit that was tried. A walk with the same limit would fail again.
    private var triedLimits: [Int64: Int] = [:]
    /// The numbers of responses of each kind for the metrics, by the ids of snapshots.
    var kindCounts: [Int64: [(String, Int)]] = [:]
    /// Reads the channels of apps.
    private var channelReports: ChannelReports?
    /// The searcher of the reader. It stays when only the store's content changes.
    private var searcher: Searcher?
    /// Whether a client still waits for the search.
    var isSearchWanted: () -> Bool = { true }
    /// Finds the missing URLs of a site; nil if pages are shown without them.
    private let walk: SiteNeeds.Walk?

    init(walk: SiteNeeds.Walk? = nil) { self.walk = walk }

    /// The channels of apps. They are read again each time, since devices report at any time.
    func channels(_ reader: StoreReader, at now: HTTPDate) throws(StoreError) -> [ChannelReport] {
        let reports = channelReports ?? ChannelReports(reader.folder, failingFast: true)
        channelReports = reports
        return try reports.all(at: now)
    }

    /// Whether the store may have updates of apps.
    var hasChannels: Bool { reader.map { ChannelDatabase.mayExist(in: $0.folder) } ?? false }

    /// Drops the cache if the reader or the store has changed. Call it before each answer.
    func update(from reader: StoreReader) throws(StoreError) {
        let version = try reader.dataVersion()
        guard reader !== self.reader || version != self.version else { return }
        if reader !== self.reader { (searcher, icons, channelReports) = (nil, [:], nil) }
        self.reader = reader
        self.version = version
        sites = nil
        tallies = [:]
        typeTallies = [:]
        (needs, triedLimits) = ([:], [:])
        kindCounts = [:]
        (pictures, changeCounts, lastRead) = ([:], [:], nil)
        if icons.count > Self.maxIcons { icons = [:] }
    }

    /// The changes in the last snapshots of a site, by the id of the later snapshot.
    func changeCounts(
        of site: Site, _ reader: StoreReader
    ) throws(StoreError) -> [Int64: SnapshotTimeline.ChangeCounts] {
        var counts: [Int64: SnapshotTimeline.ChangeCounts] = [:]
        for (from, to) in SnapshotTimeline.pairs(of: site) {
            let key = [from.id, to.id]
            if let known = changeCounts[key] {
                counts[to.id] = known
                continue
            }
            let report = try DifferenceReport(of: site, from: from, to: to, reader)
            counts[to.id] = SnapshotTimeline.ChangeCounts(report)
            changeCounts[key] = counts[to.id]
        }
        return counts
    }

    /// The icon of a site; nil if none is stored.
    func icon(of site: SiteReport, _ reader: StoreReader) throws(StoreError) -> StoredBody? {
        let key = [site.id, site.shown?.id ?? 0]
        if let known = icons[key] { return known }
        let icon = try SiteIcon.find(of: site.start, reader)
        icons[key] = .some(icon)
        return icon
    }

    private static let maxIcons = 2_000

    /// The newest complete snapshot with a screenshot of the start page; nil if there is none. Older ones than the last
    /// `maxPictureSnapshots` are not searched.
    func picture(of site: Site, start: String, _ reader: StoreReader) throws(StoreError) -> SnapshotName? {
        if let known = pictures[site.id] { return known }
        var found: SnapshotName?
        let complete = site.snapshots.filter { $0.finished != nil && $0.base == nil }
        for snapshot in complete.suffix(Self.maxPictureSnapshots).reversed() where found == nil {
            if try reader.screenshot(of: start, in: snapshot.id) != nil { found = snapshot.name }
        }
        pictures[site.id] = .some(found)
        return found
    }

    private static let maxPictureSnapshots = 5

    /// The pages that were read last. Servers record them once a minute, so that they are looked up again only after
    /// `secondsBetweenReads`.
    func lastReadPages(now: Int64, _ reader: StoreReader) throws(StoreError) -> [StoreReader.ReadPage] {
        if let lastRead, now - lastRead.at < Self.secondsBetweenReads { return lastRead.pages }
        let pages = try reader.lastReadPages(atMost: PortalLimits.maxRecentPages)
        lastRead = (pages, now)
        return pages
    }

    private static let secondsBetweenReads: Int64 = 10

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
