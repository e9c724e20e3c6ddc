/// The pages that people read last, and a page by chance.
extension StoreReader {
    /// A page that a person opened, and when, in seconds since 1970.
    package struct ReadPage: Sendable, Equatable {
        package let page: StoredResponse
        /// The earlier snapshot in which the person opened the page; nil for the live one.
        package let snapshot: Snapshot?
        package let at: Int64
    }

    /// Returns the stored pages that people read last, the latest first, each in the snapshot in which it was read if that
    /// is still stored. Empty if this user cannot read the records.
    ///
    /// Some records are of pages without a title, such as pictures. So it looks at more records than pages are wanted, but
    /// only at `maxReadings`.
    package func lastReadPages(atMost count: Int) throws(StoreError) -> [ReadPage] {
        let readings: [Reading]
        do throws(StoreError) {
            readings = try ActivityDatabase.openIfExists(folder)?.lastReadings(atMost: Self.maxReadings) ?? []
        } catch  where error.reason == .denied {
            return []
        }
        let hrefs = try hrefsByID(readings.map(\.url))
        var earlierSnapshots: [Int64: Snapshot] = [:]
        if readings.contains(where: { $0.snapshot != nil }) {
            for site in try sites() {
                for snapshot in site.snapshots
                where snapshot.id != site.published && snapshot.finished != nil && snapshot.base == nil {
                    earlierSnapshots[snapshot.id] = snapshot
                }
            }
        }
        /// Whether it is a page with a title. Styles, scripts and images have the role 1.
        func isPage(_ response: StoredResponse) -> Bool {
            response.role == 0 && response.status == 200 && response.body?.title?.isEmpty == false
        }
        var pages: [ReadPage] = []
        for reading in readings {
            guard pages.count < count else { break }
            guard let href = hrefs[reading.url] else { continue }
            if let snapshot = reading.snapshot.flatMap({ earlierSnapshots[$0] }),
                let page = try response(for: href, ofSnapshot: snapshot.id), isPage(page)
            {
                pages.append(ReadPage(page: page, snapshot: snapshot, at: reading.at))
            } else if let page = try response(for: href), isPage(page) {
                pages.append(ReadPage(page: page, snapshot: nil, at: reading.at))
            }
        }
        return pages
    }

    private static let maxReadings = 400

    /// The highest id of a URL; 0 in an empty store.
    package func lastURL() throws(StoreError) -> Int64 {
        try prepare("SELECT coalesce(max(id), 0) FROM url").first { $0.integer(0) } ?? 0
    }

    /// Returns the first page whose URL has at least this id; nil if there is none.
    package func firstPage(fromURL id: Int64) throws(StoreError) -> VisibleEntry? {
        let site: Int64? = nil
        return try prepare(
            """
            SELECT \(VisibleEntry.columns) FROM response
            CROSS JOIN snapshot ON snapshot.id = response.snapshot
            CROSS JOIN site ON site.id = snapshot.site
            CROSS JOIN url ON url.id = response.url
            LEFT JOIN body ON body.id = response.body
            WHERE \(VisibleEntry.isVisible) AND response.url >= ?2 AND response.request = ''
                AND response.role = 0 AND response.status = 200 AND \(VisibleEntry.isNewest)
            ORDER BY response.url LIMIT 1
            """
        ).first(.optional(site), .integer(id)) { VisibleEntry($0) }
    }
}
