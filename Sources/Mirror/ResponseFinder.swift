internal import Bundles
internal import HTTPServer
internal import Markup
internal import Origins
internal import Store
internal import Web

/// A stored response that answers a request.
struct FoundResponse {
    let response: StoredResponse
    var fields: HTTPFields
    /// The URL under which the response is stored.
    let url: WebURL
    /// How `url` differs from the requested URL.
    var change: LookupCandidate.Change = []
    /// The statement that makes the response, a script, call the requested function; empty for other responses.
    var callbackAlias = ""
    /// Whether other responses are stored for requests with other header fields.
    let isVariant: Bool
    /// How long a cache may serve the response without validation.
    var freshness: Freshness?

    var sharing: Sharing { Sharing(url, fields, response.flags, isPage: response.role == 0 || isFrozen) }

    /// The digests and signatures in the header fields, checked as of the time when the response was received: a
    /// signature may have expired since.
    var statedIntegrity: ResponseIntegrity {
        ResponseIntegrity(
            of: SignedMessage(url: url, status: response.status, fields: fields), at: response.fetched)
    }

    /// Whether this is the frozen copy of a page.
    var isFrozen: Bool { response.request == .frozen }
}

/// Finds the stored response for a request: under the exact URL, or else under a URL that may stand in for
/// it.
struct ResponseFinder {
    let reader: StoreReader
    let fields: AnswerFields
    /// The current time in seconds since 1970, if URLs may be matched that differ only in a time. Nil if not.
    var now: Int64?
    /// The requester. Nil for a finder that only completes a response found earlier.
    var context: RequestContext?

    /// Finds a response.
    ///
    /// - Parameters:
    ///   - addresses: The original URLs that the request may mean, the most likely first.
    ///   - rules: The rules by which other URLs may stand in for the requested one; nil allows only exact
    ///     matches.
    func find(
        _ addresses: [String], request: RequestKey, requestFields: HTTPFields, rules: SiteRules?
    ) throws(StoreError) -> FoundResponse? {
        try find(
            addresses.compactMap { WebURL($0) }, request: request, requestFields: requestFields, rules: rules)
    }

    /// Finds a response for URLs that are already parsed.
    func find(
        _ urls: [WebURL], request: RequestKey, requestFields: HTTPFields, rules: SiteRules?
    ) throws(StoreError) -> FoundResponse? {
        if let found = try findExact(urls, request, requestFields) { return found }
        guard let rules else { return nil }
        return try findSubstitute(urls, request, requestFields, rules)
    }

    /// Finds a response under one of the URLs.
    private func findExact(
        _ urls: [WebURL], _ request: RequestKey, _ requestFields: HTTPFields
    ) throws(StoreError) -> FoundResponse? {
        var imported: FoundResponse?
        for url in urls {
            let response =
                fields.layout.sharesOrigin
                ? try rootSiteResponse(for: url.href, request, requestFields)
                : try reader.response(for: url.href, request: request, fields: requestFields)
            guard let response, try canShow(response, url) else { continue }
            let found = try makeFoundResponse(response, at: url)
            // The redirect's target is stored under the other scheme, or not at all.
            if redirectsBack(found, to: url) { continue }
            // An import at https does not hide what an origin sent at http.
            guard reader.yieldsToOrigin(response) else { return found }
            imported = imported ?? found
        }
        return imported
    }

    /// Finds a response under another URL that the rules accept in place of one of these.
    private func findSubstitute(
        _ urls: [WebURL], _ request: RequestKey, _ requestFields: HTTPFields, _ rules: SiteRules
    ) throws(StoreError) -> FoundResponse? {
        for url in urls {
            let match = try reader.lookUp(
                url, request: request, fields: requestFields, rules: rules.rules(for: url),
                isStrict: fields.layout.isTransparent, now: now)
            guard let match, !match.change.isEmpty, let storedURL = WebURL(match.response.href) else {
                continue
            }
            if fields.layout.sharesOrigin,
                try rootSiteResponse(for: storedURL.href, request, requestFields) != match.response
            {
                continue
            }
            guard try canShow(match.response, storedURL) else { continue }
            var found = try makeFoundResponse(match.response, at: storedURL)
            found.change = match.change
            if match.change.contains(.callback), let call = JSONPCallback(of: storedURL) {
                found.callbackAlias = JSONPCallback(of: url).map(call.alias) ?? ""
            }
            // Two URLs that differ in a slash and redirect to each other would do so forever.
            let isCircle = found.change.contains(.slash) && found.response.isRedirect
            if !isCircle, !redirectsBack(found, to: url) { return found }
        }
        return nil
    }

    /// Finds the answer with an error status that a page got online, for a URL without a response or with a 404 or 410
    /// whose body is not stored.
    ///
    /// - Parameter found: the response to a GET that is stored for one of the URLs.
    func errorAnswer(
        _ urls: [WebURL], replacing found: FoundResponse?, requestFields: HTTPFields
    ) throws(StoreError) -> FoundResponse? {
        if let found, !found.response.isTombstone || found.response.body != nil { return nil }
        for url in urls {
            let answer =
                try fields.layout.sharesOrigin
                ? rootSiteResponse(for: url.href, .errorAnswer, requestFields)
                : reader.errorAnswer(for: url, fields: requestFields)
            guard let answer, try canShow(answer, url) else { continue }
            if let stored = found?.response, stored.status != answer.status, stored.fetched > answer.fetched {
                continue
            }
            return try makeFoundResponse(answer, at: url)
        }
        return nil
    }

    /// Finds the page that the server would probably send for a page that is not stored.
    ///
    /// Servers of static files send the same file for every query, and servers of applications the same shell
    /// for every route. So the answer is the common body of at least two pages with the same path, or of at
    /// least three paths in the nearest folder that has pages, if none of those read has another body. For a
    /// query, it is also the page without the query, if that has hardly any text before its scripts run. Otherwise, it
    /// is the page of a folder above that the server also sent with 404.
    func shell(for addresses: [String]) throws(StoreError) -> FoundResponse? {
        for url in addresses.compactMap({ WebURL($0) }) where !fields.layout.sharesOrigin {
            let file = url.origin + url.path
            let variants = try pages(near: url.href, below: file) { $0.path == url.path }
            if let page = Self.commonPage(of: variants) { return try shell(page) }
            if variants.count == 1, url.query != nil, variants[0].href == file, try isApplication(variants[0])
            {
                return try shell(variants[0])
            }
            let name = url.path.split(separator: "/").last ?? ""
            guard variants.isEmpty, !name.contains(".") || name.hasSuffix(".html") else { continue }
            if let page = try commonPageOfFolder(near: url) { return try shell(page) }
            if let page = try pageForUnknownPaths(near: url) { return try shell(page) }
        }
        return nil
    }

    /// The page that enough paths of the nearest folder with pages have in common.
    private func commonPageOfFolder(near url: WebURL) throws(StoreError) -> StoredResponse? {
        var folder = url.path[...]
        for _ in 0..<Self.maxFolders {
            guard let slash = folder.lastIndex(of: "/") else { return nil }
            folder = folder[..<slash]
            let pages = try pages(near: url.href, below: "\(url.origin)\(folder)/") { _ in true }
            let common = Self.commonPage(of: pages)
            if Self.paths(of: pages).count >= Self.minCommonPaths { return common }
            if pages.count > 1, common == nil { return nil }
        }
        return nil
    }

    /// The page of the nearest folder whose body the server also sent with 404. Hosts of files send applications so.
    private func pageForUnknownPaths(near url: WebURL) throws(StoreError) -> StoredResponse? {
        var folder = url.path[...]
        for _ in 0..<Self.maxFolders {
            guard let slash = folder.lastIndex(of: "/") else { return nil }
            folder = folder[..<slash]
            if let page = try reader.response(for: "\(url.origin)\(folder)/"), page.status == 200,
                page.role == 0, !page.flags.contains(.isPrivate),
                try reader.isSentForUnknownPaths(page, origin: url.origin)
            {
                return page
            }
        }
        return nil
    }

    /// Whether the page has hardly any text before its scripts run.
    private func isApplication(_ page: StoredResponse) throws(StoreError) -> Bool {
        guard let body = page.body else { return false }
        let links = try reader.links(of: body)
        return (try? LinkTable(decoding: links.span))?.renderReasons.contains(.littleText) ?? false
    }

    /// The paths of pages. A folder and its index page count as one.
    private static func paths(of pages: [StoredResponse]) -> Set<String> {
        Set(
            pages.compactMap { page in
                guard var path = WebURL(page.href)?.path[...] else { return nil }
                if let slash = path.lastIndex(of: "/"), path[slash...].hasPrefix("/index.") {
                    path = path[...slash]
                }
                return String(path.hasSuffix("/") ? path.dropLast() : path)
            })
    }

    /// The minimum number of paths that must have the same page.
    private static let minCommonPaths = 3
    /// The maximum number of parent folders that are searched.
    private static let maxFolders = 8

    /// The stored pages among the closest URLs.
    private func pages(
        near href: String, below prefix: String, where isIncluded: (WebURL) -> Bool
    ) throws(StoreError) -> [StoredResponse] {
        var pages: [StoredResponse] = []
        let neighbours = try reader.neighbours(
            of: href, below: prefix, count: Self.maxNeighbours, onlyPages: true)
        for neighbour in neighbours {
            guard let url = WebURL(neighbour), isIncluded(url),
                let response = try reader.response(for: neighbour), response.status == 200,
                response.role == 0, response.body != nil, !response.flags.contains(.isPrivate),
                HTTPFields(block: response.fields.utf8.span).contentType?.isHTML ?? false
            else { continue }
            pages.append(response)
        }
        return pages
    }

    /// The maximum number of stored URLs that are compared.
    private static let maxNeighbours = 24

    /// One of at least two pages if all have the same body.
    private static func commonPage(of pages: [StoredResponse]) -> StoredResponse? {
        guard pages.count > 1, let first = pages.first,
            pages.allSatisfy({ $0.body?.sha256 == first.body?.sha256 })
        else { return nil }
        return first
    }

    /// Returns the page as the answer for another URL; nil if the requester may not have it.
    private func shell(_ page: StoredResponse) throws(StoreError) -> FoundResponse? {
        guard let url = WebURL(page.href), try canShow(page, url) else { return nil }
        var found = try makeFoundResponse(page, at: url)
        found.change = .shell
        return found
    }

    /// The live snapshots of the site at the root.
    private var rootSnapshots: [LiveSnapshot] {
        get throws(StoreError) { try reader.liveSnapshots(ofSitesAt: fields.layout.root?.origins ?? []) }
    }

    /// The response for a URL in the snapshots of the site at the root, including responses that were loaded
    /// since. A server that shows one site to other machines does not serve other sites' snapshots. Of a site
    /// that an origin sent, it does not serve responses from archives.
    private func rootSiteResponse(
        for href: String, _ request: RequestKey, _ requestFields: HTTPFields
    ) throws(StoreError) -> StoredResponse? {
        for snapshot in try rootSnapshots {
            let found = try reader.responseOfSite(
                for: href, request: request, fields: requestFields, asOf: snapshot.id)
            if let found, snapshot.isOfArchives || !reader.yieldsToOrigin(found) { return found }
        }
        return nil
    }

    /// Whether the requester may be shown the response at its URL. An archive can contain responses of any
    /// origin. If the store also has responses that this origin sent, the archive's are not shown there as
    /// documents or workers, and pages that an origin sent get no parts from archives. Snapshots of the
    /// archive's own site show all of it.
    private func canShow(_ response: StoredResponse, _ url: WebURL) throws(StoreError) -> Bool {
        guard reader.yieldsToOrigin(response) else { return true }
        guard try canPublish(response, url) else { return false }
        guard let context else { return true }
        if context.use.makesDocument || context.use.isWorker {
            return try !reader.hasResponsesFromOrigin(host: url.host)
        }
        switch context.kind {
        case .user, .portal, .export: return true
        case .unknownPage, .foreignPage: return try !reader.hasResponsesFromOrigin(host: url.host)
        case .page(let origins):
            for page in origins.compactMap({ WebURL($0) })
            where try reader.hasResponsesFromOrigin(host: page.host) { return false }
            return true
        }
    }

    /// Whether a server may show the response as one of the site at the root. An archive that the user did
    /// not import into that site does not speak for its origin, even where the origin sent nothing.
    private func canPublish(_ response: StoredResponse, _ url: WebURL) throws(StoreError) -> Bool {
        guard fields.layout.isPublished(url), reader.yieldsToOrigin(response) else { return true }
        return try !rootSnapshots.contains { !$0.isOfArchives }
    }

    /// Returns a stored response with the header fields that describe its stored body.
    func makeFoundResponse(_ response: StoredResponse, at url: WebURL) throws(StoreError) -> FoundResponse {
        var fields = HTTPFields(block: response.fields.utf8.span)
        // Most bodies were decoded before they were stored.
        if !response.flags.contains(.isCoded) { fields.remove("Content-Encoding") }
        return FoundResponse(
            response: response, fields: fields, url: url, isVariant: try reader.hasVariants(response))
    }

    private func redirectsBack(_ found: FoundResponse, to url: WebURL) -> Bool {
        found.response.isRedirect && fields.redirectsToSame(found.fields, from: found.url, to: url)
    }
}
