package import Database
internal import Glibc
package import Web

/// A stored response that answers a request, and how its URL differs from the requested one.
package struct LookupResult: Sendable, Equatable {
    package let response: StoredResponse
    package let change: LookupCandidate.Change
}

extension StoreReader {
    /// Returns the stored response that best answers a request for the URL. Offline, a similar URL is better
    /// than a miss, so it tries in this order:
    ///
    /// 1. the URL itself, then the URLs that can stand in for it (`LookupCandidate`), such as the one with the
    ///    other scheme or without cache-busting parameters;
    /// 2. a subordinate import (`StoredResponse.isSubordinate`) for any of these;
    /// 3. a script that calls another function with the same data (`JSONPCallback`);
    /// 4. another version of the URL, such as `app.js?v=2` for `app.js?v=3`;
    /// 5. a request that differs only in the times that it contains (if `now` is given);
    /// 6. a request that differs only in values that describe the device, such as sizes (if `now` is given);
    /// 7. the page without its query, if its script reads the query, as for `search.html?q=jam`.
    ///
    /// If `isStrict`, only steps 1, 2 and 4 are tried.
    ///
    /// - Parameters:
    ///   - isStrict: Whether a program sent the request, so that few URLs can stand in for the requested one.
    ///   - now: The time in seconds since 1970, by which requests that contain the current time are matched;
    ///     nil to match them exactly.
    package func lookUp(
        _ url: WebURL, request: RequestKey = .get, fields: HTTPFields? = nil,
        rules: CacheRules = CacheRules(),
        isStrict: Bool = false, now: Int64? = nil
    ) throws(StoreError) -> LookupResult? {
        let busters = rules.cacheBusters(of: url, isStrict: isStrict)
        let (dropsQuery, ignoresOrder) = (rules.dropsQuery(of: url), rules.ignoresOrder(of: url))
        var imported: LookupResult?
        for candidate in LookupCandidate.all(
            for: url, busters: busters, dropsQuery: dropsQuery, isStrict: isStrict)
        {
            guard let response = try response(for: candidate.url.href, request: request, fields: fields)
            else {
                continue
            }
            if candidate.change.contains(.slash), try !isRedirect(from: url, to: candidate.url) { continue }
            let found = LookupResult(response: response, change: candidate.change)
            guard yieldsToOrigin(response) else { return found }
            imported = imported ?? found
        }
        if let imported { return imported }
        let commonForm = {
            LookupCandidate.common(
                of: $0, busters: busters, dropsQuery: dropsQuery, ignoresOrder: ignoresOrder)
        }
        if !isStrict, request == .get, let call = JSONPCallback(of: url),
            let result = try findOtherCallback(call, for: url, fields: fields, by: commonForm)
        {
            return result
        }
        let version = try findVersion(of: url, request: request, fields: fields, by: commonForm)
        if version != nil || isStrict { return version }
        if let now {
            if request.containsTimes {
                return try findRequestAtOtherTime(request, to: url, fields: fields, now: now)
            }
            if request == .get,
                let result = try findURLAtOtherTime(
                    url, fields: fields, now: now, by: commonForm)
            {
                return result
            }
            if request == .get, let device = RequestedDevice(of: url),
                let result = try findOtherDevice(device, of: url, fields: fields)
            {
                return result
            }
        }
        return try findSearchPage(for: url, request: request, fields: fields)
    }

    /// Returns the newest response of another version of the URL, if its query or a rule says that it has
    /// versions.
    private func findVersion(
        of url: WebURL, request: RequestKey, fields: HTTPFields?,
        by commonForm: (WebURL) -> (url: WebURL, change: LookupCandidate.Change)?
    ) throws(StoreError) -> LookupResult? {
        guard url.isHTTP, let requested = commonForm(url) else { return nil }
        let versions = try hrefs(withPathOf: requested.url, limit: Self.maxVersions).filter {
            WebURL($0).flatMap(commonForm)?.url == requested.url
        }
        return try newestResponse(of: versions, request: request, fields: fields).map {
            LookupResult(response: $0, change: requested.change)
        }
    }

    /// Returns the newest script for the same URL with another callback.
    private func findOtherCallback(
        _ call: JSONPCallback, for url: WebURL, fields: HTTPFields?,
        by commonForm: (WebURL) -> (url: WebURL, change: LookupCandidate.Change)?
    ) throws(StoreError) -> LookupResult? {
        let rest = commonForm(call.rest)?.url ?? call.rest
        let others = try hrefs(withPathOf: url, limit: Self.maxVersions).filter {
            let other = WebURL($0).flatMap { JSONPCallback(of: $0)?.rest }
            return other.map { commonForm($0)?.url ?? $0 } == rest
        }
        let newest = try newestResponse(of: others, fields: fields) {
            $0.status == 200
                && HTTPFields(block: $0.fields.utf8.span).contentType?.isJavaScript ?? false
        }
        return newest.map { LookupResult(response: $0, change: .callback) }
    }

    /// Returns the response for the device with the nearest sizes. If no stored URL has the same language and other traits,
    /// all of them must have the same traits: of several, none is known to be the one that the server would choose.
    private func findOtherDevice(
        _ device: RequestedDevice, of url: WebURL, fields: HTTPFields?
    ) throws(StoreError) -> LookupResult? {
        let others = try hrefs(withPathOf: url, limit: Self.maxVersions).compactMap { href in
            let other = WebURL(href).flatMap { RequestedDevice(of: $0) }
            let distance = other.flatMap(device.distance)
            return distance.map { (href: href, traits: other?.traits, distance: $0) }
        }
        let same = others.filter { $0.traits == device.traits }
        let candidates = same.isEmpty && Set(others.map(\.traits)).count == 1 ? others : same
        for other in candidates.sorted(by: { $0.distance < $1.distance }) {
            guard let response = try response(for: other.href, fields: fields), response.status == 200 else {
                continue
            }
            return LookupResult(response: response, change: .device)
        }
        return nil
    }

    /// The stored URLs that have the same path and a query.
    private func hrefs(withPathOf url: WebURL, limit: Int64) throws(StoreError) -> [String] {
        let start = url.href.prefix { $0 != "?" }
        var hrefs: [String] = []
        // "@" is the character after "?".
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? LIMIT ?", .text(start + "?"),
            .text(start + "@"), .integer(limit)
        ) { hrefs.append($0.text(0)) }
        return hrefs
    }

    /// Returns the newest response to a request for one of these URLs. Imported responses come after all others.
    private func newestResponse(
        of hrefs: [String], request: RequestKey = .get, fields: HTTPFields?,
        where isSuitable: (StoredResponse) -> Bool = { _ in true }
    ) throws(StoreError) -> StoredResponse? {
        var newest: StoredResponse?
        for href in hrefs {
            guard let response = try response(for: href, request: request, fields: fields),
                isSuitable(response)
            else { continue }
            let isBetter = newest.map { newest in
                response.isImported == newest.isImported
                    ? response.fetched > newest.fetched : newest.isImported
            }
            if isBetter ?? true { newest = response }
        }
        return newest
    }

    /// The maximum number of URLs or requests that are compared with the requested one. Further ones are ignored.
    private static let maxVersions: Int64 = 1000

    /// Returns the response to the same request sent at another time. Pages may for example request the data
    /// of the last hour, whenever they are shown.
    private func findRequestAtOtherTime(
        _ request: RequestKey, to url: WebURL, fields: HTTPFields?, now: Int64
    ) throws(StoreError) -> LookupResult? {
        var stored: [TimedRequest] = []
        try eachRow(
            """
            SELECT DISTINCT response.request FROM response
            WHERE response.url = (SELECT id FROM url WHERE href = ?) AND response.request > ?
                AND response.request < ? LIMIT ?
            """, .text(url.href), .text(request.method + " "), .text(request.method + "!"),
            .integer(Self.maxVersions)
        ) { row in
            let key = RequestKey(stored: row.text(0))
            stored.append(TimedRequest(href: url.href, request: key, key: key))
        }
        return try nearest(to: request, of: stored, fields: fields, now: now)
    }

    /// Returns the response for the same URL at another time, with the times in the query
    /// (`/api?from=1764000000&to=1764003600`) or in the path (`/feed/2026/11/29.json`).
    private func findURLAtOtherTime(
        _ url: WebURL, fields: HTTPFields?, now: Int64,
        by commonForm: (WebURL) -> (url: WebURL, change: LookupCandidate.Change)?
    ) throws(StoreError) -> LookupResult? {
        func separate(_ url: WebURL) -> (rest: [UInt8], times: [Int64], start: String)? {
            RecordedBody.separatingTimes(of: commonForm(url)?.url ?? url)
        }
        guard url.isHTTP, let own = separate(url) else { return nil }
        var stored: [TimedRequest] = []
        // The last of them in the order of URLs, if there are many. No URL contains the last character of ASCII.
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? ORDER BY href DESC LIMIT ?",
            .text(own.start), .text(own.start + "\u{7F}"), .integer(Self.maxVersions)
        ) { row in
            let href = row.text(0)
            if let (rest, times, _) = WebURL(href).flatMap(separate) {
                let key = RequestKey(rest: rest, times: times)
                stored.append(TimedRequest(href: href, request: .get, key: key))
            }
        }
        let key = RequestKey(rest: own.rest, times: own.times)
        return try nearest(to: key, of: stored, fields: fields, now: now)
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
    ) throws(StoreError) -> LookupResult? {
        var best: (response: StoredResponse, distance: Int64)?
        for other in others where other.key.differsOnlyInTimes(from: request) {
            guard let found = try response(for: other.href, request: other.request, fields: fields),
                let distance = request.distance(to: other.key, sentBefore: now - found.fetched)
                    ?? request.distanceBetweenPresents(to: other.key, now: now, fetched: found.fetched)
            else { continue }
            if let best {
                let isLater = (best.distance, -best.response.fetched) <= (distance, -found.fetched)
                if best.response.isImported == found.isImported ? isLater : found.isImported { continue }
            }
            best = (found, distance)
        }
        return best.map { LookupResult(response: $0.response, change: .time) }
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
                let destination = location.flatMap { WebURL($0, base: candidate.url) }?.withoutFragment
                let isTarget =
                    destination?.host == target.host && destination?.port == target.port
                    && destination?.target == target.target
                isRedirect = isRedirect || isTarget
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
    ) throws(StoreError) -> LookupResult? {
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
            let isHighlighting = Self.highlightsWords(url.query ?? "")
            guard try isSameForAnyQuery(candidate, response, body, isHighlighting: isHighlighting) else {
                return nil
            }
            return LookupResult(response: response, change: change)
        }
        return nil
    }

    /// The maximum number of stored responses to other queries that are compared. Further ones are ignored.
    private static let maxComparedQueries: Int64 = 100
    /// The maximum number of scripts of the page that are searched. Further ones are ignored.
    private static let maxSearchedScripts = 100
    /// The maximum size of the page and its searched scripts together. Beyond it, they count as not reading the
    /// query.
    private static let maxSearchedBytes = 16 * 1024 * 1024

    private static func isPage(_ body: StoredBody) -> Bool {
        body.form.hasPrefix("html;") || body.form.hasPrefix("xhtml;")
    }

    /// Whether the query has only words from a search that the page highlights: `?h=jam`, as in MkDocs,
    /// Sphinx and Docusaurus.
    private static func highlightsWords(_ query: String) -> Bool {
        query.split(separator: "&").allSatisfy {
            ["h", "hl", "highlight", "_highlight"].contains($0.prefix { $0 != "=" })
        }
    }

    /// Whether the page is the same for every query, judged by other stored queries, or else by its scripts.
    private func isSameForAnyQuery(
        _ page: WebURL, _ response: StoredResponse, _ body: StoredBody, isHighlighting: Bool
    ) throws(StoreError) -> Bool {
        var isProven = false
        for other in try hrefs(withPathOf: page, limit: Self.maxComparedQueries) {
            guard let answer = try self.response(for: other), answer.status < 400 else { continue }
            guard answer.body?.id == body.id else { return false }
            isProven = true
        }
        if isProven { return true }
        return isHighlighting || Self.isStatic(page.path) ? try anyScriptReadsQuery(response, body) : false
    }

    /// Whether the name is that of a file or of a search. The scripts of any other page may read its URL for
    /// their own purposes.
    private static func isStatic(_ path: String) -> Bool {
        let path = path.lowercased()
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
        return [".html", ".htm", ".xhtml"].contains { name.hasSuffix($0) } || name == "search"
    }

    /// Whether the page or one of its scripts reads the query.
    private func anyScriptReadsQuery(_ page: StoredResponse, _ body: StoredBody) throws(StoreError) -> Bool {
        var bytesLeft = Self.maxSearchedBytes
        func reads(_ body: StoredBody) throws(StoreError) -> Bool {
            bytesLeft -= body.byteCount
            guard bytesLeft >= 0, let content = try content(of: body) else { return false }
            return Self.readsQuery(try content.load())
        }
        if try reads(body) { return true }
        guard let links = try linkIDs(of: page) else { return false }
        for number in links.assets.prefix(Self.maxSearchedScripts) {
            guard let href = try self.href(ofURL: number), let script = try response(for: href)?.body,
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

extension StoreReader {
    /// Whether the URL has several responses to the same request that vary, so that the response to one
    /// client may not match another client's request.
    package func hasVariants(_ response: StoredResponse) throws(StoreError) -> Bool {
        guard !response.variant.isEmpty else { return false }
        let count = try prepare("SELECT count(DISTINCT variant) FROM response WHERE url = ? AND request = ?")
            .first(.integer(response.url), .text(response.request.text)) { $0.integer(0) }
        return count ?? 0 > 1
    }

    /// Whether scripts get another response for the URL: another form of a page (`RequestKey.init(form:)`), or an answer
    /// with an error status.
    package func hasOtherForms(_ response: StoredResponse) throws(StoreError) -> Bool {
        try cachedStatement(
            "SELECT 1 FROM response WHERE url = ?1 AND (request = ?2 OR request LIKE 'form-%') LIMIT 1"
        ).first(.integer(response.url), .text(RequestKey.errorAnswer.text)) { _ in true } ?? false
    }

    /// Whether the body of a page is also the answer of its origin, with 404 or 410, for another path.
    package func isSentForUnknownPaths(
        _ page: StoredResponse, origin: String
    ) throws(StoreError) -> Bool {
        guard let body = page.body else { return false }
        // The URLs of an origin are those between its slash and the character after the slash.
        return try cachedStatement(
            """
            SELECT 1 FROM response JOIN url ON url.id = response.url
            WHERE response.body = ? AND response.status IN (404, 410) AND url.href >= ? AND url.href < ? LIMIT 1
            """
        ).first(.integer(body.id), .text(origin + "/"), .text(origin + "0")) { _ in true } ?? false
    }
}
