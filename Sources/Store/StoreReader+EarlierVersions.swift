internal import Database

extension StoreReader {
    /// Returns the responses with a stored body that snapshots of one site have, the newest first: those whose bodies
    /// a client of the site may have received, and may offer as compression dictionaries. Private responses, parts and
    /// encoded bodies are left out, and so are those of other sites.
    ///
    /// - Parameters:
    ///   - sha256: The digest of the stored body.
    ///   - snapshot: A snapshot of the site.
    package func earlierVersions(
        withBody sha256: [UInt8], inSiteOfSnapshot snapshot: Int64, atMost count: Int
    ) throws(StoreError) -> [StoredResponse] {
        try earlierVersions("body.sha256 = ?", .blob(sha256), snapshot, count)
    }

    /// Returns the same for the bodies of one URL, each once.
    package func earlierVersions(
        of href: String, inSiteOfSnapshot snapshot: Int64, atMost count: Int
    ) throws(StoreError) -> [StoredResponse] {
        var bodies: Set<[UInt8]> = []
        return try earlierVersions("url.href = ?", .text(href), snapshot, count)
            .filter { response in response.body.map { bodies.insert($0.sha256).inserted } ?? false }
    }

    private func earlierVersions(
        _ condition: String, _ value: SQLValue, _ snapshot: Int64, _ count: Int
    ) throws(StoreError) -> [StoredResponse] {
        let excluded = ResponseFlags([.isPrivate, .isPart, .isCoded, .isLost]).rawValue
        var responses: [StoredResponse] = []
        try prepare(
            """
            SELECT \(StoredResponse.columns) FROM response JOIN url ON url.id = response.url
            JOIN body ON body.id = response.body JOIN snapshot ON snapshot.id = response.snapshot
            WHERE \(condition) AND response.request = ? AND response.status = 200
                AND (response.flags & \(excluded)) = 0
                AND snapshot.site = (SELECT site FROM snapshot WHERE id = ?)
            ORDER BY response.snapshot DESC LIMIT ?
            """
        ).each([value, .text(RequestKey.get.text), .integer(snapshot), .integer(Int64(count))]) { row in
            responses.append(StoredResponse(row))
        }
        return responses
    }
}
