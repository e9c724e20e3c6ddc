public import Store
public import Web

/// The content of a store.
public struct StatusReport: Sendable, Equatable {
    /// The path or address of the store.
    public let path: String
    /// The stored sites.
    public let sites: [Site]
    /// The number of stored responses.
    public let responses: Int
    /// The number of pages.
    public let pages: Int
    /// The number of assets.
    public let assets: Int
    /// The number of distinct bodies.
    public let bodies: Int
    /// The total size of the bodies, each counted once however many URLs share it.
    public let byteCount: Int64
    /// The size of the store on the disk, with the database and the search index; nil for PostgreSQL.
    public let diskByteCount: Int64?
    /// The runner of the scheduled updates; nil if there is none.
    public let runner: ScheduleRunner?

    /// A stored site.
    public struct Site: Sendable, Equatable {
        /// The name of the site, usually its first start URL.
        public let name: String
        /// The start URLs.
        public let start: [String]
        /// The snapshots, oldest first.
        public let snapshots: [Snapshot]
        /// The number of the live snapshot; nil if none is live.
        public let live: Int64?
        /// Whether a server or proxy loaded responses on top of the live snapshot.
        public let hasOverlay: Bool
        /// The update schedule; nil for none.
        public let schedule: UpdateSchedule?
        /// The time of the next scheduled update, in seconds since 1970; 0 if it is due now.
        public let next: Int64?
        /// The file or URL of its manifest; nil if it has none.
        public let manifest: String?
        /// The keys that may sign the manifest, as minisign's text (`RW…`). Empty if it need not be signed by a key.
        public let trustedKeys: [String]
        /// The figures of the live snapshot; nil if there is none, and in a `SnapshotsReport`.
        public fileprivate(set) var figures: Figures?
    }

    /// The size of a site's live snapshot.
    public struct Figures: Sendable, Equatable {
        /// The number of pages.
        public let pages: Int
        /// The bodies' bytes, each body counted once; an estimate for large sites.
        public let byteCount: Int64
        /// The numbers of missing URLs; nil if they are not known.
        public let missing: MissingURLCounts?
        /// The completeness of the site. It is nil if no run has recorded the missing URLs.
        public let completeness: SiteCompleteness?
    }

    /// A snapshot of a site.
    public struct Snapshot: Sendable, Equatable {
        /// The number of the snapshot, and whether it is an overlay.
        public let name: SnapshotName
        /// Whether the server shows it: the live snapshot, and the overlay on it.
        public let isLive: Bool
        /// The time at which it began.
        public let started: Timestamp
        /// The time at which it ended; nil if it was interrupted or is running.
        public let finished: Timestamp?
        /// Whether it did not go live, for example because a login page was served in place of the site, because less than half of
        /// the pages were left, or because bundles did not verify.
        public let isRejected: Bool
        /// The number of its responses.
        public let responses: Int
        /// When an update last found it unchanged; nil if none did.
        public let confirmed: Timestamp?
        /// The identifier in the store, unique among the snapshots of all sites.
        package let id: Int64
        /// When it was fetched, and when it was last checked.
        package let age: CopyAge

        /// The time at which it began, in UTC: `2026-01-31T12:00:00Z`.
        public var startDate: String { Wording.date(started) }
    }

    /// - Parameters:
    ///   - path: the name of the store that the report gives.
    ///   - runner: what runs the scheduled updates.
    ///   - walk: follows the links of a site to count its missing URLs; nil to use only counts that are stored.
    package init(
        _ reader: StoreReader, path: String, runner: ScheduleRunner? = nil, walk: SiteNeeds.Walk? = nil
    ) throws(StoreError) {
        self.runner = runner
        let summary = try reader.summary()
        self.path = path
        let sites = try reader.sites()
        let attempts = ActivityDatabase.attempts(reader.folder, for: sites)
        self.sites = try sites.map { (site) throws(StoreError) in
            var line = Site(site, attempts[site.name])
            line.figures = try Figures(of: site, reader, walk)
            return line
        }
        responses = summary.responses
        pages = summary.pages
        assets = summary.assets
        bodies = summary.bodies
        byteCount = summary.bytes
        diskByteCount = reader.diskByteCount
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

/// The snapshots of sites.
public struct SnapshotsReport: Sendable, Equatable {
    /// The sites with their snapshots.
    public let sites: [StatusReport.Site]

    package init(_ sites: [Site], _ reader: StoreReader) {
        let attempts = ActivityDatabase.attempts(reader.folder, for: sites)
        self.sites = sites.map { StatusReport.Site($0, attempts[$0.name]) }
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension StatusReport.Figures {
    /// The maximum number of pages that are counted, and of assets. Larger sites report this number.
    private static let maxCountedResponses = 100_000_000
    /// The maximum number of URLs that are visited to count missing ones. For larger sites that number is not known.
    private static let maxVisitedURLs = 20_000

    fileprivate init?(of site: Site, _ reader: StoreReader, _ walk: SiteNeeds.Walk?) throws(StoreError) {
        guard let live = site.published else { return nil }
        let tally = try reader.tally(ofSnapshot: live, limit: Self.maxCountedResponses)
        (pages, byteCount) = (tally.pages, tally.byteCount)
        missing = .current(of: site, byStoredLinks: try walk?(reader, site, Self.maxVisitedURLs)?.counts)
        completeness = missing.map { SiteCompleteness(of: site, missing: $0) }
    }
}

extension StatusReport.Figures: JSONObject {
    package var members: JSONMembers {
        [
            "pages": pages, "bytes": byteCount, "complete": missing?.isComplete,
            "completeness": completeness?.rawValue, "broken": missing?.broken,
            "failed": missing?.failed, "notFetched": missing?.notFetched,
        ]
    }
}

extension StatusReport.Site {
    /// - Parameter attempt: the last scheduled update that was begun.
    package init(_ site: Site, _ attempt: UpdateAttempt?) {
        schedule = site.schedule
        next = site.nextUpdate(after: attempt)
        name = site.name
        start = site.start
        snapshots = site.snapshots.map { StatusReport.Snapshot($0, of: site) }
        live = site.name(ofSnapshot: site.published)?.number
        hasOverlay = site.overlay != nil
        let plan = (try? JSONValue.parse(site.settings.utf8.span))?["manifest"]
        manifest = plan?["place"]?.string
        trustedKeys = plan?["trust"]?.array?.compactMap(\.string) ?? []
    }

    /// The keys that may sign the manifest, shortened, as a sentence; nil if it need not be signed by a key.
    package var trustText: String? {
        guard let manifest, !trustedKeys.isEmpty else { return nil }
        let names = trustedKeys.map { BundleProof.fingerprint(ofKey: $0) }.joined(separator: " or ")
        return "the manifest \(manifest) must be signed by \(names)"
    }

    /// The state of a snapshot.
    package enum SnapshotState: Sendable, Equatable {
        case live
        case overlay(isLive: Bool)
        case unfinished
        case rejected
        /// An earlier or later complete snapshot, to roll back to.
        case complete
    }

    /// The state of one of the site's snapshots.
    package func state(of snapshot: StatusReport.Snapshot) -> SnapshotState {
        if snapshot.name.isOverlay { return .overlay(isLive: snapshot.isLive) }
        if snapshot.isLive { return .live }
        return snapshot.finished == nil ? .unfinished : snapshot.isRejected ? .rejected : .complete
    }
}

extension StatusReport.Snapshot {
    package init(_ snapshot: Snapshot, of site: Site) {
        id = snapshot.id
        name = snapshot.name
        isLive = snapshot.id == site.published || snapshot.id == site.overlay
        started = Timestamp(secondsSinceEpoch: snapshot.started)
        finished = snapshot.finished.map(Timestamp.init(secondsSinceEpoch:))
        isRejected = snapshot.isRejected
        responses = snapshot.responseCount
        confirmed = site.confirmationDate(of: snapshot).map(Timestamp.init(secondsSinceEpoch:))
        age = CopyAge(of: snapshot, in: site)
    }
}

extension StatusReport: JSONObject {
    package var members: JSONMembers {
        [
            "store": path, "sites": sites, "responses": responses, "pages": pages, "assets": assets,
            "bodies": bodies, "bytes": byteCount, "diskBytes": diskByteCount, "runner": runner,
        ]
    }
}

extension SnapshotsReport: JSONObject {
    package var members: JSONMembers { ["sites": sites] }
}

extension StatusReport.Site: JSONObject {
    package var members: JSONMembers {
        let keys = trustedKeys.map { key -> JSONMembers in
            ["publicKey": key, "fingerprint": BundleProof.fingerprint(ofKey: key)]
        }
        return publicMembers + ["manifest": IfAny(manifest), "trustedKeys": IfAny(keys)]
    }

    /// The members for clients of the portal, which may be other machines: without the manifest, which may be a file.
    fileprivate var publicMembers: JSONMembers {
        nameMembers + ["figures": IfAny(figures), "snapshots": snapshots]
    }

    /// All members except the snapshots.
    package var nameMembers: JSONMembers {
        [
            "name": name, "start": start, "live": live, "overlay": hasOverlay,
            "schedule": schedule?.text, "next": Wording.date(due: next), "due": IfAny(next == 0 ? true : nil),
        ]
    }
}

extension StatusReport.Snapshot: JSONObject {
    package var members: JSONMembers {
        [
            "number": name.number, "overlay": IfAny(name.isOverlay ? true : nil), "live": isLive,
            "started": Wording.date(started), "finished": finished.map(Wording.date),
            "confirmed": IfAny(confirmed.map(Wording.date)), "rejected": IfAny(isRejected ? true : nil),
            "responses": responses,
        ]
    }
}

/// Whether the live snapshot of a site has everything, and what the user's choices left out. Commands, JSON and the portal
/// use these words.
public enum SiteCompleteness: String, Sendable, CaseIterable {
    /// All URLs were fetched.
    case complete
    /// No URL failed, and the user wanted only the start pages.
    case onlyStartPages
    /// No URL failed. A limit, the scope or excluded URLs leave out links.
    case withinLimits
    /// Something failed, a limit of time or bytes ended the run, or a limit left out what a page needs.
    case incomplete

    package init(of site: Site, missing: MissingURLCounts) {
        let settings = try? JSONValue.parse(site.settings.utf8.span)
        let excludesURLs = settings?["exclude"]?.array?.isEmpty == false
        self =
            if !missing.isComplete {
                .incomplete
            } else if SiteReport.hasOnlyStartPages(site) {
                .onlyStartPages
            } else if missing.notFetched > 0 || excludesURLs {
                .withinLimits
            } else {
                .complete
            }
    }
}

/// A site with its size, and whether it has everything that its pages need.
package struct SiteReport: Sendable {
    /// The identifier of the site in the store.
    package let id: Int64
    package let site: StatusReport.Site
    /// The user's name for the site, else the title of the start page, else the host name.
    package let title: String
    /// The live snapshot, else the last one; nil if there is none yet.
    package let shown: StatusReport.Snapshot?
    package let tally: SnapshotTally
    /// The URLs that are missing by the stored links; nil if the links were not followed.
    package let needs: SiteNeeds?
    /// The numbers of missing URLs; nil if they are not known.
    package let missing: MissingURLCounts?
    /// The completeness of the site. It is nil if no run has recorded the missing URLs.
    package let completeness: SiteCompleteness?

    /// - Parameters:
    ///   - tally: the size of the snapshot that `shownSnapshot(of:)` returns.
    ///   - needs: nil if it was not determined.
    ///   - attempt: the last scheduled update that was begun.
    package init(
        _ site: Site, tally: SnapshotTally, needs: SiteNeeds?, attempt: UpdateAttempt?, _ reader: StoreReader
    ) throws(StoreError) {
        id = site.id
        self.site = StatusReport.Site(site, attempt)
        shown = Self.shownSnapshot(of: site).map { StatusReport.Snapshot($0, of: site) }
        self.tally = tally
        self.needs = needs
        missing = .current(of: site, byStoredLinks: needs?.counts)
        completeness = missing.map { SiteCompleteness(of: site, missing: $0) }
        let start = site.start.first ?? site.name
        var title = (try? JSONValue.parse(site.settings.utf8.span))?["title"]?.string
        let isOwn = title != nil
        if title == nil { title = try reader.response(for: start)?.body?.title }
        self.title = Self.title(title ?? "", isOwn: isOwn, ofSiteAt: start)
    }

    /// The title to show: the user's own, else that of the start page. A title that many start pages have gets the host of the
    /// site. Without a title, the host.
    package static func title(_ title: String, isOwn: Bool, ofSiteAt start: String) -> String {
        if title.isEmpty { return name(of: start) }
        return !isOwn && genericTitles.contains(title.lowercased()) ? "\(title) (\(name(of: start)))" : title
    }

    /// Titles of start pages that do not say which site it is.
    private static let genericTitles: Set<String> = [
        "contents", "documentation", "docs", "home", "home page", "homepage", "index", "introduction",
        "main page", "overview",
        "start", "start page", "table of contents", "untitled", "welcome", "einführung", "einleitung",
        "hauptseite", "inhalt",
        "startseite", "übersicht", "willkommen", "首页", "主页", "概述", "简介", "介绍", "目录", "欢迎",
    ]

    /// Whether the settings of a site limit it to its start pages.
    package static func hasOnlyStartPages(_ site: Site) -> Bool {
        (try? JSONValue.parse(site.settings.utf8.span))?["depth"]?.int == 0
    }

    /// The live snapshot, else the last one that is not an overlay; nil if there is none.
    package static func shownSnapshot(of site: Site) -> Snapshot? {
        site.snapshots.first { $0.id == site.published } ?? site.snapshots.last { $0.base == nil }
    }

    /// The host of a URL, or the text itself.
    private static func name(of start: String) -> String {
        guard let url = WebURL(start), !url.host.isEmpty else { return start }
        return url.host
    }

    /// The first start URL.
    package var start: String { site.start.first ?? site.name }

    /// Whether a snapshot is live and complete (`MissingURLCounts.isComplete`); nil if that is not known.
    package var isComplete: Bool? {
        site.live == nil ? false : missing.map(\.isComplete)
    }
}

extension SiteReport: JSONObject {
    package var members: JSONMembers { site.publicMembers + countMembers }

    /// The members with counts and sizes.
    package var countMembers: JSONMembers {
        [
            "id": id, "title": title, "complete": isComplete,
            "completeness": site.live == nil ? nil : completeness?.rawValue, "pages": tally.pages,
            "assets": tally.assets,
            "redirects": tally.redirects, "countsAreCapped": tally.isCapped, "bytes": tally.byteCount,
            "bytesAreEstimated": tally.isEstimate, "broken": missing?.broken, "failed": missing?.failed,
            "notFetched": missing?.notFetched,
        ]
    }
}

/// Finds sites by the texts with which users name them.
///
/// A site may be named by its full name (`https://example.com/docs/`), or by its host (`example.com`) or `HOST:PORT` if it
/// is the only site there, or the only one that starts at `/`. Commands that only read also accept the URL of its origin.
package enum SiteName {
    /// The index of a site by its name, or by its URL as users type it.
    package static func exactIndex(of text: String, among names: [String]) -> Int? {
        let href = (try? WebURL.parseUserInput(text))?.href
        return names.firstIndex { $0 == text || $0 == href }
    }

    /// The index of a site by its name or URL; or by its host or `HOST:PORT`, if it is the only site there, or the only
    /// one that starts at the root of the host.
    ///
    /// - Parameter acceptsOrigin: the URL of an origin (`http://HOST:PORT/`) also names the only site on it.
    ///   Only for commands that read, because the URL may also be the one of a page.
    package static func index(of text: String, among names: [String], acceptsOrigin: Bool = false) -> Int? {
        if let index = exactIndex(of: text, among: names) { return index }
        let urls = names.map { WebURL($0) }
        func onlyIndex(where isNamed: (WebURL) -> Bool) -> Int? {
            let indices = urls.indices.filter { urls[$0].map(isNamed) ?? false }
            return indices.count == 1 ? indices.first : nil
        }
        if let index = onlyIndex(where: { isHost(text, of: $0) })
            ?? onlyIndex(where: {
                isHost(text, of: $0) && $0.href == $0.origin + "/" && ($0.port == nil || text != $0.host)
            })
        {
            return index
        }
        guard acceptsOrigin, let origin = origin(from: text) else { return nil }
        return onlyIndex { $0.origin == origin }
    }

    /// Whether a text is the host of a URL, or its `HOST:PORT`.
    private static func isHost(_ text: String, of url: WebURL) -> Bool {
        url.host == text || "\(url.host):\(url.effectivePort)" == text
    }

    /// The origin, if the text is the URL of one.
    private static func origin(from text: String) -> String? {
        guard let url = try? WebURL.parseUserInput(text), url.href == url.origin + "/" else { return nil }
        return url.origin
    }

    /// The names of the sites that a host, a `HOST:PORT` or the URL of an origin may mean.
    private static func sites(at text: String, among names: [String]) -> [String] {
        let origin = origin(from: text)
        return names.filter { name in
            guard let url = WebURL(name) else { return false }
            return isHost(text, of: url) || url.origin == origin
        }
    }

    /// The error of a removal for a text that is neither the whole name of a site nor a stored URL.
    package static func notRemovableError(_ text: String, among names: [String]) -> StoreError {
        if text.utf8.contains(UInt8(ascii: "*")) {
            return StoreError(
                .request, doing: "remove", path: text, detail: "no stored URL matches",
                advice: "list the stored URLs with: larder list")
        }
        let candidates = sites(at: text, among: names)
        guard !candidates.isEmpty else { return notStoredError(text, among: names) }
        return StoreError(
            .request, doing: "remove", path: text, detail: "a removal needs the whole name of the site",
            advice: "to remove it: \(candidates.map { "larder remove \($0)" }.joined(separator: ", or "))")
    }

    /// Returns the error for a text that names no stored site. Its advice depends on the probable meaning of the text.
    package static func unknownSiteError(_ text: String, among names: [String]) -> StoreError {
        if case (let site, let snapshot?) = SnapshotName.split(text), index(of: site, among: names) != nil {
            return StoreError(
                .request, doing: "find the site", path: text,
                detail: "this command takes whole sites, and \(snapshot) is a snapshot of \(site)",
                advice: "name the site alone: \(site)")
        }
        let sitesOfHost = names.filter { WebURL($0).map { isHost(text, of: $0) } ?? false }
        guard sitesOfHost.isEmpty else {
            return StoreError(
                .request, doing: "find the site", path: text, detail: "several sites start on this host",
                advice: "name one of them: \(sitesOfHost.joined(separator: ", or "))")
        }
        let url = try? WebURL.parseUserInput(text)
        var candidates = names.filter { url != nil && WebURL($0)?.origin == url?.origin }
        // Without a scheme, the text may mean a page on whichever scheme the site has.
        if candidates.isEmpty, !text.contains("://") {
            candidates = names.filter { url != nil && WebURL($0)?.host == url?.host }
        }
        guard candidates.isEmpty else {
            return StoreError(
                .request, doing: "find the site", path: text,
                detail: "no site starts at this URL, which may be one of its pages",
                advice: "name the site: \(candidates.joined(separator: ", or "))")
        }
        return notStoredError(text, among: names)
    }

    private static func notStoredError(_ text: String, among names: [String]) -> StoreError {
        StoreError(
            .request, doing: "find the site", path: text, detail: "it is not stored",
            advice: names.isEmpty
                ? "no sites are stored yet; prefetch one with: larder prefetch URL"
                : "\(similarName(text, among: names).map { "did you mean \($0)? " } ?? "")the stored sites are: "
                    + names.joined(separator: ", "))
    }

    /// The name or the host of a site whose spelling is close to a text; nil if there is none.
    private static func similarName(_ text: String, among names: [String]) -> String? {
        Spelling.closest(to: text, among: names + names.compactMap { WebURL($0)?.host })
    }

    /// Splits `SITE@N` into the site and the snapshot, if the first part names a site. URLs may end in the same way, such
    /// as `https://cdn.example/vue@3`, so that any other text stays whole.
    package static func split(
        _ text: String, among names: [String]
    ) -> (site: String, snapshot: SnapshotName?) {
        guard exactIndex(of: text, among: names) == nil,
            case (let site, let snapshot?) = SnapshotName.split(text),
            index(of: site, among: names, acceptsOrigin: true) != nil
        else { return (text, nil) }
        return (site, snapshot)
    }

    /// The site that a text names.
    ///
    /// - Parameter acceptsOrigin: as for `index(of:among:acceptsOrigin:)`.
    /// - Throws: `StoreError` for the reason `.request` if there is none.
    package static func site(
        _ text: String, in sites: [Site], acceptsOrigin: Bool = false
    ) throws(StoreError) -> Site {
        let names = sites.map(\.name)
        guard let index = index(of: text, among: names, acceptsOrigin: acceptsOrigin) else {
            throw unknownSiteError(text, among: names)
        }
        return sites[index]
    }
}
