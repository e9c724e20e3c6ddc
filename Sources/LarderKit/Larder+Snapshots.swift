internal import Check
internal import Reports
internal import Search
public import Store
internal import Web

extension Larder {
    /// Makes another snapshot of a site live. If the live snapshot has an overlay and no number is given, only
    /// removes the overlay.
    ///
    /// - Parameter number: the snapshot; nil for the last complete one before the live snapshot.
    /// - Returns: The number of the snapshot that is live now.
    /// - Throws: `LarderError` of kind `.input` if there is no such site or snapshot, `.machine` if the store fails
    ///   or the site is being prefetched.
    @discardableResult
    public func rollBack(_ site: String, to number: Int64? = nil) async throws(LarderError) -> Int64 {
        try await readStore("larder-rollback") { (reader) throws(StoreError) in
            let storedSite = try SiteName.site(site, in: reader.sites())
            if let app = AppURL.app(ofSite: storedSite.name) {
                throw StoreError(
                    .request, doing: "roll back", path: storedSite.name,
                    detail: "devices get the releases that channels announce, whatever snapshot is live",
                    advice: "roll back a channel of \(app)", remedy: .rollBackChannel(app: app))
            }
            let target =
                if let number {
                    try storedSite.snapshot(SnapshotName(number)).id
                } else if storedSite.overlay != nil, let published = storedSite.published {
                    published
                } else {
                    try storedSite.snapshot(before: storedSite.published ?? .max).id
                }
            // A snapshot includes the responses of earlier ones that it did not replace.
            let snapshotsUpToTarget = storedSite.snapshots.filter { $0.id <= target }
            let name = storedSite.name(ofSnapshot: target) ?? 0
            guard
                snapshotsUpToTarget.contains(where: { $0.responseCount > 0 })
                    || snapshotsUpToTarget.last?.id != target
            else {
                throw StoreError(
                    .request, doing: "roll back", path: storedSite.name,
                    detail: "nothing of snapshot \(name) is stored any more",
                    advice: "see its snapshots with: larder snapshots")
            }
            try StoreWriter(reader.folder).publish(snapshot: target, of: storedSite)
            return name.number
        }
    }

    /// The snapshots of a site, or of all sites.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if there is no store, or it
    ///   cannot be read.
    public func snapshots(of site: String? = nil) async throws(LarderError) -> SnapshotsReport {
        try await readStore("larder-snapshots") { (reader) throws(StoreError) in
            let allSites = try reader.sites()
            let wanted =
                if let site { [try SiteName.site(site, in: allSites, acceptsOrigin: true)] } else { allSites }
            return SnapshotsReport(wanted, reader)
        }
    }

    /// Removes snapshots of a site. Content that later snapshots show stays; the next collection removes the rest.
    ///
    /// - Returns: The remaining snapshots of the site.
    /// - Throws: `LarderError` of kind `.input` if there is no such site or snapshot, or one of them is the live
    ///   snapshot, in which case none is removed; `.machine` if the store fails or the site is being prefetched.
    @discardableResult
    public func removeSnapshots(
        _ names: [SnapshotName], of site: String
    ) async throws(LarderError) -> SnapshotsReport {
        try await readStore("larder-drop") { (reader) throws(StoreError) in
            let storedSite = try SiteName.site(site, in: reader.sites())
            var dropped: Set<Int64> = []
            for name in names { dropped.insert(try storedSite.snapshot(name).id) }
            let writer = try StoreWriter(removingFrom: reader.folder)
            // The live snapshot comes first, since its removal is refused: then nothing else has been removed.
            let live = dropped.filter { $0 == storedSite.published }
            var joinsLastRemoval = false
            for snapshot in live + dropped.subtracting(live).sorted() {
                // The list of snapshots changes with each removal.
                try writer.drop(
                    snapshot: snapshot, of: SiteName.site(storedSite.name, in: reader.sites()),
                    joinsLastRemoval: joinsLastRemoval)
                joinsLastRemoval = true
            }
            return SnapshotsReport(try reader.sites().filter { $0.id == storedSite.id }, reader)
        }
    }

    /// Compares two snapshots of a site: which URLs were added, changed, moved or are gone. By default the live snapshot is
    /// compared with the one before it.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site or snapshot.
    public func diff(
        of site: String, from first: SnapshotName? = nil, to second: SnapshotName? = nil
    ) async throws(LarderError) -> DiffReport {
        try await readStore("larder-diff") { (reader) throws(StoreError) in
            let storedSite = try SiteName.site(site, in: reader.sites(), acceptsOrigin: true)
            let (from, to) = try storedSite.snapshotsToCompare(from: first, to: second)
            return try DiffReport(of: storedSite, from: from, to: to, reader)
        }
    }

    /// Compares the text of one page in two snapshots of its site. The snapshots are chosen as by `diff`. If several
    /// sites have stored the page, the first of them by name that has these snapshots is used.
    ///
    /// - Throws: `LarderError` of kind `.input` if the page is not stored, or its site has no such snapshots.
    public func pageDiff(
        of page: String, from first: SnapshotName? = nil, to second: SnapshotName? = nil
    ) async throws(LarderError) -> PageDiffReport {
        let href = (try? WebURL.parseUserInput(page))?.key.href ?? page
        return try await readStore("larder-diff") { (reader) throws(StoreError) in
            let owners = Set(try reader.versions(of: href).map(\.site))
            var failure = StoreError(
                .request, doing: "compare", path: href, detail: "it is not stored",
                advice: "list the stored URLs with: larder list")
            for site in try reader.sites() where owners.contains(site.name) {
                do throws(StoreError) {
                    let (from, to) = try site.snapshotsToCompare(from: first, to: second)
                    if let report = try PageDiffReport(of: href, site, from: from, to: to, reader) {
                        return report
                    }
                    failure = StoreError(
                        .request, doing: "compare", path: href,
                        detail: "neither snapshot \(from.name) nor snapshot \(to.name) has it",
                        advice: "see its copies with: larder show \(href)")
                } catch  where error.reason == .request {
                    failure = error
                }
            }
            throw failure
        }
    }

    /// Compares the screenshots of a site's pages in two snapshots, if they were stored
    /// (`RenderSettings.takesPictures`). The snapshots are chosen as by `diff`. The portal shows the
    /// screenshots side by side.
    ///
    /// ```swift
    /// let report = try await larder.screenshotDifferences(of: "https://example.com/")
    /// for page in report.differing { print(page.state, page.url) }
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site or snapshot.
    public func screenshotDifferences(
        of site: String, from first: SnapshotName? = nil, to second: SnapshotName? = nil
    ) async throws(LarderError) -> ScreenshotReport {
        try await readStore("larder-diff") { (reader) throws(StoreError) in
            let storedSite = try SiteName.site(site, in: reader.sites(), acceptsOrigin: true)
            let (from, to) = try storedSite.snapshotsToCompare(from: first, to: second)
            return try ScreenshotReport(of: storedSite, from: from, to: to, reader)
        }
    }
}

extension Larder {
    /// The result of a removal.
    public enum Removal: Sendable, Equatable {
        /// A site with all its snapshots, by its name.
        case site(String)
        /// A snapshot of a site.
        case snapshot(SnapshotName, of: String)
        /// A number of URLs, from all snapshots, and the text that names them.
        case urls(Int, named: String)
    }

    /// Removes sites with all their snapshots and the misses of their pages on their own origins, single snapshots, or
    /// the stored responses of URLs; or nothing, if one of the texts names nothing that can be removed. The next
    /// collection frees their space. Removed URLs that a site needs are fetched by its next prefetch. `undoRemoval`
    /// reverses the whole removal.
    ///
    /// - Parameter texts: names of sites; snapshots, such as `https://example.com/@3`; URLs; and, with a star, URL
    ///   patterns as in rules.
    /// - Returns: What each text named, in the same order. A text that names a part of another one has no result.
    /// - Throws: `LarderError` of kind `.input` if nothing of a text is stored, `.machine` if the store fails or another
    ///   process is writing to it.
    @discardableResult
    public func remove(_ texts: [String]) async throws(LarderError) -> [Removal] {
        try await withFreedSpace("larder-remove") { (reader) throws(StoreError) in
            let writer = try StoreWriter(removingFrom: reader.folder)
            let releases = try AnnouncedReleases(in: reader.folder)
            var targets: [RemovalTarget] = []
            for text in texts {
                let target = try RemovalTarget(text, reader.sites(), writer)
                try target.requireNotAnnounced(releases, writer)
                if !targets.contains(where: { $0.includes(target) }) { targets.append(target) }
            }
            var removals: [Removal] = []
            for target in targets
            where !targets.contains(where: { $0.name != target.name && $0.includes(target) }) {
                removals.append(try target.remove(by: writer, reader, joinsLastRemoval: !removals.isEmpty))
            }
            return removals
        }
    }

    /// Removes one site, snapshot or URL, or the URLs that a pattern matches (`remove(_:)` for several texts).
    @discardableResult
    public func remove(_ what: String) async throws(LarderError) -> Removal {
        // A text that names something has a result.
        try await remove([what]).first ?? .urls(0, named: what)
    }

    /// Reverses the last removal of sites, snapshots or URLs. Possible until the next collection, which frees the space.
    ///
    /// - Returns: The restored names: those of sites, those of snapshots such as `https://example.com/@3`, and the
    ///   texts by which URLs were named; and the number of their responses. Nil if there is nothing to undo.
    /// - Throws: `LarderError` of kind `.input` if a removed site was prefetched again.
    public func undoRemoval() async throws(LarderError) -> (names: [String], responses: Int)? {
        try await readStore("larder-undo") { (reader) throws(StoreError) in
            try StoreWriter(reader.folder).undoRemoval().map { ($0.items.map(\.name), $0.responses) }
        }
    }

}

/// Something stored that can be removed.
private enum RemovalTarget {
    case site(Site)
    case snapshot(SnapshotName, id: Int64, of: Site)
    case urls(named: String, addresses: (String) -> Bool)

    /// - Throws: `StoreError` for the reason `.request` if nothing of it is stored, or it cannot be removed.
    init(_ text: String, _ sites: [Site], _ writer: StoreWriter) throws(StoreError) {
        let names = sites.map(\.name)
        // A host alone names too much to be removed.
        if let place = SiteName.exactIndex(of: text, among: names) {
            try writer.requireNotLocked(sites[place])
            self = .site(sites[place])
            return
        }
        if case (let name, let snapshot?) = SiteName.split(text, among: names) {
            let site = try SiteName.site(name, in: sites)
            let id = try site.snapshot(snapshot).id
            if id == site.published { throw site.liveSnapshotRemovalError(live: id) }
            try writer.requireNotLocked(site)
            self = .snapshot(snapshot, id: id, of: site)
            return
        }
        if text.utf8.contains(UInt8(ascii: "*")), let pattern = URLGlob(text) {
            self = .urls(named: text) { WebURL($0).map(pattern.matches) ?? false }
        } else if let url = try? WebURL.parseUserInput(text) {
            self = .urls(named: text) { $0 == url.href }
        } else {
            throw SiteName.notRemovableError(text, among: names)
        }
        guard case .urls(_, let isMeant) = self, try writer.hasRemovableURL(where: isMeant) else {
            throw SiteName.notRemovableError(text, among: names)
        }
    }

    /// Throws if devices get files that would be removed. The files of a snapshot stay in the next one.
    func requireNotAnnounced(_ releases: AnnouncedReleases, _ writer: StoreWriter) throws(StoreError) {
        let app: String?
        switch self {
        case .site(let site): app = AppURL.app(ofSite: site.name)
        case .snapshot: return
        case .urls(_, let isMeant):
            var found: String?
            _ = try writer.hasRemovableURL { href in
                guard isMeant(href), releases.contains(href) else { return false }
                found = AppURL(href)?.app
                return true
            }
            app = found
        }
        guard let app, let channel = releases.channels[app]?.first else { return }
        throw StoreError(
            .request, doing: "remove", path: name,
            detail: "devices get its files from the channel \(channel)",
            advice: "remove the channel of \(app) first",
            remedy: .removeChannel(app: app, channel: channel))
    }

    var name: String {
        switch self {
        case .site(let site): site.name
        case .snapshot(let snapshot, _, let site): "\(site.name)@\(snapshot)"
        case .urls(let name, _): name
        }
    }

    /// Whether the removal of this one removes the other one, too.
    func includes(_ other: RemovalTarget) -> Bool {
        if name == other.name { return true }
        if case (.site(let site), .snapshot(_, _, let owner)) = (self, other) { return site.id == owner.id }
        return false
    }

    func remove(
        by writer: StoreWriter, _ reader: StoreReader, joinsLastRemoval: Bool
    ) throws(StoreError) -> Larder.Removal {
        switch self {
        case .site(let site):
            try writer.remove(site, joinsLastRemoval: joinsLastRemoval)
            try Self.forgetMisses(of: site, try reader.sites().filter { $0.id != site.id }, in: reader.folder)
            return .site(site.name)
        case .snapshot(let name, let id, let site):
            // The list of snapshots changes with each removal.
            try writer.drop(
                snapshot: id, of: SiteName.site(site.name, in: reader.sites()),
                joinsLastRemoval: joinsLastRemoval)
            return .snapshot(name, of: site.name)
        case .urls(let name, let isMeant):
            return .urls(
                try writer.remove(urlsNamed: name, joinsLastRemoval: joinsLastRemoval, where: isMeant),
                named: name)
        }
    }

    /// Removes the misses on the origins where a site starts that its own pages caused, unless another site starts
    /// on the same origin.
    private static func forgetMisses(
        of site: Site, _ others: [Site], in folder: StoreFolder
    ) throws(StoreError) {
        func origins(_ site: Site) -> [String] { site.start.compactMap { WebURL($0)?.origin } }
        let own = Set(origins(site)).subtracting(others.flatMap(origins))
        func isOwn(_ href: String) -> Bool { WebURL(href).map { own.contains($0.origin) } ?? false }
        let misses = try ActivityDatabase.misses(in: folder).filter { miss in
            isOwn(miss.href) && (miss.referrer.map(isOwn) ?? false)
        }
        if !misses.isEmpty { try ActivityDatabase.openIfExists(folder)?.deleteMisses(at: misses.map(\.href)) }
    }
}
