package import Database
internal import Digest
package import Web

/// Reads the responses and bodies of a store.
///
/// By default, look-ups return what readers see now (`Schema.isVisible`). Of a site, these are the responses of its live
/// snapshot, of earlier snapshots that were not rejected, and of its overlay, which has the responses that servers and
/// proxies have loaded since. A site without a live snapshot shows all of its responses. If readers see several responses
/// to a request, `StoredResponse.readerOrder` defines which comes first. Within `asOf`, the responses of one site as of an
/// older or unpublished snapshot come before those of other sites.
///
/// A response is *of* a snapshot if it is part of it (`Schema.isPart`). *As of* a snapshot, look-ups return what its
/// site had when the snapshot was live, which includes responses of earlier snapshots.
///
/// Statements run in transactions of their own. Callers that read several rows of one moment use `withFixedVersion`. If
/// they also read many bodies, they use `inReadTransaction`, which keeps collections from moving the bodies meanwhile.
/// Callers with many small look-ups save lock operations with `ReadTransactions.beginSharedRead`.
///
/// A reader has one database connection and belongs to one thread. Each server thread opens its own.
package final class StoreReader {
    package let folder: StoreFolder
    /// Whether responses that were fetched with credentials, and everything derived from them, are invisible
    /// to this reader.
    package let hidesPrivate: Bool
    /// Compares the secrets in a request with those that stored responses vary by (`VaryKey`).
    package let secrets: SecretHasher
    private let connection: Connection
    /// The responses to a request that readers see now, of all sites.
    private let findVisible: Statement
    /// The responses to a request that belong to one snapshot, whether it is published or not.
    private let findOfSnapshot: Statement
    /// The responses to a request that the site of a snapshot had when the snapshot was live.
    private let findAsOf: Statement
    /// The responses to a request that readers see now of all sites but that of a snapshot.
    private let findInOtherSites: Statement
    /// The snapshot that look-ups are answered as of; nil for what readers see now. See `asOf`.
    private var snapshot: Int64?
    /// Begins and ends the read transactions of this reader. Callers with many small look-ups use its `beginSharedRead`.
    package let transactions: ReadTransactions
    /// The bytes of the bodies.
    package let bodies: StoredBodyReader
    /// The result of `liveSnapshots(ofSitesAt:)` for one version of the store.
    private var snapshotsAtOrigins: (version: Int64, origins: [String], snapshots: [LiveSnapshot])?
    /// The cache of `StoreReader+Origins` for one version of the store.
    var originHosts: OriginHosts?
    private let findLinks: Statement
    let findManifests: Statement
    let findLinkLists: Statement
    let findLinkSummary: Statement
    let findHref: Statement
    /// The statements of `cachedStatement`, by their SQL.
    private var cachedStatements: [String: Statement] = [:]

    /// Opens the store. A store of an earlier version is migrated first. Throws `.missing` if there is no
    /// store.
    ///
    /// - Parameter hidesPrivate: Whether responses that were fetched with credentials are invisible to this
    ///   reader.
    package convenience init(_ folder: StoreFolder, hidesPrivate: Bool = false) throws(StoreError) {
        try self.init(folder, isCopying: false, hidesPrivate: hidesPrivate)
    }

    /// Opens the store, but fails at once if the PostgreSQL server is unreachable. For threads that must not block,
    /// because other requests wait for them.
    ///
    /// - Parameter hidesPrivate: Whether responses that were fetched with credentials are invisible to this
    ///   reader.
    package convenience init(
        failingFast folder: StoreFolder, hidesPrivate: Bool = false
    ) throws(StoreError) {
        try self.init(folder, isCopying: false, maxWaitMilliseconds: 0, hidesPrivate: hidesPrivate)
    }

    /// - Parameters:
    ///   - isCopying: Whether the store may be an unfinished copy.
    ///   - maxWaitMilliseconds: How long to wait for an unreachable PostgreSQL server. Throws after that.
    ///   - hidesPrivate: Whether responses that were fetched with credentials are invisible to this reader.
    init(
        _ folder: StoreFolder, isCopying: Bool, maxWaitMilliseconds: Int = Connection.busyMilliseconds,
        hidesPrivate: Bool = false
    ) throws(StoreError) {
        guard folder.server != nil || folder.exists else {
            if folder.hasStoreFiles {
                throw folder.lostDatabase("it is missing, but the files of a store are beside it")
            }
            throw StoreError(.missing, doing: "open", path: folder.name, detail: "the store does not exist")
        }
        try folder.requireSafePermissions()
        self.folder = folder
        self.hidesPrivate = hidesPrivate
        secrets = folder.secretHasher(createsKey: false)
        connection = try Self.connect(folder, maxWaitMilliseconds)
        if hidesPrivate { try Self.hidePrivateRows(from: connection, schema: folder.server?.schema) }
        if !isCopying { try CopyMark.checkAbsent(folder, connection) }
        if !connection.isPostgreSQL {
            try connection.execute("PRAGMA cache_size = -\(Limits.readerCacheKiB)", doing: "open")
        }
        transactions = ReadTransactions(folder, connection)
        bodies = try StoredBodyReader(folder, connection, transactions)
        // The URL is looked up in a subquery: a PostgreSQL without statistics would otherwise scan all rows
        // of the snapshot.
        findVisible = connection.prepareLater(
            """
            SELECT \(StoredResponse.columns), \(StoredResponse.hasNoLiveSnapshot), \(Provenance.precedence) FROM response
            JOIN url ON url.id = response.url
            JOIN snapshot ON snapshot.id = response.snapshot
            JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            WHERE response.url = (SELECT id FROM url WHERE href = ?) AND response.request = ?
                AND \(Schema.isVisible("response"))
            ORDER BY response.snapshot DESC
            """)
        findOfSnapshot = connection.prepareLater(
            """
            SELECT \(StoredResponse.columns) FROM response
            JOIN url ON url.id = response.url
            LEFT JOIN body ON body.id = response.body
            WHERE response.url = (SELECT id FROM url WHERE href = ?1) AND response.request = ?3
                AND \(Schema.isPart(of: "?2"))
            ORDER BY response.snapshot DESC, response.fetched DESC
            """)
        // Subordinate imports of earlier snapshots come last. One of the snapshot itself counts like any response.
        findAsOf = connection.prepareLater(
            """
            SELECT \(StoredResponse.columns) FROM response
            JOIN url ON url.id = response.url
            JOIN snapshot ON snapshot.id = response.snapshot
            LEFT JOIN body ON body.id = response.body
            WHERE response.url = (SELECT id FROM url WHERE href = ?1) AND response.request = ?3
                AND \(Schema.isVisible(asOf: "?2"))
                AND snapshot.site = (SELECT site FROM snapshot WHERE id = ?2)
            ORDER BY \(Provenance.isSubordinate("response")) AND response.snapshot <> ?2, response.snapshot DESC, response.fetched DESC, response.variant DESC
            """)
        findInOtherSites = connection.prepareLater(
            """
            SELECT \(StoredResponse.columns) FROM response
            JOIN url ON url.id = response.url
            JOIN snapshot ON snapshot.id = response.snapshot
            JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            WHERE response.url = (SELECT id FROM url WHERE href = ?1) AND response.request = ?3 AND \(Schema.isVisible("response"))
                AND site.id <> (SELECT site FROM snapshot WHERE id = ?2)
            ORDER BY \(StoredResponse.readerOrder)
            """)
        findManifests = connection.prepareLater(
            "SELECT start, settings, name FROM site WHERE instr(settings, '\"manifest\"') > 0 ORDER BY name")
        // The digest is compared because the database reuses the ids of deleted bodies.
        findLinks = connection.prepareLater(
            """
            SELECT links FROM content JOIN body ON body.id = content.body
            WHERE body.id = ? AND body.sha256 = ? AND body.form = ?
            """)
        // `link.sum` is the checksum of the lists.
        let sum = connection.backEnd.hasLinkSums ? "link.sum" : "NULL"
        findLinkLists = connection.prepareLater(
            "SELECT pages, assets, guesses, \(sum) FROM link WHERE url = ? AND body = ?")
        // The first and the last bytes of the body's link table (`content.links`) are enough for `StoredLinkSummary`.
        findLinkSummary = connection.prepareLater(
            """
            SELECT pages, assets, guesses, \(sum),
                substr(content.links, 1, 2), substr(content.links, length(content.links) - 4, 5)
            FROM link LEFT JOIN content ON content.body = link.body WHERE link.url = ? AND link.body = ?
            """)
        findHref = connection.prepareLater("SELECT href FROM url WHERE id = ?")
    }

    /// Shadows the tables that reveal private responses with views that leave those out. Adds the view
    /// `hidden_response`, by which statements can count or look up the private responses all the same; it has only
    /// their URLs, snapshots and flags.
    ///
    /// - Parameter schema: The schema of a PostgreSQL store; nil for a local one.
    private static func hidePrivateRows(
        from connection: Connection, schema: String?
    ) throws(StoreError) {
        let tables = schema.map { "\"\($0)\"" } ?? "main"
        let isPublic = "(flags & \(ResponseFlags.isPrivate.rawValue)) = 0"
        let replacements = [
            (
                table: "response",
                query: """
                SELECT url, snapshot, request, variant, status, role, flags, requested, fetched, type,
                    CASE WHEN EXISTS (
                        SELECT 1 FROM \(tables).response AS page WHERE page.url = own.referrer AND NOT \(isPublic))
                        THEN NULL ELSE referrer END AS referrer,
                    body, fields, confirmed
                FROM \(tables).response AS own WHERE \(isPublic)
                """
            ),
            (
                table: "hidden_response",
                query: "SELECT url, snapshot, flags FROM \(tables).response WHERE NOT \(isPublic)"
            ),
            (
                table: "link",
                query: """
                SELECT * FROM \(tables).link AS own WHERE EXISTS (
                    SELECT 1 FROM \(tables).response AS source
                    WHERE source.url = own.url AND source.body = own.body AND \(isPublic))
                """
            ),
        ]
        if let session = connection.session { return session.replaceTables(replacements) }
        for (table, query) in replacements {
            try connection.execute("CREATE TEMP VIEW \(table) AS \(query)", doing: "open")
        }
    }

    /// Enlarges SQLite's page cache, for callers that read much of a site in no particular order.
    package func enlargePageCache() throws(StoreError) {
        if !isPostgreSQL {
            try connection.execute("PRAGMA cache_size = -\(Limits.walkCacheKiB)", doing: "read")
        }
    }

    private static func connect(
        _ folder: StoreFolder, _ maxWaitMilliseconds: Int
    ) throws(StoreError) -> Connection {
        if folder.server != nil {
            // The local folder of a PostgreSQL store may be created at any time.
            try folder.create()
            return try PostgreSQLSchema.connect(to: folder, .readOnly, patience: maxWaitMilliseconds)
        }
        let connection = try folder.read(folder.database)
        guard try !Schema.isEmpty(connection) else {
            if folder.hasStoreFiles {
                throw folder.lostDatabase("it is empty, but the files of a store are beside it")
            }
            throw StoreError(.missing, doing: "open", path: folder.path, detail: "the store does not exist")
        }
        guard try Migration.isNeeded(connection) else { return connection }
        guard folder.isWritable else {
            throw StoreError(
                .denied, doing: "migrate", path: folder.path,
                detail: "an earlier version of Larder created it, and this user cannot write to it",
                advice: "run larder status on it once as a user who can write to it, or name a copy of it",
                remedy: .store)
        }
        // Opening a writer migrates the store.
        _ = try StoreWriter(folder)
        return try Connection(folder.database, access: .readOnly)
    }

    /// Returns the stored response that readers see for the URL, or nil if there is none, or if its body was lost.
    ///
    /// If the responses vary, it is the newest one that was sent to a request with these headers, or else the
    /// newest of all; `StoredResponse.matches` distinguishes the two. A response from before the URL began to
    /// vary does not match any headers.
    package func response(
        for href: String, request: RequestKey = .get, fields: HTTPFields? = nil
    ) throws(StoreError) -> StoredResponse? {
        guard let snapshot else { return try firstVisible([.text(href), .text(request.text)], fields) }
        return try responseAsOfSnapshot(snapshot, for: href, request: request, fields: fields)
    }

    /// Returns the stored error response that scripts of pages get for a URL without another stored response.
    package func errorAnswer(for url: WebURL, fields: HTTPFields? = nil) throws(StoreError)
        -> StoredResponse?
    {
        try response(for: url.href, request: .errorAnswer, fields: fields)
    }

    /// Returns the first of these responses that exists, or nil if its body was lost:
    ///
    /// 1. the newest response that the site of the snapshot has up to it, unless that is a subordinate import
    ///    (`StoredResponse.isSubordinate`) of an earlier snapshot
    /// 2. the response from an origin that readers see of another site
    /// 3. the subordinate import
    /// 4. the imported response that readers see of another site
    private func responseAsOfSnapshot(
        _ snapshot: Int64, for href: String, request: RequestKey, fields: HTTPFields?
    ) throws(StoreError) -> StoredResponse? {
        let values: [SQLValue] = [.text(href), .integer(snapshot), .text(request.text)]
        let own = try firstMatch(findAsOf, values, fields)
        if let own, own.snapshot == snapshot || !own.isSubordinate { return own.unlessLost }
        let other = try firstMatch(findInOtherSites, values, fields)
        if let own, other?.isImported ?? true { return own.unlessLost }
        return other?.unlessLost
    }

    /// Returns the first row by `StoredResponse.readerOrder` that matches the headers, or else the first row
    /// (`VariantChoice`). The order is established here, row by row, because sorting in the database costs more than most
    /// look-ups.
    private func firstVisible(
        _ values: [SQLValue], _ fields: HTTPFields?
    ) throws(StoreError) -> StoredResponse? {
        var choice = VariantChoice(fields, secrets)
        _ = try findVisible.first(values) { row -> Bool? in
            let rank = StoredResponse.Rank(row)
            // The rows come by snapshot, the newest first, and the precedence of a row is at most its snapshot. So no
            // further row can come before the best one, unless the site of the best one has no live snapshot.
            if let best = choice.match?.rank, !best.hasNoLiveSnapshot, rank.snapshot < best.precedence {
                return true
            }
            choice.add(rank, row)
            return nil
        }
        return choice.response?.unlessLost
    }

    /// Returns the first row that matches the headers, or else the first row. The statement sorts the rows.
    private func firstMatch(
        _ find: Statement, _ values: [SQLValue], _ fields: HTTPFields?
    ) throws(StoreError) -> StoredResponse? {
        var newest: StoredResponse?
        // Whether a newer response varies. An older one that does not vary then matches no request any more.
        var hasVaried = false
        let match = try find.first(values) { row -> StoredResponse? in
            let response = StoredResponse(row)
            guard let fields else { return response }
            // A subordinate import never replaces a response that is not one, even if it matches the request better.
            if response.isSubordinate, let newest, !newest.isSubordinate { return nil }
            if response.matches(fields, secrets), !hasVaried || !response.variant.isEmpty { return response }
            hasVaried = hasVaried || !response.variant.isEmpty
            newest = newest ?? response
            return nil
        }
        return match ?? newest
    }

    /// Whether callers should prefer a response from the origin to this one, even one at a similar URL, such as the http
    /// URL for an https one. True for a subordinate import, unless look-ups are answered as of its own snapshot (`asOf`).
    package func yieldsToOrigin(_ response: StoredResponse) -> Bool {
        response.isSubordinate && response.snapshot != snapshot
    }

    /// Runs `body` with `response(for:)` answered as of a snapshot: with the responses that its site had up to
    /// that snapshot, or else with those of other sites that readers see now. Nil stands for what readers see now. Calls
    /// can be nested.
    package func asOf<Result>(
        _ snapshot: Int64?, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let before = self.snapshot
        self.snapshot = snapshot
        defer { self.snapshot = before }
        return try body()
    }

    /// Returns the response that the site of the snapshot has for the URL as of it, regardless of other
    /// sites. For an overlay, this includes the snapshots up to its base.
    package func responseOfSite(
        for href: String, request: RequestKey, fields: HTTPFields?, asOf snapshot: Int64
    ) throws(StoreError) -> StoredResponse? {
        try firstMatch(findAsOf, [.text(href), .integer(snapshot), .text(request.text)], fields)?.unlessLost
    }

    /// Returns the snapshots that readers see of the sites that start at one of the origins: the overlay of
    /// each site, or else its live snapshot.
    ///
    /// A site that consists of imported responses only counts if no other site starts there, because the
    /// author of an archive chooses where it starts.
    package func liveSnapshots(ofSitesAt origins: [String]) throws(StoreError) -> [LiveSnapshot] {
        let version = try dataVersion()
        if let known = snapshotsAtOrigins, known.version == version, known.origins == origins {
            return known.snapshots
        }
        var sites: [(id: Int64, snapshot: Int64)] = []
        try prepare("SELECT start, coalesce(overlay, published), id FROM site ORDER BY id").each { row in
            let starts = row.text(0).split(separator: "\n").compactMap { WebURL(String($0))?.origin }
            if let snapshot = row.optionalInteger(1), starts.contains(where: origins.contains) {
                sites.append((row.integer(2), snapshot))
            }
        }
        var snapshots: [LiveSnapshot] = []
        for site in sites {
            snapshots.append(
                LiveSnapshot(id: site.snapshot, isOfArchives: try !hasAnythingFromOrigin(site: site.id)))
        }
        if snapshots.contains(where: { !$0.isOfArchives }) { snapshots.removeAll(where: \.isOfArchives) }
        snapshotsAtOrigins = (version, origins, snapshots)
        return snapshots
    }

    /// Returns the response to a plain GET that a snapshot has for the URL, whether the snapshot is published
    /// or not.
    package func response(for href: String, ofSnapshot snapshot: Int64) throws(StoreError) -> StoredResponse?
    {
        try findOfSnapshot.first(
            .text(href), .integer(snapshot), .text(RequestKey.get.text), read: StoredResponse.init)?
            .unlessLost
    }

    /// Returns all responses that a snapshot has for a request, one per variant, the last fetched first. Includes
    /// responses whose bodies were lost.
    package func responses(
        for href: String, ofSnapshot snapshot: Int64, request: RequestKey
    ) throws(StoreError) -> [StoredResponse] {
        var responses: [StoredResponse] = []
        try findOfSnapshot.each([.text(href), .integer(snapshot), .text(request.text)]) { row in
            responses.append(StoredResponse(row))
        }
        return responses
    }

    /// Returns the response that readers would see for the URL if the snapshot were published: the newest
    /// that its site has up to it, or the one of another site.
    package func previewResponse(
        for href: String, ifPublished snapshot: Int64
    ) throws(StoreError) -> StoredResponse? {
        try responseAsOfSnapshot(snapshot, for: href, request: .get, fields: nil)
    }

    /// The paths of the archives that a snapshot was imported from. Nil for other snapshots, and if the
    /// version of Larder that imported it did not record the paths.
    package func archives(ofSnapshot snapshot: Int64) throws(StoreError) -> [String]? {
        let text = try prepare("SELECT archive FROM snapshot WHERE id = ?").first(.integer(snapshot)) {
            $0.optionalText(0)
        }
        return text.flatMap { $0 }.map { $0.split(separator: "\n").map { String($0) } }
    }

    /// Whether any snapshot has a response for the URL that this reader hides.
    package func hidesResponse(for href: String) throws(StoreError) -> Bool {
        guard hidesPrivate else { return false }
        return try prepare(
            "SELECT 1 FROM hidden_response AS own WHERE own.url = (SELECT id FROM url WHERE href = ?) LIMIT 1"
        ).first(.text(href)) { _ in true } ?? false
    }

    /// Whether clients may learn that the URL exists: it has a public response in any snapshot, or it has no private one
    /// and a public document links to it. Only a sample of the links is searched (`sampleReferrers`), so that the result
    /// can be false for a URL to which a public document links. Always true if this reader hides nothing.
    package func canReveal(_ href: String) throws(StoreError) -> Bool {
        guard hidesPrivate else { return true }
        if try !versions(of: href).isEmpty { return true }
        if try hidesResponse(for: href) { return false }
        return try !sampleReferrers(of: href).isEmpty
    }

    /// Whether the database has a table with this name.
    func hasTable(_ name: String) throws(StoreError) -> Bool { try connection.hasTable(name) }

    /// Whether the store has any response, in any snapshot.
    package func hasResponses() throws(StoreError) -> Bool {
        try connection.integer("SELECT EXISTS (SELECT 1 FROM response)") != 0
    }

    /// Returns the body's bytes, or the file that contains them. Nil if the body is missing or incomplete.
    /// The digest is not verified; an inspection does that.
    package func content(of body: StoredBody) throws(StoreError) -> BodyContent? {
        try bodies.content(of: body)
    }

    /// Returns the body's link table in the encoding of Markup; empty if it has none.
    package func links(of body: StoredBody) throws(StoreError) -> [UInt8] {
        try findLinks.first(.integer(body.id), .blob(body.sha256), .text(body.form)) { $0.blob(0) } ?? []
    }

    /// Calls `read` for each response that a snapshot has, whether it is published or not.
    package func eachResponse(ofSnapshot snapshot: Int64, read: (StoredResponse) -> Void) throws(StoreError) {
        try connection.prepare(
            """
            SELECT \(StoredResponse.columns) FROM \(Schema.rows(ofSnapshot: "?1")) AS response
            JOIN url ON url.id = response.url
            LEFT JOIN body ON body.id = response.body
            """
        ).each(.integer(snapshot)) { row in read(StoredResponse(row)) }
    }

    /// Returns the URLs of at most `count` pages that a snapshot has, in no particular order, whether it is published or
    /// not. Leaves out pages with an error status.
    package func pages(ofSnapshot snapshot: Int64, atMost count: Int) throws(StoreError) -> [String] {
        var pages: [String] = []
        // The role 0 is that of a page.
        try connection.prepare(
            """
            SELECT url.href FROM (
                SELECT DISTINCT url FROM \(Schema.rows(ofSnapshot: "?1")) AS response
                WHERE role = 0 AND status < 400 LIMIT ?2) AS page
            JOIN url ON url.id = page.url
            """
        ).each(.integer(snapshot), .integer(Int64(count))) { pages.append($0.text(0)) }
        return pages
    }

    /// Runs `body` in one read transaction and under the reading lock, so that it reads rows and bodies of one
    /// moment. It should be short: SQLite cannot truncate the write-ahead log meanwhile, and collections wait
    /// for the reading lock.
    package func inReadTransaction<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError)
        -> Result
    {
        try transactions.withReadingLock { () throws(StoreError) in try transactions.inTransaction(body) }
    }

    /// Whether the store is in PostgreSQL and not in a local folder.
    var isPostgreSQL: Bool { connection.isPostgreSQL }
    var backEnd: BackEnd { connection.backEnd }

    /// The size of the store on the disk; nil for PostgreSQL.
    package var diskByteCount: Int64? { backEnd.isMeasuredByFiles ? folder.byteCount : nil }

    /// How far a PostgreSQL standby is behind its primary, in seconds; nil if the server is not a standby.
    package func replicationLagSeconds() throws(StoreError) -> Double? {
        guard isPostgreSQL else { return nil }
        return try prepare(
            """
            SELECT CASE WHEN pg_is_in_recovery() THEN CAST(coalesce(extract(epoch FROM
                CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN interval '0'
                ELSE now() - pg_last_xact_replay_timestamp() END), 0) AS double precision) END
            """
        ).first { $0.isNull(0) ? nil : $0.real(0) }
    }

    /// Descriptions of the faults that the database finds in itself; empty if it is sound.
    func databaseFaults() throws(StoreError) -> [String] {
        var faults: [String] = []
        func add(_ table: String, _ parent: String, _ count: Int64) {
            faults.append("rows of \(table) that refer to missing rows of \(parent): \(count)")
        }
        if isPostgreSQL {
            for (table, parent, count) in try connection.danglingRows() { add(table, parent, count) }
            return faults
        }
        do throws(StoreError) {
            try eachRow("PRAGMA integrity_check") { row in
                if row.text(0) != "ok" { faults.append(row.text(0)) }
            }
        } catch  where error.reason == .unusable {
            faults.append(error.detail)
        }
        // With this, bodies in damaged database pages can still be read and compared with their digests.
        if !faults.isEmpty { connection.readDamagedPages(true) }
        try eachRow("SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2") { row in
            add(row.text(0), row.text(1), row.integer(2))
        }
        let wrong = try connection.integer(StoredCounts.wrongCount)
        if wrong > 0 { faults.append("stored counts that differ from the rows: \(wrong)") }
        return faults
    }

    func prepare(_ sql: String) throws(StoreError) -> Statement {
        try connection.prepare(sql)
    }

    /// Returns the statement for `sql`, prepared once per reader. For statements that run often, such as those of searches,
    /// which run the same ones for each text.
    func cachedStatement(_ sql: String) throws(StoreError) -> Statement {
        if let statement = cachedStatements[sql] { return statement }
        let statement = try prepare(sql)
        cachedStatements[sql] = statement
        return statement
    }

    func eachRow(_ sql: String, _ values: SQLValue..., read: (Row) -> Void) throws(StoreError) {
        try connection.prepare(sql).each(values, read: read)
    }

    /// A number that changes when another connection changes the store.
    package func dataVersion() throws(StoreError) -> Int64 { try transactions.dataVersion() }

    /// Runs `body` while this reader sees one version of the store: all rows that `body` reads, and `dataVersion()`, are
    /// of one moment. SQLite locks its file only once for it. Nested calls join the outer one. This does not take the
    /// reading lock, so that collections may move bodies meanwhile; see `inReadTransaction`.
    package func withFixedVersion<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError)
        -> Result
    {
        try transactions.withFixedVersion(body)
    }

    /// Whether other processes have begun to write to the store, although it could not be written to when this
    /// reader opened it. This reader does not see their changes, so the caller must open a new one.
    package var isOutdated: Bool { connection.isOutdated }
}

/// The snapshot that readers see of a site.
package struct LiveSnapshot: Sendable, Equatable {
    /// The `Snapshot.id` of the site's overlay, or else of its live snapshot.
    package let id: Int64
    /// Whether the site consists of imported responses only.
    package let isOfArchives: Bool
}
