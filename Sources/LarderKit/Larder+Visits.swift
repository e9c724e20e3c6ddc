internal import Check
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Serves another visit of a site from now on: the one that is named, else the complete one before the one that is served;
    /// where servers loaded something on top of that, the same without it.
    ///
    /// - Returns: The number of the visit that is served now.
    /// - Throws: `LarderError` of kind `.input` when there is no such site or visit, `.machine` when the store fails or the
    ///   site is being prefetched.
    @discardableResult
    public func rollBack(_ site: String, to visit: Int64? = nil) async throws(LarderError) -> Int64 {
        let folder = folder
        return try await Self.onThread("larder-rollback") { () throws(LarderError) in
            do throws(StoreError) {
                let held = try SiteName.site(site, in: StoreReader(folder).sites())
                let target =
                    if let visit { visit } else if held.overlay != nil, let published = held.published {
                        published
                    } else {
                        try Self.visitBefore(of: held)
                    }
                try StoreWriter(folder).publish(visit: target, of: held)
                return target
            } catch {
                throw LarderError(error)
            }
        }
    }

    /// The visits of a site, or of all.
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when there is no larder, or it cannot
    ///   be read.
    public func visits(of site: String? = nil) async throws(LarderError) -> VisitsReport {
        try await reading("larder-visits") { (reader) throws(StoreError) in
            let held = try reader.sites()
            let wanted = if let site { [try SiteName.site(site, in: held)] } else { held }
            return VisitsReport(sites: wanted.map(StatusReport.Site.init))
        }
    }

    /// Drops visits of a site. What later ones show stays; what only these have is removed by the next collection.
    ///
    /// - Returns: What the site has left.
    /// - Throws: `LarderError` of kind `.input` when there is no such site or visit, or when the visit is the one that is
    ///   served, and then nothing is dropped; `.machine` when the store fails or the site is being prefetched.
    @discardableResult
    public func drop(_ visits: [Int64], of site: String) async throws(LarderError) -> VisitsReport {
        let folder = folder
        return try await Self.onThread("larder-drop") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                let held = try SiteName.site(site, in: reader.sites())
                for visit in visits where !held.visits.contains(where: { $0.id == visit }) {
                    throw Self.noVisit(visit, of: held)
                }
                let writer = try StoreWriter(folder)
                // The served one comes first, since it is refused: then nothing has gone.
                let served = Set(visits).filter { $0 == held.published }
                for visit in served + Set(visits).subtracting(served).sorted() {
                    // What the site has changes with each that goes.
                    try writer.drop(visit: visit, of: SiteName.site(held.name, in: reader.sites()))
                }
                return VisitsReport(sites: try reader.sites().filter { $0.id == held.id }.map(StatusReport.Site.init))
            } catch {
                throw LarderError(error)
            }
        }
    }

    /// What readers see differently of a site in one visit and in another: as a rule the one before the served one, and
    /// the served one.
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such site or visit.
    public func difference(
        of site: String, from first: Int64? = nil, to second: Int64? = nil
    ) async throws(LarderError) -> DifferenceReport {
        return try await reading("larder-diff") { (reader) throws(StoreError) in
            let held = try SiteName.site(site, in: reader.sites())
            guard let to = second ?? held.overlay ?? held.published ?? held.visits.last?.id else {
                throw Self.noVisit(1, of: held)
            }
            let from = if let first { first } else { try Self.visitBefore(of: held, than: to) }
            for visit in [from, to] where !held.visits.contains(where: { $0.id == visit }) {
                throw Self.noVisit(visit, of: held)
            }
            return DifferenceReport(
                site: held.name, from: from, to: to, try reader.difference(from: from, to: to))
        }
    }

    private static func visitBefore(of site: Site, than visit: Int64? = nil) throws(StoreError) -> Int64 {
        let bound = visit ?? site.published ?? .max
        guard let before = site.visits.last(where: { $0.id < bound && $0.finished != nil && $0.base == nil }) else {
            throw StoreError(
                .request, doing: "find an earlier visit of", path: site.name, detail: "there is none that is complete",
                advice: "see its visits with: larder visits")
        }
        return before.id
    }

    private static func noVisit(_ visit: Int64, of site: Site) -> StoreError {
        StoreError(
            .request, doing: "find a visit of", path: site.name, detail: "it has no visit \(visit)",
            advice: "see its visits with: larder visits")
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

    /// Removes a site with all its visits, or what is held under a URL, or under those that a pattern matches. The room comes
    /// back with the next collection; what a site's pages lead to is fetched again at its next prefetch.
    ///
    /// - Parameter what: what names a site is that site; what contains a star is a pattern of URLs, as rules have them.
    /// - Throws: `LarderError` of kind `.input` when nothing of it is held, `.machine` when the store fails or somebody writes to
    ///   it.
    @discardableResult
    public func remove(_ what: String) async throws(LarderError) -> Removal {
        let folder = folder
        return try await Self.onThread("larder-remove") { () throws(LarderError) in
            do throws(StoreError) {
                let sites = try StoreReader(folder).sites()
                let names = sites.map(\.name)
                if let place = SiteName.place(of: what, among: names) {
                    try StoreWriter(folder).remove(sites[place])
                    return .site(names[place])
                }
                let count: Int
                if what.utf8.contains(UInt8(ascii: "*")), let pattern = URLGlob(what) {
                    count = try StoreWriter(folder).remove { WebURL($0).map(pattern.matches) ?? false }
                } else if let url = try? Self.startURL(what) {
                    count = try StoreWriter(folder).remove { $0 == url.href }
                } else {
                    throw SiteName.unknown(what, among: names)
                }
                guard count > 0 else { throw SiteName.unknown(what, among: names) }
                return .urls(count)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

/// The visits of sites.
public struct VisitsReport: Sendable, Equatable {
    public let sites: [StatusReport.Site]

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("sites") { list in
                list.array { array in for site in sites { site.write(to: &array) } }
            }
        }
        return writer.text
    }
}

/// What changed of a site from one visit to another, as its readers see it.
public struct DifferenceReport: Sendable, Equatable {
    public let site: String
    public let from: Int64
    public let to: Int64
    public let added: [String]
    /// The body is another one.
    public let changed: [String]
    /// The origin says that it is gone.
    public let gone: [String]
    public let moved: [Move]

    /// What was at one address is, byte for byte, at another.
    public struct Move: Sendable, Equatable {
        public let from: String
        public let to: String
    }

    public var isEmpty: Bool { added.isEmpty && changed.isEmpty && gone.isEmpty && moved.isEmpty }

    init(site: String, from: Int64, to: Int64, _ difference: VisitDifference) {
        self.site = site
        self.from = from
        self.to = to
        added = difference.added
        changed = difference.changed
        gone = difference.gone
        moved = difference.moved.map { Move(from: $0.from, to: $0.to) }
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("site", site)
            object.member("from", from)
            object.member("to", to)
            object.member("added", added)
            object.member("changed", changed)
            object.member("gone", gone)
            object.member("moved") { list in
                list.array { array in
                    for move in moved {
                        array.object { object in
                            object.member("from", move.from)
                            object.member("to", move.to)
                        }
                    }
                }
            }
        }
        return writer.text
    }
}
