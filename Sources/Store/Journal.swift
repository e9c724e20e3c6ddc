internal import Codings
internal import Database
internal import Digest
internal import Glibc
internal import System
internal import Web

/// A second copy of the content of the database, as lines in append-only files. A damaged or missing database
/// can be rebuilt from it and the bodies (`StoreRebuild`). It does not contain lists and tables of links, which
/// a rebuild finds again by scanning the bodies.
///
/// A line is a JSON object after an FNV-1a checksum of eight hexadecimal digits, so that damage affects only
/// the lines that it hits:
///
///     5f1c9a3e {"r":"https://example.com/","v":3,"s":200,...}
///
/// The last line about a row counts. Lines are written before their rows are committed, so that no committed
/// row is missing in the journal. Lines whose commit a killed run never reached may name bodies that do not
/// exist; a rebuild skips them. In a store that compresses, one line may contain all lines of a commit as a
/// zstd frame (`JournalLine.CompressedLines`).
///
/// Each writer appends to a file of its own, which it locks. When most lines describe former rows
/// (`isJournalLong`), or when rows were removed, a writer that is alone rewrites the whole content of the
/// database to one new file and removes the others (`draft`, `adopt`).
///
/// A journal belongs to the writer's thread.
final class Journal {
    private let folder: StoreFolder
    private var file: File?
    /// The lines that were added since the last `flush`.
    private var pending = LineWriter()
    /// Whether the lines describe rows that are already committed, so that they can be written at any time.
    private let isDraft: Bool
    /// Whether the store has a journal. PostgreSQL has its own log.
    private let isEnabled: Bool
    /// An error of a write outside of `flush`, which the next `flush` throws.
    private var failure: StoreError?

    init(_ folder: StoreFolder) {
        self.folder = folder
        isDraft = false
        isEnabled = folder.server == nil
    }

    /// Opens a journal in a new file at this path.
    init(_ folder: StoreFolder, at path: String) throws(StoreError) {
        self.folder = folder
        isDraft = true
        isEnabled = true
        file = try StoreError.wrapping { () throws(SystemError) in
            try File(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)
        }
    }

    /// Adds a line for a response.
    func append(_ response: NewResponse, ofSnapshot snapshot: Int64) {
        guard isEnabled else { return }
        let body: (sha256: String, form: String)? =
            switch response.body {
            case .none: nil
            case .new(let new): (new.sha256.hex, new.form)
            case .stored(let stored): (Hex.encode(stored.sha256), stored.form)
            }
        append(
            JournalLine.Response(
                href: response.href, snapshot: snapshot, request: response.request.text,
                variant: response.variant,
                status: Int64(response.status), role: Int64(response.role),
                flags: Int64(response.flags.rawValue),
                requested: response.requested, fetched: response.fetched, type: response.type,
                referrer: response.referrer, fields: response.fields, sha256: body?.sha256, form: body?.form))
    }

    /// Adds a line for a body.
    ///
    /// - Parameters:
    ///   - location: Where the body is, if it is in a pack.
    ///   - inline: The bytes of the body, if they are in the database, because the journal is their only copy.
    func append(_ body: NewBody, at location: PackLocation?, inline: [UInt8]?) {
        guard isEnabled else { return }
        append(
            JournalLine.Body(
                sha256: body.sha256.hex, form: body.form, byteCount: Int64(body.byteCount), title: body.title,
                md5: body.md5?.hex, place: location, bytes: inline))
    }

    /// Adds a line.
    func append(_ line: some LineWritable) {
        guard isEnabled else { return }
        pending.add(line)
        flushIfLarge()
    }

    /// Adds a line with the sites, snapshots and pins.
    func append(_ state: JournalLine.StoreState) {
        guard isEnabled else { return }
        var writer = JSONWriter()
        writer.value(state)
        pending.add(json: writer.bytes)
        flushIfLarge()
    }

    private func flushIfLarge() {
        guard pending.bytes.count > Self.maxPendingBytes, isDraft, failure == nil else { return }
        do throws(StoreError) { try flush() } catch { failure = error }
    }

    /// Discards the lines that were added since the last `flush`.
    func discardPending() { pending.removeAll() }

    /// Writes the lines that were added to the file. Does not sync it; the system does that later, as for the
    /// database's log.
    func flush() throws(StoreError) {
        if let failure { throw failure }
        guard !pending.bytes.isEmpty else { return }
        defer { pending.removeAll() }
        if file == nil { file = try Self.openUnlockedFile(in: folder) }
        if folder.compresses, let compressed = JournalLine.CompressedLines(pending.bytes) {
            pending.removeAll()
            pending.add(compressed)
        }
        try StoreError.wrapping { () throws(SystemError) in try file?.write(pending.bytes) }
    }

    /// Writes the whole content of a database to a new file, which becomes part of the journal with `adopt`.
    /// Returns its path.
    static func draft(
        in folder: StoreFolder, _ write: (Journal) throws(StoreError) -> Void
    ) throws(StoreError) -> String {
        let path = folder.incoming + "/journal-" + fileName(Int64.random(in: 1...Int64.max))
        try StoreFolder.makeFolders(folder.incoming)
        do throws(StoreError) {
            let draft = try Journal(folder, at: path)
            try write(draft)
            try draft.flush()
            try StoreError.wrapping { () throws(SystemError) in try draft.file?.syncData() }
        } catch {
            unlink(path)
            throw error
        }
        return path
    }

    /// Makes a draft the whole journal and removes the other files, except those that other writers have
    /// locked.
    func adopt(_ draft: String) throws(StoreError) {
        let target = folder.journal + "/" + Self.fileName(Int64.random(in: 1...Int64.max))
        do throws(StoreError) {
            try StoreFolder.makeFolders(folder.journal)
            guard rename(draft, target) == 0 else { throw StoreError(errno, doing: "write to", path: target) }
        } catch {
            unlink(draft)
            throw error
        }
        file = nil
        folder.recordJournalSize(byteCount: StoreFolder.byteCount(of: target))
        for path in folder.journalFiles where path != target {
            guard let file = try? File(path, O_WRONLY) else { continue }
            if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
        }
    }

    /// The number of pending bytes above which a draft is flushed, so that it needs little memory.
    private static let maxPendingBytes = 1 << 20

    /// Opens the first file that no other writer has locked, or a new one, and locks it.
    private static func openUnlockedFile(in folder: StoreFolder) throws(StoreError) -> File {
        try StoreFolder.makeFolders(folder.journal)
        for path in folder.journalFiles {
            guard let file = try? File(path, O_WRONLY | O_APPEND) else { continue }
            var status = stat()
            let lock = flock(file.descriptor, LOCK_EX | LOCK_NB)
            if lock == 0, fstat(file.descriptor, &status) == 0, status.st_nlink > 0 {
                // End a line that a killed run may have left incomplete.
                if status.st_size > 0 {
                    try StoreError.wrapping { () throws(SystemError) in try file.write([0x0A]) }
                }
                return file
            }
        }
        while true {
            let path = folder.journal + "/" + fileName(Int64.random(in: 1...Int64.max))
            do throws(SystemError) {
                let file = try File(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)
                if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { return file }
            } catch {
                guard error.code == EEXIST else { throw StoreError(error) }
            }
        }
    }

    private static func fileName(_ number: Int64) -> String {
        Hex.encode(bigEndian: UInt64(bitPattern: number))
    }

    /// The checksum at the start of a line with these bytes.
    static func checksum(_ bytes: some Collection<UInt8>) -> UInt32 {
        var sum = FNVSum()
        for byte in bytes { sum.add(byte) }
        return sum.value
    }

    /// Calls `take` with the intact lines of a file, in their order. Returns the number of damaged lines.
    @discardableResult
    static func eachLine(
        of path: String, take: (JSONValue) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        var rest: [UInt8] = []
        var failure: StoreError?
        var damagedLines = 0
        func read(_ line: ArraySlice<UInt8>) {
            guard failure == nil else { return }
            guard let value = value(of: line) else {
                if !line.isEmpty { damagedLines += 1 }
                return
            }
            do throws(StoreError) {
                guard let compressed = JournalLine.CompressedLines(value) else { return try take(value) }
                let lines = compressed.lines
                if lines == nil, !ZstdFrame.isAvailable { throw .needsZstd(path) }
                if lines == nil { damagedLines += 1 }
                for line in (lines ?? []).split(separator: 0x0A) {
                    if let value = Self.value(of: line) { try take(value) }
                }
            } catch {
                failure = error
            }
        }
        try BodyContent.file(path: path).eachPiece { piece in
            piece.withUnsafeBufferPointer { rest += $0 }
            var start = rest.startIndex
            while let end = rest[start...].firstIndex(of: 0x0A) {
                read(rest[start..<end])
                start = end + 1
            }
            rest.removeFirst(start)
            if rest.count > maxLineBytes { rest.removeAll() }
        }
        read(rest[...])
        if let failure { throw failure }
        return damagedLines
    }

    /// Returns the JSON of a line, or nil if the line is damaged.
    private static func value(of line: ArraySlice<UInt8>) -> JSONValue? {
        guard line.count > 9, line[line.startIndex + 8] == 0x20 else { return nil }
        let text = line.dropFirst(9)
        guard line.prefix(8).elementsEqual(Hex.encode(bigEndian: checksum(text)).utf8) else { return nil }
        return try? JSONValue.parse(Array(text).span, limits: JSONLimits(byteCount: maxLineBytes))
    }

    /// Longer lines count as damaged.
    static let maxLineBytes = 256 * 1024 * 1024
}

extension Hex {
    fileprivate static func encode(bigEndian value: some FixedWidthInteger) -> String {
        withUnsafeBytes(of: value.bigEndian) { encode($0) }
    }
}

extension StoreFolder {
    /// The files of the journal, in the order of their names.
    var journalFiles: [String] {
        Self.names(in: journal).filter { $0.utf8.count == 16 }.sorted().map { journal + "/" + $0 }
    }

    /// The file with the size of the journal after its last rewrite, when it had exactly the rows of the
    /// database.
    private var journalSizeFile: String { journal + "/size" }

    /// Records the size of a rewritten journal. If the disk is full, there is no record, and the size of the
    /// database is used instead.
    fileprivate func recordJournalSize(byteCount: Int64) {
        unlink(journalSizeFile)
        try? WholeFile.replace(journalSizeFile, with: "\(byteCount)\n")
    }

    /// An empty file that exists while rows of the database have been moved or removed but are still in the
    /// journal. If the run is killed then, the database and the journal differ although nothing is damaged.
    private var staleJournalMarker: String { journal + "/behind" }

    /// Whether a run was killed before it could rewrite a stale journal.
    var isJournalStale: Bool { access(staleJournalMarker, F_OK) == 0 }

    /// Creates or removes the mark that the journal has lines of rows that were moved or removed. If the disk has no space for it,
    /// a killed run leaves a journal that counts as damaged until the next collection rewrites it.
    func markJournal(isStale: Bool) {
        guard server == nil else { return }
        guard isStale else {
            unlink(staleJournalMarker)
            return
        }
        let file = open(staleJournalMarker, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        if file >= 0 { close(file) }
    }

    /// Whether most of the journal describes former rows: it is more than twice as long as after its last
    /// rewrite.
    var isJournalLong: Bool {
        let text = try? WholeFile.read(journalSizeFile, atMost: 64)
        let recorded = text.flatMap { Int64(String(decoding: $0.dropLast(), as: UTF8.self)) }
        return journalByteCount / 2 > (recorded ?? databaseByteCount) + Limits.journalSlackBytes / 2
    }

    /// Whether there are bodies or journal files, which must have belonged to a database.
    var hasStoreFiles: Bool {
        if server != nil { return false }
        return !journalFiles.isEmpty || !bodyFileNames.isEmpty || packList.contains { $0.byteCount ?? 0 > 0 }
    }

    /// Returns the error for a database that is missing or cannot be read although the files beside it show
    /// that there was one.
    func lostDatabase(_ detail: String) -> StoreError {
        StoreError(
            .unusable, doing: "open", path: database, detail: detail,
            advice: "recover its content from the files beside it", remedy: .repair)
    }
}

/// The functions that write the content of a database to a journal.
extension Connection {
    /// Writes the sites, snapshots and pins, and all or some bodies and responses, in one transaction. Uses
    /// the memory of one line.
    func write(
        to journal: Journal, bodies: String = "true", responses: String = "true"
    ) throws(StoreError) {
        try beginReading()
        let result = Result { () throws(StoreError) in
            try writeRowLines(to: journal, bodies: bodies, responses: responses)
        }
        try commit(hasChanged: false)
        try result.get()
    }

    /// Writes all rows, as the open transaction sees them.
    func writeRowsInTransaction(to journal: Journal) throws(StoreError) {
        try writeRowLines(to: journal, bodies: "true", responses: "true")
    }

    private func writeRowLines(
        to journal: Journal, bodies: String, responses: String
    ) throws(StoreError) {
        journal.append(try journalState())
        try prepare(
            """
            SELECT \(JournalLine.bodyColumns), iif(pack IS NULL, content.bytes, NULL), sha256
            FROM body LEFT JOIN content ON content.body = body.id WHERE \(bodies)
            """
        ).each { row in
            journal.append(
                JournalLine.BodyLine(
                    row, sha256: RowText(row, 8, .hexadecimal),
                    md5: row.isNull(3) ? nil : RowText(row, 3, .hexadecimal),
                    bytes: row.isNull(7) ? nil : RowText(row, 7, .base64)))
        }
        try writeResponses(to: journal, where: responses)
        try journal.flush()
    }

    /// Writes lines for the responses that match an SQL condition.
    func writeResponses(to journal: Journal, where condition: String) throws(StoreError) {
        try prepare(
            """
            SELECT \(JournalLine.responseColumns), response.confirmed, url.href, referrer.href, body.sha256, body.form
            FROM response
            JOIN url ON url.id = response.url
            LEFT JOIN url AS referrer ON referrer.id = response.referrer
            LEFT JOIN body ON body.id = response.body WHERE \(condition)
            """
        ).each { row in
            journal.append(
                JournalLine.ResponseLine(
                    row, href: RowText(row, 11), referrer: RowText(optional: row, 12),
                    sha256: row.isNull(13) ? nil : RowText(row, 13, .hexadecimal),
                    form: RowText(optional: row, 14)))
        }
    }

    /// Writes the readable rows of a damaged database. Each table is read separately, from both ends; the
    /// rest is skipped. Throws only if the journal cannot be written.
    ///
    /// - Parameter withDamagedRows: whether to also read rows from pages with wrong checksums. Bodies are
    ///   read from such pages in any case, because they are compared with their digests.
    func salvage(to journal: Journal, withDamagedRows: Bool) throws(StoreError) {
        readDamagedPages(withDamagedRows)
        func readRows(_ table: String, _ columns: String, by key: String, read: (Row) -> Void)
            throws(StoreError)
        {
            var isWhole = true
            for order in ["ASC", "DESC"] where isWhole == (order == "ASC") {
                let keys = key.split(separator: ",").map { "\($0) \(order)" }.joined(separator: ", ")
                do throws(StoreError) {
                    try prepare("SELECT \(columns) FROM \(table) ORDER BY \(keys)").each(read: read)
                } catch {
                    isWhole = false
                }
            }
            try journal.flush()
        }
        journal.append(try journalState(time: 0, isDamaged: true))
        var hrefs: [Int64: String] = [:]
        try readRows("url", "id, href", by: "id") { hrefs[$0.integer(0)] = $0.text(1) }
        readDamagedPages(true)
        var bytes: [Int64: [UInt8]] = [:]
        try readRows("content", "body, bytes", by: "body") { row in
            if let inline = row.optionalBlob(1) { bytes[row.integer(0)] = inline }
        }
        var bodies: [Int64: (sha256: [UInt8], form: String)] = [:]
        try readRows("body", "\(JournalLine.bodyColumns), id, sha256", by: "id") { row in
            let id = row.integer(7)
            bodies[id] = (row.blob(8), row.text(0))
            journal.append(
                JournalLine.BodyLine(
                    row, sha256: Hex.encode(row.blob(8)), md5: row.optionalBlob(3).map { Hex.encode($0) },
                    bytes: row.isNull(4) ? bytes[id].map { Base64.encode($0) } : nil))
        }
        readDamagedPages(withDamagedRows)
        // Databases of earlier versions lack this column.
        let confirmed = (try? prepare("SELECT confirmed FROM response LIMIT 0")) == nil ? "0" : "confirmed"
        let columns = "\(JournalLine.responseColumns), \(confirmed), url, referrer, body"
        try readRows("response", columns, by: "url,snapshot,request,variant") { row in
            guard let href = hrefs[row.integer(11)] else { return }
            let body = row.optionalInteger(13).flatMap { bodies[$0] }
            // The body is unknown, so the response counts as missing.
            if body == nil, !row.isNull(13) { return }
            journal.append(
                JournalLine.ResponseLine(
                    row, href: href, referrer: row.optionalInteger(12).flatMap { hrefs[$0] },
                    sha256: body.map { Hex.encode($0.sha256) }, form: body?.form))
        }
    }

    /// Returns the sites, snapshots and pins.
    ///
    /// - Parameters:
    ///   - time: The time of the line; by default, now.
    ///   - isDamaged: Whether the database is damaged. If so, rows that cannot be read are left out.
    func journalState(time: Int64? = nil, isDamaged: Bool = false) throws(StoreError)
        -> JournalLine.StoreState
    {
        func readEach(_ sql: String, read: (Row) -> Void) throws(StoreError) {
            do throws(StoreError) {
                try prepare(sql).each(read: read)
            } catch {
                guard isDamaged else { throw error }
            }
        }
        var state = JournalLine.StoreState(time: time ?? SystemClock.microsecondsSinceEpoch())
        // A damaged database may be one of an earlier version, without some of the columns.
        func column(_ name: String, of table: String, else value: String) -> String {
            (try? prepare("SELECT \(name) FROM \(table) LIMIT 0")) == nil ? value : name
        }
        let highest = column("snapshots", of: "site", else: "0")
        try readEach("SELECT id, name, start, published, settings, overlay, \(highest) FROM site ORDER BY id")
        {
            row in
            state.sites.append(
                JournalLine.StoreState.Site(
                    id: row.integer(0), name: row.text(1), start: row.text(2),
                    published: row.optionalInteger(3),
                    settings: row.text(4), overlay: row.optionalInteger(5), snapshots: row.integer(6)))
        }
        let confirmed = column("confirmed", of: "snapshot", else: "0")
        let archive = column("archive", of: "snapshot", else: "NULL")
        let number = column("number", of: "snapshot", else: "0")
        try readEach(
            "SELECT id, site, started, finished, base, \(confirmed), \(archive), \(number) FROM snapshot ORDER BY id"
        ) { row in
            state.snapshots.append(
                JournalLine.StoreState.Snapshot(
                    id: row.integer(0), site: row.integer(1), started: row.integer(2),
                    finished: row.optionalInteger(3), base: row.optionalInteger(4),
                    confirmed: row.integer(5), archive: row.optionalText(6), number: row.integer(7)))
        }
        try readEach("SELECT kind, value, added FROM pin ORDER BY kind, value") { row in
            state.pins.append(
                JournalLine.StoreState.Pin(kind: row.text(0), value: row.text(1), added: row.integer(2)))
        }
        return state
    }
}

/// Rows in the form of journal lines, for comparison with the journal.
extension StoreReader {
    /// Calls `take` with the line of each body.
    func eachJournalBody(_ take: (JournalLine.Body) -> Void) throws(StoreError) {
        try eachRow("SELECT \(JournalLine.bodyColumns), sha256 FROM body") { row in
            take(JournalLine.Body(row, sha256: Hex.encode(row.blob(7)), md5: nil, bytes: nil))
        }
    }

    /// Calls `take` with the line of each response.
    func eachJournalResponse(_ take: (JournalLine.Response) -> Void) throws(StoreError) {
        try eachRow(
            """
            SELECT \(JournalLine.responseColumns), response.confirmed, url.href, body.sha256, body.form
            FROM response JOIN url ON url.id = response.url LEFT JOIN body ON body.id = response.body
            """
        ) { row in
            take(
                JournalLine.Response(
                    row, href: row.text(11), referrer: nil,
                    sha256: row.isNull(12) ? nil : Hex.encode(row.blob(12)), form: row.optionalText(13)))
        }
    }

    /// Returns the sites and finished snapshots, and which of them are live.
    func journalState() throws(StoreError) -> JournalLine.StoreState {
        var state = JournalLine.StoreState(time: 0)
        try eachRow("SELECT id, name, published, overlay FROM site ORDER BY id") { row in
            state.sites.append(
                JournalLine.StoreState.Site(
                    id: row.integer(0), name: row.text(1), start: "", published: row.optionalInteger(2),
                    settings: "", overlay: row.optionalInteger(3)))
        }
        try eachRow("SELECT id, site, started FROM snapshot WHERE finished IS NOT NULL ORDER BY id") { row in
            state.snapshots.append(
                JournalLine.StoreState.Snapshot(
                    id: row.integer(0), site: row.integer(1), started: row.integer(2)))
        }
        return state
    }
}

extension JournalLine {
    /// The columns of `body` that `BodyLine.init` reads first.
    fileprivate static let bodyColumns = "form, size, title, md5, pack, start, frame"

    /// The columns of `response` that `ResponseLine.init` reads first.
    fileprivate static let responseColumns = """
        response.snapshot, response.request, response.variant, response.status, response.role, response.flags,
        response.requested, response.fetched, response.type, response.fields
        """
}

extension JournalLine.BodyLine {
    fileprivate init(_ row: Row, sha256: Text, md5: Text?, bytes: Text?) {
        self.init(
            sha256: sha256, form: Text(row, 0), byteCount: row.integer(1), title: Text(optional: row, 2),
            md5: md5, place: PackLocation(row, from: 4), bytes: bytes)
    }
}

extension JournalLine.ResponseLine {
    fileprivate init(_ row: Row, href: Text, referrer: Text?, sha256: Text?, form: Text?) {
        self.init(
            href: href, snapshot: row.integer(0), request: Text(row, 1), variant: Text(row, 2),
            status: row.integer(3), role: row.integer(4), flags: row.integer(5), requested: row.integer(6),
            fetched: row.integer(7), type: Text(optional: row, 8), referrer: referrer, fields: Text(row, 9),
            sha256: sha256, form: form, confirmed: row.integer(10))
    }
}

/// A checksum (FNV-1a) against damage on disks. It gives no protection against deliberate changes.
struct FNVSum {
    private(set) var value: UInt32 = 0x811C_9DC5

    mutating func add(_ byte: UInt8) { value = (value ^ UInt32(byte)) &* 0x0100_0193 }
}
