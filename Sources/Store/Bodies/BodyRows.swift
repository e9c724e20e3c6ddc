internal import Digest

/// The rows of bodies, and where the bytes go: those of tiny ones into the row, of most into a pack, of large
/// ones into a file. It belongs to the writer, in whose transactions it works.
struct BodyRows {
    private let folder: StoreFolder
    private let connection: Connection
    private let journal: Journal
    private let findBody: Statement
    private let addBody: Statement
    private let moveBody: Statement
    private let addContent: Statement
    private let changeContent: Statement
    private let keepMD5: Statement
    private let renewLinks: Statement
    private let notePack: Statement
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
        findBody = try connection.prepare(
            "SELECT id, pack, start, md5 IS NULL FROM body WHERE sha256 = ? AND form = ?")
        addBody = try connection.prepare(
            "INSERT INTO body (sha256, form, size, title, pack, start, md5) VALUES (?, ?, ?, ?, ?, ?, ?)")
        moveBody = try connection.prepare("UPDATE body SET pack = ?, start = ? WHERE id = ?")
        addContent = try connection.prepare("INSERT INTO content (body, links, bytes) VALUES (?, ?, ?)")
        changeContent = try connection.prepare("UPDATE content SET bytes = ? WHERE body = ?")
        // The version stands first.
        renewLinks = try connection.prepare(
            "UPDATE content SET links = ?1 WHERE body = ?2 AND substr(links, 1, 1) <> substr(?1, 1, 1)")
        keepMD5 = try connection.prepare("UPDATE body SET md5 = ? WHERE sha256 = ?")
        notePack = try connection.prepare("INSERT OR REPLACE INTO pack (number, size) VALUES (?, ?)")
    }

    /// The row that the body has, or gets.
    mutating func row(of body: NewBody) throws(StoreError) -> Int64 {
        if case .file(let path) = body.content { try files.add(path, sha256: body.sha256.hex) }
        let known = try findBody.first(.blob(body.sha256.bytes), .text(body.form)) { row in
            Known(
                row: row.integer(0),
                place: row.optionalInteger(1).map { PackPlace(pack: $0, start: row.integer(2)) },
                lacksMD5: row.integer(3) != 0)
        }
        if let known {
            try mend(known, body)
            try renewLinks.run(.blob(body.links), .integer(known.row))
            if known.lacksMD5, let md5 = body.md5 {
                try keepMD5.run(.blob(md5.bytes), .blob(body.sha256.bytes))
            }
            return known.row
        }
        openByteCount += body.links.count
        var place: PackPlace?
        var inline: [UInt8]?
        switch body.content {
        case .bytes(let bytes) where bytes.count > Limits.inlineBody: place = try pack(bytes)
        case .bytes(let bytes): inline = bytes
        case .file: break
        }
        try addBody.run(
            .blob(body.sha256.bytes), .text(body.form), .integer(Int64(body.byteCount)),
            .optional(body.title),
            .optional(place?.pack), .optional(place?.start), body.md5.map { .blob($0.bytes) } ?? .null)
        let row = connection.lastInsertedRow
        try addContent.run(.integer(row), .blob(body.links), inline.map { .blob($0) } ?? .null)
        journal.note(body, at: place, inline: inline)
        return row
    }

    private struct Known {
        let row: Int64
        let place: PackPlace?
        let lacksMD5: Bool
    }

    /// A body that is known, but whose bytes have been lost, cut short or changed, is kept anew: here are
    /// good ones. Each is compared once in a run.
    private mutating func mend(_ known: Known, _ body: NewBody) throws(StoreError) {
        guard case .bytes(let bytes) = body.content, proven.insert(known.row).inserted else { return }
        if try held(known, body) == bytes { return }
        if bytes.count > Limits.inlineBody {
            let place = try pack(bytes)
            try moveBody.run(.integer(place.pack), .integer(place.start), .integer(known.row))
            journal.note(body, at: place, inline: nil)
        } else {
            try moveBody.run(.null, .null, .integer(known.row))
            try changeContent.run(.blob(bytes), .integer(known.row))
            journal.note(body, at: nil, inline: bytes)
        }
    }

    /// What is there of the bytes.
    private func held(_ known: Known, _ body: NewBody) throws(StoreError) -> [UInt8]? {
        if let place = known.place {
            return try Pack(place.pack, in: folder).read(from: place.start, byteCount: body.byteCount)
        }
        let inline = try connection.prepare("SELECT bytes FROM content WHERE body = ?").first(
            .integer(known.row)
        ) {
            $0.optionalBlob(0)
        }
        if let inline = inline ?? nil { return inline }
        // Earlier larders kept smaller ones in files as well.
        let file = BodyContent.file(path: folder.bodyFile(sha256: body.sha256.hex))
        return file.byteCount == body.byteCount ? try file.load() : nil
    }

    private mutating func pack(_ bytes: [UInt8]) throws(StoreError) -> PackPlace {
        openByteCount += bytes.count
        return try appendingPack().append(bytes)
    }

    private mutating func appendingPack() throws(StoreError) -> PackWriter {
        if let packWriter { return packWriter }
        let find = try connection.prepare("SELECT size FROM pack WHERE number = ?")
        let writer = try PackWriter(folder) { pack throws(StoreError) in
            try find.first(.integer(pack.number)) { $0.integer(0) }
        }
        packWriter = writer
        return writer
    }

    /// In place of its links, should it be there.
    func put(_ links: [UInt8], of body: StoredBody) throws(StoreError) {
        try connection.prepare(
            "UPDATE content SET links = ? WHERE body = (SELECT id FROM body WHERE sha256 = ? AND form = ?)"
        ).run(.blob(links), .blob(body.sha256), .text(body.form))
    }

    /// Looked up by its digest: its number may have become another's since somebody read it.
    func row(ofHeld body: StoredBody) throws(StoreError) -> Int64 {
        let known = try findBody.first(.blob(body.sha256), .text(body.form)) {
            ($0.integer(0), $0.integer(3) != 0)
        }
        guard let (row, lacksMD5) = known else {
            throw StoreError(
                .failed, doing: "write to", path: folder.path,
                detail: "a body that was confirmed is not there any more"
            )
        }
        if lacksMD5, let md5 = body.md5 { try keepMD5.run(.blob(md5), .blob(body.sha256)) }
        return row
    }

    /// Every body that has a row now is whole, and stays. Comes before the commit.
    mutating func settle() throws(StoreError) {
        try files.settle()
        guard let packWriter else { return }
        try packWriter.settle()
        try notePack.run(.integer(packWriter.pack.number), .integer(packWriter.end))
    }

    mutating func committed() {
        openByteCount = 0
        packWriter?.committed()
        if packWriter?.isFull ?? false { packWriter = nil }
    }

    mutating func rollBack() {
        openByteCount = 0
        proven.removeAll()
        files.forget()
        packWriter?.rollBack()
    }

    /// Packs may be changed by others from here on, until a body is added.
    mutating func letGo() {
        proven.removeAll()
        packWriter = nil
    }
}

// MARK: - URLRows

/// The rows of URLs, each looked up once in a visit where its writer numbers them. It belongs to the writer,
/// in whose transactions it works.
struct URLRows {
    private let connection: Connection
    private let find: Statement
    private let add: Statement
    /// By the numbers of one visit; 0 where it is not known yet.
    private var rows: [Int64] = []
    private var visit: Int64?
    private var lastWasNew = true

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        find = try connection.prepare("SELECT id FROM url WHERE href = ?")
        add = try connection.prepare("INSERT INTO url (href) VALUES (?) ON CONFLICT DO NOTHING")
    }

    /// Numbers are those of this visit from here on.
    mutating func begin(visit: Int64) {
        if self.visit != visit { rows.removeAll() }
        self.visit = visit
    }

    /// What was rolled back, or may be removed by others, has its rows no more.
    mutating func forget() {
        rows.removeAll()
    }

    /// Nil for a number of which nothing was told.
    mutating func row(of target: NewLinks.Target) throws(StoreError) -> Int64? {
        if let href = target.href { return try row(of: href, target.isNumbered ? target.number : nil) }
        let place = Int(target.number)
        return place < rows.count && rows[place] != 0 ? rows[place] : nil
    }

    /// The row that the URL has, or gets.
    mutating func row(of href: String, _ number: UInt32?) throws(StoreError) -> Int64 {
        guard let place = number.map(Int.init) else { return try row(of: href) }
        if place < rows.count, rows[place] != 0 { return rows[place] }
        let row = try row(of: href)
        if place >= rows.count { rows.append(contentsOf: repeatElement(0, count: place + 1 - rows.count)) }
        rows[place] = row
        return row
    }

    mutating func row(of href: String) throws(StoreError) -> Int64 {
        // A first visit brings new URLs, one after the other, and a later one hardly any: what the last one
        // was, the next is likely to be too, and then one search is enough.
        if !lastWasNew, let known = try find.first(.text(href), read: { $0.integer(0) }) { return known }
        try add.run(.text(href))
        lastWasNew = connection.changedRowCount > 0
        if lastWasNew { return connection.lastInsertedRow }
        return try find.first(.text(href)) { $0.integer(0) } ?? 0
    }
}
