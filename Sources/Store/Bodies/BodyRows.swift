internal import Digest

/// The rows of bodies, and where the bytes go: those of tiny ones into the row, of most into a pack, of large ones into a
/// file. It belongs to the writer, in whose transactions it works.
struct BodyRows {
    private let folder: StoreFolder
    private let connection: Connection
    private let findBody: Statement
    private let addBody: Statement
    private let moveBody: Statement
    private let addContent: Statement
    private let notePack: Statement
    private var files: BodyFiles
    private var packWriter: PackWriter?
    /// The packs that were looked at: how large they are, 0 for one that is gone.
    private var packSizes: [Int64: Int64] = [:]
    /// What came since the last commit.
    private(set) var openByteCount = 0

    init(_ folder: StoreFolder, _ connection: Connection) throws(StoreError) {
        self.folder = folder
        self.connection = connection
        files = BodyFiles(folder)
        findBody = try connection.prepare("SELECT id, pack, start FROM body WHERE sha256 = ? AND form = ?")
        addBody = try connection.prepare(
            "INSERT INTO body (sha256, form, size, title, pack, start) VALUES (?, ?, ?, ?, ?, ?)")
        moveBody = try connection.prepare("UPDATE body SET pack = ?, start = ? WHERE id = ?")
        addContent = try connection.prepare("INSERT INTO content (body, links, bytes) VALUES (?, ?, ?)")
        notePack = try connection.prepare("INSERT OR REPLACE INTO pack (number, size) VALUES (?, ?)")
    }

    /// The row that the body has, or gets.
    mutating func row(of body: NewBody) throws(StoreError) -> Int64 {
        if case .file(let path) = body.content { files.add(path, sha256: body.sha256.hex, byteCount: body.byteCount) }
        let known = try findBody.first(.blob(body.sha256.bytes), .text(body.form)) { row in
            (row: row.integer(0), place: row.optionalInteger(1).map { PackPlace(pack: $0, start: row.integer(2)) })
        }
        if let known {
            try mend(known.row, known.place, body)
            return known.row
        }
        openByteCount += body.links.count
        var place: PackPlace?
        var inline = SQLValue.null
        switch body.content {
        case .bytes(let bytes) where bytes.count > Limits.inlineBody: place = try pack(bytes)
        case .bytes(let bytes): inline = .blob(bytes)
        case .file: break
        }
        try addBody.run(
            .blob(body.sha256.bytes), .text(body.form), .integer(Int64(body.byteCount)), .optional(body.title),
            .optional(place?.pack), .optional(place?.start))
        let row = connection.lastInsertedRow
        try addContent.run(.integer(row), .blob(body.links), inline)
        return row
    }

    /// A body that is known, but whose pack or file has been lost or cut short, is kept anew.
    private mutating func mend(_ row: Int64, _ place: PackPlace?, _ body: NewBody) throws(StoreError) {
        guard case .bytes(let bytes) = body.content, bytes.count > Limits.inlineBody else { return }
        if let place {
            guard size(ofPack: place.pack) < place.start + Int64(bytes.count) else { return }
        } else {
            // Earlier larders kept such bodies elsewhere.
            let isInline = try connection.prepare("SELECT bytes IS NOT NULL FROM content WHERE body = ?").first(
                .integer(row)
            ) {
                $0.integer(0) != 0
            }
            guard isInline != true, !files.has(sha256: body.sha256.hex, byteCount: bytes.count) else { return }
        }
        let place = try pack(bytes)
        try moveBody.run(.integer(place.pack), .integer(place.start), .integer(row))
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

    /// How much of a pack there is, be it committed or not; 0 where it is gone.
    private mutating func size(ofPack number: Int64) -> Int64 {
        if let packWriter, packWriter.pack.number == number { return packWriter.end }
        if let known = packSizes[number] { return known }
        let size = Pack(number, in: folder).byteCount ?? 0
        packSizes[number] = size
        return size
    }

    /// Looked up by its digest: its number may have become another's since somebody read it.
    func row(ofHeld body: StoredBody) throws(StoreError) -> Int64 {
        let known = try findBody.first(.blob(body.sha256), .text(body.form), read: { $0.integer(0) })
        guard let known else {
            throw StoreError(
                .failed, doing: "write to", path: folder.path, detail: "a body that was confirmed is not there any more"
            )
        }
        return known
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
        packSizes.removeAll()
        files.forget()
        packWriter?.rollBack()
    }

    /// Packs may be changed by others from here on, until a body is added.
    mutating func letGo() {
        packSizes.removeAll()
        packWriter = nil
    }
}
