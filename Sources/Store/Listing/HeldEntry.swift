/// What readers get for an URL, as a line of a list for people.
package struct HeldEntry: Sendable, Equatable {
    /// The number of its URL in this store.
    package let url: Int64
    package let href: String
    package let site: Int64
    package let visit: Int64
    package let status: Int
    package let role: UInt8
    package let type: String?
    /// Seconds since 1970.
    package let fetched: Int64
    /// Nil for a redirect, or what is gone.
    package let body: StoredBody?
}

extension HeldEntry {
    /// What `init(_:)` reads, from `response` with its `url`, its `visit` and, where it has one, its `body`.
    static let columns = """
        url.id, url.href, visit.site, response.visit, response.status, response.role, response.type, response.fetched,
        \(StoredBody.columns)
        """

    /// Of plain responses with their `visit` and `site`: those that readers may see, of the site ?1 or of all.
    static let isVisible = """
        (?1 IS NULL OR site.id = ?1) AND \(Schema.isVisible("response"))
        """

    /// The newest that its site shows for its URL.
    static let isNewest = """
        NOT EXISTS (
            SELECT 1 FROM response AS newer JOIN visit AS later ON later.id = newer.visit
            WHERE newer.url = response.url AND newer.request = '' AND newer.visit > response.visit
                AND later.site = site.id AND \(Schema.isVisible("newer")))
        """

    init(_ row: Row) {
        url = row.integer(0)
        href = row.text(1)
        site = row.integer(2)
        visit = row.integer(3)
        status = Int(row.integer(4))
        role = UInt8(truncatingIfNeeded: row.integer(5))
        type = row.optionalText(6)
        fetched = row.integer(7)
        body = StoredBody(row, from: 8)
    }
}
