package import Database
internal import Glibc
internal import Web

/// The result of a collection: the removed snapshots and URLs, and the size of the store.
package struct CollectionResult: Sendable, Equatable {
    package var droppedSnapshots = 0
    /// URLs whose response in an overlay was removed. Responses that snapshots have for these URLs stay.
    package var removedOverlayURLs = 0
    /// URLs that were part of live snapshots and are no longer stored.
    package var evictedURLs = 0
    /// The evicted URLs themselves, up to a maximum number.
    package var evicted: [String] = []
    package var removedBodies = 0
    /// The size of the store on the disk before the collection.
    package var byteCountBefore: Int64 = 0
    /// The size of the store on the disk after the collection.
    package var byteCountAfter: Int64 = 0
    /// The number of bytes by which the search index became smaller.
    package var freedIndexByteCount: Int64 = 0
    /// The number of bytes by which the store exceeds the limit, although everything that may be removed is
    /// gone. Nil if it fits.
    package var excess: Int64?
    /// The approximate size that the store would have without all that a limit may remove, if that is still more than the
    /// limit and some of it stays for this reason. Nil otherwise.
    package var attainableByteCount: Int64?
    /// The reason why the store did not shrink on the disk, although it has unused space now.
    package var shrinkFailure: StoreError?

    package init() {}

    /// Adds the result of an earlier collection by the same command.
    package mutating func add(earlier: CollectionResult) {
        droppedSnapshots += earlier.droppedSnapshots
        removedOverlayURLs += earlier.removedOverlayURLs
        evictedURLs += earlier.evictedURLs
        evicted = earlier.evicted + evicted
        removedBodies += earlier.removedBodies
        byteCountBefore = earlier.byteCountBefore
    }
}

/// The snapshots and URLs that a collection removes in addition to unreferenced content.
package struct CollectionOptions: Sendable, Equatable {
    /// The maximum size of the store in bytes; nil for no limit.
    package var limit: Int64?
    /// Which snapshots of each site to keep. If there are no rules, those in the settings of the site apply.
    package var keep = KeepRules()
    /// The names of the sites whose snapshots are removed by the rules; empty for all.
    package var sites: [String] = []
    /// Whether pages of live snapshots may be evicted if nothing else is left to remove.
    package var allowsIncomplete = false
    /// Whether the limit applies without a user who could decide, for example during an update by a timer. If it cannot be
    /// reached, only the last earlier snapshot of each site stays, so that the store does not grow with each update. Without
    /// this option, everything stays then.
    package var enforcesLimit = false
    /// The URLs of bundles that manifests require. These and the manifests are never evicted. If nil, they
    /// are treated like other URLs.
    package var requiredBundles: [String]?
    /// Whether the search index no longer contains text of removed pages, so that it does not shrink with the
    /// rest of the store.
    package var isIndexClean = false

    package init(
        limit: Int64? = nil, keep: KeepRules = KeepRules(), sites: [String] = [],
        allowsIncomplete: Bool = false, enforcesLimit: Bool = false
    ) {
        (self.limit, self.keep, self.sites) = (limit, keep, sites)
        (self.allowsIncomplete, self.enforcesLimit) = (allowsIncomplete, enforcesLimit)
    }
}

extension StoreWriter {
    /// Removes unreferenced content and, with a limit, makes the store fit (`makeFit`). Pinned content stays.
    /// Returns unused space of the database to the disk.
    ///
    /// Runs that are writing pause meanwhile, and their sites do not change. Throws `.busy` if one does not
    /// pause.
    ///
    /// - Parameter progress: Called with the number of bytes in use, at intervals.
    package func collect(
        _ options: CollectionOptions, progress: (Int64) -> Void = { _ in }
    ) throws(StoreError) -> CollectionResult {
        var result = CollectionResult()
        result.byteCountBefore = folder.byteCount
        folder.releaseReserve()
        try whileOthersPause(doing: "collect") { () throws(StoreError) in
            // On a full disk, the write-ahead log is the first thing that can return space.
            if !isPostgreSQL {
                _ = try? tryTruncateLog()
                // The log does not count as content.
                result.byteCountBefore = folder.byteCount
            }
            try withoutReferences { () throws(StoreError) in
                try forgetRemoval()
                let bodiesBefore = try count("SELECT count(*) FROM body")
                result.droppedSnapshots += try removeUnannouncedReleases()
                try removeOrphans()
                result.droppedSnapshots += try dropSnapshots(progress) { site in
                    guard options.sites.isEmpty || options.sites.contains(site.name) else {
                        return KeepRules()
                    }
                    return options.keep.isEmpty ? KeepRules(of: site) : options.keep
                }
                result.shrinkFailure = try thinPacks(wasteAllowed: Self.maxPackWaste)
                if let limit = options.limit { try makeFit(limit, options, &result, progress) }
                if !isDryRun {
                    folder.removeAbandonedUpdates()
                    try bodies.external?.removeUnreferenced()
                }
                result.removedBodies = Int(bodiesBefore - (try count("SELECT count(*) FROM body")))
            }
            try updateStoredCounts()
            result.shrinkFailure = shrink() ?? result.shrinkFailure
            if backEnd.hasJournal, folder.isJournalLong { isJournalStale = true }
            try rewriteJournalIfStale(&result)
        }
        result.byteCountAfter = backEnd.isMeasuredByFiles ? folder.byteCount : try usedByteCount()
        return result
    }

    /// Collects as `collect` does, and removes the texts of removed pages from the search index, whose size is part of the
    /// limit. Removes more content if the index shrinks less than the rest of the store.
    package func collectWithSearchIndex(
        _ options: CollectionOptions, progress: (Int64) -> Void = { _ in }
    ) throws(StoreError) -> CollectionResult {
        let reader = try StoreReader(folder)
        // The log does not count as content.
        truncateLog()
        let byteCountBefore = folder.byteCount
        let indexByteCountBefore = folder.searchIndexByteCount
        // A collection that was interrupted may have left removed pages in the search index.
        if options.limit != nil { SearchIndex.clean(reader) }
        var result = try collect(options, progress: progress)
        SearchIndex.clean(reader)
        if let limit = options.limit, backEnd.isMeasuredByFiles {
            // First a little more is removed, and finally as much as is necessary beside the index at its present size.
            var tighter = options
            for isIndexClean in [false, false, true] {
                let excess = try byteCount() - limit
                guard excess > 0 else { break }
                tighter.limit = isIndexClean ? limit : max(0, (tighter.limit ?? limit) - excess)
                tighter.isIndexClean = isIndexClean
                var further = try collect(tighter, progress: progress)
                SearchIndex.clean(reader)
                further.add(earlier: result)
                result = further
            }
        }
        result.byteCountBefore = byteCountBefore
        result.byteCountAfter = try byteCount()
        result.freedIndexByteCount = max(0, indexByteCountBefore - folder.searchIndexByteCount)
        return result
    }

    /// The size of the store with its search index. Of a copy without bytes (`forecastCollection`), the size that the store
    /// itself would have.
    private func byteCount() throws(StoreError) -> Int64 {
        isCopyWithoutBytes ? try contentByteCount() + folder.searchIndexByteCount : folder.byteCount
    }

    /// The size of the store without its search index and temporary files.
    func contentByteCount() throws(StoreError) -> Int64 {
        isCopyWithoutBytes ? try usedByteCount() + folder.journalByteCount : folder.contentByteCount
    }

    /// Rewrites the journal if it refers to rows that were removed. If the disk is full, the journal stays as
    /// it is, which does no harm.
    func rewriteJournalIfStale(_ result: inout CollectionResult) throws(StoreError) {
        guard isJournalStale else { return }
        do throws(StoreError) {
            try rewriteJournal()
        } catch  where error.reason == .full {
            result.shrinkFailure = result.shrinkFailure ?? error
        }
    }

    /// The maximum unused share of a pack. Below it, moving the bodies to another pack is not worth the time.
    static let maxPackWaste = 0.25

    /// Runs `body` without foreign keys. It must delete rows in an order in which each step is consistent,
    /// because the process may be killed at any time.
    private func withoutReferences(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        // Space in packs is returned to the disk, so the rows that referred to it must stay deleted even
        // after a power cut.
        try executeInSQLite("PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL;", doing: "collect")
        let result = Result { () throws(StoreError) in try body() }
        try executeInSQLite("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;", doing: "collect")
        try result.get()
    }

    /// The size of the store on the disk, not counting unused space in its files.
    func usedByteCount() throws(StoreError) -> Int64 {
        if isPostgreSQL { return try postgreSQLByteCount() }
        let pages = try count("PRAGMA page_count") - (try count("PRAGMA freelist_count"))
        let packed = try count(
            "SELECT coalesce(sum(coalesce(frame, size)), 0) FROM body WHERE pack IS NOT NULL")
        return pages * (try count("PRAGMA page_size")) + packed + folder.bodiesByteCount
    }

    /// Runs `body` with a larger page cache. Deleted rows are scattered over the indexes, and pages that do
    /// not fit into memory are written once per row.
    func withLargeCache(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try executeInSQLite(
            "PRAGMA cache_size = -\(Limits.collectorCacheKiB)", doing: "collect")
        let result = Result { () throws(StoreError) in try body() }
        try executeInSQLite("PRAGMA cache_size = -\(Limits.writerCacheKiB)", doing: "collect")
        try result.get()
    }

    func removeOrphans() throws(StoreError) {
        var urls: [Int64] = []
        do throws(StoreError) {
            try withLargeCache { () throws(StoreError) in
                try transaction { () throws(StoreError) in urls = try removeUnreferencedRows() }
            }
        } catch  where error.reason == .full && backEnd.canFillDisk {
            _ = try? tryTruncateLog()
            return try removeOrphansInBatches()
        }
        try deleteServedTimes(of: urls)
        try removeOrphanFiles()
    }

    /// Removes bodies and URLs that nothing refers to, in the open transaction. Returns the ids of the URLs.
    func removeUnreferencedRows() throws(StoreError) -> [Int64] {
        try removeOrphanRows()
        // Runs that have paused for this one know URLs by their ids.
        return hasPausedWriters ? [] : try removeOrphanURLs(atMost: .max)
    }

    /// Removes at most `limit` unreferenced rows of each kind from a local store. Returns the ids of the
    /// URLs.
    ///
    /// - Parameter isDone: Set to whether nothing is left to remove.
    func removeUnreferencedRows(atMost limit: Int, isDone: inout Bool) throws(StoreError) -> [Int64] {
        let links = try removeUnusedLinks(atMost: limit)
        let bodies = try removeOrphanBodies(atMost: limit)
        let urls = hasPausedWriters ? [] : try removeOrphanURLs(atMost: limit)
        isDone = max(links, bodies, urls.count) < limit
        return urls
    }

    /// Removes the times at which URLs were served. Does not create an `ActivityDatabase` if there is none.
    func deleteServedTimes(of urls: [Int64]) throws(StoreError) {
        guard folder.hasActivityDatabase, !urls.isEmpty, !isDryRun else { return }
        try ActivityDatabase(folder).deleteServedTimes(ofURLs: urls)
    }

    /// Returns unused space of the database to the disk. Returns an error if that was not possible.
    func shrink() -> StoreError? {
        do throws(StoreError) {
            if isPostgreSQL {
                guard !isDryRun else { return nil }
                try execute("VACUUM response, link, url, body, content, piece", doing: "shrink")
                return nil
            }
            if try isWorthVacuuming() { try vacuum() }
            guard try !tryTruncateLog() else { return nil }
            return StoreError(
                .busy, doing: "shrink", path: folder.database, detail: "another process is reading from it",
                advice: "run larder gc again when it has finished")
        } catch {
            return error
        }
    }

    /// Whether enough of the database is unused to be worth copying the rest of it.
    func isWorthVacuuming() throws(StoreError) -> Bool {
        if isPostgreSQL { return true }
        return try count("PRAGMA freelist_count") > count("PRAGMA page_count") / 256
    }

    /// Empties the write-ahead log. Returns false if a reader still needs it.
    func tryTruncateLog() throws(StoreError) -> Bool {
        // Readers are usually done soon, or else not for a long time.
        setBusyTimeout(milliseconds: 1000)
        let isBlocked = try count("PRAGMA wal_checkpoint(TRUNCATE)") != 0
        setBusyTimeout(milliseconds: Connection.busyMilliseconds)
        return !isBlocked
    }

    func count(_ sql: String) throws(StoreError) -> Int64 {
        try prepare(sql).first { $0.integer(0) } ?? 0
    }
}

extension StoreWriter {
    /// Removes bodies that no response has, with their content and links. The caller must be the only writer
    /// and have a transaction open.
    func removeOrphanRows() throws(StoreError) {
        if bodies.external != nil {
            try eachRow(
                """
                SELECT DISTINCT sha256 FROM body JOIN content ON content.body = body.id
                WHERE content.bytes IS NULL AND NOT EXISTS (
                    SELECT 1 FROM response WHERE response.body = body.id)
                """
            ) { orphanDigests.append($0.blob(0)) }
        }
        _ = try removeUnusedLinks(atMost: .max)
        if isPostgreSQL {
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

    /// Removes link lists that belong to no response. Returns their number.
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

    /// Removes bodies that no response has from a local store. Returns their number.
    private func removeOrphanBodies(atMost limit: Int) throws(StoreError) -> Int {
        // The other rows of the bodies are only read if one is removed.
        let referenced = try referencedBodies()
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM body") { row in
            if orphans.count < limit, !referenced.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        guard !orphans.isEmpty else { return 0 }
        let (deleteContent, deleteBody) = (
            try prepare("DELETE FROM content WHERE body = ?"), try prepare("DELETE FROM body WHERE id = ?")
        )
        for orphan in orphans {
            try deleteContent.run(.integer(orphan))
            try deleteBody.run(.integer(orphan))
        }
        isJournalStale = true
        try deleteCount(of: StoredCounts.bodies)
        return orphans.count
    }

    /// Removes the files that no body refers to. The caller must be the only writer, because writers add a
    /// file before its row.
    func removeOrphanFiles() throws(StoreError) {
        if isPostgreSQL {
            try run(
                "DELETE FROM piece WHERE NOT EXISTS (SELECT 1 FROM body WHERE body.sha256 = piece.sha256)")
        }
        defer { orphanDigests = [] }
        if isDryRun { return }
        try bodies.external?.removeUnreferenced(orphanDigests)
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

    /// Removes the URLs that no response and no link list refers to. Returns their ids. The caller must be
    /// the only writer, have a transaction open and have foreign keys turned off; otherwise SQLite would
    /// search all responses for each URL.
    private func removeOrphanURLs(atMost limit: Int) throws(StoreError) -> [Int64] {
        let referenced = try referencedURLs()
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM url") { row in
            if orphans.count < limit, !referenced.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        let delete = try prepare("DELETE FROM url WHERE id = ?")
        for orphan in orphans { try delete.run(.integer(orphan)) }
        return orphans
    }
}
