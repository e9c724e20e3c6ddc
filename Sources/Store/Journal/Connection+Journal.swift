internal import Glibc
internal import System
internal import Web

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
            journal.note(JournalLine.Body(row, sha256: row.blob(7), bytes: row.optionalBlob(6)))
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

    /// What can be read of it where it is damaged: each table by itself, from both ends. The rest is passed over. Fails when
    /// the journal cannot be written.
    func salvage(to journal: Journal) throws(StoreError) {
        func rows(_ table: String, _ columns: String, by key: String, read: (Row) -> Void) throws(StoreError) {
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
            let id = row.integer(6)
            bodies[id] = (row.blob(7), row.text(0))
            journal.note(
                JournalLine.Body(row, sha256: row.blob(7), bytes: row.isNull(4) ? bytes[id] : nil))
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

extension JournalLine.Body {
    /// Of `body`, what `init(_:sha256:bytes:)` reads first.
    fileprivate static let columns = "form, size, title, md5, pack, start"

    fileprivate init(_ row: Row, sha256: [UInt8], bytes: [UInt8]?) {
        self.init(
            sha256: Hex.encode(sha256), form: row.text(0), byteCount: row.integer(1), title: row.optionalText(2),
            md5: row.optionalBlob(3).map { Hex.encode($0) },
            place: row.optionalInteger(4).map { PackPlace(pack: $0, start: row.integer(5)) }, bytes: bytes)
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
            href: href, visit: row.integer(0), request: row.text(1), variant: row.text(2), status: row.integer(3),
            role: row.integer(4), flags: row.integer(5), requested: row.integer(6), fetched: row.integer(7),
            type: row.optionalText(8), referrer: referrer, fields: row.text(9),
            sha256: body.map { Hex.encode($0.sha256) }, form: body?.form)
    }
}
