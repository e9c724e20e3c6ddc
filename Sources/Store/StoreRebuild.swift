package import Database
internal import Digest
internal import Glibc
internal import Web

/// The result of rebuilding a database from the journal, the readable rows of the damaged database, and the
/// bodies, each of which is compared with its digest.
///
/// The readable rows of the old database are first written as journal lines to a temporary file. The new database
/// is then built from that file and the journal, in three passes, because each kind of row refers to earlier ones:
/// bodies and states, responses, confirmations. A row that occurs several times gets its newest values.
package struct StoreRebuild: Sendable, Equatable {
    /// The numbers of recovered URLs and bodies.
    package var addresses = 0
    package var bodies = 0
    /// The number of bodies that are listed but missing or damaged.
    package var lostBodies = 0

    /// Replaces the database by a new one. The old one is moved to `quarantine`.
    ///
    /// - Throws: `StoreError` for the reason `.busy` if a process is writing, `.unusable` if a newer version of Larder
    ///   wrote the database or no response can be recovered, `.request` for a store in PostgreSQL.
    package static func run(_ folder: StoreFolder) throws(StoreError) -> StoreRebuild {
        if let server = folder.server {
            throw StoreError(
                .request, doing: "rebuild", path: server.shown, detail: "PostgreSQL has its own log",
                advice: "restore the database from a backup")
        }
        var result = StoreRebuild()
        let locks = try StoreLocks(folder)
        try locks.withExclusiveAccess(doing: "rebuild") { () throws(StoreError) in
            try checkVersion(folder)
            let salvaged = folder.journal + ".read"
            defer { unlink(salvaged) }
            try salvage(folder, to: salvaged)
            result = try build(folder, from: [salvaged] + folder.journalFiles)
            try replaceDatabase(of: folder)
        }
        // Releases the locks, which the writer takes again.
        _ = consume locks
        try StoreWriter(folder).rewriteJournal()
        return result
    }

    /// Throws if a newer version of Larder wrote the database. If the database is damaged, its version number may be
    /// wrong. Then the version in the journal counts, if there is one.
    private static func checkVersion(_ folder: StoreFolder) throws(StoreError) {
        guard folder.exists else { return }
        let journalVersion = try journalVersion(folder)
        do throws(StoreError) {
            let connection = try Connection(folder.database, access: .readOnly)
            guard try connection.integer("PRAGMA application_id") == Schema.applicationID,
                try connection.integer("PRAGMA user_version") > Schema.version
            else { return }
            if let journalVersion, journalVersion <= Schema.version,
                try connection.prepare("PRAGMA quick_check").first(read: { $0.text(0) }) != "ok"
            {
                return
            }
        } catch {
            guard let journalVersion, journalVersion > Schema.version else { return }
        }
        throw StoreError(
            .unusable, doing: "rebuild", path: folder.database,
            detail: "a newer version of Larder wrote it",
            advice: "repair it with that version, or name another store", remedy: .store)
    }

    /// The highest version of the tables in the lines of the journal, or nil if no line has one.
    private static func journalVersion(_ folder: StoreFolder) throws(StoreError) -> Int64? {
        var newest: Int64?
        try eachLine(of: folder.journalFiles) { line throws(StoreError) in
            if case .state(let state) = line { newest = max(newest ?? 0, state.schema) }
        }
        return newest
    }

    /// Writes the readable rows of the old database to a journal file. Throws if the disk has no space for
    /// it. Ignores a database that cannot be opened.
    private static func salvage(_ folder: StoreFolder, to path: String) throws(StoreError) {
        guard folder.exists else { return }
        let old: Connection
        do throws(StoreError) {
            old = try Connection(folder.database, access: .readOnly)
        } catch {
            // The database is damaged, which is why it is being rebuilt.
            return
        }
        // Rows in damaged pages could bring back wrong URLs. The journal has the correct ones.
        try old.salvage(to: Journal(folder, at: path), withDamagedRows: folder.journalFiles.isEmpty)
    }

    /// The path of the new database until it replaces the old one.
    private static func newDatabase(_ folder: StoreFolder) -> String { folder.database + ".new" }

    /// Creates the new database from journal files, in one transaction.
    private static func build(_ folder: StoreFolder, from files: [String]) throws(StoreError) -> StoreRebuild
    {
        let path = newDatabase(folder)
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        let connection = try Connection(path, access: .readWrite, modeOf: folder.locks)
        try Schema.prepare(connection)
        try connection.execute("PRAGMA foreign_keys = OFF", doing: "rebuild")
        var rows = try RebuiltRows(folder, connection)
        try connection.transaction { () throws(StoreError) in
            try eachLine(of: files) { line throws(StoreError) in
                switch line {
                case .body(let body): try rows.addBody(body)
                case .state(let state): rows.updateState(state)
                case .response, .confirmation: break
                }
            }
            try rows.addSitesAndSnapshots()
            try eachLine(of: files) { line throws(StoreError) in
                if case .response(let response) = line { try rows.addResponse(response) }
            }
            try eachLine(of: files) { line throws(StoreError) in
                if case .confirmation(let confirmation) = line { try rows.confirm(confirmation) }
            }
            try rows.finish()
        }
        var result = StoreRebuild()
        result.addresses = Int(try connection.integer("SELECT count(DISTINCT url) FROM response"))
        result.bodies = Int(try connection.integer("SELECT count(*) FROM body"))
        result.lostBodies = rows.lost.count
        guard result.addresses > 0 else {
            throw StoreError(
                .unusable, doing: "rebuild", path: folder.database,
                detail: "it lists no stored response that can be recovered",
                advice: "restore the file from a backup, or start over in another store", remedy: .store)
        }
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)", doing: "rebuild")
        return result
    }

    /// Passes each intact line of the files that exist to `take`.
    private static func eachLine(
        of files: [String], take: (JournalLine) throws(StoreError) -> Void
    ) throws(StoreError) {
        for file in files where access(file, R_OK) == 0 {
            try Journal.eachLine(of: file) { json throws(StoreError) in
                if let line = JournalLine(json) { try take(line) }
            }
        }
    }

    /// Moves the old database to `quarantine` and renames the new one.
    private static func replaceDatabase(of folder: StoreFolder) throws(StoreError) {
        try folder.createQuarantine()
        // The log first: SQLite would apply a log that is left behind to the new database.
        for suffix in ["-shm", "-wal", ""] where access(folder.database + suffix, F_OK) == 0 {
            let target = folder.quarantine + "/larder.db" + suffix
            guard rename(folder.database + suffix, target) == 0 else {
                throw StoreError(errno, doing: "move the database to", path: target)
            }
        }
        try BodyFiles.syncFile(newDatabase(folder))
        guard rename(newDatabase(folder), folder.database) == 0 else {
            throw StoreError(errno, doing: "write to", path: folder.database)
        }
        try BodyFiles.syncFile(folder.path)
    }
}

/// The rows of the new database. Add bodies and states first, then call `addSitesAndSnapshots`, then add responses, and
/// finally confirmations.
private struct RebuiltRows {
    private let folder: StoreFolder
    private let connection: Connection
    private var urls: URLRows
    private let findBody: Statement
    private let insertBody: Statement
    private let insertContent: Statement
    private let insertResponse: Statement
    private let updateConfirmed: Statement
    /// The latest state.
    private var state: JournalLine.StoreState?
    /// The ids of the snapshots in the new database. Responses of other snapshots are left out.
    private var snapshots: Set<Int64> = []
    /// The bodies of which no intact bytes were found: their digests and forms.
    private(set) var lost: Set<String> = []

    init(_ folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        self.folder = folder
        self.connection = connection
        urls = try URLRows(connection)
        findBody = try connection.prepare("SELECT id FROM body WHERE sha256 = ? AND form = ?")
        insertBody = try connection.prepare(
            """
            INSERT INTO body (sha256, form, size, title, md5, pack, start, frame)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """)
        insertContent = try connection.prepare("INSERT INTO content (body, links, bytes) VALUES (?, x'', ?)")
        insertResponse = try connection.prepare(
            """
            INSERT INTO response
                (url, snapshot, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields, confirmed)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET status = excluded.status, role = excluded.role, flags = excluded.flags,
                requested = excluded.requested, fetched = excluded.fetched, type = excluded.type,
                referrer = excluded.referrer, body = excluded.body, fields = excluded.fields,
                confirmed = excluded.confirmed
                WHERE excluded.fetched >= response.fetched
            """)
        // A confirmation line has no header fields, so the row keeps its older ones.
        updateConfirmed = try connection.prepare(
            """
            UPDATE response SET confirmed = ?, flags = ?, requested = ?, fetched = ?
            WHERE url = ? AND snapshot = ? AND request = '' AND variant = '' AND confirmed < ?1
            """)
    }

    /// Adds a body if its bytes are intact, else counts it as lost. A lost body is added if a later line has intact bytes.
    mutating func addBody(_ body: JournalLine.Body) throws(StoreError) {
        guard let digest = Digest(.sha256, hex: body.sha256), !body.form.isEmpty else { return }
        let key = body.sha256 + body.form
        if try bodyID(body.sha256, body.form) != nil { return }
        guard try isIntact(body, digest) else {
            lost.insert(key)
            return
        }
        lost.remove(key)
        let row = try insertBody.insert(
            .blob(digest.bytes), .text(body.form), .integer(body.byteCount), .optional(body.title),
            body.md5.flatMap { Digest(.md5, hex: $0) }.map { .blob($0.bytes) } ?? .null,
            .optional(body.place?.pack), .optional(body.place?.start), .optional(body.place?.frame))
        try insertContent.run(.optional(row), body.inline.map { .blob($0) } ?? .null)
    }

    /// Whether the bytes of a body match its size and digest.
    private func isIntact(_ body: JournalLine.Body, _ digest: Digest) throws(StoreError) -> Bool {
        let content: BodyContent?
        if let place = body.place {
            content = try place.read(Int(clamping: body.byteCount), in: folder).map { .bytes($0) }
        } else {
            content = body.inline.map { .bytes($0) } ?? .file(path: folder.bodyFile(sha256: body.sha256))
        }
        guard let content, Int64(content.byteCount ?? -1) == body.byteCount else { return false }
        return try content.measure().sha256 == digest
    }

    /// Returns the id of a body that was added; nil if there is none.
    private func bodyID(_ sha256: String, _ form: String) throws(StoreError) -> Int64? {
        guard let digest = Digest(.sha256, hex: sha256) else { return nil }
        return try findBody.first(.blob(digest.bytes), .text(form)) { $0.integer(0) }
    }

    /// Records a state if it is the latest so far. A state without snapshots never replaces another one.
    mutating func updateState(_ state: JournalLine.StoreState) {
        if state.time >= self.state?.time ?? 0, !state.snapshots.isEmpty || self.state == nil {
            self.state = state
        }
    }

    /// Adds the sites, snapshots and pins of the last state.
    mutating func addSitesAndSnapshots() throws(StoreError) {
        guard let state else { return }
        let known = Set(state.snapshots.map(\.id))
        func run(_ sql: String, _ values: SQLValue...) throws(StoreError) {
            try connection.prepare(sql).run(values, doing: "rebuild")
        }
        for site in state.sites {
            try run(
                "INSERT OR IGNORE INTO site (id, name, start, published, settings, overlay, snapshots) VALUES (?, ?, ?, ?, ?, ?, ?)",
                .integer(site.id), .text(site.name), .text(site.start),
                .optional(site.published.flatMap { known.contains($0) ? $0 : nil }), .text(site.settings),
                .optional(site.overlay.flatMap { known.contains($0) ? $0 : nil }), .integer(site.snapshots))
        }
        let sites = Set(state.sites.map(\.id))
        for snapshot in state.snapshots where sites.contains(snapshot.site) {
            try run(
                "INSERT OR IGNORE INTO snapshot (id, site, started, finished, base, confirmed, archive, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                .integer(snapshot.id), .integer(snapshot.site), .integer(snapshot.started),
                .optional(snapshot.finished),
                .optional(snapshot.base), .integer(snapshot.confirmed), .optional(snapshot.archive),
                .integer(snapshot.number))
            snapshots.insert(snapshot.id)
        }
        // The journal of an earlier version of Larder has no numbers.
        if !state.snapshots.contains(where: { $0.number > 0 }) {
            try connection.execute(Schema.numberSnapshots, doing: "rebuild")
        }
        for pin in state.pins {
            try run(
                "INSERT OR IGNORE INTO pin (kind, value, added) VALUES (?, ?, ?)", .text(pin.kind),
                .text(pin.value),
                .integer(pin.added))
        }
    }

    /// Adds a response. A response whose body is lost is left out, so that the next prefetch fetches it.
    mutating func addResponse(_ response: JournalLine.Response) throws(StoreError) {
        guard snapshots.contains(response.snapshot) else { return }
        var body: Int64?
        if let sha256 = response.sha256 {
            body = try bodyID(sha256, response.form ?? "")
            if body == nil { return }
        }
        let url = try urls.findOrAdd(response.href)
        let referrer: Int64? = if let href = response.referrer { try urls.findOrAdd(href) } else { nil }
        try insertResponse.run(
            .integer(url), .integer(response.snapshot), .text(response.request), .text(response.variant),
            .integer(response.status), .integer(response.role), .integer(response.flags),
            .integer(response.requested), .integer(response.fetched), .optional(response.type),
            .optional(referrer),
            .optional(body), .text(response.fields), .integer(response.confirmed))
    }

    /// Updates a response that a later snapshot confirmed.
    mutating func confirm(_ confirmation: JournalLine.Confirmation) throws(StoreError) {
        guard snapshots.contains(confirmation.confirmed) else { return }
        try updateConfirmed.run(
            .integer(confirmation.confirmed), .integer(confirmation.flags), .integer(confirmation.requested),
            .integer(confirmation.fetched), .integer(try urls.findOrAdd(confirmation.href)),
            .integer(confirmation.snapshot))
    }

    /// Counts the confirmed responses, because those of a killed run are in no state, and records the sizes
    /// of the packs, because writers append to them.
    func finish() throws(StoreError) {
        var packs: [Int64] = []
        try connection.prepare("SELECT DISTINCT pack FROM body WHERE pack IS NOT NULL").each {
            packs.append($0.integer(0))
        }
        try connection.execute(StoredCounts.confirmed, doing: "rebuild")
        let add = try connection.prepare("INSERT INTO pack (number, size) VALUES (?, ?)")
        for number in packs {
            try add.run(.integer(number), .integer(Pack(number, in: folder).byteCount ?? 0))
        }
    }
}

extension StoreWriter {
    /// Adds the link tables that bodies lack, as they all do in a rebuilt database.
    ///
    /// - Parameter links: makes the table from the form and the bytes of a body. A body that cannot be read gets the
    ///   table of an empty body.
    package func relink(_ links: (_ form: String, _ bytes: [UInt8]) -> [UInt8]) throws(StoreError) {
        let reader = try StoreReader(folder)
        var bodies: [StoredBody] = []
        try eachRow(
            "SELECT \(StoredBody.columns) FROM body JOIN content ON content.body = body.id WHERE length(links) = 0"
        ) { row in
            if let body = StoredBody(row, from: 0) { bodies.append(body) }
        }
        let update = try prepare("UPDATE content SET links = ? WHERE body = ?")
        var rest = bodies[...]
        while !rest.isEmpty {
            var tables: [(body: Int64, links: [UInt8])] = []
            for body in rest.prefix(Self.maxBodiesPerTransaction) {
                let bytes = try reader.content(of: body)?.load() ?? []
                tables.append((body.id, links(body.form, bytes)))
            }
            rest = rest.dropFirst(Self.maxBodiesPerTransaction)
            try transaction { () throws(StoreError) in
                for (body, links) in tables { try update.run(.blob(links), .integer(body)) }
            }
        }
    }

    /// The number of bodies that are loaded and updated together.
    private static let maxBodiesPerTransaction = 256
}
