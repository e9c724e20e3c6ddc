/// What is held between two addresses.
package struct HeldSlice: Sendable, Equatable {
    package let entries: [HeldEntry]
    /// Where the next slice begins; nil after the last.
    package let next: String?
}

extension StoreReader {
    /// What readers get for the first `urlCount` URLs from `start` on that stand before `end` in the order of addresses: of
    /// one site as if there were no other, or of all. URLs that are only linked to count, and are left out.
    package func slice(
        from start: String, before end: String, site: Int64?, urlCount: Int
    ) throws(StoreError) -> HeldSlice {
        let next = try prepare(
            "SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href LIMIT 1 OFFSET ?"
        ).first(.text(start), .text(end), .integer(Int64(urlCount))) { $0.text(0) }
        var entries: [HeldEntry] = []
        // CROSS JOIN keeps SQLite at the order of the addresses' index.
        try eachRow(
            """
            SELECT \(HeldEntry.columns) FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN visit ON visit.id = response.visit
            CROSS JOIN site ON site.id = visit.site
            LEFT JOIN body ON body.id = response.body
            WHERE \(HeldEntry.isVisible) AND url.href >= ?2 AND url.href < ?3
            ORDER BY url.href, \(StoredResponse.shownFirst)
            """, .optional(site), .text(start), .text(next ?? end)
        ) { row in
            // Of each address the first is what readers get.
            guard row.integer(0) != entries.last?.url else { return }
            entries.append(HeldEntry(row))
        }
        return HeldSlice(entries: entries, next: next)
    }
}
