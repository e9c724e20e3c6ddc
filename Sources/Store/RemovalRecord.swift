package import Database
internal import System

/// A removal of sites, snapshots or URLs that can be undone until the next collection.
///
/// A removal copies the rows that it deletes into tables of their own. Bodies, links and URLs stay where they are, because
/// only a collection removes them, and it drops these tables first. The tables exist only while a removal can be undone.
package struct RemovalRecord: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case site, snapshot, urls
    }

    /// A site, a snapshot or URLs that were removed.
    package struct Item: Sendable, Equatable {
        package let kind: Kind
        /// The name of the site; the name of the snapshot, such as `https://example.com/@3`; or the text by which the URLs were
        /// named.
        package let name: String
    }

    package let items: [Item]
    /// The number of responses.
    package let responses: Int
}

extension StoreWriter {
    private func removalRecord() throws(StoreError) -> RemovalRecord? {
        guard try hasTable("removal") else { return nil }
        var items: [RemovalRecord.Item] = []
        try prepare("SELECT kind, name FROM removal ORDER BY number").each { row in
            items.append(RemovalRecord.Item(kind: .init(rawValue: row.text(0)) ?? .urls, name: row.text(1)))
        }
        let responses = try prepare("SELECT count(*) FROM removed_response").first { Int($0.integer(0)) }
        return items.isEmpty ? nil : RemovalRecord(items: items, responses: responses ?? 0)
    }
}

extension StoreReader {
    /// The size of bodies that no response has any more, which the next collection removes.
    package func removedByteCount() throws(StoreError) -> Int64 {
        try prepare(
            """
            SELECT coalesce(sum(size), 0) FROM body
            WHERE id NOT IN (SELECT body FROM response WHERE body IS NOT NULL)
            """
        ).first { $0.integer(0) } ?? 0
    }

    /// Whether the last removal can be undone.
    package func canUndoRemoval() throws(StoreError) -> Bool { try hasTable("removal") }
}

// MARK: - Recording

extension StoreWriter {
    /// The rows that a removal deletes, as SQL conditions.
    struct RemovedRows {
        /// The rows of `response`.
        var responses: String
        /// The row of `site`; its snapshots and pins are deleted, too.
        var site = "false"
        /// The row of `snapshot`, if its site stays.
        var snapshot = "false"
    }

    /// Copies the rows that are about to be deleted, in the open transaction.
    ///
    /// - Parameter joinsLastRemoval: whether the removal is undone together with the previous one, which else becomes final.
    func record(
        _ item: RemovalRecord.Item, _ rows: RemovedRows, joinsLastRemoval: Bool
    ) throws(StoreError) {
        let isFirst = joinsLastRemoval ? try !hasTable("removal") : true
        if isFirst {
            try forgetRemoval()
            try execute(
                """
                CREATE TABLE removal (number BIGINT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL);
                CREATE TABLE removed_site AS SELECT * FROM site WHERE false;
                CREATE TABLE removed_snapshot AS SELECT * FROM snapshot WHERE false;
                CREATE TABLE removed_response AS SELECT * FROM response WHERE false;
                CREATE TABLE removed_pin AS SELECT * FROM pin WHERE false;
                CREATE TABLE moved_response AS SELECT url, snapshot, request, variant, snapshot AS target FROM response
                    WHERE false;
                """, doing: "record a removal in")
        }
        try execute(
            """
            INSERT INTO removed_response SELECT * FROM response WHERE \(rows.responses);
            INSERT INTO removed_pin SELECT * FROM pin
                WHERE kind = 'site' AND value IN (SELECT name FROM site WHERE \(rows.site));
            INSERT INTO removed_snapshot SELECT * FROM snapshot
                WHERE \(rows.snapshot) OR site IN (SELECT id FROM site WHERE \(rows.site));
            INSERT INTO removed_site SELECT * FROM site WHERE \(rows.site);
            """, doing: "record a removal in")
        try run(
            "INSERT INTO removal SELECT count(*), ?, ? FROM removal", .text(item.kind.rawValue),
            .text(item.name))
    }

    /// Records the responses of a removed snapshot that its next snapshot has taken over, before the others are deleted.
    func recordMoved(from snapshot: Int64, to target: Int64) throws(StoreError) {
        try run(
            """
            INSERT INTO moved_response SELECT url, snapshot, request, variant, ?2 FROM removed_response AS removed
            WHERE snapshot = ?1 AND NOT EXISTS (
                SELECT 1 FROM response WHERE response.url = removed.url AND response.snapshot = ?1
                    AND response.request = removed.request AND response.variant = removed.variant)
            """, .integer(snapshot), .integer(target))
    }

    /// Makes the last removal final. Every collection does this first, because it removes bodies and URLs.
    func forgetRemoval() throws(StoreError) {
        for table in [
            "removal", "removed_site", "removed_snapshot", "removed_response", "removed_pin",
            "moved_response",
        ] {
            try execute("DROP TABLE IF EXISTS \(table)", doing: "forget a removal in")
        }
    }
}

// MARK: - Undoing

extension StoreWriter {
    /// Reverses the last removal. Returns nil if there is none, or a collection has made it final.
    package func undoRemoval() throws(StoreError) -> RemovalRecord? {
        guard let removal = try removalRecord() else { return nil }
        try withExclusiveAccess(doing: "undo a removal in") { () throws(StoreError) in
            isJournalStale = true
            try transaction { () throws(StoreError) in
                try restoreSites()
                try restoreResponses()
                try deleteCounts()
                // `deleteCounts` leaves snapshots alone that confirm nothing without the restored responses.
                try run(StoredCounts.confirmed)
                try forgetRemoval()
            }
            try updateStoredCounts()
            try rewriteJournal()
        }
        truncateLog()
        return removal
    }

    /// Inserts the removed sites, snapshots and pins.
    private func restoreSites() throws(StoreError) {
        let stored = try prepare("SELECT name FROM removed_site WHERE name IN (SELECT name FROM site)").first
        {
            $0.text(0)
        }
        if let stored {
            throw StoreError(
                .request, doing: "restore", path: stored,
                detail: "it was prefetched again since it was removed",
                advice: "keep the new copy; or remove it, which makes the earlier removal final")
        }
        var sites: [(id: Int64, live: Int64?, overlay: Int64?)] = []
        try eachRow("SELECT id, published, overlay FROM removed_site") {
            sites.append(($0.integer(0), $0.optionalInteger(1), $0.optionalInteger(2)))
        }
        // The references between sites and snapshots are set when both exist.
        try run("UPDATE removed_site SET published = NULL, overlay = NULL")
        for site in sites {
            let isTaken =
                try prepare("SELECT 1 FROM site WHERE id = ?").first(.integer(site.id)) { _ in true } ?? false
            let id = isTaken ? try count("SELECT max(id) + 1 FROM site") : site.id
            try run("UPDATE removed_snapshot SET site = ?2 WHERE site = ?1", .integer(site.id), .integer(id))
            try run("UPDATE removed_site SET id = ?2 WHERE id = ?1", .integer(site.id), .integer(id))
            try run("INSERT INTO site SELECT * FROM removed_site WHERE id = ?", .integer(id))
            try run("INSERT INTO snapshot SELECT * FROM removed_snapshot WHERE site = ?", .integer(id))
            try run(
                "UPDATE site SET published = ?, overlay = ? WHERE id = ?", .optional(site.live),
                .optional(site.overlay), .integer(id))
        }
        try run(
            """
            INSERT INTO snapshot SELECT * FROM removed_snapshot AS removed
            WHERE removed.site IN (SELECT id FROM site) AND removed.id NOT IN (SELECT id FROM snapshot)
            """)
        try run(
            """
            INSERT INTO pin SELECT * FROM removed_pin AS removed
            WHERE NOT EXISTS (SELECT 1 FROM pin WHERE pin.kind = removed.kind AND pin.value = removed.value)
            """)
    }

    /// Inserts the removed responses. Those that a later snapshot took over return to their own.
    private func restoreResponses() throws(StoreError) {
        func hasKey(of row: String, in snapshot: String) -> String {
            "moved.url = \(row).url AND moved.request = \(row).request AND moved.variant = \(row).variant AND \(snapshot) = \(row).snapshot"
        }
        // If several snapshots were removed, the second one had taken over responses of the first.
        try run(
            """
            DELETE FROM removed_response WHERE EXISTS (
                SELECT 1 FROM moved_response AS moved WHERE \(hasKey(of: "removed_response", in: "moved.target")))
            """)
        try run(
            """
            DELETE FROM response WHERE EXISTS (
                SELECT 1 FROM moved_response AS moved WHERE \(hasKey(of: "response", in: "moved.target")))
            """)
        try run(
            """
            INSERT INTO response SELECT * FROM removed_response AS removed
            WHERE removed.snapshot IN (SELECT id FROM snapshot) AND removed.url IN (SELECT id FROM url)
                AND (removed.body IS NULL OR removed.body IN (SELECT id FROM body))
                AND NOT EXISTS (
                    SELECT 1 FROM response AS present
                    WHERE present.url = removed.url AND present.snapshot = removed.snapshot
                        AND present.request = removed.request AND present.variant = removed.variant)
            """)
    }
}
