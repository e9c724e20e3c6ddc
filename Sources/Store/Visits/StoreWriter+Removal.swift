extension StoreWriter {
    /// Removes a site with all its visits. What other sites hold too stays; the bodies go with the next collection.
    package func remove(_ site: Site) throws(StoreError) {
        try holding(site) { () throws(StoreError) in
            try run("UPDATE site SET published = NULL, overlay = NULL WHERE id = ?", .integer(site.id))
            try run("DELETE FROM response WHERE visit IN (SELECT id FROM visit WHERE site = ?)", .integer(site.id))
            try run("DELETE FROM visit WHERE site = ?", .integer(site.id))
            try run("DELETE FROM pin WHERE kind = 'site' AND value = ?", .text(site.name))
            try run("DELETE FROM site WHERE id = ?", .integer(site.id))
        }
        try renewJournal()
    }

    /// Removes what is held under the addresses that are meant, in whatever visit; the manifests of sites stay. The bodies go
    /// with the next collection.
    ///
    /// - Returns: How many addresses that were.
    package func remove(addresses isMeant: (String) -> Bool) throws(StoreError) -> Int {
        var urls: [Int64] = []
        try alone(doing: "remove from") { () throws(StoreError) in
            try eachRow(
                """
                SELECT id, href FROM url WHERE EXISTS (
                    SELECT 1 FROM response WHERE response.url = url.id AND response.request <> 'manifest')
                """
            ) { row in if isMeant(row.text(1)) { urls.append(row.integer(0)) } }
            try transaction { () throws(StoreError) in
                for url in urls {
                    try run("DELETE FROM response WHERE url = ? AND request <> 'manifest'", .integer(url))
                }
            }
            try renewJournal()
        }
        return urls.count
    }
}
