internal import Database
internal import Glibc

extension StoreWriter {
    /// Removes the responses of these URLs and all content that becomes unreferenced, by copying the rest
    /// into a new database that replaces this one. Deleting rows would need a look-up in each index per row,
    /// and a copy to return the space all the same. Returns the ids of the URLs that the store no longer has.
    ///
    /// The copy replaces the database in one transaction: if this throws, nothing has changed. The journal is
    /// rewritten at the same time. The caller must be the only writer and have removed all unreferenced
    /// content.
    func copyWhatStays(without urls: [Int64]) throws(StoreError) -> [Int64] {
        let path = folder.incoming + "/larder.db"
        try StoreFolder.makeFolders(folder.incoming)
        unlink(path)
        defer { unlink(path) }
        let gone = NumberSet(urls)
        let stay = Staying(gone: gone, bodies: try heldBodies(without: gone))
        let draft = try JournalDraft(of: folder) { [folder] journal throws(StoreError) in
            let connection = try Connection(folder.database, access: .readOnly)
            try connection.define(stay)
            try connection.write(to: journal, bodies: "is_held(id)", responses: "NOT is_gone(response.url)")
        }
        let forgotten: [Int64]
        do throws(StoreError) {
            let copy = try Connection(path, access: .readWrite, modeOf: folder.locks)
            forgotten = try copy.fill(from: folder.database, with: stay, keepsURLs: isBeside)
            // The draft is finished first: a kill after the replacement would otherwise leave a journal with
            // rows that are gone.
            draft.finish()
            try take(copy)
        } catch {
            draft.drop()
            throw error
        }
        try adopt(draft)
        return forgotten
    }
}

/// The content of a database that is kept: everything except the URLs in `gone`, and the bodies in `bodies`.
private struct Staying: Sendable {
    let gone: NumberSet
    let bodies: NumberSet
}

extension Connection {
    fileprivate func define(_ stay: Staying) throws(StoreError) {
        try define("is_gone", stay.gone)
        try define("is_held", stay.bodies)
    }

    /// Fills an empty database with the content of another one that is kept. Returns the ids of the URLs that
    /// were left out.
    fileprivate func fill(
        from path: String, with stay: Staying, keepsURLs: Bool
    ) throws(StoreError) -> [Int64] {
        try prepare("ATTACH ? AS whole").run(.text(Self.uri(path)), doing: "shrink")
        // The copy needs no journal and no syncing, because it is discarded if it is not completed.
        try addPageChecksums(doing: "shrink")
        try execute(
            """
            PRAGMA main.page_size = \(try integer("PRAGMA whole.page_size")); PRAGMA main.journal_mode = OFF;
            PRAGMA main.synchronous = OFF; PRAGMA main.cache_size = -\(Limits.collectorCacheKiB);
            PRAGMA whole.cache_size = -4096; PRAGMA temp_store = MEMORY;
            PRAGMA main.application_id = \(try integer("PRAGMA whole.application_id"));
            PRAGMA main.user_version = \(try integer("PRAGMA whole.user_version"));
            """, doing: "shrink")
        try define(stay)
        return try transaction { () throws(StoreError) in
            for table in try makeTables() {
                switch table {
                case "response", "link": try copyRows(of: table, "WHERE NOT is_gone(url)")
                case "body": try copyRows(of: table, "WHERE is_held(id)")
                case "content": try copyRows(of: table, "WHERE is_held(body)")
                case "url", "tally": break
                default: try copyRows(of: table)
                }
            }
            let forgotten = try copyURLs(keepsAll: keepsURLs)
            try execute("DELETE FROM main.sqlite_sequence", doing: "shrink")
            try copyRows(of: "sqlite_sequence")
            try makeRest()
            try execute(KeptTally.count + KeptTally.confirmed + " WHERE confirmed > 0", doing: "count")
            return forgotten
        }
    }

    private func makeTables() throws(StoreError) -> [String] {
        var tables: [(name: String, sql: String)] = []
        try prepare(
            """
            SELECT name, sql FROM whole.sqlite_schema
            WHERE type = 'table' AND rootpage > 0 AND substr(name, 1, 7) <> 'sqlite_' ORDER BY rowid
            """
        ).each { tables.append(($0.text(0), $0.text(1))) }
        for table in tables { try execute(table.sql, doing: "shrink") }
        return tables.map(\.name)
    }

    /// Creates the indexes after the rows, because building an index from all rows writes it in order. Views,
    /// triggers and virtual tables have no rows of their own, so only their definitions are copied.
    private func makeRest() throws(StoreError) {
        var indexes: [String] = []
        try prepare(
            "SELECT sql FROM whole.sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY rowid"
        )
        .each { indexes.append($0.text(0)) }
        for index in indexes { try execute(index, doing: "shrink") }
        try execute(
            """
            PRAGMA writable_schema = ON;
            INSERT INTO main.sqlite_schema SELECT * FROM whole.sqlite_schema
                WHERE type IN ('view', 'trigger') OR (type = 'table' AND rootpage = 0);
            PRAGMA writable_schema = OFF;
            """, doing: "shrink")
    }

    private func copyRows(of table: String, _ condition: String = "") throws(StoreError) {
        let name = "\"\(table.replacing("\"", with: "\"\""))\""
        try execute("INSERT INTO main.\(name) SELECT * FROM whole.\(name) \(condition)", doing: "shrink")
    }

    private func copyURLs(keepsAll: Bool) throws(StoreError) -> [Int64] {
        if keepsAll {
            try copyRows(of: "url")
            return []
        }
        let named = try namedURLs()
        try define("is_named", named)
        try copyRows(of: "url", "WHERE is_named(id)")
        var forgotten: [Int64] = []
        try prepare("SELECT id FROM whole.url WHERE NOT is_named(id)").each {
            forgotten.append($0.integer(0))
        }
        return forgotten
    }

    /// The ids of the bodies that responses have, not counting the responses of the URLs in `gone`.
    func heldBodies(without gone: NumberSet) throws(StoreError) -> NumberSet {
        var held = NumberSet()
        // An index contains both columns, so the rows themselves are not read.
        try prepare("SELECT body, url FROM response WHERE body IS NOT NULL").each { row in
            if !gone.contains(row.integer(1)) { held.insert(row.integer(0)) }
        }
        return held
    }

    /// The ids of the URLs that responses and link lists refer to.
    func namedURLs() throws(StoreError) -> NumberSet {
        var named = NumberSet()
        try prepare("SELECT url, referrer FROM response").each { row in
            named.insert(row.integer(0))
            if let referrer = row.optionalInteger(1) { named.insert(referrer) }
        }
        try prepare("SELECT pages, assets, guesses FROM link").each { row in
            for column in 0..<3 as Range<Int32> {
                row.withBytes(column) { LinkLists.each($0) { named.insert($0) } }
            }
        }
        return named
    }
}
