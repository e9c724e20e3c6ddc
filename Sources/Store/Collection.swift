internal import Glibc
internal import Web

/// What a collection took away.
package struct CollectionResult: Sendable, Equatable {
    package var droppedVisits = 0
    package var evictedURLs = 0
    package var removedBodies = 0
    /// What database and bodies took on the disk.
    package var byteCountBefore: Int64 = 0
    package var byteCountAfter: Int64 = 0
    /// Nil when the store could be made as small as wanted; else what is left that may not go.
    package var excess: Int64?
    /// Why the database file did not shrink, though there is room in it now.
    package var shrinkFailure: StoreError?

    package init() {}
}

extension StoreWriter {
    /// Removes what nothing refers to and, with a limit, what goes beyond it: first visits that are not
    /// shown, the oldest first, then URLs by `EvictionPlan`. Pins stay. The database gives its room back to
    /// the disk.
    ///
    /// What the shown visits show changes only by what is evicted, which is then missing, and fetched at the
    /// next prefetch. Runs that write let go meanwhile, and their sites stay as they are. Fails with `.busy`
    /// when somebody does not. `progress` is told how many bytes are in use, now and then.
    ///
    /// - Parameters:
    ///   - bundles: what manifests require; it stays too, and so do they. Nil has both take their turn.
    ///   - isIndexClean: the index of words has let go what was collected before: what it takes now it takes then.
    package func collect(
        limit: Int64?, keeping bundles: [String]? = nil, isIndexClean: Bool = false,
        progress: (Int64) -> Void = { _ in }
    ) throws(StoreError) -> CollectionResult {
        var result = CollectionResult()
        result.byteCountBefore = folder.byteCount
        try aloneForAWhile(doing: "collect") { () throws(StoreError) in
            // On a full disk the first room to be had is that of the log. Without it, the first change tells.
            if !isServed {
                _ = try? isLogEmptied()
                // Nor is the log anything that is held.
                result.byteCountBefore = folder.byteCount
            }
            try withoutReferences { () throws(StoreError) in
                let bodiesBefore = try count("SELECT count(*) FROM body")
                try removeOrphans()
                result.shrinkFailure = try thinPacks(wasteAllowed: Self.usualWaste)
                if let limit {
                    try collect(limit, keeping: bundles, isIndexClean: isIndexClean, &result, progress)
                }
                if !isRehearsing { try bodies.outer?.removeStrays() }
                result.removedBodies = Int(bodiesBefore - (try count("SELECT count(*) FROM body")))
            }
            try countAgain()
            result.shrinkFailure = shrink() ?? result.shrinkFailure
            try catchUpJournal(&result)
        }
        result.byteCountAfter = isServed ? try usedByteCount() : folder.byteCount
        return result
    }

    /// Where there is room. Without it the journal names what is gone, which does no harm.
    private func catchUpJournal(_ result: inout CollectionResult) throws(StoreError) {
        guard isJournalBehind else { return }
        do throws(StoreError) {
            try renewJournal()
        } catch  where error.reason == .full {
            result.shrinkFailure = result.shrinkFailure ?? error
        }
    }

    private func collect(
        _ limit: Int64, keeping bundles: [String]?, isIndexClean: Bool, _ result: inout CollectionResult,
        _ progress: (Int64) -> Void
    ) throws(StoreError) {
        let used = try usedByteCount()
        let whole = isServed ? used : used + folder.journalByteCount
        // The index of words becomes smaller as the rest does, as far as that is in it.
        let limit =
            isIndexClean
            ? max(0, limit - folder.searchIndexByteCount)
            : Self.share(of: limit, whole, of: whole + folder.searchIndexByteCount)
        guard max(whole, folder.contentByteCount) > limit else { return }
        // The journal, which says once more what the database does, becomes smaller as that does.
        var target = Self.share(of: limit, used, of: whole)
        // What is used takes more than that on the disk; how much more, only the disk tells.
        for round in 1...4 {
            result.droppedVisits += try dropVisits(downTo: target, progress)
            result.evictedURLs += try evict(downTo: target, keeping: bundles, progress)
            result.shrinkFailure = try thinPacks(wasteAllowed: Self.usualWaste)
            if !isServed { _ = shrink() }
            try catchUpJournal(&result)
            let used = try usedByteCount()
            guard used <= target else { break }
            if isServed { return }
            if folder.contentByteCount > limit {
                result.shrinkFailure = try thinPacks(wasteAllowed: 0)
                _ = shrink()
            }
            let held = folder.contentByteCount
            guard held > limit else { return }
            // The last time nothing is left to chance.
            target = round < 3 ? Self.share(of: limit, used, of: held) : used - (held - limit)
        }
        let left = max(try usedByteCount(), isServed ? 0 : folder.contentByteCount) - limit
        if left > 0 { result.excess = left }
    }

    private static func share(of limit: Int64, _ part: Int64, of whole: Int64) -> Int64 {
        whole > part ? Int64(Double(limit) * Double(part) / Double(whole)) : limit
    }

    /// A URL that goes may be known still, since another one leads to it.
    private static let reserve = 1.0125

    /// So much of a pack may be room that no body has: moving them takes longer than it is worth.
    private static let usualWaste = 0.25

    /// While nobody looks after them, rows must go in an order of which every step is sound: a kill may come
    /// at any time.
    private func withoutReferences(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        if isServed { return try body() }
        // What is given back to the disk was let go by rows that stay gone, even after a power cut.
        try execute("PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL;", doing: "collect")
        let result = Result { () throws(StoreError) in try body() }
        try execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;", doing: "collect")
        try result.get()
    }

    /// What the store would take on the disk if it had no room left in it.
    func usedByteCount() throws(StoreError) -> Int64 {
        if isServed { return try servedByteCount() }
        let pages = try count("PRAGMA page_count") - (try count("PRAGMA freelist_count"))
        let packed = try count(
            "SELECT coalesce(sum(coalesce(frame, size)), 0) FROM body WHERE pack IS NOT NULL")
        return pages * (try count("PRAGMA page_size")) + packed + folder.bodiesByteCount
    }

    private func dropVisits(downTo limit: Int64, _ progress: (Int64) -> Void) throws(StoreError) -> Int {
        let reader = try StoreReader(folder)
        let pins = PinSet(try reader.pins())
        // Of a site that was never published everything shows, and the last visit may be gone on with.
        let held = try heldSites()
        let sites = try reader.sites().filter {
            $0.published != nil && !pins.holds(site: $0.name) && !held.contains($0.id)
        }
        let hidden = sites.flatMap { site in
            site.visits.filter {
                $0.id != site.published && $0.id != site.overlay
                    && ($0.finished != nil || $0 != site.visits.last)
            }
        }
        var dropped = 0
        for visit in hidden.map(\.id).sorted() {
            let used = try usedByteCount()
            progress(used)
            guard used > limit else { break }
            // Looked up again: a visit that went has changed its site.
            guard let site = try reader.sites().first(where: { $0.visits.contains { $0.id == visit } }) else {
                continue
            }
            isJournalBehind = true
            try dropRows(ofVisit: visit, of: site)
            try removeOrphans()
            dropped += 1
        }
        return dropped
    }

    private func evict(
        downTo limit: Int64, keeping bundles: [String]?, _ progress: (Int64) -> Void
    ) throws(StoreError) -> Int {
        var evicted = 0
        // What a URL takes beside its bodies is a guess: a few rounds come down to it.
        for _ in 1...8 {
            // Pages that are half empty count whole. Where they cannot be put together, more goes than had
            // to.
            var used = try usedByteCount()
            if used > limit, try hasRoom() {
                _ = shrink()
                used = try usedByteCount()
            }
            progress(used)
            guard used > limit else { break }
            let urls = try urlsToEvict(share: Double(used - limit) / Double(used), keeping: bundles)
            guard !urls.isEmpty else { break }
            try remove(urls)
            evicted += urls.count
        }
        return evicted
    }

    private func remove(_ urls: [Int64]) throws(StoreError) {
        if !isServed {
            do throws(StoreError) {
                let forgotten = try copyWhatStays(without: urls)
                try forgetNotes(of: forgotten)
                return try removeOrphanFiles()
            } catch  where error.reason == .full {
                // Rows that go one by one need less room, and that of the log.
                _ = try isLogEmptied()
            }
        }
        isJournalBehind = true
        try rememberingMore { () throws(StoreError) in
            try transaction { () throws(StoreError) in
                let delete = try prepare("DELETE FROM response WHERE url = ?")
                for url in urls { try delete.run(.integer(url)) }
                try forgetCounts()
            }
        }
        try removeOrphans()
    }

    /// The plan, which is large, is gone when they are.
    private func urlsToEvict(share: Double, keeping bundles: [String]?) throws(StoreError) -> [Int64] {
        let plan = try evictionPlan(keeping: bundles)
        // The plan knows what bodies take, and not what the database takes to keep them. A little more spares a second
        // round, which takes as long as the first.
        let wanted = Double(plan.byteCount) * share * Self.reserve
        return plan.urls(toFree: Int64(wanted.rounded(.up)))
    }

    /// What goes lies all over the indexes: pages for which there is no room in memory are written once a row.
    private func rememberingMore(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        if isServed { return try body() }
        try execute("PRAGMA cache_size = -\(Limits.collectorCacheKiB)", doing: "collect")
        let result = Result { () throws(StoreError) in try body() }
        try execute("PRAGMA cache_size = -\(Limits.writerCacheKiB)", doing: "collect")
        try result.get()
    }

    private func removeOrphans() throws(StoreError) {
        var urls: [Int64] = []
        try rememberingMore { () throws(StoreError) in
            try transaction { () throws(StoreError) in
                try removeOrphanRows()
                // Whoever writes knows them by their numbers.
                if !isBeside { urls = try removeOrphanURLs() }
            }
        }
        try forgetNotes(of: urls)
        try removeOrphanFiles()
    }

    /// Only a server starts a note book.
    private func forgetNotes(of urls: [Int64]) throws(StoreError) {
        guard folder.hasNotes, !urls.isEmpty, !isRehearsing else { return }
        try NoteBook(folder).forget(urls)
    }

    /// Why the file could not be made smaller, if it could not.
    private func shrink() -> StoreError? {
        do throws(StoreError) {
            if isServed {
                guard !isRehearsing else { return nil }
                try execute("VACUUM response, link, url, body, content, piece", doing: "shrink")
                return nil
            }
            if try hasRoom() { try vacuum() }
            guard try !isLogEmptied() else { return nil }
            return StoreError(
                .busy, doing: "shrink", path: folder.database, detail: "somebody is reading from it",
                advice: "collect again when nobody does")
        } catch {
            return error
        }
    }

    /// A few pages of many are not worth a copy of all others.
    private func hasRoom() throws(StoreError) -> Bool {
        if isServed { return true }
        return try count("PRAGMA freelist_count") > count("PRAGMA page_count") / 256
    }

    /// False while somebody reads what was there before.
    func isLogEmptied() throws(StoreError) -> Bool {
        // Readers are done soon, or not for a long time.
        waitForOthers(milliseconds: 1000)
        let isBlocked = try count("PRAGMA wal_checkpoint(TRUNCATE)") != 0
        waitForOthers(milliseconds: Limits.busyMilliseconds)
        return !isBlocked
    }

    private func evictionPlan(keeping bundles: [String]?) throws(StoreError) -> EvictionPlan {
        var pinned = try pinnedURLs()
        if let bundles { try pin(bundles, in: &pinned) }
        for site in try heldSites() {
            try eachRow(
                "SELECT DISTINCT url FROM response WHERE visit IN (SELECT id FROM visit WHERE site = ?)",
                .integer(site)
            ) { pinned.insert($0.integer(0)) }
        }
        let served = folder.hasNotes ? try NoteBook(folder).servedTimes() : [:]
        var plan = EvictionPlan()
        try eachRow(
            """
            SELECT body.id, coalesce(body.frame, body.size) + length(content.links)
            FROM body JOIN content ON content.body = body.id ORDER BY body.id
            """
        ) { plan.add(body: $0.integer(0), byteCount: Int($0.integer(1))) }
        var holding: EvictionPlan.Holding?
        let starts = try startURLs()
        try eachRow("SELECT url, fetched, length(fields) + 200, body FROM response ORDER BY url") { row in
            let url = row.integer(0)
            if holding?.url != url {
                if let holding { plan.add(holding) }
                holding = EvictionPlan.Holding(
                    url: url, lastUse: starts.contains(url) ? .max : served[url] ?? 0,
                    isPinned: pinned.contains(url), byteCount: 0)
            }
            let lastUse = max(holding?.lastUse ?? 0, row.integer(1))
            holding?.lastUse = lastUse
            holding?.byteCount += Int(row.integer(2))
            if let body = row.optionalInteger(3) { plan.addUse(of: body) }
        }
        if let holding { plan.add(holding) }
        return plan
    }

    /// Where sites begin, which was fetched first: without it nobody comes to the rest.
    private func startURLs() throws(StoreError) -> Set<Int64> {
        let find = try prepare("SELECT id FROM url WHERE href = ?")
        var urls: Set<Int64> = []
        for start in try StoreReader(folder).sites().flatMap(\.start) {
            if let url = try find.first(.text(start), read: { $0.integer(0) }) { urls.insert(url) }
        }
        return urls
    }

    private func pin(_ bundles: [String], in pinned: inout Set<Int64>) throws(StoreError) {
        var hrefs = bundles
        // Without its manifest nobody knows what a bundle has to be.
        try eachRow("SELECT url, fields FROM response WHERE request = '\(RequestKey.manifest.text)'") { row in
            pinned.insert(row.integer(0))
            hrefs += HTTPFields(block: row.text(1).utf8.span)["Content-Location"].map { [$0] } ?? []
        }
        let find = try prepare("SELECT id FROM url WHERE href = ?")
        for href in hrefs {
            if let url = try find.first(.text(href), read: { $0.integer(0) }) { pinned.insert(url) }
        }
    }

    /// The URLs that a pin holds, with everything that they need, and what that needs in turn.
    private func pinnedURLs() throws(StoreError) -> Set<Int64> {
        let reader = try StoreReader(folder)
        let pins = PinSet(try reader.pins())
        guard !pins.isEmpty else { return [] }
        var pinned: Set<Int64> = []
        try eachRow(
            """
            SELECT DISTINCT url.id, url.href, site.name FROM response JOIN url ON url.id = response.url
            JOIN visit ON visit.id = response.visit JOIN site ON site.id = visit.site
            """
        ) { row in
            if pins.holds(site: row.text(2)) || pins.holds(address: row.text(1)) {
                pinned.insert(row.integer(0))
            }
        }
        try reader.addNeeds(to: &pinned)
        return pinned
    }

    private func count(_ sql: String) throws(StoreError) -> Int64 {
        try prepare(sql).first { $0.integer(0) } ?? 0
    }
}

extension StoreWriter {
    /// Removes bodies that no response has, with what is known of them. The caller is alone, in a
    /// transaction.
    func removeOrphanRows() throws(StoreError) {
        if bodies.outer != nil {
            try eachRow(
                """
                SELECT DISTINCT sha256 FROM body JOIN content ON content.body = body.id
                WHERE content.bytes IS NULL AND NOT EXISTS (
                    SELECT 1 FROM response WHERE response.body = body.id)
                """
            ) { orphanDigests.append($0.blob(0)) }
        }
        try run(
            """
            DELETE FROM link WHERE NOT EXISTS (
                SELECT 1 FROM response WHERE response.url = link.url AND response.body = link.body)
            """)
        if isServed {
            try run(
                """
                DELETE FROM content WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = content.body)
                """)
            try run(
                "DELETE FROM body WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = body.id)")
            return
        }
        // What the bodies have is read only where one goes.
        let held = try heldBodies()
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM body") { row in
            if !held.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        guard !orphans.isEmpty else { return }
        let (deleteContent, deleteBody) = (
            try prepare("DELETE FROM content WHERE body = ?"), try prepare("DELETE FROM body WHERE id = ?")
        )
        for orphan in orphans {
            try deleteContent.run(.integer(orphan))
            try deleteBody.run(.integer(orphan))
        }
        isJournalBehind = true
        try forgetCount(of: KeptTally.bodies)
    }

    /// Removes the files that no body has. The caller is alone: another writer's file comes before its row.
    func removeOrphanFiles() throws(StoreError) {
        if isServed {
            try run(
                "DELETE FROM piece WHERE NOT EXISTS (SELECT 1 FROM body WHERE body.sha256 = piece.sha256)")
        }
        defer { orphanDigests = [] }
        if isRehearsing { return }
        try bodies.outer?.remove(orphanDigests)
        let names = folder.bodyFileNames
        guard !names.isEmpty else { return }
        var known: Set<String> = []
        try eachRow(
            """
            SELECT DISTINCT lower(hex(body.sha256)) FROM body JOIN content ON content.body = body.id
            WHERE content.bytes IS NULL AND body.pack IS NULL
            """
        ) { known.insert($0.text(0)) }
        for name in names where !known.contains(name) {
            let file = folder.bodyFile(sha256: name)
            guard unlink(file) == 0 || errno == ENOENT else {
                throw StoreError(errno, doing: "remove", path: file)
            }
        }
    }

    /// Removes the URLs that no response and no list of links names. The caller is alone, in a transaction,
    /// and references are not followed: SQLite would look through every response for each URL. Gives their
    /// numbers.
    private func removeOrphanURLs() throws(StoreError) -> [Int64] {
        let named = try namedURLs()
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM url") { row in
            if !named.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        let delete = try prepare("DELETE FROM url WHERE id = ?")
        for orphan in orphans { try delete.run(.integer(orphan)) }
        return orphans
    }
}
