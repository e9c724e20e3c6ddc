internal import Bundles
internal import HTTPServer
internal import Origins
internal import Portal
internal import Store
internal import Web

/// A request that the origin may be asked for: the server acts as a cache (RFC 9111) with the policy of the request.
///
/// `reply` looks up the stored response (`lookUp`), lets the policy decide (`action`), and then serves the stored
/// response, serves it and refreshes it in the background, validates or loads it, or records a miss. A response is
/// looked for in memory first, then in the store: uncommitted responses leave memory only after they are stored, so
/// that each one is always found in one of the two.
struct CacheExchange {
    private let exchange: MirrorExchange
    private let loader: OriginLoader
    private let policy: CachePolicy
    private let rules: SiteRules
    private let addresses: [String]
    /// The addresses as URLs.
    private let urls: [WebURL]
    /// The addresses as the store names them.
    private let hrefs: [String]
    /// The URL to load if nothing is stored.
    private let likeliestURL: WebURL
    /// The fields as the page would have sent them on the web.
    private let fields: HTTPFields
    /// The nearest network zone that a request to the origin may connect to.
    private let nearestZone: NetworkZone
    /// Whether the URL belongs to the site that everybody may see.
    private let isPublic: Bool

    private var request: Request { exchange.request }
    private var layout: OriginLayout { exchange.layout }
    private var requestContext: RequestContext { exchange.requestContext }

    /// Nil if only stored responses may answer.
    init?(_ exchange: MirrorExchange, by loader: OriginLoader) throws(StoreError) {
        guard case .stored(let addresses) = try exchange.requestTarget(), !addresses.isEmpty,
            let url = try exchange.layout.isTransparent
                ? exchange.proxied : WebURL(exchange.likeliestURL(addresses))
        else { return nil }
        let policy = try exchange.networkRights.policy(at: url, loader)
        guard policy.allowsNetwork else { return nil }
        let (layout, requestContext) = (exchange.layout, exchange.requestContext)
        // Pages anywhere may embed the site that the server shows to other machines. Everything else is for
        // mirrored pages.
        let isPublic =
            layout.isPublished(url)
            && CacheRequest.Method(exchange.request.method).isRead
        guard layout.isTransparent || isPublic || requestContext.canCauseRequests,
            !Self.isBlockedByBrowsers(requestContext, url, layout)
        else { return nil }
        var fields = exchange.fields
        if layout.isExposed, !layout.isTransparent { fields = fields.withoutForwarding }
        if !layout.isTransparent {
            requestContext.restoreOriginalHeaders(
                in: &fields, to: url, page: try exchange.referrer().flatMap { WebURL($0) }, layout: layout)
        }
        self.exchange = exchange
        self.loader = loader
        self.policy = policy
        self.addresses = addresses
        urls = layout.isTransparent ? [url] : addresses.compactMap { WebURL($0) }
        hrefs = urls.map(\.withoutFragment.href)
        self.fields = fields
        self.isPublic = isPublic
        likeliestURL = url
        rules = try exchange.rules()
        nearestZone = try Self.nearestZone(exchange, url, rules)
    }

    /// Whether a browser would block the request by itself if each origin had its own name.
    private static func isBlockedByBrowsers(
        _ context: RequestContext, _ url: WebURL, _ layout: OriginLayout
    ) -> Bool {
        layout.sharesRootHost(url)
            && (context.use.isWorker
                || context.use.mode == "same-origin" && !context.origins.contains(url.origin))
    }

    /// The zone in which a user named the host, or the zone of the page that sent the request.
    private static func nearestZone(
        _ exchange: MirrorExchange, _ url: WebURL, _ rules: SiteRules
    ) throws(StoreError) -> NetworkZone {
        if exchange.layout.isTransparent { return try exchange.nearestProxiedZone(to: url) }
        if exchange.layout.isExposed { return try exchange.networkRights.nearestZone(to: url) }
        let isRoot = exchange.layout.root?.isRoot(url) ?? false
        let zoneOfName = isRoot ? NetworkZone.thisMachine : rules.namedZone(ofHost: url.host)
        let namedZone = try zoneOfName.map { (zone) throws(StoreError) in
            try exchange.networkRights.namedZone(zone, of: url)
        }
        guard case .page(let origins) = exchange.requestContext.kind else {
            return namedZone ?? .publicNetwork
        }
        if let namedZone, origins.contains(where: { WebURL($0)?.host == url.host }) { return namedZone }
        return try exchange.networkRights.nearestZone(to: url)
    }

    // MARK: - Lookup

    /// The stored response for the request, and the request as policies see it.
    private struct StoredState {
        /// The response in the store. At most one of `copy` and `memoryResponse` is set.
        var copy: FoundResponse?
        /// The response in memory.
        var memoryResponse: MemoryResponse?
        /// The cache entry of `copy` or `memoryResponse`, as policies see it.
        var entry: CacheEntry?
        /// The bundle that a manifest requires at the URL.
        let required: Bundle?
        /// The comparison of `copy` with `required`.
        var bundle: BundleComparison?
        /// The method and body by which the response is stored.
        let key: RequestKey
        let request: CacheRequest
        /// The cache rules for the URL.
        let rules: CacheRules
        /// The change count before the lookup.
        let changeCount: Int
        /// The state of the store in which `copy` was found.
        let view: MirrorResponder.StoreView

        var url: WebURL { request.url }
    }

    /// Looks for the stored response, in memory and in the store. Responses that this client may not have count as missing.
    private func lookUp(_ now: HTTPDate) throws(StoreError) -> StoredState {
        let changeCount = loader.freshAnswers.changeCount
        let method = CacheRequest.Method(request.method)
        let isRead = method.isRead
        // Responses to recorded requests are stored separately; else the response to a POST could answer a
        // GET (RFC 9110 §9.3.3). Other methods are answered from the store only if a rule says so.
        let isRecorded =
            !isRead && request.method != "TRACE" && !request.isServerWide
            && (layout.isTransparent || policy.usesRecordedResponses)
            && rules.rules(for: likeliestURL).keepsPosts(to: likeliestURL)
        let body = request.body
        let key =
            !isRecorded ? .get : RequestKey(method: request.method, body: body.span, type: fields.contentType)
        var (copy, memoryResponse): (FoundResponse?, MemoryResponse?) = (nil, nil)
        // Uncommitted responses leave memory only after they are stored, so memory is searched first.
        if isRead || isRecorded { memoryResponse = uncommittedResponse(key) }
        var required: Bundle?
        try exchange.atOneStoreState { (view) throws(StoreError) in
            if memoryResponse == nil, isRead || isRecorded {
                copy = try exchange.timing.measure("lookup") { () throws(StoreError) in
                    try finder(view).find(
                        urls, request: key, requestFields: fields,
                        rules: policy.acceptsAnyAge ? rules : nil)
                }
            }
            // The response to another method could be stored as one to GET.
            required = key == .get ? try exchange.responder.requiredBundle(for: addresses, view) : nil
        }
        let view = try exchange.view()
        if memoryResponse == nil, isRead || isRecorded { memoryResponse = shelvedCopy(key) }
        // A newer snapshot may have gone live since the response was loaded into memory.
        if let kept = memoryResponse, let copy,
            copy.response.fetched > kept.entry.freshness.responseTime.secondsSinceEpoch
        {
            memoryResponse = nil
        }
        // A response that this client may not have is treated as missing.
        if let found = copy, !canAccess(found.response.flags, of: found.url) { copy = nil }
        if let found = memoryResponse, !canAccess(found.allFlags, of: likeliestURL) { memoryResponse = nil }
        // A response for one API key or login is never served for another.
        if let found = copy,
            !policy.acceptsAnyAge || layout.isShared || found.response.flags.contains(.isPrivate),
            !found.response.matches(fields, view.reader.secrets)
        {
            copy = nil
        }
        // A damaged body is loaded again.
        if try exchange.isDamaged(copy, isRequired: required != nil) { copy = nil }
        let bundle = try copy.flatMap { (copy) throws(StoreError) in
            try exchange.compare(copy, with: required)
        }
        if let found = copy, !found.change.isEmpty, required != nil, bundle?.isVerified != true { copy = nil }
        if memoryResponse?.parts != nil, copy != nil || method != .get { memoryResponse = nil }
        if memoryResponse != nil { copy = nil }
        let url = copy?.url ?? memoryResponse.flatMap { WebURL($0.href) } ?? likeliestURL
        let cacheRequest = CacheRequest(
            method: request.method, url: url, fields: fields, isRecorded: isRecorded)
        let urlRules = rules.rules(for: url)
        var entry =
            memoryResponse?.entry ?? copy?.response.cacheEntry(profile: loader.profile, rules: urlRules)
        if let parts = memoryResponse?.parts, let stored = entry, stored.answers(cacheRequest, with: parts) {
            // The requested part is complete.
            entry?.isPart = false
        }
        return StoredState(
            copy: copy, memoryResponse: memoryResponse, entry: entry, required: required, bundle: bundle,
            key: key,
            request: cacheRequest, rules: urlRules, changeCount: changeCount, view: view)
    }

    private func finder(_ view: MirrorResponder.StoreView) -> ResponseFinder {
        ResponseFinder(
            reader: view.reader, fields: AnswerFields(layout: layout, isProxy: true),
            now: exchange.timeOfAsking, context: exchange.requestContext)
    }

    private func shelvedCopy(_ key: RequestKey) -> MemoryResponse? {
        first { loader.memoryCache.response(of: $0, request: key, fields: fields) }
    }

    private func uncommittedResponse(_ key: RequestKey) -> MemoryResponse? {
        guard layout.isTransparent else { return nil }
        return first { loader.uncommitted.response(of: $0, request: key, fields: fields) }
    }

    /// Looks each address up only once: another thread may remove the copy in between.
    private func first(_ copy: (String) -> MemoryResponse?) -> MemoryResponse? {
        for href in hrefs { if let found = copy(href) { return found } }
        return nil
    }

    /// Whether the client may have a stored response. RFC 9111 3.5 lets a shared cache serve some responses
    /// to one user's credentials to everybody; a shared proxy serves none of them.
    private func canAccess(_ flags: ResponseFlags, of url: WebURL) -> Bool {
        !layout.isShared || exchange.canAccess(flags, of: url)
    }

    // MARK: - Decision

    /// The decision of the policy about the stored response, adjusted for private responses, required bundles and stored parts.
    private func action(_ stored: StoredState, _ now: HTTPDate) -> CacheAction {
        // A request to the origin would lack the user's credentials, so the response would not be the user's.
        if let copy = stored.copy, copy.response.flags.contains(.isPrivate), !canSendCredentials(stored.url),
            CacheRequest.Method(request.method).isRead, exchange.refusal(of: copy.sharing) == nil
        {
            return .serve(.stale)
        }
        let isOriginSilent = loader.reachability.isSilent(stored.url.origin, now: now)
        var action = policy.action(
            for: stored.request, entry: stored.entry, isOriginSilent: isOriginSilent, now: now)
        if stored.required != nil, stored.copy != nil {
            switch action {
            // A verified bundle needs no validation, whatever the policy.
            case _ where stored.bundle?.isVerified == true: action = .serve(.fresh)
            // The stored response does not match the manifest of now.
            case .serve, .serveAndRefresh:
                if !isOriginSilent, !stored.request.directives.onlyIfCached {
                    action = .load(adding: [:])
                }
            case .validate, .load, .miss: break
            }
        }
        // Requests only the missing rest of a body of which parts are stored.
        if case .load([:]) = action, !stored.request.fields.contains("Range"),
            let rest = stored.memoryResponse?.parts?.stored.completionRequest
        {
            action = .load(adding: rest)
        }
        return action
    }

    /// The nearest network zone that a request with no stored response may connect to; nil if the policy
    /// sends none.
    var zoneOfMiss: NetworkZone? {
        let cacheRequest = CacheRequest(
            method: request.method, url: likeliestURL, fields: fields, isRecorded: false)
        let now = loader.now
        let isOriginSilent = loader.reachability.isSilent(likeliestURL.origin, now: now)
        switch policy.action(for: cacheRequest, entry: nil, isOriginSilent: isOriginSilent, now: now) {
        case .load, .validate: return nearestZone
        case .serve, .serveAndRefresh, .miss: return nil
        }
    }

    /// Nil if an origin is asked first; then `later` gets the reply.
    func reply(orDefer later: DeferredReply) throws(StoreError) -> Reply? {
        let now = loader.now
        let stored = try lookUp(now)
        // A page does not get a response that it may not request, even if another requester has loaded it.
        if layout.isTransparent, let flags = stored.copy?.response.flags ?? stored.memoryResponse?.flags,
            flags.zone > nearestZone
        {
            return exchange.reply(
                .text(
                    403, "\(stored.url.href) is in a network zone that this page may not request from.\n",
                    fields: [("Cache-Control", "no-store")]))
        }
        switch action(stored, now) {
        case .serve(let hit): return try storedReply(stored, hit, now)
        case .serveAndRefresh(let hit, let additional):
            loader.load(job(stored, additional)) { _ in }
            return try storedReply(stored, hit, now)
        case .validate(let additional), .load(let additional):
            let isRead = CacheRequest.Method(request.method).isRead
            if stored.copy == nil, isRead, let pasted = exchange.pastedURLAnswer {
                return exchange.reply(pasted)
            }
            try load(stored, job(stored, additional), now, later)
            return nil
        case .miss:
            return try exchange.reply(try exchange.misses.answer(to: stored.url.href), orDefer: later)
        }
    }

    /// The reply with the stored response; nil if it lacks the requested part.
    private func storedReply(_ stored: StoredState, _ hit: CacheHit, _ now: HTTPDate) throws(StoreError)
        -> Reply?
    {
        guard let entry = stored.entry else { return nil }
        let renderer = try exchange.renderer(of: stored.url, finder(stored.view), requestFields: fields)
        if let memoryResponse = stored.memoryResponse {
            let answer = try exchange.timing.measure("splice") { () throws(StoreError) in
                try renderer.memoryAnswer(memoryResponse, entry, stored.request, AnswerSource(hit, []), now)
            }
            return answer.map { exchange.reply($0, role: .cache) }
        }
        guard var copy = stored.copy else { return nil }
        if let refusal = exchange.refusal(of: copy.sharing) { return refusal }
        // Proxy clients share the answer without Age, which is added for each client.
        copy.fields = entry.servedFields(at: now)
        if layout.isTransparent { copy.fields.remove("Age") }
        if hit == .fresh { copy.freshness = entry.freshness }
        exchange.recordUse(of: copy.response, at: stored.view.time)
        let answer = try exchange.timing.measure("splice") { () throws(StoreError) in
            try renderer.storedAnswer(copy, source: AnswerSource(hit, copy.change), bundle: stored.bundle)
        }
        guard layout.isTransparent else { return exchange.reply(answer, role: .cache) }
        if answer.freshness != nil, isSameForAllClients(stored, copy) {
            loader.freshAnswers.keep(answer, of: copy, stored.view, notedAt: stored.changeCount)
            exchange.responder.didKeep(answer.memoryByteCount)
        }
        var reply = exchange.reply(answer, role: .cache)
        reply.clientFields += AnswerFields.age(entry.freshness, at: now)
        return reply
    }

    /// Whether every client gets this answer until it is stale, unless its request has cache directives.
    private func isSameForAllClients(_ stored: StoredState, _ copy: FoundResponse) -> Bool {
        policy.servesFreshWithoutRequest && stored.key == .get && stored.required == nil
            && !request.head.affectsResponse && exchange.context.verifier.allowsKeeping && !copy.isVariant
            && !copy.response.flags.contains(.isCoded) && copy.response.isForAllClients(in: layout)
            && copy.change.isEmpty
    }

    // MARK: - Loading

    /// The load of a response that replaces or validates the stored one.
    private func job(_ stored: StoredState, _ additional: HTTPFields) -> LoadJob {
        return LoadJob(
            policy: policy, method: request.method, request: stored.request, rules: stored.rules,
            key: stored.key,
            body: Array(request.body), stored: stored.copy?.response, memoryResponse: stored.memoryResponse,
            entry: stored.entry,
            additional: additional,
            // A part cannot be verified.
            keepsRange: policy.forwardsConditions && stored.copy == nil && stored.required == nil
                && !additional.contains("Range"),
            keepsConditions: policy.forwardsConditions && additional.isEmpty,
            layout: layout, secrets: loader.secrets, shim: exchange.context.shim,
            verifier: exchange.context.verifier, nearestZone: nearestZone,
            canSendCredentials: canSendCredentials(stored.url),
            required: stored.required,
            isServerWide: layout.isTransparent && request.isServerWide)
    }

    /// Whether the request to the origin may contain the user's credentials. It may not if the client gets no
    /// private responses.
    private func canSendCredentials(_ url: WebURL) -> Bool {
        layout.isTransparent
            || requestContext.requester.canReceivePrivate && requestContext.isSameSite(as: url, layout.names)
    }

    /// Requests the origin, after a preflight if the page's request needs one. Until the response arrives, the server thread
    /// serves other clients; `later` gets the reply.
    private func load(_ stored: StoredState, _ asked: LoadJob, _ now: HTTPDate, _ later: DeferredReply)
        throws(StoreError)
    {
        let slot = later.makeSlot()
        let (requestContext, origin, layout) = (requestContext, request.origin, layout)
        let start = ContinuousClock.now
        let isForWorker = exchange.shouldRemoveWorker
        var job = asked
        // RFC 9110, section 15.2: HTTP/1.0 clients do not understand interim responses. Pages of other sites
        // get none, so that they learn nothing early.
        if !request.head.isHTTP10, isPublic || job.canSendCredentials {
            let fields = AnswerFields(layout: layout, isProxy: true)
            let url = stored.url
            job.interim = { slot.sendInterim(fields.interim($0, $1, base: url)) }
        }
        let stream = stream(job, slot)
        job.stream = stream
        if let log = exchange.context.log {
            job.isLost = { [url = stored.url.href] why in log.recordStoreFailure(why, of: url) }
        }
        let conclude: @Sendable (LoadedReply) -> Void = { [timing = exchange.timing] loaded in
            var timing = timing
            timing.add("load", ContinuousClock.now - start)
            if layout.isTransparent {
                var reply = Reply(
                    answer: loaded.answer, clientFields: loaded.clientFields, role: .cache,
                    source: loaded.source,
                    isStored: loaded.isShared && loaded.source == .network, failure: loaded.failure)
                guard let streamed = stream?.sent else { return slot.send(reply) }
                reply.streamed = streamed
                stream?.didStoreResponse()
                return slot.reportStreamed(reply)
            }
            switch loaded.answer.sharing.verdict(for: requestContext, origin: origin, in: layout) {
            case .given where isForWorker && loaded.answer.status >= 400:
                slot.send(Reply(answer: WorkerRemoval.answer))
            case .given(let lines):
                let isSevered = requestContext.isForeignWindow && !layout.sharesOrigin
                slot.send(
                    Reply(
                        answer: isSevered ? loaded.answer.withoutOpenerPolicy : loaded.answer,
                        clientFields: loaded.clientFields + lines + timing.line, role: .cache
                    ))
            case .refused: slot.send(Reply(answer: .refusal(to: requestContext)))
            case .withheld: slot.send(Reply(answer: .withheld))
            }
        }
        let preflight = Preflight(
            request.method, fields, to: stored.url, context: requestContext, layout: layout,
            nearestZone: nearestZone)
        if let preflight {
            loader.send(preflight) { [loader, job] isPassed in
                if isPassed {
                    loader.load(job, done: conclude)
                } else {
                    slot.send(Reply(answer: .refusal(to: requestContext)))
                }
            }
            return
        }
        var otherwise: (@Sendable () -> Void)?
        // If the origin takes too long, the client gets the stored response while the load continues.
        if let entry = stored.entry, policy.showsHeld(entry, for: stored.request, loader.profile, now),
            let reply = try storedReply(stored, entry.hit(at: now), now)
        {
            otherwise = { slot.send(reply) }
        }
        loader.loadWithTimeout(job, by: exchange.responder.threadLoader, otherwise: otherwise, done: conclude)
    }
}

extension CacheExchange {
    /// A stream for the proxy client if the response is long or of unknown length, will be sent as it is, and
    /// needs no verification first.
    private func stream(_ job: LoadJob, _ slot: ReplySlot) -> ReplyStream? {
        guard layout.isTransparent, job.required == nil, job.method != "HEAD",
            job.additional.isEmpty || !job.isCompletion,
            job.keepsRange || !request.head.isConditional
        else { return nil }
        let fields = AnswerFields(layout: layout, isProxy: true)
        let (url, hasEntry) = (job.request.url, job.entry != nil)
        return ReplyStream(slot, acceptsChunks: !request.head.isHTTP10) { status, received, byteCount in
            guard status != 304, status != 204, byteCount ?? .max >= ReplyStream.minStreamedBytes,
                !hasEntry || !CacheStatus.isServerFailure(status)
            else { return nil }
            var lines = "HTTP/1.1 \(status) \(StatusPhrase.of(status))\r\n"
            var outgoing = fields.fields(
                of: received, base: url, source: .loaded, sharing: Sharing(missing: url))
            outgoing += received.all("Set-Cookie").map { ("Set-Cookie", $0) }
            if let range = received["Content-Range"], status == 206 {
                outgoing.append(("Content-Range", range))
            }
            for (name, value) in outgoing { lines += "\(name): \(value)\r\n" }
            return HTTPGrammar.bytes(of: lines)
        }
    }
}

extension HTTPFields {
    /// Without forwarding fields of proxies. An origin may use them in its response, which is stored for
    /// everybody: a client could make it name another host.
    fileprivate var withoutForwarding: HTTPFields {
        HTTPFields(
            list.filter { field in
                let name = HTTPGrammar.lowercased(field.name.utf8)
                return name != "forwarded"
                    && !["x-forwarded-", "x-original-", "x-rewrite-"].contains { name.hasPrefix($0) }
            })
    }
}

extension CacheEntry {
    /// Whether the stored parts contain the whole requested range.
    fileprivate func answers(_ request: CacheRequest, with parts: BodyParts) -> Bool {
        guard let wanted = request.fields["Range"].flatMap({ ByteRanges($0) }) else { return false }
        return Preconditions(request.fields).allowsRange(of: validator, date: fields.date("Date"))
            && parts.part(wanted) != nil
    }
}

extension CachePolicy {
    /// Whether the stored response is served if the origin does not answer.
    fileprivate func showsHeld(
        _ entry: CacheEntry, for request: CacheRequest, _ profile: CacheProfile, _ now: HTTPDate
    ) -> Bool {
        let conclusion = conclusion(
            of: .unreachable, for: request, entry: entry, wasConditional: false, profile: profile, now: now)
        if case .stored = conclusion.reply { return true }
        return false
    }
}
