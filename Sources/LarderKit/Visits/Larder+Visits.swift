internal import Store

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
                let held = try Self.site(named: site, in: StoreReader(folder).sites())
                let target =
                    if let visit { visit } else if held.overlay != nil, let published = held.published {
                        published
                    } else {
                        try Self.visitBefore(of: held)
                    }
                try StoreWriter(folder).publish(visit: target, of: held)
                return target
            } catch {
                throw LarderError(lookingUp: error)
            }
        }
    }

    /// The visits of a site, or of all.
    ///
    /// - Throws: `LarderError` of kind `.input` when there is no such site, `.machine` when there is no larder, or it cannot
    ///   be read.
    public func visits(of site: String? = nil) async throws(LarderError) -> VisitsReport {
        let folder = folder
        return try await Self.onThread("larder-visits") { () throws(LarderError) in
            do throws(StoreError) {
                let held = try StoreReader(folder).sites()
                let wanted = if let site { [try Self.site(named: site, in: held)] } else { held }
                return VisitsReport(sites: wanted.map(StatusReport.Site.init))
            } catch {
                throw LarderError(lookingUp: error)
            }
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
                let held = try Self.site(named: site, in: reader.sites())
                for visit in visits where !held.visits.contains(where: { $0.id == visit }) {
                    throw Self.noVisit(visit, of: held)
                }
                let writer = try StoreWriter(folder)
                // The served one comes first, since it is refused: then nothing has gone.
                let served = Set(visits).filter { $0 == held.published }
                for visit in served + Set(visits).subtracting(served).sorted() {
                    // What the site has changes with each that goes.
                    try writer.drop(visit: visit, of: Self.site(named: held.name, in: reader.sites()))
                }
                return VisitsReport(sites: try reader.sites().filter { $0.id == held.id }.map(StatusReport.Site.init))
            } catch {
                throw LarderError(lookingUp: error)
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
        let folder = folder
        return try await Self.onThread("larder-diff") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                let held = try Self.site(named: site, in: reader.sites())
                guard let to = second ?? held.overlay ?? held.published ?? held.visits.last?.id else {
                    throw Self.noVisit(1, of: held)
                }
                let from = if let first { first } else { try Self.visitBefore(of: held, than: to) }
                for visit in [from, to] where !held.visits.contains(where: { $0.id == visit }) {
                    throw Self.noVisit(visit, of: held)
                }
                return DifferenceReport(
                    site: held.name, from: from, to: to, try reader.difference(from: from, to: to))
            } catch {
                throw LarderError(lookingUp: error)
            }
        }
    }

    static func site(named text: String, in sites: [Site]) throws(StoreError) -> Site {
        let names = sites.map(\.name)
        guard let place = SiteName.place(of: text, among: names) else {
            throw SiteName.unknown(text, among: names)
        }
        return sites[place]
    }

    private static func visitBefore(of site: Site, than visit: Int64? = nil) throws(StoreError) -> Int64 {
        let bound = visit ?? site.published ?? .max
        guard let before = site.visits.last(where: { $0.id < bound && $0.finished != nil && $0.base == nil }) else {
            throw StoreError(
                .unusable, doing: "find an earlier visit of", path: site.name, detail: "there is none that is complete",
                advice: "see its visits with: larder visits")
        }
        return before.id
    }

    private static func noVisit(_ visit: Int64, of site: Site) -> StoreError {
        StoreError(
            .unusable, doing: "find a visit of", path: site.name, detail: "it has no visit \(visit)",
            advice: "see its visits with: larder visits")
    }
}

extension LarderError {
    /// What was asked for is not there, which is the asker's to mend; all else is the machine's.
    init(lookingUp error: StoreError) {
        self.init(error.reason == .unusable ? .input : .machine, error.description)
    }
}
