package import Database

/// A URL that stored bodies link to and that has no stored response.
package struct MissingTarget: Sendable, Equatable {
    package let href: String
    /// The number of examined URLs that link to it.
    package let referrerCount: Int
    /// The first of the examined URLs that link to it.
    package let firstReferrer: String
}

/// The results of one call of `missingTargets`, which examines a limited number of bodies.
package struct MissingTargets: Sendable, Equatable {
    /// The targets with the most links to them, in descending order; at most the limit of the call.
    package var targets: [MissingTarget] = []
    /// The number of all targets in the examined links.
    package var count = 0
    /// The number of URLs whose links were examined.
    package var examinedCount = 0
    /// The id of the URL to continue after; nil if all links were examined.
    package var next: Int64?

    package init() {}
}

/// One of the two kinds of links that the table `link` stores in separate columns.
package enum LinkList: String, Sendable, CaseIterable {
    case pages
    case assets
}

extension StoreReader {
    /// Returns the URLs that the visible bodies of a site link to and that have no response in any snapshot.
    /// Examines the links of at most `count` bodies after the URL with the id `start`, and returns at most
    /// `limit` targets.
    package func missingTargets(
        _ list: LinkList, site: Int64, after start: Int64 = 0, count: Int, limit: Int
    ) throws(StoreError) -> MissingTargets {
        /// For each target, by its id: the ids of the first and the last URL that link to it, and their number.
        var referrers: [Int64: (first: Int64, last: Int64, count: Int)] = [:]
        let end = try endOfLinks(after: start, count: count, site: site)
        var result = MissingTargets()
        result.next = end
        try eachRow(
            """
            SELECT link.url, link.\(list.rawValue) FROM link
            CROSS JOIN response ON response.url = link.url AND response.request = '' AND response.body = link.body
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            WHERE \(VisibleEntry.isVisible) AND link.url > ?2 AND link.url <= ?3 AND \(VisibleEntry.isNewest)
            """, .integer(site), .integer(start), .integer(end ?? .max)
        ) { row in
            let referrer = row.integer(0)
            result.examinedCount += 1
            // A URL may have several bodies, each with a row of links, but counts once. Its rows follow one another.
            for number in LinkLists.numbers(row.text(1)) {
                let known = referrers[number] ?? (referrer, 0, 0)
                if known.last != referrer { referrers[number] = (known.first, referrer, known.count + 1) }
            }
        }
        let findResponse = try prepare("SELECT 1 FROM response WHERE url = ? LIMIT 1")
        var missing: [(number: Int64, first: Int64, count: Int)] = []
        for (number, linking) in referrers
        where try findResponse.first(.integer(number), read: { _ in true }) == nil {
            missing.append((number, linking.first, linking.count))
        }
        result.count = missing.count
        for target in missing.sorted(by: { ($1.count, $0.number) < ($0.count, $1.number) }).prefix(limit) {
            guard let href = try href(ofURL: target.number), let referrer = try self.href(ofURL: target.first)
            else {
                continue
            }
            result.targets.append(
                MissingTarget(
                    href: href, referrerCount: target.count, firstReferrer: referrer))
        }
        return result
    }

    /// Returns the URLs whose bodies link to this URL, visible or not, in the order of their ids. Returns at
    /// most `limit` URLs and examines the links of at most `count` bodies after the URL with the id `start`.
    /// `next` is the id to continue after; nil at the end.
    package func urlsLinking(
        to href: String, after start: Int64 = 0, count: Int, limit: Int
    ) throws(StoreError) -> (hrefs: [String], next: Int64?) {
        let number = try prepare("SELECT id FROM url WHERE href = ?").first(.text(href)) { $0.integer(0) }
        guard let number else { return ([], nil) }
        let end = try endOfLinks(after: start, count: count)
        var hrefs: [String] = []
        var last = start
        let search = try prepare(
            """
            SELECT url.id, url.href FROM link CROSS JOIN url ON url.id = link.url
            WHERE link.url > ?1 AND link.url <= ?2 AND (instr(link.pages, ?3) > 0 OR instr(link.assets, ?3) > 0)
            ORDER BY link.url
            """)
        // The id of the last URL before the one that exceeds the limit. `first` returns it at that row.
        let lastWithinLimit = try search.first(
            .integer(start), .integer(end ?? .max), .text(LinkLists.text([number]))
        ) { row -> Int64? in
            // A URL may have had several bodies, each with a row of links.
            guard row.integer(0) != last else { return nil }
            guard hrefs.count < limit else { return last }
            last = row.integer(0)
            hrefs.append(row.text(1))
            return nil
        }
        return (hrefs, lastWithinLimit ?? end)
    }

    /// Returns the URLs with these ids, up to `limit`, and whether any response is stored for each.
    package func targets(
        _ numbers: [Int64], limit: Int
    ) throws(StoreError) -> [(href: String, isStored: Bool)] {
        let isStored = "EXISTS (SELECT 1 FROM response WHERE response.url = url.id)"
        let find = try prepare("SELECT href, \(isStored) FROM url WHERE id = ?")
        var targets: [(href: String, isStored: Bool)] = []
        for number in numbers {
            guard targets.count < limit else { break }
            let target = try find.first(.integer(number)) { ($0.text(0), $0.integer(1) != 0) }
            if let target { targets.append(target) }
        }
        return targets
    }

    /// Returns the id of the last URL among the next `count` with links; nil if fewer are left.
    ///
    /// - Parameter site: If not nil, only URLs with a response of this site count.
    private func endOfLinks(after start: Int64, count: Int, site: Int64? = nil) throws(StoreError) -> Int64? {
        try prepare(
            """
            SELECT url FROM link
            WHERE url > ?1 AND (CAST(?3 AS BIGINT) IS NULL OR EXISTS (
                SELECT 1 FROM response JOIN snapshot ON snapshot.id = response.snapshot
                WHERE response.url = link.url AND snapshot.site = ?3))
            ORDER BY url LIMIT 1 OFFSET ?2
            """
        ).first(
            .integer(start), .integer(Int64(count - 1)), site.map { .integer($0) } ?? .null
        ) { $0.integer(0) }
    }
}
