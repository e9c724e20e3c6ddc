internal import Database
internal import Digest

/// Inserts many rows into a PostgreSQL database with one statement, because each statement costs a network
/// round trip. SQLite needs no such batches: its statements are function calls.
///
/// Rows that several sessions may insert are inserted in a fixed order, so that sessions do not deadlock.
final class PostgreSQLBatch {
    private let connection: Connection
    private let findURLs: Statement
    private let findBodies: Statement
    private let insertBodies: Statement
    private let insertResponses: Statement
    private let insertLinks: Statement

    /// The unique key of a body.
    struct BodyKey: Hashable {
        let sha256: [UInt8]
        let form: String
    }

    init(_ connection: Connection) throws(StoreError) {
        self.connection = connection
        // With LIMIT, the planner uses one index look-up per row, even if its statistics say that the table
        // is small.
        findURLs = try connection.prepare(
            """
            WITH wanted AS MATERIALIZED (SELECT DISTINCT given AS href FROM unnest(?) AS given),
            found AS MATERIALIZED (
                SELECT wanted.href, known.id FROM wanted
                LEFT JOIN LATERAL (SELECT id FROM url WHERE url.href = wanted.href LIMIT 1) AS known ON true),
            added AS (
                INSERT INTO url (href) SELECT href FROM found WHERE id IS NULL ORDER BY href
                ON CONFLICT DO NOTHING RETURNING id, href)
            SELECT id, href FROM added UNION ALL SELECT id, href FROM found WHERE id IS NOT NULL
            """)
        findBodies = try connection.prepare(
            """
            SELECT given.place FROM unnest(?, ?) WITH ORDINALITY AS given(sha256, form, place)
            CROSS JOIN LATERAL (
                SELECT id FROM body WHERE body.sha256 = given.sha256 AND body.form = given.form LIMIT 1) AS known
            """)
        insertBodies = try connection.prepare(
            """
            WITH given AS MATERIALIZED (
                SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?)
                    AS given(sha256, form, size, title, md5, links, bytes)),
            added AS (
                INSERT INTO body (sha256, form, size, title, md5)
                SELECT sha256, form, size, title, md5 FROM given ORDER BY sha256, form
                ON CONFLICT DO NOTHING RETURNING id, sha256, form),
            filled AS (
                INSERT INTO content (body, links, bytes) SELECT added.id, given.links, given.bytes FROM added
                JOIN given ON given.sha256 = added.sha256 AND given.form = added.form)
            SELECT id, sha256, form FROM added
            """)
        let columns = [
            "status", "role", "flags", "requested", "fetched", "type", "referrer", "body", "fields",
        ]
        insertResponses = try connection.prepare(
            """
            INSERT INTO response (url, snapshot, request, variant, \(columns.joined(separator: ", ")))
            SELECT * FROM unnest(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (url, snapshot, md5(request), md5(variant))
            DO UPDATE SET \(columns.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """)
        insertLinks = try connection.prepare(
            """
            INSERT INTO link (url, body, pages, assets, guesses)
            SELECT given.url, held.body, given.pages, given.assets, given.guesses
            FROM unnest(?1, ?2, ?3, ?4) AS given(url, pages, assets, guesses)
            CROSS JOIN LATERAL (
                SELECT DISTINCT response.body FROM response WHERE response.url = given.url
                    AND response.snapshot = ?5 AND response.request = '' AND response.body IS NOT NULL) AS held
            ON CONFLICT (url, body) DO UPDATE
            SET pages = excluded.pages, assets = excluded.assets, guesses = excluded.guesses
            WHERE link.pages <> excluded.pages OR link.assets <> excluded.assets
                OR link.guesses <> excluded.guesses
            """)
    }

    /// Returns the row numbers of URLs, and inserts those that are missing. A URL that another session
    /// inserts at the same time may be missing from the result.
    func findOrAddURLs(_ hrefs: [String]) throws(StoreError) -> [String: Int64] {
        guard !hrefs.isEmpty else { return [:] }
        var rows: [String: Int64] = [:]
        rows.reserveCapacity(hrefs.count)
        try findURLs.each([.texts(hrefs)]) { rows[$0.text(1)] = $0.integer(0) }
        return rows
    }

    /// Inserts the bodies that do not exist yet, with their contents, and returns the rows of the inserted
    /// ones. The pieces of large bodies must already be stored.
    ///
    /// - Parameter external: the storage outside of the database. The bytes of bodies that it accepts are not
    ///   inserted.
    func addBodies(_ bodies: [NewBody], except external: ExternalBodies?) throws(StoreError) -> [BodyKey:
        Int64]
    {
        var wanted: [BodyKey: NewBody] = [:]
        for body in bodies { wanted[BodyKey(sha256: body.sha256.bytes, form: body.form)] = body }
        guard !wanted.isEmpty else { return [:] }
        let keys = Array(wanted.keys)
        var known: Set<Int> = []
        try findBodies.each([.blobs(keys.map(\.sha256)), .texts(keys.map(\.form))]) { row in
            known.insert(Int(row.integer(0)) - 1)
        }
        let new = keys.indices.filter { !known.contains($0) }.compactMap { wanted[keys[$0]] }
        guard !new.isEmpty else { return [:] }
        var rows: [BodyKey: Int64] = [:]
        let values: [SQLValue] = [
            .blobs(new.map(\.sha256.bytes)), .texts(new.map(\.form)),
            .integers(new.map { Int64($0.byteCount) }), .texts(new.map(\.title)),
            .blobs(new.map { $0.md5?.bytes }), .blobs(new.map(\.links)),
            .blobs(
                new.map { body in
                    guard case .bytes(let bytes) = body.content, external?.accepts(body) != true else {
                        return nil
                    }
                    return bytes
                }),
        ]
        try insertBodies.each(values) { row in
            rows[BodyKey(sha256: row.blob(1), form: row.text(2))] = row.integer(0)
        }
        return rows
    }

    /// A response, with the rows that it refers to.
    struct ResponseRow {
        let url: Int64
        let referrer: Int64?
        let body: Int64?
        let response: NewResponse
    }

    /// Inserts responses or replaces existing ones. If several have the same key, the last one is stored.
    func addResponses(_ responses: [ResponseRow], toSnapshot snapshot: Int64) throws(StoreError) {
        struct ResponseKey: Hashable {
            let url: Int64
            let request: RequestKey
            let variant: String
        }
        var last: [ResponseKey: Int] = [:]
        for (index, row) in responses.enumerated() {
            last[ResponseKey(url: row.url, request: row.response.request, variant: row.response.variant)] =
                index
        }
        let rows = last.values.sorted().map { responses[$0] }
        guard !rows.isEmpty else { return }
        try insertResponses.run(
            [
                .integers(rows.map(\.url)), .integers(rows.map { _ in snapshot }),
                .texts(rows.map(\.response.request.text)), .texts(rows.map(\.response.variant)),
                .integers(rows.map { Int64($0.response.status) }),
                .integers(rows.map { Int64($0.response.role) }),
                .integers(rows.map { Int64($0.response.flags.rawValue) }),
                .integers(rows.map(\.response.requested)), .integers(rows.map(\.response.fetched)),
                .texts(rows.map(\.response.type)), .integers(rows.map(\.referrer)),
                .integers(rows.map(\.body)), .texts(rows.map(\.response.fields)),
            ], doing: "write to")
    }

    /// The links of a response, as lists of URL numbers.
    struct LinkRow {
        let url: Int64
        let pages: String
        let assets: String
        let guesses: String
    }

    /// Inserts links or replaces existing ones. If several have the same URL, the last one is stored.
    func addLinks(_ links: [LinkRow], ofSnapshot snapshot: Int64) throws(StoreError) {
        var last: [Int64: Int] = [:]
        for (index, row) in links.enumerated() { last[row.url] = index }
        let rows = last.values.sorted().map { links[$0] }
        guard !rows.isEmpty else { return }
        try insertLinks.run(
            [
                .integers(rows.map(\.url)), .texts(rows.map(\.pages)), .texts(rows.map(\.assets)),
                .texts(rows.map(\.guesses)), .integer(snapshot),
            ], doing: "write to")
    }
}

extension StoreWriter {
    /// Stores responses and links in a PostgreSQL database, like `put`, in the open transaction.
    func put(
        _ responses: [NewResponse], links: [NewLinks], to snapshot: OpenSnapshot, by batch: PostgreSQLBatch
    ) throws(StoreError) {
        var hrefs: [String] = []
        for response in responses {
            urls.appendIfUnknown(response.href, response.number, to: &hrefs)
            if let referrer = response.referrer { hrefs.append(referrer) }
        }
        for links in links {
            urls.appendIfUnknown(links.source, to: &hrefs)
            for target in links.pages + links.assets + links.guesses {
                urls.appendIfUnknown(target, to: &hrefs)
            }
        }
        urls.known = try batch.findOrAddURLs(hrefs)
        defer { urls.known = [:] }
        var new: [NewBody] = []
        for case .new(let body) in responses.map(\.body) {
            try bodies.putPieces(of: body)
            new.append(body)
        }
        let added = try batch.addBodies(new, except: bodies.external)
        for body in new
        where added[PostgreSQLBatch.BodyKey(sha256: body.sha256.bytes, form: body.form)] != nil {
            bodies.countAdded(body)
        }
        var rows: [PostgreSQLBatch.ResponseRow] = []
        rows.reserveCapacity(responses.count)
        for response in responses {
            addOpenRowBytes(response.fields.utf8.count + 200)
            let url = try urls.findOrAdd(response.href, response.number)
            let referrer: Int64? = if let href = response.referrer { try urls.findOrAdd(href) } else { nil }
            let body: Int64? =
                switch response.body {
                case .none: nil
                case .new(let new):
                    if let row = added[PostgreSQLBatch.BodyKey(sha256: new.sha256.bytes, form: new.form)] {
                        row
                    } else {
                        try bodies.findOrAdd(new)
                    }
                case .stored(let stored): try bodies.findRow(of: stored)
                }
            rows.append(
                PostgreSQLBatch.ResponseRow(url: url, referrer: referrer, body: body, response: response))
        }
        try batch.addResponses(rows, toSnapshot: snapshot.id)
        guard !links.contains(where: \.extendsStoredLinks) else {
            for links in links { try addLinks(links, to: snapshot) }
            return
        }
        var lists: [PostgreSQLBatch.LinkRow] = []
        lists.reserveCapacity(links.count)
        for links in links {
            guard let source = try urls.findOrAdd(links.source) else { continue }
            addOpenRowBytes(links.count * 6)
            lists.append(
                PostgreSQLBatch.LinkRow(
                    url: source, pages: try linkList(links.pages, appendedTo: ""),
                    assets: try linkList(links.assets, appendedTo: ""),
                    guesses: try linkList(links.guesses, appendedTo: "")))
        }
        try batch.addLinks(lists, ofSnapshot: snapshot.id)
    }
}
