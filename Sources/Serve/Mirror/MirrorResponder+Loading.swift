internal import Store
internal import Web

extension MirrorResponder {
    /// Answers by the policy that holds for the request. Nil when a server is asked first: then `later` gets the reply.
    func reply(to request: Request, orLater later: Later, by loading: Loading) -> Reply? {
        let place = context.names.place(
            authority: String(decoding: request.host, as: UTF8.self),
            target: String(decoding: request.target, as: UTF8.self))
        guard case .copy(let addresses) = place else { return respond(to: request) }
        let fields = request.fields
        do throws(StoreError) {
            let look = try look()
            let rules = try rules(look)
            let likeliest = WebURL(addresses[0])
            let policy =
                fields["Larder-Policy"].flatMap { CachePolicy(rawValue: $0) }
                ?? likeliest.flatMap { rules.rules(for: $0).policy(for: $0) } ?? loading.policy
            guard let likeliest, policy != .offline else { return respond(to: request) }
            let authority = String(decoding: request.host, as: UTF8.self)
            let layout = context.layout.seen(from: authority)
            // Anybody's page may show a picture of the site that is shown to everybody. All else is for our own pages.
            let isPublic =
                layout.root?.isRoot(likeliest) ?? false && CacheRequest.Method(request.method).isAnsweredByStored
            guard isPublic || !ForeignPage.asks(fields, authority: authority, layout: layout) else {
                return respond(to: request)
            }
            let asked = Asked(
                addresses: addresses, url: likeliest, request: request, fields: fields, policy: policy, rules: rules,
                layout: layout)
            return try reply(to: asked, look, later, by: loading)
        } catch {
            return reply(plain(500, "\(error)"), to: request.origin)
        }
    }

    /// A request with what was found out about it.
    private struct Asked {
        let addresses: [String]
        /// What a server is asked for when nothing is held.
        let url: WebURL
        let request: Request
        let fields: HTTPFields
        let policy: CachePolicy
        let rules: SiteRules
        let layout: OriginLayout
    }

    private func reply(
        to asked: Asked, _ look: Look, _ later: Later, by loading: Loading
    ) throws(StoreError) -> Reply? {
        let request = asked.request
        let finder = CopyFinder(reader: look.reader, fields: AnswerFields(layout: asked.layout, isProxy: true))
        let method = CacheRequest.Method(request.method)
        let isRead = method.isAnsweredByStored
        // What a recorded request was answered is kept apart; else an answer to POST may be one to GET (RFC 9110 §9.3.3).
        let isRecorded = !isRead && [.preferCache, .refreshBehind, .auto].contains(asked.policy)
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
                layout: asked.layout, shim: context.shim, verifier: context.verifier,
                mayReachPrivate: asked.rules.knows(host: url.host) || asked.layout.root?.isRoot(url) ?? false,
                isNavigation: asked.fields.isNavigation)
        }
        func served(_ hit: CacheHit) throws(StoreError) -> Reply? {
            guard let entry else { return nil }
            let renderer = CopyRenderer(
                finder: finder, layout: asked.layout, shim: context.shim, verifier: context.verifier)
            if let shelved {
                let answer = try timing.measure("splice") { () throws(StoreError) in
                    try renderer.answer(shelved, entry, cacheRequest, AnswerSource(hit, []), now)
                }
                return answer.map { reply($0, to: request.origin, role: .cache) }
            }
            guard var copy else { return nil }
            copy.fields = entry.servedFields(at: now)
            context.notes?.made(copy.response.url, at: look.time)
            let answer = try timing.measure("splice") { () throws(StoreError) in
                try renderer.answer(copy, source: AnswerSource(hit, copy.change))
            }
            return reply(answer, to: request.origin, role: .cache)
        }
        switch action {
        case .serve(let hit): return try served(hit)
        case .serveAndRefresh(let hit, let additional):
            loading.run(job(additional)) { _ in }
            return try served(hit)
        case .validate(let additional), .load(let additional):
            if copy == nil, isRead, let answer = led(request, asked.layout) { return reply(answer, to: request.origin) }
            let slot = later.slot()
            let own = request.origin.map(context.layout.crossOriginFields) ?? []
            let start = ContinuousClock.now
            loading.run(job(additional)) { [timing] loaded in
                var timing = timing
                timing.add("load", ContinuousClock.now - start)
                slot.give(
                    Reply(answer: loaded.answer, ownFields: loaded.ownFields + own + timing.line, role: .cache))
            }
            return nil
        case .miss:
            return reply(try miss(url.href, request, asked.fields, look), to: request.origin)
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
