package import Database

extension StoreReader {
    /// Returns all sites in the order of their names, with their snapshots in the order in which they began.
    package func sites() throws(StoreError) -> [Site] {
        // Stored counts contain the responses that this reader hides. `confirmed` counts the responses of earlier
        // snapshots that a snapshot confirmed.
        let responses =
            hidesPrivate || !backEnd.hasStoredCounts
            ? "(SELECT count(*) FROM response WHERE response.snapshot = snapshot.id)"
            : StoredCounts.responsesOfSnapshot
        let confirmed = hidesPrivate ? StoredCounts.countedConfirmed : "confirmed"
        var snapshots: [Int64: [Snapshot]] = [:]
        try prepare(
            """
            SELECT site, id, number, started, finished, base, \(confirmed) + \(responses) FROM snapshot ORDER BY id
            """
        ).each { row in
            snapshots[row.integer(0), default: []].append(
                Snapshot(
                    id: row.integer(1), number: row.integer(2), started: row.integer(3),
                    finished: row.optionalInteger(4), base: row.optionalInteger(5),
                    responseCount: Int(row.integer(6))))
        }
        var sites: [Site] = []
        try prepare("SELECT id, name, start, published, settings, overlay FROM site ORDER BY name")
            .each {
                row in
                let id = row.integer(0)
                let start = row.text(2).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
                sites.append(
                    Site(
                        id: id, name: row.text(1), start: start, snapshots: snapshots[id] ?? [],
                        published: row.optionalInteger(3), settings: row.text(4),
                        overlay: row.optionalInteger(5)))
            }
        return sites
    }

    /// Returns the numbers of responses and bodies in the whole store that this reader may see.
    package func summary() throws(StoreError) -> StoreSummary {
        let isCounted = backEnd.hasStoredCounts && !hidesPrivate
        return try prepare(isCounted ? StoredCounts.summary : StoredCounts.countedRows).first(
            read: StoreSummary.init)
            ?? StoreSummary()
    }

    /// Returns the size of all stored bodies, each counted once.
    package func bodyByteCount() throws(StoreError) -> Int64 {
        if backEnd.hasStoredCounts, !hidesPrivate { return try summary().bytes }
        return try prepare("SELECT coalesce(sum(size), 0) FROM body").first { $0.integer(0) } ?? 0
    }

    /// The names of sites that consist of imported responses only.
    package func importedSites() throws(StoreError) -> Set<String> {
        var names: Set<String> = []
        let find = try prepare(
            """
            SELECT site.name, site.id FROM site
            WHERE EXISTS (SELECT 1 FROM snapshot WHERE snapshot.site = site.id)
            """)
        var sites: [(name: String, id: Int64)] = []
        try find.each { row in sites.append((row.text(0), row.integer(1))) }
        for site in sites where try !hasAnythingFromOrigin(site: site.id) { names.insert(site.name) }
        return names
    }

    /// Whether the site has any response from an origin, in any snapshot. Responses that this reader hides
    /// count too.
    package func hasAnythingFromOrigin(site: Int64) throws(StoreError) -> Bool {
        for table in hidesPrivate ? ["response", "hidden_response"] : ["response"] {
            let found = try prepare(
                """
                SELECT 1 FROM snapshot CROSS JOIN \(table) AS own ON own.snapshot = snapshot.id
                WHERE snapshot.site = ? AND NOT \(Provenance.isImported("own")) LIMIT 1
                """
            ).first(.integer(site)) { _ in true }
            if found != nil { return true }
        }
        return false
    }

    /// Returns a stamp that changes whenever readers get to see another snapshot or overlay of any site.
    package func publicationStamp() throws(StoreError) -> PublicationStamp {
        var stamp = PublicationStamp()
        try cachedStatement("SELECT id, published, overlay FROM site ORDER BY id").each { row in
            stamp.add(site: row.integer(0), row.optionalInteger(1), overlay: row.optionalInteger(2))
        }
        return stamp
    }
}

/// The live snapshots and overlays of all sites, to compare with those of another moment. If two stamps are equal, no
/// snapshot was published between them.
package struct PublicationStamp: Sendable, Equatable {
    private var ids: [Int64] = []

    fileprivate mutating func add(site: Int64, _ snapshot: Int64?, overlay: Int64?) {
        ids += [site, snapshot ?? 0, overlay ?? 0]
    }
}
