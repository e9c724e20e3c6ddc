internal import Glibc
internal import Web

/// What a collection removed.
package struct CollectionResult: Sendable, Equatable {
    package var droppedSnapshots = 0
    /// URLs of which servers had loaded a newer response, or the only one: that response is gone. What snapshots have
    /// of these URLs stays.
    package var removedOverlayURLs = 0
    /// URLs that were part of live snapshots and are missing now.
    package var evictedURLs = 0
    /// The addresses of these URLs, up to a number.
    package var evicted: [String] = []
    package var removedBodies = 0
    /// What database and bodies took on the disk.
    package var byteCountBefore: Int64 = 0
    package var byteCountAfter: Int64 = 0
    /// By how many bytes the store is larger than the limit, after everything that may go has gone. Nil if it fits.
    package var excess: Int64?
    /// Why the database file did not shrink, though there is room in it now.
    package var shrinkFailure: StoreError?

    package init() {}

    /// Adds what an earlier collection of the same command removed.
    package mutating func add(earlier: CollectionResult) {
        droppedSnapshots += earlier.droppedSnapshots
        removedOverlayURLs += earlier.removedOverlayURLs
        evictedURLs += earlier.evictedURLs
        evicted = earlier.evicted + evicted
        removedBodies += earlier.removedBodies
        byteCountBefore = earlier.byteCountBefore
    }
}

/// What a collection may remove beside everything that nothing refers to.
package struct CollectionOptions: Sendable, Equatable {
    /// How many bytes the store may take; nil for no limit.
    package var limit: Int64?
    /// How many finished snapshots each site keeps, the served one among them; nil for all.
    package var keepLast: Int?
    /// Whether pages of live snapshots may be evicted when nothing else is left to remove.
    package var allowsIncomplete = false
    /// URLs of bundles that manifests require. They and the manifests stay. Nil: they are treated like other URLs.
    package var requiredBundles: [String]?
    /// Words of removed pages are not in the search index any more, so that it does not become smaller with the rest.
    package var isIndexClean = false

    package init(limit: Int64? = nil, keepLast: Int? = nil, allowsIncomplete: Bool = false) {
        (self.limit, self.keepLast, self.allowsIncomplete) = (limit, keepLast, allowsIncomplete)
    }
}

extension StoreWriter {
    /// Removes what nothing refers to and, with a limit, makes the store fit: see `makeFit`. Pins stay. The database
    /// gives its free pages back to the disk.
    ///
    /// Runs that write pause meanwhile, and their sites stay as they are. Fails with `.busy` when one does not.
    ///
    /// - Parameter progress: is given the number of bytes in use, now and then.
    package func collect(
        _ options: CollectionOptions, progress: (Int64) -> Void = { _ in }
    ) throws(StoreError) -> CollectionResult {
        var result = CollectionResult()
        result.byteCountBefore = folder.byteCount
        folder.releaseReserve()
        try aloneForAWhile(doing: "collect") { () throws(StoreError) in
            // On a full disk the log is the first thing that gives room back.
            if !isServed {
                _ = try? isLogEmptied()
                // The log is not content either.
                result.byteCountBefore = folder.byteCount
            }
            try withoutReferences { () throws(StoreError) in
                let bodiesBefore = try count("SELECT count(*) FROM body")
                try removeOrphans()
                if let keepLast = options.keepLast {
                    result.droppedSnapshots += try dropSnapshots(keepingLast: keepLast, progress)
                }
                result.shrinkFailure = try thinPacks(wasteAllowed: Self.usualWaste)
                if let limit = options.limit { try makeFit(limit, options, &result, progress) }
                if !isRehearsing { try bodies.outer?.removeStrays() }
                result.removedBodies = Int(bodiesBefore - (try count("SELECT count(*) FROM body")))
            }
            try countAgain()
            result.shrinkFailure = shrink() ?? result.shrinkFailure
            if !isServed, folder.isJournalLong { isJournalBehind = true }
            try catchUpJournal(&result)
        }
        result.byteCountAfter = isServed ? try usedByteCount() : folder.byteCount
        return result
    }

    /// Writes the journal anew if it names rows that are gone. On a full disk it stays as it is, which does no harm.
    func catchUpJournal(_ result: inout CollectionResult) throws(StoreError) {
        guard isJournalBehind else { return }
        do throws(StoreError) {
            try renewJournal()
        } catch  where error.reason == .full {
            result.shrinkFailure = result.shrinkFailure ?? error
        }
    }

    /// The share of a pack that may be unused: moving its bodies to another pack takes longer than that is worth.
    static let usualWaste = 0.25

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

    /// What goes lies all over the indexes: pages for which there is no room in memory are written once a row.
    func rememberingMore(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        if isServed { return try body() }
        try execute("PRAGMA cache_size = -\(Limits.collectorCacheKiB)", doing: "collect")
        let result = Result { () throws(StoreError) in try body() }
        try execute("PRAGMA cache_size = -\(Limits.writerCacheKiB)", doing: "collect")
        try result.get()
    }

    func removeOrphans() throws(StoreError) {
        var urls: [Int64] = []
        do throws(StoreError) {
            try rememberingMore { () throws(StoreError) in
                try transaction { () throws(StoreError) in urls = try removeUnreferencedRows() }
            }
        } catch  where error.reason == .full && !isServed {
            _ = try? isLogEmptied()
            return try removeOrphansInBatches()
        }
        try forgetNotes(of: urls)
        try removeOrphanFiles()
    }

    /// Removes bodies and URLs that nothing refers to, in the open transaction. Returns the numbers of the URLs.
    func removeUnreferencedRows() throws(StoreError) -> [Int64] {
        try removeOrphanRows()
        // Runs that write beside this one know URLs by their numbers.
        return isBeside ? [] : try removeOrphanURLs(atMost: .max)
    }

    /// Removes at most `limit` unreferenced rows of each kind from a store in a folder.
    ///
    /// - Parameter isDone: set if nothing is left to remove.
    func removeUnreferencedRows(atMost limit: Int, isDone: inout Bool) throws(StoreError) -> [Int64] {
        let links = try removeUnusedLinks(atMost: limit)
        let bodies = try removeOrphanBodies(atMost: limit)
        let urls = isBeside ? [] : try removeOrphanURLs(atMost: limit)
        isDone = max(links, bodies, urls.count) < limit
        return urls
    }

    /// Only a server starts a note book.
    func forgetNotes(of urls: [Int64]) throws(StoreError) {
        guard folder.hasNotes, !urls.isEmpty, !isRehearsing else { return }
        try NoteBook(folder).forget(urls)
    }

    /// Why the file could not be made smaller, if it could not.
    func shrink() -> StoreError? {
        do throws(StoreError) {
            if isServed {
                guard !isRehearsing else { return nil }
                try execute("VACUUM response, link, url, body, content, piece", doing: "shrink")
                return nil
            }
            if try hasRoom() { try vacuum() }
            guard try !isLogEmptied() else { return nil }
            return StoreError(
                .busy, doing: "shrink", path: folder.database, detail: "another process is reading from it",
                advice: "run larder gc again when it has finished")
        } catch {
            return error
        }
    }

    /// A few pages of many are not worth a copy of all others.
    func hasRoom() throws(StoreError) -> Bool {
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

    func count(_ sql: String) throws(StoreError) -> Int64 {
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
        _ = try removeUnusedLinks(atMost: .max)
        if isServed {
            try run(
                """
                DELETE FROM content WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = content.body)
                """)
            try run(
                "DELETE FROM body WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = body.id)")
            return
        }
        _ = try removeOrphanBodies(atMost: .max)
    }

    /// Removes lists of links that belong to no response. Returns how many.
    private func removeUnusedLinks(atMost limit: Int) throws(StoreError) -> Int {
        let isUnused = """
            NOT EXISTS (SELECT 1 FROM response WHERE response.url = link.url AND response.body = link.body)
            """
        if limit == .max {
            try run("DELETE FROM link WHERE \(isUnused)")
        } else {
            try run(
                "DELETE FROM link WHERE (url, body) IN (SELECT url, body FROM link WHERE \(isUnused) LIMIT ?)",
                .integer(Int64(limit)))
        }
        return changedRowCount
    }

    /// Removes bodies of a folder that no response has. Returns how many.
    private func removeOrphanBodies(atMost limit: Int) throws(StoreError) -> Int {
        // What the bodies have is read only where one goes.
        let held = try heldBodies()
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM body") { row in
            if orphans.count < limit, !held.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        guard !orphans.isEmpty else { return 0 }
        let (deleteContent, deleteBody) = (
            try prepare("DELETE FROM content WHERE body = ?"), try prepare("DELETE FROM body WHERE id = ?")
        )
        for orphan in orphans {
            try deleteContent.run(.integer(orphan))
            try deleteBody.run(.integer(orphan))
        }
        isJournalBehind = true
        try forgetCount(of: KeptTally.bodies)
        return orphans.count
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
    private func removeOrphanURLs(atMost limit: Int) throws(StoreError) -> [Int64] {
        let named = try namedURLs()
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM url") { row in
            if orphans.count < limit, !named.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        let delete = try prepare("DELETE FROM url WHERE id = ?")
        for orphan in orphans { try delete.run(.integer(orphan)) }
        return orphans
    }
}
