internal import Web

extension NoteBook {
    static let missTable = """
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
    static func addLaterColumns(_ connection: Connection) throws(StoreError) {
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

    /// Whoever can make a browser ask can make it ask for anything: beyond so many, the longest past are forgotten.
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
                    .text(miss.href), .text(miss.method), .optional(miss.referrer), .integer(miss.isPage ? 1 : 0),
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

    /// What a prefetch of sites on these hosts is to fetch: what was missed there, and what pages there asked of others.
    package func misses(for hosts: Set<String>) throws(StoreError) -> [Miss] {
        func isThere(_ href: String) -> Bool { WebURL(href).map { hosts.contains($0.host) } ?? false }
        return try misses().filter { miss in
            miss.method == "GET" && (isThere(miss.href) || !miss.isPage && miss.referrer.map(isThere) ?? false)
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
