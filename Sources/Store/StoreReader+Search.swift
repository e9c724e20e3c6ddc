package import Database

/// One page of results of a search, and the place where the search continues.
package struct Findings<Place: Sendable & Equatable>: Sendable, Equatable {
    package var entries: [HeldEntry] = []
    /// The place to continue after; nil at the end of the store.
    package var next: Place?

    package init() {}
}

/// A position in the list of bodies and their URLs, in the order in which the bodies were stored.
package struct BodyPlace: Sendable, Equatable {
    package let body: Int64
    package let url: Int64

    package static let start = BodyPlace(body: 0, url: 0)

    package init(body: Int64, url: Int64) {
        self.body = body
        self.url = url
    }
}

/// A condition on the body of a response.
package enum BodyWish: Sendable, Equatable {
    /// The title contains this text; ASCII letters match in either case.
    case title(String)
    /// The body has the format with this name.
    case format(String)
}

extension StoreReader {
    /// Returns URLs that readers see, of one site or of all, whose bodies match `wish`.
    ///
    /// Returns at most `limit` URLs after `place` and examines at most `bodyCount` bodies; the result says
    /// where to continue.
    package func find(
        _ wish: BodyWish, site: Int64?, after place: BodyPlace = .start, bodyCount: Int64, limit: Int
    ) throws(StoreError) -> Findings<BodyPlace> {
        let (condition, pattern) =
            switch wish {
            case .title(let words): ("body.title LIKE ?5 ESCAPE '\\'", Self.pattern(containing: words))
            // A form is the name of the format, a semicolon and the character set.
            case .format(let name): ("body.form LIKE ?5 ESCAPE '\\'", Self.escaped(name) + ";%")
            }
        // Ids of bodies have few gaps, so that a range of ids is about as large as the number of bodies in
        // it.
        let end = place.body.addingReportingOverflow(bodyCount).partialValue
        var found = Collector(limit: limit)
        let search = try prepare(
            """
            SELECT \(HeldEntry.columns) FROM body
            CROSS JOIN response ON response.body = body.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            CROSS JOIN url ON url.id = response.url
            WHERE \(HeldEntry.isVisible) AND body.id >= ?2 AND body.id < ?4 AND \(condition)
                AND (body.id > ?2 OR response.url > ?3) AND \(HeldEntry.isNewest)
            ORDER BY body.id, response.url
            """)
        _ = try search.first(
            .optional(site), .integer(place.body), .integer(place.url), .integer(end), .text(pattern)
        ) { found.take($0) }
        var findings = Findings<BodyPlace>()
        findings.entries = found.entries
        if found.isFull, let last = found.entries.last, let body = last.body {
            findings.next = BodyPlace(body: body.id, url: last.url)
        } else {
            let isMore = try prepare("SELECT 1 FROM body WHERE id >= ? LIMIT 1").first(.integer(end)) { _ in
                true
            }
            findings.next = isMore == nil ? nil : BodyPlace(body: end, url: 0)
        }
        return findings
    }

    /// Returns URLs that readers see, of one site or of all, that contain `words` and whose title does not
    /// contain `title`.
    ///
    /// Returns at most `limit` URLs after `place` and examines at most `urlCount` URLs; the result says where
    /// to continue.
    package func find(
        address words: String, notTitled title: String, site: Int64?, after place: String = "", urlCount: Int,
        limit: Int
    ) throws(StoreError) -> Findings<String> {
        let end = try prepare("SELECT href FROM url WHERE href > ? ORDER BY href LIMIT 1 OFFSET ?").first(
            .text(place), .integer(Int64(urlCount - 1))
        ) { $0.text(0) }
        var found = Collector(limit: limit)
        let search = try prepare(
            """
            SELECT \(HeldEntry.columns) FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            WHERE \(HeldEntry.isVisible) AND url.href > ?2 AND url.href <= ?3 AND url.href LIKE ?4 ESCAPE '\\'
                AND (body.title IS NULL OR body.title NOT LIKE ?5 ESCAPE '\\')
            ORDER BY url.href, \(StoredResponse.shownFirst)
            """)
        _ = try search.first(
            .optional(site), .text(place), .text(end ?? "\u{7f}"), .text(Self.pattern(containing: words)),
            .text(Self.pattern(containing: title))
        ) { found.take($0) }
        var findings = Findings<String>()
        findings.entries = found.entries
        findings.next = found.isFull ? found.entries.last?.href : end
        return findings
    }

    /// Collects the first row of each URL, up to a limit.
    private struct Collector {
        let limit: Int
        var entries: [HeldEntry] = []
        /// Whether there are more URLs than the limit.
        var isFull = false

        /// Adds the row if its URL is new. Returns nil to continue, and true to stop.
        mutating func take(_ row: Row) -> Bool? {
            guard row.integer(0) != entries.last?.url else { return nil }
            isFull = entries.count == limit
            guard !isFull else { return true }
            entries.append(HeldEntry(row))
            return nil
        }
    }

    private static func pattern(containing words: String) -> String { "%" + escaped(words) + "%" }

    private static func escaped(_ words: String) -> String {
        words.replacing("\\", with: "\\\\").replacing("%", with: "\\%").replacing("_", with: "\\_")
    }
}
