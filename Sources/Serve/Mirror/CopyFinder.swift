internal import Store
internal import Web

/// What answers a request.
struct FoundCopy {
    let response: StoredResponse
    var fields: HTTPFields
    /// Under which it is held.
    let url: WebURL
    /// In what that differs from what was asked for.
    var change: LookupCandidate.Change = []
    /// There are others for requests with other fields.
    let isVariant: Bool
    /// How long a cache may give it without asking.
    var freshness: Freshness?

    var sharing: Sharing { Sharing(url, fields, response.flags, isPage: response.role == 0) }
}

/// Finds what answers a request: what is held under the very address, else under one that may stand in for
/// it.
struct CopyFinder {
    let reader: StoreReader
    let fields: AnswerFields
    /// In seconds since 1970, where what is asked for with the time of day is answered at any.
    var now: Int64?
    /// The requester. Nil for a finder that only completes a response found earlier.
    var context: RequestContext?

    /// - Parameters:
    ///   - addresses: the original URLs that the request may mean, the likelier first.
    ///   - rules: nil leaves out what is held under other addresses.
    func find(
        _ addresses: [String], request: RequestKey, requestFields: HTTPFields, rules: SiteRules?
    ) throws(StoreError) -> FoundCopy? {
        try find(
            addresses.compactMap { WebURL($0) }, request: request, requestFields: requestFields, rules: rules)
    }

    /// The same for addresses that have been read.
    func find(
        _ urls: [WebURL], request: RequestKey, requestFields: HTTPFields, rules: SiteRules?
    ) throws(StoreError) -> FoundCopy? {
        var imported: FoundCopy?
        for url in urls {
            let response =
                fields.layout.sharesOrigin
                ? try rootSiteResponse(for: url.href, request, requestFields)
                : try reader.response(for: url.href, request: request, fields: requestFields)
            guard let response, try mayShow(response, url) else { continue }
            let found = try copy(response, url)
            // What it leads to is held under the other scheme, or not at all.
            if leadsBack(found, to: url) { continue }
            // An import at https does not hide what an origin sent at http.
            guard reader.yieldsToOrigin(response) else { return found }
            imported = imported ?? found
        }
        if let imported { return imported }
        guard let rules else { return nil }
        for url in urls {
            let found = try reader.find(
                url, request: request, fields: requestFields, rules: rules.rules(for: url),
                isStrict: fields.layout.isTransparent, now: now)
            guard let found, !found.change.isEmpty, let held = WebURL(found.response.href) else { continue }
            if fields.layout.sharesOrigin,
                try rootSiteResponse(for: held.href, request, requestFields) != found.response
            {
                continue
            }
            guard try mayShow(found.response, held) else { continue }
            var copy = try copy(found.response, held)
            copy.change = found.change
            // Two slashed forms that lead to each other would do so for ever.
            let isCircle = copy.change.contains(.slash) && copy.response.isRedirect
            if !isCircle, !leadsBack(copy, to: url) { return copy }
        }
        return nil
    }

    private var rootSnapshots: [LiveSnapshot] {
        get throws(StoreError) { try reader.liveSnapshots(ofSitesAt: fields.layout.root?.origins ?? []) }
    }

    /// The response for a URL in the snapshots of the site at the root, with what servers loaded since. A
    /// server that shows one site to other machines serves no other site's snapshots, and of a site that an
    /// origin sent no archive's responses.
    private func rootSiteResponse(
        for href: String, _ request: RequestKey, _ requestFields: HTTPFields
    ) throws(StoreError) -> StoredResponse? {
        for snapshot in try rootSnapshots {
            let found = try reader.response(
                for: href, request: request, fields: requestFields, onlyAsOf: snapshot.number)
            if let found, snapshot.isOfArchives || !reader.yieldsToOrigin(found) { return found }
        }
        return nil
    }

    /// Whether the requester may be shown the response at its URL. An archive can contain responses of any origin. If the
    /// store also has responses that this origin sent, the archive's are not shown there as documents or workers, and
    /// pages that an origin sent get no parts from archives. Snapshots of the archive's own site show all of it.
    private func mayShow(_ response: StoredResponse, _ url: WebURL) throws(StoreError) -> Bool {
        guard reader.yieldsToOrigin(response) else { return true }
        guard try mayPublish(response, url) else { return false }
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

    /// Whether a server may show the response as one of the site at the root. An archive that the user did not
    /// import into that site does not speak for its origin, even where the origin sent nothing.
    private func mayPublish(_ response: StoredResponse, _ url: WebURL) throws(StoreError) -> Bool {
        guard fields.layout.isPublished(url), reader.yieldsToOrigin(response) else { return true }
        return try !rootSnapshots.contains { !$0.isOfArchives }
    }

    private func copy(_ response: StoredResponse, _ url: WebURL) throws(StoreError) -> FoundCopy {
        var fields = HTTPFields(block: response.fields.utf8.span)
        // Of most bodies the coding was undone before they were kept.
        if !response.flags.contains(.isCoded) { fields.remove("Content-Encoding") }
        return FoundCopy(
            response: response, fields: fields, url: url, isVariant: try reader.hasVariants(response))
    }

    private func leadsBack(_ copy: FoundCopy, to url: WebURL) -> Bool {
        copy.response.isRedirect && fields.isLed(copy.fields, from: copy.url, to: url)
    }
}

/// What the users want otherwise than servers say, site by site.
struct SiteRules {
    private var byHost: [String: [CacheRules.Rule]] = [:]
    private var all: [CacheRules.Rule] = []
    /// The server's own, which count first.
    private var own: [CacheRules.Rule] = []
    private var zones: [String: NetworkZone] = [:]
    /// Of the sites that start on a host, their names and where they start.
    private var starts: [String: [(name: String, start: String)]] = [:]

    init() {}

    /// The origins on a host at which sites start.
    func startOrigins(onHost host: String) -> [String] {
        (starts[host] ?? []).compactMap { WebURL($0.start)?.origin }
    }

    /// Reads the rules that each site's settings hold. What is no rule was refused when it was given, and is
    /// passed over.
    ///
    /// - Parameter importedSites: The names of sites that consist of imported responses only.
    init(
        _ sites: [(name: String, start: [String], settings: String)], importedSites: Set<String> = [],
        own: [CacheRules.Rule] = []
    ) {
        self.own = own
        for site in sites {
            let settings = try? JSONValue.parse(site.settings.utf8.span)
            let texts = settings?["rules"]?.array?.compactMap(\.string) ?? []
            let zone =
                importedSites.contains(site.name)
                ? .publicNetwork : settings?["zone"]?.string.flatMap { NetworkZone(name: $0) } ?? .thisMachine
            for host in site.start.compactMap({ WebURL($0)?.host }) {
                zones[host] = max(zone, zones[host] ?? .publicNetwork)
            }
            let rules = texts.compactMap { try? CacheRules.Rule($0) }
            all += rules
            for host in Set(site.start.compactMap { WebURL($0)?.host }) { byHost[host, default: []] += rules }
            for start in site.start {
                if let host = WebURL(start)?.host { starts[host, default: []].append((site.name, start)) }
            }
        }
    }

    /// The nearest network zone in which a user has named the host, by adding a site that starts there. Nil
    /// if no site does. An archive names no host for the user.
    func namedZone(ofHost host: String) -> NetworkZone? { zones[host] }

    /// The site whose next snapshot fetches what was missed there: one that starts on its host, of several the
    /// one whose start it has most in common with; what pages need, that of the page that asked.
    func site(bringing href: String, askedBy page: String?, isPage: Bool) -> String? {
        if let found = WebURL(href).flatMap({ starts[$0.host] }) {
            func common(_ start: String) -> Int { zip(start.utf8, href.utf8).prefix { $0 == $1 }.count }
            return found.max { common($0.start) < common($1.start) }?.name
        }
        guard !isPage else { return nil }
        return page.flatMap { WebURL($0) }.flatMap { starts[$0.host]?.first?.name }
    }

    /// Those of the sites that start on the URL's host; where no site does, everybody's: their pages ask for
    /// it.
    func rules(for url: WebURL) -> CacheRules {
        if all.isEmpty { return own.isEmpty ? CacheRules() : CacheRules(own) }
        let others = byHost[url.host] ?? all
        return CacheRules(own.isEmpty ? others : own + others)
    }
}
