internal import Web

/// A body that may have a text, with where it stands.
package struct TextCandidate: Sendable {
    package let body: StoredBody
    /// The number of its first address.
    package let url: Int64
    package let type: String?
    /// The addresses that answered with it, and the sites that have it, each once.
    package fileprivate(set) var addresses: [String]
    package fileprivate(set) var sites: [String]
    /// A page rather than what a page needs.
    package fileprivate(set) var isPage: Bool
    /// The words of a page as a browser showed it, and the title of the page.
    package let isShownText: Bool
    package let title: String?

    package var place: TextPlace {
        TextPlace(sha256: body.sha256, form: body.form, addresses: addresses, sites: sites)
    }
}

/// Where a text is held, for whoever asks.
package struct TextHolding: Sendable, Equatable {
    package let href: String
    package let site: String
    package let visit: Int64
    package let type: String?
    package let role: UInt8
    /// Seconds since 1970.
    package let fetched: Int64
}

extension StoreReader {
    private static let bodiesAtOnce: Int64 = 256
    private static let mostAddresses = 16

    /// Media types beside those that are read as text already.
    private static let otherTypes = """
        'text/markdown', 'text/x-markdown', 'application/pdf', 'application/epub+zip',
        'application/vnd.oasis.opendocument.text',
        'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'application/msword'
        """

    /// The bodies behind this number that may have a text, of one site or of all, in whatever visit; nil when none is left.
    package func textCandidates(
        after last: Int64, site: Int64? = nil
    ) throws(StoreError) -> (candidates: [TextCandidate], last: Int64)? {
        let end =
            try prepare("SELECT max(id) FROM (SELECT id FROM body WHERE id > ? ORDER BY id LIMIT ?)")
            .first(.integer(last), .integer(Self.bodiesAtOnce)) { $0.optionalInteger(0) } ?? nil
        guard let end else { return nil }
        var candidates: [TextCandidate] = []
        // A page that a browser showed is found by what it showed.
        try eachRow(
            """
            SELECT \(StoredBody.columns), response.type, url.href, site.name, response.role, response.request,
                (SELECT body.title FROM response AS plain JOIN body ON body.id = plain.body
                    WHERE response.request = 'shown' AND plain.url = response.url AND plain.visit = response.visit
                        AND plain.request = ''),
                url.id
            FROM body
            CROSS JOIN response ON response.body = body.id AND response.request IN ('', 'shown')
            CROSS JOIN url ON url.id = response.url
            CROSS JOIN visit ON visit.id = response.visit
            CROSS JOIN site ON site.id = visit.site
            WHERE body.id > ?1 AND body.id <= ?2 AND (?3 IS NULL OR site.id = ?3)
                AND response.status BETWEEN 200 AND 299 AND response.flags & \(Self.unread) = 0
                AND (body.form LIKE 'html;%' OR body.form LIKE 'xhtml;%'
                    OR response.role = 0 AND (body.form LIKE 'plainText;%' OR body.form LIKE 'feed;%'
                        OR response.type IN (\(Self.otherTypes))) OR response.request = 'shown')
                AND NOT (response.request = '' AND EXISTS (
                    SELECT 1 FROM response AS shown WHERE shown.url = response.url AND shown.visit = response.visit
                        AND shown.request = 'shown'))
            ORDER BY body.id
            """, .integer(last), .integer(end), .optional(site)
        ) { row in
            guard let body = StoredBody(row, from: 0) else { return }
            let (href, site, isPage) = (row.text(7), row.text(8), row.integer(9) == 0)
            guard let known = candidates.indices.last, candidates[known].body.id == body.id else {
                candidates.append(
                    TextCandidate(
                        body: body, url: row.integer(12), type: row.optionalText(6), addresses: [href], sites: [site],
                        isPage: isPage,
                        isShownText: row.text(10) == RequestKey.shown.text, title: row.optionalText(11)))
                return
            }
            candidates[known].isPage = candidates[known].isPage || isPage
            if !candidates[known].sites.contains(site) { candidates[known].sites.append(site) }
            if candidates[known].addresses.count < Self.mostAddresses, !candidates[known].addresses.contains(href) {
                candidates[known].addresses.append(href)
            }
        }
        return (candidates, end)
    }

    /// What only a part is held of, what is kept coded, and what says that there is nothing.
    private static let unread =
        ResponseFlags.isPart.rawValue | ResponseFlags.isCoded.rawValue | ResponseFlags.isSoftNotFound.rawValue

    /// How many pages lead to each URL, by its number: those that are held, each counted once for each body.
    package func linkCounts() throws(StoreError) -> [Int64: Int] {
        var counts: [Int64: Int] = [:]
        try eachRow("SELECT pages FROM link") { row in
            for number in LinkLists.numbers(row.text(0)) { counts[number, default: 0] += 1 }
        }
        return counts
    }

    /// How many bodies there are, whatever they are.
    package func bodyCount() throws(StoreError) -> Int {
        Int(try prepare("SELECT count(*) FROM body").first { $0.integer(0) } ?? 0)
    }

    /// Where readers get the body, of one site or of all, or as of a visit of its site: each address once.
    package func holdings(
        ofText sha256: [UInt8], form: String, site: Int64?, visit: Int64? = nil, limit: Int
    ) throws(StoreError) -> [TextHolding] {
        let isSeen =
            visit == nil
            ? Schema.isVisible("response")
            : "site.id = (SELECT site FROM visit WHERE id = ?5) AND response.visit <= ?5"
        let isNewerSeen =
            visit == nil ? Schema.isVisible("newer") : "newer.visit <= ?5"
        let find = try textStatement(
            """
            SELECT url.href, site.name, response.visit, plain.type, plain.role, response.fetched
            FROM body
            CROSS JOIN response ON response.body = body.id AND response.request IN ('', 'shown')
            CROSS JOIN response AS plain ON plain.url = response.url AND plain.visit = response.visit AND plain.request = ''
            CROSS JOIN visit ON visit.id = response.visit
            CROSS JOIN site ON site.id = visit.site
            CROSS JOIN url ON url.id = response.url
            WHERE body.sha256 = ?1 AND body.form = ?2 AND (?3 IS NULL OR site.id = ?3) AND \(isSeen)
                AND NOT EXISTS (
                    SELECT 1 FROM response AS newer JOIN visit AS later ON later.id = newer.visit
                    WHERE newer.url = response.url AND newer.request = '' AND newer.visit > response.visit
                        AND later.site = site.id AND \(isNewerSeen)
                        -- What a browser showed of a page holds as long as that is as it was.
                        AND (response.request = '' OR newer.body IS NOT plain.body))
            GROUP BY url.id ORDER BY url.id LIMIT ?4
            """)
        var holdings: [TextHolding] = []
        var values: [SQLValue] = [.blob(sha256), .text(form), .optional(site), .integer(Int64(limit))]
        if let visit { values.append(.integer(visit)) }
        try find.each(values) { row in
            holdings.append(
                TextHolding(
                    href: row.text(0), site: row.text(1), visit: row.integer(2), type: row.optionalText(3),
                    role: UInt8(truncatingIfNeeded: row.integer(4)), fetched: row.integer(5)))
        }
        return holdings
    }
}
