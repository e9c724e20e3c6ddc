package import Database

/// A response that readers of a site see, with its referrer.
package struct VisibleResponse: Sendable, Equatable {
    package let response: StoredResponse
    /// The URL of the page that first requested it; nil if the user or a client did.
    package let referrer: String?

    package init(response: StoredResponse, referrer: String?) {
        self.response = response
        self.referrer = referrer
    }
}

extension StoreReader {
    /// Passes each response that readers of a site see to `body`, in the order of the URLs. For each URL, these are the
    /// responses to all requests and all of their variants. Lost responses and outdated assets (`outdatedAssets`) are left
    /// out.
    ///
    /// It reads 1024 URLs at a time and calls `body` between these reads. An open read would keep the write-ahead log
    /// from being truncated while a slow `body` writes an archive.
    ///
    /// - Parameters:
    ///   - site: The id of the site.
    ///   - snapshot: The id of a snapshot of the site. Only responses of the site count, up to this snapshot; for an overlay,
    ///     up to its base. If nil, the live snapshots and overlays of all sites count: for a URL of this site, another
    ///     site may have a newer response.
    ///   - body: Receives each response. Return false to stop.
    package func eachVisibleResponse(
        ofSite site: Int64, asOf snapshot: Int64?, _ body: (VisibleResponse) -> Bool
    ) throws(StoreError) {
        let findEnd = try prepare("SELECT href FROM url WHERE href > ? ORDER BY href LIMIT 1 OFFSET ?")
        let outdated =
            if let snapshot {
                try outdatedAssets(ofSite: site, asOf: snapshot)
            } else {
                try outdatedAssets(ofSite: site)[site] ?? []
            }
        var start = ""
        while true {
            // The last URL of this batch; nil if fewer URLs remain than a batch has.
            let end = try findEnd.first(.text(start), .integer(Self.urlsPerBatch - 1)) { $0.text(0) }
            for row in try visibleResponses(after: start, through: end, site, snapshot)
            where !outdated.contains(row.response.url) {
                guard body(row) else { return }
            }
            guard let end else { return }
            start = end
        }
    }

    /// Returns the visible responses of the URLs in a range, which may be empty.
    ///
    /// The statement returns all candidates of a URL, the best first (`StoredResponse.readerOrder`). The closure then
    /// drops those that an earlier row hides, by the same rules as `response(for:request:fields:)`.
    ///
    /// - Parameter end: The last URL; nil for all URLs after `start`.
    private func visibleResponses(
        after start: String, through end: String?, _ site: Int64, _ snapshot: Int64?
    ) throws(StoreError) -> [VisibleResponse] {
        /// A request for a URL, and a variant of its response. Readers see one response for each slot.
        struct Slot: Hashable {
            let request: RequestKey
            let variant: String
        }
        var rows: [VisibleResponse] = []
        /// The requests for the URL that have a response from the origin.
        var requestsWithOrigin: Set<RequestKey> = []
        /// The id of the URL of the last row.
        var url: Int64?
        /// The snapshot of the visible response in each slot of the URL.
        var snapshots: [Slot: Int64] = [:]
        let isCandidate =
            // Without a snapshot, the newest response for a URL of the site may be stored by another site.
            snapshot == nil
            ? """
            CAST(?4 AS BIGINT) IS NULL AND \(Schema.isVisible("response")) AND (site.id = ?3 OR EXISTS (
                SELECT 1 FROM response AS own JOIN snapshot ON snapshot.id = own.snapshot JOIN site ON site.id = snapshot.site
                WHERE own.url = url.id AND site.id = ?3 AND \(Schema.isVisible("own"))))
            """
            : """
            site.id = ?3
                AND \(Schema.isVisible(asOf: "?4"))
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
            WHERE url.href > ?1 AND url.href <= ?2 AND \(isCandidate)
                AND (response.request = '' OR response.request LIKE '% %')
            ORDER BY url.href, CAST(?4 AS BIGINT) IS NULL OR response.snapshot <> ?4 OR NOT \(Provenance.isImported("response")),
                \(StoredResponse.readerOrder)
            """, .text(start), .text(end ?? Self.afterAllURLs), .integer(site), .optional(snapshot)
        ) { row in
            let response = StoredResponse(row)
            if response.url != url {
                snapshots.removeAll(keepingCapacity: true)
                requestsWithOrigin.removeAll(keepingCapacity: true)
            }
            url = response.url
            let isSubordinate = row.integer(StoredResponse.columnCount + 1) != 0
            if isSubordinate, requestsWithOrigin.contains(response.request) { return }
            if !isSubordinate { requestsWithOrigin.insert(response.request) }
            // A response that does not vary hides all older ones, whether they vary or not.
            let plainSnapshot = snapshots[Slot(request: response.request, variant: "")]
            if let plainSnapshot, plainSnapshot > response.snapshot { return }
            let slot = Slot(request: response.request, variant: response.variant)
            guard snapshots[slot] == nil else { return }
            // A response that varies hides all older ones that do not.
            if slot.variant.isEmpty,
                snapshots.contains(where: { $0.key.request == slot.request && $0.value > response.snapshot })
            {
                return
            }
            snapshots[slot] = response.snapshot
            guard response.unlessLost != nil else { return }
            rows.append(
                VisibleResponse(response: response, referrer: row.optionalText(StoredResponse.columnCount)))
        }
        return rows
    }

    private static let urlsPerBatch: Int64 = 1024

    /// Sorts after all URLs, which are in printable ASCII.
    private static let afterAllURLs = "\u{7f}"
}
