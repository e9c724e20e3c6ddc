internal import Glibc

extension StoreWriter {
    /// Removes bodies that no response has, with what is known of them. The caller is alone, in a transaction.
    func removeOrphanRows() throws(StoreError) {
        try run(
            """
            DELETE FROM link WHERE NOT EXISTS (
                SELECT 1 FROM response WHERE response.url = link.url AND response.body = link.body)
            """)
        try run(
            """
            DELETE FROM content WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = content.body)
            """)
        try run("DELETE FROM body WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = body.id)")
    }

    /// Removes the files that no body has. The caller is alone: another writer's file comes before its row.
    func removeOrphanFiles() throws(StoreError) {
        var known: Set<String> = []
        try eachRow(
            """
            SELECT DISTINCT lower(hex(body.sha256)) FROM body JOIN content ON content.body = body.id
            WHERE content.bytes IS NULL AND body.pack IS NULL
            """
        ) { known.insert($0.text(0)) }
        for name in folder.bodyFileNames where !known.contains(name) {
            let file = folder.bodyFile(sha256: name)
            guard unlink(file) == 0 || errno == ENOENT else { throw StoreError(errno, doing: "remove", path: file) }
        }
    }

    /// Removes the URLs that no response and no list of links names. The caller is alone, in a transaction, and references
    /// are not followed: SQLite would look through every response for each URL. Gives their numbers.
    func removeOrphanURLs() throws(StoreError) -> [Int64] {
        var named: Set<Int64> = []
        try eachRow("SELECT url, referrer FROM response") { row in
            named.insert(row.integer(0))
            if let referrer = row.optionalInteger(1) { named.insert(referrer) }
        }
        try eachRow("SELECT pages, requisites, guesses FROM link") { row in
            for column in 0..<3 as Range<Int32> { named.formUnion(LinkLists.numbers(row.text(column))) }
        }
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM url") { row in
            if !named.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        let delete = try prepare("DELETE FROM url WHERE id = ?")
        for orphan in orphans { try delete.run(.integer(orphan)) }
        return orphans
    }
}
