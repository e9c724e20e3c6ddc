package import Database
internal import Web

/// The URLs that a stored response links to.
package struct StoredLinks: Sendable, Equatable {
    package var pages: [String] = []
    package var assets: [String] = []
    package var guesses: [String] = []

    package init() {}
}

/// The ids of the URLs that a stored response links to.
package struct StoredLinkIDs: Sendable, Equatable {
    package let pages: [Int64]
    package let assets: [Int64]
    package let guesses: [Int64]

    /// - Parameter column: The column of the first list. The other lists and their checksum follow it.
    /// - Returns: Nil if the lists do not match their checksum.
    init?(_ row: Row, from column: Int32 = 0) {
        guard LinkLists.areSound(row, from: column) else { return nil }
        pages = row.withBytes(column, LinkLists.numbers)
        assets = row.withBytes(column + 1, LinkLists.numbers)
        guesses = row.withBytes(column + 2, LinkLists.numbers)
    }

    package var all: [Int64] { pages + assets + guesses }
}

/// The links of a body, with the first two bytes and the last five of its link table. These bytes say which
/// version of Larder made the table, and some properties of the document (`LinkTable.readSummary`). A crawl thus needs
/// to load no table, which can be large.
package struct StoredLinkSummary: Sendable, Equatable {
    package let ids: StoredLinkIDs
    /// Empty if the body has no link table.
    package let tableEnds: [UInt8]

    init?(_ row: Row, from column: Int32 = 0) {
        guard let ids = StoredLinkIDs(row, from: column) else { return nil }
        self.ids = ids
        tableEnds = row.blob(column + 4) + row.blob(column + 5)
    }
}

/// A response with everything that a walk through a snapshot needs to know about it.
package struct ResponseWithLinks: Sendable {
    package let response: StoredResponse
    /// Nil if they were never stored, or are damaged.
    package let links: StoredLinkSummary?
}

extension StoreReader {
    /// Returns the links of the response's body. Nil if they were never stored or are damaged: then the body
    /// has to be scanned.
    package func storedLinks(of response: StoredResponse) throws(StoreError) -> StoredLinks? {
        guard let ids = try linkIDs(of: response) else { return nil }
        var links = StoredLinks()
        links.pages = try hrefs(ofURLs: ids.pages)
        links.assets = try hrefs(ofURLs: ids.assets)
        links.guesses = try hrefs(ofURLs: ids.guesses)
        return links
    }

    /// Returns the links of the response's body as ids, for callers that know the URLs of many ids. Nil in
    /// the same cases as for `storedLinks`.
    package func linkIDs(of response: StoredResponse) throws(StoreError) -> StoredLinkIDs? {
        guard let body = response.body else { return nil }
        return try findLinkLists.first(
            .integer(response.url), .integer(body.id)
        ) { StoredLinkIDs($0) }
    }

    /// Returns the links of the response's body as ids, with the ends of its link table.
    package func linkSummary(of response: StoredResponse) throws(StoreError) -> StoredLinkSummary? {
        guard let body = response.body else { return nil }
        return try findLinkSummary.first(.integer(response.url), .integer(body.id)) { StoredLinkSummary($0) }
    }

    /// Returns the responses that the snapshot has for these URLs, in no particular order. For PostgreSQL
    /// stores: one statement for all URLs takes a single round trip. The limits make its planner use one
    /// index look-up per URL.
    package func responsesWithLinks(
        for hrefs: [String], ofSnapshot snapshot: Int64
    ) throws(StoreError) -> [ResponseWithLinks] {
        var responses: [ResponseWithLinks] = []
        responses.reserveCapacity(hrefs.count)
        try prepare(
            """
            SELECT \(StoredResponse.columns), told.pages, told.assets, told.guesses, NULL, told.start, told.finish
            FROM unnest(?1) AS given(address)
            CROSS JOIN LATERAL (SELECT id, href FROM url WHERE url.href = given.address LIMIT 1) AS url
            CROSS JOIN LATERAL (
                SELECT * FROM response
                WHERE response.url = url.id AND response.snapshot = ?2 AND response.request = ?3
                ORDER BY response.fetched DESC LIMIT 1) AS response
            LEFT JOIN LATERAL (SELECT * FROM body WHERE body.id = response.body LIMIT 1) AS body ON true
            LEFT JOIN LATERAL (
                SELECT pages, assets, guesses, substr(content.links, 1, 2) AS start,
                    substr(content.links, length(content.links) - 4, 5) AS finish
                FROM link LEFT JOIN content ON content.body = link.body
                WHERE link.url = response.url AND link.body = response.body LIMIT 1) AS told ON true
            """
        ).each([.texts(hrefs), .integer(snapshot), .text(RequestKey.get.text)]) { row in
            let links = row.isNull(18) ? nil : StoredLinkSummary(row, from: 18)
            responses.append(ResponseWithLinks(response: StoredResponse(row), links: links))
        }
        return responses
    }

    /// Returns the URL with this id; nil if there is none.
    package func href(ofURL id: Int64) throws(StoreError) -> String? {
        try findHref.first(.integer(id)) { $0.text(0) }
    }

    /// Returns the URLs with these ids; unknown ids are left out. PostgreSQL looks all of them up in one
    /// round trip.
    package func hrefsByID(_ ids: [Int64]) throws(StoreError) -> [Int64: String] {
        var hrefs: [Int64: String] = [:]
        if backEnd.isRemote {
            try prepare("SELECT id, href FROM url WHERE id = ANY(?)").each(.integers(ids)) {
                hrefs[$0.integer(0)] = $0.text(1)
            }
        } else {
            try inReadTransaction { () throws(StoreError) in
                for id in ids { hrefs[id] = try href(ofURL: id) }
            }
        }
        return hrefs
    }

    /// Returns the URLs whose bodies link to this URL, visible or not, in order. Searches all link lists, which
    /// takes seconds in a large store.
    package func referrers(of href: String) throws(StoreError) -> [String] {
        guard let id = try id(ofURL: href) else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url
            WHERE id IN (SELECT url FROM link WHERE instr(pages, ?1) > 0 OR instr(assets, ?1) > 0) ORDER BY href
            """, .text(LinkLists.text([id]))
        ) { referrers.append($0.text(0)) }
        return referrers
    }

    /// Returns the URLs whose visible bodies link to this URL, in order.
    package func visibleReferrers(of href: String) throws(StoreError) -> [String] {
        guard let id = try id(ofURL: href) else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE id IN (
                SELECT link.url FROM link
                CROSS JOIN response ON response.url = link.url AND response.request = '' AND response.body = link.body
                CROSS JOIN snapshot ON snapshot.id = response.snapshot
                CROSS JOIN site ON site.id = snapshot.site
                WHERE (instr(link.pages, ?2) > 0 OR instr(link.assets, ?2) > 0)
                    AND \(VisibleEntry.isVisible) AND \(VisibleEntry.isNewest))
            ORDER BY href
            """, .null, .text(LinkLists.text([id]))
        ) { referrers.append($0.text(0)) }
        return referrers
    }

    private func id(ofURL href: String) throws(StoreError) -> Int64? {
        try prepare("SELECT id FROM url WHERE href = ?").first(.text(href)) { $0.integer(0) }
    }

    private func hrefs(ofURLs ids: [Int64]) throws(StoreError) -> [String] {
        var hrefs: [String] = []
        hrefs.reserveCapacity(ids.count)
        for id in ids {
            if let href = try href(ofURL: id) { hrefs.append(href) }
        }
        return hrefs
    }
}

extension StoreReader {
    /// Adds the assets of the URLs, transitively: a page needs a style sheet, which needs a font. A URL that
    /// redirects needs the target of the redirect.
    func addAssets(to urls: inout Set<Int64>) throws(StoreError) {
        let findAssets = try prepare("SELECT assets FROM link WHERE url = ?")
        let findRedirects = try prepare(
            """
            SELECT url.href, response.fields FROM response JOIN url ON url.id = response.url
            WHERE response.url = ? AND response.status BETWEEN 300 AND 399
            """)
        let find = try prepare("SELECT id FROM url WHERE href = ?")
        var pending = Array(urls)
        while let url = pending.popLast() {
            var needed: [Int64] = []
            try findAssets.each(.integer(url)) { needed += LinkLists.numbers($0.text(0)) }
            var targets: Set<String> = []
            try findRedirects.each(.integer(url)) { row in
                let location = HTTPFields(block: row.text(1).utf8.span)["Location"]
                let target = location.flatMap { WebURL($0, base: WebURL(row.text(0))) }
                if let target { targets.insert(target.withoutFragment.href) }
            }
            for target in targets {
                if let row = try find.first(.text(target), read: { $0.integer(0) }) { needed.append(row) }
            }
            for url in needed where urls.insert(url).inserted { pending.append(url) }
        }
    }
}

/// The text form of a list of URL ids, with a comma before and after each: `,17,4,230,`. SQL can thus search a
/// list for one id with `instr(pages, ',4,')`.
enum LinkLists {
    /// The checksum of the three lists of a row.
    static func checksum(of lists: [String]) -> Int64 {
        var sum = FNVSum()
        for list in lists {
            for byte in list.utf8 { sum.add(byte) }
            sum.add(0)
        }
        return Int64(sum.value)
    }

    /// Whether a row's three lists match the checksum in the column after them. Rows without a checksum match
    /// too.
    static func areSound(_ row: Row, from column: Int32 = 0) -> Bool {
        guard let expected = row.optionalInteger(column + 3) else { return true }
        var sum = FNVSum()
        for list in column..<column + 3 {
            row.withBytes(list) { bytes in for byte in bytes { sum.add(byte) } }
            sum.add(0)
        }
        return Int64(sum.value) == expected
    }

    /// Returns the text of a list; empty if there are no ids.
    static func text(_ numbers: [Int64]) -> String {
        guard !numbers.isEmpty else { return "" }
        var bytes: [UInt8] = [comma]
        bytes.reserveCapacity(numbers.count * 6)
        for number in numbers {
            append(number, to: &bytes)
            bytes.append(comma)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the ids in the list. Skips everything that is not a number between two commas.
    static func numbers(_ text: UnsafeBufferPointer<UInt8>) -> [Int64] {
        var numbers: [Int64] = []
        numbers.reserveCapacity(text.count / 5)
        each(text) { numbers.append($0) }
        return numbers
    }

    static func numbers(_ text: String) -> [Int64] {
        var text = text
        return text.withUTF8(numbers)
    }

    static func each(_ text: some Sequence<UInt8>, take: (Int64) -> Void) {
        var number: Int64?
        var isNumber = false
        for byte in text {
            if byte == comma {
                if isNumber, let number { take(number) }
                number = nil
                isNumber = true
            } else {
                let (tens, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                let (sum, isLarger) = tens.addingReportingOverflow(Int64(byte) - 0x30)
                isNumber = isNumber && (0x30...0x39).contains(byte) && !isTooLarge && !isLarger
                number = isNumber ? sum : nil
            }
        }
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &bytes) }
        bytes.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
    }

    private static let comma = UInt8(ascii: ",")
}
