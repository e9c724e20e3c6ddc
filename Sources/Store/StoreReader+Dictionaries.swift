internal import Database

extension StoreReader {
    /// Returns the responses of an origin that one site shows to readers, and that their server permits to use as
    /// compression dictionaries (RFC 9842), the last fetched first. Pages, private responses, imports and encoded
    /// bodies are left out, and so are responses that the site has replaced since.
    ///
    /// The headers of all assets of the origin are read, so call it once for an origin.
    ///
    /// - Parameter snapshot: A snapshot of the site.
    package func dictionaries(
        ofOrigin origin: String, inSiteOfSnapshot snapshot: Int64, atMost count: Int
    ) throws(StoreError) -> [StoredResponse] {
        let excluded = ResponseFlags([.isPrivate, .isPart, .isCoded, .isLost, .isImported]).rawValue
        var responses: [StoredResponse] = []
        // "0" is the character after the slash.
        try prepare(
            """
            SELECT \(StoredResponse.columns) FROM url JOIN response ON response.url = url.id
            JOIN body ON body.id = response.body JOIN snapshot ON snapshot.id = response.snapshot
            JOIN site ON site.id = snapshot.site
            WHERE url.href >= ? AND url.href < ? AND response.request = ? AND response.role <> 0
                AND response.status = 200 AND (response.flags & \(excluded)) = 0
                AND site.id = (SELECT site FROM snapshot WHERE id = ?) AND \(Schema.isVisible("response"))
                AND lower(response.fields) LIKE '%use-as-dictionary:%'
                AND NOT EXISTS (
                    SELECT 1 FROM response AS newer JOIN snapshot AS later ON later.id = newer.snapshot
                    WHERE newer.url = response.url AND newer.request = response.request
                        AND newer.snapshot > response.snapshot AND later.site = site.id
                        AND \(Schema.isVisible("newer", in: "later")))
            ORDER BY response.fetched DESC LIMIT ?
            """
        ).each([
            .text(origin + "/"), .text(origin + "0"), .text(RequestKey.get.text), .integer(snapshot),
            .integer(Int64(count)),
        ]) { row in responses.append(StoredResponse(row)) }
        return responses
    }
}
