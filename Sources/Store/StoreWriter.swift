internal import Digest
internal import Glibc

/// A store that somebody is about to write to: there, with its tables.
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
        // SQLite does not wait for its turn to change how a database keeps its log.
        try locks.whileAlone(.settingUp) { () throws(StoreError) in
            if folder.server != nil { return try ServerSchema.prepare(connection, folder) }
            try Schema.prepare(connection)
        }
        self.connection = connection
        self.locks = locks
    }
}

/// The one connection that writes. It belongs to one thread; `WriteQueue` gives it one.
package final class StoreWriter {
    package let folder: StoreFolder
    private let connection: Connection
    var bodies: BodyRows
    var urls: URLRows
    let rows: ResponseRows
    /// Nil for a file.
    let batch: ServerBatch?
    let journal: Journal
    private let locks: StoreLocks

    /// The sites whose snapshots this writer has open.
    private var openSites: Set<Int64> = []
    /// In whose name a worker writes; nil where the site is held by one alone.
    private var fence: Fence?
    /// Others write too, and have let go for the time being.
    private(set) var isBeside = false
    /// What is done is taken back in the end.
    private(set) var isRehearsing = false
    /// How much the rows take in the transaction that is open; nil when none is.
    private var openRowBytes: Int?
    /// Whether rows are gone or have moved that the journal has as they were. Set before that is committed.
    var isJournalBehind = false {
        didSet { if isJournalBehind != oldValue { folder.markJournal(isBehind: isJournalBehind) } }
    }
    /// Of bodies whose rows have gone, and that are not in the database.
    var orphanDigests: [[UInt8]] = []
    /// Where what servers loaded goes, as is known while the transaction is open.
    var overlays: [LoadedPlace: OpenSnapshot] = [:]

    /// Of the snapshot that was written to last.
    var confirming: (snapshot: Int64, isSo: Bool)?

    /// What was held for a request, and on which host.
    struct LoadedPlace: Hashable {
        let snapshot: Int64?
        let host: String
    }

    /// What is written in the name of a worker counts as long as its lease holds.
    private struct Fence {
        let worker: Int64
        let check: Statement
        /// Where the snapshot may ask for so many pages only: says how many are written. Nil elsewhere.
        let keep: Statement?
        /// In the transaction that is open.
        var pages = 0
    }

    /// Opens the store, and creates it when there is none.
    package init(_ folder: StoreFolder) throws(StoreError) {
        let opened = try OpenedStore(folder)
        let connection = opened.connection
        let locks = opened.locks
        try CopyMark.refuse(folder, connection)
        self.connection = connection
        try locks.join { () throws(StoreError) in
            // What killed runs left there is nobody's, as long as no other run is at work.
            folder.clearIncoming()
            if try Migration.isNeeded(connection) {
                // The journal is written before the commit, so that a kill never leaves a migrated store without one.
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
            // A run was killed before it had written the journal anew. While others write, one of them does so later.
            isJournalBehind = true
            try? alone(doing: "rewrite the journal of") { () throws(StoreError) in try renewJournal() }
        }
    }

    /// Holds the site against other runs and gives the snapshot to write to: the site's unfinished one, else a
    /// new one. With `beyond`, the one that is served is gone on with when it has so many pages: it ended
    /// there by a limit. A gated run adds nothing to what is served. An import always begins a snapshot of its own, which
    /// names its archives.
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
            // The first error is the one that tells.
            try? locks.release(site: site)
            throw error
        }
    }

    /// Goes on with a snapshot that is open, beside others who do, in the name of a worker: what is written after its
    /// lease has ended is refused. Fails with `.busy` when a prefetch has the site for itself.
    package func join(_ shared: ServerFrontier.Shared, as worker: Int64) throws(StoreError) -> OpenSnapshot {
        try locks.share(site: shared.site, named: shared.name)
        openSites.insert(shared.site)
        fence = Fence(
            worker: worker, check: try connection.prepare(ServerFrontier.fence),
            keep: shared.maxPages == nil ? nil : try connection.prepare(ServerFrontier.keeping))
        try connection.session?.endWhenStill(ServerFrontier.stillness)
        return try openSnapshot(site: shared.site, id: shared.snapshot, isContinued: true)
    }

    func openSnapshot(site: Int64, id: Int64, isContinued: Bool) throws(StoreError) -> OpenSnapshot {
        let number = try prepare("SELECT number FROM snapshot WHERE id = ?").first(.integer(id)) {
            $0.integer(0)
        }
        return OpenSnapshot(site: site, id: id, number: number ?? 0, isContinued: isContinued)
    }

    /// Until the transaction ends, nobody takes the lease away.
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
            // A run that ended before we had the lock may have taken the site's row along.
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
        // What is older would be published as if it were today's, and what is older than another snapshot hides
        // behind it.
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

    /// Reads or changes something in the transaction that is open, or in one that stays open. When it throws,
    /// all of that is lost.
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

    /// What sites there are, and what they show, as it is in the transaction that is open.
    func putState() throws(StoreError) {
        guard !connection.isServed else { return }
        journal.note(try putting { () throws(StoreError) in try connection.state() })
    }

    /// Whether what is put should be committed soon.
    var hasMuchOpen: Bool {
        openRowBytes ?? 0 > Limits.openRowBytes || bodies.openByteCount > Limits.openBodyBytes
    }

    /// Everything that was put is kept from here on.
    package func commit() throws(StoreError) {
        guard openRowBytes != nil else { return }
        overlays.removeAll(keepingCapacity: true)
        do {
            // A row never names a body that is not whole, even after a power cut.
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

    /// Whether a transaction that failed may be done once more: another session was in its way, or the
    /// PostgreSQL was started anew. Then there is a session again, which holds what the one before held.
    func recovers(from error: StoreError) -> Bool {
        guard let session = connection.session else { return false }
        switch error.reason {
        case .busy: return true
        case .unreachable:
            // Bodies may be kept where somebody else does not answer.
            guard session.isCut else { return false }
            // The new one may be cut too before it holds everything.
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
        // SQLite may have rolled back by itself already; the first error is the one that tells.
        try? connection.rollBack()
        openRowBytes = nil
        fence?.pages = 0
        overlays.removeAll()
        urls.rollBack()
        bodies.rollBack()
        journal.drop()
    }

    /// Ends the run of a snapshot and releases the lock on its site.
    package func end(_ snapshot: OpenSnapshot, _ ending: SnapshotEnding) throws(StoreError) {
        switch ending {
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
            // Where nothing was published, readers would see it.
            guard try published(of: snapshot.site) != nil else { return try end(snapshot, .forget) }
            try transaction { () throws(StoreError) in
                try connection.prepare("UPDATE snapshot SET finished = ? WHERE id = ?").run(
                    .integer(-now), .integer(snapshot.id))
            }
        case .forget where try isServed(snapshot):
            // An earlier run of it reached the site.
            break
        case .forget:
            try transaction { () throws(StoreError) in
                try forgetCount(of: snapshot.id)
                try connection.prepare("DELETE FROM response WHERE snapshot = ?").run(.integer(snapshot.id))
                // The next snapshot gets its number.
                try run(
                    """
                    UPDATE site SET snapshots = snapshots - 1
                    WHERE id = ?1 AND snapshots = (SELECT number FROM snapshot WHERE id = ?2)
                    """, .integer(snapshot.site), .integer(snapshot.id))
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
    }

    /// Every change adds lines to the journal, while the rows stay as many. While others write, it waits for the next
    /// run that ends.
    private func shortenJournal() {
        guard !isServed, openSites.isEmpty, folder.isJournalLong else { return }
        try? alone(doing: "rewrite the journal of") { () throws(StoreError) in try renewJournal() }
    }

    /// Whoever opens the database next would read through all of the log. Nobody is waited for.
    func emptyLog() {
        guard !isServed else { return }
        waitForOthers(milliseconds: 0)
        _ = try? prepare("PRAGMA wal_checkpoint(TRUNCATE)").first { $0.integer(0) }
        waitForOthers(milliseconds: Limits.busyMilliseconds)
    }

    /// Which sites, snapshots and pins there are goes to the journal.
    func noteState() throws(StoreError) {
        guard !connection.isServed else { return }
        journal.note(try connection.state())
        try journal.flush()
    }

    /// The journal says what the database has, and no more: something has gone, or has moved.
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

    /// Where there was no room for it, the journal stays behind.
    func adopt(_ draft: JournalDraft) throws(StoreError) {
        do throws(StoreError) {
            guard let path = try draft.wait() else { return }
            try journal.adopt(path)
            isJournalBehind = false
        } catch  where error.reason == .full {
            isJournalBehind = true
        }
    }

    /// Changes a site in one transaction, held against prefetches of it.
    func holding(_ site: Site, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try refuse(named: site.name, if: openSites.contains(site.id))
        try locks.hold(site: site.id, named: site.name)
        let result = Result { () throws(StoreError) in try transaction(body) }
        try locks.release(site: site.id)
        try result.get()
    }

    /// Changes what other writers may be about to refer to: nobody else writes meanwhile.
    func alone(doing: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        try refuse(named: folder.name, if: !openSites.isEmpty)
        urls.forget()
        bodies.letGo()
        try locks.alone(doing: doing, body)
    }

    /// The same where those who write let go when they are asked to. `isBeside` says meanwhile that there are
    /// such.
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

    /// Lets go of the store between two transactions, if somebody wants to be alone with it. What sites that
    /// are being written have stays, and so do the numbers of URLs.
    func pauseIfAsked() throws(StoreError) {
        guard openRowBytes == nil else { return }
        _ = try locks.pauseIfAsked { bodies.letGo() }
    }

    /// Does what a PostgreSQL takes back afterwards.
    func rehearsing(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        isRehearsing = true
        defer { isRehearsing = false }
        try connection.begin()
        let result = Result { () throws(StoreError) in try body() }
        try connection.rollBack()
        try result.get()
    }

    /// What the larder takes that a PostgreSQL keeps.
    func servedByteCount() throws(StoreError) -> Int64 { try connection.byteCount() }

    /// The sites that runs have.
    func heldSites() throws(StoreError) -> Set<Int64> {
        var held: Set<Int64> = []
        guard isBeside else { return held }
        var sites: [Int64] = []
        try eachRow("SELECT id FROM site") { sites.append($0.integer(0)) }
        for site in sites where try locks.isHeld(site: site) { held.insert(site) }
        return held
    }

    /// Waits until everybody who looked up a body's place before has read it; false where that takes more
    /// than a second.
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

    /// By the last statement that writes.
    var changedRowCount: Int { connection.changedRowCount }

    func vacuum() throws(StoreError) { try connection.vacuum(in: folder.incoming) }

    /// Responses go to the journal as their rows are.
    func noteResponses(_ condition: String) throws(StoreError) {
        try connection.noteResponses(to: journal, condition)
    }

    /// Has what another database has in place of what it had.
    func take(_ other: Connection) throws(StoreError) { try connection.take(other, doing: "shrink") }

    /// The URLs that responses and lists of links name.
    func namedURLs() throws(StoreError) -> NumberSet { try connection.namedURLs() }

    /// The bodies that responses have, but for those of some URLs.
    func heldBodies(without gone: NumberSet = NumberSet()) throws(StoreError) -> NumberSet {
        try connection.heldBodies(without: gone)
    }

    func noteRow(byteCount: Int) { openRowBytes? += byteCount }

    /// Of a snapshot that may ask for so many pages only.
    func notePages(_ count: Int) { fence?.pages += count }

    func transaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try begin()
        do {
            let result = try body()
            try checkLease()
            try connection.commit()
            return result
        } catch {
            // The first error is the one that tells.
            try? connection.rollBack()
            throw error
        }
    }

    /// Where the session was cut since the last transaction, nothing was lost with it.
    private func begin() throws(StoreError) {
        do throws(StoreError) {
            try connection.begin()
        } catch {
            guard recovers(from: error) else { throw error }
            bodies.outer?.forgetBrought()
            try connection.begin()
        }
    }

    /// Does once more what failed because others were in the way, or the PostgreSQL away. `body` is told the
    /// how manieth time it is.
    func persisting(_ body: (Int) throws(StoreError) -> Void) throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) {
                return try body(attempt)
            } catch {
                guard attempt < Limits.attempts, recovers(from: error) else { throw error }
                // Two that were in each other's way are not to meet again.
                usleep(UInt32.random(in: 1000...50_000) * UInt32(min(attempt, 20)))
            }
        }
    }
}
