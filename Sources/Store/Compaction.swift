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
    func copyRemainder(without urls: [Int64]) throws(StoreError) -> [Int64] {
        let path = folder.incoming + "/larder.db"
        try StoreFolder.makeFolders(folder.incoming)
        unlink(path)
        defer { unlink(path) }
        let removed = NumberSet(urls)
        let remainder = Remainder(removedURLs: removed, bodies: try referencedBodies(without: removed))
        let draft = try JournalDraft(of: folder) { [folder] journal throws(StoreError) in
            let connection = try Connection(folder.database, access: .readOnly)
            try connection.define(remainder)
            try connection.write(to: journal, bodies: "is_held(id)", responses: "NOT is_gone(response.url)")
        }
        let leftOut: [Int64]
        do throws(StoreError) {
            let copy = try Connection(path, access: .readWrite, modeOf: folder.locks)
            leftOut = try copy.fill(from: folder.database, with: remainder, keepsURLs: hasPausedWriters)
            // The draft is finished first: a kill after the replacement would otherwise leave a journal with
            // rows that are gone.
            draft.finish()
            try replaceDatabase(with: copy)
        } catch {
            draft.discard()
            throw error
        }
        try adopt(draft)
        return leftOut
    }
}

/// The content of a database that is copied: everything except the responses and links of `removedURLs`, with
/// only these bodies.
private struct Remainder: Sendable {
    let removedURLs: NumberSet
    let bodies: NumberSet
}

extension Connection {
    fileprivate func define(_ remainder: Remainder) throws(StoreError) {
        try define("is_gone", remainder.removedURLs)
        try define("is_held", remainder.bodies)
    }

    /// Fills an empty database with the content of another one that is kept. Returns the ids of the URLs that
    /// were left out.
    fileprivate func fill(
        from path: String, with remainder: Remainder, keepsURLs: Bool
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
        try define(remainder)
        return try transaction { () throws(StoreError) in
            for table in try createTables() {
                switch table {
                case "response", "link": try copyRows(of: table, "WHERE NOT is_gone(url)")
                case "body": try copyRows(of: table, "WHERE is_held(id)")
                case "content": try copyRows(of: table, "WHERE is_held(body)")
                case "url", "tally": break
                default: try copyRows(of: table)
                }
            }
            let leftOut = try copyURLs(keepsAll: keepsURLs)
            try execute("DELETE FROM main.sqlite_sequence", doing: "shrink")
            try copyRows(of: "sqlite_sequence")
            try createIndexesAndViews()
            try execute(StoredCounts.count + StoredCounts.confirmed + " WHERE confirmed > 0", doing: "count")
            return leftOut
        }
    }

    private func createTables() throws(StoreError) -> [String] {
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
    private func createIndexesAndViews() throws(StoreError) {
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

    /// Copies the URLs that copied rows refer to, or all. Returns the ids of the others.
    private func copyURLs(keepsAll: Bool) throws(StoreError) -> [Int64] {
        if keepsAll {
            try copyRows(of: "url")
            return []
        }
        let referenced = try referencedURLs()
        try define("is_named", referenced)
        try copyRows(of: "url", "WHERE is_named(id)")
        var leftOut: [Int64] = []
        try prepare("SELECT id FROM whole.url WHERE NOT is_named(id)").each {
            leftOut.append($0.integer(0))
        }
        return leftOut
    }

    /// The ids of the bodies that responses have, not counting the responses of the URLs in `excluded`.
    func referencedBodies(without excluded: NumberSet) throws(StoreError) -> NumberSet {
        var bodies = NumberSet()
        // An index contains both columns, so the rows themselves are not read.
        try prepare("SELECT body, url FROM response WHERE body IS NOT NULL").each { row in
            if !excluded.contains(row.integer(1)) { bodies.insert(row.integer(0)) }
        }
        return bodies
    }

    /// The ids of the URLs that responses and link lists refer to.
    func referencedURLs() throws(StoreError) -> NumberSet {
        var urls = NumberSet()
        try prepare("SELECT url, referrer FROM response").each { row in
            urls.insert(row.integer(0))
            if let referrer = row.optionalInteger(1) { urls.insert(referrer) }
        }
        try prepare("SELECT pages, assets, guesses FROM link").each { row in
            for column in 0..<3 as Range<Int32> {
                row.withBytes(column) { LinkLists.each($0) { urls.insert($0) } }
            }
        }
        return urls
    }
}
