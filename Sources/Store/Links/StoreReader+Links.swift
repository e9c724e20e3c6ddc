/// What a stored response links to, by address.
package struct StoredLinks: Sendable, Equatable {
    package var pages: [String] = []
    package var requisites: [String] = []
    package var guesses: [String] = []

    package init() {}
}

package struct StoredLinkNumbers: Sendable, Equatable {
    package let pages: [Int64]
    package let requisites: [Int64]
    package let guesses: [Int64]
}

extension StoreReader {
    /// What the response's body links to; nil when that was never kept, and the body has to be looked into.
    package func storedLinks(of response: StoredResponse) throws(StoreError) -> StoredLinks? {
        guard let numbers = try linkNumbers(of: response) else { return nil }
        var links = StoredLinks()
        links.pages = try addresses(numbers.pages)
        links.requisites = try addresses(numbers.requisites)
        links.guesses = try addresses(numbers.guesses)
        return links
    }

    /// The same by the store's numbers, for whoever knows many of them.
    package func linkNumbers(of response: StoredResponse) throws(StoreError) -> StoredLinkNumbers? {
        guard let body = response.body else { return nil }
        return try findLinkLists.first(.integer(response.url), .integer(body.id)) { row in
            StoredLinkNumbers(
                pages: LinkLists.numbers(row.text(0)), requisites: LinkLists.numbers(row.text(1)),
                guesses: LinkLists.numbers(row.text(2)))
        }
    }

    package func address(of number: Int64) throws(StoreError) -> String? {
        try findAddress.first(.integer(number)) { $0.text(0) }
    }

    /// The addresses whose bodies link to this one, whether or not they are shown, in order.
    package func referrers(of href: String) throws(StoreError) -> [String] {
        guard let number = try number(of: href) else { return [] }
        var referrers: [String] = []
        try eachRow(
            """
            SELECT href FROM url
            WHERE id IN (SELECT url FROM link WHERE instr(pages, ?1) OR instr(requisites, ?1)) ORDER BY href
            """, .text(LinkLists.text([number]))
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
