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
        let busters = rules.busters(of: url)
        let dropsQuery = rules.dropsQuery(of: url)
        for candidate in LookupCandidate.all(for: url, busters: busters, dropsQuery: dropsQuery) {
            guard let response = try response(for: candidate.url.href, request: request, fields: fields) else {
                continue
            }
            if candidate.change.contains(.slash), try !isRedirect(from: url, to: candidate.url) { continue }
            return FoundResponse(response: response, change: candidate.change)
        }
        let version = try findVersion(of: url, request: request, fields: fields) {
            LookupCandidate.common(of: $0, busters: busters, dropsQuery: dropsQuery)
        }
        if let version { return version }
        return try findSearchPage(for: url, request: request, fields: fields)
    }

    /// Another version of the URL, where its query says that there are others, or a rule does: the one that came last.
    private func findVersion(
        of url: WebURL, request: RequestKey, fields: HTTPFields?,
        by common: (WebURL) -> (url: WebURL, change: LookupCandidate.Change)?
    ) throws(StoreError) -> FoundResponse? {
        guard url.isHTTP, let asked = common(url) else { return nil }
        // All that begin like it, with a query: "@" follows the question mark.
        let start = asked.url.href.prefix { $0 != "?" }
        var versions: [String] = []
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? LIMIT ?", .text(start + "?"), .text(start + "@"),
            .integer(Self.mostVersions)
        ) { row in
            if let other = WebURL(row.text(0)).flatMap(common), other.url == asked.url { versions.append(row.text(0)) }
        }
        var newest: StoredResponse?
        for href in versions {
            guard let response = try response(for: href, request: request, fields: fields) else { continue }
            if newest.map({ response.fetched > $0.fetched }) ?? true { newest = response }
        }
        return newest.map { FoundResponse(response: $0, change: asked.change) }
    }

    private static let mostVersions: Int64 = 1000

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
