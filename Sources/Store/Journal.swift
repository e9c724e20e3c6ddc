internal import Digest
internal import Glibc
internal import System
internal import Web

/// What the database has, once more and line by line, beside the bodies: a database that is damaged, cut or
/// gone is made anew from it. Lists and tables of links are not in it: bodies are read again for them.
///
/// A line is a JSON object behind a checksum, so that damage costs the lines that it hit. Lines are written
/// before the rows are committed; what a killed run wrote without a commit names bodies that are not there.
/// It belongs to the writer's thread.
final class Journal {
    private let folder: StoreFolder
    private var file: File?
    private var waiting: [UInt8] = []
    /// What it says of a database is there already: no commit is waited for.
    private let isAlone: Bool
    /// A PostgreSQL keeps a log of its own.
    private let isNeeded: Bool
    /// What came between its lines and the file, to be told by the next `flush`.
    private var failure: StoreError?

    init(_ folder: StoreFolder) {
        self.folder = folder
        isAlone = false
        isNeeded = folder.server == nil
    }

    /// A file of its own, at this path.
    init(_ folder: StoreFolder, at path: String) throws(StoreError) {
        self.folder = folder
        isAlone = true
        isNeeded = true
        file = try StoreError.wrapping { () throws(SystemError) in
            try File(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)
        }
    }

    /// A response that its visit has.
    func note(_ response: NewResponse, ofVisit visit: Int64) {
        guard isNeeded else { return }
        let body: (sha256: String, form: String)? =
            switch response.body {
            case .none: nil
            case .new(let new): (new.sha256.hex, new.form)
            case .held(let held): (Hex.encode(held.sha256), held.form)
            }
        note(
            JournalLine.Response(
                href: response.href, visit: visit, request: response.request.text, variant: response.variant,
                status: Int64(response.status), role: Int64(response.role),
                flags: Int64(response.flags.rawValue),
                requested: response.requested, fetched: response.fetched, type: response.type,
                referrer: response.referrer, fields: response.fields, sha256: body?.sha256, form: body?.form))
    }

    func note(_ body: NewBody, at place: PackPlace?, inline: [UInt8]?) {
        guard isNeeded else { return }
        note(
            JournalLine.Body(
                sha256: body.sha256.hex, form: body.form, byteCount: Int64(body.byteCount), title: body.title,
                md5: body.md5?.hex, place: place, bytes: inline))
    }

    func note(_ line: some JSONWritable) {
        guard isNeeded else { return }
        var writer = JSONWriter()
        writer.value(line)
        let text = writer.takeBytes()
        waiting += Hex.encode(bigEndian: Self.checksum(text)).utf8
        waiting.append(0x20)
        waiting += text
        waiting.append(0x0A)
        guard waiting.count > Self.longestWait, isAlone, failure == nil else { return }
        do throws(StoreError) { try flush() } catch { failure = error }
    }

    /// What was noted since the last time is not to be.
    func drop() { waiting.removeAll() }

    /// What was noted is in the file. It is synced when the system sees fit, as the database's log is.
    func flush() throws(StoreError) {
        if let failure { throw failure }
        guard !waiting.isEmpty else { return }
        defer { waiting.removeAll(keepingCapacity: true) }
        if file == nil { file = try Self.open(in: folder) }
        try StoreError.wrapping { () throws(SystemError) in try file?.write(waiting) }
    }

    /// Writes all that the database has to a file of its own, after which those before it are nobody's, but
    /// for those that other writers hold.
    func renew(_ write: (Journal) throws(StoreError) -> Void) throws(StoreError) {
        guard isNeeded else { return }
        try StoreFolder.makeFolders(folder.journal)
        let target = folder.journal + "/" + Self.name(Int64.random(in: 1...Int64.max))
        let part = target + ".part"
        let whole = try Journal(folder, at: part)
        do throws(StoreError) {
            try write(whole)
            try whole.flush()
            try StoreError.wrapping { () throws(SystemError) in try whole.file?.syncData() }
            guard rename(part, target) == 0 else { throw StoreError(errno, doing: "write to", path: part) }
        } catch {
            unlink(part)
            throw error
        }
        file = nil
        for path in folder.journalFiles where path != target {
            guard let file = try? File(path, O_WRONLY) else { continue }
            if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
        }
    }

    /// So much is put together before it is written, of what waits for no commit.
    private static let longestWait = 1 << 20

    /// The first file that nobody else appends to, else a new one.
    private static func open(in folder: StoreFolder) throws(StoreError) -> File {
        try StoreFolder.makeFolders(folder.journal)
        for path in folder.journalFiles {
            guard let file = try? File(path, O_WRONLY | O_APPEND) else { continue }
            var status = stat()
            let lock = flock(file.descriptor, LOCK_EX | LOCK_NB)
            if lock == 0, fstat(file.descriptor, &status) == 0, status.st_nlink > 0 {
                // A line that a killed run began ends here.
                if status.st_size > 0 {
                    try StoreError.wrapping { () throws(SystemError) in try file.write([0x0A]) }
                }
                return file
            }
        }
        while true {
            let path = folder.journal + "/" + name(Int64.random(in: 1...Int64.max))
            do throws(SystemError) {
                let file = try File(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)
                if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { return file }
            } catch {
                guard error.code == EEXIST else { throw StoreError(error) }
            }
        }
    }

    private static func name(_ number: Int64) -> String { Hex.encode(bigEndian: UInt64(bitPattern: number)) }

    /// FNV-1a: it is to find what a disk has done, not what somebody has.
    static func checksum(_ bytes: some Collection<UInt8>) -> UInt32 {
        var sum: UInt32 = 0x811C_9DC5
        for byte in bytes { sum = (sum ^ UInt32(byte)) &* 0x0100_0193 }
        return sum
    }

    /// Hands over the lines of a file that are whole, in their order.
    static func eachLine(of path: String, take: (JSONValue) throws(StoreError) -> Void) throws(StoreError) {
        var rest: [UInt8] = []
        var failure: StoreError?
        func read(_ line: ArraySlice<UInt8>) {
            guard failure == nil, line.count > 9, line[line.startIndex + 8] == 0x20 else { return }
            let text = line.dropFirst(9)
            guard line.prefix(8).elementsEqual(Hex.encode(bigEndian: checksum(text)).utf8) else { return }
            let limits = JSONLimits(byteCount: longestLine)
            guard let value = try? JSONValue.parse(Array(text).span, limits: limits) else { return }
            do throws(StoreError) {
                try take(value)
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
            if rest.count > longestLine { rest.removeAll() }
        }
        read(rest[...])
        if let failure { throw failure }
    }

    private static let longestLine = 256 * 1024 * 1024
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

    /// Bodies or rows are there, of which only a database tells.
    var hasRemains: Bool {
        if server != nil { return false }
        return !journalFiles.isEmpty || !bodyFileNames.isEmpty || packList.contains { $0.byteCount ?? 0 > 0 }
    }

    /// What to say where there is no database that could be read, and one was there.
    func lostDatabase(_ detail: String) -> StoreError {
        StoreError(
            .unusable, doing: "open", path: database, detail: detail,
            advice: "what was in it can be had again from what stands beside it", remedy: .repair)
    }
}

/// What the journal has of a database.
extension Connection {
    /// All of it, line by line, in the memory of a line.
    func write(to journal: Journal) throws(StoreError) {
        journal.note(try state())
        try prepare(
            """
            SELECT \(JournalLine.Body.columns), iif(pack IS NULL, content.bytes, NULL), sha256
            FROM body LEFT JOIN content ON content.body = body.id
            """
        ).each { row in
            journal.note(JournalLine.Body(row, sha256: row.blob(8), bytes: row.optionalBlob(7)))
        }
        try prepare(
            """
            SELECT \(JournalLine.Response.columns), url.href, referrer.href, body.sha256, body.form FROM response
            JOIN url ON url.id = response.url
            LEFT JOIN url AS referrer ON referrer.id = response.referrer
            LEFT JOIN body ON body.id = response.body
            """
        ).each { row in
            journal.note(
                JournalLine.Response(
                    row, href: row.text(10), referrer: row.optionalText(11),
                    body: row.optionalBlob(12).map { ($0, row.text(13)) }))
        }
        try journal.flush()
    }

    /// What can be read of it where it is damaged: each table by itself, from both ends. The rest is passed
    /// over. Fails when the journal cannot be written.
    func salvage(to journal: Journal) throws(StoreError) {
        func rows(_ table: String, _ columns: String, by key: String, read: (Row) -> Void) throws(StoreError)
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
        journal.note(try state(time: 0, isDamaged: true))
        var hrefs: [Int64: String] = [:]
        try rows("url", "id, href", by: "id") { hrefs[$0.integer(0)] = $0.text(1) }
        var bytes: [Int64: [UInt8]] = [:]
        try rows("content", "body, bytes", by: "body") { row in
            if let inline = row.optionalBlob(1) { bytes[row.integer(0)] = inline }
        }
        var bodies: [Int64: (sha256: [UInt8], form: String)] = [:]
        try rows("body", "\(JournalLine.Body.columns), id, sha256", by: "id") { row in
            let id = row.integer(7)
            bodies[id] = (row.blob(8), row.text(0))
            journal.note(
                JournalLine.Body(row, sha256: row.blob(8), bytes: row.isNull(4) ? bytes[id] : nil))
        }
        let columns = "\(JournalLine.Response.columns), url, referrer, body"
        try rows("response", columns, by: "url,visit,request,variant") { row in
            guard let href = hrefs[row.integer(10)] else { return }
            let body = row.optionalInteger(12).flatMap { bodies[$0] }
            // What its body was is not known: it is missing.
            if body == nil, !row.isNull(12) { return }
            journal.note(
                JournalLine.Response(
                    row, href: href, referrer: row.optionalInteger(11).flatMap { hrefs[$0] }, body: body))
        }
    }

    /// The sites, visits and pins.
    func state(time: Int64? = nil, isDamaged: Bool = false) throws(StoreError) -> JournalLine.State {
        func each(_ sql: String, read: (Row) -> Void) throws(StoreError) {
            do throws(StoreError) {
                try prepare(sql).each(read: read)
            } catch {
                guard isDamaged else { throw error }
            }
        }
        var state = JournalLine.State(time: time ?? SystemClock.microsecondsSinceEpoch())
        try each("SELECT id, name, start, published, settings, overlay FROM site ORDER BY id") { row in
            state.sites.append(
                JournalLine.State.Site(
                    id: row.integer(0), name: row.text(1), start: row.text(2),
                    published: row.optionalInteger(3),
                    settings: row.text(4), overlay: row.optionalInteger(5)))
        }
        try each("SELECT id, site, started, finished, base FROM visit ORDER BY id") { row in
            state.visits.append(
                JournalLine.State.Visit(
                    id: row.integer(0), site: row.integer(1), started: row.integer(2),
                    finished: row.optionalInteger(3), base: row.optionalInteger(4)))
        }
        try each("SELECT kind, value, added FROM pin ORDER BY kind, value") { row in
            state.pins.append(
                JournalLine.State.Pin(kind: row.text(0), value: row.text(1), added: row.integer(2)))
        }
        return state
    }
}

extension JournalLine.Body {
    /// Of `body`, what `init(_:sha256:bytes:)` reads first.
    fileprivate static let columns = "form, size, title, md5, pack, start, frame"

    fileprivate init(_ row: Row, sha256: [UInt8], bytes: [UInt8]?) {
        self.init(
            sha256: Hex.encode(sha256), form: row.text(0), byteCount: row.integer(1),
            title: row.optionalText(2),
            md5: row.optionalBlob(3).map { Hex.encode($0) },
            place: PackPlace(row, from: 4), bytes: bytes)
    }
}

extension JournalLine.Response {
    /// Of `response`, what `init(_:href:referrer:body:)` reads first.
    fileprivate static let columns = """
        response.visit, response.request, response.variant, response.status, response.role, response.flags,
        response.requested, response.fetched, response.type, response.fields
        """

    fileprivate init(_ row: Row, href: String, referrer: String?, body: (sha256: [UInt8], form: String)?) {
        self.init(
            href: href, visit: row.integer(0), request: row.text(1), variant: row.text(2),
            status: row.integer(3),
            role: row.integer(4), flags: row.integer(5), requested: row.integer(6), fetched: row.integer(7),
            type: row.optionalText(8), referrer: referrer, fields: row.text(9),
            sha256: body.map { Hex.encode($0.sha256) }, form: body?.form)
    }
}
