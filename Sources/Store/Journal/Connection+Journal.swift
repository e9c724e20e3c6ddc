internal import Glibc
internal import Web

/// What the journal has of a database.
extension Connection {
    /// All of it, line by line.
    ///
    /// - Parameter isDamaged: what can be read is read, from both ends of each table, and the rest is passed over.
    func write(to journal: Journal, isDamaged: Bool = false) throws(StoreError) {
        func rows(_ table: String, _ columns: String, by key: String, read: (Row) -> Void) throws(StoreError) {
            var isWhole = true
            for order in ["ASC", "DESC"] where isWhole == (order == "ASC") {
                let keys = key.split(separator: ",").map { "\($0) \(order)" }.joined(separator: ", ")
                do throws(StoreError) {
                    try prepare("SELECT \(columns) FROM \(table) ORDER BY \(keys)").each(read: read)
                } catch {
                    guard isDamaged else { throw error }
                    isWhole = false
                }
            }
            try journal.flush()
        }
        func flushIfLong() {
            // What cannot be written now is told at the end.
            if journal.isLong { try? journal.flush() }
        }
        journal.note(try state(time: isDamaged ? 0 : nil, isDamaged: isDamaged))
        var hrefs: [Int64: String] = [:]
        try rows("url", "id, href", by: "id") { hrefs[$0.integer(0)] = $0.text(1) }
        var bytes: [Int64: [UInt8]] = [:]
        try rows("content", "body, bytes", by: "body") { row in
            if let inline = row.optionalBlob(1) { bytes[row.integer(0)] = inline }
        }
        var bodies: [Int64: (sha256: String, form: String)] = [:]
        try rows("body", "id, sha256, form, size, title, md5, pack, start", by: "id") { row in
            let (sha256, form) = (Hex.encode(row.blob(1)), row.text(2))
            bodies[row.integer(0)] = (sha256, form)
            journal.note(
                JournalLine.Body(
                    sha256: sha256, form: form, byteCount: row.integer(3), title: row.optionalText(4),
                    md5: row.optionalBlob(5).map { Hex.encode($0) },
                    place: row.optionalInteger(6).map { PackPlace(pack: $0, start: row.integer(7)) },
                    bytes: row.isNull(6) ? bytes[row.integer(0)] : nil))
            flushIfLong()
        }
        let columns = """
            url, visit, request, variant, status, role, flags, requested, fetched, type, referrer, body, fields
            """
        try rows("response", columns, by: "url,visit,request,variant") { row in
            guard let href = hrefs[row.integer(0)] else { return }
            let body = row.optionalInteger(11).flatMap { bodies[$0] }
            // What its body was is not known: it is missing.
            if body == nil, !row.isNull(11) { return }
            journal.note(
                JournalLine.Response(
                    href: href, visit: row.integer(1), request: row.text(2), variant: row.text(3),
                    status: row.integer(4), role: row.integer(5), flags: row.integer(6), requested: row.integer(7),
                    fetched: row.integer(8), type: row.optionalText(9),
                    referrer: row.optionalInteger(10).flatMap { hrefs[$0] }, fields: row.text(12),
                    sha256: body?.sha256, form: body?.form))
            flushIfLong()
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
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var state = JournalLine.State(time: time ?? Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)
        try each("SELECT id, name, start, published, settings, overlay FROM site ORDER BY id") { row in
            state.sites.append(
                JournalLine.State.Site(
                    id: row.integer(0), name: row.text(1), start: row.text(2), published: row.optionalInteger(3),
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
