/// The pages that were served last, and a page by chance.
extension StoreReader {
    /// A page that was served, and when, in seconds since 1970.
    package struct ReadPage: Sendable, Equatable {
        package let page: StoredResponse
        package let at: Int64
    }

    /// Returns the stored pages that were served last, the latest first. Empty if this user cannot read the records.
    ///
    /// Assets are served more often than pages. So it looks at more records than pages are wanted, but only at
    /// `maxServedRecords`.
    package func lastReadPages(atMost count: Int) throws(StoreError) -> [ReadPage] {
        let served: [(url: Int64, at: Int64)]
        do throws(StoreError) {
            served =
                try ActivityDatabase.openIfExists(folder)?.lastServed(atMost: Self.maxServedRecords) ?? []
        } catch  where error.reason == .denied {
            return []
        }
        let hrefs = try hrefsByID(served.map(\.url))
        var pages: [ReadPage] = []
        for record in served {
            guard pages.count < count else { break }
            // Styles, scripts and images have the role 1.
            guard let href = hrefs[record.url], let page = try response(for: href), page.role == 0,
                page.status == 200, page.body?.title?.isEmpty == false
            else { continue }
            pages.append(ReadPage(page: page, at: record.at))
        }
        return pages
    }

    private static let maxServedRecords = 400

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
