package import Database
internal import Web

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
            SELECT count(*) FROM \(Schema.rows(ofSnapshot: "?1", "role", "body")) AS response
            WHERE role = 0 AND body IS NOT NULL
            """)
        for snapshot in site.snapshots.reversed()
        where snapshot.id <= published && snapshot.base == nil && !snapshot.isRejected {
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

    /// Returns the number of pages of a snapshot that a later one did not fetch, for example because of a limit of pages. The
    /// later one does not contain them, but its readers still see them.
    package func unfetchedPageCount(from first: Int64, to second: Int64) throws(StoreError) -> Int {
        guard first < second else { return 0 }
        let count = try prepare(
            """
            SELECT count(*) FROM \(Schema.rows(ofSnapshot: "?1")) AS old
            WHERE old.role = 0 AND old.request = '' AND old.status < 300 AND NOT EXISTS (
                SELECT 1 FROM response AS new
                WHERE new.url = old.url AND new.request = '' AND \(Schema.isPart(of: "?2", "new")))
            """
        ).first(.integer(first), .integer(second)) { $0.integer(0) }
        return Int(count ?? 0)
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
                AND \(Schema.isVisible(asOf: "?1"))
                AND 400 > (
                    SELECT page.status FROM response AS page JOIN snapshot AS other ON other.id = page.snapshot
                    WHERE page.url = response.url AND page.request = '' AND other.site = snapshot.site
                        AND \(Schema.isVisible(asOf: "?1", "page", in: "other"))
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
                AND response.request NOT IN \(RequestKey.renderedInSQL)
                AND \(Schema.isVisible(asOf: "?1"))
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
            // The user has accepted a snapshot that was rejected.
            try run("UPDATE snapshot SET finished = abs(finished) WHERE id = ?", .integer(snapshot))
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
        if backEnd.hasJournal { try writeResponsesToJournal(where: "response.snapshot = \(snapshot.id)") }
    }

    /// Makes the responses of the live snapshot part of the new one too, if its run requested only a part of the site. A
    /// response that its readers do not see is left out. The time at which a response was fetched stays.
    func takeOverResponses(_ snapshot: OpenSnapshot) throws(StoreError) {
        guard let excluded = snapshot.urlsNotTakenOver, let live = try liveSnapshot(of: snapshot.site),
            live < snapshot.id
        else { return }
        let (new, old) = (SQLValue.integer(snapshot.id), SQLValue.integer(live))
        let isPart = try prepare(
            """
            SELECT 1 FROM response JOIN url ON url.id = response.url
            WHERE url.href = ?2 AND \(Schema.isPart(of: "?1")) LIMIT 1
            """)
        var left: [SQLValue] = []
        for href in excluded.sorted() where try isPart.first(new, .text(href), read: { _ in true }) == nil {
            left.append(.text(href))
        }
        try run(
            """
            UPDATE response SET confirmed = ?1
            WHERE snapshot IN (SELECT id FROM snapshot WHERE site = ?3 AND id < ?1) AND confirmed < ?1
                AND \(Schema.isPart(of: "?2")) AND NOT EXISTS (
                SELECT 1 FROM response AS newer JOIN snapshot AS later ON later.id = newer.snapshot
                WHERE newer.url = response.url AND newer.request = response.request AND newer.snapshot > response.snapshot
                    AND later.site = ?3 AND newer.snapshot <= ?1 AND \(Schema.isAccepted("newer", in: "later")))
            """, new, old, .integer(snapshot.site))
        var taken = changedRowCount
        let leave = try prepare(
            """
            UPDATE response SET confirmed = ?2
            WHERE confirmed = ?1 AND url = (SELECT id FROM url WHERE href = ?3) AND \(Schema.isPart(of: "?1"))
            """)
        for href in left {
            try leave.run(new, old, href)
            taken -= changedRowCount
        }
        try run(
            "UPDATE snapshot SET confirmed = confirmed + ?2 WHERE id = ?1", new, .integer(Int64(taken)))
        guard taken > 0, backEnd.hasJournal else { return }
        // The condition on the snapshots uses their index.
        try writeResponsesToJournal(
            where:
                "response.snapshot IN (SELECT id FROM snapshot WHERE site = \(snapshot.site)) AND response.confirmed = \(snapshot.id)"
        )
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
            WHERE snapshot = ?2 AND confirmed >= \(onlyConfirmed ? "?1" : "0") AND NOT EXISTS (
                SELECT 1 FROM response AS own WHERE own.url = response.url AND own.snapshot <> ?2
                    AND own.request = response.request AND own.variant = response.variant
                    AND \(Schema.isPart(of: "?1", "own")))
            """, .integer(other), .integer(snapshot))
        try deleteCount(of: snapshot)
        try deleteCount(of: other)
    }

    /// Marks the responses of a snapshot that no later snapshot needs, so that `moveResponses` leaves them where they are,
    /// and they are removed with the snapshot: outdated assets, and URLs that the rules of the site exclude now. Pinned
    /// responses are needed. A response is also needed if an earlier one would be shown in its place.
    private func markUnneeded(in snapshot: Int64, of site: Site, heir: Int64) throws(StoreError) {
        var unneeded = try outdatedAssets(ofSite: site.id, onlyIn: snapshot, heir: heir)
        if let isExcluded = exclusions(site) {
            try eachRow(
                """
                SELECT DISTINCT url.id, url.href FROM response JOIN url ON url.id = response.url
                WHERE response.snapshot = ?1 AND response.confirmed < ?2 AND response.status < 400 AND NOT EXISTS (
                    SELECT 1 FROM response AS other JOIN snapshot ON snapshot.id = other.snapshot
                    WHERE other.url = response.url AND other.snapshot <> ?1 AND snapshot.site = ?3)
                """, .integer(snapshot), .integer(heir), .integer(site.id)
            ) { row in
                if isExcluded(row.text(1)) { unneeded.insert(row.integer(0)) }
            }
        }
        guard !unneeded.isEmpty else { return }
        unneeded.subtract(try pinnedURLs())
        let mark = try prepare(
            "UPDATE response SET confirmed = -1 WHERE snapshot = ?1 AND url = ?2 AND confirmed < ?3")
        for url in unneeded { try mark.run(.integer(snapshot), .integer(url), .integer(heir)) }
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
    /// snapshot, except those that no later snapshot needs. `undoRemoval` reverses it.
    ///
    /// - Parameters:
    ///   - joinsLastRemoval: whether `undoRemoval` then reverses the previous removal, too.
    ///   - canBeUndone: false if the user has not asked for the removal; `undoRemoval` then still reverses the one before.
    ///   - passesOnNumber: whether the next snapshot gets its number, if that is the last one.
    package func drop(
        snapshot: Int64, of site: Site, joinsLastRemoval: Bool = false, canBeUndone: Bool = true,
        passesOnNumber: Bool = false
    ) throws(StoreError) {
        isJournalStale = true
        try dropRows(
            ofSnapshot: snapshot, of: site, recordsRemoval: canBeUndone, joinsLastRemoval: joinsLastRemoval,
            passesOnNumber: passesOnNumber)
        try updateStoredCounts()
        try rewriteJournal()
        truncateLog()
    }

    func dropRows(
        ofSnapshot snapshot: Int64, of site: Site, recordsRemoval: Bool = false,
        joinsLastRemoval: Bool = false,
        passesOnNumber: Bool = false
    ) throws(StoreError) {
        try withSiteLock(site, doing: "remove a snapshot of") { () throws(StoreError) in
            try dropRowsInTransaction(
                ofSnapshot: snapshot, of: site, recordsRemoval: recordsRemoval,
                joinsLastRemoval: joinsLastRemoval, passesOnNumber: passesOnNumber)
        }
    }

    /// Does the work of `dropRows` in the open transaction. The caller has locked the site, or is the only writer.
    func dropRowsInTransaction(
        ofSnapshot snapshot: Int64, of site: Site, recordsRemoval: Bool = false,
        joinsLastRemoval: Bool = false,
        passesOnNumber: Bool = false
    ) throws(StoreError) {
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
                joinsLastRemoval: joinsLastRemoval)
        }
        // The next snapshot takes over the responses, since its readers see them. Overlays are skipped, because each
        // belongs to its base.
        let later = snapshots[(index + 1)...].filter { !$0.isOverlay }
        if let (heir, onlyConfirmed) = Self.heir(to: snapshots[index], among: later) {
            // Snapshots that share a number are of one run, which is kept as a whole.
            if !onlyConfirmed, !passesOnNumber { try markUnneeded(in: snapshot, of: site, heir: heir) }
            try moveResponses(of: snapshot, to: heir, onlyConfirmed: onlyConfirmed)
            if recordsRemoval { try recordMoved(from: snapshot, to: heir) }
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

    /// Returns the snapshot that takes over the responses of one that is removed, and whether it takes over only those that
    /// it confirmed; nil if there is none.
    ///
    /// Usually it is the next snapshot that was not rejected, because its readers see the responses of the removed one. If
    /// only an unfinished snapshot follows, which has no readers yet but may be continued, it takes over the responses that
    /// it confirmed. Readers of later snapshots do not see the responses of a rejected one, so the next snapshot takes over
    /// only those that it confirmed. It has such responses only if an earlier version of Larder made it.
    ///
    /// - Parameter later: The later snapshots of the site without overlays, in ascending order.
    private static func heir(
        to removed: SnapshotState, among later: [SnapshotState]
    ) -> (id: Int64, onlyConfirmed: Bool)? {
        guard let next = later.first, let last = later.last else { return nil }
        if removed.isRejected { return (next.id, true) }
        let readable = later.filter { $0.isFinished || $0.id != last.id }
        if let heir = readable.first(where: { !$0.isRejected }) ?? readable.first { return (heir.id, false) }
        return (last.id, true)
    }

    /// The state of a snapshot that decides about its removal.
    struct SnapshotState {
        let id: Int64
        let isFinished: Bool
        let isRejected: Bool
        let isPublished: Bool
        let isOverlay: Bool
    }

    /// The current snapshots; the caller's `site` may be outdated.
    func snapshots(of site: Site) throws(StoreError) -> [SnapshotState] {
        var snapshots: [SnapshotState] = []
        try eachRow(
            """
            SELECT snapshot.id, snapshot.finished, snapshot.id = site.published, snapshot.base IS NOT NULL FROM snapshot
            JOIN site ON site.id = snapshot.site
            WHERE site.id = ? ORDER BY snapshot.id
            """, .integer(site.id)
        ) { row in
            let finished = row.optionalInteger(1)
            snapshots.append(
                SnapshotState(
                    id: row.integer(0), isFinished: finished != nil, isRejected: finished ?? 0 < 0,
                    isPublished: row.integer(2) != 0, isOverlay: row.integer(3) != 0))
        }
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
                AND (SELECT count(*)
                    FROM \(Schema.rows(ofSnapshot: "(SELECT published FROM site WHERE id = ?1)", "role")) AS response
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
