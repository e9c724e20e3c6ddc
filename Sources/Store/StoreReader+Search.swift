package import Database

/// One page of results of a search, and where the search continues.
package struct SearchPage<Cursor: Sendable & Equatable>: Sendable, Equatable {
    package var entries: [VisibleEntry] = []
    /// The position to continue after; nil at the end of the store.
    package var next: Cursor?

    package init() {}
}

/// A position in the list of bodies and their URLs, in the order in which the bodies were stored.
package struct BodyCursor: Sendable, Equatable {
    package let body: Int64
    package let url: Int64

    package static let start = BodyCursor(body: 0, url: 0)

    package init(body: Int64, url: Int64) {
        self.body = body
        self.url = url
    }
}

/// A condition on the body of a response.
package enum BodyCondition: Sendable, Equatable {
    /// The title contains this text; ASCII letters match in either case.
    case title(String)
    /// The body has the format with this name.
    case format(String)
}

extension StoreReader {
    /// Returns URLs that readers see, of one site or of all, whose bodies match `condition`.
    ///
    /// Returns at most `limit` URLs after `cursor` and examines at most `bodyCount` bodies; the result says
    /// where to continue.
    package func findByBody(
        _ condition: BodyCondition, site: Int64?, after cursor: BodyCursor = .start, bodyCount: Int64,
        limit: Int
    ) throws(StoreError) -> SearchPage<BodyCursor> {
        let (sqlCondition, pattern) =
            switch condition {
            case .title(let words): ("body.title LIKE ?5 ESCAPE '\\'", Self.pattern(containing: words))
            // A form is the name of the format, a semicolon and the character set.
            case .format(let name): ("body.form LIKE ?5 ESCAPE '\\'", Self.escaped(name) + ";%")
            }
        // Ids of bodies have few gaps, so that a range of ids is about as large as the number of bodies in
        // it.
        let end = cursor.body.addingReportingOverflow(bodyCount).partialValue
        var results = Collector(limit: limit)
        let search = try prepare(
            """
            SELECT \(VisibleEntry.columns) FROM body
            CROSS JOIN response ON response.body = body.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            CROSS JOIN url ON url.id = response.url
            WHERE \(VisibleEntry.isVisible) AND body.id >= ?2 AND body.id < ?4 AND \(sqlCondition)
                AND (body.id > ?2 OR response.url > ?3) AND \(VisibleEntry.isNewest)
            ORDER BY body.id, response.url
            """)
        _ = try search.first(
            .optional(site), .integer(cursor.body), .integer(cursor.url), .integer(end), .text(pattern)
        ) { results.take($0) }
        var page = SearchPage<BodyCursor>()
        page.entries = results.entries
        if results.isFull, let last = results.entries.last, let body = last.body {
            page.next = BodyCursor(body: body.id, url: last.url)
        } else {
            let hasMore = try prepare("SELECT 1 FROM body WHERE id >= ? LIMIT 1").first(.integer(end)) { _ in
                true
            }
            page.next = hasMore == nil ? nil : BodyCursor(body: end, url: 0)
        }
        return page
    }

    /// Returns URLs that readers see, of one site or of all, that contain `words` and whose title does not
    /// contain `title`.
    ///
    /// Returns at most `limit` URLs after `cursor` and examines at most `urlCount` URLs; the result says where
    /// to continue.
    package func findByURL(
        containing words: String, notTitled title: String, site: Int64?, after cursor: String = "",
        urlCount: Int,
        limit: Int
    ) throws(StoreError) -> SearchPage<String> {
        let end = try prepare("SELECT href FROM url WHERE href > ? ORDER BY href LIMIT 1 OFFSET ?").first(
            .text(cursor), .integer(Int64(urlCount - 1))
        ) { $0.text(0) }
        var results = Collector(limit: limit)
        let search = try prepare(
            """
            SELECT \(VisibleEntry.columns) FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            WHERE \(VisibleEntry.isVisible) AND url.href > ?2 AND url.href <= ?3 AND url.href LIKE ?4 ESCAPE '\\'
                AND (body.title IS NULL OR body.title NOT LIKE ?5 ESCAPE '\\')
            ORDER BY url.href, \(StoredResponse.readerOrder)
            """)
        _ = try search.first(
            .optional(site), .text(cursor), .text(end ?? "\u{7f}"), .text(Self.pattern(containing: words)),
            .text(Self.pattern(containing: title))
        ) { results.take($0) }
        var page = SearchPage<String>()
        page.entries = results.entries
        page.next = results.isFull ? results.entries.last?.href : end
        return page
    }

    /// Collects the first row of each URL, up to a limit.
    private struct Collector {
        let limit: Int
        var entries: [VisibleEntry] = []
        /// Whether there are more URLs than the limit.
        var isFull = false

        /// Adds the row if its URL is new. Returns nil to continue, and true to stop.
        mutating func take(_ row: Row) -> Bool? {
            guard row.integer(0) != entries.last?.url else { return nil }
            isFull = entries.count == limit
            guard !isFull else { return true }
            entries.append(VisibleEntry(row))
            return nil
        }
    }

    private static func pattern(containing words: String) -> String { "%" + escaped(words) + "%" }

    private static func escaped(_ words: String) -> String {
        words.replacing("\\", with: "\\\\").replacing("%", with: "\\%").replacing("_", with: "\\_")
    }
}
