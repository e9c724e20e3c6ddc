/// What a stored response links to, by address.
package struct StoredLinks: Sendable, Equatable {
    package var pages: [String] = []
    package var requisites: [String] = []
    package var guesses: [String] = []

    package init() {}
}

extension StoreReader {
    /// What the response's body links to; nil when that was never kept, and the body has to be looked into.
    package func storedLinks(of response: StoredResponse) throws(StoreError) -> StoredLinks? {
        guard let body = response.body else { return nil }
        let lists = try findLinkLists.first(.integer(response.url), .integer(body.id)) { row in
            (0..<3).map { LinkLists.numbers(row.text($0)) }
        }
        guard let lists else { return nil }
        var links = StoredLinks()
        links.pages = try addresses(lists[0])
        links.requisites = try addresses(lists[1])
        links.guesses = try addresses(lists[2])
        return links
    }

    /// The addresses whose bodies link to this one, whether or not they are shown, in order.
    package func referrers(of href: String) throws(StoreError) -> [String] {
        var referrers: [String] = []
        try eachRow(
            """
            SELECT DISTINCT source.href FROM url AS target
            JOIN link ON instr(pages, ',' || target.id || ',') OR instr(requisites, ',' || target.id || ',')
            JOIN url AS source ON source.id = link.url
            WHERE target.href = ? ORDER BY source.href
            """, .text(href)
        ) { referrers.append($0.text(0)) }
        return referrers
    }

    private func addresses(_ numbers: [Int64]) throws(StoreError) -> [String] {
        var addresses: [String] = []
        addresses.reserveCapacity(numbers.count)
        for number in numbers {
            if let href = try findAddress.first(.integer(number), read: { $0.text(0) }) { addresses.append(href) }
        }
        return addresses
    }
}
