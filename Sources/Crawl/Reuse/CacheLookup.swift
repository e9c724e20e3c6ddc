internal import Bundles
package import Fetch
internal import Glibc
internal import Markup
package import Store
internal import Web

/// Looks up the stored response of a URL, and decides by the cache policy (RFC 9111) whether a request is
/// necessary. It belongs to the crawl's thread.
///
/// `decision` tries in this order: a stored body with the required digest, the response that an interrupted run
/// of this snapshot stored, and the live response of an earlier snapshot, for which the policy decides. For a
/// reused response, `links(of:)` returns the stored list of links, so that the body need not be scanned.
final class CacheLookup {
    /// A decision about a URL that is due.
    enum Decision {
        /// Fetch it. The store has no usable response, or the policy requires a new one; a usable one is
        /// `inPlaceOf`.
        case load(adding: HTTPFields, inPlaceOf: StoredResponse? = nil)
        /// Do nothing: an interrupted run of this snapshot stored the response.
        case done(StoredResponse)
        /// Do nothing: another worker of this snapshot received this error status.
        case failed(status: Int)
        /// Use the stored response, which the policy allows without a request.
        case reuse(StoredResponse)
        /// Send a conditional request with these fields.
        case validate(StoredCopy, with: HTTPFields)
    }

    /// A stored response, with its cache entry for the policy.
    struct StoredCopy {
        let response: StoredResponse
        let entry: CacheEntry
    }

    private let reader: StoreReader
    /// The stored responses that requests offer as compression dictionaries.
    let dictionaries: StoredDictionaries
    private let finder: BundleFinder
    /// Whether no pack is truncated, so that small bodies need not be checked one by one.
    private let hasWholePacks: Bool
    private let snapshot: OpenSnapshot
    private let isShared: Bool
    /// Whether each query is a network round trip.
    private let isRemote: Bool
    /// Whether another snapshot is live until this one is complete.
    private let isUpdate: Bool
    private let policy: CachePolicy
    private let rules: CacheRules
    /// The frontier's numbers of URLs, by the ids of the URLs in the store.
    private var numbers: [UInt32?] = []
    /// The ids of the links that `links(of:)` last returned as new, in their order.
    private var unnumberedIDs: [Int] = []
    /// Responses that were looked up in advance.
    private var ahead = LookAhead()

    /// The results of one query for several URLs that are due.
    private struct LookAhead {
        var hrefs: Set<String> = []
        /// The responses that this snapshot has, by URL.
        var responses: [String: ResponseWithLinks] = [:]
        /// The URLs of links to which the frontier has not assigned a number yet, by id.
        var linkHrefs: [Int64: String] = [:]
    }

    /// The rules of a private cache (RFC 9111 1.2.2): the store belongs to one user.
    private static let profile = CacheProfile.private

    /// The maximum age of a response that an interrupted update uses again as it is. An older one is validated.
    private static let maxOwnAgeSeconds: Int64 = 15 * 60

    /// Returns nil if the store is empty and no other worker writes to the snapshot.
    ///
    /// - Parameter isShared: Whether other workers write to the snapshot.
    init?(
        _ folder: StoreFolder, snapshot: OpenSnapshot, policy: CachePolicy, rules: CacheRules,
        isShared: Bool = false
    ) throws(StoreError) {
        let reader = try StoreReader(folder)
        if !isShared, try !reader.hasResponses() { return nil }
        try reader.enlargePageCache()
        self.reader = reader
        dictionaries = StoredDictionaries(reader, snapshot: snapshot.id)
        // Under a policy that reloads everything, a stored body replaces a request only if its bytes have been hashed again.
        finder = try BundleFinder(reader, folder, provesBytes: policy.reloadsEverything)
        hasWholePacks = try reader.bodies.hasWholePacks()
        self.snapshot = snapshot
        self.isShared = isShared
        isRemote = folder.isRemote
        isUpdate = try reader.sites().contains {
            $0.id == snapshot.site && $0.published != nil && $0.published != snapshot.id
        }
        self.policy = policy
        self.rules = rules
    }

    /// Whether to look up several URLs at once.
    var looksUpAhead: Bool { isRemote && snapshot.isContinued }

    /// Looks up what this snapshot has for the next URLs, in one query.
    func lookAhead(_ hrefs: [String]) throws(StoreError) {
        ahead = LookAhead()
        guard !hrefs.isEmpty else { return }
        var unknown: Set<Int64> = []
        for found in try reader.responsesWithLinks(for: hrefs, ofSnapshot: snapshot.id) {
            ahead.responses[found.response.href] = found
            for link in found.links?.ids.all ?? [] where number(ofID: link) == nil { unknown.insert(link) }
        }
        ahead.hrefs = Set(hrefs)
        if !unknown.isEmpty { ahead.linkHrefs = try reader.hrefsByID(Array(unknown)) }
    }

    /// The response that this snapshot has for the URL.
    private func ownResponse(_ href: String) throws(StoreError) -> StoredResponse? {
        // Only once, because the URL may have been stored by the next time.
        if ahead.hrefs.remove(href) != nil { return ahead.responses[href]?.response }
        return try reader.response(for: href, ofSnapshot: snapshot.id)
    }

    private func linkSummary(of stored: StoredResponse) throws(StoreError) -> StoredLinkSummary? {
        if let found = ahead.responses[stored.href], found.response == stored { return found.links }
        return try reader.linkSummary(of: stored)
    }

    private func hrefs(ofIDs ids: [Int64]) throws(StoreError) -> [Int64: String] {
        guard ids.contains(where: { ahead.linkHrefs[$0] == nil }) else { return ahead.linkHrefs }
        return try reader.hrefsByID(ids)
    }

    /// Decides what to do about a URL that is due.
    ///
    /// - Parameters:
    ///   - bundle: The bundle that the body must match, if any.
    ///   - origin: The origin of the document that requests the URL by CORS; nil if the request has none.
    ///   - isCORS: Whether this is known to be a CORS request. It may be one even if this is false, because stored lists
    ///     of links do not say so. Therefore a URL whose stored response was requested with an `Origin` is requested
    ///     with one again: with the same one if the response varies by it.
    func decision(
        for url: WebURL, requiring bundle: Bundle? = nil, origin: @autoclosure () -> String?, isCORS: Bool,
        now: HTTPDate
    ) throws(StoreError) -> Decision {
        try reader.transactions.beginSharedRead()
        if let bundle {
            guard let stored = try finder.response(for: url, as: bundle) else {
                return .load(adding: HTTPFields().addingOrigin(isCORS ? origin() : nil))
            }
            return stored.snapshot == snapshot.id ? .done(stored) : .reuse(stored)
        }
        var own: StoredResponse?
        if snapshot.isContinued, let response = try ownResponse(url.href), !response.isImported {
            let age = now.secondsSinceEpoch - response.fetched
            let isOld = isUpdate && !isShared && age > Self.maxOwnAgeSeconds
            if response.status < 400 {
                guard isOld else { return .done(response) }
                own = response
            } else if isShared {
                return .failed(status: response.status)
            }
            // A tombstone of an earlier attempt does not count: the URL may exist by now.
        }
        var requestOrigin = isCORS ? origin() : nil
        let stored =
            if let own {
                own
            } else {
                try reader.response(for: url.href, fields: requestOrigin.map { ["Origin": $0] })
            }
        let wasSentWithOrigin = stored?.flags.contains(.hadOriginHeader) ?? false
        if wasSentWithOrigin, !isCORS { requestOrigin = stored?.origin ?? origin() }
        // An imported response is fetched again under every policy: a crawl stores responses of the origin.
        var usable = stored.flatMap { stored in
            stored.status < 400 && (stored.body != nil || stored.isRedirect) && !stored.isImported
                ? stored : nil
        }
        // A conditional request would only confirm a body whose stored bytes are damaged or missing.
        if let body = usable?.body {
            if try finder.isDamaged(body) { usable = nil } else if try isMissing(body) { usable = nil }
        }
        let request = CacheRequest(url: url)
        let entry = usable?.cacheEntry(profile: Self.profile, rules: rules)
        switch policy.action(for: request, entry: entry, now: now) {
        case .serve, .serveAndRefresh:
            if let usable { return .reuse(usable) }
        case .validate(let fields):
            // A stored redirect has no body, so loading it costs no more than validating it.
            if let usable, let entry, !usable.isRedirect {
                // A 304 need not repeat the CORS headers for an origin. The first request by CORS therefore
                // loads the response.
                let isFirstWithOrigin = requestOrigin != nil && !wasSentWithOrigin
                return .validate(
                    StoredCopy(response: usable, entry: entry),
                    with: (isFirstWithOrigin ? HTTPFields() : fields).addingOrigin(requestOrigin))
            }
        case .load(let fields):
            return .load(adding: fields.addingOrigin(requestOrigin), inPlaceOf: usable)
        case .miss:
            break
        }
        return .load(adding: HTTPFields().addingOrigin(requestOrigin), inPlaceOf: usable)
    }

    /// Ends the reading transaction, which other users of the store may wait for. Later queries see the
    /// newest state.
    func endTransaction() throws(StoreError) { try reader.transactions.endSharedRead() }

    /// The notes of an earlier snapshot about the rendered page; nil if it was not rendered. Notes from an
    /// archive are not used, because their cookies would be sent to the origin.
    func renderNotes(of page: WebURL) throws(StoreError) -> RenderNotes? {
        guard let stored = try reader.response(for: page.href, request: .renderedText), !stored.isImported
        else {
            return nil
        }
        return RenderNotes(HTTPFields(block: stored.fields.utf8.span))
    }

    /// Whether the bytes of the body are missing. Large bodies have files of their own, which are always
    /// checked; packs are checked only if one of them is incomplete.
    private func isMissing(_ body: StoredBody) throws(StoreError) -> Bool {
        guard !hasWholePacks || body.byteCount > Limits.maxPackedBodyBytes else { return false }
        return try !reader.bodies.isStored(body)
    }

    /// Returns the stored response to a request with a body, if the policy allows its use without a new
    /// request. Responses from archives are not used.
    func reusablePost(
        _ key: RequestKey, at url: WebURL, now: HTTPDate
    ) throws(StoreError) -> (status: Int, fields: String, body: [UInt8])? {
        guard let stored = try reader.response(for: url.key.href, request: key), !stored.isImported,
            stored.status < 300, let body = stored.body, body.byteCount <= Rendering.maxResponseBodyBytes,
            try !finder.isDamaged(body),
            let bytes = try reader.content(of: body)?.load()
        else { return nil }
        let request = CacheRequest(method: key.method, url: url)
        switch policy.action(
            for: request, entry: stored.cacheEntry(profile: Self.profile, rules: rules), now: now)
        {
        case .serve, .serveAndRefresh: return (stored.status, stored.fields, bytes)
        case .validate, .load, .miss: return nil
        }
    }

    /// The response of an earlier snapshot for a URL that this snapshot has fetched again.
    func earlierResponse(for url: WebURL) throws(StoreError) -> StoredResponse? {
        try reader.transactions.endSharedRead()
        guard let stored = try reader.response(for: url.href), stored.status < 400,
            stored.snapshot != snapshot.id
        else {
            return nil
        }
        return stored
    }

    /// Whether the store has a response for the URL that is neither an error nor imported.
    func hasResponse(for url: WebURL) throws(StoreError) -> Bool {
        try reader.response(for: url.href).map { $0.status < 400 && !$0.isImported } ?? false
    }

    /// Returns the header fields of a stored response as updated by a 304 (RFC 9111 4.3.4). Returns nil if
    /// the 304 refers to another version, so that the body has to be loaded.
    func updatedFields(of stored: StoredCopy, by fields: HTTPFields, now: HTTPDate) -> HTTPFields? {
        let answer = OriginResponse(status: 304, fields: fields, requestTime: now, responseTime: now)
        guard !stored.response.isImported else { return nil }
        guard stored.entry.isConfirmed(by: answer) else { return nil }
        return stored.entry.fields(updatedBy: answer, in: Self.profile)
    }

    /// The links of a stored body, as the frontier takes them.
    struct Links {
        /// Links whose URLs have a number in the frontier.
        fileprivate(set) var known: [Frontier.KnownLink] = []
        /// Links whose URLs the frontier has to number; the caller passes these numbers to `assignNumbers(_:)`.
        fileprivate(set) var new: [FoundLink] = []
        /// Why a browser may find more in the body than a scan of its scripts.
        fileprivate(set) var renderReasons: RenderReasons = []
    }

    /// Returns the links of a stored body. Returns nil if they are not stored, or were found by a version of
    /// Larder that looks for other links; the body then has to be scanned. The caller must pass the numbers
    /// of the new links to `assignNumbers(_:)` before it calls this again.
    ///
    /// - Parameters:
    ///   - isNofollow: Whether links to pages are not followed.
    ///   - leavesAssets: Whether assets are left out.
    ///   - leavesMedia: Whether videos and sounds are left out. The stored links do not say which are such.
    func links(
        of stored: StoredResponse, isNofollow: Bool, leavesAssets: Bool, leavesMedia: Bool
    ) throws(StoreError) -> Links? {
        unnumberedIDs.removeAll(keepingCapacity: true)
        var links = Links()
        guard let body = stored.body else { return links }
        // Which renditions of a playlist are links depends on the choice of media, which may have changed since the scan.
        let isPlaylist = body.format?.isPlaylist == true
        if isPlaylist || leavesMedia && body.format != .opaque { return nil }
        try reader.transactions.beginSharedRead()
        guard let summary = try linkSummary(of: stored) else { return nil }
        if body.format != .opaque, let table = LinkTable.readSummary(fromEnds: summary.tableEnds) {
            guard table.isCurrent else { return nil }
            links.renderReasons = table.renderReasons
        }
        let lists = summary.ids
        links.known.reserveCapacity(lists.pages.count + lists.assets.count + lists.guesses.count)
        var unknown: [(id: Int64, kind: LinkClass)] = []
        func add(_ ids: [Int64], _ kind: LinkClass) {
            if leavesAssets, kind.role != .page { return }
            for id in ids {
                if let known = number(ofID: id) {
                    if isNofollow, kind.role == .page { continue }
                    links.known.append(
                        Frontier.KnownLink(number: known, role: kind.role, isGuess: kind == .guess))
                } else {
                    unknown.append((id, kind))
                }
            }
        }
        add(lists.pages, .page)
        add(lists.assets, .asset)
        add(lists.guesses, .guess)
        guard !unknown.isEmpty else { return links }
        let hrefs = try hrefs(ofIDs: unknown.map(\.id))
        for (id, kind) in unknown {
            guard let href = hrefs[id], let url = WebURL(href) else { continue }
            unnumberedIDs.append(Int(id))
            links.new.append(
                FoundLink(
                    url: url, role: kind.role, isGuess: kind == .guess,
                    isNofollow: isNofollow && kind.role == .page))
        }
        return links
    }

    /// Assigns the frontier's numbers to the new links of the last call of `links(of:)`, in their order.
    func assignNumbers(_ new: [UInt32]) {
        for (id, number) in zip(unnumberedIDs, new) {
            if id >= numbers.count {
                numbers.append(contentsOf: repeatElement(nil, count: id + 1 - numbers.count))
            }
            numbers[id] = number
        }
        unnumberedIDs.removeAll(keepingCapacity: true)
    }

    /// The frontier's number of a URL by its id in the store; nil if it has none yet.
    private func number(ofID id: Int64) -> UInt32? {
        let index = Int(id)
        return index < numbers.count ? numbers[index] : nil
    }

    /// The list of a body's links in which a link is stored.
    enum LinkClass {
        case page, asset, guess

        var role: Frontier.Role { self == .page ? .page : .asset }
    }
}

extension HTTPFields {
    func addingOrigin(_ origin: String?) -> HTTPFields {
        guard let origin else { return self }
        var fields = self
        fields.set("Origin", origin)
        return fields
    }
}

extension ResponseFlags {
    /// The flags of a response that was just received.
    package init(_ exchange: Exchange) {
        self.init(zone: exchange.zone)
        if exchange.usedCredentials { insert(.isPrivate) }
    }
}

extension ResponseFlags {
    /// The flags that say whether the request had an `Origin` or credentials.
    init(_ result: FetchResult) {
        self = []
        if result.sentFields.contains("Origin") { insert(.hadOriginHeader) }
        if result.exchange?.usedCredentials == true { insert(.isPrivate) }
    }
}

extension StoredResponse {
    /// The header fields that a page's script added to the request. Those that may be secrets are missing, because the store
    /// has only their hashes.
    var scriptFields: HTTPFields {
        HTTPFields(VaryKey(stored: variant).openFields.list.filter { PageRequest.canBeSetByScript($0.name) })
    }
}

extension StoredBody {
    /// Nil for a format that this version of Larder does not know.
    var format: BodyFormat? { BodyFormat(form: form) }
}

extension PartialBody {
    init(_ part: StoredPartialBody) {
        self.init(
            path: part.path, byteCount: part.byteCount, fields: HTTPFields(block: part.fields.utf8.span))
    }
}

extension ResponseFlags {
    init(_ directives: PageDirectives) {
        self = []
        if directives.contains(.nofollow) { insert(.saysNofollow) }
        if directives.contains(.noindex) { insert(.saysNoindex) }
    }
}
