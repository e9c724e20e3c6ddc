internal import Database
internal import Digest
internal import Glibc

/// Writes the rows of bodies, and decides where their bytes are stored: tiny bodies in the row, most in a
/// pack, large ones in a file. It belongs to the writer and works in its transactions.
struct BodyRows {
    private let folder: StoreFolder
    private let connection: Connection
    private let journal: Journal
    private let findBody: Statement
    private let checkBody: Statement
    private let addBody: Statement
    private let moveBody: Statement
    private let addContent: Statement
    private let changeContent: Statement
    private let keepMD5: Statement
    private let renewLinks: Statement
    private let notePack: Statement
    /// Whether the store is in PostgreSQL. It has no packs: bodies that would be in packs are in rows, and
    /// bodies that would be files are in pieces.
    private let isServed: Bool
    private let pieces: ServerBodies?
    /// Files that became pieces or frames; removed after the commit.
    private var taken: [String] = []
    private var files: BodyFiles
    private var packWriter: PackWriter?
    /// The rows whose stored bytes were compared with new ones in this run, or replaced by them.
    private var proven: Set<Int64> = []
    /// The number of bytes that were added since the last commit.
    private(set) var openByteCount = 0

    init(_ folder: StoreFolder, _ connection: Connection, _ journal: Journal) throws(StoreError) {
        self.folder = folder
        self.connection = connection
        self.journal = journal
        files = BodyFiles(folder)
        isServed = connection.isServed
        pieces = isServed ? try ServerBodies(folder, connection, isWriting: true) : nil
        findBody = try connection.prepare(
            "SELECT id, pack, start, frame, md5 FROM body WHERE sha256 = ? AND form = ?")
        // The "+" keeps SQLite from using the index of digests, so that it looks the row up by id. PostgreSQL
        // has no such operator.
        let unasked = isServed ? "" : "+"
        checkBody = try connection.prepare(
            """
            SELECT id, pack, start, frame, md5 FROM body
            WHERE \(unasked)sha256 = ? AND \(unasked)form = ? AND id = ?
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
        renewLinks = try connection.prepare(
            """
            INSERT INTO content (body, links) VALUES (?, ?)
            ON CONFLICT (body) DO UPDATE SET links = excluded.links
            WHERE substr(content.links, 1, 1) <> substr(excluded.links, 1, 1)
            """)
        keepMD5 = try connection.prepare("UPDATE body SET md5 = ? WHERE sha256 = ?")
        notePack =
            isServed
            ? moveBody
            : try connection.prepare(PackWriter.noting)
    }

    /// Returns the id of the body's row, which is added if it is missing. Replaces stored bytes that are
    /// damaged.
    mutating func row(of body: NewBody) throws(StoreError) -> Int64 {
        if isServed {
            try putPieces(of: body)
        } else if case .file(let path) = body.content, body.frame != nil {
            taken.append(path)
        }
        return try row(of: body, isSecondLook: false)
    }

    /// The path of the body, if it is stored as a file.
    private func file(of body: NewBody) -> String? {
        guard !isServed, body.frame == nil, case .file(let path) = body.content else { return nil }
        return path
    }

    /// Stores a large body in PostgreSQL as pieces, unless it is in the outer storage. Calling this again has
    /// no effect.
    mutating func putPieces(of body: NewBody) throws(StoreError) {
        guard let pieces, case .file(let path) = body.content, !taken.contains(path) else { return }
        taken.append(path)
        guard outer == nil else { return }
        try pieces.put(body.content, body.sha256.bytes)
        openByteCount += body.byteCount
    }

    /// Counts the bytes of a body whose row was added by other means.
    mutating func noteAdded(_ body: NewBody) {
        openByteCount += body.links.count
        if case .bytes(let bytes) = body.content, !goesOut(body) { openByteCount += bytes.count }
    }

    /// The outer storage for larger bodies of a PostgreSQL store, if it has one.
    var outer: OuterBodies? { pieces?.outer }

    private func goesOut(_ body: NewBody) -> Bool { outer?.takes(body) ?? false }

    private mutating func row(of body: NewBody, isSecondLook: Bool) throws(StoreError) -> Int64 {
        let known = try findBody.first(.blob(body.sha256.bytes), .text(body.form)) { row in
            Known(
                row: row.integer(0), place: PackPlace(row, from: 1), md5: row.optionalBlob(4))
        }
        if let known {
            try mend(known, body)
            try renewLinks.run(.integer(known.row), .blob(body.links))
            if let md5 = body.md5, known.md5 != md5.bytes {
                try keepMD5.run(.blob(md5.bytes), .blob(body.sha256.bytes))
            }
            return known.row
        }
        openByteCount += body.links.count
        var place: PackPlace?
        var inline: [UInt8]?
        if goesOut(body) {
            // `OuterBodies.bring` has stored it already.
        } else if case .bytes(let bytes) = body.content, isInline(bytes) {
            inline = bytes
        } else if let bytes = body.packedBytes {
            place = try pack(bytes, isFrame: body.frame != nil)
        }
        let added = try addBody.insert(
            .blob(body.sha256.bytes), .text(body.form), .integer(Int64(body.byteCount)),
            .optional(body.title),
            .optional(place?.pack), .optional(place?.start), .optional(place?.frame),
            body.md5.map { .blob($0.bytes) } ?? .null)
        guard let row = added else {
            // Another session has just committed the same body.
            guard !isSecondLook else { throw gone() }
            return try self.row(of: body, isSecondLook: true)
        }
        if let path = file(of: body) { try files.add(path, sha256: body.sha256.hex) }
        if isServed { openByteCount += inline?.count ?? 0 }
        try addContent.run(.integer(row), .blob(body.links), inline.map { .blob($0) } ?? .null)
        journal.note(body, at: place, inline: inline)
        return row
    }

    /// The row of a body that the store has already.
    private struct Known {
        let row: Int64
        let place: PackPlace?
        let md5: [UInt8]?
    }

    /// Stores the bytes of a known body again if the stored ones are missing, cut short or changed. Compares
    /// each body once per run.
    private mutating func mend(_ known: Known, _ body: NewBody) throws(StoreError) {
        if let path = file(of: body) { return try mend(known, body, by: path) }
        guard let bytes = body.packedBytes, !goesOut(body), proven.insert(known.row).inserted else { return }
        if try isHeld(known, body) { return }
        if !isInline(bytes) || body.frame != nil {
            let place = try pack(bytes, isFrame: body.frame != nil)
            try moveBody.run(
                .integer(place.pack), .integer(place.start), .optional(place.frame), .integer(known.row))
            journal.note(body, at: place, inline: nil)
        } else {
            try moveBody.run(.null, .null, .null, .integer(known.row))
            try changeContent.run(.integer(known.row), .blob(body.links), .blob(bytes))
            journal.note(body, at: nil, inline: bytes)
        }
    }

    /// Does the same for a large body. If it is stored as an intact frame, no file is added.
    private mutating func mend(_ known: Known, _ body: NewBody, by path: String) throws(StoreError) {
        guard known.place != nil else { return try files.add(path, sha256: body.sha256.hex) }
        guard proven.insert(known.row).inserted, try !isHeld(known, body) else { return taken.append(path) }
        try files.add(path, sha256: body.sha256.hex)
        try moveBody.run(.null, .null, .null, .integer(known.row))
        journal.note(body, at: nil, inline: nil)
    }

    private func isHeld(_ known: Known, _ body: NewBody) throws(StoreError) -> Bool {
        guard let held = try held(known, body) else { return false }
        if case .bytes(let bytes) = body.content { return held == bytes }
        return try BodyContent.bytes(held).measure().sha256 == body.sha256
    }

    /// The stored bytes, as far as they exist.
    private func held(_ known: Known, _ body: NewBody) throws(StoreError) -> [UInt8]? {
        if let place = known.place {
            return try place.read(body.byteCount, in: folder)
        }
        let inline = try connection.prepare("SELECT bytes FROM content WHERE body = ?").first(
            .integer(known.row)
        ) {
            $0.optionalBlob(0)
        }
        if let inline = inline ?? nil { return inline }
        if isServed { return nil }
        // Earlier versions of Larder stored small bodies in files too.
        let file = BodyContent.file(path: folder.bodyFile(sha256: body.sha256.hex))
        return file.byteCount == body.byteCount ? try file.load() : nil
    }

    private func isInline(_ bytes: [UInt8]) -> Bool { isServed || bytes.count <= Limits.inlineBody }

    private func gone() -> StoreError {
        StoreError(
            .failed, doing: "write to", path: folder.name,
            detail:
                "another process has removed a body that was still needed",
            advice: "run the same command again")
    }

    private mutating func pack(_ bytes: [UInt8], isFrame: Bool) throws(StoreError) -> PackPlace {
        openByteCount += bytes.count
        return try appendingPack().append(bytes, isFrame: isFrame)
    }

    private mutating func appendingPack() throws(StoreError) -> PackWriter {
        if let packWriter { return packWriter }
        let writer = try PackWriter(folder, connection)
        packWriter = writer
        return writer
    }

    /// Replaces the link table of the body, if the body exists.
    func put(_ links: [UInt8], of body: StoredBody) throws(StoreError) {
        try connection.prepare(
            "UPDATE content SET links = ? WHERE body = (SELECT id FROM body WHERE sha256 = ? AND form = ?)"
        ).run(.blob(links), .blob(body.sha256), .text(body.form))
    }

    /// Returns the id of the row of a body that was read before. The row may have been replaced by one with
    /// another id since then. Throws if the body is gone.
    func row(ofHeld body: StoredBody) throws(StoreError) -> Int64 {
        let key: [SQLValue] = [.blob(body.sha256), .text(body.form)]
        func found(_ row: Row) -> (row: Int64, lacksMD5: Bool) { (row.integer(0), row.isNull(4)) }
        var known = try checkBody.first(key + [.integer(body.id)], read: found)
        if known == nil { known = try findBody.first(key, read: found) }
        guard let (row, lacksMD5) = known else { throw gone() }
        if lacksMD5, let md5 = body.md5 { try keepMD5.run(.blob(md5), .blob(body.sha256)) }
        return row
    }

    /// Makes every body that has a row by now durable. Must be called before the commit.
    mutating func settle() throws(StoreError) {
        try files.settle()
        guard let packWriter else { return }
        try packWriter.settle()
        try packWriter.note(by: notePack)
    }

    mutating func committed() {
        openByteCount = 0
        for path in taken { unlink(path) }
        taken = []
        packWriter?.committed()
        if packWriter?.isFull ?? false { packWriter = nil }
    }

    mutating func rollBack() {
        openByteCount = 0
        proven.removeAll()
        outer?.forgetBrought()
        taken = []
        files.forget()
        packWriter?.rollBack()
    }

    /// Releases the pack until a body is added, so that other processes may change the packs.
    mutating func letGo() {
        proven.removeAll()
        outer?.forgetBrought()
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
    /// Row ids by the numbers of one snapshot; 0 if the row is not known yet.
    private var rows: [Int64] = []
    private var snapshot: Int64?
    private var lastWasNew = true
    /// The indices in `rows` that were set in the open transaction.
    private var fresh: [Int] = []
    /// The row ids of URLs that were looked up in a batch.
    var known: [String: Int64] = [:]

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        find = try connection.prepare("SELECT id FROM url WHERE href = ?")
        add = try connection.prepare("INSERT INTO url (href) VALUES (?) ON CONFLICT DO NOTHING")
    }

    /// Makes the numbers of URLs refer to this snapshot from now on.
    mutating func begin(snapshot: Int64) {
        if self.snapshot != snapshot { forget() }
        self.snapshot = snapshot
    }

    /// Forgets all rows, because they may have been rolled back or other processes may remove them.
    mutating func forget() {
        rows.removeAll()
        fresh.removeAll()
        known.removeAll()
    }

    mutating func committed() {
        fresh.removeAll(keepingCapacity: true)
    }

    /// Forgets the rows that were added in the transaction. Earlier ones stay, because the caller does not
    /// send their URLs again.
    mutating func rollBack() {
        for place in fresh where place < rows.count { rows[place] = 0 }
        fresh.removeAll()
        known.removeAll()
        lastWasNew = true
    }

    /// Appends the URL of the target, if its row must be looked up.
    func addUnknown(_ target: NewLinks.Target, to hrefs: inout [String]) {
        guard let href = target.href else { return }
        addUnknown(href, target.isNumbered ? target.number : nil, to: &hrefs)
    }

    func addUnknown(_ href: String, _ number: UInt32?, to hrefs: inout [String]) {
        if let place = number.map(Int.init), place < rows.count, rows[place] != 0 { return }
        hrefs.append(href)
    }

    /// Returns the id of the target's row; nil if it has a number whose URL is not known.
    mutating func row(of target: NewLinks.Target) throws(StoreError) -> Int64? {
        if let href = target.href { return try row(of: href, target.isNumbered ? target.number : nil) }
        let place = Int(target.number)
        return place < rows.count && rows[place] != 0 ? rows[place] : nil
    }

    /// Returns the id of the URL's row, which is added if it is missing.
    mutating func row(
        of href: String, _ number: UInt32?, known: Int64? = nil
    ) throws(StoreError) -> Int64 {
        func find() throws(StoreError) -> Int64 { if let known { known } else { try self.row(of: href) } }
        guard let place = number.map(Int.init) else { return try find() }
        if place < rows.count, rows[place] != 0 { return rows[place] }
        let row = try find()
        if place >= rows.count { rows.append(contentsOf: repeatElement(0, count: place + 1 - rows.count)) }
        rows[place] = row
        fresh.append(place)
        return row
    }

    mutating func row(of href: String) throws(StoreError) -> Int64 {
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
