package import Database
internal import Glibc
package import Web

/// A stored response, and how the URL that it was found under differs from the requested one.
package struct FoundResponse: Sendable, Equatable {
    package let response: StoredResponse
    package let change: LookupCandidate.Change
}

extension StoreReader {
    /// Returns the response that is stored for the URL, or else for the first of the URLs that can stand in
    /// for it (`LookupCandidate`). A subordinate import comes after all of them. After these, it tries other
    /// versions of the URL, requests that differ in their times only, and search pages.
    ///
    /// - Parameters:
    ///   - isStrict: Whether a program sent the request, so that few URLs can stand in for the requested one.
    ///   - now: The time in seconds since 1970, by which requests that contain the current time are matched;
    ///     nil to match them exactly.
    package func find(
        _ url: WebURL, request: RequestKey = .get, fields: HTTPFields? = nil,
        rules: CacheRules = CacheRules(),
        isStrict: Bool = false, now: Int64? = nil
    ) throws(StoreError) -> FoundResponse? {
        let busters = rules.cacheBusters(of: url, isStrict: isStrict)
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

    /// Returns the newest response of another version of the URL, if its query or a rule says that it has
    /// versions. Imported responses come after all others.
    private func findVersion(
        of url: WebURL, request: RequestKey, fields: HTTPFields?,
        by common: (WebURL) -> (url: WebURL, change: LookupCandidate.Change)?
    ) throws(StoreError) -> FoundResponse? {
        guard url.isHTTP, let asked = common(url) else { return nil }
        // All URLs that begin like it and have a query: "@" is the character after "?".
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

    /// Returns the response to the same request sent at another time. Pages may for example request the data
    /// of the last hour, whenever they are shown.
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

    /// Returns the response for the same URL at another time, with the times in the query:
    /// `/api?from=1764000000&to=1764003600`.
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
        // The last of them in the order of URLs, if there are many; "@" is the character after "?".
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

    /// A stored request that contains times.
    private struct TimedRequest {
        let href: String
        let request: RequestKey
        /// The key that contains the times.
        let key: RequestKey
    }

    /// Returns the response to the request with the smallest distance in time, and among equals the one that
    /// was fetched last. Imported responses come after all others.
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

    /// Whether any snapshot, visible or not, has a redirect from `source` to `target`, with either scheme.
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

/// Look-up of static pages that search, such as a manual's `search.html?q=jam`: the server returns the same
/// page for every query, and the page's script reads the query.
extension StoreReader {
    /// Returns the page without its query, if it is the same for every query.
    ///
    /// A stored response to another query proves this if it has the same body, and disproves it if not. If
    /// there is none, then the page or one of its scripts must read the query, and its name must be one that
    /// servers do not evaluate.
    private func findSearchPage(
        for url: WebURL, request: RequestKey, fields: HTTPFields?
    ) throws(StoreError) -> FoundResponse? {
        // Front pages are requested with many kinds of queries, and some of these select other pages.
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
    /// The limit for the page and its scripts together.
    private static let mostReadBytes = 16 * 1024 * 1024

    private static func isPage(_ body: StoredBody) -> Bool {
        body.form.hasPrefix("html;") || body.form.hasPrefix("xhtml;")
    }

    /// Whether the query has only words from a search that the page highlights: `?h=jam`, as in MkDocs,
    /// Sphinx and Docusaurus.
    private static func marksWords(_ query: String) -> Bool {
        query.split(separator: "&").allSatisfy {
            ["h", "hl", "highlight", "_highlight"].contains($0.prefix { $0 != "=" })
        }
    }

    private func answersAnyQuery(
        _ page: WebURL, _ response: StoredResponse, _ body: StoredBody, isMark: Bool
    ) throws(StoreError) -> Bool {
        var others: [String] = []
        // "@" is the character after "?".
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

    /// Whether the name is that of a file or of a search. The scripts of any other page may read its URL for
    /// their own purposes.
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

    /// Whether the script contains `location.search` or reads the parameters of a `URL`.
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
