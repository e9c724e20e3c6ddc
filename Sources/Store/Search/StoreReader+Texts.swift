package import Database
internal import Web

/// A stored body that may have a text to index, with its URLs and sites.
package struct TextCandidate: Sendable {
    package let body: StoredBody
    /// The id of the URL of the first response.
    package let url: Int64
    package let type: String?
    /// The URLs of responses with this body, and the sites that have them, without duplicates.
    private var hrefs: [String]
    private var sites: [String]
    /// Whether the body is the text of a page as the browser showed it. Then `title` is the title of the
    /// page.
    package let isRenderedText: Bool
    package let title: String?

    fileprivate init(
        body: StoredBody, url: Int64, type: String?, isRenderedText: Bool, title: String?
    ) {
        (self.body, self.url, self.type) = (body, url, type)
        (self.isRenderedText, self.title) = (isRenderedText, title)
        (hrefs, sites) = ([], [])
    }

    /// Adds a response with the body. Ignores further URLs if there are `maxURLs`.
    fileprivate mutating func add(_ href: String, _ site: String, maxURLs: Int) {
        if !sites.contains(site) { sites.append(site) }
        if hrefs.count < maxURLs, !hrefs.contains(href) { hrefs.append(href) }
    }

    /// The body under the key by which the index stores it.
    package var indexedBody: IndexedBody {
        IndexedBody(sha256: body.sha256, form: body.form, hrefs: hrefs, sites: sites)
    }
}

/// A snapshot, as the indexer of the full-text search lists them.
package struct TextSnapshot: Sendable {
    package let id: Int64
    /// The start of the snapshot, in seconds since 1970.
    package let started: Int64
    /// Whether the snapshot is finished and is not an overlay, so that no responses are added to it any more.
    package let isFinal: Bool
}

/// A stored response that has a given text.
package struct ResponseWithText: Sendable, Equatable {
    package let href: String
    package let site: String
    package let snapshot: SnapshotName
    package let type: String?
    package let role: UInt8
    /// When the response was fetched, in seconds since 1970; not when it was last checked (`CopyAge.fetched`).
    package let fetched: Int64
}

extension StoreReader {
    /// The maximum number of responses that `textCandidate` reads for a body. Further ones are ignored.
    private static let maxResponsesPerBody: Int64 = 256
    /// The maximum number of different URLs of these responses that are indexed with the body.
    private static let maxURLsPerBody = 16

    /// Media types of documents that the indexer converts to text.
    private static let documentTypes = """
        'text/markdown', 'text/x-markdown', 'application/pdf', 'application/epub+zip',
        'application/vnd.oasis.opendocument.text',
        'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'application/msword'
        """

    /// An SQL condition: a `response` with its `body` may have a text to index. If a browser rendered a page, the
    /// text that it showed is a second response with the request `shown` (`RequestKey.renderedText`), and is indexed
    /// in place of the page's own body, whose request is empty.
    private static let isText = """
        response.request IN ('', 'shown') AND response.status BETWEEN 200 AND 299
            AND response.flags & \(excludedFlags) = 0
            AND (body.form LIKE 'html;%' OR body.form LIKE 'xhtml;%'
                OR response.role = 0 AND (body.form LIKE 'plainText;%' OR body.form LIKE 'feed;%'
                    OR response.type IN (\(documentTypes))) OR response.request = 'shown')
            AND NOT (response.request = '' AND EXISTS (
                SELECT 1 FROM response AS shown WHERE shown.url = response.url AND shown.snapshot = response.snapshot
                    AND shown.request = 'shown'))
        """

    /// Returns the snapshots of one site or of all sites in ascending order of their ids.
    package func textSnapshots(site: Int64?) throws(StoreError) -> [TextSnapshot] {
        var snapshots: [TextSnapshot] = []
        try eachRow(
            """
            SELECT id, started, finished IS NOT NULL AND base IS NULL FROM snapshot
            WHERE CAST(?1 AS BIGINT) IS NULL OR site = ?1 ORDER BY id
            """, .optional(site)
        ) { row in
            snapshots.append(
                TextSnapshot(id: row.integer(0), started: row.integer(1), isFinal: row.integer(2) != 0))
        }
        return snapshots
    }

    /// Returns the ids of the bodies in a snapshot that may have a text to index, without duplicates.
    package func textBodies(of snapshot: TextSnapshot) throws(StoreError) -> [Int64] {
        var bodies: [Int64] = []
        try eachRow(
            """
            SELECT DISTINCT response.body FROM response CROSS JOIN body ON body.id = response.body
            WHERE response.snapshot = ? AND \(Self.isText) ORDER BY response.body
            """, .integer(snapshot.id)
        ) { bodies.append($0.integer(0)) }
        return bodies
    }

    /// Returns a body with its URLs and sites in all snapshots; nil if it was removed, or has no text to index.
    package func textCandidate(_ body: Int64) throws(StoreError) -> TextCandidate? {
        var candidate: TextCandidate?
        try cachedStatement(
            """
            SELECT \(StoredBody.columns), response.type, url.href, site.name, response.request,
                (SELECT body.title FROM response AS plain JOIN body ON body.id = plain.body
                    WHERE response.request = 'shown' AND plain.url = response.url AND plain.snapshot = response.snapshot
                        AND plain.request = ''),
                url.id
            FROM body
            CROSS JOIN response ON response.body = body.id
            CROSS JOIN url ON url.id = response.url
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            WHERE body.id = ? AND \(Self.isText) LIMIT ?
            """
        ).each(.integer(body), .integer(Self.maxResponsesPerBody)) { row in
            let (href, site) = (row.text(7), row.text(8))
            if candidate == nil, let body = StoredBody(row, from: 0) {
                candidate = TextCandidate(
                    body: body, url: row.integer(11), type: row.optionalText(6),
                    isRenderedText: row.text(9) == RequestKey.renderedText.text, title: row.optionalText(10))
            }
            candidate?.add(href, site, maxURLs: Self.maxURLsPerBody)
        }
        return candidate
    }

    /// The flags of responses that are not indexed: partial content, bodies that are still encoded, and error
    /// pages with a success status.
    private static let excludedFlags =
        ResponseFlags.isPart.rawValue | ResponseFlags.isCoded.rawValue | ResponseFlags.isSoftNotFound.rawValue

    /// Returns the number of pages that link to each URL, by its id. A page counts once for each of its
    /// stored bodies.
    package func linkCounts() throws(StoreError) -> [Int64: Int] {
        var counts: [Int64: Int] = [:]
        try eachRow("SELECT pages FROM link") { row in
            for id in LinkLists.numbers(row.text(0)) { counts[id, default: 0] += 1 }
        }
        return counts
    }

    /// Returns the number of bodies in the store.
    package func bodyCount() throws(StoreError) -> Int {
        Int(try prepare("SELECT count(*) FROM body").first { $0.integer(0) } ?? 0)
    }

    /// Returns the visible responses that have this body, one for each URL: a match of the full-text search is a body,
    /// which may be stored at several URLs and be outdated at some of them.
    ///
    /// - Parameters:
    ///   - sha256: the digest of the body.
    ///   - form: the form in which the body is stored. It belongs to the key of a body.
    ///   - site: the id of the site; nil for all sites.
    ///   - snapshot: the id of a snapshot of `site`. The responses are those that readers would see if it were live,
    ///     including those of earlier snapshots. Nil for the live snapshots.
    ///   - limit: the maximum number of responses.
    package func responsesWithText(
        _ sha256: [UInt8], form: String, site: Int64?, snapshot: Int64? = nil, limit: Int
    ) throws(StoreError) -> [ResponseWithText] {
        let isVisible =
            snapshot == nil
            ? Schema.isVisible("response")
            : "site.id = (SELECT site FROM snapshot WHERE id = ?5) AND \(Schema.isVisible(asOf: "?5"))"
        // All rows of a URL have the same text.
        let (distinct, grouping) = backEnd.oneRowForEachURL
        let isNewerVisible =
            snapshot == nil
            ? Schema.isVisible("newer", in: "later") : Schema.isVisible(asOf: "?5", "newer", in: "later")
        let isNotHidden =
            snapshot == nil
            ? "(CAST(?3 AS BIGINT) IS NOT NULL OR NOT \(Provenance.isHiddenByOrigin))" : "true"
        let find = try cachedStatement(
            """
            SELECT \(distinct) url.href, site.name, \(SnapshotName.columns), plain.type, plain.role,
                \(CopyAge.fetchedInSQL())
            FROM body
            CROSS JOIN response ON response.body = body.id AND response.request IN ('', 'shown')
            CROSS JOIN response AS plain ON plain.url = response.url AND plain.snapshot = response.snapshot AND plain.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            CROSS JOIN url ON url.id = response.url
            WHERE body.sha256 = ?1 AND body.form = ?2 AND (CAST(?3 AS BIGINT) IS NULL OR site.id = ?3) AND \(isVisible)
                AND NOT EXISTS (
                    SELECT 1 FROM response AS newer JOIN snapshot AS later ON later.id = newer.snapshot
                    WHERE newer.url = response.url AND newer.request = ''
                        AND \(Provenance.isPreferred("newer", to: "response"))
                        AND later.site = site.id AND \(isNewerVisible)
                        -- The text that a browser showed is not outdated while the page's own body is the same.
                        AND (response.request = '' OR newer.body IS NOT plain.body))
                AND \(isNotHidden)
            \(grouping) ORDER BY url.id LIMIT ?4
            """)
        var responses: [ResponseWithText] = []
        var values: [SQLValue] = [.blob(sha256), .text(form), .optional(site), .integer(Int64(limit))]
        if let snapshot { values.append(.integer(snapshot)) }
        try find.each(values) { row in
            responses.append(
                ResponseWithText(
                    href: row.text(0), site: row.text(1), snapshot: SnapshotName(row, from: 2),
                    type: row.optionalText(4), role: UInt8(truncatingIfNeeded: row.integer(5)),
                    fetched: row.integer(6)))
        }
        return responses
    }
}
