internal import Digest
internal import Glibc

/// The rows of bodies, and where the bytes go: those of tiny ones into the row, of most into a pack, of large
/// ones into a file. It belongs to the writer, in whose transactions it works.
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
    /// A PostgreSQL has no packs: what would be in one is in its row, and what would be a file is in pieces.
    private let isServed: Bool
    private let pieces: ServerBodies?
    /// Files that became pieces, or frames, and go with the commit.
    private var taken: [String] = []
    private var files: BodyFiles
    private var packWriter: PackWriter?
    /// The rows whose bytes were found to be as they came.
    private var proven: Set<Int64> = []
    /// What came since the last commit.
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
        // SQLite would ask the digest's index; a PostgreSQL knows no such sign.
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
        // The version stands first.
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

    /// The row that the body has, or gets.
    mutating func row(of body: NewBody) throws(StoreError) -> Int64 {
        if isServed {
            try putPieces(of: body)
        } else if case .file(let path) = body.content, body.frame != nil {
            taken.append(path)
        }
        return try row(of: body, isSecondLook: false)
    }

    /// What becomes a file.
    private func file(of body: NewBody) -> String? {
        guard !isServed, body.frame == nil, case .file(let path) = body.content else { return nil }
        return path
    }

    /// Where it is a large one. It may be done twice.
    mutating func putPieces(of body: NewBody) throws(StoreError) {
        guard let pieces, case .file(let path) = body.content, !taken.contains(path) else { return }
        taken.append(path)
        guard outer == nil else { return }
        try pieces.put(body.content, body.sha256.bytes)
        openByteCount += body.byteCount
    }

    /// Its row has come by itself.
    mutating func noteAdded(_ body: NewBody) {
        openByteCount += body.links.count
        if case .bytes(let bytes) = body.content, !goesOut(body) { openByteCount += bytes.count }
    }

    /// Where larger bodies go that are neither in rows nor in pieces.
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
            // It is there already.
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
            // Another session has just committed the same.
            guard !isSecondLook else { throw gone() }
            return try self.row(of: body, isSecondLook: true)
        }
        if let path = file(of: body) { try files.add(path, sha256: body.sha256.hex) }
        if isServed { openByteCount += inline?.count ?? 0 }
        try addContent.run(.integer(row), .blob(body.links), inline.map { .blob($0) } ?? .null)
        journal.note(body, at: place, inline: inline)
        return row
    }

    private struct Known {
        let row: Int64
        let place: PackPlace?
        let md5: [UInt8]?
    }

    /// A body that is known, but whose bytes have been lost, cut short or changed, is kept anew: here are
    /// good ones. Each is compared once in a run.
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

    /// The same of a large one. What is a frame stays one, and is not kept once more.
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

    /// What is there of the bytes.
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
        // Earlier larders kept smaller ones in files as well.
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

    /// In place of its links, should it be there.
    func put(_ links: [UInt8], of body: StoredBody) throws(StoreError) {
        try connection.prepare(
            "UPDATE content SET links = ? WHERE body = (SELECT id FROM body WHERE sha256 = ? AND form = ?)"
        ).run(.blob(links), .blob(body.sha256), .text(body.form))
    }

    /// Its number may have become another's since somebody read it.
    func row(ofHeld body: StoredBody) throws(StoreError) -> Int64 {
        let key: [SQLValue] = [.blob(body.sha256), .text(body.form)]
        func found(_ row: Row) -> (row: Int64, lacksMD5: Bool) { (row.integer(0), row.isNull(4)) }
        var known = try checkBody.first(key + [.integer(body.id)], read: found)
        if known == nil { known = try findBody.first(key, read: found) }
        guard let (row, lacksMD5) = known else { throw gone() }
        if lacksMD5, let md5 = body.md5 { try keepMD5.run(.blob(md5), .blob(body.sha256)) }
        return row
    }

    /// Every body that has a row now is whole, and stays. Comes before the commit.
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

    /// Packs may be changed by others from here on, until a body is added.
    mutating func letGo() {
        proven.removeAll()
        outer?.forgetBrought()
        packWriter = nil
    }
}

// MARK: - URLRows

/// The rows of URLs, each looked up once in a snapshot where its writer numbers them. It belongs to the writer,
/// in whose transactions it works.
struct URLRows {
    private let connection: Connection
    private let find: Statement
    private let add: Statement
    /// By the numbers of one snapshot; 0 where it is not known yet.
    private var rows: [Int64] = []
    private var snapshot: Int64?
    private var lastWasNew = true
    /// The places in `rows` that came in the transaction that is open.
    private var fresh: [Int] = []
    /// What was looked up for many at once.
    var known: [String: Int64] = [:]

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        find = try connection.prepare("SELECT id FROM url WHERE href = ?")
        add = try connection.prepare("INSERT INTO url (href) VALUES (?) ON CONFLICT DO NOTHING")
    }

    /// Numbers are those of this snapshot from here on.
    mutating func begin(snapshot: Int64) {
        if self.snapshot != snapshot { forget() }
        self.snapshot = snapshot
    }

    /// What was rolled back, or may be removed by others, has its rows no more.
    mutating func forget() {
        rows.removeAll()
        fresh.removeAll()
        known.removeAll()
    }

    mutating func committed() {
        fresh.removeAll(keepingCapacity: true)
    }

    /// What was committed before stays: its numbers are not told again.
    mutating func rollBack() {
        for place in fresh where place < rows.count { rows[place] = 0 }
        fresh.removeAll()
        known.removeAll()
        lastWasNew = true
    }

    /// Adds what will have to be looked up.
    func addUnknown(_ target: NewLinks.Target, to hrefs: inout [String]) {
        guard let href = target.href else { return }
        addUnknown(href, target.isNumbered ? target.number : nil, to: &hrefs)
    }

    func addUnknown(_ href: String, _ number: UInt32?, to hrefs: inout [String]) {
        if let place = number.map(Int.init), place < rows.count, rows[place] != 0 { return }
        hrefs.append(href)
    }

    /// Nil for a number of which nothing was told.
    mutating func row(of target: NewLinks.Target) throws(StoreError) -> Int64? {
        if let href = target.href { return try row(of: href, target.isNumbered ? target.number : nil) }
        let place = Int(target.number)
        return place < rows.count && rows[place] != 0 ? rows[place] : nil
    }

    /// The row that the URL has, or gets.
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
        // A first snapshot brings new URLs, one after the other, and a later one hardly any: what the last one
        // was, the next is likely to be too, and then one search is enough.
        if !lastWasNew, let known = try find.first(.text(href), read: { $0.integer(0) }) { return known }
        let added = try add.insert(.text(href))
        lastWasNew = added != nil
        if let added { return added }
        return try find.first(.text(href)) { $0.integer(0) } ?? 0
    }
}
