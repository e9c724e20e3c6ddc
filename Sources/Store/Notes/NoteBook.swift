/// What a server notes of those who ask it, in a database of its own: it neither waits for those who write to the store nor
/// makes them wait, and readers of the store see no change. It belongs to one thread.
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
            "INSERT INTO served (url, at) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET at = max(at, excluded.at)")
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
