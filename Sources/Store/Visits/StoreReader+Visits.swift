extension StoreReader {
    /// How many pages the newest visit of the site has that is served, or was, and has any.
    package func pageCount(of site: Site) throws(StoreError) -> Int {
        guard let published = site.published else { return 0 }
        let count = try prepare(
            """
            SELECT count(*) FROM response JOIN visit ON visit.id = response.visit
            WHERE visit.site = ? AND visit.id <= ? AND visit.base IS NULL AND response.role = 0 AND response.body IS NOT NULL
            GROUP BY visit.id ORDER BY visit.id DESC
            """
        ).first(.integer(site.id), .integer(published)) { Int($0.integer(0)) }
        return count ?? 0
    }

    /// Whether it is a prefetch run that has ended, so that it may be shown.
    package func isComplete(visit: Int64) throws(StoreError) -> Bool {
        try prepare("SELECT finished IS NOT NULL AND base IS NULL FROM visit WHERE id = ?")
            .first(.integer(visit)) { $0.integer(0) != 0 } ?? false
    }

    /// What readers would find different if the second visit were published instead of the first.
    ///
    /// A visit shows, for each address, the newest response of its site that is not newer than itself, so that an address
    /// that a visit did not reach has not changed.
    package func difference(from first: Int64, to second: Int64) throws(StoreError) -> VisitDifference {
        VisitDifference(from: try shown(by: first), to: try shown(by: second))
    }

    private func shown(by visit: Int64) throws(StoreError) -> [String: VisitDifference.Shown] {
        var shown: [String: VisitDifference.Shown] = [:]
        try eachRow(
            """
            SELECT url.href, response.request, response.status, response.body FROM response
            JOIN url ON url.id = response.url
            JOIN visit ON visit.id = response.visit
            WHERE visit.site = (SELECT site FROM visit WHERE id = ?1)
                AND (response.visit <= coalesce((SELECT base FROM visit WHERE id = ?1), ?1) OR response.visit = ?1)
            ORDER BY response.visit, response.fetched, response.variant
            """, .integer(visit)
        ) { row in
            let (href, request) = (row.text(0), row.text(1))
            // The last of an address is what readers see first.
            shown[request.isEmpty ? href : "\(href) (\(request))"] =
                VisitDifference.Shown(status: Int(row.integer(2)), body: row.optionalInteger(3))
        }
        return shown
    }
}
