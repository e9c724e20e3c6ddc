extension StoreReader {
    /// Whether the URL has answers to several kinds of requests, so that what was given to one need not suit the next.
    package func hasVariants(_ response: StoredResponse) throws(StoreError) -> Bool {
        guard !response.variant.isEmpty else { return false }
        let count = try prepare("SELECT count(DISTINCT variant) FROM response WHERE url = ? AND request = ?")
            .first(.integer(response.url), .text(response.request.text)) { $0.integer(0) }
        return count ?? 0 > 1
    }

    /// How each site is to be served, by its start URLs: what `sites` tells, without counting anything.
    package func siteSettings() throws(StoreError) -> [(name: String, start: [String], settings: String)] {
        var settings: [(name: String, start: [String], settings: String)] = []
        try eachRow("SELECT start, settings, name FROM site ORDER BY name") { row in
            let start = row.text(0).utf8.split(separator: UInt8(ascii: "\n")).compactMap { String($0) }
            settings.append((row.text(2), start, row.text(1)))
        }
        return settings
    }
}

extension StoreReader {
    /// Whether anything is held of the address, or anything that was held linked to it.
    package func knows(_ href: String) throws(StoreError) -> Bool {
        try prepare("SELECT 1 FROM url WHERE href = ?").first(.text(href)) { _ in true } ?? false
    }

    /// Some of the addresses whose bodies link to this one: as many as are found without looking through the whole store.
    package func fewReferrers(of href: String, count: Int = 8) throws(StoreError) -> [String] {
        let number = try prepare("SELECT id FROM url WHERE href = ?").first(.text(href)) { $0.integer(0) }
        guard let number else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE id IN (
                SELECT url FROM (SELECT url, pages, requisites FROM link LIMIT 5000)
                WHERE instr(pages, ?1) OR instr(requisites, ?1) LIMIT ?2) ORDER BY href
            """, .text(LinkLists.text([number])), .integer(Int64(count))
        ) { referrers.append($0.text(0)) }
        return referrers
    }
}
