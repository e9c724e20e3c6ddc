package import Database
internal import Digest
internal import Glibc

/// A store that was opened for writing. Opening it creates the store and its tables if they are missing.
struct OpenedStore: ~Copyable {
    let connection: Connection
    let locks: StoreLocks

    init(_ folder: StoreFolder) throws(StoreError) {
        try folder.refuseOpen()
        try folder.create()
        let own = try StoreLocks(folder)
        own.tightenOnce()
        if folder.server == nil {
            try own.whileAlone(.settingUp) { () throws(StoreError) in try folder.createDatabase() }
        }
        let connection = try folder.connect(.readWrite)
        let locks = folder.server == nil ? consume own : try StoreLocks(folder, of: connection)
        // SQLite does not wait for locks when it changes the journal mode.
        try locks.whileAlone(.settingUp) { () throws(StoreError) in
            if folder.server != nil { return try ServerSchema.prepare(connection, folder) }
            try Schema.prepare(connection)
        }
        self.connection = connection
        self.locks = locks
    }
}

/// The connection that writes to a store. It belongs to one thread; `WriteQueue` provides one.
///
/// Responses are added to a transaction that stays open until `commit`. If a call throws, everything in the
/// open transaction is lost. A writer holds the lock of each site whose snapshot it has open (`openSites`),
/// from `begin` or `join` to `end`. Operations that need the whole store for themselves (`alone`,
/// `aloneForAWhile`) fail while this writer has a snapshot open.
package final class StoreWriter {
    package let folder: StoreFolder
    private let connection: Connection
    var bodies: BodyRows
    var urls: URLRows
    let rows: ResponseRows
    /// Statements for batches of rows; nil if the store is a local folder.
    let batch: ServerBatch?
    let journal: Journal
    private let locks: StoreLocks

    /// The sites whose snapshots this writer has open.
    private var openSites: Set<Int64> = []
    /// The lease of the worker that this writer writes for; nil if the writer holds the site exclusively.
    private var fence: Fence?
    /// Whether other writers exist that have paused for this one (`aloneForAWhile`).
    private(set) var isBeside = false
    /// Whether everything that is done will be rolled back (`rehearsing`).
    private(set) var isRehearsing = false
    /// The estimated size of the rows in the open transaction; nil if no transaction is open.
    private var openRowBytes: Int?
    /// Whether the journal contains rows that were removed or moved since. Set before the change is
    /// committed.
    var isJournalBehind = false {
        didSet { if isJournalBehind != oldValue { folder.markJournal(isBehind: isJournalBehind) } }
    }
    /// The digests of bodies whose rows were removed and whose bytes are in the outer storage.
    var orphanDigests: [[UInt8]] = []
    /// The overlays for loaded responses that were looked up in the open transaction.
    var overlays: [LoadedPlace: OpenSnapshot] = [:]

    /// Whether the snapshot that was written to last may confirm responses of earlier snapshots.
    var confirming: (snapshot: Int64, isSo: Bool)?

    /// The key of `overlays`: the snapshot of the stored response that the loaded one replaces, and its host.
    struct LoadedPlace: Hashable {
        let snapshot: Int64?
        let host: String
    }

    /// Ensures that the lease of a worker is valid at each commit.
    private struct Fence {
        let worker: Int64
        let check: Statement
        /// Adds to the worker's number of stored pages, and checks its lease. Nil if the snapshot has no
        /// limit of pages.
        let keep: Statement?
        /// The number of pages in the open transaction.
        var pages = 0
    }

    /// Opens the store, and creates or migrates it if necessary.
    package init(_ folder: StoreFolder) throws(StoreError) {
        let opened = try OpenedStore(folder)
        let connection = opened.connection
        let locks = opened.locks
        try CopyMark.refuse(folder, connection)
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
                        try connection.writeInTransaction(to: journal)
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
        batch = connection.isServed ? try ServerBatch(connection) : nil
        try countAgain()
        if folder.server == nil, folder.journalFiles.isEmpty,
            try connection.integer("SELECT EXISTS (SELECT 1 FROM site)") != 0
        {
            try renewJournal()
        }
        try withholdSecrets()
        if folder.isJournalBehind {
            /// A run was killed before it could rewrite the journal. If others are writing, one of them does
            /// so later.
            isJournalBehind = true
            try? alone(doing: "rewrite the journal of") { () throws(StoreError) in try renewJournal() }
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
        let site = try hold(site: name, start: .text(start.joined(separator: "\n")))
        do throws(StoreError) {
            if isGated {
                try finishServed(of: site, now: now)
            } else if let pages {
                try reopen(site, beyond: pages)
            }
            let snapshot = try openSnapshot(of: site, now: now, importing: archives)
            try noteState()
            openSites.insert(site)
            return snapshot
        } catch {
            // The first error is the one that matters.
            try? locks.release(site: site)
            throw error
        }
    }

    /// Joins a snapshot that several workers write to, on behalf of one of them. Commits fail after the lease
    /// of the worker has expired. Throws `.busy` if a prefetch has locked the site exclusively.
    ///
    /// - Parameters:
    ///   - fence: the query that returns no row after the lease of the worker has expired.
    ///   - keeping: the statement that also counts pages; nil if the number of pages has no limit.
    ///   - stillness: how long a transaction may be idle before the server ends the session.
    package func join(
        _ snapshot: Int64, of site: Int64, named name: String, as worker: Int64, fence: String,
        keeping: String?, stillness: Duration
    ) throws(StoreError) -> OpenSnapshot {
        try locks.share(site: site, named: name)
        openSites.insert(site)
        self.fence = Fence(
            worker: worker, check: try connection.prepare(fence),
            keep: try keeping.map { (sql) throws(StoreError) in try connection.prepare(sql) })
        try connection.session?.endWhenStill(stillness)
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
        guard let fence else { return }
        let isHeld =
            if let keep = fence.keep, fence.pages > 0 {
                try keep.first(.integer(fence.worker), .integer(Int64(fence.pages))) { _ in true }
            } else {
                try fence.check.first(.integer(fence.worker)) { _ in true }
            }
        guard isHeld == nil else { return }
        throw StoreError(
            .request, doing: "write to", path: folder.name,
            detail:
                "worker \(fence.worker) sent no sign of life for too long, and other workers took over its work",
            advice: "run larder work again to continue")
    }

    private func hold(site name: String, start: SQLValue) throws(StoreError) -> Int64 {
        let find = try connection.prepare("SELECT id FROM site WHERE name = ?")
        while true {
            let site = try transaction { () throws(StoreError) in
                try connection.prepare("INSERT INTO site (name, start) VALUES (?, ?) ON CONFLICT DO NOTHING")
                    .run(.text(name), start)
                return try find.first(.text(name)) { $0.integer(0) } ?? 0
            }
            try refuse(named: name, if: openSites.contains(site))
            try locks.hold(site: site, named: name)
            // Another run may have removed the row of the site before this one had the lock.
            if try find.first(.text(name), read: { $0.integer(0) }) == site {
                try run("UPDATE site SET start = ? WHERE id = ?", start, .integer(site))
                return site
            }
            try locks.release(site: site)
        }
    }

    private func openSnapshot(
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
            .integer(site), .integer(now - Limits.secondsToContinue), .integer(now - Limits.secondsToGoBeyond)
        ) { $0.integer(0) }
        if let unfinished, archives == nil {
            return try openSnapshot(site: site, id: unfinished, isContinued: true)
        }

        try finishServed(of: site, now: now)
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

    private func refuse(named name: String, if isOpen: Bool) throws(StoreError) {
        guard isOpen else { return }
        throw StoreError(
            .busy, doing: "change", path: name, detail: "this process is writing a snapshot of it")
    }

    /// Runs `body` in the open transaction, or begins one that stays open. If `body` throws, everything in
    /// the transaction is lost.
    func putting<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
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

    /// Records the sites, snapshots and pins in the journal, as they are in the open transaction.
    func putState() throws(StoreError) {
        guard !connection.isServed else { return }
        journal.note(try putting { () throws(StoreError) in try connection.state() })
    }

    /// Whether the open transaction is so large that it should be committed soon.
    var hasMuchOpen: Bool {
        openRowBytes ?? 0 > Limits.openRowBytes || bodies.openByteCount > Limits.openBodyBytes
    }

    /// Commits the open transaction, if there is one. Afterwards, its responses and bodies are durable.
    package func commit() throws(StoreError) {
        guard openRowBytes != nil else { return }
        overlays.removeAll(keepingCapacity: true)
        do {
            // Bodies are synced first, so that no row ever refers to an incomplete body, even after a power
            // cut.
            try bodies.settle()
            try journal.flush()
            try checkLease()
            try connection.commit()
        } catch {
            rollBack()
            throw error
        }
        openRowBytes = nil
        fence?.pages = 0
        bodies.committed()
        urls.committed()
    }

    /// Whether a failed transaction may be repeated: another session was in its way, or the connection to
    /// PostgreSQL was lost. In the latter case this connects again and takes the same locks again.
    func recovers(from error: StoreError) -> Bool {
        guard let session = connection.session else { return false }
        switch error.reason {
        case .busy: return true
        case .unreachable:
            // The error may be that of the outer storage of bodies.
            guard session.isCut else { return false }
            // The new session may be lost too, before it has all locks.
            for _ in 0..<3 {
                do throws(StoreError) {
                    try session.renew()
                    try locks.renew()
                    return true
                } catch {
                    guard error.reason == .unreachable, !session.isStopped else { return false }
                }
            }
            return false
        case .request, .missing, .full, .denied, .unusable, .failed: return false
        }
    }

    func rollBack() {
        // SQLite may have rolled back already, and the first error is the one that matters.
        try? connection.rollBack()
        openRowBytes = nil
        fence?.pages = 0
        overlays.removeAll()
        urls.rollBack()
        bodies.rollBack()
        journal.drop()
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
                fence == nil
                ? try transaction { () throws(StoreError) in try joinUnchanged(snapshot) } : nil
            guard unchanged != nil else { return try end(snapshot, .publish(now: now)) }
        case .publish(let now):
            try transaction { () throws(StoreError) in
                try connection.prepare("UPDATE snapshot SET finished = ? WHERE id = ?")
                    .run(.integer(now), .integer(snapshot.id))
                try show(snapshot)
            }
        case .publishSoFar:
            try transaction { () throws(StoreError) in try show(snapshot) }
        case .keepOpen:
            break
        case .reject(let now):
            // If the site has no live snapshot, readers would see the rejected one.
            guard try published(of: snapshot.site) != nil else { return try end(snapshot, .forget) }
            try transaction { () throws(StoreError) in
                try connection.prepare("UPDATE snapshot SET finished = ? WHERE id = ?").run(
                    .integer(-now), .integer(snapshot.id))
            }
        case .forget where try isServed(snapshot):
            // An earlier run has published this snapshot, so it stays.
            break
        case .forget:
            try transaction { () throws(StoreError) in
                try forgetCount(of: snapshot.id)
                try connection.prepare("DELETE FROM response WHERE snapshot = ?").run(.integer(snapshot.id))
                try forgetNumber(of: snapshot)
                try connection.prepare("DELETE FROM snapshot WHERE id = ?").run(.integer(snapshot.id))
                try connection.prepare(
                    "DELETE FROM site WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM snapshot WHERE site = ?1)"
                ).run(.integer(snapshot.site))
            }
        }
        try countAgain()
        try noteState()
        emptyLog()
        openSites.remove(snapshot.site)
        try locks.release(site: snapshot.site)
        shortenJournal()
        folder.createReserve()
        return unchanged
    }

    /// Makes the number of a snapshot that is about to be deleted that of the site's next snapshot.
    func forgetNumber(of snapshot: OpenSnapshot) throws(StoreError) {
        try run(
            """
            UPDATE site SET snapshots = snapshots - 1
            WHERE id = ?1 AND snapshots = (SELECT number FROM snapshot WHERE id = ?2)
            """, .integer(snapshot.site), .integer(snapshot.id))
    }

    /// Rewrites the journal if it has become long, because every change adds lines to it. While others write,
    /// this is left to the next run that ends.
    private func shortenJournal() {
        guard !isServed, openSites.isEmpty, folder.isJournalLong else { return }
        try? alone(doing: "rewrite the journal of") { () throws(StoreError) in try renewJournal() }
    }

    /// Empties the write-ahead log, which the next reader would have to read. Does not wait for other
    /// processes.
    func emptyLog() {
        guard !isServed else { return }
        waitForOthers(milliseconds: 0)
        _ = try? prepare("PRAGMA wal_checkpoint(TRUNCATE)").first { $0.integer(0) }
        waitForOthers(milliseconds: Connection.busyMilliseconds)
    }

    /// Records the sites, snapshots and pins in the journal, and flushes it.
    func noteState() throws(StoreError) {
        guard !connection.isServed else { return }
        journal.note(try connection.state())
        try journal.flush()
    }

    /// Rewrites the journal from the database, because rows were removed or moved.
    func renewJournal() throws(StoreError) {
        if !isServed {
            let connection = connection
            let draft = try Journal.draft(in: folder) { journal throws(StoreError) in
                try connection.write(to: journal)
            }
            try journal.adopt(draft)
        }
        isJournalBehind = false
    }

    /// Replaces the journal with a draft. If the disk is full, the journal stays as it is.
    func adopt(_ draft: JournalDraft) throws(StoreError) {
        do throws(StoreError) {
            guard let path = try draft.wait() else { return }
            try journal.adopt(path)
            isJournalBehind = false
        } catch  where error.reason == .full {
            isJournalBehind = true
        }
    }

    /// Changes a site in one transaction, under its lock. Throws `.busy` if a run has the site.
    func holding(
        _ site: Site, doing: String, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try refuse(named: site.name, if: openSites.contains(site.id))
        try locks.hold(site: site.id, named: site.name, doing: doing)
        let result = Result { () throws(StoreError) in try transaction(body) }
        try locks.release(site: site.id)
        try result.get()
    }

    /// Runs `body` while no other process writes, for changes to rows that other writers may be about to
    /// refer to. Throws `.busy` if another process is writing.
    func alone(doing: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try refuse(named: folder.name, if: !openSites.isEmpty)
        urls.forget()
        bodies.letGo()
        try locks.alone(doing: doing, body)
    }

    /// Runs `body` while all other writers pause, which they do between two transactions. `isBeside` is true
    /// meanwhile if there are such writers. Throws `.busy` if one of them does not pause.
    func aloneForAWhile(doing: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try refuse(named: folder.name, if: !openSites.isEmpty)
        urls.forget()
        bodies.letGo()
        try locks.aloneForAWhile(doing: doing) { isBeside throws(StoreError) in
            self.isBeside = isBeside
            defer { self.isBeside = false }
            try body()
        }
    }

    /// Pauses between two transactions, if another process is waiting in `aloneForAWhile`. That process does
    /// not change the sites that are being written, nor the ids of URLs.
    func pauseIfAsked() throws(StoreError) {
        guard openRowBytes == nil else { return }
        _ = try locks.pauseIfAsked { bodies.letGo() }
    }

    /// Runs `body` in a transaction of PostgreSQL that is rolled back afterwards.
    func rehearsing(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        isRehearsing = true
        defer { isRehearsing = false }
        try connection.begin()
        let result = Result { () throws(StoreError) in try body() }
        try connection.rollBack()
        try result.get()
    }

    /// The size of a store in PostgreSQL, in bytes.
    func servedByteCount() throws(StoreError) -> Int64 { try connection.byteCount() }

    /// The sites that other runs have locked, if such runs have paused for this writer.
    func heldSites() throws(StoreError) -> Set<Int64> {
        var held: Set<Int64> = []
        guard isBeside else { return held }
        var sites: [Int64] = []
        try eachRow("SELECT id FROM site") { sites.append($0.integer(0)) }
        for site in sites where try locks.isHeld(site: site) { held.insert(site) }
        return held
    }

    /// Waits until all readers that have looked up the place of a body have read it. Returns false if this
    /// takes more than a second.
    func waitForReaders() throws(StoreError) -> Bool {
        try locks.waitForReaders()
    }

    func waitForOthers(milliseconds: Int) {
        connection.waitForOthers(milliseconds: milliseconds)
    }

    var isServed: Bool { connection.isServed }

    func execute(_ sql: String, doing: String) throws(StoreError) {
        try connection.execute(sql, doing: doing)
    }

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

    /// Records responses in the journal, as they are in their rows.
    func noteResponses(_ condition: String) throws(StoreError) {
        try connection.noteResponses(to: journal, condition)
    }

    /// Replaces the content of the database with that of another one.
    func take(_ other: Connection) throws(StoreError) { try connection.take(other, doing: "shrink") }

    /// The ids of the URLs that responses and link lists refer to.
    func namedURLs() throws(StoreError) -> NumberSet { try connection.namedURLs() }

    /// The ids of the bodies that responses have, not counting the responses of some URLs.
    func heldBodies(without gone: NumberSet = NumberSet()) throws(StoreError) -> NumberSet {
        try connection.heldBodies(without: gone)
    }

    func noteRow(byteCount: Int) { openRowBytes? += byteCount }

    /// Counts new pages of a snapshot that has a limit of pages and several workers.
    func notePages(_ count: Int) { fence?.pages += count }

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
            guard recovers(from: error) else { throw error }
            bodies.outer?.forgetBrought()
            try connection.begin()
        }
    }

    /// Runs `body` again if it fails because of another session or a lost connection to PostgreSQL, up to
    /// `Limits.attempts` times. `body` receives the number of the attempt, from 1.
    func persisting(_ body: (Int) throws(StoreError) -> Void) throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) {
                return try body(attempt)
            } catch {
                guard attempt < Limits.attempts, recovers(from: error) else { throw error }
                // The random pause keeps two sessions from colliding again.
                usleep(UInt32.random(in: 1000...50_000) * UInt32(min(attempt, 20)))
            }
        }
    }
}
