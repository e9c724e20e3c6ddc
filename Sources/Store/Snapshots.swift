package import Database
package import Web

/// A stored site: its start URLs and its snapshots.
package struct Site: Sendable, Equatable {
    package let id: Int64
    /// How people name it: the first start URL.
    package let name: String
    package let start: [String]
    package let snapshots: [Snapshot]
    /// The snapshot that readers see; nil until one is complete.
    package let published: Int64?
    /// The overlay: responses that servers loaded on top of the live snapshot; nil if there are none.
    package let overlay: Int64?
    /// How it is prefetched and served, as whoever prefetched it wrote it down; empty when nothing was said.
    package let settings: String
    /// The snapshots that updates found unchanged, and when they last did.
    private var confirmations: [SnapshotConfirmation] {
        SnapshotConfirmation.list((try? JSONValue.parse(settings.utf8.span))?["confirmed"])
    }

    /// When an update last found that a snapshot is unchanged, in seconds since 1970; nil if none did.
    package func confirmed(_ snapshot: Snapshot) -> Int64? {
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
    public static func parted(_ text: String) -> (site: String, snapshot: SnapshotName?) {
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

/// One prefetch run of a site, or what servers loaded on top of one.
package struct Snapshot: Sendable, Equatable {
    /// Its number among the snapshots of all sites, in the order in which they began.
    package let id: Int64
    /// Its number among those of its site, from 1, as users see it. An overlay has the number of its base.
    package let number: Int64
    /// Seconds since 1970.
    package let started: Int64
    /// Nil while it runs, and after it was interrupted: the next run of the site goes on with it.
    package let finished: Int64?
    /// It ended, and readers were not to see it: the database has its end as a negative number.
    package let isRejected: Bool
    /// The snapshot that an overlay lies over; nil for a prefetch run.
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
    /// Its number among the snapshots of its site.
    package let number: Int64
    /// An earlier run was interrupted; what it stored counts.
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
    struct Shown: Equatable {
        let status: Int
        let body: Int64?
        /// The target of a redirect.
        var location: String?

        func target(from href: String) -> String? {
            location.flatMap { WebURL($0, base: WebURL(href)) }?.key.href
        }

        var isThere: Bool { status < 400 }
    }

    /// Compares the responses of two snapshots. The lists are in the order of URLs.
    init(from old: [String: Shown], to new: [String: Shown]) {
        var arrivals: [Int64: [String]] = [:]
        for (href, shown) in new where shown.isThere && !(old[href]?.isThere ?? false) {
            if let body = shown.body { arrivals[body, default: []].append(href) }
        }
        for body in arrivals.keys { arrivals[body]?.sort(by: >) }
        var arrived: Set<String> = []
        for (href, shown) in old.sorted(by: { $0.key < $1.key }) where shown.isThere {
            guard let now = new[href], now.isThere else {
                guard let body = shown.body, let target = arrivals[body]?.popLast() else {
                    gone.append(href)
                    continue
                }
                moved.append(Move(from: href, to: target))
                arrived.insert(target)
                continue
            }
            if now == shown { continue }
            if shown.location == nil, let body = shown.body, let target = now.target(from: href),
                let place = arrivals[body]?.firstIndex(of: target)
            {
                arrivals[body]?.remove(at: place)
                moved.append(Move(from: href, to: target))
                arrived.insert(target)
            } else {
                changed.append(href)
            }
        }
        added = new.filter { href, shown in
            shown.isThere && !(old[href]?.isThere ?? false) && !arrived.contains(href)
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

    /// The differences that readers would see if the second snapshot were live instead of the first.
    ///
    /// A snapshot shows, for each address, the newest response of its site that is not newer than itself, so
    /// that an address that a snapshot did not reach has not changed.
    package func difference(from first: Int64, to second: Int64) throws(StoreError) -> SnapshotDifference {
        let same = try bodiesOfSameBytes()
        return SnapshotDifference(from: try shown(by: first, same), to: try shown(by: second, same))
    }

    /// For each body whose bytes are stored in several forms, the first body with these bytes.
    private func bodiesOfSameBytes() throws(StoreError) -> [Int64: Int64] {
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

    /// The pictures of pages that a snapshot has, or of those that it took none of the last before it; none of
    /// pages that are gone.
    package func pictures(shownBy snapshot: Int64) throws(StoreError) -> [String: StoredResponse] {
        var pictures: [String: StoredResponse] = [:]
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
            let picture = StoredResponse(row)
            pictures[picture.href] = picture
        }
        return pictures
    }

    /// Whether screenshots of the site's pages are stored.
    package func hasPictures(of site: Site) throws(StoreError) -> Bool {
        for snapshot in site.snapshots.reversed() {
            // Words and pictures of pages have the role of guides, which are few otherwise.
            let found = try prepare(
                "SELECT EXISTS (SELECT 1 FROM response WHERE snapshot = ? AND role = 2 AND request = 'pictured')"
            ).first(.integer(snapshot.id)) { $0.integer(0) != 0 }
            if found == true { return true }
        }
        return false
    }

    /// The screenshot of a page in a snapshot.
    package func picture(of href: String, in snapshot: Int64) throws(StoreError) -> StoredResponse? {
        try prepare(
            """
            SELECT \(StoredResponse.columns) FROM response
            JOIN url ON url.id = response.url
            JOIN body ON body.id = response.body
            WHERE url.href = ? AND response.snapshot = ? AND response.request = 'pictured'
            """
        ).first(.text(href), .integer(snapshot), read: StoredResponse.init)
    }

    private func shown(
        by snapshot: Int64, _ same: [Int64: Int64]
    ) throws(StoreError) -> [String: SnapshotDifference.Shown] {
        var shown: [String: SnapshotDifference.Shown] = [:]
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
            // The last of an address is what readers see first.
            shown[request.isEmpty ? href : "\(href) (\(request))"] =
                SnapshotDifference.Shown(
                    status: Int(row.integer(2)), body: row.optionalInteger(3).map { same[$0] ?? $0 },
                    location: HTTPFields(block: row.text(4).utf8.span)["Location"])
        }
        return shown
    }
}

extension StoreWriter {
    /// Makes another snapshot of the site live, usually an older one. Readers no longer see newer responses.
    ///
    /// The next prefetch is a newer snapshot again and is published when it is complete.
    package func publish(snapshot: Int64, of site: Site) throws(StoreError) {
        try holding(site, doing: "make a snapshot live in") { () throws(StoreError) in
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
        try noteState()
    }

    /// Makes the snapshot live. Responses in the overlay that the snapshot does not have become part of it.
    func show(_ snapshot: OpenSnapshot) throws(StoreError) {
        // What began before it lies below it now.
        let later = try prepare("SELECT overlay FROM site WHERE id = ?1 AND overlay > ?2")
            .first(.integer(snapshot.site), .integer(snapshot.id)) { $0.integer(0) }
        try run(
            "UPDATE site SET published = ?, overlay = NULL WHERE id = ?", .integer(snapshot.id),
            .integer(snapshot.site))
        guard let later else { return }
        try move(responsesOf: later, to: snapshot.id)
        try remove(snapshot: later)
        // The journal has them under the number of a snapshot that is gone.
        if !isServed { try noteResponses("response.snapshot = \(snapshot.id)") }
    }

    /// Moves responses to another snapshot, except those for which that one has a response of its own.
    ///
    /// - Parameter onlyConfirmed: what the other confirmed, and nothing else.
    private func move(
        responsesOf snapshot: Int64, to other: Int64, onlyConfirmed: Bool = false
    ) throws(StoreError) {
        try run(
            """
            UPDATE response SET snapshot = ?1
            WHERE snapshot = ?2 \(onlyConfirmed ? "AND confirmed >= ?1" : "") AND NOT EXISTS (
                SELECT 1 FROM response AS own WHERE own.url = response.url AND own.snapshot <> ?2
                    AND own.request = response.request AND own.variant = response.variant
                    AND \(Schema.isOf("?1", "own")))
            """, .integer(other), .integer(snapshot))
        try forgetCount(of: snapshot)
        try forgetCount(of: other)
    }

    private func remove(snapshot: Int64) throws(StoreError) {
        try run("UPDATE site SET overlay = NULL WHERE overlay = ?", .integer(snapshot))
        try run("DELETE FROM response WHERE snapshot = ?", .integer(snapshot))
        try forgetCount(of: snapshot)
        try run("DELETE FROM snapshot WHERE id = ?", .integer(snapshot))
        try countConfirmedAgain()
    }

    /// Removes a snapshot. Later snapshots keep showing the responses that they took over from it: these move to the next
    /// snapshot. `undoRemoval` reverses it.
    ///
    /// - Parameters:
    ///   - addsToLast: whether that also reverses the previous removal.
    ///   - canBeUndone: false if the user has not asked for the removal; `undoRemoval` then still reverses the one before.
    package func drop(
        snapshot: Int64, of site: Site, addsToLast: Bool = false, canBeUndone: Bool = true
    ) throws(StoreError) {
        isJournalBehind = true
        try dropRows(ofSnapshot: snapshot, of: site, recordsRemoval: canBeUndone, addsToLast: addsToLast)
        try countAgain()
        try renewJournal()
    }

    func dropRows(
        ofSnapshot snapshot: Int64, of site: Site, recordsRemoval: Bool = false, addsToLast: Bool = false
    ) throws(StoreError) {
        try holding(site, doing: "remove a snapshot of") { () throws(StoreError) in
            let snapshots = try snapshots(of: site)
            guard let place = snapshots.firstIndex(where: { $0.id == snapshot }) else {
                throw StoreError(
                    .request, doing: "remove a snapshot of", path: site.name,
                    detail:
                        "it has no snapshot \(site.name(ofSnapshot: snapshot)?.description ?? "with the id \(snapshot)")",
                    advice: "list its snapshots with: larder snapshots")
            }
            if snapshots[place].isPublished { throw site.cannotDrop(live: snapshot) }
            if recordsRemoval {
                let name = site.name(ofSnapshot: snapshot).map { "\(site.name)@\($0)" } ?? site.name
                try record(
                    .init(kind: .snapshot, name: name),
                    RemovedRows(responses: "snapshot = \(snapshot)", snapshot: "id = \(snapshot)"),
                    addsToLast: addsToLast)
            }
            // An unfinished snapshot may be gone on with, and shows nothing yet, as long as there is none behind
            // it. What lies over another snapshot shows nothing of this one.
            let later = snapshots[(place + 1)...].filter { !$0.isOverlay }
            if let next = later.first(where: { $0.isFinished || $0.id != later.last?.id }) {
                // What the next snapshot has of its own stays its own.
                try move(responsesOf: snapshot, to: next.id)
                if recordsRemoval { try recordMoved(from: snapshot, to: next.id) }
            } else if let growing = later.last {
                try move(responsesOf: snapshot, to: growing.id, onlyConfirmed: true)
                if recordsRemoval { try recordMoved(from: snapshot, to: growing.id) }
            }
            try remove(snapshot: snapshot)
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
    package func keep(settings: String, of snapshot: OpenSnapshot) throws(StoreError) {
        try replaceSettings(where: "id = ?", .integer(snapshot.site)) { held in
            UpdateSchedule.settings(settings, with: UpdateSchedule(settings: held))
        }
    }

    /// Stores the settings of a site after its run has ended.
    package func keep(settings: String, ofSite name: String) throws(StoreError) {
        try replaceSettings(where: "name = ?", .text(name)) { held in
            UpdateSchedule.settings(settings, with: UpdateSchedule(settings: held))
        }
    }

    /// Replaces the settings but keeps the update schedule, which may have changed during the run.
    func replaceSettings(
        where condition: String, _ value: SQLValue, by settings: (_ held: String) -> String
    ) throws(StoreError) {
        try transaction { () throws(StoreError) in
            var held = ""
            try eachRow("SELECT settings FROM site WHERE \(condition)", value) { held = $0.text(0) }
            try run("UPDATE site SET settings = ? WHERE \(condition)", .text(settings(held)), value)
        }
        try noteState()
    }

    /// Marks responses of the snapshot as "not found" pages, although their status is not 404.
    func mark(softNotFound hrefs: [String], in snapshot: OpenSnapshot) throws(StoreError) {
        guard !hrefs.isEmpty else { return }
        try transaction { () throws(StoreError) in
            for href in hrefs {
                try run(
                    """
                    UPDATE response SET flags = flags | ?3 WHERE url = (SELECT id FROM url WHERE href = ?1)
                        AND \(Schema.isOf("?2"))
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
    func finishServed(of site: Int64, now: Int64) throws(StoreError) {
        try run(
            """
            UPDATE snapshot SET finished = ?2
            WHERE finished IS NULL AND id = (SELECT published FROM site WHERE id = ?1)
            """, .integer(site), .integer(now))
    }

    func reopen(_ site: Int64, beyond pages: Int) throws(StoreError) {
        try run(
            """
            UPDATE snapshot SET finished = NULL
            WHERE id = (SELECT published FROM site WHERE id = ?1)
                AND id = (SELECT max(id) FROM snapshot WHERE site = ?1 AND base IS NULL) AND archive IS NULL
                AND (SELECT count(*) FROM \(Schema.rows(ofSnapshot: "(SELECT published FROM site WHERE id = ?1)")) AS response
                    WHERE role = 0) >= ?2
            """, .integer(site), .integer(Int64(pages)))
    }

    func published(of site: Int64) throws(StoreError) -> Int64? {
        try prepare("SELECT published FROM site WHERE id = ?")
            .first(.integer(site)) { $0.optionalInteger(0) } ?? nil
    }

    func isServed(_ snapshot: OpenSnapshot) throws(StoreError) -> Bool {
        try published(of: snapshot.site) == snapshot.id
    }
}

extension StoreWriter {
    /// Removes a site with all its snapshots. The next collection removes bodies that no other site has. `undoRemoval`
    /// reverses the removal, unless the disk was full.
    ///
    /// - Parameter addsToLast: whether that also reverses the previous removal.
    package func remove(_ site: Site, addsToLast: Bool = false) throws(StoreError) {
        do throws(StoreError) {
            try holding(site, doing: "remove") { () throws(StoreError) in
                let snapshots = "(SELECT id FROM snapshot WHERE site = \(site.id))"
                try record(
                    .init(kind: .site, name: site.name),
                    RemovedRows(responses: "snapshot IN \(snapshots)", site: "id = \(site.id)"),
                    addsToLast: addsToLast)
                try removeRows(of: site)
            }
        } catch  where error.reason == .full && !isServed {
            // A full disk has no room for the record, without which the removal is final.
            try removeWithoutRecord(site)
        }
        do throws(StoreError) {
            try renewJournal()
        } catch  where error.reason == .full {
            // The old journal names removed rows too, which does no harm as long as the database exists.
            isJournalBehind = true
        }
    }

    /// Throws `.busy` if a run has the site, so that it cannot be removed now.
    package func checkIsFree(_ site: Site) throws(StoreError) {
        try holding(site, doing: "remove") { () throws(StoreError) in }
    }

    private func removeWithoutRecord(_ site: Site) throws(StoreError) {
        _ = try? isLogEmptied()
        do throws(StoreError) {
            try holding(site, doing: "remove") { () throws(StoreError) in try removeRows(of: site) }
        } catch  where error.reason == .full {
            // The disk has no room for the log of one large transaction, so that most rows are removed in small ones first.
            try removeResponses(of: site)
            try holding(site, doing: "remove") { () throws(StoreError) in try removeRows(of: site) }
        }
    }

    /// Removes the responses of a site in transactions that become smaller while the disk has no room for their log.
    private func removeResponses(of site: Site) throws(StoreError) {
        let snapshots = "(SELECT id FROM snapshot WHERE site = ?1)"
        var batchSize: Int64 = 1024
        while true {
            _ = try? isLogEmptied()
            var removed = 0
            do throws(StoreError) {
                try holding(site, doing: "remove") { () throws(StoreError) in
                    try forgetCounts()
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

    private func removeRows(of site: Site) throws(StoreError) {
        try run("UPDATE site SET published = NULL, overlay = NULL WHERE id = ?", .integer(site.id))
        try run(
            "DELETE FROM response WHERE snapshot IN (SELECT id FROM snapshot WHERE site = ?)",
            .integer(site.id))
        for snapshot in try snapshots(of: site) { try forgetCount(of: snapshot.id) }
        try run("DELETE FROM snapshot WHERE site = ?", .integer(site.id))
        try run("DELETE FROM pin WHERE kind = 'site' AND value = ?", .text(site.name))
        try run("DELETE FROM site WHERE id = ?", .integer(site.id))
    }

    /// Removes the stored responses of the URLs for which `isMeant` returns true, from all snapshots. Manifests
    /// of sites stay. The next collection removes the bodies. `undoRemoval` reverses the removal.
    ///
    /// - Parameters:
    ///   - name: the text by which the user names the URLs.
    ///   - addsToLast: whether `undoRemoval` also reverses the previous removal.
    /// - Returns: The number of removed URLs.
    package func remove(
        named name: String, addsToLast: Bool = false, addresses isMeant: (String) -> Bool
    ) throws(StoreError) -> Int {
        var urls: [Int64] = []
        try alone(doing: "remove from") { () throws(StoreError) in
            urls = try removableURLs(isMeant)
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
                try forgetCounts()
            }
            // The URLs are removed. On a full disk, the journal and the counts are renewed by a later command.
            do throws(StoreError) {
                try countAgain()
                try renewJournal()
            } catch  where error.reason == .full {
                isJournalBehind = true
            }
        }
        return urls.count
    }

    /// Whether `remove(named:addresses:)` would remove a URL.
    package func hasRemovableURL(addresses isMeant: (String) -> Bool) throws(StoreError) -> Bool {
        try !removableURLs(isMeant).isEmpty
    }

    private func removableURLs(_ isMeant: (String) -> Bool) throws(StoreError) -> [Int64] {
        var urls: [Int64] = []
        try eachRow(
            """
            SELECT id, href FROM url WHERE EXISTS (
                SELECT 1 FROM response WHERE response.url = url.id AND response.request <> 'manifest')
            """
        ) { row in if isMeant(row.text(1)) { urls.append(row.integer(0)) } }
        return urls
    }
}

extension Site {
    /// The error of a removal of the live snapshot.
    package func cannotDrop(live: Int64) -> StoreError {
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
    package func add(
        loaded response: NewResponse, over held: StoredResponse?, origin: String, host: String,
        site name: String? = nil, now: Int64
    ) throws(StoreError) {
        try put(loaded: response, over: held, origin: origin, host: host, site: name, now: now)
        try commit()
    }

    /// The same, in a transaction that stays open until `commit`. When it throws, all of that is lost.
    package func put(
        loaded response: NewResponse, over held: StoredResponse?, origin: String, host: String,
        site name: String? = nil, now: Int64
    ) throws(StoreError) {
        var response = response
        response.flags.subtract(.ofProvenance)
        // A new head for an imported body makes that no response of the origin.
        if case .held = response.body, let held, held.isImported {
            response.flags.formUnion(held.flags.intersection(.ofProvenance))
        } else {
            response.flags.insert(name == nil ? .isLoaded : .isRecorded)
        }
        let place = LoadedPlace(snapshot: held?.snapshot, host: host)
        if let overlay = overlays[place] { return try put([response], links: [], to: overlay) }
        let known = try putting { () throws(StoreError) -> OpenSnapshot? in
            let site = if let name { try site(named: name) } else { try site(of: held, host: host) }
            return try site.map { (site) throws(StoreError) in try overlay(of: site, over: held, now: now) }
        }
        if let overlay = known {
            if !overlay.isContinued { try putState() }
            overlays[place] = overlay
            return try put([response], links: [], to: overlay)
        }
        try commit()
        let start = origin + "/"
        let snapshot = try begin(site: name ?? start, start: name == nil ? [start] : [], now: now)
        do throws(StoreError) {
            try add([response], to: snapshot)
            try end(snapshot, .publish(now: now))
        } catch {
            // The first error is the one that tells.
            _ = try? end(snapshot, .forget)
            throw error
        }
    }

    private func site(of held: StoredResponse?, host: String) throws(StoreError) -> Int64? {
        if let held {
            let own = try prepare("SELECT site FROM snapshot WHERE id = ?").first(.integer(held.snapshot)) {
                $0.integer(0)
            }
            if let own { return own }
        }
        return try site(onHost: host)
    }

    /// One that has nothing to show yet is none.
    private func site(named name: String) throws(StoreError) -> Int64? {
        try prepare("SELECT id FROM site WHERE name = ? AND published IS NOT NULL").first(.text(name)) {
            $0.integer(0)
        }
    }

    private func site(onHost host: String) throws(StoreError) -> Int64? {
        var found: Int64?
        try eachRow("SELECT id, start FROM site WHERE published IS NOT NULL ORDER BY published") { row in
            let starts = row.text(1).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            if starts.contains(where: { WebURL($0)?.host == host }) { found = row.integer(0) }
        }
        return found
    }

    /// The overlay of the live snapshot, which is created if necessary. A first snapshot that is served while it
    /// is being made needs none.
    private func overlay(of site: Int64, over held: StoredResponse?, now: Int64) throws(StoreError)
        -> OpenSnapshot
    {
        let shown = try prepare(
            """
            SELECT site.published, site.overlay, snapshot.finished FROM site
            LEFT JOIN snapshot ON snapshot.id = site.published WHERE site.id = ?
            """
        ).first(.integer(site)) { ($0.optionalInteger(0), $0.optionalInteger(1), $0.optionalInteger(2)) }
        let (published, overlay, finished) = shown ?? (nil, nil, nil)
        if let overlay { return try openSnapshot(site: site, id: overlay, isContinued: true) }
        guard let base = published ?? held?.snapshot, finished == nil else {
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
