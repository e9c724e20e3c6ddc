package import Database
internal import Digest
internal import Glibc

/// The connection that writes to a store. It belongs to one thread; `WriteQueue` provides one.
///
/// There are two kinds of changes:
///
/// - Responses and links are added to a transaction that stays open until `commit`, because one transaction per
///   response would be slow. If a call throws, everything in the open transaction is lost.
/// - All other changes, such as the removal of a site, use `transaction` and are committed when it returns.
///
/// A commit makes bodies durable first, then the lines of the journal, then the rows of the database, so that
/// no row ever refers to an incomplete body (`commit`).
///
/// A writer holds the lock of each site whose snapshot it has open (`openSites`), from `begin` or `join` to
/// `end`. Operations that need the whole store for themselves (`withExclusiveAccess`, `whileOthersPause`) fail
/// while this writer has a snapshot open.
package final class StoreWriter {
    package let folder: StoreFolder
    private let connection: Connection
    var bodies: BodyRows
    var urls: URLRows
    let rows: ResponseRows
    /// Statements for batches of rows; nil if the store is a local folder.
    let batch: PostgreSQLBatch?
    let journal: Journal
    private let locks: StoreLocks

    /// The sites whose snapshots this writer has open.
    private var openSites: Set<Int64> = []
    /// The lease of the worker that this writer writes for; nil if the writer holds the site exclusively.
    private var lease: WorkerLease?
    /// Whether other writers exist that have paused for this one. True only within `whileOthersPause`.
    private(set) var hasPausedWriters = false
    /// Whether all changes will be rolled back. True only within `rollingBack`.
    private(set) var isDryRun = false
    /// Returns which URLs the rules of a site exclude; nil if it excludes none. Callers that remove snapshots set it,
    /// because this module does not know the rules.
    package var exclusions: (Site) -> ((_ href: String) -> Bool)? = { _ in nil }
    /// Whether the store is a copy whose files with bodies are empty (`forecastCollection`), so that its size is computed
    /// from its rows.
    var isCopyWithoutBytes = false
    /// The estimated size of the rows in the open transaction; nil if no transaction is open.
    private var openRowBytes: Int?
    /// Whether the journal contains rows that were removed or moved since. Set before the change is
    /// committed.
    var isJournalStale = false {
        didSet { if isJournalStale != oldValue { folder.markJournal(isStale: isJournalStale) } }
    }
    /// The digests of bodies whose rows were removed and whose bytes are in the external storage.
    var orphanDigests: [[UInt8]] = []
    /// The overlays for loaded responses that were looked up in the open transaction.
    var overlays: [OverlayKey: OpenSnapshot] = [:]

    /// Waits until servers have noticed a change of the store, which they look for once a second. Tests replace it, in
    /// order not to wait.
    var waitForServers: () -> Void = { sleep(2) }

    /// Whether the snapshot that was written to last may confirm responses of earlier snapshots: the result of
    /// `canConfirm`, because it is the same for all responses of a snapshot.
    var confirmingSnapshot: (id: Int64, canConfirm: Bool)?

    /// The key of `overlays`: the snapshot of the stored response that the loaded one replaces, and its host.
    struct OverlayKey: Hashable {
        let snapshot: Int64?
        let host: String
    }

    /// The lease of one of several workers that write to the same snapshot. It expires if the worker sends no
    /// sign of life; each commit checks it.
    private struct WorkerLease {
        let worker: Int64
        let check: Statement
        /// Adds to the worker's number of stored pages, and checks its lease. Nil if the snapshot has no
        /// limit of pages.
        let addPages: Statement?
        /// The number of pages in the open transaction.
        var openPageCount = 0
    }

    /// Opens the store, and creates or migrates it if necessary.
    package init(_ folder: StoreFolder) throws(StoreError) {
        let opened = try OpenedStore(folder)
        let connection = opened.connection
        let locks = opened.locks
        try CopyMark.checkAbsent(folder, connection)
        self.connection = connection
        try locks.join { () throws(StoreError) in
            // Files that killed runs left in `incoming` may only be removed while no other run uses the
            // folder.
            folder.clearIncoming()
            if try Migration.isNeeded(connection) {
                /// The journal is written before the commit, so that a kill never leaves a migrated store
                /// without one.
                try Migration.run(connection) { () throws(StoreError) in
                    let draft = try Journal.draft(in: folder) { journal throws(StoreError) in
                        try connection.writeRowsInTransaction(to: journal)
                    }
                    try Journal(folder).adopt(draft)
                }
            }
        }
        self.locks = locks
        guard try !Migration.isNeeded(connection) else {
            throw StoreError(
                .busy, doing: "migrate", path: folder.name,
                detail: "an earlier version of Larder is writing to it")
        }
        self.folder = folder
        journal = Journal(folder)
        bodies = try BodyRows(folder, connection, journal)
        urls = try URLRows(connection)
        rows = try ResponseRows(connection)
        batch = connection.isPostgreSQL ? try PostgreSQLBatch(connection) : nil
        try updateStoredCounts()
        if folder.server == nil, folder.journalFiles.isEmpty,
            try connection.integer("SELECT EXISTS (SELECT 1 FROM site)") != 0
        {
            try rewriteJournal()
        }
        try hashSecretsOfEarlierVersions()
        if folder.isJournalStale {
            /// A run was killed before it could rewrite the journal. If others are writing, one of them does
            /// so later.
            isJournalStale = true
            try? withExclusiveAccess(doing: "rewrite the journal of") { () throws(StoreError) in
                try rewriteJournal()
            }
        }
    }

    /// Locks the site against other runs and returns the snapshot to write to: the unfinished one of the
    /// site, or else a new one.
    ///
    /// - Parameters:
    ///   - pages: If not nil, continues the live snapshot if it has at least this many pages, because it
    ///     ended at a limit.
    ///   - isGated: Whether the run must not add anything to the live snapshot.
    ///   - archives: The paths of the archives to import. An import always begins a snapshot of its own,
    ///     which records them.
    package func begin(
        site name: String, start: [String], now: Int64, beyond pages: Int? = nil, isGated: Bool = false,
        importing archives: [String]? = nil
    ) throws(StoreError) -> OpenSnapshot {
        let site = try lockSite(named: name, start: .text(start.joined(separator: "\n")))
        do throws(StoreError) {
            if isGated {
                try finishLiveSnapshot(of: site, now: now)
            } else if let pages {
                try reopenLiveSnapshot(of: site, ifBeyond: pages)
            }
            let snapshot = try continueOrBeginSnapshot(of: site, now: now, importing: archives)
            try writeStateToJournal()
            openSites.insert(site)
            return snapshot
        } catch {
            // The first error is the one that matters.
            try? locks.unlock(site: site)
            throw error
        }
    }

    /// Joins a snapshot that several workers write to, on behalf of one of them. Commits fail after the lease
    /// of the worker has expired. Throws `.busy` if a prefetch has locked the site exclusively.
    ///
    /// - Parameters:
    ///   - checkingLease: The query that returns no row after the lease of the worker has expired.
    ///   - addingPages: The statement that also counts pages; nil if the number of pages has no limit.
    ///   - maxIdle: How long a transaction may be idle before the server ends the session.
    package func join(
        _ snapshot: Int64, of site: Int64, named name: String, as worker: Int64,
        checkingLease: String, addingPages: String?, maxIdle: Duration
    ) throws(StoreError) -> OpenSnapshot {
        try locks.lockShared(site: site, named: name)
        openSites.insert(site)
        lease = WorkerLease(
            worker: worker, check: try connection.prepare(checkingLease),
            addPages: try addingPages.map { (sql) throws(StoreError) in try connection.prepare(sql) })
        try connection.session?.endWhenIdle(maxIdle)
        return try openSnapshot(site: site, id: snapshot, isContinued: true)
    }

    func openSnapshot(site: Int64, id: Int64, isContinued: Bool) throws(StoreError) -> OpenSnapshot {
        let number = try prepare("SELECT number FROM snapshot WHERE id = ?").first(.integer(id)) {
            $0.integer(0)
        }
        return OpenSnapshot(site: site, id: id, number: number ?? 0, isContinued: isContinued)
    }

    /// Throws if the lease of the worker has expired. The statement locks its row, so the lease cannot be
    /// taken away before the transaction ends.
    private func checkLease() throws(StoreError) {
        guard let lease else { return }
        let isValid =
            if let addPages = lease.addPages, lease.openPageCount > 0 {
                try addPages.first(.integer(lease.worker), .integer(Int64(lease.openPageCount))) { _ in true }
            } else {
                try lease.check.first(.integer(lease.worker)) { _ in true }
            }
        guard isValid == nil else { return }
        throw StoreError(
            .request, doing: "write to", path: folder.name,
            detail:
                "worker \(lease.worker) did not report for too long, so other workers took over its work",
            advice: "run larder work again to continue")
    }

    /// Locks the site, which is added if it is missing, and returns its id. Throws `.busy` if a run has it.
    private func lockSite(named name: String, start: SQLValue) throws(StoreError) -> Int64 {
        let find = try connection.prepare("SELECT id FROM site WHERE name = ?")
        while true {
            let site = try transaction { () throws(StoreError) in
                try connection.prepare("INSERT INTO site (name, start) VALUES (?, ?) ON CONFLICT DO NOTHING")
                    .run(.text(name), start)
                return try find.first(.text(name)) { $0.integer(0) } ?? 0
            }
            try throwBusy(named: name, if: openSites.contains(site))
            try locks.lock(site: site, named: name)
            // Another run may have removed the row of the site before this one had the lock.
            if try find.first(.text(name), read: { $0.integer(0) }) == site {
                try run("UPDATE site SET start = ? WHERE id = ?", start, .integer(site))
                return site
            }
            try locks.unlock(site: site)
        }
    }

    /// Returns the unfinished snapshot of the site, if it can be continued, or else begins a new one.
    private func continueOrBeginSnapshot(
        of site: Int64, now: Int64, importing archives: [String]?
    ) throws(StoreError) -> OpenSnapshot {
        // An older unfinished snapshot is not continued: its responses are too old to be published as
        // current, or another snapshot has replaced them.
        let unfinished = try connection.prepare(
            """
            SELECT id FROM snapshot WHERE site = ?1 AND finished IS NULL
                AND started > iif(id = (SELECT published FROM site WHERE id = ?1), ?3, ?2)
                AND id = (SELECT max(id) FROM snapshot WHERE site = ?1 AND base IS NULL) AND archive IS NULL
            """
        ).first(
            .integer(site), .integer(now - Limits.maxSecondsToContinue),
            .integer(now - Limits.maxSecondsToExtendLive)
        ) { $0.integer(0) }
        if let unfinished, archives == nil {
            return try openSnapshot(site: site, id: unfinished, isContinued: true)
        }

        try finishLiveSnapshot(of: site, now: now)
        let added = try transaction { () throws(StoreError) in
            try run("UPDATE site SET snapshots = snapshots + 1 WHERE id = ?", .integer(site))
            return try connection.prepare(
                """
                INSERT INTO snapshot (site, started, archive, number)
                    VALUES (?1, ?2, ?3, (SELECT snapshots FROM site WHERE id = ?1))
                """
            ).insert(.integer(site), .integer(now), .optional(archives?.joined(separator: "\n")))
        }
        return try openSnapshot(site: site, id: added ?? 0, isContinued: false)
    }

    private func throwBusy(named name: String, if isOpen: Bool) throws(StoreError) {
        guard isOpen else { return }
        throw StoreError(
            .busy, doing: "change", path: name, detail: "this process is writing a snapshot of it")
    }

    /// Runs `body` in the open transaction, or begins one that stays open. If `body` throws, everything in
    /// the transaction is lost.
    func inOpenTransaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        if openRowBytes == nil {
            try begin()
            openRowBytes = 0
        }
        do {
            return try body()
        } catch {
            rollBack()
            throw error
        }
    }

    /// Adds the sites, snapshots and pins to the journal, as they are in the open transaction.
    func appendStateInOpenTransaction() throws(StoreError) {
        guard backEnd.hasJournal else { return }
        journal.append(try inOpenTransaction { () throws(StoreError) in try connection.journalState() })
    }

    /// Whether the open transaction is so large that it should be committed soon.
    var shouldCommitSoon: Bool {
        openRowBytes ?? 0 > Limits.maxOpenRowBytes || bodies.openByteCount > Limits.maxOpenBodyBytes
    }

    /// Commits the open transaction, if there is one. Afterwards, its responses and bodies are durable.
    package func commit() throws(StoreError) {
        guard openRowBytes != nil else { return }
        overlays.removeAll(keepingCapacity: true)
        do {
            // Bodies are synced first, so that no row ever refers to an incomplete body, even after a power
            // cut.
            try bodies.sync()
            try journal.flush()
            try checkLease()
            try connection.commit()
        } catch {
            rollBack()
            throw error
        }
        openRowBytes = nil
        lease?.openPageCount = 0
        bodies.didCommit()
        urls.didCommit()
    }

    /// Whether a failed transaction may be repeated: another session was in its way, or the connection to
    /// PostgreSQL was lost. In the latter case this connects again and takes the same locks again.
    func canRetry(after error: StoreError) -> Bool {
        guard let session = connection.session else { return false }
        switch error.reason {
        case .busy: return true
        case .unreachable:
            // The error may be that of the external storage of bodies.
            guard session.isConnectionLost else { return false }
            // The new session may be lost too, before it has all locks.
            for _ in 0..<3 {
                do throws(StoreError) {
                    try session.renew()
                    try locks.renew()
                    return true
                } catch {
                    guard error.reason == .unreachable, !session.isInterrupted else { return false }
                }
            }
            return false
        case .request, .missing, .full, .denied, .unusable, .failed: return false
        }
    }

    /// Discards everything in the open transaction: its rows, bodies and journal lines.
    func rollBack() {
        // SQLite may have rolled back already, and the first error is the one that matters.
        try? connection.rollBack()
        openRowBytes = nil
        lease?.openPageCount = 0
        overlays.removeAll()
        urls.rollBack()
        bodies.rollBack()
        journal.discardPending()
    }

    /// Ends the run of a snapshot and releases the lock on its site.
    ///
    /// - Returns: The number of the live snapshot, if that stays because the new one shows the same; else nil.
    @discardableResult
    package func end(_ snapshot: OpenSnapshot, _ ending: SnapshotEnding) throws(StoreError) -> Int64? {
        var unchanged: Int64?
        switch ending {
        case .publishIfChanged(let now):
            unchanged =
                lease == nil
                ? try transaction { () throws(StoreError) in try mergeIfUnchanged(snapshot) } : nil
            guard unchanged != nil else { return try end(snapshot, .publish(now: now)) }
        case .publish(let now):
            try transaction { () throws(StoreError) in
                try connection.prepare("UPDATE snapshot SET finished = ? WHERE id = ?")
                    .run(.integer(now), .integer(snapshot.id))
                try takeOverResponses(snapshot)
                try makeLive(snapshot)
            }
        case .publishSoFar:
            try transaction { () throws(StoreError) in try makeLive(snapshot) }
        case .keepOpen:
            break
        case .reject(let now):
            // If the site has no live snapshot, readers would see the rejected one.
            guard try liveSnapshot(of: snapshot.site) != nil else { return try end(snapshot, .forget) }
            try transaction { () throws(StoreError) in
                try connection.prepare("UPDATE snapshot SET finished = ? WHERE id = ?").run(
                    .integer(-now), .integer(snapshot.id))
            }
        case .forget where try isLive(snapshot):
            // An earlier run has published this snapshot, so it stays.
            break
        case .forget:
            try transaction { () throws(StoreError) in
                try deleteCount(of: snapshot.id)
                try connection.prepare("DELETE FROM response WHERE snapshot = ?").run(.integer(snapshot.id))
                try releaseNumber(of: snapshot)
                try connection.prepare("DELETE FROM snapshot WHERE id = ?").run(.integer(snapshot.id))
                try connection.prepare(
                    "DELETE FROM site WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM snapshot WHERE site = ?1)"
                ).run(.integer(snapshot.site))
            }
        }
        try updateStoredCounts()
        try writeStateToJournal()
        truncateLog()
        openSites.remove(snapshot.site)
        try locks.unlock(site: snapshot.site)
        shortenJournalIfLong()
        folder.createReserve()
        return unchanged
    }

    /// Makes the number of a snapshot that is about to be deleted that of the site's next snapshot.
    func releaseNumber(of snapshot: OpenSnapshot) throws(StoreError) {
        try run(
            """
            UPDATE site SET snapshots = snapshots - 1
            WHERE id = ?1 AND snapshots = (SELECT number FROM snapshot WHERE id = ?2)
            """, .integer(snapshot.site), .integer(snapshot.id))
    }

    /// Rewrites the journal if it has become long, because every change adds lines to it. While others write,
    /// this is left to the next run that ends.
    private func shortenJournalIfLong() {
        guard backEnd.hasJournal, openSites.isEmpty, folder.isJournalLong else { return }
        try? withExclusiveAccess(doing: "rewrite the journal of") { () throws(StoreError) in
            try rewriteJournal()
        }
    }

    /// Empties the write-ahead log, which the next reader would have to read, and which counts as a part of the store. Does
    /// not wait for other processes.
    func truncateLog() {
        guard !isPostgreSQL else { return }
        setBusyTimeout(milliseconds: 0)
        _ = try? prepare("PRAGMA wal_checkpoint(TRUNCATE)").first { $0.integer(0) }
        setBusyTimeout(milliseconds: Connection.busyMilliseconds)
    }

    /// Adds the sites, snapshots and pins to the journal, and flushes it.
    func writeStateToJournal() throws(StoreError) {
        guard backEnd.hasJournal else { return }
        journal.append(try connection.journalState())
        try journal.flush()
    }

    /// Rewrites the journal from the database, because rows were removed or moved.
    func rewriteJournal() throws(StoreError) {
        if backEnd.hasJournal {
            let connection = connection
            let draft = try Journal.draft(in: folder) { journal throws(StoreError) in
                try connection.write(to: journal)
            }
            try journal.adopt(draft)
        }
        isJournalStale = false
    }

    /// Replaces the journal with a draft. If the disk is full, the journal stays as it is.
    func adopt(_ draft: JournalDraft) throws(StoreError) {
        do throws(StoreError) {
            guard let path = try draft.wait() else { return }
            try journal.adopt(path)
            isJournalStale = false
        } catch  where error.reason == .full {
            isJournalStale = true
        }
    }

    /// Changes a site in one transaction, under its lock. Throws `.busy` if a run has the site.
    func withSiteLock(
        _ site: Site, doing: String, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try throwBusy(named: site.name, if: openSites.contains(site.id))
        try locks.lock(site: site.id, named: site.name, doing: doing)
        let result = Result { () throws(StoreError) in try transaction(body) }
        try locks.unlock(site: site.id)
        try result.get()
    }

    /// Runs `body` while no other process writes, for changes to rows that other writers may be about to
    /// refer to. Throws `.busy` if another process is writing.
    func withExclusiveAccess(doing: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try throwBusy(named: folder.name, if: !openSites.isEmpty)
        urls.forgetAll()
        bodies.releasePack()
        try locks.withExclusiveAccess(doing: doing, body)
    }

    /// Runs `body` while all other writers pause, which they do between two transactions. `hasPausedWriters` is true
    /// meanwhile if there are such writers. Throws `.busy` if one of them does not pause.
    func whileOthersPause(doing: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try throwBusy(named: folder.name, if: !openSites.isEmpty)
        urls.forgetAll()
        bodies.releasePack()
        try locks.whileOthersPause(doing: doing) { hasPausedWriters throws(StoreError) in
            self.hasPausedWriters = hasPausedWriters
            defer { self.hasPausedWriters = false }
            try body()
        }
    }

    /// Pauses between two transactions, if another process is waiting in `whileOthersPause`. That process does
    /// not change the sites that are being written, nor the ids of URLs.
    func pauseIfRequested() throws(StoreError) {
        guard openRowBytes == nil else { return }
        _ = try locks.pauseIfRequested { bodies.releasePack() }
    }

    /// Runs `body` in a transaction that is rolled back afterwards, for forecasts of a collection. In SQLite, `body` cannot
    /// begin transactions of its own.
    func rollingBack(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        let (wasDryRun, wasJournalStale, digests) = (isDryRun, isJournalStale, orphanDigests)
        isDryRun = true
        defer { (isDryRun, isJournalStale, orphanDigests) = (wasDryRun, wasJournalStale, digests) }
        try connection.begin()
        do {
            try body()
        } catch {
            // SQLite may already have rolled back. The first error is the one that explains the failure.
            try? connection.rollBack()
            throw error
        }
        try connection.rollBack()
    }

    /// The size of a store in PostgreSQL, in bytes.
    func postgreSQLByteCount() throws(StoreError) -> Int64 { try connection.byteCount() }

    /// The sites that other runs have locked, if such runs have paused for this writer.
    func sitesLockedByOthers() throws(StoreError) -> Set<Int64> {
        var locked: Set<Int64> = []
        guard hasPausedWriters else { return locked }
        var sites: [Int64] = []
        try eachRow("SELECT id FROM site") { sites.append($0.integer(0)) }
        for site in sites where try locks.isLocked(site: site) { locked.insert(site) }
        return locked
    }

    /// Waits until all readers that have looked up the place of a body have read it. Returns false if this
    /// takes more than a second.
    func waitForReaders() throws(StoreError) -> Bool {
        try locks.waitForReaders()
    }

    /// Sets how long SQLite waits for locks of other connections.
    func setBusyTimeout(milliseconds: Int) {
        connection.setBusyTimeout(milliseconds: milliseconds)
    }

    var isPostgreSQL: Bool { connection.isPostgreSQL }
    var backEnd: BackEnd { connection.backEnd }

    func execute(_ sql: String, doing: String) throws(StoreError) {
        try connection.execute(sql, doing: doing)
    }

    func executeInSQLite(_ sql: String, doing: String) throws(StoreError) {
        try connection.executeInSQLite(sql, doing: doing)
    }

    func hasTable(_ name: String) throws(StoreError) -> Bool { try connection.hasTable(name) }

    func prepare(_ sql: String) throws(StoreError) -> Statement {
        try connection.prepare(sql)
    }

    func eachRow(_ sql: String, _ values: SQLValue..., read: (Row) -> Void) throws(StoreError) {
        try connection.prepare(sql).each(values, read: read)
    }

    func run(_ sql: String, _ values: SQLValue...) throws(StoreError) {
        try connection.prepare(sql).run(values, doing: "write to")
    }

    /// The number of rows that the last writing statement changed.
    var changedRowCount: Int { connection.changedRowCount }

    func vacuum() throws(StoreError) { try connection.vacuum(in: folder.incoming) }

    /// Adds lines for the responses that match an SQL condition to the journal, as they are in their rows.
    func writeResponsesToJournal(where condition: String) throws(StoreError) {
        try connection.writeResponses(to: journal, where: condition)
    }

    /// Replaces the content of the database with that of another one.
    func replaceDatabase(with other: Connection) throws(StoreError) {
        try connection.replaceContent(with: other, doing: "shrink")
    }

    /// The ids of the URLs that responses and link lists refer to.
    func referencedURLs() throws(StoreError) -> NumberSet { try connection.referencedURLs() }

    /// The ids of the bodies that responses have, not counting the responses of the URLs in `excluded`.
    func referencedBodies(without excluded: NumberSet = NumberSet()) throws(StoreError) -> NumberSet {
        try connection.referencedBodies(without: excluded)
    }

    /// Counts the estimated size of a row that was added to the open transaction.
    func addOpenRowBytes(_ byteCount: Int) { openRowBytes? += byteCount }

    /// Counts new pages of a snapshot that has a limit of pages and several workers.
    func addOpenPages(_ count: Int) { lease?.openPageCount += count }

    /// Runs `body` in a transaction of its own and commits it. Rolls it back if `body` throws. There must be no
    /// open transaction.
    func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try begin()
        do {
            let result = try body()
            try checkLease()
            try connection.commit()
            return result
        } catch {
            // The first error is the one that matters.
            try? connection.rollBack()
            throw error
        }
    }

    /// If the session was lost since the last transaction, connects again; nothing was lost with it.
    private func begin() throws(StoreError) {
        do throws(StoreError) {
            try connection.begin()
        } catch {
            guard canRetry(after: error) else { throw error }
            bodies.external?.forgetKnownUploads()
            try connection.begin()
        }
    }

    /// Runs `body` again if it fails because of another session or a lost connection to PostgreSQL, up to
    /// `Limits.maxAttempts` times. `body` receives the number of the attempt, from 1.
    func withRetries(_ body: (Int) throws(StoreError) -> Void) throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) {
                return try body(attempt)
            } catch {
                guard attempt < Limits.maxAttempts, canRetry(after: error) else { throw error }
                // The random pause keeps two sessions from colliding again.
                usleep(UInt32.random(in: 1000...50_000) * UInt32(min(attempt, 20)))
            }
        }
    }
}
