internal import Bundles
internal import HTTPServer
internal import Origins
internal import Portal
internal import Store
internal import Web

/// An exchange that may ask an origin: the server acts as a cache (RFC 9111) with the policy of the request.
struct CacheExchange {
    private let exchange: Exchange
    private let loading: Loading
    private let policy: CachePolicy
    private let rules: SiteRules
    private let addresses: [String]
    /// The addresses as URLs.
    private let urls: [WebURL]
    /// The addresses as the store names them.
    private let hrefs: [String]
    /// The URL to load if nothing is stored.
    private let likeliest: WebURL
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
    init?(_ exchange: Exchange, by loading: Loading) throws(StoreError) {
        guard case .copy(let addresses) = try exchange.place(), !addresses.isEmpty,
            let url = try exchange.layout.isTransparent
                ? exchange.proxied : WebURL(exchange.likeliest(addresses))
        else { return nil }
        let policy = try exchange.policy(at: url, loading)
        guard policy != .offline else { return nil }
        let (layout, requestContext) = (exchange.layout, exchange.requestContext)
        // Pages anywhere may embed the site that the server shows to other machines. Everything else is for
        // mirrored pages.
        let isPublic =
            layout.isPublished(url)
            && CacheRequest.Method(exchange.request.method).isAnsweredByStored
        guard layout.isTransparent || isPublic || requestContext.mayCauseRequests,
            !Self.isOutOfReach(requestContext, url, layout)
        else { return nil }
        var fields = exchange.fields
        if layout.isExposed, !layout.isTransparent { fields = fields.withoutForwarding }
        if !layout.isTransparent {
            requestContext.restoreOriginalHeaders(
                in: &fields, to: url, page: try exchange.referrer().flatMap { WebURL($0) }, layout: layout)
        }
        self.exchange = exchange
        self.loading = loading
        self.policy = policy
        self.addresses = addresses
        urls = layout.isTransparent ? [url] : addresses.compactMap { WebURL($0) }
        hrefs = urls.map(\.withoutFragment.href)
        self.fields = fields
        self.isPublic = isPublic
        likeliest = url
        rules = try exchange.rules()
        nearestZone = try Self.nearestZone(exchange, url, rules)
    }

    /// Requests that a browser blocks by itself if each origin has its own name.
    private static func isOutOfReach(
        _ context: RequestContext, _ url: WebURL, _ layout: OriginLayout
    ) -> Bool {
        layout.sharesRootHost(url)
            && (context.use.isWorker
                || context.use.mode == "same-origin" && !context.origins.contains(url.origin))
    }

    /// The zone in which a user named the host, or the zone of the page that sent the request.
    private static func nearestZone(
        _ exchange: Exchange, _ url: WebURL, _ rules: SiteRules
    ) throws(StoreError) -> NetworkZone {
        if exchange.layout.isTransparent { return try exchange.nearestProxiedZone(to: url) }
        if exchange.layout.isExposed { return try exchange.nearestZone(to: url) }
        let isRoot = exchange.layout.root?.isRoot(url) ?? false
        let zoneOfName = isRoot ? NetworkZone.thisMachine : rules.namedZone(ofHost: url.host)
        let namedZone = try zoneOfName.map { (zone) throws(StoreError) in
            try exchange.namedZone(zone, of: url)
        }
        guard case .page(let origins) = exchange.requestContext.kind else {
            return namedZone ?? .publicNetwork
        }
        if let namedZone, origins.contains(where: { WebURL($0)?.host == url.host }) { return namedZone }
        return try exchange.nearestZone(to: url)
    }

    // MARK: - Lookup

    /// The stored response for the request, and the request as policies see it.
    private struct Held {
        var copy: FoundCopy?
        var shelved: ShelvedCopy?
        /// The copy or the shelved copy, as policies see it.
        var entry: CacheEntry?
        let required: Bundle?
        var bundle: ShownBundle?
        let key: RequestKey
        let request: CacheRequest
        /// The cache rules for the URL.
        let rules: CacheRules
        /// The change count before the lookup.
        let changeCount: Int
        let look: MirrorResponder.Look

        var url: WebURL { request.url }
    }

    private func held(_ now: HTTPDate) throws(StoreError) -> Held {
        let changeCount = loading.ready.changeCount
        let method = CacheRequest.Method(request.method)
        let isRead = method.isAnsweredByStored
        // Responses to recorded requests are stored separately; else the response to a POST could answer a
        // GET (RFC 9110 §9.3.3). Other methods are answered from the store only if a rule says so.
        let isRecorded =
            !isRead && request.method != "TRACE" && !request.isServerWide
            && (layout.isTransparent || [.preferCache, .refreshBehind, .auto].contains(policy))
            && rules.rules(for: likeliest).keepsPosts(to: likeliest)
        let body = request.body
        let key =
            !isRecorded ? .get : RequestKey(method: request.method, body: body.span, type: fields.contentType)
        var (copy, shelved): (FoundCopy?, ShelvedCopy?) = (nil, nil)
        // Arrivals leave memory after they are stored, so memory is searched first.
        if isRead || isRecorded { shelved = arrived(key) }
        var required: Bundle?
        try exchange.atOneMoment { (look) throws(StoreError) in
            if shelved == nil, isRead || isRecorded {
                copy = try exchange.timing.measure("lookup") { () throws(StoreError) in
                    // Only `prefer-cache` accepts stand-ins for the URL.
                    try finder(look).find(
                        urls, request: key, requestFields: fields,
                        rules: policy == .preferCache ? rules : nil)
                }
            }
            // The response to another method could be stored as one to GET.
            required = key == .get ? try exchange.responder.required(addresses, look) : nil
        }
        let look = try exchange.look()
        if shelved == nil, isRead || isRecorded { shelved = shelvedCopy(key) }
        // A newer snapshot may have gone live since.
        if let kept = shelved, let copy,
            copy.response.fetched > kept.entry.freshness.responseTime.secondsSinceEpoch
        {
            shelved = nil
        }
        // A response that this client may not have is treated as missing.
        if let found = copy, !mayHave(found.response.flags, of: found.url) { copy = nil }
        if let found = shelved, !mayHave(found.allFlags, of: likeliest) { shelved = nil }
        // A response for one API key or login is never served for another.
        if let found = copy,
            policy != .preferCache || layout.isShared || found.response.flags.contains(.isPrivate),
            !found.response.suits(fields, look.reader.secrets)
        {
            copy = nil
        }
        // A damaged body is loaded again.
        if try exchange.isDamaged(copy, isRequired: required != nil) { copy = nil }
        let bundle = try copy.flatMap { (copy) throws(StoreError) in try exchange.shown(copy, as: required) }
        if let found = copy, !found.change.isEmpty, required != nil, bundle?.isVerified != true { copy = nil }
        if shelved?.parts != nil, copy != nil || method != .get { shelved = nil }
        if shelved != nil { copy = nil }
        let url = copy?.url ?? shelved.flatMap { WebURL($0.href) } ?? likeliest
        let cacheRequest = CacheRequest(
            method: request.method, url: url, fields: fields, isRecorded: isRecorded)
        let urlRules = rules.rules(for: url)
        var entry = shelved?.entry ?? copy?.response.cacheEntry(profile: loading.profile, rules: urlRules)
        if let parts = shelved?.parts, let held = entry, held.answers(cacheRequest, with: parts) {
            // The requested part is complete.
            entry?.isPart = false
        }
        return Held(
            copy: copy, shelved: shelved, entry: entry, required: required, bundle: bundle, key: key,
            request: cacheRequest, rules: urlRules, changeCount: changeCount, look: look)
    }

    private func finder(_ look: MirrorResponder.Look) -> CopyFinder {
        CopyFinder(
            reader: look.reader, fields: AnswerFields(layout: layout, isProxy: true),
            now: exchange.timeOfAsking, context: exchange.requestContext)
    }

    private func shelvedCopy(_ key: RequestKey) -> ShelvedCopy? {
        first { loading.shelf.copy(of: $0, request: key, fields: fields) }
    }

    private func arrived(_ key: RequestKey) -> ShelvedCopy? {
        guard layout.isTransparent else { return nil }
        return first { loading.arrivals.copy(of: $0, request: key, fields: fields) }
    }

    /// Looks each address up only once: another thread may remove the copy in between.
    private func first(_ copy: (String) -> ShelvedCopy?) -> ShelvedCopy? {
        for href in hrefs { if let found = copy(href) { return found } }
        return nil
    }

    /// Whether the client may have a stored response. RFC 9111 3.5 lets a shared cache serve some responses
    /// to one user's credentials to everybody; a shared proxy serves none of them.
    private func mayHave(_ flags: ResponseFlags, of url: WebURL) -> Bool {
        !layout.isShared || exchange.mayHave(flags, of: url)
    }

    // MARK: - Decision

    private func action(_ held: Held, _ now: HTTPDate) -> CacheAction {
        // A request to the origin would lack the user's credentials, so the response would not be the user's.
        if let copy = held.copy, copy.response.flags.contains(.isPrivate), !isNear(held.url),
            CacheRequest.Method(request.method).isAnsweredByStored, exchange.refusal(of: copy.sharing) == nil
        {
            return .serve(.stale)
        }
        let reachability = loading.reach.reachability(of: held.url.origin, now: now)
        var action = policy.action(for: held.request, entry: held.entry, reachability: reachability, now: now)
        if held.required != nil, held.copy != nil {
            switch action {
            // A verified bundle needs no validation, whatever the policy.
            case _ where held.bundle?.isVerified == true: action = .serve(.fresh)
            // The stored response is not what the manifest requires now.
            case .serve, .serveAndRefresh:
                if reachability != .unreachable, !held.request.directives.onlyIfCached {
                    action = .load(adding: [:])
                }
            case .validate, .load, .miss: break
            }
        }
        if case .load([:]) = action, !held.request.fields.contains("Range"),
            let rest = held.shelved?.parts?.held.completionRequest
        {
            action = .load(adding: rest)
        }
        return action
    }

    /// The nearest network zone that a request with no stored response may connect to; nil if the policy
    /// sends none.
    var zoneOfMiss: NetworkZone? {
        let asked = CacheRequest(method: request.method, url: likeliest, fields: fields, isRecorded: false)
        let now = loading.now
        let reachability = loading.reach.reachability(of: likeliest.origin, now: now)
        switch policy.action(for: asked, entry: nil, reachability: reachability, now: now) {
        case .load, .validate: return nearestZone
        case .serve, .serveAndRefresh, .miss: return nil
        }
    }

    /// Nil if an origin is asked first; then `later` gets the reply.
    func reply(orDefer later: DeferredReply) throws(StoreError) -> Reply? {
        let now = loading.now
        let held = try held(now)
        // A page does not get a response that it may not request, even if another requester has loaded it.
        if layout.isTransparent, let flags = held.copy?.response.flags ?? held.shelved?.flags,
            flags.zone > nearestZone
        {
            return exchange.reply(
                .text(
                    403, "\(held.url.href) is in a network zone that this page may not request from.\n",
                    fields: [("Cache-Control", "no-store")]))
        }
        switch action(held, now) {
        case .serve(let hit): return try shown(held, hit, now)
        case .serveAndRefresh(let hit, let additional):
            loading.run(job(held, additional)) { _ in }
            return try shown(held, hit, now)
        case .validate(let additional), .load(let additional):
            let isRead = CacheRequest.Method(request.method).isAnsweredByStored
            if held.copy == nil, isRead, let pasted = exchange.pasted { return exchange.reply(pasted) }
            try load(held, job(held, additional), now, later)
            return nil
        case .miss: return exchange.reply(try exchange.miss(held.url.href))
        }
    }

    private func shown(_ held: Held, _ hit: CacheHit, _ now: HTTPDate) throws(StoreError) -> Reply? {
        guard let entry = held.entry else { return nil }
        let renderer = exchange.renderer(finder(held.look), asked: fields)
        if let shelved = held.shelved {
            let answer = try exchange.timing.measure("splice") { () throws(StoreError) in
                try renderer.answer(shelved, entry, held.request, AnswerSource(hit, []), now)
            }
            return answer.map { exchange.reply($0, role: .cache) }
        }
        guard var copy = held.copy else { return nil }
        if let refusal = exchange.refusal(of: copy.sharing) { return refusal }
        // Proxy clients share the answer without Age, which is added for each client.
        copy.fields = entry.servedFields(at: now)
        if layout.isTransparent { copy.fields.remove("Age") }
        if hit == .fresh { copy.freshness = entry.freshness }
        exchange.context.notes?.made(copy.response.url, at: held.look.time)
        let answer = try exchange.timing.measure("splice") { () throws(StoreError) in
            try renderer.answer(copy, source: AnswerSource(hit, copy.change), bundle: held.bundle)
        }
        guard layout.isTransparent else { return exchange.reply(answer, role: .cache) }
        if answer.freshness != nil, isTheSameForAll(held, copy) {
            loading.ready.keep(answer, of: copy, held.look, notedAt: held.changeCount)
            exchange.responder.didKeep(answer.heldByteCount)
        }
        var reply = exchange.reply(answer, role: .cache)
        reply.clientFields += AnswerFields.age(entry.freshness, at: now)
        return reply
    }

    /// Whether every client gets this answer until it is stale, unless its request has cache directives.
    private func isTheSameForAll(_ held: Held, _ copy: FoundCopy) -> Bool {
        [.protocol, .auto, .preferCache].contains(policy) && held.key == .get && held.required == nil
            && !request.head.affectsResponse && exchange.context.verifier.allowsKeeping && !copy.isVariant
            && !copy.response.flags.contains(.isCoded) && copy.response.isForAllClients(in: layout)
            && copy.change.isEmpty
    }

    // MARK: - Loading

    private func job(_ held: Held, _ additional: HTTPFields) -> LoadJob {
        // With `protocol`, the origin answers the client's own conditions and ranges. Other policies load
        // whole responses for later use.
        let isThrough = policy == .protocol
        return LoadJob(
            policy: policy, method: request.method, request: held.request, rules: held.rules, key: held.key,
            body: Array(request.body), held: held.copy?.response, shelved: held.shelved, entry: held.entry,
            additional: additional,
            // A part cannot be verified.
            keepsRange: isThrough && held.copy == nil && held.required == nil
                && !additional.contains("Range"),
            keepsConditions: isThrough && additional.isEmpty,
            layout: layout, secrets: loading.secrets, shim: exchange.context.shim,
            verifier: exchange.context.verifier, nearestZone: nearestZone,
            isNear: isNear(held.url),
            required: held.required,
            isServerWide: layout.isTransparent && request.isServerWide)
    }

    /// Whether the request to the origin may contain the user's credentials. It may not if the client gets no
    /// private responses.
    private func isNear(_ url: WebURL) -> Bool {
        layout.isTransparent
            || requestContext.requester.mayHavePrivate && requestContext.isSameSite(as: url, layout.names)
    }

    private func load(_ held: Held, _ asked: LoadJob, _ now: HTTPDate, _ later: DeferredReply)
        throws(StoreError)
    {
        let slot = later.makeSlot()
        let (requestContext, origin, layout) = (requestContext, request.origin, layout)
        let start = ContinuousClock.now
        let isForWorker = exchange.mayRemoveWorker
        var job = asked
        // RFC 9110, section 15.2: HTTP/1.0 clients do not understand interim responses. Pages of other sites
        // get none, so that they learn nothing early.
        if !request.head.isHTTP10, isPublic || job.isNear {
            let fields = AnswerFields(layout: layout, isProxy: true)
            let url = held.url
            job.interim = { slot.sendInterim(fields.interim($0, $1, base: url)) }
        }
        let stream = stream(job, slot)
        job.stream = stream
        if let log = exchange.context.log {
            job.isLost = { [url = held.url.href] why in log.noteLoss(why, of: url) }
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
            case .refused: slot.send(Reply(answer: Exchange.refused(requestContext)))
            case .withheld: slot.send(Reply(answer: Exchange.withheld))
            }
        }
        let preflight = Preflight(
            request.method, fields, to: held.url, context: requestContext, layout: layout,
            nearestZone: nearestZone)
        if let preflight {
            loading.ask(preflight) { [loading, job] isPassed in
                if isPassed {
                    loading.run(job, done: conclude)
                } else {
                    slot.send(Reply(answer: Exchange.refused(requestContext)))
                }
            }
            return
        }
        var otherwise: (@Sendable () -> Void)?
        if let entry = held.entry, policy.showsHeld(entry, for: held.request, loading.profile, now),
            let reply = try shown(held, entry.hit(at: now), now)
        {
            otherwise = { slot.send(reply) }
        }
        loading.run(job, by: exchange.responder.loads, otherwise: otherwise, done: conclude)
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
