package import Database
package import Web

/// A stored site: its start URLs and its snapshots.
package struct Site: Sendable, Equatable {
    package let id: Int64
    /// The name that users give it: by default, the first start URL.
    package let name: String
    package let start: [String]
    package let snapshots: [Snapshot]
    /// The id of the live snapshot; nil until one is complete.
    package let published: Int64?
    /// The id of the overlay: responses that servers loaded on top of the live snapshot. Nil if there are none.
    package let overlay: Int64?
    /// The settings with which the site is prefetched and served, as JSON; empty if none were stored.
    package let settings: String
    /// The snapshots that updates found unchanged, and when they last did.
    private var confirmations: [SnapshotConfirmation] {
        SnapshotConfirmation.list((try? JSONValue.parse(settings.utf8.span))?["confirmed"])
    }

    /// When an update last found that a snapshot is unchanged, in seconds since 1970; nil if none did.
    package func confirmationDate(of snapshot: Snapshot) -> Int64? {
        guard snapshot.base == nil else { return nil }
        return confirmations.last { $0.snapshot == snapshot.number }?.date
    }

    package init(
        id: Int64, name: String, start: [String], snapshots: [Snapshot], published: Int64?,
        settings: String = "",
        overlay: Int64? = nil
    ) {
        self.id = id
        self.name = name
        self.start = start
        self.snapshots = snapshots
        self.published = published
        self.overlay = overlay
        self.settings = settings
    }
}

/// An update that found a snapshot unchanged.
package struct SnapshotConfirmation: Sendable, Equatable {
    /// The number of the snapshot.
    package let snapshot: Int64
    /// Seconds since 1970.
    package let date: Int64

    package init(snapshot: Int64, date: Int64) {
        (self.snapshot, self.date) = (snapshot, date)
    }

    private init?(_ json: JSONValue) {
        guard let snapshot = json["snapshot"]?.int, let date = json["date"]?.int else { return nil }
        self.init(snapshot: Int64(snapshot), date: Int64(date))
    }

    /// Reads them from the settings of a site.
    package static func list(_ json: JSONValue?) -> [SnapshotConfirmation] {
        json?.array?.compactMap { SnapshotConfirmation($0) } ?? []
    }
}

extension SnapshotConfirmation: JSONObject {
    package var members: JSONMembers { ["snapshot": snapshot, "date": date] }
}

/// The name of a snapshot within its site: `3`, or `3+` for the overlay on snapshot 3. Numbers count from 1.
public struct SnapshotName: Sendable, Hashable {
    /// The number of the snapshot.
    public let number: Int64
    /// Whether it is an overlay: the responses that a server or proxy loaded on top of the snapshot.
    public let isOverlay: Bool

    /// Creates the name of a snapshot, or of the overlay on it.
    public init(_ number: Int64, isOverlay: Bool = false) {
        self.number = number
        self.isOverlay = isOverlay
    }
}

extension SnapshotName: LosslessStringConvertible, ExpressibleByIntegerLiteral {
    public init(integerLiteral number: Int64) { self.init(number) }

    /// Parses `3` or `3+`; nil for any other text.
    public init?(_ description: String) {
        let digits = description.hasSuffix("+") ? description.dropLast() : description[...]
        guard let number = Int64(digits), number > 0 else { return nil }
        self.init(number, isOverlay: digits.endIndex < description.endIndex)
    }

    /// The name as users write it.
    public var description: String { isOverlay ? "\(number)+" : "\(number)" }

    /// Splits `SITE@N`, such as `https://example.com/@3`. The snapshot is nil if the text does not end with one.
    public static func split(_ text: String) -> (site: String, snapshot: SnapshotName?) {
        guard let sign = text.lastIndex(of: "@"),
            let name = SnapshotName(String(text[text.index(after: sign)...]))
        else { return (text, nil) }
        return (String(text[..<sign]), name)
    }
}

extension SnapshotName {
    /// The columns of `snapshot` that `init(_:from:)` reads.
    static let columns = "snapshot.number, snapshot.base IS NOT NULL"

    init(_ row: Row, from column: Int32) {
        self.init(row.integer(column), isOverlay: row.integer(column + 1) != 0)
    }
}

/// The result of one prefetch or update of a site, or an overlay: responses that servers loaded on top of a
/// snapshot.
package struct Snapshot: Sendable, Equatable {
    /// The id of its row. Ids increase in the order in which snapshots of all sites began.
    package let id: Int64
    /// The number among the snapshots of its site, from 1, as users see it. An overlay has the number of its base.
    package let number: Int64
    /// Seconds since 1970.
    package let started: Int64
    /// Seconds since 1970. Nil while its run is in progress or was interrupted: the next run of the site continues
    /// it.
    package let finished: Int64?
    /// Whether it is complete and was not published. The database stores the time of its end as a negative number.
    package let isRejected: Bool
    /// The id of the snapshot that an overlay is on top of; nil for other snapshots.
    package let base: Int64?
    package let responseCount: Int

    package var name: SnapshotName { SnapshotName(number, isOverlay: base != nil) }

    package init(
        id: Int64, number: Int64, started: Int64, finished: Int64?, base: Int64? = nil, responseCount: Int
    ) {
        self.id = id
        self.number = number
        self.started = started
        self.finished = finished.map { abs($0) }
        isRejected = finished.map { $0 < 0 } ?? false
        self.base = base
        self.responseCount = responseCount
    }
}

/// A snapshot that is being written.
package struct OpenSnapshot: Sendable, Equatable {
    package let site: Int64
    package let id: Int64
    /// The number among the snapshots of its site.
    package let number: Int64
    /// Whether an earlier run began it and was interrupted. The responses of that run belong to it.
    package let isContinued: Bool
}

/// The decision about a snapshot at the end of its run.
package enum SnapshotEnding: Sendable, Equatable {
    /// The snapshot is complete and becomes the live one.
    case publish(now: Int64)
    /// The snapshot is complete. If it shows the same as the live one, the live one stays and takes its place; else it becomes
    /// the live one.
    case publishIfChanged(now: Int64)
    /// The incomplete snapshot becomes the live one, and the next run of the site continues it.
    case publishSoFar
    /// The snapshot stays unfinished, and the next run of the site continues it.
    case keepOpen
    /// The snapshot is complete and rejected; the live snapshot stays.
    case reject(now: Int64)
    /// The snapshot is deleted, because the run did not reach any start URL.
    case forget

    package var isPublishing: Bool {
        switch self {
        case .publish, .publishIfChanged, .publishSoFar: true
        case .keepOpen, .reject, .forget: false
        }
    }
}

// MARK: - SnapshotDifference

/// The differences between two snapshots of a site, as their readers see them.
package struct SnapshotDifference: Sendable, Equatable {
    package var added: [String] = []
    /// URLs whose body changed.
    package var changed: [String] = []
    /// URLs that the origin declared gone.
    package var gone: [String] = []
    /// Bodies that moved to a new URL, byte for byte.
    package var moved: [Move] = []

    package struct Move: Sendable, Equatable {
        package var from: String
        package var to: String

        package init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    package var isEmpty: Bool { added.isEmpty && changed.isEmpty && gone.isEmpty && moved.isEmpty }

    package init() {}

    /// The response that a snapshot has for a URL.
    struct ComparedResponse: Equatable {
        let status: Int
        let body: Int64?
        /// The target of a redirect.
        var location: String?

        func target(from href: String) -> String? {
            location.flatMap { WebURL($0, base: WebURL(href)) }?.key.href
        }

        var exists: Bool { status < 400 }
    }

    /// Compares the responses of two snapshots. The lists are in the order of URLs.
    ///
    /// A body that is missing at its old URL and new at another one has moved. So has a body whose old URL now
    /// redirects to the new one. All other differences are additions, changes and removals.
    init(from old: [String: ComparedResponse], to new: [String: ComparedResponse]) {
        /// The URLs that are new, by the body that they have.
        var newURLs: [Int64: [String]] = [:]
        for (href, shown) in new where shown.exists && !(old[href]?.exists ?? false) {
            if let body = shown.body { newURLs[body, default: []].append(href) }
        }
        for body in newURLs.keys { newURLs[body]?.sort(by: >) }
        var moveTargets: Set<String> = []
        for (href, shown) in old.sorted(by: { $0.key < $1.key }) where shown.exists {
            guard let now = new[href], now.exists else {
                guard let body = shown.body, let target = newURLs[body]?.popLast() else {
                    gone.append(href)
                    continue
                }
                moved.append(Move(from: href, to: target))
                moveTargets.insert(target)
                continue
            }
            if now == shown { continue }
            if shown.location == nil, let body = shown.body, let target = now.target(from: href),
                let index = newURLs[body]?.firstIndex(of: target)
            {
                newURLs[body]?.remove(at: index)
                moved.append(Move(from: href, to: target))
                moveTargets.insert(target)
            } else {
                changed.append(href)
            }
        }
        added = new.filter { href, shown in
            shown.exists && !(old[href]?.exists ?? false) && !moveTargets.contains(href)
        }.keys.sorted()
    }
}

extension Site {
    /// The last snapshot of the name.
    ///
    /// - Throws: `StoreError` for the reason `.request` when the site has none.
    package func snapshot(_ name: SnapshotName) throws(StoreError) -> Snapshot {
        guard let snapshot = snapshots.last(where: { $0.name == name }) else {
            throw StoreError(
                .request, doing: "find a snapshot of", path: self.name, detail: "it has no snapshot \(name)",
                advice: "list its snapshots with: larder snapshots")
        }
        return snapshot
    }

    /// Returns the name of the snapshot with this id; nil if the site has none.
    package func name(ofSnapshot id: Int64?) -> SnapshotName? { snapshots.first { $0.id == id }?.name }
}

extension StoreReader {
    /// The names of all snapshots by `Snapshot.id`.
    package func snapshotNames() throws(StoreError) -> [Int64: SnapshotName] {
        var names: [Int64: SnapshotName] = [:]
        try eachRow("SELECT id, \(SnapshotName.columns) FROM snapshot") { row in
            names[row.integer(0)] = SnapshotName(row, from: 1)
        }
        return names
    }

    /// The number of pages in the newest snapshot that is or was live and has pages; 0 if there is none.
    package func pageCount(of site: Site) throws(StoreError) -> Int {
        guard let published = site.published else { return 0 }
        let count = try prepare(
            """
            SELECT count(*) FROM \(Schema.rows(ofSnapshot: "?1")) AS response WHERE role = 0 AND body IS NOT NULL
            """)
        for snapshot in site.snapshots.reversed() where snapshot.id <= published && snapshot.base == nil {
            let found = try count.first(.integer(snapshot.id)) { Int($0.integer(0)) } ?? 0
            if found > 0 { return found }
        }
        return 0
    }

    /// Whether the snapshot is complete and not an overlay, so that it can be served.
    package func isComplete(snapshot: Int64) throws(StoreError) -> Bool {
        try prepare("SELECT finished IS NOT NULL AND base IS NULL FROM snapshot WHERE id = ?")
            .first(.integer(snapshot)) { $0.integer(0) != 0 } ?? false
    }

    /// Returns the differences that readers would see if the second snapshot were live instead of the first.
    ///
    /// For each URL, readers of a snapshot see the newest response of its site up to that snapshot. A URL that a
    /// snapshot did not reach has therefore not changed.
    package func difference(from first: Int64, to second: Int64) throws(StoreError) -> SnapshotDifference {
        let canonical = try canonicalBodies()
        return SnapshotDifference(
            from: try responses(asOf: first, canonical), to: try responses(asOf: second, canonical))
    }

    /// Returns, for each body whose bytes are stored in several forms, the first body with these bytes.
    private func canonicalBodies() throws(StoreError) -> [Int64: Int64] {
        var first: [Int64: Int64] = [:]
        try eachRow(
            """
            SELECT id, (SELECT min(other.id) FROM body AS other WHERE other.sha256 = body.sha256) FROM body
            WHERE sha256 IN (SELECT sha256 FROM body GROUP BY sha256 HAVING count(*) > 1)
            """
        ) { row in
            first[row.integer(0)] = row.integer(1)
        }
        return first
    }

    /// Returns the last screenshot of each page up to a snapshot, by URL. Leaves out pages that the origin
    /// declared gone.
    package func screenshots(asOf snapshot: Int64) throws(StoreError) -> [String: StoredResponse] {
        var screenshots: [String: StoredResponse] = [:]
        try eachRow(
            """
            SELECT \(StoredResponse.columns) FROM response
            JOIN url ON url.id = response.url
            JOIN body ON body.id = response.body
            JOIN snapshot ON snapshot.id = response.snapshot
            WHERE snapshot.site = (SELECT site FROM snapshot WHERE id = ?1) AND response.request = 'pictured'
                AND (response.snapshot <= coalesce((SELECT base FROM snapshot WHERE id = ?1), ?1) OR response.snapshot = ?1)
                AND 400 > (
                    SELECT page.status FROM response AS page JOIN snapshot AS other ON other.id = page.snapshot
                    WHERE page.url = response.url AND page.request = '' AND other.site = snapshot.site
                        AND (page.snapshot <= coalesce((SELECT base FROM snapshot WHERE id = ?1), ?1) OR page.snapshot = ?1)
                    ORDER BY page.snapshot DESC, page.fetched DESC LIMIT 1)
            ORDER BY response.snapshot
            """, .integer(snapshot)
        ) { row in
            let screenshot = StoredResponse(row)
            screenshots[screenshot.href] = screenshot
        }
        return screenshots
    }

    /// Whether screenshots of the site's pages are stored.
    package func hasScreenshots(of site: Site) throws(StoreError) -> Bool {
        for snapshot in site.snapshots.reversed() {
            // Rendered texts and screenshots have the role 2, which few other responses have.
            let found = try prepare(
                "SELECT EXISTS (SELECT 1 FROM response WHERE snapshot = ? AND role = 2 AND request = 'pictured')"
            ).first(.integer(snapshot.id)) { $0.integer(0) != 0 }
            if found == true { return true }
        }
        return false
    }

    /// Returns the screenshot of a page in a snapshot; nil if there is none.
    package func screenshot(of href: String, in snapshot: Int64) throws(StoreError) -> StoredResponse? {
        try prepare(
            """
            SELECT \(StoredResponse.columns) FROM response
            JOIN url ON url.id = response.url
            JOIN body ON body.id = response.body
            WHERE url.href = ? AND response.snapshot = ? AND response.request = 'pictured'
            """
        ).first(.text(href), .integer(snapshot), read: StoredResponse.init)
    }

    /// Returns the responses that readers of a snapshot see, by URL and request.
    private func responses(
        asOf snapshot: Int64, _ canonical: [Int64: Int64]
    ) throws(StoreError) -> [String: SnapshotDifference.ComparedResponse] {
        var responses: [String: SnapshotDifference.ComparedResponse] = [:]
        try eachRow(
            """
            SELECT url.href, response.request, response.status, response.body,
                iif(response.status BETWEEN 300 AND 399, response.fields, '') FROM response
            JOIN url ON url.id = response.url
            JOIN snapshot ON snapshot.id = response.snapshot
            WHERE snapshot.site = (SELECT site FROM snapshot WHERE id = ?1)
                AND response.request NOT IN ('shown', 'pictured', 'frozen')
                AND (response.snapshot <= coalesce((SELECT base FROM snapshot WHERE id = ?1), ?1) OR response.snapshot = ?1)
            ORDER BY response.snapshot, response.fetched, response.variant
            """, .integer(snapshot)
        ) { row in
            let (href, request) = (row.text(0), row.text(1))
            // The rows are in ascending order: the last one of a URL is the one that readers see.
            responses[request.isEmpty ? href : "\(href) (\(request))"] =
                SnapshotDifference.ComparedResponse(
                    status: Int(row.integer(2)), body: row.optionalInteger(3).map { canonical[$0] ?? $0 },
                    location: HTTPFields(block: row.text(4).utf8.span)["Location"])
        }
        return responses
    }
}

extension StoreWriter {
    /// Makes another snapshot of the site live, usually an older one. Readers no longer see newer responses.
    ///
    /// The next prefetch is a newer snapshot again and is published when it is complete.
    package func publish(snapshot: Int64, of site: Site) throws(StoreError) {
        try withSiteLock(site, doing: "make a snapshot live in") { () throws(StoreError) in
            guard try snapshots(of: site).contains(where: { $0.id == snapshot && $0.isFinished }) else {
                throw StoreError(
                    .request, doing: "roll back", path: site.name,
                    detail:
                        "it has no complete snapshot \(site.name(ofSnapshot: snapshot)?.description ?? "\(snapshot)")",
                    advice: "list its snapshots with: larder snapshots")
            }
            try run(
                "UPDATE site SET published = ?, overlay = NULL WHERE id = ?", .integer(snapshot),
                .integer(site.id))
        }
        try writeStateToJournal()
    }

    /// Makes the snapshot live. Responses in the overlay that the snapshot does not have become part of it.
    func makeLive(_ snapshot: OpenSnapshot) throws(StoreError) {
        // An overlay that began before the snapshot is now below it: the snapshot replaces its responses.
        let later = try prepare("SELECT overlay FROM site WHERE id = ?1 AND overlay > ?2")
            .first(.integer(snapshot.site), .integer(snapshot.id)) { $0.integer(0) }
        try run(
            "UPDATE site SET published = ?, overlay = NULL WHERE id = ?", .integer(snapshot.id),
            .integer(snapshot.site))
        guard let later else { return }
        try moveResponses(of: later, to: snapshot.id)
        try deleteSnapshot(later)
        // The journal still has them under the id of the removed overlay.
        if !isPostgreSQL { try writeResponsesToJournal(where: "response.snapshot = \(snapshot.id)") }
    }

    /// Moves responses to another snapshot, except those for which that one has a response of its own.
    ///
    /// - Parameter onlyConfirmed: Whether to move only the responses that the other snapshot confirmed.
    private func moveResponses(
        of snapshot: Int64, to other: Int64, onlyConfirmed: Bool = false
    ) throws(StoreError) {
        try run(
            """
            UPDATE response SET snapshot = ?1
            WHERE snapshot = ?2 \(onlyConfirmed ? "AND confirmed >= ?1" : "") AND NOT EXISTS (
                SELECT 1 FROM response AS own WHERE own.url = response.url AND own.snapshot <> ?2
                    AND own.request = response.request AND own.variant = response.variant
                    AND \(Schema.isPart(of: "?1", "own")))
            """, .integer(other), .integer(snapshot))
        try deleteCount(of: snapshot)
        try deleteCount(of: other)
    }

    /// Removes a snapshot and its responses from the database.
    func deleteSnapshot(_ snapshot: Int64) throws(StoreError) {
        try run("UPDATE site SET overlay = NULL WHERE overlay = ?", .integer(snapshot))
        try run("DELETE FROM response WHERE snapshot = ?", .integer(snapshot))
        try deleteCount(of: snapshot)
        try run("DELETE FROM snapshot WHERE id = ?", .integer(snapshot))
        try recountConfirmed()
    }

    /// Removes a snapshot. Later snapshots keep showing the responses that they took over from it: these move to the next
    /// snapshot. `undoRemoval` reverses it.
    ///
    /// - Parameters:
    ///   - addsToLast: whether that also reverses the previous removal.
    ///   - canBeUndone: false if the user has not asked for the removal; `undoRemoval` then still reverses the one before.
    ///   - passesOnNumber: whether the next snapshot gets its number, if that is the last one.
    package func drop(
        snapshot: Int64, of site: Site, addsToLast: Bool = false, canBeUndone: Bool = true,
        passesOnNumber: Bool = false
    ) throws(StoreError) {
        isJournalStale = true
        try dropRows(
            ofSnapshot: snapshot, of: site, recordsRemoval: canBeUndone, addsToLast: addsToLast,
            passesOnNumber: passesOnNumber)
        try updateStoredCounts()
        try rewriteJournal()
    }

    func dropRows(
        ofSnapshot snapshot: Int64, of site: Site, recordsRemoval: Bool = false, addsToLast: Bool = false,
        passesOnNumber: Bool = false
    ) throws(StoreError) {
        try withSiteLock(site, doing: "remove a snapshot of") { () throws(StoreError) in
            let snapshots = try snapshots(of: site)
            guard let index = snapshots.firstIndex(where: { $0.id == snapshot }) else {
                throw StoreError(
                    .request, doing: "remove a snapshot of", path: site.name,
                    detail:
                        "it has no snapshot \(site.name(ofSnapshot: snapshot)?.description ?? "with the id \(snapshot)")",
                    advice: "list its snapshots with: larder snapshots")
            }
            if snapshots[index].isPublished { throw site.liveSnapshotRemovalError(live: snapshot) }
            if recordsRemoval {
                let name = site.name(ofSnapshot: snapshot).map { "\(site.name)@\($0)" } ?? site.name
                try record(
                    .init(kind: .snapshot, name: name),
                    RemovedRows(responses: "snapshot = \(snapshot)", snapshot: "id = \(snapshot)"),
                    addsToLast: addsToLast)
            }
            // The next snapshot takes over the responses, since its readers see them. If the last snapshot is unfinished,
            // it takes over only the responses that it confirmed: it has no readers yet and may be continued. Overlays
            // are skipped, because each belongs to its base.
            let later = snapshots[(index + 1)...].filter { !$0.isOverlay }
            if let next = later.first(where: { $0.isFinished || $0.id != later.last?.id }) {
                try moveResponses(of: snapshot, to: next.id)
                if recordsRemoval { try recordMoved(from: snapshot, to: next.id) }
            } else if let unfinished = later.last {
                try moveResponses(of: snapshot, to: unfinished.id, onlyConfirmed: true)
                if recordsRemoval { try recordMoved(from: snapshot, to: unfinished.id) }
            }
            try deleteSnapshot(snapshot)
            guard passesOnNumber, later.count == 1, let number = site.name(ofSnapshot: snapshot)?.number
            else {
                return
            }
            try run(
                "UPDATE snapshot SET number = ? WHERE site = ? AND number = ?", .integer(number),
                .integer(site.id), .integer(number + 1))
            try run(
                "UPDATE site SET snapshots = ? WHERE id = ? AND snapshots = ?", .integer(number),
                .integer(site.id), .integer(number + 1))
        }
    }

    /// The current snapshots; the caller's `site` may be outdated.
    private func snapshots(
        of site: Site
    ) throws(StoreError) -> [(id: Int64, isFinished: Bool, isPublished: Bool, isOverlay: Bool)] {
        var snapshots: [(id: Int64, isFinished: Bool, isPublished: Bool, isOverlay: Bool)] = []
        try eachRow(
            """
            SELECT snapshot.id, snapshot.finished IS NOT NULL, snapshot.id = site.published, snapshot.base IS NOT NULL FROM snapshot
            JOIN site ON site.id = snapshot.site
            WHERE site.id = ? ORDER BY snapshot.id
            """, .integer(site.id)
        ) { snapshots.append(($0.integer(0), $0.integer(1) != 0, $0.integer(2) != 0, $0.integer(3) != 0)) }
        return snapshots
    }

    /// Stores the settings with which the site is prefetched and served from now on.
    package func storeSettings(_ settings: String, of snapshot: OpenSnapshot) throws(StoreError) {
        try replaceSettings(where: "id = ?", .integer(snapshot.site)) { stored in
            UpdateSchedule.settings(settings, with: UpdateSchedule(settings: stored))
        }
    }

    /// Stores the settings of a site after its run has ended.
    package func storeSettings(_ settings: String, ofSite name: String) throws(StoreError) {
        try replaceSettings(where: "name = ?", .text(name)) { stored in
            UpdateSchedule.settings(settings, with: UpdateSchedule(settings: stored))
        }
    }

    /// Replaces the settings but keeps the update schedule, which may have changed during the run.
    func replaceSettings(
        where condition: String, _ value: SQLValue, by settings: (_ stored: String) -> String
    ) throws(StoreError) {
        try transaction { () throws(StoreError) in
            var stored = ""
            try eachRow("SELECT settings FROM site WHERE \(condition)", value) { stored = $0.text(0) }
            try run("UPDATE site SET settings = ? WHERE \(condition)", .text(settings(stored)), value)
        }
        try writeStateToJournal()
    }

    /// Marks responses of the snapshot as "not found" pages, although their status is not 404.
    func mark(softNotFound hrefs: [String], in snapshot: OpenSnapshot) throws(StoreError) {
        guard !hrefs.isEmpty else { return }
        try transaction { () throws(StoreError) in
            for href in hrefs {
                try run(
                    """
                    UPDATE response SET flags = flags | ?3 WHERE url = (SELECT id FROM url WHERE href = ?1)
                        AND \(Schema.isPart(of: "?2"))
                    """, .text(href), .integer(snapshot.id),
                    .integer(Int64(ResponseFlags.isSoftNotFound.rawValue)))
            }
        }
    }

    /// Marks stored responses as invalidated, so that policies that validate check them before the next use.
    package func invalidate(_ hrefs: [String]) throws(StoreError) {
        try transaction { () throws(StoreError) in
            for href in hrefs {
                try run(
                    "UPDATE response SET flags = flags | ? WHERE url = (SELECT id FROM url WHERE href = ?)",
                    .integer(Int64(ResponseFlags.isInvalidated.rawValue)), .text(href))
            }
        }
    }

    /// Marks an unfinished live snapshot as finished: no run will continue it.
    func finishLiveSnapshot(of site: Int64, now: Int64) throws(StoreError) {
        try run(
            """
            UPDATE snapshot SET finished = ?2
            WHERE finished IS NULL AND id = (SELECT published FROM site WHERE id = ?1)
            """, .integer(site), .integer(now))
    }

    /// Marks the live snapshot as unfinished, so that the next run continues it, if it is the last one of the site
    /// and has at least this many pages.
    func reopenLiveSnapshot(of site: Int64, ifBeyond pages: Int) throws(StoreError) {
        try run(
            """
            UPDATE snapshot SET finished = NULL
            WHERE id = (SELECT published FROM site WHERE id = ?1)
                AND id = (SELECT max(id) FROM snapshot WHERE site = ?1 AND base IS NULL) AND archive IS NULL
                AND (SELECT count(*) FROM \(Schema.rows(ofSnapshot: "(SELECT published FROM site WHERE id = ?1)")) AS response
                    WHERE role = 0) >= ?2
            """, .integer(site), .integer(Int64(pages)))
    }

    /// Returns the id of the live snapshot; nil if the site has none.
    func liveSnapshot(of site: Int64) throws(StoreError) -> Int64? {
        try prepare("SELECT published FROM site WHERE id = ?")
            .first(.integer(site)) { $0.optionalInteger(0) } ?? nil
    }

    func isLive(_ snapshot: OpenSnapshot) throws(StoreError) -> Bool {
        try liveSnapshot(of: snapshot.site) == snapshot.id
    }
}

extension StoreWriter {
    /// Removes a site with all its snapshots. The next collection removes bodies that no other site has. `undoRemoval`
    /// reverses the removal, unless the disk was full.
    ///
    /// - Parameter addsToLast: whether that also reverses the previous removal.
    package func remove(_ site: Site, addsToLast: Bool = false) throws(StoreError) {
        do throws(StoreError) {
            try withSiteLock(site, doing: "remove") { () throws(StoreError) in
                let snapshots = "(SELECT id FROM snapshot WHERE site = \(site.id))"
                try record(
                    .init(kind: .site, name: site.name),
                    RemovedRows(responses: "snapshot IN \(snapshots)", site: "id = \(site.id)"),
                    addsToLast: addsToLast)
                try removeRows(of: site)
            }
        } catch  where error.reason == .full && !isPostgreSQL {
            // A full disk has no room for the record, without which the removal is final.
            try removeWithoutRecord(site)
        }
        do throws(StoreError) {
            try rewriteJournal()
        } catch  where error.reason == .full {
            // The old journal names removed rows too, which does no harm as long as the database exists.
            isJournalStale = true
        }
    }

    /// Throws `.busy` if a run has the site, so that it cannot be removed now.
    package func requireNotLocked(_ site: Site) throws(StoreError) {
        try withSiteLock(site, doing: "remove") { () throws(StoreError) in }
    }

    private func removeWithoutRecord(_ site: Site) throws(StoreError) {
        _ = try? tryTruncateLog()
        do throws(StoreError) {
            try withSiteLock(site, doing: "remove") { () throws(StoreError) in try removeRows(of: site) }
        } catch  where error.reason == .full {
            // The disk has no room for the log of one large transaction, so that most rows are removed in small ones first.
            try removeResponses(of: site)
            try withSiteLock(site, doing: "remove") { () throws(StoreError) in try removeRows(of: site) }
        }
    }

    /// Removes the responses of a site in transactions that become smaller while the disk has no room for their log.
    private func removeResponses(of site: Site) throws(StoreError) {
        let snapshots = "(SELECT id FROM snapshot WHERE site = ?1)"
        var batchSize: Int64 = 1024
        while true {
            _ = try? tryTruncateLog()
            var removed = 0
            do throws(StoreError) {
                try withSiteLock(site, doing: "remove") { () throws(StoreError) in
                    try deleteCounts()
                    try run(
                        """
                        DELETE FROM response WHERE snapshot IN \(snapshots) AND url IN (
                            SELECT DISTINCT url FROM response WHERE snapshot IN \(snapshots) LIMIT ?2)
                        """, .integer(site.id), .integer(batchSize))
                    removed = changedRowCount
                }
            } catch  where error.reason == .full && batchSize > 1 {
                batchSize = max(1, batchSize / 4)
                continue
            }
            if removed == 0 { return }
        }
    }

    func removeRows(of site: Site) throws(StoreError) {
        try run("UPDATE site SET published = NULL, overlay = NULL WHERE id = ?", .integer(site.id))
        try run(
            "DELETE FROM response WHERE snapshot IN (SELECT id FROM snapshot WHERE site = ?)",
            .integer(site.id))
        for snapshot in try snapshots(of: site) { try deleteCount(of: snapshot.id) }
        try run("DELETE FROM snapshot WHERE site = ?", .integer(site.id))
        try run("DELETE FROM pin WHERE kind = 'site' AND value = ?", .text(site.name))
        try run("DELETE FROM site WHERE id = ?", .integer(site.id))
    }

    /// Removes the stored responses of the URLs for which `isIncluded` returns true, from all snapshots. Manifests
    /// of sites stay. The next collection removes the bodies. `undoRemoval` reverses the removal.
    ///
    /// - Parameters:
    ///   - name: the text by which the user names the URLs.
    ///   - addsToLast: whether `undoRemoval` also reverses the previous removal.
    /// - Returns: The number of removed URLs.
    package func remove(
        urlsNamed name: String, addsToLast: Bool = false, where isIncluded: (String) -> Bool
    ) throws(StoreError) -> Int {
        var urls: [Int64] = []
        try withExclusiveAccess(doing: "remove from") { () throws(StoreError) in
            urls = try removableURLs(where: isIncluded)
            guard !urls.isEmpty else { return }
            try transaction { () throws(StoreError) in
                try record(
                    .init(kind: .urls, name: name), RemovedRows(responses: "false"), addsToLast: addsToLast)
                for url in urls {
                    try run(
                        "INSERT INTO removed_response SELECT * FROM response WHERE url = ? AND request <> 'manifest'",
                        .integer(url))
                    try run("DELETE FROM response WHERE url = ? AND request <> 'manifest'", .integer(url))
                }
                try deleteCounts()
            }
            // The URLs are removed. On a full disk, the journal and the counts are renewed by a later command.
            do throws(StoreError) {
                try updateStoredCounts()
                try rewriteJournal()
            } catch  where error.reason == .full {
                isJournalStale = true
            }
        }
        return urls.count
    }

    /// Whether `remove(urlsNamed:where:)` would remove a URL.
    package func hasRemovableURL(where isIncluded: (String) -> Bool) throws(StoreError) -> Bool {
        try !removableURLs(where: isIncluded).isEmpty
    }

    private func removableURLs(where isIncluded: (String) -> Bool) throws(StoreError) -> [Int64] {
        var urls: [Int64] = []
        try eachRow(
            """
            SELECT id, href FROM url WHERE EXISTS (
                SELECT 1 FROM response WHERE response.url = url.id AND response.request <> 'manifest')
            """
        ) { row in if isIncluded(row.text(1)) { urls.append(row.integer(0)) } }
        return urls
    }
}

extension Site {
    /// The error for a request to remove the live snapshot.
    ///
    /// - Parameter live: The id of the live snapshot.
    package func liveSnapshotRemovalError(live: Int64) -> StoreError {
        StoreError(
            .request, doing: "remove a snapshot of", path: name,
            detail: "snapshot \(name(ofSnapshot: live)?.description ?? "") is live",
            advice: snapshots.contains { $0.finished != nil && $0.id != live && $0.base == nil }
                ? "make another snapshot live first with: larder rollback"
                : "it is the only one; to remove the whole site: larder remove \(name)")
    }
}

extension StoreWriter {
    /// Adds a response that a server or proxy loaded to the overlay of a site: the site whose stored response it
    /// replaces, else the site that starts on its host, else a new site. `name` chooses the site instead.
    ///
    /// - Throws: `StoreError` with the reason `.busy` if the site is being prefetched for the first time.
    package func addToOverlay(
        _ response: NewResponse, replacing stored: StoredResponse?, origin: String, host: String,
        site name: String? = nil, now: Int64
    ) throws(StoreError) {
        try putIntoOverlay(response, replacing: stored, origin: origin, host: host, site: name, now: now)
        try commit()
    }

    /// The same, in a transaction that stays open until `commit`. When it throws, all of that is lost.
    package func putIntoOverlay(
        _ response: NewResponse, replacing stored: StoredResponse?, origin: String, host: String,
        site name: String? = nil, now: Int64
    ) throws(StoreError) {
        var response = response
        response.flags.subtract(.provenanceFlags)
        // If only the headers are new, an imported body stays an import.
        if case .stored = response.body, let stored, stored.isImported {
            response.flags.formUnion(stored.flags.intersection(.provenanceFlags))
        } else {
            response.flags.insert(name == nil ? .isLoaded : .isRecorded)
        }
        let key = OverlayKey(snapshot: stored?.snapshot, host: host)
        if let overlay = overlays[key] { return try put([response], links: [], to: overlay) }
        let known = try inOpenTransaction { () throws(StoreError) -> OpenSnapshot? in
            let site = if let name { try site(named: name) } else { try site(of: stored, host: host) }
            return try site.map { (site) throws(StoreError) in
                try overlay(of: site, replacing: stored, now: now)
            }
        }
        if let overlay = known {
            if !overlay.isContinued { try appendStateInOpenTransaction() }
            overlays[key] = overlay
            return try put([response], links: [], to: overlay)
        }
        try commit()
        let start = origin + "/"
        let snapshot = try begin(site: name ?? start, start: name == nil ? [start] : [], now: now)
        do throws(StoreError) {
            try add([response], to: snapshot)
            try end(snapshot, .publish(now: now))
        } catch {
            // The first error explains the failure.
            _ = try? end(snapshot, .forget)
            throw error
        }
    }

    /// Returns the site of the stored response, or else the one that starts on the host.
    private func site(of stored: StoredResponse?, host: String) throws(StoreError) -> Int64? {
        if let stored {
            let own = try prepare("SELECT site FROM snapshot WHERE id = ?").first(.integer(stored.snapshot)) {
                $0.integer(0)
            }
            if let own { return own }
        }
        return try siteStarting(onHost: host)
    }

    /// Returns the site with this name. Nil if it does not exist or has no live snapshot yet.
    private func site(named name: String) throws(StoreError) -> Int64? {
        try prepare("SELECT id FROM site WHERE name = ? AND published IS NOT NULL").first(.text(name)) {
            $0.integer(0)
        }
    }

    /// Returns the site with a start URL on the host, among several the one with the newest live snapshot.
    private func siteStarting(onHost host: String) throws(StoreError) -> Int64? {
        var found: Int64?
        try eachRow("SELECT id, start FROM site WHERE published IS NOT NULL ORDER BY published") { row in
            let starts = row.text(1).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            if starts.contains(where: { WebURL($0)?.host == host }) { found = row.integer(0) }
        }
        return found
    }

    /// The overlay of the live snapshot, which is created if necessary. A first snapshot that is served while it
    /// is being made needs none.
    private func overlay(of site: Int64, replacing stored: StoredResponse?, now: Int64) throws(StoreError)
        -> OpenSnapshot
    {
        let row = try prepare(
            """
            SELECT site.published, site.overlay, snapshot.finished FROM site
            LEFT JOIN snapshot ON snapshot.id = site.published WHERE site.id = ?
            """
        ).first(.integer(site)) { ($0.optionalInteger(0), $0.optionalInteger(1), $0.optionalInteger(2)) }
        let (published, overlay, finished) = row ?? (nil, nil, nil)
        if let overlay { return try openSnapshot(site: site, id: overlay, isContinued: true) }
        guard let base = published ?? stored?.snapshot, finished == nil else {
            let added = try prepare(
                """
                INSERT INTO snapshot (site, started, finished, base, number)
                    VALUES (?1, ?2, ?2, ?3, coalesce((SELECT number FROM snapshot WHERE id = ?3), 0))
                """
            ).insert(.integer(site), .integer(now), .optional(published))
            let id = added ?? 0
            try run("UPDATE site SET overlay = ? WHERE id = ?", .integer(id), .integer(site))
            return try openSnapshot(site: site, id: id, isContinued: false)
        }
        return try openSnapshot(site: site, id: base, isContinued: true)
    }
}
