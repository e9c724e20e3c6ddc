internal import Reports
internal import Search
package import Store
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
    /// The counts of snapshots, their media types, the icons of their sites, and their changes since the snapshots before.
    /// They stay when the store changes.
    private var tallies = KeyedFigures<SnapshotTally>()
    private var typeTallies = KeyedFigures<TypeTallies>()
    private var icons = KeyedFigures<IconURL>()
    private var changes = KeyedFigures<ChangesSinceEarlier>()
    /// Whether this answer has read the stored figures.
    private var hasReadFigures = false
    /// Computed figures that are not stored yet.
    private var unsavedFigures: [SnapshotFigure] = []
    /// The missing URLs of sites, by the ids of the sites.
    private var needs: [Int64: SiteNeeds] = [:]
    /// The newest snapshots with a screenshot of the start page, by the ids of the sites.
    private var pictures: [Int64: SnapshotName?] = [:]
    /// The last scheduled update of each site.
    private var knownAttempts: [String: UpdateAttempt]?
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
    private let isExcluded: URLExclusion?

    init(walk: SiteNeeds.Walk? = nil, isExcluded: URLExclusion? = nil) {
        (self.walk, self.isExcluded) = (walk, isExcluded)
    }

    /// The channels of apps. They are read again each time, since devices report at any time.
    func channels(_ reader: StoreReader, at now: HTTPDate) throws(StoreError) -> [ChannelReport] {
        try knownChannelReports(reader).all(at: now)
    }

    /// The updates that a device gets from each channel.
    func updates(
        ofDevice device: String, _ reader: StoreReader, at now: HTTPDate
    ) throws(StoreError) -> [DeviceUpdateReport] {
        try knownChannelReports(reader).updates(ofDevice: device, at: now)
    }

    private func knownChannelReports(_ reader: StoreReader) -> ChannelReports {
        let reports = channelReports ?? ChannelReports(reader.folder, failingFast: true)
        channelReports = reports
        return reports
    }

    /// Whether the store may have updates of apps.
    var hasChannels: Bool { reader.map { ChannelDatabase.mayExist(in: $0.folder) } ?? false }

    /// Drops the cache if the reader or the store has changed. Call it before each answer.
    func update(from reader: StoreReader) throws(StoreError) {
        // Other threads and schedulers write these without a change of the store.
        (knownAttempts, hasReadFigures) = (nil, false)
        let version = try reader.dataVersion()
        guard reader !== self.reader || version != self.version else { return }
        if reader !== self.reader { didReplaceReader() }
        self.reader = reader
        self.version = version
        sites = nil
        tallies.dropUnfinished()
        typeTallies.dropUnfinished()
        icons.dropUnfinished()
        changes.dropUnfinished()
        (needs, triedLimits) = ([:], [:])
        kindCounts = [:]
        (pictures, lastRead) = ([:], nil)
    }

    /// Drops what belongs to the earlier reader.
    private func didReplaceReader() {
        (searcher, channelReports) = (nil, nil)
        (tallies, typeTallies) = (KeyedFigures(), KeyedFigures())
        (icons, changes) = (KeyedFigures(), KeyedFigures())
        unsavedFigures = []
    }

    /// Reads the stored figures, which may be those of another server thread, once per answer.
    private func readFigures(_ reader: StoreReader) {
        // Stored figures count private responses too.
        guard !hasReadFigures, !reader.hidesPrivate else { return }
        hasReadFigures = true
        let stored = ActivityDatabase.figures(in: reader.folder)
        tallies.add(stored)
        typeTallies.add(stored)
        icons.add(stored)
        changes.add(stored)
    }

    /// Stores the figures that were computed since the last call. Call it after each answer.
    func saveFigures() {
        guard !unsavedFigures.isEmpty, let reader, let sites else { return }
        let snapshots = Set(sites.flatMap(\.snapshots).map(\.id))
        ActivityDatabase.store(unsavedFigures, keepingOnly: snapshots, in: reader.folder)
        unsavedFigures = []
    }

    /// Computes the figures of all sites that are not stored yet, and stores them. Returns early if `isStopped` says so.
    package static func computeFigures(in folder: StoreFolder, isStopped: () -> Bool) throws(StoreError) {
        let reader = try StoreReader(folder)
        let cache = PortalCache()
        try cache.update(from: reader)
        for site in try cache.sites(reader) {
            guard !isStopped() else { break }
            _ = try (
                cache.tallies(of: site, reader), cache.types(of: site, reader), cache.icon(of: site, reader)
            )
            _ = try cache.changeCounts(of: site, reader)
        }
        // The cache has only a weak reference to the reader.
        withExtendedLifetime(reader) { cache.saveFigures() }
    }

    /// Returns a figure of a snapshot, which is computed unless a valid one is known.
    private func figure<Figure>(
        _ figures: ReferenceWritableKeyPath<PortalCache, KeyedFigures<Figure>>, of snapshot: Snapshot,
        _ reader: StoreReader, isValid: (Figure) -> Bool = { _ in true },
        compute: () throws(StoreError) -> Figure
    ) throws(StoreError) -> Figure {
        if let known = self[keyPath: figures][snapshot], isValid(known) { return known }
        readFigures(reader)
        if let known = self[keyPath: figures][snapshot], isValid(known) { return known }
        let figure = try compute()
        self[keyPath: figures][snapshot] = figure
        if let key = snapshot.figureKey, !reader.hidesPrivate {
            unsavedFigures.append(
                SnapshotFigure(
                    of: snapshot.id, kind: Figure.kind, key: key, value: figure.members.text(.compact)))
        }
        return figure
    }

    /// The changes in the last snapshots of a site, by the id of the later snapshot.
    func changeCounts(
        of site: Site, _ reader: StoreReader
    ) throws(StoreError) -> [Int64: ChangesSinceEarlier] {
        var counts: [Int64: ChangesSinceEarlier] = [:]
        for (from, to) in SnapshotTimeline.pairs(of: site) {
            let earlier = "\(from.id) \(from.figureKey ?? "")"
            func isCurrent(_ known: ChangesSinceEarlier) -> Bool { known.earlier == earlier }
            let changes = try figure(\.changes, of: to, reader, isValid: isCurrent) { () throws(StoreError) in
                let report = try DiffReport(of: site, from: from, to: to, reader)
                return ChangesSinceEarlier(
                    earlier: earlier, added: report.added.count, changed: report.changed.count,
                    gone: report.gone.count, moved: report.moved.count)
            }
            counts[to.id] = changes
        }
        return counts
    }

    /// The URL of the icon of a site; nil if none is stored.
    func icon(of site: Site, _ reader: StoreReader) throws(StoreError) -> String? {
        guard let snapshot = SiteReport.shownSnapshot(of: site) else { return nil }
        return try figure(\.icons, of: snapshot, reader) { () throws(StoreError) in
            IconURL(try SiteIcon.find(of: site.start.first ?? site.name, reader))
        }.href
    }

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

    /// Whether the settings of a site exclude a URL, so that no update fetches it.
    func excludes(_ href: String, _ site: Site, isPage: Bool) -> Bool {
        guard let isExcluded, let url = WebURL(href) else { return false }
        return isExcluded(url, site, isPage)
    }

    /// The searcher, which stops when the current search is no longer wanted.
    func searcher(_ reader: StoreReader) -> Searcher {
        let known = searcher ?? Searcher(reader)
        known.isWanted = isSearchWanted
        searcher = known
        return known
    }

    /// The counts of a snapshot, based on its first `PortalLimits.maxCountedResponses` responses.
    func tally(of snapshot: Snapshot, _ reader: StoreReader) throws(StoreError) -> SnapshotTally {
        try figure(\.tallies, of: snapshot, reader) { () throws(StoreError) in
            try reader.tally(ofSnapshot: snapshot.id, limit: PortalLimits.maxCountedResponses)
        }
    }

    /// The counts of the snapshots that the timeline of a site counts, by their ids.
    func tallies(of site: Site, _ reader: StoreReader) throws(StoreError) -> [Int64: SnapshotTally] {
        var tallies: [Int64: SnapshotTally] = [:]
        for snapshot in SnapshotTimeline.countedSnapshots(of: site) {
            tallies[snapshot.id] = try tally(of: snapshot, reader)
        }
        return tallies
    }

    /// The media types in the shown snapshot of a site, with the same limit.
    func types(of site: Site, _ reader: StoreReader) throws(StoreError) -> [TypeTally] {
        guard let snapshot = SiteReport.shownSnapshot(of: site) else { return [] }
        return try figure(\.typeTallies, of: snapshot, reader) { () throws(StoreError) in
            TypeTallies(
                try reader.types(ofSnapshot: snapshot.id, limit: PortalLimits.maxCountedResponses))
        }.types
    }

    /// The missing URLs of a site; nil if the walk would exceed `limit` URLs.
    func needs(of site: Site, limit: Int, _ reader: StoreReader) throws(StoreError) -> SiteNeeds? {
        if let known = needs[site.id] { return known }
        // Nearly all responses of a snapshot are reached by its links.
        let count = SiteReport.shownSnapshot(of: site)?.responseCount ?? 0
        guard limit > triedLimits[site.id] ?? 0, count <= limit, let walk else { return nil }
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
        let tally = try shown.map { (snapshot) throws(StoreError) in try self.tally(of: snapshot, reader) }
        return try SiteReport(
            site, tally: tally ?? SnapshotTally(), needs: needs(of: site, limit: limit, reader),
            attempt: attempts(reader)[site.name], reader)
    }

    /// The last scheduled update of each site.
    private func attempts(_ reader: StoreReader) throws(StoreError) -> [String: UpdateAttempt] {
        if let knownAttempts { return knownAttempts }
        let read = ActivityDatabase.attempts(reader.folder, for: try sites(reader))
        knownAttempts = read
        return read
    }
}
