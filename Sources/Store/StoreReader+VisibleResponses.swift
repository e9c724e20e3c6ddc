package import Database

/// A response that readers of a site in a snapshot see, with its referrer.
package struct VisibleResponse: Sendable, Equatable {
    package let response: StoredResponse
    /// The URL of the page that first requested it.
    package let referrer: String?

    package init(response: StoredResponse, referrer: String?) {
        self.response = response
        self.referrer = referrer
    }
}

extension StoreReader {
    /// Passes each response that readers of a site see to `take`, for all requests and variants, in the order
    /// of the URLs. Stops when `take` returns false.
    ///
    /// It reads 1024 URLs at a time, so that neither memory nor the write-ahead log grows if `take` is slow.
    ///
    /// - Parameter snapshot: The snapshot to read as of. If nil, the responses are those that readers see now
    ///   for the URLs of the site, even if another site has a newer one.
    package func eachVisibleResponse(
        ofSite site: Int64, asOf snapshot: Int64?, _ take: (VisibleResponse) -> Bool
    ) throws(StoreError) {
        let next = try prepare("SELECT href FROM url WHERE href > ? ORDER BY href LIMIT 1 OFFSET ?")
        var start = ""
        while true {
            let end = try next.first(.text(start), .integer(Self.urlsPerBatch - 1)) { $0.text(0) }
            for response in try visibleResponses(after: start, through: end, site, snapshot) {
                guard take(response) else { return }
            }
            guard let end else { return }
            start = end
        }
    }

    private func visibleResponses(
        after start: String, through end: String?, _ site: Int64, _ snapshot: Int64?
    ) throws(StoreError) -> [VisibleResponse] {
        /// The request and variant of a response. Readers see one response per slot of a URL.
        struct Slot: Hashable {
            let request: RequestKey
            let variant: String
        }
        var responses: [VisibleResponse] = []
        /// The requests for this URL that have a response from an origin.
        var fromOrigin: Set<RequestKey> = []
        var last: Int64?
        /// The snapshot of the newest response in each slot of this URL.
        var newestBySlot: [Slot: Int64] = [:]
        // Readers see the newest response of all sites: a prefetch of another site may have stored it.
        let isVisible =
            snapshot == nil
            ? """
            CAST(?4 AS BIGINT) IS NULL AND \(Schema.isVisible("response")) AND (site.id = ?3 OR EXISTS (
                SELECT 1 FROM response AS own JOIN snapshot ON snapshot.id = own.snapshot JOIN site ON site.id = snapshot.site
                WHERE own.url = url.id AND site.id = ?3 AND \(Schema.isVisible("own"))))
            """
            : """
            site.id = ?3
                AND (response.snapshot <= coalesce((SELECT base FROM snapshot WHERE id = ?4), ?4) OR response.snapshot = ?4)
            """
        // CROSS JOIN makes SQLite read the URLs in the order of their index.
        try eachRow(
            """
            SELECT \(StoredResponse.columns), referrer.href,
                \(Provenance.isSubordinate("response")) AND (CAST(?4 AS BIGINT) IS NULL OR response.snapshot <> ?4)
            FROM url
            CROSS JOIN response ON response.url = url.id
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            LEFT JOIN body ON body.id = response.body
            LEFT JOIN url AS referrer ON referrer.id = response.referrer
            WHERE url.href > ?1 AND url.href <= ?2 AND \(isVisible)
                AND (response.request = '' OR response.request LIKE '% %')
            ORDER BY url.href, CAST(?4 AS BIGINT) IS NULL OR response.snapshot <> ?4 OR NOT \(Provenance.isImported("response")),
                \(StoredResponse.shownFirst)
            """, .text(start), .text(end ?? "\u{7f}"), .integer(site), .optional(snapshot)
        ) { row in
            let response = StoredResponse(row)
            if response.url != last {
                newestBySlot.removeAll(keepingCapacity: true)
                fromOrigin.removeAll(keepingCapacity: true)
            }
            last = response.url
            let isSubordinate = row.integer(19) != 0
            if isSubordinate, fromOrigin.contains(response.request) { return }
            if !isSubordinate { fromOrigin.insert(response.request) }
            // A response that does not vary replaces all older ones.
            let general = newestBySlot[Slot(request: response.request, variant: "")]
            if let general, general > response.snapshot { return }
            let slot = Slot(request: response.request, variant: response.variant)
            guard newestBySlot[slot] == nil else { return }
            // A response that varies replaces all older ones that do not.
            if slot.variant.isEmpty,
                newestBySlot.contains(where: {
                    $0.key.request == slot.request && $0.value > response.snapshot
                })
            {
                return
            }
            newestBySlot[slot] = response.snapshot
            guard response.unlessLost != nil else { return }
            responses.append(VisibleResponse(response: response, referrer: row.optionalText(18)))
        }
        return responses
    }

    private static let urlsPerBatch: Int64 = 1024
}
