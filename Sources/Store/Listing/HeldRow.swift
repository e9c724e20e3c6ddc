/// A stored response with where it belongs.
package struct HeldRow: Sendable, Equatable {
    package let response: StoredResponse
    /// The name of its site.
    package let site: String
    /// The page that first asked for it.
    package let referrer: String?
    /// A reader gets it: of what its URL answered to the same request, it is the newest that is published.
    package let isShown: Bool
}

extension StoreReader {
    /// Everything that is held under the address, whatever the visit, the request and the variant; the newest visit first.
    package func rows(of href: String) throws(StoreError) -> [HeldRow] {
        struct Slot: Hashable {
            let request: RequestKey
            let variant: String
        }
        var rows: [HeldRow] = []
        var shown: Set<Slot> = []
        // In the order in which readers look.
        try eachRow(
            """
            SELECT \(StoredResponse.columns), site.name, referrer.href,
                \(Schema.isVisible("response"))
            FROM url
            JOIN response ON response.url = url.id
            JOIN visit ON visit.id = response.visit
            JOIN site ON site.id = visit.site
            LEFT JOIN body ON body.id = response.body
            LEFT JOIN url AS referrer ON referrer.id = response.referrer
            WHERE url.href = ?
            ORDER BY \(StoredResponse.shownFirst)
            """, .text(href)
        ) { row in
            let response = StoredResponse(row)
            let slot = Slot(request: response.request, variant: response.variant)
            let isShown = row.integer(20) != 0 && shown.insert(slot).inserted
            rows.append(
                HeldRow(response: response, site: row.text(18), referrer: row.optionalText(19), isShown: isShown))
        }
        return rows.sorted { $0.response.visit > $1.response.visit }
    }
}
