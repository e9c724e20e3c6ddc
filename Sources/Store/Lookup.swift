internal import Glibc
package import Web

/// What is held for an URL that was asked for, and under which other URL it was found, if not under its own.
package struct FoundResponse: Sendable, Equatable {
    package let response: StoredResponse
    package let change: LookupCandidate.Change
}

extension StoreReader {
    /// What answers for the URL: what is held under it, else under the URLs that may stand in for it, in
    /// their order. A subordinate import comes after all of them.
    ///
    /// - Parameters:
    ///   - isStrict: a program asks, to which little stands in.
    ///   - now: in seconds since 1970, for what is asked for with the time of day; nil where that is to be the
    ///     same.
    package func find(
        _ url: WebURL, request: RequestKey = .get, fields: HTTPFields? = nil,
        rules: CacheRules = CacheRules(),
        isStrict: Bool = false, now: Int64? = nil
    ) throws(StoreError) -> FoundResponse? {
        let busters = rules.busters(of: url, isStrict: isStrict)
        let (dropsQuery, ignoresOrder) = (rules.dropsQuery(of: url), rules.ignoresOrder(of: url))
        var imported: FoundResponse?
        for candidate in LookupCandidate.all(
            for: url, busters: busters, dropsQuery: dropsQuery, isStrict: isStrict)
        {
            guard let response = try response(for: candidate.url.href, request: request, fields: fields)
            else {
                continue
            }
            if candidate.change.contains(.slash), try !isRedirect(from: url, to: candidate.url) { continue }
            let found = FoundResponse(response: response, change: candidate.change)
            guard yieldsToOrigin(response) else { return found }
            imported = imported ?? found
        }
        if let imported { return imported }
        let common = {
            LookupCandidate.common(
                of: $0, busters: busters, dropsQuery: dropsQuery, ignoresOrder: ignoresOrder)
        }
        let version = try findVersion(of: url, request: request, fields: fields, by: common)
        if version != nil || isStrict { return version }
        if let now {
            if request.isOfTime { return try findSent(request, to: url, fields: fields, now: now) }
            if request == .get, let asked = try findAsked(url, fields: fields, now: now, by: common) {
                return asked
            }
        }
        return try findSearchPage(for: url, request: request, fields: fields)
    }

    /// Another version of the URL, where its query says that there are others, or a rule does: the one that
    /// came last, imported ones after all others.
    private func findVersion(
        of url: WebURL, request: RequestKey, fields: HTTPFields?,
        by common: (WebURL) -> (url: WebURL, change: LookupCandidate.Change)?
    ) throws(StoreError) -> FoundResponse? {
        guard url.isHTTP, let asked = common(url) else { return nil }
        // All that begin like it, with a query: "@" follows the question mark.
        let start = asked.url.href.prefix { $0 != "?" }
        var versions: [String] = []
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? LIMIT ?", .text(start + "?"),
            .text(start + "@"),
            .integer(Self.mostVersions)
        ) { row in
            if let other = WebURL(row.text(0)).flatMap(common), other.url == asked.url {
                versions.append(row.text(0))
            }
        }
        var newest: StoredResponse?
        for href in versions {
            guard let response = try response(for: href, request: request, fields: fields) else { continue }
            let isBetter = newest.map { newest in
                response.isImported == newest.isImported
                    ? response.fetched > newest.fetched : newest.isImported
            }
            if isBetter ?? true { newest = response }
        }
        return newest.map { FoundResponse(response: $0, change: asked.change) }
    }

    private static let mostVersions: Int64 = 1000

    /// What was answered when the same was sent at another time: pages ask for the last hour, whenever they
    /// are shown.
    private func findSent(
        _ request: RequestKey, to url: WebURL, fields: HTTPFields?, now: Int64
    ) throws(StoreError) -> FoundResponse? {
        var sent: [TimedRequest] = []
        try eachRow(
            """
            SELECT DISTINCT response.request FROM response
            WHERE response.url = (SELECT id FROM url WHERE href = ?) AND response.request > ?
                AND response.request < ? LIMIT ?
            """, .text(url.href), .text(request.method + " "), .text(request.method + "!"),
            .integer(Self.mostVersions)
        ) { row in
            let key = RequestKey(stored: row.text(0))
            sent.append(TimedRequest(href: url.href, request: key, key: key))
        }
        return try nearest(to: request, of: sent, fields: fields, now: now)
    }

    /// The same where the moments stand in the query: `/api?from=1764000000&to=1764003600`.
    private func findAsked(
        _ url: WebURL, fields: HTTPFields?, now: Int64,
        by common: (WebURL) -> (url: WebURL, change: LookupCandidate.Change)?
    ) throws(StoreError) -> FoundResponse? {
        func key(of url: WebURL) -> RequestKey? {
            (common(url)?.url ?? url).query.flatMap { RequestKey(query: $0) }
        }
        guard url.isHTTP, let own = key(of: url) else { return nil }
        let start = url.href.prefix { $0 != "?" }
        var asked: [TimedRequest] = []
        // The latest of many; "@" follows the question mark.
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href DESC LIMIT ?",
            .text(start + "?"), .text(start + "@"), .integer(Self.mostVersions)
        ) { row in
            let href = row.text(0)
            if let key = WebURL(href).flatMap(key) {
                asked.append(TimedRequest(href: href, request: .get, key: key))
            }
        }
        return try nearest(to: own, of: asked, fields: fields, now: now)
    }

    private struct TimedRequest {
        let href: String
        let request: RequestKey
        /// With the moments.
        let key: RequestKey
    }

    /// Of several the one that is the nearest, and then the latest; imported ones come after all others.
    private func nearest(
        to request: RequestKey, of others: [TimedRequest], fields: HTTPFields?, now: Int64
    ) throws(StoreError) -> FoundResponse? {
        var best: (response: StoredResponse, distance: Int64)?
        for other in others where other.key.isLike(request) {
            guard let found = try response(for: other.href, request: other.request, fields: fields),
                let distance = request.distance(to: other.key, sentBefore: now - found.fetched)
            else { continue }
            if let best {
                let isLater = (best.distance, -best.response.fetched) <= (distance, -found.fetched)
                if best.response.isImported == found.isImported ? isLater : found.isImported { continue }
            }
            best = (found, distance)
        }
        return best.map { FoundResponse(response: $0.response, change: .time) }
    }

    /// Whether some snapshot, shown or not, was led from one URL to the other, by whichever scheme.
    private func isRedirect(from source: WebURL, to target: WebURL) throws(StoreError) -> Bool {
        var isRedirect = false
        for candidate in LookupCandidate.all(for: source) where candidate.change.subtracting(.scheme).isEmpty
        {
            try eachRow(
                """
                SELECT response.fields FROM response JOIN url ON url.id = response.url
                WHERE url.href = ? AND response.status BETWEEN 300 AND 399
                """, .text(candidate.url.href)
            ) { row in
                let location = HTTPFields(block: row.text(0).utf8.span)["Location"]
                let led = location.flatMap { WebURL($0, base: candidate.url) }?.withoutFragment
                let isThere =
                    led?.host == target.host && led?.port == target.port && led?.target == target.target
                isRedirect = isRedirect || isThere
            }
        }
        return isRedirect
    }
}

/// Static pages that search, such as a manual's `search.html?q=jam`: a server gives the same page whatever
/// the query is, and its scripts read that.
extension StoreReader {
    /// The page without its query, where it answers any. That is proven by another query that was answered
    /// with the very same body, and disproven by one that was not; else it is the page's own script, or one
    /// that it needs, that reads the query, and a name by which no server does.
    private func findSearchPage(
        for url: WebURL, request: RequestKey, fields: HTTPFields?
    ) throws(StoreError) -> FoundResponse? {
        // A front page is asked for with all kinds of queries, some of which lead to other pages.
        guard request == .get, url.isHTTP, url.path != "/", url.query?.isEmpty == false,
            let page = url.replacingQuery(nil)
        else {
            return nil
        }
        let candidates: [(url: WebURL?, change: LookupCandidate.Change)] = [
            (page, .search), (page.otherScheme, [.search, .scheme]),
        ]
        for (candidate, change) in candidates {
            guard let candidate, let response = try response(for: candidate.href, fields: fields),
                response.status == 200, let body = response.body, Self.isPage(body)
            else { continue }
            let isMark = Self.marksWords(url.query ?? "")
            guard try answersAnyQuery(candidate, response, body, isMark: isMark) else { return nil }
            return FoundResponse(response: response, change: change)
        }
        return nil
    }

    private static let mostQueries: Int64 = 100
    private static let mostScripts = 100
    /// Of the page and its scripts together.
    private static let mostReadBytes = 16 * 1024 * 1024

    private static func isPage(_ body: StoredBody) -> Bool {
        body.form.hasPrefix("html;") || body.form.hasPrefix("xhtml;")
    }

    /// The words that a search has found, for the page to mark them: `?h=jam`, as MkDocs, Sphinx and Docusaurus have it.
    private static func marksWords(_ query: String) -> Bool {
        query.split(separator: "&").allSatisfy {
            ["h", "hl", "highlight", "_highlight"].contains($0.prefix { $0 != "=" })
        }
    }

    private func answersAnyQuery(
        _ page: WebURL, _ response: StoredResponse, _ body: StoredBody, isMark: Bool
    ) throws(StoreError) -> Bool {
        var others: [String] = []
        // "@" follows the question mark.
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? LIMIT ?", .text(page.href + "?"),
            .text(page.href + "@"),
            .integer(Self.mostQueries)
        ) { others.append($0.text(0)) }
        var isProven = false
        for other in others {
            guard let answer = try self.response(for: other), answer.status < 400 else { continue }
            guard answer.body?.id == body.id else { return false }
            isProven = true
        }
        if isProven { return true }
        return isMark || Self.isStatic(page.path) ? try readsQuery(response, body) : false
    }

    /// A file by its name, or a search by its own: a script may look at the address of any page for its own
    /// ends.
    private static func isStatic(_ path: String) -> Bool {
        let path = path.lowercased()
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        return [".html", ".htm", ".xhtml"].contains { name.hasSuffix($0) } || name == "search"
    }

    private func readsQuery(_ page: StoredResponse, _ body: StoredBody) throws(StoreError) -> Bool {
        var room = Self.mostReadBytes
        func reads(_ body: StoredBody) throws(StoreError) -> Bool {
            room -= body.byteCount
            guard room >= 0, let content = try content(of: body) else { return false }
            return Self.readsQuery(try content.load())
        }
        if try reads(body) { return true }
        guard let links = try linkNumbers(of: page) else { return false }
        for number in links.assets.prefix(Self.mostScripts) {
            guard let href = try address(of: number), let script = try response(for: href)?.body,
                script.form.hasPrefix("javaScript;")
            else { continue }
            if try reads(script) { return true }
        }
        return false
    }

    /// `location.search`, or the parameters of a URL.
    private static func readsQuery(_ script: [UInt8]) -> Bool {
        script.withUnsafeBytes { script in
            ["location.search", ".searchParams"].contains { (word: StaticString) in
                contains(word, script)
            }
        }
    }

    private static func contains(_ word: StaticString, _ bytes: UnsafeRawBufferPointer) -> Bool {
        let length = word.utf8CodeUnitCount
        guard let base = bytes.baseAddress, bytes.count >= length else { return false }
        var start = 0
        while start <= bytes.count - length,
            let found = memchr(base + start, Int32(word.utf8Start[0]), bytes.count - length - start + 1)
        {
            if memcmp(found, word.utf8Start, length) == 0 { return true }
            start = UnsafeRawPointer(found) - base + 1
        }
        return false
    }
}
