internal import Store
internal import Web

extension MirrorResponder {
    /// Answers by the policy that holds for the request. Nil when a server is asked first: then `later` gets the reply.
    func reply(to request: Request, orLater later: Later, by loading: Loading) -> Reply? {
        do throws(StoreError) {
            let look = try look()
            guard case .copy(let addresses) = try place(request, look), !addresses.isEmpty,
                let likeliest = WebURL(try likeliest(addresses, request, look))
            else { return respond(to: request) }
            let sent = request.fields
            let policy = try policy(of: request, sent, likeliest, loading, look)
            guard policy != .offline else { return respond(to: request) }
            let layout = layout(for: request)
            let asker = Asker(sent, authority: request.authority, layout: layout)
            // Anybody's page may show a picture of the site that is shown to everybody. All else is for our own pages.
            let isPublic =
                layout.root?.isRoot(likeliest) ?? false && CacheRequest.Method(request.method).isAnsweredByStored
            guard isPublic || asker.mayHaveAsked, !isOutOfReach(asker, likeliest, layout) else {
                return respond(to: request)
            }
            let page =
                try sent["Referer"].flatMap { WebURL($0) }.map { (local) throws(StoreError) in
                    try original(of: local, look.reader)
                } ?? nil
            var fields = sent
            asker.lead(&fields, to: likeliest, page: page.flatMap { WebURL($0) }, layout: layout)
            let rules = try rules(look)
            let asked = Asked(
                addresses: addresses, url: likeliest, request: request, fields: fields, asker: asker, policy: policy,
                rules: rules, layout: layout,
                mayReach: try mayReach(asker, likeliest, rules, layout, look.reader), isPublic: isPublic)
            return try reply(to: asked, look, later, by: loading)
        } catch {
            return reply(plain(500, "\(error)"), to: request)
        }
    }

    /// Beside a site at the root, what a browser would refuse by itself elsewhere.
    private func isOutOfReach(_ asker: Asker, _ url: WebURL, _ layout: OriginLayout) -> Bool {
        guard let root = layout.root, !root.isRoot(url) else { return false }
        return asker.use.isWorker || asker.use.mode == "same-origin" && !asker.origins.contains(url.origin)
    }

    /// How near to this machine a server may be that is asked: where the user named it, it may be anywhere; else as far as the
    /// page that asks.
    private func mayReach(
        _ asker: Asker, _ url: WebURL, _ rules: SiteRules, _ layout: OriginLayout, _ reader: StoreReader
    ) throws(StoreError) -> ResponseFlags {
        let isNamed = rules.knows(host: url.host) || layout.root?.isRoot(url) ?? false
        guard case .page(let origins) = asker.kind else { return isNamed ? .fromThisMachine : [] }
        if isNamed, origins.contains(where: { WebURL($0)?.host == url.host }) { return .fromThisMachine }
        return try reach(of: asker, reader)
    }

    /// A request with what was found out about it.
    private struct Asked {
        let addresses: [String]
        /// What a server is asked for when nothing is held.
        let url: WebURL
        let request: Request
        /// As the page would have sent them on the web.
        let fields: HTTPFields
        let asker: Asker
        let policy: CachePolicy
        let rules: SiteRules
        let layout: OriginLayout
        let mayReach: ResponseFlags
        /// It is of the site that is shown to everybody.
        let isPublic: Bool
    }

    private func reply(
        to asked: Asked, _ look: Look, _ later: Later, by loading: Loading
    ) throws(StoreError) -> Reply? {
        let request = asked.request
        let finder = CopyFinder(reader: look.reader, fields: AnswerFields(layout: asked.layout, isProxy: true))
        let method = CacheRequest.Method(request.method)
        let isRead = method.isAnsweredByStored
        // What a recorded request was answered is kept apart; else an answer to POST may be one to GET (RFC 9110 §9.3.3). No
        // other method is ever answered by what is held, and POST only where a rule says so.
        let isRecorded =
            request.method == "POST" && [.preferCache, .refreshBehind, .auto].contains(asked.policy)
            && asked.rules.rules(for: asked.url).keepsPosts(to: asked.url)
        let key = isRead || !isRecorded ? .get : RequestKey(method: request.method, body: request.body.span)
        // Only those who take what is held, however old, are content with what stands in for it.
        let rules = asked.policy == .preferCache ? asked.rules : nil
        var copy: FoundCopy?
        if isRead || isRecorded {
            copy = try timing.measure("lookup") { () throws(StoreError) in
                try finder.find(asked.addresses, request: key, requestFields: asked.fields, rules: rules)
            }
        }
        if let found = copy, asked.policy != .preferCache, !found.response.suits(asked.fields) { copy = nil }
        // What is damaged is loaded again.
        if try isDamaged(copy, look) { copy = nil }
        let required = isRead ? try required(asked.addresses, look) : nil
        let bundle = try copy.flatMap { (copy) throws(StoreError) in try shown(copy, as: required, look) }
        if let found = copy, !found.change.isEmpty, required != nil, bundle?.isVerified != true { copy = nil }
        var shelved = isRead || isRecorded ? self.shelved(asked, key, by: loading) : nil
        if shelved?.parts != nil, copy != nil || method != .get { shelved = nil }
        if shelved != nil { copy = nil }
        let url = copy?.url ?? shelved.flatMap { WebURL($0.href) } ?? asked.url
        let cacheRequest = CacheRequest(
            method: request.method, url: url, fields: asked.fields, isRecorded: isRecorded)
        let urlRules = asked.rules.rules(for: url)
        let now = loading.now
        var entry = shelved?.entry ?? copy?.response.cacheEntry(profile: loading.profile, rules: urlRules)
        if let parts = shelved?.parts, let held = entry, held.answers(cacheRequest, with: parts) {
            // All that is asked for is there.
            entry?.isPart = false
        }
        var action = asked.policy.action(
            for: cacheRequest, entry: entry, reachability: loading.reach.reachability(of: url.origin, now: now),
            now: now)
        if required != nil, copy != nil, ![.reload, .reloadEndToEnd].contains(asked.policy) {
            switch action {
            // As its manifest requires it, it needs no more asking.
            case _ where bundle?.isVerified == true: action = .serve(.fresh)
            // It is another one than is required by now.
            case .serve, .serveAndRefresh:
                let isReachable = loading.reach.reachability(of: url.origin, now: now) != .unreachable
                if isReachable, !cacheRequest.directives.onlyIfCached { action = .load(adding: [:]) }
            case .validate, .load, .miss: break
            }
        }
        if case .load([:]) = action, !cacheRequest.fields.contains("Range"), let rest = shelved?.parts?.held.completion
        {
            action = .load(adding: rest)
        }
        // Whoever keeps all that it can lets the server answer the client's own conditions and ranges; whoever wants
        // whole pages for later asks for whole pages.
        let isThrough = asked.policy == .protocol
        func job(_ additional: HTTPFields) -> LoadJob {
            LoadJob(
                policy: asked.policy, method: request.method, request: cacheRequest, rules: urlRules, key: key,
                body: Array(request.body), held: copy?.response, shelved: shelved, entry: entry, additional: additional,
                keepsRange: isThrough && copy == nil && !additional.contains("Range"),
                keepsConditions: isThrough && additional.isEmpty,
                layout: asked.layout, shim: context.shim, verifier: context.verifier, mayReach: asked.mayReach,
                isNear: asked.asker.isNear(url, asked.layout.names), required: required)
        }
        func served(_ hit: CacheHit) throws(StoreError) -> Reply? {
            guard let entry else { return nil }
            let renderer = CopyRenderer(
                finder: finder, layout: asked.layout, shim: context.shim, verifier: context.verifier,
                asked: asked.fields)
            if let shelved {
                let answer = try timing.measure("splice") { () throws(StoreError) in
                    try renderer.answer(shelved, entry, cacheRequest, AnswerSource(hit, []), now)
                }
                return answer.map { reply($0, to: request, role: .cache) }
            }
            guard var copy else { return nil }
            copy.fields = entry.servedFields(at: now)
            context.notes?.made(copy.response.url, at: look.time)
            let answer = try timing.measure("splice") { () throws(StoreError) in
                try renderer.answer(copy, source: AnswerSource(hit, copy.change), bundle: bundle)
            }
            return reply(answer, to: request, role: .cache)
        }
        switch action {
        case .serve(let hit): return try served(hit)
        case .serveAndRefresh(let hit, let additional):
            loading.run(job(additional)) { _ in }
            return try served(hit)
        case .validate(let additional), .load(let additional):
            if copy == nil, isRead, let answer = led(request, asked.layout) { return reply(answer, to: request) }
            let slot = later.slot()
            let (asker, origin, layout) = (asked.asker, request.origin, asked.layout)
            let start = ContinuousClock.now
            var job = job(additional)
            // RFC 9110, section 15.2: a client of HTTP/1.0 would take it for the answer. Others' pages learn nothing early.
            if !request.head.isOld, asked.isPublic || asker.isNear(url, layout.names) {
                let fields = AnswerFields(layout: layout, isProxy: true)
                job.interim = { slot.tell(fields.interim($0, $1, base: url)) }
            }
            let conclude: @Sendable (LoadedReply) -> Void = { [timing] loaded in
                var timing = timing
                timing.add("load", ContinuousClock.now - start)
                switch loaded.answer.sharing.verdict(for: asker, origin: origin, in: layout) {
                case .given(let lines):
                    slot.give(
                        Reply(answer: loaded.answer, ownFields: loaded.ownFields + lines + timing.line, role: .cache))
                case .refused: slot.give(Reply(answer: Self.refused(asker)))
                case .withheld: slot.give(Reply(answer: Self.withheld))
                }
            }
            let preflight = Preflight(
                request.method, asked.fields, to: url, asker: asker, layout: layout, mayReach: asked.mayReach)
            guard let preflight else {
                var otherwise: (@Sendable () -> Void)?
                if let entry, asked.policy.showsHeld(entry, for: cacheRequest, loading.profile, now),
                    let held = try served(entry.hit(at: now))
                {
                    otherwise = { slot.give(held) }
                }
                loading.run(job, otherwise: otherwise, done: conclude)
                return nil
            }
            loading.ask(preflight) { [job] isPassed in
                if isPassed { loading.run(job, done: conclude) } else { slot.give(Reply(answer: Self.refused(asker))) }
            }
            return nil
        case .miss:
            return reply(try miss(url.href, request, request.fields, look), to: request)
        }
    }

    private func shelved(_ asked: Asked, _ key: RequestKey, by loading: Loading) -> ShelvedCopy? {
        for address in asked.addresses {
            guard let href = WebURL(address)?.withoutFragment.href else { continue }
            if let copy = loading.shelf.copy(of: href, request: key, fields: asked.fields) { return copy }
        }
        return nil
    }
}

extension CacheEntry {
    /// Whether the parts that are held are all that a request asks for.
    fileprivate func answers(_ request: CacheRequest, with parts: BodyParts) -> Bool {
        guard let wanted = request.fields["Range"].flatMap({ ByteRanges($0) }) else { return false }
        return Preconditions(request.fields).allowsRange(of: validator, date: fields.date("Date"))
            && parts.part(wanted) != nil
    }
}

extension CachePolicy {
    /// Whether what is held is shown where a server does not answer.
    fileprivate func showsHeld(
        _ entry: CacheEntry, for request: CacheRequest, _ profile: CacheProfile, _ now: HTTPDate
    ) -> Bool {
        let conclusion = conclusion(
            of: .unreachable, for: request, entry: entry, wasConditional: false, profile: profile, now: now)
        if case .stored = conclusion.reply { return true }
        return false
    }
}
