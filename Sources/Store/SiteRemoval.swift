package import Database
internal import Web

extension StoreWriter {
    /// Removes a site with all its snapshots. The next collection removes bodies that no other site has. `undoRemoval`
    /// reverses the removal, unless the disk was full.
    ///
    /// - Parameter joinsLastRemoval: whether `undoRemoval` then reverses the previous removal, too.
    package func remove(_ site: Site, joinsLastRemoval: Bool = false) throws(StoreError) {
        do throws(StoreError) {
            try withSiteLock(site, doing: "remove") { () throws(StoreError) in
                let snapshots = "(SELECT id FROM snapshot WHERE site = \(site.id))"
                try record(
                    .init(kind: .site, name: site.name),
                    RemovedRows(responses: "snapshot IN \(snapshots)", site: "id = \(site.id)"),
                    joinsLastRemoval: joinsLastRemoval)
                try removeRows(of: site)
            }
        } catch  where error.reason == .full && backEnd.canFillDisk {
            // A full disk has no room for the record, without which the removal is final.
            try removeWithoutRecord(site)
        }
        do throws(StoreError) {
            try rewriteJournal()
        } catch  where error.reason == .full {
            // The old journal names removed rows too, which does no harm as long as the database exists.
            isJournalStale = true
        }
        truncateLog()
    }

    /// Throws `.busy` if a run has the site, so that it cannot be removed now.
    package func requireNotLocked(_ site: Site) throws(StoreError) {
        try withSiteLock(site, doing: "remove") { () throws(StoreError) in }
    }

    /// Removes a site for good, in small transactions if the disk has no room for a large one.
    private func removeWithoutRecord(_ site: Site) throws(StoreError) {
        _ = try? tryTruncateLog()
        do throws(StoreError) {
            try withSiteLock(site, doing: "remove") { () throws(StoreError) in try removeRows(of: site) }
        } catch  where error.reason == .full {
            try removeResponses(of: site)
            try withSiteLock(site, doing: "remove") { () throws(StoreError) in try removeRows(of: site) }
        }
    }

    /// Removes the responses of a site in transactions that become smaller while the disk has no room for their log.
    private func removeResponses(of site: Site) throws(StoreError) {
        let snapshots = "(SELECT id FROM snapshot WHERE site = ?1)"
        var batchSize: Int64 = 1024
        while true {
            _ = try? tryTruncateLog()
            var removed = 0
            do throws(StoreError) {
                try withSiteLock(site, doing: "remove") { () throws(StoreError) in
                    try deleteCounts()
                    try run(
                        """
                        DELETE FROM response WHERE snapshot IN \(snapshots) AND url IN (
                            SELECT DISTINCT url FROM response WHERE snapshot IN \(snapshots) LIMIT ?2)
                        """, .integer(site.id), .integer(batchSize))
                    removed = changedRowCount
                }
            } catch  where error.reason == .full && batchSize > 1 {
                batchSize = max(1, batchSize / 4)
                continue
            }
            if removed == 0 { return }
        }
    }

    func removeRows(of site: Site) throws(StoreError) {
        try run("UPDATE site SET published = NULL, overlay = NULL WHERE id = ?", .integer(site.id))
        try run(
            "DELETE FROM response WHERE snapshot IN (SELECT id FROM snapshot WHERE site = ?)",
            .integer(site.id))
        for snapshot in try snapshots(of: site) { try deleteCount(of: snapshot.id) }
        try run("DELETE FROM snapshot WHERE site = ?", .integer(site.id))
        try run("DELETE FROM pin WHERE kind = 'site' AND value = ?", .text(site.name))
        try run("DELETE FROM site WHERE id = ?", .integer(site.id))
    }

    /// Removes the stored responses of the URLs for which `isIncluded` returns true, from all snapshots. Manifests
    /// of sites stay. The next collection removes the bodies. `undoRemoval` reverses the removal.
    ///
    /// - Parameters:
    ///   - name: the text by which the user names the URLs.
    ///   - joinsLastRemoval: whether `undoRemoval` then reverses the previous removal, too.
    /// - Returns: The number of removed URLs.
    package func remove(
        urlsNamed name: String, joinsLastRemoval: Bool = false, where isIncluded: (String) -> Bool
    ) throws(StoreError) -> Int {
        var urls: [Int64] = []
        try withExclusiveAccess(doing: "remove from") { () throws(StoreError) in
            urls = try removableURLs(where: isIncluded)
            guard !urls.isEmpty else { return }
            try transaction { () throws(StoreError) in
                try record(
                    .init(kind: .urls, name: name), RemovedRows(responses: "false"),
                    joinsLastRemoval: joinsLastRemoval)
                for url in urls {
                    try run(
                        "INSERT INTO removed_response SELECT * FROM response WHERE url = ? AND request <> 'manifest'",
                        .integer(url))
                    try run("DELETE FROM response WHERE url = ? AND request <> 'manifest'", .integer(url))
                }
                try deleteCounts()
            }
            // The URLs are removed. On a full disk, the journal and the counts are renewed by a later command.
            do throws(StoreError) {
                try updateStoredCounts()
                try rewriteJournal()
            } catch  where error.reason == .full {
                isJournalStale = true
            }
        }
        truncateLog()
        return urls.count
    }

    /// Whether `remove(urlsNamed:where:)` would remove a URL.
    package func hasRemovableURL(where isIncluded: (String) -> Bool) throws(StoreError) -> Bool {
        try !removableURLs(where: isIncluded).isEmpty
    }

    private func removableURLs(where isIncluded: (String) -> Bool) throws(StoreError) -> [Int64] {
        var urls: [Int64] = []
        try eachRow(
            """
            SELECT id, href FROM url WHERE EXISTS (
                SELECT 1 FROM response WHERE response.url = url.id AND response.request <> 'manifest')
            """
        ) { row in if isIncluded(row.text(1)) { urls.append(row.integer(0)) } }
        return urls
    }
}
