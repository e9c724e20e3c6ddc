internal import Database
internal import Digest
internal import Glibc

/// Writes the rows of bodies, and decides where their bytes are stored: tiny bodies in the row, most in a
/// pack, large ones in a file.
///
/// A body is stored once for each pair of SHA-256 and form (format and character set). If it is stored already,
/// its stored bytes are compared with the new ones, once per run, and replaced if they are damaged: a new
/// download thus repairs the store.
///
/// It belongs to the writer and works in its transactions: `sync` comes before the commit, `didCommit` after
/// it.
struct BodyRows {
    private let folder: StoreFolder
    private let connection: Connection
    private let journal: Journal
    private let findBody: Statement
    private let findBodyByID: Statement
    private let addBody: Statement
    private let moveBody: Statement
    private let addContent: Statement
    private let changeContent: Statement
    private let updateMD5: Statement
    private let replaceOldLinks: Statement
    private let recordPackSize: Statement
    /// Whether bodies are in packs and files. In PostgreSQL, bodies that would be in packs are in rows, and bodies that would
    /// be files are in pieces.
    private let hasPacks: Bool
    private let pieces: PostgreSQLBodies?
    /// Files that became pieces or frames; removed after the commit.
    private var copiedFiles: [String] = []
    private var files: BodyFiles
    private var packWriter: PackWriter?
    /// The rows whose stored bytes were compared with new ones in this run, or replaced by them.
    private var verifiedRows: Set<Int64> = []
    /// The number of bytes that were added since the last commit.
    private(set) var openByteCount = 0

    init(_ folder: StoreFolder, _ connection: Connection, _ journal: Journal) throws(StoreError) {
        self.folder = folder
        self.connection = connection
        self.journal = journal
        files = BodyFiles(folder)
        hasPacks = connection.backEnd.hasPacks
        pieces = hasPacks ? nil : try PostgreSQLBodies(folder, connection, isWriting: true)
        findBody = try connection.prepare(
            "SELECT id, pack, start, frame, md5 FROM body WHERE sha256 = ? AND form = ?")
        // Without the index of digests, SQLite looks the row up by id.
        let noIndex = connection.backEnd.withoutIndex
        findBodyByID = try connection.prepare(
            """
            SELECT id, pack, start, frame, md5 FROM body
            WHERE \(noIndex)sha256 = ? AND \(noIndex)form = ? AND id = ?
            """)
        addBody = try connection.prepare(
            """
            INSERT OR IGNORE INTO body (sha256, form, size, title, pack, start, frame, md5)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """)
        moveBody = try connection.prepare("UPDATE body SET pack = ?, start = ?, frame = ? WHERE id = ?")
        addContent = try connection.prepare("INSERT INTO content (body, links, bytes) VALUES (?, ?, ?)")
        changeContent = try connection.prepare(
            """
            INSERT INTO content (body, links, bytes) VALUES (?, ?, ?)
            ON CONFLICT (body) DO UPDATE SET bytes = excluded.bytes
            """)
        // The first byte of a link table is its version.
        replaceOldLinks = try connection.prepare(
            """
            INSERT INTO content (body, links) VALUES (?, ?)
            ON CONFLICT (body) DO UPDATE SET links = excluded.links
            WHERE substr(content.links, 1, 1) <> substr(excluded.links, 1, 1)
            """)
        updateMD5 = try connection.prepare("UPDATE body SET md5 = ? WHERE sha256 = ?")
        recordPackSize =
            hasPacks ? try connection.prepare(PackWriter.recordSizeSQL) : moveBody
    }

    /// Returns the id of the body's row, which is added if it is missing. Replaces stored bytes that are
    /// damaged.
    mutating func findOrAdd(_ body: NewBody) throws(StoreError) -> Int64 {
        if !hasPacks {
            try putPieces(of: body)
        } else if case .file(let path) = body.content, body.frame != nil {
            copiedFiles.append(path)
        }
        return try findOrAddRow(of: body, isRetry: false)
    }

    /// The path of the body, if it is stored as a file.
    private func file(of body: NewBody) -> String? {
        guard hasPacks, body.frame == nil, case .file(let path) = body.content else { return nil }
        return path
    }

    /// Stores a large body in PostgreSQL as pieces, unless it is in the external storage. Calling this again has
    /// no effect.
    mutating func putPieces(of body: NewBody) throws(StoreError) {
        guard let pieces, case .file(let path) = body.content, !copiedFiles.contains(path) else { return }
        copiedFiles.append(path)
        guard external == nil else { return }
        try pieces.put(body.content, body.sha256.bytes)
        openByteCount += body.byteCount
    }

    /// Counts the bytes of a body whose row was added by other means.
    mutating func countAdded(_ body: NewBody) {
        openByteCount += body.links.count
        if case .bytes(let bytes) = body.content, !isStoredExternally(body) { openByteCount += bytes.count }
    }

    /// The external storage for larger bodies of a PostgreSQL store, if it has one.
    var external: ExternalBodies? { pieces?.external }

    private func isStoredExternally(_ body: NewBody) -> Bool { external?.accepts(body) ?? false }

    private mutating func findOrAddRow(of body: NewBody, isRetry: Bool) throws(StoreError) -> Int64 {
        let known = try findBody.first(.blob(body.sha256.bytes), .text(body.form)) { row in
            KnownBody(
                row: row.integer(0), location: PackLocation(row, from: 1), md5: row.optionalBlob(4))
        }
        if let known {
            try repairIfDamaged(known, body)
            try replaceOldLinks.run(.integer(known.row), .blob(body.links))
            if let md5 = body.md5, known.md5 != md5.bytes {
                try updateMD5.run(.blob(md5.bytes), .blob(body.sha256.bytes))
            }
            return known.row
        }
        openByteCount += body.links.count
        var location: PackLocation?
        var inline: [UInt8]?
        if isStoredExternally(body) {
            // `ExternalBodies.upload` has stored it already.
        } else if case .bytes(let bytes) = body.content, isInline(bytes) {
            inline = bytes
        } else if let bytes = body.packedBytes {
            location = try appendToPack(bytes, isFrame: body.frame != nil)
        }
        let added = try addBody.insert(
            .blob(body.sha256.bytes), .text(body.form), .integer(Int64(body.byteCount)),
            .optional(body.title),
            .optional(location?.pack), .optional(location?.start), .optional(location?.frame),
            body.md5.map { .blob($0.bytes) } ?? .null)
        guard let row = added else {
            // Another session has just committed the same body.
            guard !isRetry else { throw bodyRemovedError() }
            return try findOrAddRow(of: body, isRetry: true)
        }
        if let path = file(of: body) { try files.add(path, sha256: body.sha256.hex) }
        if !hasPacks { openByteCount += inline?.count ?? 0 }
        try addContent.run(.integer(row), .blob(body.links), inline.map { .blob($0) } ?? .null)
        journal.append(body, at: location, inline: inline)
        return row
    }

    /// The row of a body that the store has already.
    private struct KnownBody {
        let row: Int64
        let location: PackLocation?
        let md5: [UInt8]?
    }

    /// Stores the bytes of a known body again if the stored ones are missing, cut short or changed. Compares
    /// each body once per run.
    private mutating func repairIfDamaged(_ known: KnownBody, _ body: NewBody) throws(StoreError) {
        if let path = file(of: body) { return try repairIfDamaged(known, body, with: path) }
        guard let bytes = body.packedBytes, !isStoredExternally(body), verifiedRows.insert(known.row).inserted
        else { return }
        if try isIntact(known, body) { return }
        if !isInline(bytes) || body.frame != nil {
            let location = try appendToPack(bytes, isFrame: body.frame != nil)
            try moveBody.run(
                .integer(location.pack), .integer(location.start), .optional(location.frame),
                .integer(known.row))
            journal.append(body, at: location, inline: nil)
        } else {
            try moveBody.run(.null, .null, .null, .integer(known.row))
            try changeContent.run(.integer(known.row), .blob(body.links), .blob(bytes))
            journal.append(body, at: nil, inline: bytes)
        }
    }

    /// Does the same for a large body in a file. If it is stored as an intact frame, no file is added.
    private mutating func repairIfDamaged(_ known: KnownBody, _ body: NewBody, with path: String)
        throws(StoreError)
    {
        guard known.location != nil else { return try files.add(path, sha256: body.sha256.hex) }
        guard verifiedRows.insert(known.row).inserted, try !isIntact(known, body) else {
            return copiedFiles.append(path)
        }
        try files.add(path, sha256: body.sha256.hex)
        try moveBody.run(.null, .null, .null, .integer(known.row))
        journal.append(body, at: nil, inline: nil)
    }

    /// Whether the stored bytes of a known body are the new ones.
    private func isIntact(_ known: KnownBody, _ body: NewBody) throws(StoreError) -> Bool {
        guard let stored = try storedBytes(of: known, body) else { return false }
        if case .bytes(let bytes) = body.content { return stored == bytes }
        return try BodyContent.bytes(stored).measure().sha256 == body.sha256
    }

    /// The stored bytes, as far as they exist.
    private func storedBytes(of known: KnownBody, _ body: NewBody) throws(StoreError) -> [UInt8]? {
        if let location = known.location {
            return try location.read(body.byteCount, in: folder)
        }
        let inline = try connection.prepare("SELECT bytes FROM content WHERE body = ?").first(
            .integer(known.row)
        ) {
            $0.optionalBlob(0)
        }
        if let inline = inline ?? nil { return inline }
        guard hasPacks else { return nil }
        // Earlier versions of Larder stored small bodies in files too.
        let file = BodyContent.file(path: folder.bodyFile(sha256: body.sha256.hex))
        return file.byteCount == body.byteCount ? try file.load() : nil
    }

    private func isInline(_ bytes: [UInt8]) -> Bool {
        !hasPacks || bytes.count <= Limits.maxInlineBodyBytes
    }

    private func bodyRemovedError() -> StoreError {
        StoreError(
            .failed, doing: "write to", path: folder.name,
            detail:
                "another process has removed a body that was still needed",
            advice: "run the same command again")
    }

    private mutating func appendToPack(_ bytes: [UInt8], isFrame: Bool) throws(StoreError) -> PackLocation {
        openByteCount += bytes.count
        return try openPackWriter().append(bytes, isFrame: isFrame)
    }

    private mutating func openPackWriter() throws(StoreError) -> PackWriter {
        if let packWriter { return packWriter }
        let writer = try PackWriter(folder, connection)
        packWriter = writer
        return writer
    }

    /// Replaces the link table of the body, if the body exists.
    func replaceLinkTable(_ links: [UInt8], of body: StoredBody) throws(StoreError) {
        try connection.prepare(
            "UPDATE content SET links = ? WHERE body = (SELECT id FROM body WHERE sha256 = ? AND form = ?)"
        ).run(.blob(links), .blob(body.sha256), .text(body.form))
    }

    /// Returns the id of the row of a body that was read before. The row may have been replaced by one with
    /// another id since then. Throws if the body is gone.
    func findRow(of body: StoredBody) throws(StoreError) -> Int64 {
        let key: [SQLValue] = [.blob(body.sha256), .text(body.form)]
        func read(_ row: Row) -> (row: Int64, lacksMD5: Bool) { (row.integer(0), row.isNull(4)) }
        var known = try findBodyByID.first(key + [.integer(body.id)], read: read)
        if known == nil { known = try findBody.first(key, read: read) }
        guard let (row, lacksMD5) = known else { throw bodyRemovedError() }
        if lacksMD5, let md5 = body.md5 { try updateMD5.run(.blob(md5), .blob(body.sha256)) }
        return row
    }

    /// Makes every body that has a row by now durable. Must be called before the commit.
    mutating func sync() throws(StoreError) {
        try files.sync()
        guard let packWriter else { return }
        try packWriter.sync()
        try packWriter.recordSize(with: recordPackSize)
    }

    /// Must be called after the commit.
    mutating func didCommit() {
        openByteCount = 0
        for path in copiedFiles { unlink(path) }
        copiedFiles = []
        packWriter?.didCommit()
        if packWriter?.isFull ?? false { packWriter = nil }
    }

    mutating func rollBack() {
        openByteCount = 0
        verifiedRows.removeAll()
        external?.forgetKnownUploads()
        copiedFiles = []
        files.forgetAll()
        packWriter?.rollBack()
    }

    /// Releases the pack until a body is added, so that other processes may change the packs.
    mutating func releasePack() {
        verifiedRows.removeAll()
        external?.forgetKnownUploads()
        packWriter = nil
    }
}

// MARK: - URLRows

/// Finds and adds the rows of URLs. It looks each URL up once per snapshot if the caller numbers the URLs. It
/// belongs to the writer and works in its transactions.
struct URLRows {
    private let connection: Connection
    private let find: Statement
    private let add: Statement
    /// Row ids by the numbers that the caller uses for URLs of one snapshot; 0 if the row is not known yet.
    private var rows: [Int64] = []
    private var snapshot: Int64?
    /// Whether the last URL that was looked up had to be added.
    private var lastWasNew = true
    /// The indices in `rows` that were set in the open transaction.
    private var indicesOfOpenTransaction: [Int] = []
    /// The row ids of URLs that were looked up in a batch.
    var known: [String: Int64] = [:]

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        find = try connection.prepare("SELECT id FROM url WHERE href = ?")
        add = try connection.prepare("INSERT INTO url (href) VALUES (?) ON CONFLICT DO NOTHING")
    }

    /// Makes the numbers of URLs refer to this snapshot from now on.
    mutating func begin(snapshot: Int64) {
        if self.snapshot != snapshot { forgetAll() }
        self.snapshot = snapshot
    }

    /// Forgets all rows, because they may have been rolled back or other processes may remove them.
    mutating func forgetAll() {
        rows.removeAll()
        indicesOfOpenTransaction.removeAll()
        known.removeAll()
    }

    /// Must be called after the commit.
    mutating func didCommit() {
        indicesOfOpenTransaction.removeAll(keepingCapacity: true)
    }

    /// Forgets the rows that were added in the transaction. Earlier ones stay, because the caller does not
    /// send their URLs again.
    mutating func rollBack() {
        for index in indicesOfOpenTransaction where index < rows.count { rows[index] = 0 }
        indicesOfOpenTransaction.removeAll()
        known.removeAll()
        lastWasNew = true
    }

    /// Appends the URL of the target, if its row must be looked up.
    func appendIfUnknown(_ target: NewLinks.Target, to hrefs: inout [String]) {
        guard let href = target.href else { return }
        appendIfUnknown(href, target.isNumbered ? target.number : nil, to: &hrefs)
    }

    func appendIfUnknown(_ href: String, _ number: UInt32?, to hrefs: inout [String]) {
        if let index = number.map(Int.init), index < rows.count, rows[index] != 0 { return }
        hrefs.append(href)
    }

    /// Returns the id of the target's row; nil if it has a number whose URL is not known.
    mutating func findOrAdd(_ target: NewLinks.Target) throws(StoreError) -> Int64? {
        if let href = target.href { return try findOrAdd(href, target.isNumbered ? target.number : nil) }
        let index = Int(target.number)
        return index < rows.count && rows[index] != 0 ? rows[index] : nil
    }

    /// Returns the id of the URL's row, which is added if it is missing.
    ///
    /// - Parameters:
    ///   - number: The number that the caller uses for this URL only, if it numbers URLs.
    ///   - known: The id of the row, if the caller knows it.
    mutating func findOrAdd(
        _ href: String, _ number: UInt32? = nil, known: Int64? = nil
    ) throws(StoreError) -> Int64 {
        func find() throws(StoreError) -> Int64 { if let known { known } else { try findOrAddRow(of: href) } }
        guard let index = number.map(Int.init) else { return try find() }
        if index < rows.count, rows[index] != 0 { return rows[index] }
        let row = try find()
        if index >= rows.count { rows.append(contentsOf: repeatElement(0, count: index + 1 - rows.count)) }
        rows[index] = row
        indicesOfOpenTransaction.append(index)
        return row
    }

    private mutating func findOrAddRow(of href: String) throws(StoreError) -> Int64 {
        if let known = known[href] { return known }
        // A first snapshot adds mostly new URLs, and a later one hardly any. Assuming that a URL is new if
        // the last one was, a single search is usually enough.
        if !lastWasNew, let known = try find.first(.text(href), read: { $0.integer(0) }) { return known }
        let added = try add.insert(.text(href))
        lastWasNew = added != nil
        if let added { return added }
        return try find.first(.text(href)) { $0.integer(0) } ?? 0
    }
}
