internal import Codings
internal import Database
internal import Digest
internal import Glibc
internal import System
internal import Web

/// The destination of a copy. It writes in transactions of limited size. Until the copy is complete, a
/// `CopyMark` in the destination says so, and which store is being copied: no process can open an incomplete
/// copy, and only a copy of the same store can continue it.
///
/// Each `add` and `remove` opens a transaction if none is open. `commitIfDue` ends it when it is large or old,
/// `commit` ends it in any case. Within `transaction` neither does anything. It belongs to one thread.
final class CopyTarget {
    private let folder: StoreFolder
    private let connection: Connection
    private let locks: StoreLocks
    /// The mark of the store that is being copied.
    private let sourceMark: CopyMark
    private var isOpen = false
    /// The approximate number of bytes in the open transaction.
    private var openByteCount = 0
    private var openSince = ContinuousClock.now
    private var statements: [String: Statement] = [:]
    /// The number of nested calls of `transaction`. Nothing is committed within them.
    private var transactionDepth = 0
    /// The large bodies of a PostgreSQL destination; nil for a folder.
    private let pieces: PostgreSQLBodies?
    /// The body files of the open transaction, which are synced before it is committed.
    private var files: BodyFiles
    /// The pack to which bodies are appended; nil until the first one, and after the pack is full.
    private var packWriter: PackWriter?

    /// Whether compressed bodies can be stored. PostgreSQL stores none.
    var canStoreFrames: Bool { connection.backEnd.hasPacks }

    init(_ folder: StoreFolder, of source: StoreFolder) throws(StoreError) {
        let opened = try OpenedStore(folder)
        connection = opened.connection
        locks = opened.locks
        if !connection.isPostgreSQL {
            guard try Schema.checkVersion(connection) == Schema.version else {
                throw Self.storeExistsError(folder)
            }
            // Rows may refer to rows that are added later.
            try connection.execute("PRAGMA foreign_keys = OFF", doing: "copy to")
        }
        self.folder = folder
        sourceMark = CopyMark(of: source)
        pieces = connection.isPostgreSQL ? try PostgreSQLBodies(folder, connection, isWriting: true) : nil
        files = BodyFiles(folder)
    }

    /// Runs `body` while no other process writes to the destination. Rolls back the open transaction if
    /// `body` throws.
    func withExclusiveAccess(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try locks.withExclusiveAccess(doing: "copy to") { () throws(StoreError) in
            do throws(StoreError) {
                try body()
            } catch {
                // Throw the first error, which explains the failure.
                if isOpen { try? connection.rollBack() }
                isOpen = false
                packWriter?.rollBack()
                throw error
            }
        }
    }

    private static func storeExistsError(_ folder: StoreFolder) -> StoreError {
        StoreError(
            .request, doing: "copy to", path: folder.name, detail: "a store already exists there",
            advice: "name an empty folder, or a schema that does not exist yet")
    }

    /// Begins or continues a copy. Returns whether it continues an earlier copy of the same store. Throws if
    /// the destination contains anything else.
    func begin() throws(StoreError) -> Bool {
        if let mark = try CopyMark(in: folder, connection) {
            guard mark == sourceMark else {
                throw StoreError(
                    .request, doing: "copy to", path: folder.name,
                    detail: "an unfinished copy of another store is there",
                    advice: "finish that copy, or name another place")
            }
            folder.clearIncoming()
            return true
        }
        for table in ["site", "snapshot", "url", "body", "pin"] where try count(table) > 0 {
            throw Self.storeExistsError(folder)
        }
        try sourceMark.store(in: folder, connection)
        return false
    }

    /// Removes the mark, which makes the destination a store.
    func removeMark() throws(StoreError) {
        try sourceMark.remove(from: folder, connection)
    }

    // MARK: Transactions

    /// Begins a transaction, unless one is open.
    private func beginIfNeeded() throws(StoreError) {
        guard !isOpen else { return }
        try connection.begin()
        isOpen = true
        openSince = .now
    }

    /// Commits the open transaction if it is large or has been open for long.
    func commitIfDue() throws(StoreError) {
        if openByteCount > Limits.maxOpenBodyBytes || .now - openSince > Limits.maxOpenTime { try commit() }
    }

    /// Commits the open transaction. Does nothing within `transaction`.
    func commit() throws(StoreError) {
        guard isOpen, transactionDepth == 0 else { return }
        // Rows must not refer to bytes that are not on the disk yet.
        try files.sync()
        if let packWriter {
            try packWriter.sync()
            try packWriter.recordSize(with: try statement(PackWriter.recordSizeSQL))
        }
        try connection.commit()
        isOpen = false
        openByteCount = 0
        packWriter?.didCommit()
        if packWriter?.isFull ?? false { packWriter = nil }
    }

    /// Runs `body` in one transaction.
    func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try beginIfNeeded()
        transactionDepth += 1
        let result = Result { () throws(StoreError) in try body() }
        transactionDepth -= 1
        try result.get()
        try commit()
    }

    private func statement(_ sql: String) throws(StoreError) -> Statement {
        if let known = statements[sql] { return known }
        let statement = try connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    // MARK: Rows

    func count(_ table: String) throws(StoreError) -> Int64 {
        try connection.integer("SELECT count(*) FROM \(table)")
    }

    /// Returns the rows whose number is in a range, in the form that `StoreCopy` compares; all rows of a table
    /// without numbers.
    func rows(of table: CopyTable, in range: ClosedRange<Int64>) throws(StoreError) -> [[CopyValue]] {
        var rows: [[CopyValue]] = []
        let values: [SQLValue] =
            table.numbers == nil ? [] : [.integer(range.lowerBound), .integer(range.upperBound)]
        try statement(table.select).each(values) { rows.append(table.row($0)) }
        return rows
    }

    /// Adds rows. PostgreSQL gets the rows of a call in one statement, a list for each column, because each
    /// statement takes a round trip.
    func add(_ rows: [[CopyValue]], to table: CopyTable) throws(StoreError) {
        guard !rows.isEmpty else { return }
        try beginIfNeeded()
        let placeholders = table.columns.map { _ in "?" }.joined(separator: ", ")
        openByteCount += rows.reduce(0) { $0 + $1.reduce(0) { $0 + $1.byteCount } }
        guard connection.isPostgreSQL else {
            let add = try statement("INSERT INTO \(table.name) (\(table.list)) VALUES (\(placeholders))")
            for row in rows { try add.run(row.map(\.value), doing: "copy to") }
            return
        }
        let add = try statement(
            "INSERT INTO \(table.name) (\(table.list)) SELECT * FROM unnest(\(placeholders))")
        var values: [SQLValue] = []
        for (index, column) in table.columns.enumerated() {
            let list = rows.map { $0[index] }
            switch column.kind {
            case .integer: values.append(.integers(list.map(\.integer)))
            case .text: values.append(.texts(list.map(\.text)))
            case .blob: values.append(.blobs(list.map(\.blob)))
            }
        }
        try add.run(values, doing: "copy to")
    }

    /// Removes the row with the same key.
    func removeRow(_ row: [CopyValue], of table: CopyTable) throws(StoreError) {
        try beginIfNeeded()
        let keys = table.columns.prefix(table.keyCount).map { "\($0.name) = ?" }.joined(separator: " AND ")
        try statement("DELETE FROM \(table.name) WHERE \(keys)")
            .run(row.prefix(table.keyCount).map(\.value), doing: "copy to")
        openByteCount += 100
    }

    /// Removes the rows after the last one of the source.
    func removeRows(of table: CopyTable, after last: Int64?) throws(StoreError) {
        guard let last, let key = table.numbers else { return }
        try beginIfNeeded()
        try statement("DELETE FROM \(table.name) WHERE \(key) > ?").run(.integer(last), doing: "copy to")
    }

    // MARK: Bodies

    /// Removes the row of a body and its content. Files and packs keep the bytes until the next collection.
    func removeBody(_ row: [CopyValue]) throws(StoreError) {
        try beginIfNeeded()
        try statement("DELETE FROM content WHERE body = ?").run(row[0].value)
        try statement("DELETE FROM body WHERE id = ?").run(row[0].value)
        openByteCount += 100
    }

    /// Removes the bodies after the last one of the source, with their content.
    func removeBodies(after last: Int64?) throws(StoreError) {
        guard let last else { return }
        try beginIfNeeded()
        try statement("DELETE FROM content WHERE body > ?").run(.integer(last))
        try statement("DELETE FROM body WHERE id > ?").run(.integer(last))
    }

    /// Adds bodies with their content.
    func addBodies(_ bodies: [CopiedBody]) throws(StoreError) {
        guard !bodies.isEmpty else { return }
        let bodies = try uploadExternalBodies(bodies)
        try beginIfNeeded()
        for body in bodies { openByteCount += body.links.count + (body.bytes?.count ?? 0) + 200 }
        guard connection.isPostgreSQL else {
            for body in bodies { try addToFolder(body) }
            return
        }
        for body in bodies {
            guard let file = body.file, pieces?.external == nil else { continue }
            try removeIncompletePieces(of: body.body)
            try pieces?.put(file, body.body.sha256)
            openByteCount += body.body.byteCount
        }
        let list = bodies.map(\.body)
        try statement(
            """
            WITH given AS MATERIALIZED (
                SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?, ?)
                    AS given(id, sha256, form, size, title, md5, links, bytes)),
            added AS (
                INSERT INTO body (id, sha256, form, size, title, md5)
                SELECT id, sha256, form, size, title, md5 FROM given RETURNING id)
            INSERT INTO content (body, links, bytes) SELECT added.id, given.links, given.bytes FROM added
            JOIN given ON given.id = added.id
            """
        ).run(
            [
                .integers(list.map(\.id)), .blobs(list.map(\.sha256)), .texts(list.map(\.form)),
                .integers(list.map { Int64($0.byteCount) }), .texts(list.map(\.title)),
                .blobs(list.map(\.md5)), .blobs(bodies.map(\.links)), .blobs(bodies.map(\.bytes)),
            ], doing: "copy to")
    }

    /// Stores bodies outside of the database, if the destination does so, and returns all bodies without the
    /// bytes of these.
    private func uploadExternalBodies(_ bodies: [CopiedBody]) throws(StoreError) -> [CopiedBody] {
        guard let external = pieces?.external else { return bodies }
        var bodies = bodies
        var uploads: [(body: StoredBody, content: BodyContent)] = []
        for index in bodies.indices {
            let body = bodies[index]
            guard let content = body.file ?? body.bytes.map(BodyContent.bytes),
                external.accepts(content, byteCount: body.body.byteCount)
            else { continue }
            uploads.append((body.body, content))
            bodies[index].bytes = nil
        }
        try external.upload(uploads)
        return bodies
    }

    /// Removes the incomplete pieces of a body that an earlier run left.
    private func removeIncompletePieces(of body: StoredBody) throws(StoreError) {
        guard let storedByteCount = try pieces?.byteCount(body.sha256), storedByteCount != body.byteCount
        else { return }
        try statement("DELETE FROM piece WHERE sha256 = ?").run(.blob(body.sha256))
    }

    /// Adds a body to a destination in a folder: large ones to a file of their own, unless compression makes them
    /// small enough for a pack; medium ones to a pack; small ones to the row.
    private func addToFolder(_ body: CopiedBody) throws(StoreError) {
        var location: PackLocation?
        var inline: [UInt8]?
        if let file = body.file, let frame = try frame(of: file, body.body) {
            location = try currentPackWriter().append(frame, isFrame: true)
        } else if let file = body.file {
            try files.add(try copyToIncoming(file), sha256: Hex.encode(body.body.sha256))
        } else if let bytes = body.bytes, bytes.count > Limits.maxInlineBodyBytes {
            location = try addToPack(bytes, frame: body.frame, row: body.body)
        } else {
            inline = body.bytes
        }
        let row = body.body
        try statement(
            """
            INSERT INTO body (id, sha256, form, size, title, md5, pack, start, frame)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run(
            .integer(row.id), .blob(row.sha256), .text(row.form), .integer(Int64(row.byteCount)),
            .optional(row.title), row.md5.map { .blob($0) } ?? .null, .optional(location?.pack),
            .optional(location?.start), .optional(location?.frame), doing: "copy to")
        try statement("INSERT INTO content (body, links, bytes) VALUES (?, ?, ?)")
            .run(.integer(row.id), .blob(body.links), inline.map { .blob($0) } ?? .null, doing: "copy to")
    }

    /// Returns the compressed bytes of a large body, or nil if it is stored as a file.
    private func frame(of file: BodyContent, _ row: StoredBody) throws(StoreError) -> [UInt8]? {
        guard folder.compresses, StoredBody.isCompressible(form: row.form, byteCount: row.byteCount),
            let frame = ZstdFrame.compress(try file.load()), frame.count <= Limits.maxPackedBodyBytes
        else { return nil }
        return frame
    }

    /// Adds a body to a pack. Returns nil if it is stored as a file instead.
    ///
    /// - Parameter sourceFrame: the compressed bytes in the source.
    private func addToPack(
        _ bytes: [UInt8], frame sourceFrame: [UInt8]?, row: StoredBody
    ) throws(StoreError) -> PackLocation? {
        // A body that is larger than this was compressed in the source.
        let isLarge = bytes.count > Limits.maxPackedBodyBytes
        let isCompressible =
            folder.compresses && StoredBody.isCompressible(form: row.form, byteCount: bytes.count)
        let frame = sourceFrame ?? (isCompressible || isLarge ? ZstdFrame.compress(bytes) : nil)
        if isLarge, frame?.count ?? .max > Limits.maxPackedBodyBytes {
            try files.add(try BodyFiles.write(bytes, in: folder), sha256: Hex.encode(row.sha256))
            return nil
        }
        return try currentPackWriter().append(frame ?? bytes, isFrame: frame != nil)
    }

    /// Copies a file into the store's folder, so that it can be moved from there. Returns its path.
    private func copyToIncoming(_ content: BodyContent) throws(StoreError) -> String {
        guard case .file(let path) = content else { return "" }
        openByteCount += content.byteCount ?? 0
        return try BodyFiles.copy(path, in: folder.incoming)
    }

    /// Returns the open pack, or opens one.
    private func currentPackWriter() throws(StoreError) -> PackWriter {
        if let packWriter { return packWriter }
        let writer = try PackWriter(folder, connection)
        packWriter = writer
        return writer
    }

    // MARK: The end

    /// Sets the counters for new ids, so that no id of the source is assigned again. Readers may know deleted
    /// snapshots by their ids.
    func setNextIDs(lastSnapshot: Int64) throws(StoreError) {
        guard connection.isPostgreSQL else {
            try connection.execute(
                """
                DELETE FROM tally;
                DELETE FROM sqlite_sequence WHERE name = 'snapshot';
                INSERT INTO sqlite_sequence (name, seq) VALUES ('snapshot', \(lastSnapshot));
                """, doing: "copy to")
            return
        }
        for table in ["site", "snapshot", "url", "body"] {
            let minID = table == "snapshot" ? max(1, lastSnapshot) : 1
            _ = try connection.prepare(
                """
                SELECT setval(pg_get_serial_sequence('\(table)', 'id'),
                    greatest((SELECT max(id) FROM \(table)), \(minID)))
                """
            ).first { _ in true }
        }
    }
}

extension CopyValue {
    fileprivate var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
    fileprivate var text: String? { if case .text(let value) = self { value } else { nil } }
    fileprivate var blob: [UInt8]? { if case .blob(let value) = self { value } else { nil } }

    fileprivate var byteCount: Int {
        switch self {
        case .null, .integer: 8
        case .text(let text): text.utf8.count
        case .blob(let blob): blob.count
        }
    }
}

// MARK: - CopyMark

/// A mark in the destination of an unfinished copy. It contains a hash of the location
/// of the source.
struct CopyMark: Equatable {
    private let sourceHash: Int64

    init(of source: StoreFolder) {
        let location = source.server.map { "\($0.shown) \($0.schema)" } ?? Folder.resolved(source.path)
        let digest = DigestStream.digest(.sha256, of: location.utf8.span)
        sourceHash = digest.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// Reads the mark, or returns nil if there is none.
    init?(in folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        let stored: Int64?
        if connection.isPostgreSQL {
            stored = try connection.prepare("SELECT value FROM larder WHERE name = 'copying'")
                .first { $0.integer(0) }
        } else if access(folder.copying, F_OK) == 0 {
            let text = try BodyContent.file(path: folder.copying).beginning(32)
            stored = Int64(String(decoding: text, as: UTF8.self)) ?? 0
        } else {
            stored = nil
        }
        guard let stored else { return nil }
        sourceHash = stored
    }

    func store(in folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        if connection.isPostgreSQL {
            return try connection.prepare("INSERT INTO larder (name, value) VALUES ('copying', ?)")
                .run(.integer(sourceHash))
        }
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.write("\(sourceHash)", to: folder.copying)
        }
    }

    func remove(from folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        if connection.isPostgreSQL {
            return try connection.prepare("DELETE FROM larder WHERE name = 'copying'").run()
        }
        guard unlink(folder.copying) == 0 else {
            throw StoreError(errno, doing: "remove", path: folder.copying)
        }
        try BodyFiles.syncFile(folder.path)
    }

    /// Throws if the store is an unfinished copy.
    static func checkAbsent(_ folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        guard try CopyMark(in: folder, connection) != nil else { return }
        throw StoreError(
            .busy, doing: "open", path: folder.name, detail: "it is an unfinished copy of another store",
            advice: "finish it by running the same larder store copy again, or name another store",
            remedy: .store)
    }
}

extension StoreFolder {
    /// The file with the mark of an unfinished copy.
    var copying: String { path + "/copying" }
}
