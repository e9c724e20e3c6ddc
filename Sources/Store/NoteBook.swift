internal import Web

/// What a server notes of those who ask it, in a database of its own: it neither waits for those who write to
/// the store nor makes them wait, and readers of the store see no change. It belongs to one thread.
///
/// In a PostgreSQL it is tables beside the others: what any server missed, the next prefetch fetches on whichever
/// machine.
package final class NoteBook {
    let connection: Connection
    private let addServed: Statement

    /// Fails where this user may not write.
    package init(_ folder: StoreFolder) throws(StoreError) {
        do throws(StoreError) {
            connection = try Self.connect(folder)
        } catch  where error.reason == .unusable && folder.server == nil {
            // Damaged notes are worth nothing, and keep nobody from taking new ones.
            folder.removeNotes()
            connection = try Self.connect(folder)
        }
        addServed = try connection.prepare(
            """
            INSERT INTO served (url, at) \(connection.isServed ? "SELECT * FROM unnest(?, ?)" : "VALUES (?, ?)")
            ON CONFLICT (url) DO UPDATE SET at = \(Self.greater("at", in: "served"))
            """)
    }

    /// Of what is kept and what comes the greater.
    private static func greater(_ column: String, in table: String) -> String {
        "iif(\(table).\(column) > excluded.\(column), \(table).\(column), excluded.\(column))"
    }

    /// Nil where nobody has taken notes yet.
    package static func ifAny(_ folder: StoreFolder) throws(StoreError) -> NoteBook? {
        folder.hasNotes ? try NoteBook(folder) : nil
    }

    private static func connect(_ folder: StoreFolder) throws(StoreError) -> Connection {
        if folder.server != nil {
            let connection = try folder.connect(.readWrite)
            guard try ServerSchema.isThere(connection) else {
                throw StoreError(
                    .missing, doing: "open", path: folder.name, detail: "the store does not exist")
            }
            try ServerSchema.check(connection)
            return connection
        }
        let locks = try StoreLocks(folder)
        let connection = try Connection(folder.notes, access: .readWrite, modeOf: folder.locks)
        // SQLite does not wait for its turn to change how a database keeps its log.
        let mode = try connection.prepare("PRAGMA journal_mode").first { $0.text(0) }
        if mode != "wal" {
            try locks.whileAlone(.settingUp) { () throws(StoreError) in
                try connection.execute("PRAGMA journal_mode = WAL", doing: "set up")
            }
        }
        try connection.execute(
            """
            PRAGMA synchronous = OFF;
            CREATE TABLE IF NOT EXISTS served (url INTEGER PRIMARY KEY, at INTEGER NOT NULL) STRICT;
            \(missTable)\(verdictTable)\(damageTable)\(attemptTable)
            """, doing: "set up")
        try addLaterColumns(connection)
        return connection
    }

    /// When URLs were served: their numbers in the store, and seconds since 1970.
    package func note(served: [(url: Int64, at: Int64)]) throws(StoreError) {
        guard !served.isEmpty else { return }
        try changing { () throws(StoreError) in
            guard connection.isServed else {
                for (url, at) in served { try addServed.run(.integer(url), .integer(at)) }
                return
            }
            let latest = Dictionary(served.map { ($0.url, $0.at) }, uniquingKeysWith: max)
            // In one order, so that no two servers wait for each other.
            let rows = latest.sorted { $0.key < $1.key }
            try addServed.run(.integers(rows.map(\.key)), .integers(rows.map(\.value)))
        }
    }

    /// All that `body` changes or, when it throws, nothing. Readers of the store hear nothing of it.
    func changing(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) {
                try connection.begin()
                try body()
                return try connection.commit(hasChanged: false)
            } catch {
                // SQLite may have rolled back by itself already; the first error is the one that tells.
                try? connection.rollBack()
                guard connection.isServed, attempt < Limits.attempts else { throw error }
                switch error.reason {
                case .busy: continue
                case .unreachable: try connection.session?.renew()
                case .request, .missing, .full, .denied, .unusable, .failed: throw error
                }
            }
        }
    }

    /// When each URL was last served, by number.
    package func servedTimes() throws(StoreError) -> [Int64: Int64] {
        var times: [Int64: Int64] = [:]
        try connection.prepare("SELECT url, at FROM served").each { times[$0.integer(0)] = $0.integer(1) }
        return times
    }

    /// Forgets URLs that the store has no more: their numbers may be given again.
    func forget(_ urls: [Int64]) throws(StoreError) {
        let delete = try connection.prepare("DELETE FROM served WHERE url = ?")
        try changing { () throws(StoreError) in
            for url in urls { try delete.run(.integer(url)) }
        }
    }

    /// What the other one has, in place of what was noted here.
    func replace(by other: NoteBook) throws(StoreError) {
        try changing { () throws(StoreError) in
            for table in ["served", "miss", "verdict", "damage"] {
                try connection.prepare("DELETE FROM \(table)").run()
            }
        }
        var verdicts: [BundleVerdict] = []
        try other.connection.prepare("SELECT href, sha256, name, detail, good FROM verdict ORDER BY id").each
        {
            verdicts.append(
                BundleVerdict(
                    href: $0.text(0), sha256: $0.blob(1), name: $0.text(2), detail: $0.optionalText(3),
                    isGood: $0.integer(4) != 0))
        }
        try note(served: other.servedTimes().map { ($0.key, $0.value) })
        try note(misses: other.misses())
        try note(verdicts: verdicts)
        try note(damaged: Array(other.damaged()))
    }

    /// The same tables in a PostgreSQL. An address may be longer than what a B-tree takes.
    static let serverStep = ServerMigration.Step(
        name: "notes of all servers in the database",
        sql: """
            CREATE TABLE served (url bigint PRIMARY KEY, at bigint NOT NULL);
            CREATE TABLE miss (
                href text COLLATE "C" NOT NULL,
                method text COLLATE "C" NOT NULL,
                referrer text COLLATE "C",
                page bigint NOT NULL,
                count bigint NOT NULL,
                first bigint NOT NULL,
                last bigint NOT NULL,
                reach bigint NOT NULL DEFAULT 0,
                origin text COLLATE "C"
            );
            CREATE UNIQUE INDEX miss_key ON miss (md5(href), method);
            CREATE INDEX miss_href ON miss USING hash (href);
            CREATE TABLE verdict (
                id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
                href text COLLATE "C" NOT NULL,
                sha256 bytea NOT NULL,
                name text COLLATE "C" NOT NULL,
                detail text COLLATE "C",
                good bigint NOT NULL
            );
            CREATE INDEX verdict_href ON verdict USING hash (href);
            CREATE TABLE damage (sha256 bytea PRIMARY KEY);

            """)
}

extension NoteBook {
    private static let missTable = """
        CREATE TABLE IF NOT EXISTS miss (
            href TEXT NOT NULL,
            method TEXT NOT NULL,
            referrer TEXT,
            page INTEGER NOT NULL,
            count INTEGER NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            \(laterColumns.joined(separator: ", ")),
            PRIMARY KEY (href, method)
        ) STRICT, WITHOUT ROWID;

        """

    /// Those of who asked. What was noted without them counts as asked for by a public page.
    private static let laterColumns = ["reach INTEGER NOT NULL DEFAULT 0", "origin TEXT"]

    /// An earlier larder's table gets what it lacks.
    private static func addLaterColumns(_ connection: Connection) throws(StoreError) {
        guard try !hasLaterColumns(connection) else { return }
        try connection.transaction { () throws(StoreError) in
            // Somebody else may have been quicker.
            guard try !hasLaterColumns(connection) else { return }
            for column in laterColumns { try connection.execute("ALTER TABLE miss ADD COLUMN \(column)") }
        }
    }

    private static func hasLaterColumns(_ connection: Connection) throws(StoreError) -> Bool {
        try connection.integer("SELECT count(*) FROM pragma_table_info('miss') WHERE name = 'reach'") > 0
    }

    /// Whoever can make a browser ask can make it ask for anything: beyond so many, the longest past are
    /// forgotten.
    package static let mostMisses = 10_000

    /// Adds to what was noted of the same URLs before.
    package func note(misses: [Miss]) throws(StoreError) {
        guard !misses.isEmpty else { return }
        let key = connection.isServed ? "md5(href), method" : "href, method"
        try changing { () throws(StoreError) in
            let add = try connection.prepare(
                """
                INSERT INTO miss (href, method, referrer, page, reach, origin, count, first, last)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (\(key)) DO UPDATE SET
                    referrer = coalesce(excluded.referrer, miss.referrer),
                    page = \(Self.greater("page", in: "miss")), reach = \(Self.greater("reach", in: "miss")),
                    origin = coalesce(excluded.origin, miss.origin), count = miss.count + excluded.count,
                    first = iif(miss.first < excluded.first, miss.first, excluded.first),
                    last = \(Self.greater("last", in: "miss"))
                """)
            // In one order, so that no two servers wait for each other.
            for miss in misses.sorted(by: { ($0.href, $0.method) < ($1.href, $1.method) }) {
                try add.run(
                    .text(miss.href), .text(miss.method), .optional(miss.referrer),
                    .integer(miss.isPage ? 1 : 0),
                    .integer(Int64(miss.from.rawValue)), .optional(miss.origin), .integer(Int64(miss.count)),
                    .integer(miss.first), .integer(miss.last))
            }
            try connection.prepare(
                """
                DELETE FROM miss WHERE (href, method) IN (
                    SELECT href, method FROM miss ORDER BY last DESC, href
                    \(connection.isServed ? "" : "LIMIT -1") OFFSET ?)
                """
            ).run(.integer(Int64(Self.mostMisses)))
        }
    }

    /// Everything that was missed, by address.
    package func misses() throws(StoreError) -> [Miss] {
        try Self.misses(connection)
    }

    /// The same, where nothing may be written either. Empty where nobody has taken notes yet.
    package static func misses(in folder: StoreFolder) throws(StoreError) -> [Miss] {
        guard folder.hasNotes else { return [] }
        if folder.server != nil { return try misses(folder.connect(.readOnly)) }
        let connection = try folder.read(folder.notes)
        let isNoted = try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'miss'") > 0
        return isNoted ? try misses(connection) : []
    }

    private static func misses(_ connection: Connection) throws(StoreError) -> [Miss] {
        var misses: [Miss] = []
        // An earlier larder's table may lack columns that nobody could add.
        let hasAll = connection.isServed ? true : try hasLaterColumns(connection)
        let later = hasAll ? "reach, origin" : "0, NULL"
        try connection.prepare(
            "SELECT href, method, referrer, page, \(later), count, first, last FROM miss ORDER BY href, method"
        )
        .each { row in
            misses.append(
                Miss(
                    href: row.text(0), method: row.text(1), referrer: row.optionalText(2),
                    isPage: row.integer(3) != 0,
                    from: ResponseFlags(rawValue: UInt16(truncatingIfNeeded: row.integer(4))),
                    origin: row.optionalText(5), count: Int(row.integer(6)), first: row.integer(7),
                    last: row.integer(8)))
        }
        return misses
    }

    /// What a prefetch of sites on these hosts is to fetch: what was missed there, and what pages there asked
    /// of others.
    package func misses(for hosts: Set<String>) throws(StoreError) -> [Miss] {
        func isThere(_ href: String) -> Bool { WebURL(href).map { hosts.contains($0.host) } ?? false }
        return try misses().filter { miss in
            miss.method == "GET"
                && (isThere(miss.href) || !miss.isPage && miss.referrer.map(isThere) ?? false)
        }
    }

    /// Forgets what was missed at these addresses, by whatever method: it is held now, or will never be.
    package func forget(misses hrefs: some Sequence<String>) throws(StoreError) {
        let delete = try connection.prepare("DELETE FROM miss WHERE href = ?")
        try changing { () throws(StoreError) in
            for href in hrefs { try delete.run(.text(href)) }
        }
    }

    package func forgetAllMisses() throws(StoreError) {
        try connection.execute("DELETE FROM miss")
    }
}

// MARK: - Miss

/// Something that was asked of a server and is not held.
package struct Miss: Sendable, Equatable {
    package let href: String
    /// What asked for it by another method than GET is told, and never fetched: it might do something.
    package let method: String
    /// The page that asked for it, as far as its browser said.
    package var referrer: String?
    /// Whether a person went there; else a page needs it.
    package var isPage: Bool
    /// From where the page came that asked, so that its miss leads no nearer than its links: of
    /// `ResponseFlags.ofReach`, with `.fromThisMachine` where a person asked.
    package var from: ResponseFlags
    /// The original origin of the page that asked by CORS.
    package var origin: String?
    package var count: Int
    /// Seconds since 1970.
    package var first: Int64
    package var last: Int64

    package init(
        href: String, method: String = "GET", referrer: String? = nil, isPage: Bool, from: ResponseFlags = [],
        origin: String? = nil, count: Int = 1, first: Int64, last: Int64
    ) {
        self.href = href
        self.method = method
        self.referrer = referrer
        self.isPage = isPage
        self.from = from.intersection(.ofReach)
        self.origin = origin
        self.count = count
        self.first = first
        self.last = last
    }

    /// Asked for once more: who may lead further wins.
    package mutating func add(_ later: Miss) {
        referrer = later.referrer ?? referrer
        isPage = isPage || later.isPage
        if later.from.rawValue > from.rawValue { from = later.from }
        origin = later.origin ?? origin
        count += later.count
        first = min(first, later.first)
        last = max(last, later.last)
    }
}

/// What a check found of a bundle that is held.
package struct BundleVerdict: Sendable, Equatable {
    package let href: String
    /// The body that was looked at; empty where there was none.
    package let sha256: [UInt8]
    /// In a word, such as "verified".
    package let name: String
    package let detail: String?
    package let isGood: Bool

    package init(href: String, sha256: [UInt8], name: String, detail: String?, isGood: Bool) {
        self.href = href
        self.sha256 = sha256
        self.name = name
        self.detail = detail
        self.isGood = isGood
    }
}

extension NoteBook {
    private static let verdictTable = """
        CREATE TABLE IF NOT EXISTS verdict (
            id INTEGER PRIMARY KEY,
            href TEXT NOT NULL,
            sha256 BLOB NOT NULL,
            name TEXT NOT NULL,
            detail TEXT,
            good INTEGER NOT NULL,
            UNIQUE (href, sha256)
        ) STRICT;

        """

    /// Of how many versions of a bundle what was found is remembered.
    private static let mostVersions = 8

    /// In place of what was found of the same bodies at the same addresses before.
    package func note(verdicts: [BundleVerdict]) throws(StoreError) {
        let replace = try connection.prepare("DELETE FROM verdict WHERE href = ? AND sha256 = ?")
        let add = try connection.prepare(
            "INSERT INTO verdict (href, sha256, name, detail, good) VALUES (?, ?, ?, ?, ?)")
        let forget = try connection.prepare(
            """
            DELETE FROM verdict WHERE href = ?1 AND id NOT IN (
                SELECT id FROM verdict WHERE href = ?1 ORDER BY id DESC LIMIT ?2)
            """)
        try changing { () throws(StoreError) in
            for verdict in verdicts {
                try replace.run(.text(verdict.href), .blob(verdict.sha256))
                try add.run(
                    .text(verdict.href), .blob(verdict.sha256), .text(verdict.name),
                    .optional(verdict.detail),
                    .integer(verdict.isGood ? 1 : 0))
                try forget.run(.text(verdict.href), .integer(Int64(Self.mostVersions)))
            }
        }
    }

    /// What was found at an address, of whichever bodies it had.
    package func verdicts(of href: String) throws(StoreError) -> [BundleVerdict] {
        var verdicts: [BundleVerdict] = []
        try connection.prepare("SELECT sha256, name, detail, good FROM verdict WHERE href = ? ORDER BY id")
            .each(.text(href)) { row in
                verdicts.append(
                    BundleVerdict(
                        href: href, sha256: row.blob(0), name: row.text(1), detail: row.optionalText(2),
                        isGood: row.integer(3) != 0))
            }
        return verdicts
    }
}

/// Marks of whoever found bodies damaged on the disk, so that the next who fetches for them loads them again.
extension NoteBook {
    private static let damageTable = """
        CREATE TABLE IF NOT EXISTS damage (sha256 BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;

        """

    package func note(damaged bodies: [[UInt8]]) throws(StoreError) {
        let add = try connection.prepare("INSERT OR IGNORE INTO damage (sha256) VALUES (?)")
        try changing { () throws(StoreError) in
            for sha256 in bodies.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                try add.run(.blob(sha256))
            }
        }
    }

    /// The digests of the bodies that are marked.
    package func damaged() throws(StoreError) -> Set<[UInt8]> {
        var bodies: Set<[UInt8]> = []
        try connection.prepare("SELECT sha256 FROM damage").each { bodies.insert($0.blob(0)) }
        return bodies
    }

    package func forget(damaged sha256: [UInt8]) throws(StoreError) {
        let delete = try connection.prepare("DELETE FROM damage WHERE sha256 = ?")
        try changing { () throws(StoreError) in try delete.run(.blob(sha256)) }
    }

    /// Marks bodies that somebody found damaged, so that whoever fetches next loads them again. Where this
    /// user may not write, nothing is marked.
    package static func mark(damaged bodies: [[UInt8]], in folder: StoreFolder) throws(StoreError) {
        guard !bodies.isEmpty else { return }
        do throws(StoreError) {
            try NoteBook(folder).note(damaged: bodies)
        } catch {
            switch error.reason {
            case .denied, .busy, .full: return
            case .request, .missing, .unusable, .unreachable, .failed: throw error
            }
        }
    }
}

// MARK: - DamageMarks

/// The bodies that are marked as damaged, each looked at before it is called so: it may have been mended
/// since.
package struct DamageMarks {
    private let folder: StoreFolder
    private var marked: Set<[UInt8]>

    package init(_ folder: StoreFolder) throws(StoreError) {
        self.folder = folder
        do throws(StoreError) {
            marked = try NoteBook.ifAny(folder)?.damaged() ?? []
        } catch  where error.reason == .denied || error.reason == .busy {
            // Who may not write notes does not mend anything either.
            marked = []
        }
    }

    package mutating func note(_ body: StoredBody) throws(StoreError) {
        marked.insert(body.sha256)
        try NoteBook(folder).note(damaged: [body.sha256])
    }

    package mutating func isDamaged(_ body: StoredBody, _ reader: StoreReader) throws(StoreError) -> Bool {
        guard marked.contains(body.sha256) else { return false }
        if let content = try reader.content(of: body), try body.isWhole(content) {
            marked.remove(body.sha256)
            try NoteBook.ifAny(folder)?.forget(damaged: body.sha256)
            return false
        }
        return true
    }
}

extension StoreReader {
    /// Whether the URL has answers to several kinds of requests, so that what was given to one need not suit
    /// the next.
    package func hasVariants(_ response: StoredResponse) throws(StoreError) -> Bool {
        guard !response.variant.isEmpty else { return false }
        let count = try prepare("SELECT count(DISTINCT variant) FROM response WHERE url = ? AND request = ?")
            .first(.integer(response.url), .text(response.request.text)) { $0.integer(0) }
        return count ?? 0 > 1
    }

    /// How each site is to be served, by its start URLs: what `sites` tells, without counting anything.
    package func siteSettings() throws(StoreError) -> [(name: String, start: [String], settings: String)] {
        try settings(prepare("SELECT start, settings, name FROM site ORDER BY name"))
    }

    /// Those of sites that have a manifest. It is asked for with each change of the store.
    package func settingsWithManifest() throws(StoreError) -> [(
        name: String, start: [String], settings: String
    )] {
        try settings(findManifests)
    }

    private func settings(
        _ statement: Statement
    ) throws(StoreError) -> [(name: String, start: [String], settings: String)] {
        var settings: [(name: String, start: [String], settings: String)] = []
        try statement.each { row in
            let start = row.text(0).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            settings.append((row.text(2), start, row.text(1)))
        }
        return settings
    }
}

extension StoreReader {
    /// Whether anything is held of the address, or anything that was held linked to it.
    package func knows(_ href: String) throws(StoreError) -> Bool {
        try prepare("SELECT 1 FROM url WHERE href = ?").first(.text(href)) { _ in true } ?? false
    }

    /// Whether any address of an origin is known, such as those of `https://example.com`.
    package func knows(origin: String) throws(StoreError) -> Bool {
        try prepare("SELECT 1 FROM url WHERE href >= ? AND href < ? LIMIT 1")
            .first(.text(origin + "/"), .text(origin + Self.behindSlash)) { _ in true } ?? false
    }

    /// Some of the addresses whose bodies link to this one: as many as are found without looking through the
    /// whole store.
    package func fewReferrers(of href: String, count: Int = 8) throws(StoreError) -> [String] {
        let number = try prepare("SELECT id FROM url WHERE href = ?").first(.text(href)) { $0.integer(0) }
        guard let number else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE id IN (
                SELECT url FROM (SELECT url, pages, assets FROM link LIMIT 5000)
                WHERE instr(pages, ?1) OR instr(assets, ?1) LIMIT ?2) ORDER BY href
            """, .text(LinkLists.text([number])), .integer(Int64(count))
        ) { referrers.append($0.text(0)) }
        return referrers
    }
}

extension StoreReader {
    /// What servers of this store were asked for and did not hold, by address. Empty as well where this user
    /// may not look into their notes.
    package func notedMisses() throws(StoreError) -> [Miss] {
        do throws(StoreError) {
            return try NoteBook.ifAny(folder)?.misses() ?? []
        } catch  where error.reason == .denied {
            return []
        }
    }
}
