internal import Check
internal import Reports
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
        try await reading("larder-rollback") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            let target =
                if let number {
                    try held.snapshot(SnapshotName(number)).id
                } else if held.overlay != nil, let published = held.published {
                    published
                } else {
                    try held.snapshot(before: held.published ?? .max).id
                }
            // A snapshot includes the responses of earlier ones that it did not replace.
            let upToIt = held.snapshots.filter { $0.id <= target }
            let name = held.name(ofSnapshot: target) ?? 0
            guard upToIt.contains(where: { $0.responseCount > 0 }) || upToIt.last?.id != target else {
                throw StoreError(
                    .request, doing: "roll back", path: held.name,
                    detail: "nothing of snapshot \(name) is stored any more",
                    advice: "see its snapshots with: larder snapshots")
            }
            try StoreWriter(reader.folder).publish(snapshot: target, of: held)
            return name.number
        }
    }

    /// The snapshots of a site, or of all sites.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if there is no store, or it
    ///   cannot be read.
    public func snapshots(of site: String? = nil) async throws(LarderError) -> SnapshotsReport {
        try await reading("larder-snapshots") { (reader) throws(StoreError) in
            let held = try reader.sites()
            let wanted =
                if let site { [try SiteName.site(site, in: held, acceptsOrigin: true)] } else { held }
            return SnapshotsReport(wanted, reader)
        }
    }

    /// Removes snapshots of a site. Content that later snapshots show stays; the next collection removes the rest.
    ///
    /// - Returns: The remaining snapshots of the site.
    /// - Throws: `LarderError` of kind `.input` if there is no such site or snapshot, or one of them is the live
    ///   snapshot, in which case none is removed; `.machine` if the store fails or the site is being prefetched.
    @discardableResult
    public func drop(
        _ names: [SnapshotName], of site: String, addsToLast: Bool = false
    ) async throws(LarderError) -> SnapshotsReport {
        try await reading("larder-drop") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            var dropped: Set<Int64> = []
            for name in names { dropped.insert(try held.snapshot(name).id) }
            let writer = try StoreWriter(reader.folder)
            // The live snapshot comes first, since its removal is refused: then nothing else has been removed.
            let live = dropped.filter { $0 == held.published }
            var addsToLast = addsToLast
            for snapshot in live + dropped.subtracting(live).sorted() {
                // The list of snapshots changes with each removal.
                try writer.drop(
                    snapshot: snapshot, of: SiteName.site(held.name, in: reader.sites()),
                    addsToLast: addsToLast)
                addsToLast = true
            }
            return SnapshotsReport(try reader.sites().filter { $0.id == held.id }, reader)
        }
    }

    /// The differences that readers see between two snapshots of a site: by default between the live snapshot and the
    /// one before it.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site or snapshot.
    public func difference(
        of site: String, from first: SnapshotName? = nil, to second: SnapshotName? = nil
    ) async throws(LarderError) -> DifferenceReport {
        try await reading("larder-diff") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites(), acceptsOrigin: true)
            let (from, to) = try held.snapshotsToCompare(from: first, to: second)
            return try DifferenceReport(of: held, from: from, to: to, reader)
        }
    }

    /// Compares the screenshots of a site's pages in two snapshots, if they were stored
    /// (`RenderSettings.takesPictures`). The snapshots are chosen as by `difference`. The portal shows the
    /// screenshots side by side.
    ///
    /// ```swift
    /// let report = try await larder.pictures(of: "https://example.com/")
    /// for page in report.differing { print(page.state, page.url) }
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site or snapshot.
    public func pictures(
        of site: String, from first: SnapshotName? = nil, to second: SnapshotName? = nil
    ) async throws(LarderError) -> PictureReport {
        try await reading("larder-diff") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites(), acceptsOrigin: true)
            let (from, to) = try held.snapshotsToCompare(from: first, to: second)
            return try PictureReport(of: held, from: from, to: to, reader)
        }
    }
}

extension Larder {
    /// The result of a removal.
    public enum Removal: Sendable, Equatable {
        /// A site with all its snapshots, by its name.
        case site(String)
        /// A number of URLs, from all snapshots.
        case urls(Int)
    }

    /// Removes a site with all its snapshots and the misses of its pages on its own origin, or the stored responses of
    /// one URL, or of the URLs that a pattern matches. The next collection frees their space. Removed URLs that a site
    /// needs are fetched by its next prefetch. `undoRemoval` reverses the last removal.
    ///
    /// - Parameters:
    ///   - what: the name of a site; a URL; or, with a star, a URL pattern as in rules.
    ///   - addsToLast: whether `undoRemoval` also reverses the previous removal.
    /// - Throws: `LarderError` of kind `.input` if nothing of it is stored, `.machine` if the store fails or another
    ///   process is writing to it.
    @discardableResult
    public func remove(_ what: String, addsToLast: Bool = false) async throws(LarderError) -> Removal {
        try await makingRoom("larder-remove") { (reader) throws(StoreError) in
            let sites = try reader.sites()
            let names = sites.map(\.name)
            // A host alone names too much to be removed.
            if let place = SiteName.exactPlace(of: what, among: names) {
                try StoreWriter(reader.folder).remove(sites[place], addsToLast: addsToLast)
                var others = sites
                let site = others.remove(at: place)
                try Self.forgetMisses(of: site, others, in: reader.folder)
                return .site(names[place])
            }
            let count: Int
            if what.utf8.contains(UInt8(ascii: "*")), let pattern = URLGlob(what) {
                count = try StoreWriter(reader.folder).remove(named: what, addsToLast: addsToLast) {
                    WebURL($0).map(pattern.matches) ?? false
                }
            } else if let url = try? WebURL.typed(what) {
                count = try StoreWriter(reader.folder).remove(named: what, addsToLast: addsToLast) {
                    $0 == url.href
                }
            } else {
                throw SiteName.notRemovable(what, among: names)
            }
            guard count > 0 else { throw SiteName.notRemovable(what, among: names) }
            return .urls(count)
        }
    }

    /// Reverses the last removal of sites, snapshots or URLs. Possible until the next collection, which frees the space.
    ///
    /// - Returns: The restored names: those of sites, those of snapshots such as `https://example.com/@3`, and the
    ///   texts by which URLs were named; and the number of their responses. Nil if there is nothing to undo.
    /// - Throws: `LarderError` of kind `.input` if a removed site was prefetched again.
    public func undoRemoval() async throws(LarderError) -> (names: [String], responses: Int)? {
        try await reading("larder-undo") { (reader) throws(StoreError) in
            try StoreWriter(reader.folder).undoRemoval().map { ($0.items.map(\.name), $0.responses) }
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
        let misses = try NoteBook.misses(in: folder).filter { miss in
            isOwn(miss.href) && (miss.referrer.map(isOwn) ?? false)
        }
        if !misses.isEmpty { try NoteBook.ifAny(folder)?.forget(misses: misses.map(\.href)) }
    }
}
