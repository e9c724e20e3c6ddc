internal import Web

/// What a server notes of those who ask it, in a database of its own: it neither waits for those who write to
/// the store nor makes them wait, and readers of the store see no change. It belongs to one thread.
package final class NoteBook {
    let connection: Connection
    private let addServed: Statement

    /// Fails where this user may not write.
    package init(_ folder: StoreFolder) throws(StoreError) {
        do throws(StoreError) {
            connection = try Self.connect(folder)
        } catch  where error.reason == .unusable {
            // Damaged notes are worth nothing, and keep nobody from taking new ones.
            folder.removeNotes()
            connection = try Self.connect(folder)
        }
        addServed = try connection.prepare(
            "INSERT INTO served (url, at) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET at = max(at, excluded.at)"
        )
    }

    /// Nil where nobody has taken notes yet.
    package static func ifAny(_ folder: StoreFolder) throws(StoreError) -> NoteBook? {
        folder.hasNotes ? try NoteBook(folder) : nil
    }

    private static func connect(_ folder: StoreFolder) throws(StoreError) -> Connection {
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
            \(missTable)\(verdictTable)\(damageTable)
            """, doing: "set up")
        try addLaterColumns(connection)
        return connection
    }

    /// When URLs were served: their numbers in the store, and seconds since 1970.
    package func note(served: [(url: Int64, at: Int64)]) throws(StoreError) {
        try connection.transaction { () throws(StoreError) in
            for (url, at) in served { try addServed.run(.integer(url), .integer(at)) }
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
        try connection.transaction { () throws(StoreError) in
            for url in urls { try delete.run(.integer(url)) }
        }
    }
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
        try connection.transaction { () throws(StoreError) in
            let add = try connection.prepare(
                """
                INSERT INTO miss (href, method, referrer, page, reach, origin, count, first, last)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (href, method) DO UPDATE SET
                    referrer = coalesce(excluded.referrer, referrer), page = max(page, excluded.page),
                    reach = max(reach, excluded.reach), origin = coalesce(excluded.origin, origin),
                    count = count + excluded.count, first = min(first, excluded.first), last = max(last, excluded.last)
                """)
            for miss in misses {
                try add.run(
                    .text(miss.href), .text(miss.method), .optional(miss.referrer),
                    .integer(miss.isPage ? 1 : 0),
                    .integer(Int64(miss.from.rawValue)), .optional(miss.origin), .integer(Int64(miss.count)),
                    .integer(miss.first), .integer(miss.last))
            }
            try connection.prepare(
                """
                DELETE FROM miss WHERE (href, method) IN (
                    SELECT href, method FROM miss ORDER BY last DESC, href LIMIT -1 OFFSET ?)
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
        let connection = try Connection(folder.notes, access: folder.areNotesSealed ? .sealed : .readOnly)
        let isNoted = try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'miss'") > 0
        return isNoted ? try misses(connection) : []
    }

    private static func misses(_ connection: Connection) throws(StoreError) -> [Miss] {
        var misses: [Miss] = []
        // An earlier larder's table may lack columns that nobody could add.
        let later = try hasLaterColumns(connection) ? "reach, origin" : "0, NULL"
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
        try connection.transaction { () throws(StoreError) in
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
        let add = try connection.prepare(
            "INSERT OR REPLACE INTO verdict (href, sha256, name, detail, good) VALUES (?, ?, ?, ?, ?)")
        let forget = try connection.prepare(
            """
            DELETE FROM verdict WHERE href = ?1 AND id NOT IN (
                SELECT id FROM verdict WHERE href = ?1 ORDER BY id DESC LIMIT ?2)
            """)
        try connection.transaction { () throws(StoreError) in
            for verdict in verdicts {
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
        try connection.transaction { () throws(StoreError) in
            for sha256 in bodies { try add.run(.blob(sha256)) }
        }
    }

    /// The digests of the bodies that are marked.
    package func damaged() throws(StoreError) -> Set<[UInt8]> {
        var bodies: Set<[UInt8]> = []
        try connection.prepare("SELECT sha256 FROM damage").each { bodies.insert($0.blob(0)) }
        return bodies
    }

    package func forget(damaged sha256: [UInt8]) throws(StoreError) {
        try connection.prepare("DELETE FROM damage WHERE sha256 = ?").run(.blob(sha256))
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
            case .request, .missing, .unusable, .failed: throw error
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
    package func settingsWithManifest() throws(StoreError) -> [(name: String, start: [String], settings: String)] {
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

    /// Some of the addresses whose bodies link to this one: as many as are found without looking through the
    /// whole store.
    package func fewReferrers(of href: String, count: Int = 8) throws(StoreError) -> [String] {
        let number = try prepare("SELECT id FROM url WHERE href = ?").first(.text(href)) { $0.integer(0) }
        guard let number else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE id IN (
                SELECT url FROM (SELECT url, pages, requisites FROM link LIMIT 5000)
                WHERE instr(pages, ?1) OR instr(requisites, ?1) LIMIT ?2) ORDER BY href
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
