internal import Check
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Serves another visit of a site from now on: the one that is named, else the complete one before the
    /// one that is served; where servers loaded something on top of that, the same without it.
    ///
    /// - Returns: The number of the visit that is served now.
    /// - Throws: `LarderError` of kind `.input` when there is no such site or visit, `.machine` when the
    ///   store fails or the site is being prefetched.
    @discardableResult
    public func rollBack(_ site: String, to visit: Int64? = nil) async throws(LarderError) -> Int64 {
        try await reading("larder-rollback") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            let target =
                if let visit { visit } else if held.overlay != nil, let published = held.published {
                    published
                } else {
                    try held.visit(before: held.published ?? .max).id
                }
            // A visit shows what its site has up to it.
            let upToIt = held.visits.filter { $0.id <= target }
            guard upToIt.contains(where: { $0.responseCount > 0 }) || upToIt.last?.id != target else {
                throw StoreError(
                    .request, doing: "roll back", path: held.name,
                    detail: "nothing of visit \(target) is held any more",
                    advice: "see its visits with: larder visits")
            }
            try StoreWriter(reader.folder).publish(visit: target, of: held)
            return target
        }
    }

    /// The visits of a site, or of all.
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when there is no
    ///   larder, or it cannot be read.
    public func visits(of site: String? = nil) async throws(LarderError) -> VisitsReport {
        try await reading("larder-visits") { (reader) throws(StoreError) in
            let held = try reader.sites()
            let wanted = if let site { [try SiteName.site(site, in: held)] } else { held }
            return VisitsReport(wanted, reader)
        }
    }

    /// Drops visits of a site. What later ones show stays; what only these have is removed by the next
    /// collection.
    ///
    /// - Returns: What the site has left.
    /// - Throws: `LarderError` of kind `.input` when there is no such site or visit, or when the visit is the
    ///   one that is served, and then nothing is dropped; `.machine` when the store fails or the site is
    ///   being prefetched.
    @discardableResult
    public func drop(_ visits: [Int64], of site: String) async throws(LarderError) -> VisitsReport {
        try await reading("larder-drop") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            for visit in visits { _ = try held.visit(visit) }
            let writer = try StoreWriter(reader.folder)
            // The served one comes first, since it is refused: then nothing has gone.
            let served = Set(visits).filter { $0 == held.published }
            for visit in served + Set(visits).subtracting(served).sorted() {
                // What the site has changes with each that goes.
                try writer.drop(visit: visit, of: SiteName.site(held.name, in: reader.sites()))
            }
            return VisitsReport(try reader.sites().filter { $0.id == held.id }, reader)
        }
    }

    /// What readers see differently of a site in one visit and in another: as a rule the one before the
    /// served one, and the served one.
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such site or visit.
    public func difference(
        of site: String, from first: Int64? = nil, to second: Int64? = nil
    ) async throws(LarderError) -> DifferenceReport {
        try await reading("larder-diff") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            let (from, to) = try held.visitsToCompare(from: first, to: second)
            return try DifferenceReport(of: held, from: from, to: to, reader)
        }
    }

    /// How pages of a site looked in a visit and in a later one, where a browser kept pictures of them
    /// (`RenderSettings.takesPictures`); the visits are those that `difference` compares. A server's portal
    /// shows them side by side.
    ///
    ///     let report = try await larder.pictures(of: "https://example.com/")
    ///     for page in report.differing { print(page.state, page.url) }
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such site or visit.
    public func pictures(
        of site: String, from first: Int64? = nil, to second: Int64? = nil
    ) async throws(LarderError) -> PictureReport {
        try await reading("larder-diff") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            let (from, to) = try held.visitsToCompare(from: first, to: second)
            return try PictureReport(of: held, from: from, to: to, reader)
        }
    }
}

extension Larder {
    /// What was removed.
    public enum Removal: Sendable, Equatable {
        /// A site with all its visits: its name.
        case site(String)
        /// So many URLs, out of all visits.
        case urls(Int)
    }

    /// Removes a site with all its visits, or what is held under a URL, or under those that a pattern
    /// matches. The room comes back with the next collection; what a site's pages lead to is fetched again at
    /// its next prefetch.
    ///
    /// - Parameter what: what names a site is that site; what contains a star is a pattern of URLs, as rules
    ///   have them.
    /// - Throws: `LarderError` of kind `.input` when nothing of it is held, `.machine` when the store fails
    ///   or somebody writes to it.
    @discardableResult
    public func remove(_ what: String) async throws(LarderError) -> Removal {
        try await makingRoom("larder-remove") { (reader) throws(StoreError) in
            let sites = try reader.sites()
            let names = sites.map(\.name)
            if let place = SiteName.place(of: what, among: names) {
                try StoreWriter(reader.folder).remove(sites[place])
                return .site(names[place])
            }
            let count: Int
            if what.utf8.contains(UInt8(ascii: "*")), let pattern = URLGlob(what) {
                count = try StoreWriter(reader.folder).remove { WebURL($0).map(pattern.matches) ?? false }
            } else if let url = try? WebURL.typed(what) {
                count = try StoreWriter(reader.folder).remove { $0 == url.href }
            } else {
                throw SiteName.unknown(what, among: names)
            }
            guard count > 0 else { throw SiteName.unknown(what, among: names) }
            return .urls(count)
        }
    }
}
