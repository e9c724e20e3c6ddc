/// What is known of an origin by what is held of it: of the addresses between its slash and what would stand behind that.
extension StoreReader {
    private static let mostRowsOfOrigin = 16
    /// Of an origin that is linked to everywhere, nothing need be held.
    private static let mostAddressesOfOrigin: Int64 = 10_000

    /// How far the pages of an origin may lead, such as those of `https://example.com`: from where the answers came that
    /// readers get to plain GETs. A few are looked at, and the one that reaches least counts, since any of them may be what
    /// asks. Nil when nothing is held, and where that takes long to tell.
    package func leastReach(ofOrigin origin: String) throws(StoreError) -> ResponseFlags? {
        var least: ResponseFlags?
        var last: Int64?
        var count = 0
        // CROSS JOIN keeps SQLite at the order of the addresses' index.
        let behind = origin + Self.behindSlash
        let end = try prepare("SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href LIMIT 1 OFFSET ?").first(
            .text(origin + "/"), .text(behind), .integer(Self.mostAddressesOfOrigin)
        ) { $0.text(0) }
        let search = try prepare(
            """
            SELECT url.id, response.flags FROM url
            CROSS JOIN response ON response.url = url.id AND response.request = ''
            CROSS JOIN visit ON visit.id = response.visit
            CROSS JOIN site ON site.id = visit.site
            WHERE url.href >= ? AND url.href < ? AND \(Schema.isVisible("response"))
            ORDER BY url.href, \(StoredResponse.shownFirst)
            """)
        _ = try search.first(.text(origin + "/"), .text(end ?? behind)) { row -> Bool? in
            count += 1
            // Of each address the first is what readers get.
            if row.integer(0) != last {
                last = row.integer(0)
                let flags = ResponseFlags(rawValue: UInt16(truncatingIfNeeded: row.integer(1)))
                let reach = flags.intersection(.ofReach)
                if reach.rawValue < least?.rawValue ?? .max { least = reach }
            }
            return count < Self.mostRowsOfOrigin ? nil : true
        }
        return least
    }

    /// Calls `read` once for each origin of which anything is held, going from one to the next over the addresses' index.
    package func eachOrigin(_ read: (String) -> Void) throws(StoreError) {
        let next = try prepare("SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href LIMIT 1")
        let isHeld = try prepare(
            """
            SELECT 1 FROM url CROSS JOIN response ON response.url = url.id WHERE url.href >= ? AND url.href < ? LIMIT 1
            """)
        for scheme in ["http://", "https://"] {
            let end = String(scheme.dropLast()) + Self.behindSlash
            var start = scheme
            while let href = try next.first(.text(start), .text(end), read: { $0.text(0) }) {
                let host = href.utf8.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "/") }
                let origin = scheme + String(Substring(host))
                start = origin + Self.behindSlash
                let found = try isHeld.first(.text(origin + "/"), .text(start)) { _ in true }
                if found != nil { read(origin) }
            }
        }
    }

    /// The character that follows the slash.
    private static let behindSlash = "0"
}
