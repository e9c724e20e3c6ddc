package import Database
internal import Digest
package import Web

/// A page with its title.
package struct TitledPage: Sendable, Equatable {
    package let title: String
    package let href: String

    package init(title: String, href: String) { (self.title, self.href) = (title, href) }
}

extension StoreReader {
    /// Returns the pages of a site that have titles, sorted by title and then by URL, starting after `previous`.
    /// Each call sorts all pages of the site.
    package func titledPages(
        ofSite site: Int64, after previous: TitledPage?, limit: Int
    ) throws(StoreError) -> [TitledPage] {
        var pages: [TitledPage] = []
        try eachRow(
            """
            SELECT title, href FROM (
                SELECT body.title AS title, url.href AS href, response.status AS status, response.role AS role,
                    max(response.snapshot - iif(\(Provenance.isSubordinate("response")), \(Int64(1) << 60), 0))
                FROM snapshot
                CROSS JOIN site ON site.id = snapshot.site
                CROSS JOIN response ON response.snapshot = snapshot.id
                CROSS JOIN url ON url.id = response.url
                LEFT JOIN body ON body.id = response.body
                WHERE site.id = ?1 AND response.request = '' AND \(Schema.isVisible("response"))
                GROUP BY url.id
            )
            WHERE status = 200 AND role = 0 AND title > ''
                AND (?2 IS NULL OR (title COLLATE NOCASE, href) > (?2 COLLATE NOCASE, ?3))
            ORDER BY title COLLATE NOCASE, href LIMIT ?4
            """, .integer(site), .optional(previous?.title), .text(previous?.href ?? ""),
            .integer(Int64(limit))
        ) { pages.append(TitledPage(title: $0.text(0), href: $0.text(1))) }
        return pages
    }

    /// Passes the response that readers see for each URL to `take`, in the order of the URLs. Stops when
    /// `take` returns false.
    ///
    /// It reads 4096 URLs at a time, so that neither memory nor the write-ahead log grows if `take` is slow.
    /// The rest of the list may therefore show a snapshot that is published meanwhile. Outdated assets (`outdatedAssets`) are
    /// left out.
    ///
    /// - Parameter site: If not nil, only the responses of this site are listed, as if there were no other.
    package func eachListedResponse(
        site: Int64? = nil, _ take: (VisibleEntry) -> Bool
    ) throws(StoreError) {
        let outdated = try outdatedAssets(ofSite: site)
        var start = ""
        var isWanted = true
        while isWanted {
            let end = try lastURLOfBatch(after: start)
            try eachResponse(inURLsAfter: start, through: end, site, without: outdated) { row in
                isWanted = isWanted && take(row)
            }
            guard let end else { return }
            start = end
        }
    }

    /// Passes the URLs of a site that have a body which readers may see to `take`, in no particular order. A URL may occur
    /// several times, and may be gone in the live snapshot (`availability(of:)`).
    package func eachURLWithBody(ofSite site: Int64, _ take: (String) -> Void) throws(StoreError) {
        try eachRow(
            """
            SELECT url.href FROM site
            CROSS JOIN snapshot ON snapshot.site = site.id
            CROSS JOIN response ON response.snapshot = snapshot.id
            CROSS JOIN url ON url.id = response.url
            WHERE site.id = ?1 AND response.request = '' AND response.body IS NOT NULL
                AND \(Schema.isVisible("response"))
            """, .integer(site)
        ) { take($0.text(0)) }
    }

    /// Returns the last URL of the batch of URLs after `start`; nil if the batch is the last one.
    private func lastURLOfBatch(after start: String) throws(StoreError) -> String? {
        var end: String?
        try eachRow(
            "SELECT href FROM url WHERE href > ? ORDER BY href LIMIT 1 OFFSET ?", .text(start),
            .integer(Self.urlsPerBatch - 1)
        ) { end = $0.text(0) }
        return end
    }

    private func eachResponse(
        inURLsAfter start: String, through end: String?, _ site: Int64?,
        without outdated: [Int64: Set<Int64>],
        _ take: (VisibleEntry) -> Void
    ) throws(StoreError) {
        var last: String?
        // CROSS JOIN makes SQLite read the URLs in the order of their index.
        try eachRow(
            """
            SELECT \(VisibleEntry.columns)
            FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            WHERE url.href > ?1 AND url.href <= ?2 AND (CAST(?3 AS BIGINT) IS NULL OR site.id = ?3)
                AND \(Schema.isVisible("response"))
            ORDER BY url.href, \(StoredResponse.readerOrder)
            """, .text(start), .text(end ?? Self.afterEveryURL), .optional(site)
        ) { row in
            let entry = VisibleEntry(row)
            // The first row of each URL is the one that readers see.
            guard entry.href != last, outdated[entry.site]?.contains(entry.url) != true else { return }
            last = entry.href
            take(entry)
        }
    }

    private static let urlsPerBatch: Int64 = 4096

    /// Greater than every URL: URLs are ASCII and begin with a letter.
    private static let afterEveryURL = "\u{7f}"
}

/// The response that readers see for a URL, and whether its body is stored.
package struct ResponseAvailability: Sendable {
    package let snapshot: Int64
    package let status: Int
    package let isImported: Bool
    package let body: StoredBody?
    /// Whether the stored bytes are as many as the size of the body says. Their content is not read.
    package fileprivate(set) var isBodyStored: Bool
}

extension StoreReader {
    /// Returns the response that readers see for each of the URLs, which must be sorted.
    ///
    /// If they are more than a quarter of the stored URLs between the first and the last, one statement reads
    /// the whole range, in a third of the time of single look-ups.
    package func availability(of hrefs: [String]) throws(StoreError) -> [String: ResponseAvailability] {
        guard let first = hrefs.first, let last = hrefs.last else { return [:] }
        var results: [String: ResponseAvailability] = [:]
        results.reserveCapacity(hrefs.count)
        let maxScanned = Int64(hrefs.count) * 4
        let between = try prepare(
            "SELECT count(*) FROM (SELECT 1 FROM url WHERE href BETWEEN ? AND ? LIMIT ?) AS few"
        )
        .first(.text(first), .text(last), .integer(maxScanned)) { $0.integer(0) }
        guard let between, between < maxScanned else {
            for href in hrefs {
                guard let response = try response(for: href) else { continue }
                let isBodyStored =
                    try response.body.map { (body) throws(StoreError) in try bodies.isStored(body) } ?? false
                results[href] = ResponseAvailability(
                    snapshot: response.snapshot, status: response.status, isImported: response.isImported,
                    body: response.body, isBodyStored: isBodyStored)
            }
            return results
        }
        /// The sizes of packs that were looked up, by their numbers; nil for missing packs.
        var packs: [Int64: Int64?] = [:]
        /// Bodies that are in the external storage of a PostgreSQL store.
        var outside: [(href: String, body: StoredBody)] = []
        let external = bodies.external
        let inline = "(SELECT length(bytes) FROM content WHERE content.body = body.id)"
        let stored =
            isPostgreSQL
            ? "coalesce(\(inline), (SELECT sum(length(bytes)) FROM piece WHERE piece.sha256 = body.sha256))"
            : inline
        try eachRow(
            """
            SELECT url.href, response.snapshot, response.status, body.pack, body.start, body.frame,
                iif(body.pack IS NULL, \(stored), NULL), \(StoredBody.columns), response.flags
            FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            WHERE url.href BETWEEN ?1 AND ?2 AND \(Schema.isVisible("response"))
            ORDER BY url.href, \(StoredResponse.readerOrder)
            """, .text(first), .text(last)
        ) { row in
            let href = row.text(0)
            guard results[href] == nil else { return }
            let body = StoredBody(row, from: 7)
            var isBodyStored = false
            if let body {
                if let location = PackLocation(row, from: 3) {
                    let size = packs[location.pack] ?? Pack(location.pack, in: folder).byteCount
                    packs[location.pack] = .some(size)
                    isBodyStored = location.fits(bodyByteCount: body.byteCount, packByteCount: size)
                } else if let stored = row.optionalInteger(6) {
                    isBodyStored = stored == body.byteCount
                } else if external != nil {
                    outside.append((href, body))
                } else if let digest = Digest(.sha256, bytes: body.sha256) {
                    let file = BodyContent.file(path: folder.bodyFile(sha256: digest.hex))
                    isBodyStored = file.byteCount == body.byteCount
                }
            }
            let flags = ResponseFlags(rawValue: UInt16(truncatingIfNeeded: row.integer(13)))
            results[href] = ResponseAvailability(
                snapshot: row.integer(1), status: Int(row.integer(2)),
                isImported: flags.contains(.isImported),
                body: body, isBodyStored: isBodyStored)
        }
        guard let external, !outside.isEmpty else { return results }
        for (one, count) in zip(outside, try external.byteCounts(outside.map(\.body.sha256))) {
            results[one.href]?.isBodyStored = count == one.body.byteCount
        }
        return results
    }
}

/// The response that readers see for a URL, as one line of a list.
package struct VisibleEntry: Sendable, Equatable {
    /// The number of its URL in this store.
    package let url: Int64
    package let href: String
    package let site: Int64
    package let snapshot: SnapshotName
    package let status: Int
    package let role: UInt8
    package let type: String?
    /// `CopyAge.fetched`, in seconds since 1970.
    package let fetched: Int64
    /// Nil for redirects and other responses without a body.
    package let body: StoredBody?
}

extension VisibleEntry {
    /// The columns that `init(_:)` reads, from `response` joined with its `url`, its `snapshot` and, if it
    /// has one, its `body`.
    static let columns = """
        url.id, url.href, snapshot.site, \(SnapshotName.columns), response.status, response.role, response.type,
        \(CopyAge.fetchedInSQL()), \(StoredBody.columns)
        """

    /// A condition on responses with their `snapshot` and `site`: readers see them, and they are of the site
    /// ?1, or of any site if ?1 is null.
    static let isVisible = """
        (CAST(?1 AS BIGINT) IS NULL OR site.id = ?1) AND \(Schema.isVisible("response"))
        """

    /// A condition: the response is the newest that its site shows for its URL. If ?1 is null, it excludes
    /// subordinate imports that a response from the origin hides.
    static let isNewest = """
        NOT EXISTS (
            SELECT 1 FROM response AS newer JOIN snapshot AS later ON later.id = newer.snapshot
            WHERE newer.url = response.url AND newer.request = ''
                AND \(Provenance.isPreferred("newer", to: "response"))
                AND later.site = site.id AND \(Schema.isVisible("newer", in: "later")))
            AND (CAST(?1 AS BIGINT) IS NOT NULL OR NOT \(Provenance.isHiddenByOrigin))
        """

    init(_ row: Row) {
        url = row.integer(0)
        href = row.text(1)
        site = row.integer(2)
        snapshot = SnapshotName(row, from: 3)
        status = Int(row.integer(5))
        role = UInt8(truncatingIfNeeded: row.integer(6))
        type = row.optionalText(7)
        fetched = row.integer(8)
        body = StoredBody(row, from: 9)
    }
}

/// A stored response with its site and the page that requested it.
package struct ResponseVersion: Sendable, Equatable {
    package let response: StoredResponse
    /// The name of its site.
    package let site: String
    /// The URL of the page that first requested it.
    package let referrer: String?
    /// Whether readers see it: it is the newest visible response of its URL to the same request and variant.
    package let isVisible: Bool
    /// The last snapshot that received the same response again; 0 if none did.
    package let confirmed: Int64
    /// The paths of the archives that its snapshot was imported from, one per line.
    package let archive: String?
    /// Whether all snapshots that it is part of were rejected.
    let isRejected: Bool
    /// When it was fetched, and when it was last checked.
    package let age: CopyAge

    /// Whether the response belongs to this snapshot of its site.
    package func isOf(_ snapshot: Int64) -> Bool {
        response.snapshot == snapshot || response.snapshot < snapshot && snapshot <= confirmed
    }

    /// Whether readers of this snapshot of its site may see the response: it belongs to the snapshot, or to an earlier one
    /// that was not rejected.
    package func isVisible(asOf snapshot: Int64) -> Bool {
        response.snapshot <= snapshot && (!isRejected || isOf(snapshot))
    }
}

extension StoreReader {
    /// Returns all stored responses of a URL, in all snapshots and for all requests and variants. The newest
    /// snapshot comes first.
    package func versions(of href: String) throws(StoreError) -> [ResponseVersion] {
        /// The request and variant of a response. Readers see one response per slot of a URL.
        struct Slot: Hashable {
            let request: RequestKey
            let variant: String
        }
        var rows: [ResponseVersion] = []
        var shown: Set<Slot> = []
        var fromOrigin: Set<RequestKey> = []
        // The statement sorts the rows in the order in which readers look for a response.
        try eachRow(
            """
            SELECT \(StoredResponse.columns), site.name, referrer.href,
                \(Schema.isVisible("response")), response.confirmed, snapshot.archive, \(Provenance.precedence),
                NOT \(Schema.isAccepted("response")), snapshot.started, snapshot.finished, snapshot.base IS NOT NULL
            FROM url
            JOIN response ON response.url = url.id
            JOIN snapshot ON snapshot.id = response.snapshot
            JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            LEFT JOIN url AS referrer ON referrer.id = response.referrer
            WHERE url.href = ?
            ORDER BY \(StoredResponse.readerOrder)
            """, .text(href)
        ) { row in
            let response = StoredResponse(row)
            let slot = Slot(request: response.request, variant: response.variant)
            // A response that does not vary replaces all older ones, and is replaced by any newer one that
            // varies.
            let isOutdated = shown.contains {
                $0.request == slot.request && ($0.variant.isEmpty || slot.variant.isEmpty)
            }
            // An import is hidden by any response from an origin to the same request.
            let isBelowOrigin = row.integer(23) == 0
            if !isBelowOrigin { fromOrigin.insert(slot.request) }
            let isHidden = isBelowOrigin && fromOrigin.contains(slot.request)
            let isVisible = row.integer(20) != 0 && !isOutdated && !isHidden && shown.insert(slot).inserted
            rows.append(
                ResponseVersion(
                    response: response, site: row.text(18), referrer: row.optionalText(19),
                    isVisible: isVisible,
                    confirmed: row.integer(21), archive: row.optionalText(22),
                    isRejected: row.integer(24) != 0,
                    age: CopyAge(
                        of: response, started: row.integer(25), finished: row.optionalInteger(26),
                        isOverlay: row.integer(27) != 0)))
        }
        return rows.sorted { $0.response.snapshot > $1.response.snapshot }
    }
}

/// The responses in a range of URLs.
package struct VisibleSlice: Sendable, Equatable {
    package let entries: [VisibleEntry]
    /// The URL that the next slice begins with; nil after the last.
    package let next: String?
}

extension StoreReader {
    /// Returns the responses that readers see for the first `urlCount` URLs from `start` on and before `end`,
    /// in the order of URLs: of one site as if there were no other, or of all sites. URLs without a response
    /// count towards `urlCount`, but are left out.
    package func slice(
        from start: String, before end: String, site: Int64?, urlCount: Int
    ) throws(StoreError) -> VisibleSlice {
        let next = try prepare(
            "SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href LIMIT 1 OFFSET ?"
        ).first(.text(start), .text(end), .integer(Int64(urlCount))) { $0.text(0) }
        var entries: [VisibleEntry] = []
        // CROSS JOIN makes SQLite read the URLs in the order of their index.
        try eachRow(
            """
            SELECT \(VisibleEntry.columns) FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            WHERE \(VisibleEntry.isVisible) AND url.href >= ?2 AND url.href < ?3
            ORDER BY url.href, \(StoredResponse.readerOrder)
            """, .optional(site), .text(start), .text(next ?? end)
        ) { row in
            // The first row of each URL is the one that readers see.
            guard row.integer(0) != entries.last?.url else { return }
            entries.append(VisibleEntry(row))
        }
        return VisibleSlice(entries: entries, next: next)
    }
}

extension StoreReader {
    /// Returns the URLs that have a response with a status below 400, begin with `prefix` and are next to
    /// `href` in the order of URLs: at most `count` before it and `count` after it.
    ///
    /// - Parameter onlyPages: whether the responses must be pages. An application has many more files than pages.
    package func neighbours(
        of href: String, below prefix: String, count: Int, onlyPages: Bool = false
    ) throws(StoreError) -> [String] {
        let isPage = onlyPages ? " AND response.role = 0" : ""
        let hasResponse =
            "EXISTS (SELECT 1 FROM response WHERE response.url = url.id AND response.status < 400\(isPage))"
        var before: [String] = []
        var after: [String] = []
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? AND \(hasResponse) ORDER BY href DESC LIMIT ?",
            .text(prefix), .text(href), .integer(Int64(count))
        ) { before.append($0.text(0)) }
        // URLs are ASCII, so that no URL with this prefix is greater than this.
        try eachRow(
            "SELECT href FROM url WHERE href > ? AND href < ? AND \(hasResponse) ORDER BY href LIMIT ?",
            .text(href), .text(prefix + "\u{7f}"), .integer(Int64(count))
        ) { after.append($0.text(0)) }
        return before.reversed() + after
    }
}

/// Facts about an origin that are derived from its stored responses. The URLs of an origin are those between
/// its slash and the character after the slash.
extension StoreReader {
    /// The number of responses of an origin that are examined; the others are ignored.
    private static let maxRowsOfOrigin = 16
    /// The number of URLs of an origin that are searched for responses, because an origin that many pages link
    /// to may have no response at all.
    private static let maxURLsOfOrigin: Int64 = 10_000

    /// The name of another site that has pages on a host, with either scheme and on any port; nil if there is
    /// none.
    package func site(withPagesOn host: String, besides own: String) throws(StoreError) -> String? {
        let find = try prepare(
            """
            SELECT site.name FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = '' AND response.role = 0
                AND response.status = 200
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            WHERE url.href >= ? AND url.href < ? AND site.name <> ? LIMIT 1
            """)
        for scheme in ["https", "http"] {
            for (start, end) in [("/", Self.afterSlash), (":", Self.afterColon)] {
                let prefix = "\(scheme)://\(host)"
                let name = try find.first(.text(prefix + start), .text(prefix + end), .text(own)) {
                    $0.text(0)
                }
                if let name { return name }
            }
        }
        return nil
    }

    /// The most public network zone that visible responses of an origin, such as `https://example.com`, came
    /// from: any of its pages may be the one that sends a request. Examines only a sample of them. Nil if
    /// there are none.
    package func mostPublicZone(ofOrigin origin: String) throws(StoreError) -> NetworkZone? {
        var zone: NetworkZone?
        var last: Int64?
        var count = 0
        // CROSS JOIN makes SQLite read the URLs in the order of their index.
        let upperBound = origin + Self.afterSlash
        let end = try prepare(
            "SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href LIMIT 1 OFFSET ?"
        ).first(
            .text(origin + "/"), .text(upperBound), .integer(Self.maxURLsOfOrigin)
        ) { $0.text(0) }
        let search = try prepare(
            """
            SELECT url.id, response.flags FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            WHERE url.href >= ? AND url.href < ? AND \(Schema.isVisible("response"))
            ORDER BY url.href, \(StoredResponse.readerOrder)
            """)
        _ = try search.first(.text(origin + "/"), .text(end ?? upperBound)) { row -> Bool? in
            count += 1
            // The first row of each URL is the one that readers see.
            if row.integer(0) != last {
                last = row.integer(0)
                let flags = ResponseFlags(rawValue: UInt16(truncatingIfNeeded: row.integer(1)))
                if zone.map({ flags.zone < $0 }) ?? true { zone = flags.zone }
            }
            return count < Self.maxRowsOfOrigin ? nil : true
        }
        return zone
    }

    /// Calls `read` once for each http or https origin that has a stored response. Steps from one origin to
    /// the next in the index of URLs.
    package func eachOrigin(_ read: (String) -> Void) throws(StoreError) {
        let next = try prepare("SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href LIMIT 1")
        let findResponse = try prepare(
            """
            SELECT 1 FROM url CROSS JOIN response ON response.url = url.id WHERE url.href >= ? AND url.href < ? LIMIT 1
            """)
        for scheme in ["http://", "https://"] {
            let end = String(scheme.dropLast()) + Self.afterSlash
            var start = scheme
            while let href = try next.first(.text(start), .text(end), read: { $0.text(0) }) {
                let host = href.utf8.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "/") }
                let origin = scheme + String(Substring(host))
                start = origin + Self.afterSlash
                let found = try findResponse.first(.text(origin + "/"), .text(start)) { _ in true }
                if found != nil { read(origin) }
            }
        }
    }

    /// The character after the slash.
    static let afterSlash = "0"
    /// The character after the colon.
    static let afterColon = ";"
}
