package import Web

/// What is held for an URL that was asked for, and under which other URL it was found, if not under its own.
package struct FoundResponse: Sendable, Equatable {
    package let response: StoredResponse
    package let change: LookupCandidate.Change
}

extension StoreReader {
    /// What answers for the URL: what is held under it, else under the URLs that may stand in for it, in their order.
    package func find(
        _ url: WebURL, request: RequestKey = .get, fields: HTTPFields? = nil, rules: CacheRules = CacheRules()
    ) throws(StoreError) -> FoundResponse? {
        for candidate in LookupCandidate.all(for: url, dropsQuery: rules.dropsQuery(of: url)) {
            guard let response = try response(for: candidate.url.href, request: request, fields: fields) else {
                continue
            }
            if candidate.change.contains(.slash), try !isRedirect(from: url, to: candidate.url) { continue }
            return FoundResponse(response: response, change: candidate.change)
        }
        return nil
    }

    /// Whether some visit, shown or not, was led from one URL to the other, by whichever scheme.
    private func isRedirect(from source: WebURL, to target: WebURL) throws(StoreError) -> Bool {
        var isRedirect = false
        for candidate in LookupCandidate.all(for: source) where candidate.change.subtracting(.scheme).isEmpty {
            try eachRow(
                """
                SELECT response.fields FROM response JOIN url ON url.id = response.url
                WHERE url.href = ? AND response.status BETWEEN 300 AND 399
                """, .text(candidate.url.href)
            ) { row in
                let location = HTTPFields(block: row.text(0).utf8.span)["Location"]
                let led = location.flatMap { WebURL($0, base: candidate.url) }?.withoutFragment
                let isThere = led?.host == target.host && led?.port == target.port && led?.target == target.target
                isRedirect = isRedirect || isThere
            }
        }
        return isRedirect
    }
}
