internal import Digest

/// What readers get for an URL, in short.
package struct ListedResponse: Sendable, Equatable {
    package let href: String
    package let status: Int
    package let role: UInt8
    package let type: String?
    /// Nil for what has no body.
    package let byteCount: Int?
    package let sha256: [UInt8]?
    package let visit: Int64
    /// Seconds since 1970.
    package let fetched: Int64
}

extension StoreReader {
    /// Hands over what readers get for each URL, in the order of the URLs: of the whole store, or of one site as if there
    /// were no other. Ends early when `take` says false.
    ///
    /// It reads a page at a time, so that neither memory nor the log of the store grows with a slow taker; what is
    /// published meanwhile may show from there on.
    package func eachListed(
        site: Int64? = nil, _ take: (ListedResponse) -> Bool
    ) throws(StoreError) {
        var start = ""
        var goesOn = true
        while goesOn {
            let end = try endOfPage(after: start)
            try eachListed(after: start, through: end, site) { row in
                goesOn = goesOn && take(row)
            }
            guard let end else { return }
            start = end
        }
    }

    /// Nil when the last page begins.
    private func endOfPage(after start: String) throws(StoreError) -> String? {
        var end: String?
        try eachRow(
            "SELECT href FROM url WHERE href > ? ORDER BY href LIMIT 1 OFFSET ?", .text(start),
            .integer(Self.urlsInPage - 1)
        ) { end = $0.text(0) }
        return end
    }

    private func eachListed(
        after start: String, through end: String?, _ site: Int64?, _ take: (ListedResponse) -> Void
    ) throws(StoreError) {
        var last: String?
        // CROSS JOIN keeps SQLite at the order of the addresses' index.
        try eachRow(
            """
            SELECT url.href, response.status, response.role, response.type, body.size, response.visit, response.fetched,
                body.sha256
            FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN visit ON visit.id = response.visit
            CROSS JOIN site ON site.id = visit.site
            LEFT JOIN body ON body.id = response.body
            WHERE url.href > ?1 AND url.href <= ?2 AND (?3 IS NULL OR site.id = ?3)
                AND \(Schema.isVisible("response"))
            ORDER BY url.href, \(StoredResponse.shownFirst)
            """, .text(start), .text(end ?? Self.behindAll), .optional(site)
        ) { row in
            let href = row.text(0)
            // Of each address the first is what readers get.
            guard href != last else { return }
            last = href
            take(
                ListedResponse(
                    href: href, status: Int(row.integer(1)), role: UInt8(truncatingIfNeeded: row.integer(2)),
                    type: row.optionalText(3), byteCount: row.optionalInteger(4).map { Int($0) },
                    sha256: row.optionalBlob(7), visit: row.integer(5), fetched: row.integer(6)))
        }
    }

    private static let urlsInPage: Int64 = 4096

    /// Addresses are ASCII, and begin with a letter.
    private static let behindAll = "\u{7f}"
}

/// What readers get for an URL, with whether its body is there.
package struct ShownResponse: Sendable {
    package let visit: Int64
    package let status: Int
    package let body: StoredBody?
    /// As many bytes as the body has; none of them was read.
    package let isThere: Bool
}

extension StoreReader {
    /// What readers get for each of the URLs, which stand in their order. Where they make up much of what is held between the
    /// first and the last, it is read in one go: that takes a third of the time of as many look-ups.
    package func shown(_ hrefs: [String]) throws(StoreError) -> [String: ShownResponse] {
        guard let first = hrefs.first, let last = hrefs.last else { return [:] }
        var shown: [String: ShownResponse] = [:]
        shown.reserveCapacity(hrefs.count)
        let most = Int64(hrefs.count) * 4
        let between = try prepare("SELECT count(*) FROM (SELECT 1 FROM url WHERE href BETWEEN ? AND ? LIMIT ?)")
            .first(.text(first), .text(last), .integer(most)) { $0.integer(0) }
        guard let between, between < most else {
            for href in hrefs {
                guard let response = try response(for: href) else { continue }
                let isThere = try response.body.map { (body) throws(StoreError) in try self.isThere(body) } ?? false
                shown[href] = ShownResponse(
                    visit: response.visit, status: response.status, body: response.body, isThere: isThere)
            }
            return shown
        }
        var packs: [Int64: Int64?] = [:]
        try eachRow(
            """
            SELECT url.href, response.visit, response.status, body.pack, body.start,
                iif(body.pack IS NULL, (SELECT length(bytes) FROM content WHERE content.body = body.id), NULL),
                \(StoredBody.columns)
            FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN visit ON visit.id = response.visit
            CROSS JOIN site ON site.id = visit.site
            LEFT JOIN body ON body.id = response.body
            WHERE url.href BETWEEN ?1 AND ?2 AND \(Schema.isVisible("response"))
            ORDER BY url.href, \(StoredResponse.shownFirst)
            """, .text(first), .text(last)
        ) { row in
            let href = row.text(0)
            guard shown[href] == nil else { return }
            let body = StoredBody(row, from: 6)
            var isThere = false
            if let body {
                if let pack = row.optionalInteger(3) {
                    let size = packs[pack] ?? Pack(pack, in: folder).byteCount
                    packs[pack] = .some(size)
                    isThere = PackPlace(pack: pack, start: row.integer(4)).holds(body.byteCount, ofPack: size)
                } else if let stored = row.optionalInteger(5) {
                    isThere = stored == body.byteCount
                } else if let digest = Digest(.sha256, bytes: body.sha256) {
                    let file = BodyContent.file(path: folder.bodyFile(sha256: digest.hex))
                    isThere = file.byteCount == body.byteCount
                }
            }
            shown[href] = ShownResponse(
                visit: row.integer(1), status: Int(row.integer(2)), body: body, isThere: isThere)
        }
        return shown
    }
}
