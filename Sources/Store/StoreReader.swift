internal import Digest
internal import Glibc

/// Reads what is published. It belongs to one thread; each server thread opens its own.
package final class StoreReader {
    let folder: StoreFolder
    private let connection: Connection
    private let findVisible: Statement
    private let findContent: Statement
    private let findLinks: Statement

    /// Fails with `.missing` when there is no store.
    package init(_ folder: StoreFolder) throws(StoreError) {
        guard folder.exists else {
            throw StoreError(.missing, doing: "open", path: folder.path, detail: "there is no larder")
        }
        self.folder = folder
        connection = try Connection(folder.database, access: folder.isSealed ? .sealed : .readOnly)
        guard try !Schema.isEmpty(connection) else {
            throw StoreError(.missing, doing: "open", path: folder.path, detail: "there is no larder yet")
        }
        try Schema.check(connection)
        // A site that was never published shows what its first visit has so far.
        findVisible = try connection.prepare(
            """
            SELECT \(Self.responseColumns) FROM url
            JOIN response ON response.url = url.id
            JOIN visit ON visit.id = response.visit
            JOIN site ON site.id = visit.site
            LEFT JOIN body ON body.id = response.body
            WHERE url.href = ? AND (site.published IS NULL OR response.visit <= site.published)
            ORDER BY site.published IS NULL, response.visit DESC LIMIT 1
            """)
        findContent = try connection.prepare("SELECT bytes FROM content WHERE body = ?")
        findLinks = try connection.prepare("SELECT links FROM content WHERE body = ?")
    }

    /// What the published visits answer for the URL; nil when none holds it.
    package func response(for href: String) throws(StoreError) -> StoredResponse? {
        try findVisible.first(.text(href), read: Self.response)
    }

    /// The body's bytes, or the file that has them. Nil for a body that is gone.
    package func content(of body: StoredBody) throws(StoreError) -> BodyContent? {
        try findContent.first(.integer(body.id)) { row in
            guard row.isNull(0) else { return .bytes(row.blob(0)) }
            guard let digest = Digest(.sha256, bytes: body.sha256) else { return nil }
            return .file(path: folder.bodyFile(sha256: digest.hex))
        } ?? nil
    }

    /// The body's link table, as Markup encoded it.
    package func links(of body: StoredBody) throws(StoreError) -> [UInt8] {
        try findLinks.first(.integer(body.id)) { $0.blob(0) } ?? []
    }

    /// Calls `read` for each response that a visit has, published or not.
    package func eachResponse(ofVisit visit: Int64, read: (StoredResponse) -> Void) throws(StoreError) {
        try connection.prepare(
            """
            SELECT \(Self.responseColumns) FROM response
            JOIN url ON url.id = response.url
            LEFT JOIN body ON body.id = response.body
            WHERE response.visit = ?
            """
        ).each(.integer(visit)) { row in read(Self.response(row)) }
    }

    func eachRow(_ sql: String, _ values: SQLValue..., read: (Row) -> Void) throws(StoreError) {
        try connection.prepare(sql).each(values, read: read)
    }

    /// Another number than before once another connection has changed the store.
    package func dataVersion() throws(StoreError) -> Int64 {
        try connection.integer("PRAGMA data_version")
    }

    package func sites() throws(StoreError) -> [Site] {
        var visits: [Int64: [Visit]] = [:]
        try connection.prepare(
            """
            SELECT site, id, started, finished, (SELECT count(*) FROM response WHERE visit = visit.id)
            FROM visit ORDER BY id
            """
        ).each { row in
            visits[row.integer(0), default: []].append(
                Visit(
                    id: row.integer(1), started: row.integer(2), finished: row.optionalInteger(3),
                    responseCount: Int(row.integer(4))))
        }
        var sites: [Site] = []
        try connection.prepare("SELECT id, name, start, published FROM site ORDER BY name").each { row in
            let id = row.integer(0)
            let start = row.text(2).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            sites.append(
                Site(
                    id: id, name: row.text(1), start: start, visits: visits[id] ?? [],
                    published: row.optionalInteger(3)))
        }
        return sites
    }

    package func summary() throws(StoreError) -> StoreSummary {
        var summary = StoreSummary()
        try connection.prepare(
            """
            SELECT count(*), sum(role = 0 AND body IS NOT NULL), sum(role = 1 AND body IS NOT NULL),
                sum(status IN (404, 410)) FROM response
            """
        ).each { row in
            summary.responses = Int(row.integer(0))
            summary.pages = Int(row.integer(1))
            summary.requisites = Int(row.integer(2))
            summary.tombstones = Int(row.integer(3))
        }
        try connection.prepare("SELECT count(*), coalesce(sum(size), 0) FROM body").each { row in
            summary.bodies = Int(row.integer(0))
            summary.bytes = row.integer(1)
        }
        return summary
    }

    private static let responseColumns = """
        url.href, response.visit, response.status, response.role, response.fields, response.fetched,
        body.id, body.sha256, body.form, body.size
        """

    private static func response(_ row: Row) -> StoredResponse {
        let body = row.optionalInteger(6).map { id in
            StoredBody(id: id, sha256: row.blob(7), form: row.text(8), byteCount: Int(row.integer(9)))
        }
        return StoredResponse(
            href: row.text(0), visit: row.integer(1), status: Int(row.integer(2)), role: UInt8(row.integer(3)),
            fields: row.text(4), fetched: row.integer(5), body: body)
    }
}
