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
package struct StoredLinkNumbers: Sendable, Equatable {
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

/// The links of a body, with the first two bytes and the last byte of its link table (`LinkTable.told`). They
/// tell which version of Larder made the table, and some properties of the document. There are no such bytes
/// if there is no table.
package struct ToldLinks: Sendable, Equatable {
    package let numbers: StoredLinkNumbers
    package let ends: [UInt8]

    init?(_ row: Row, from column: Int32 = 0) {
        guard let numbers = StoredLinkNumbers(row, from: column) else { return nil }
        self.numbers = numbers
        ends = row.blob(column + 4) + row.blob(column + 5)
    }
}

/// A response with everything that a walk through a snapshot needs to know about it.
package struct WalkedResponse: Sendable {
    package let response: StoredResponse
    /// Nil if they were never stored, or are damaged.
    package let links: ToldLinks?
}

extension StoreReader {
    /// Returns the links of the response's body. Nil if they were never stored or are damaged: then the body
    /// has to be scanned.
    package func storedLinks(of response: StoredResponse) throws(StoreError) -> StoredLinks? {
        guard let numbers = try linkNumbers(of: response) else { return nil }
        var links = StoredLinks()
        links.pages = try addresses(numbers.pages)
        links.assets = try addresses(numbers.assets)
        links.guesses = try addresses(numbers.guesses)
        return links
    }

    /// Returns the links of the response's body as ids, for callers that know the URLs of many ids. Nil in
    /// the same cases as for `storedLinks`.
    package func linkNumbers(of response: StoredResponse) throws(StoreError) -> StoredLinkNumbers? {
        guard let body = response.body else { return nil }
        return try findLinkLists.first(
            .integer(response.url), .integer(body.id)
        ) { StoredLinkNumbers($0) }
    }

    /// Returns the links of the response's body as ids, with the ends of its link table.
    package func toldLinks(of response: StoredResponse) throws(StoreError) -> ToldLinks? {
        guard let body = response.body else { return nil }
        return try findToldLinks.first(.integer(response.url), .integer(body.id)) { ToldLinks($0) }
    }

    /// Returns the responses that the snapshot has for these URLs, in no particular order. For PostgreSQL
    /// stores: one statement for all URLs takes a single round trip. The limits make its planner use one
    /// index look-up per URL.
    package func walk(_ hrefs: [String], ofSnapshot snapshot: Int64) throws(StoreError) -> [WalkedResponse] {
        var walked: [WalkedResponse] = []
        walked.reserveCapacity(hrefs.count)
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
                    substr(content.links, length(content.links), 1) AS finish
                FROM link LEFT JOIN content ON content.body = link.body
                WHERE link.url = response.url AND link.body = response.body LIMIT 1) AS told ON true
            """
        ).each([.texts(hrefs), .integer(snapshot), .text(RequestKey.get.text)]) { row in
            let links = row.isNull(18) ? nil : ToldLinks(row, from: 18)
            walked.append(WalkedResponse(response: StoredResponse(row), links: links))
        }
        return walked
    }

    package func address(of number: Int64) throws(StoreError) -> String? {
        try findAddress.first(.integer(number)) { $0.text(0) }
    }

    /// Returns the URLs with these ids; unknown ids are left out. PostgreSQL looks all of them up in one
    /// round trip.
    package func addresses(of numbers: [Int64]) throws(StoreError) -> [Int64: String] {
        var addresses: [Int64: String] = [:]
        if isServed {
            try prepare("SELECT id, href FROM url WHERE id = ANY(?)").each(.integers(numbers)) {
                addresses[$0.integer(0)] = $0.text(1)
            }
        } else {
            try steadily { () throws(StoreError) in
                for number in numbers { addresses[number] = try address(of: number) }
            }
        }
        return addresses
    }

    /// Returns the URLs whose bodies link to this URL, visible or not, in order.
    package func referrers(of href: String) throws(StoreError) -> [String] {
        guard let number = try number(of: href) else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url
            WHERE id IN (SELECT url FROM link WHERE instr(pages, ?1) > 0 OR instr(assets, ?1) > 0) ORDER BY href
            """, .text(LinkLists.text([number]))
        ) { referrers.append($0.text(0)) }
        return referrers
    }

    /// Returns the URLs whose visible bodies link to this URL, in order.
    package func shownReferrers(of href: String) throws(StoreError) -> [String] {
        guard let number = try number(of: href) else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE id IN (
                SELECT link.url FROM link
                CROSS JOIN response ON response.url = link.url AND response.request = '' AND response.body = link.body
                CROSS JOIN snapshot ON snapshot.id = response.snapshot
                CROSS JOIN site ON site.id = snapshot.site
                WHERE (instr(link.pages, ?2) > 0 OR instr(link.assets, ?2) > 0)
                    AND \(HeldEntry.isVisible) AND \(HeldEntry.isNewest))
            ORDER BY href
            """, .null, .text(LinkLists.text([number]))
        ) { referrers.append($0.text(0)) }
        return referrers
    }

    private func number(of href: String) throws(StoreError) -> Int64? {
        try prepare("SELECT id FROM url WHERE href = ?").first(.text(href)) { $0.integer(0) }
    }

    private func addresses(_ numbers: [Int64]) throws(StoreError) -> [String] {
        var addresses: [String] = []
        addresses.reserveCapacity(numbers.count)
        for number in numbers {
            if let href = try address(of: number) { addresses.append(href) }
        }
        return addresses
    }
}

extension StoreReader {
    /// Adds everything that the URLs need, transitively: a page needs a style sheet, which needs a font. A
    /// URL that redirects needs the target of the redirect.
    func addNeeds(to urls: inout Set<Int64>) throws(StoreError) {
        let needs = try prepare("SELECT assets FROM link WHERE url = ?")
        let redirects = try prepare(
            """
            SELECT url.href, response.fields FROM response JOIN url ON url.id = response.url
            WHERE response.url = ? AND response.status BETWEEN 300 AND 399
            """)
        let find = try prepare("SELECT id FROM url WHERE href = ?")
        var waiting = Array(urls)
        while let url = waiting.popLast() {
            var needed: [Int64] = []
            try needs.each(.integer(url)) { needed += LinkLists.numbers($0.text(0)) }
            var targets: Set<String> = []
            try redirects.each(.integer(url)) { row in
                let location = HTTPFields(block: row.text(1).utf8.span)["Location"]
                let target = location.flatMap { WebURL($0, base: WebURL(row.text(0))) }
                if let target { targets.insert(target.withoutFragment.href) }
            }
            for target in targets {
                if let row = try find.first(.text(target), read: { $0.integer(0) }) { needed.append(row) }
            }
            for url in needed where urls.insert(url).inserted { waiting.append(url) }
        }
    }
}

/// The text form of a list of URL ids: with a comma before and after each.
enum LinkLists {
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
