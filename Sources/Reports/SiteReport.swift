public import Store
package import Web

/// What a larder holds.
public struct StatusReport: Sendable, Equatable {
    public let path: String
    public let sites: [Site]
    public let responses: Int
    public let pages: Int
    public let requisites: Int
    /// What the origins said is gone.
    public let tombstones: Int
    public let bodies: Int
    /// The bodies' bytes, each body counted once however many URLs share it.
    public let byteCount: Int64

    public struct Site: Sendable, Equatable {
        /// The URL that names it.
        public let name: String
        public let start: [String]
        /// Oldest first.
        public let visits: [Visit]
        /// The visit that is served; nil when none was complete yet.
        public let published: Int64?
        /// What servers loaded, which is served on top of it; nil when they loaded nothing since.
        public let overlay: Int64?
        /// How often it is updated by itself; nil for never.
        public let schedule: UpdateSchedule?
        /// When that is due, in seconds since 1970; 0 for at once.
        public let next: Int64?
    }

    public struct Visit: Sendable, Equatable {
        public let number: Int64
        /// Seconds since 1970.
        public let started: Int64
        /// Nil for one that was interrupted, or that runs just now.
        public let finished: Int64?
        /// It was never served, since what came was not to be: a login, less than half of the site, bundles that do not
        /// verify.
        public let isHeldBack: Bool
        /// The visit over which it lies; nil for a prefetch run.
        public let base: Int64?
        public let responses: Int

        /// When it began, in universal time: `2026-01-31T12:00:00Z`.
        public var startDate: String { Wording.date(started) }
    }

    /// - Parameter path: as whoever asks names the larder.
    package init(_ reader: StoreReader, path: String) throws(StoreError) {
        let summary = try reader.summary()
        self.path = path
        let sites = try reader.sites()
        let attempts = NoteBook.attempts(reader.folder, for: sites)
        self.sites = sites.map { Site($0, attempts[$0.name]) }
        responses = summary.responses
        pages = summary.pages
        requisites = summary.requisites
        tombstones = summary.tombstones
        bodies = summary.bodies
        byteCount = summary.bytes
    }

    /// The report for programs.
    public var json: String { members.text() }
}

/// The visits of sites.
public struct VisitsReport: Sendable, Equatable {
    public let sites: [StatusReport.Site]

    package init(_ sites: [Site], _ reader: StoreReader) {
        let attempts = NoteBook.attempts(reader.folder, for: sites)
        self.sites = sites.map { StatusReport.Site($0, attempts[$0.name]) }
    }

    /// The report for programs.
    public var json: String { members.text() }
}

extension StatusReport.Site {
    /// - Parameter attempt: the last update that was begun by itself.
    package init(_ site: Site, _ attempt: UpdateAttempt?) {
        schedule = site.schedule
        next = site.nextUpdate(after: attempt)
        name = site.name
        start = site.start
        visits = site.visits.map(StatusReport.Visit.init)
        published = site.published
        overlay = site.overlay
    }

    /// What became of one of the site's visits.
    package enum VisitState: Sendable, Equatable {
        case served
        /// By a server.
        case loaded(over: Int64, isServed: Bool)
        case unfinished
        /// It was never served, since what came was not to be.
        case heldBack
        /// For a roll-back.
        case kept
    }

    package func state(of visit: StatusReport.Visit) -> VisitState {
        if let base = visit.base { return .loaded(over: base, isServed: visit.number == overlay) }
        if visit.number == published { return .served }
        return visit.finished == nil ? .unfinished : visit.isHeldBack ? .heldBack : .kept
    }
}

extension StatusReport.Visit {
    package init(_ visit: Visit) {
        number = visit.id
        started = visit.started
        finished = visit.finished
        isHeldBack = visit.isHeldBack
        base = visit.base
        responses = visit.responseCount
    }
}

extension StatusReport: JSONObject {
    package var members: JSONMembers {
        [
            "store": path, "sites": sites, "responses": responses, "pages": pages, "requisites": requisites,
            "tombstones": tombstones, "bodies": bodies, "bytes": byteCount,
        ]
    }
}

extension VisitsReport: JSONObject {
    package var members: JSONMembers { ["sites": sites] }
}

extension StatusReport.Site: JSONObject {
    package var members: JSONMembers { nameMembers + ["visits": visits] }

    /// All but the visits.
    package var nameMembers: JSONMembers {
        [
            "name": name, "start": start, "published": published, "overlay": overlay,
            "schedule": schedule?.text, "next": next,
        ]
    }
}

extension StatusReport.Visit: JSONObject {
    package var members: JSONMembers {
        [
            "number": number, "started": started, "finished": finished,
            "heldBack": IfAny(isHeldBack ? true : nil), "base": base, "responses": responses,
        ]
    }
}

/// A site with how much it has, and whether it has all that its pages need.
package struct SiteReport: Sendable {
    /// The store's number of it.
    package let id: Int64
    package let site: StatusReport.Site
    /// The start page's, where it has one.
    package let title: String
    /// The visit that readers see; nil when there is none yet.
    package let shown: StatusReport.Visit?
    package let tally: VisitTally
    /// Nil where nobody looked whether all that its pages need is there.
    package let needs: SiteNeeds?

    /// - Parameters:
    ///   - tally: of what `shownVisit(of:)` gives.
    ///   - needs: nil where nobody looked.
    package init(
        _ site: Site, tally: VisitTally, needs: SiteNeeds?, _ reader: StoreReader
    ) throws(StoreError) {
        id = site.id
        self.site = StatusReport.Site(
            site, NoteBook.attempts(reader.folder, for: [site])[site.name])
        shown = Self.shownVisit(of: site).map(StatusReport.Visit.init)
        self.tally = tally
        self.needs = needs
        let start = site.start.first ?? site.name
        let title = try reader.response(for: start)?.body?.title
        self.title = title.flatMap { $0.isEmpty ? nil : $0 } ?? Self.name(of: start)
    }

    package static func shownVisit(of site: Site) -> Visit? {
        site.visits.first { $0.id == site.published } ?? site.visits.last { $0.base == nil }
    }

    /// The host, where it is an address.
    private static func name(of start: String) -> String {
        guard let url = WebURL(start), !url.host.isEmpty else { return start }
        return url.host
    }

    /// Where it starts first.
    package var start: String { site.start.first ?? site.name }

    /// Whether its visit ended and everything that its pages need is held; nil where nobody looked.
    package var isComplete: Bool? {
        site.published == nil ? false : needs.map(\.missing.isEmpty)
    }
}

extension SiteReport: JSONObject {
    package var members: JSONMembers { site.members + countMembers }

    /// How much it has.
    package var countMembers: JSONMembers {
        [
            "id": id, "title": title, "complete": isComplete, "pages": tally.pages,
            "requisites": tally.requisites,
            "redirects": tally.redirects, "tombstones": tally.tombstones, "countsAreCapped": tally.isCapped,
            "bytes": tally.byteCount, "bytesAreEstimated": tally.isEstimate, "missing": needs?.missing.count,
            "leftOut": needs?.leftOut,
        ]
    }
}

/// How a person names a site.
package enum SiteName {
    /// The place of a site by its name, by its address as a person writes it, or by its host when only one
    /// site has that.
    package static func place(of text: String, among names: [String]) -> Int? {
        let href = (try? WebURL.typed(text))?.href
        if let place = names.firstIndex(where: { $0 == text || $0 == href }) { return place }
        let onHost = names.indices.filter { WebURL(names[$0])?.host == text }
        return onHost.count == 1 ? onHost.first : nil
    }

    package static func unknown(_ text: String, among names: [String]) -> StoreError {
        StoreError(
            .request, doing: "find the site", path: text, detail: "the larder does not hold it",
            advice: names.isEmpty
                ? "it holds none yet: stock one with: larder prefetch URL"
                : "it holds: \(names.joined(separator: ", "))")
    }

    /// The site that is meant.
    ///
    /// - Throws: `StoreError` for the reason `.request` when the larder holds none of the name.
    package static func site(_ text: String, in sites: [Site]) throws(StoreError) -> Site {
        let names = sites.map(\.name)
        guard let place = place(of: text, among: names) else { throw unknown(text, among: names) }
        return sites[place]
    }
}
