internal import Glibc
internal import Web

/// Static pages that search, such as a manual's `search.html?q=jam`: a server gives the same page whatever the query is, and
/// its scripts read that.
extension StoreReader {
    /// The page without its query, where it answers any. That is proven by another query that was answered with the very same
    /// body, and disproven by one that was not; else it is the page's own script, or one that it needs, that reads the query,
    /// and a name by which no server does.
    func findSearchPage(
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
            guard try answersAnyQuery(candidate, response, body) else { return nil }
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

    private func answersAnyQuery(
        _ page: WebURL, _ response: StoredResponse, _ body: StoredBody
    ) throws(StoreError) -> Bool {
        var others: [String] = []
        // "@" follows the question mark.
        try eachRow(
            "SELECT href FROM url WHERE href >= ? AND href < ? LIMIT ?", .text(page.href + "?"), .text(page.href + "@"),
            .integer(Self.mostQueries)
        ) { others.append($0.text(0)) }
        var isProven = false
        for other in others {
            guard let answer = try self.response(for: other), answer.status < 400 else { continue }
            guard answer.body?.id == body.id else { return false }
            isProven = true
        }
        if isProven { return true }
        return Self.isStatic(page.path) ? try readsQuery(response, body) : false
    }

    /// A file by its name, or a search by its own: a script may look at the address of any page for its own ends.
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
        for number in links.requisites.prefix(Self.mostScripts) {
            guard let href = try address(of: number), let script = try response(for: href)?.body,
                script.form.hasPrefix("javaScript;")
            else { continue }
            if try reads(script) { return true }
        }
        return false
    }

    /// `location.search`, or the parameters of a URL.
    static func readsQuery(_ script: [UInt8]) -> Bool {
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
