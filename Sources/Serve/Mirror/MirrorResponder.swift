internal import Bundles
internal import Store
internal import System
internal import Web

/// Answers from the larder, and from servers where the policy has them asked. It belongs to one server thread, as its reader
/// does; the context is everybody's.
final class MirrorResponder: Responder {
    let context: MirrorContext
    private let portal: Portal
    private var store: WatchedStore
    /// Read once for each look at the store.
    private var rules: (generation: TierGeneration, rules: SiteRules)?
    private var requirements: (generation: TierGeneration, requirements: Requirements)?
    /// Of origins by https whether they are held by http alone, as of one look at the store.
    private var plain: (generation: TierGeneration, origins: [String: Bool])?
    /// When all origins that are held were named, so that digests in names are known.
    private var named: TierGeneration?
    /// Of the answer that is being made.
    var timing = ServerTiming()

    init(_ store: WatchedStore, verdicts: ScriptsPage.Verdicts? = nil, context: MirrorContext) {
        self.store = store
        self.context = context
        portal = Portal(
            layout: context.layout.seen(from: "localhost:\(context.layout.port)"), verdicts: verdicts,
            walk: context.walk)
    }

    func respond(to request: Request) -> Reply {
        timing = ServerTiming()
        return reply(sealing(request) ?? answer(to: request), to: request)
    }

    func respond(to request: Request, orLater later: Later) -> Reply? {
        guard let loading = context.loading, sealing(request) == nil else { return respond(to: request) }
        timing = ServerTiming()
        return reply(to: request, orLater: later, by: loading)
    }

    /// As whoever asks sees the larder.
    func layout(for request: Request) -> OriginLayout {
        context.layout.seen(from: request.authority, at: request.targetText)
    }

    /// Beside a site at the root leads a document to where it is known whose its requests are.
    private func sealing(_ request: Request) -> Answer? {
        guard let root = context.layout.root, request.target.starts(with: "/-/".utf8) else { return nil }
        let layout = layout(for: request)
        guard Asker(request.fields, authority: request.authority, layout: layout).use.makesDocument,
            case .copy = context.names.place(authority: request.authority, target: request.targetText),
            let url = root.addresses(of: request.targetText).first.flatMap({ WebURL($0) }),
            let address = layout.sealed(url)
        else { return nil }
        return .redirect(
            to: address, fields: layout.commonFields, keepsMethod: true, sharing: Sharing(missing: url))
    }

    /// An answer as the page that asks may have it.
    func reply(_ answer: Answer, to request: Request, role: Preconditions.Role = .origin) -> Reply {
        let mayBeBesideRoot = context.layout.root != nil && request.target.starts(with: "/-/".utf8)
        guard request.isCrossOrigin || mayBeBesideRoot || context.layout.withholdsPrivate else {
            return Reply(answer: answer, ownFields: timing.line, role: role)
        }
        let layout = layout(for: request)
        let asker = Asker(request.fields, authority: request.authority, layout: layout)
        switch answer.sharing.verdict(for: asker, origin: request.origin, in: layout) {
        case .given(let lines): return Reply(answer: answer, ownFields: lines + timing.line, role: role)
        case .refused: return Reply(answer: Self.refused(asker))
        case .withheld: return Reply(answer: Self.withheld)
        }
    }

    static let withheld = Answer.text(
        403,
        "This was fetched with credentials, and is not shown to other machines; larder serve --show-private shows it.\n",
        fields: [("Cache-Control", "no-store")])

    /// The same for what is held and what is not, so that nobody learns which it is. To a page from elsewhere not even that
    /// there is an answer.
    static func refused(_ asker: Asker) -> Answer {
        let policy = asker.kind == .outside ? [("Cross-Origin-Resource-Policy", "same-origin")] : []
        return .text(
            403, "A page of another site asks for this, which the larder does not show to it.\n",
            fields: policy + [("Cache-Control", "no-store")])
    }

    private func answer(to request: Request) -> Answer {
        do throws(StoreError) {
            // First: when it cannot be read, what was read before is not so any more.
            let look = try look()
            guard request.head.method != .other else { return try find(request, look).answer }
            let (host, target) = (request.host.span, request.target.span)
            if let known = context.tier.value(for: host, target, now: look.time) { return known }
            let (answer, url) = try find(request, look)
            if let url {
                context.tier.keep(
                    answer, byteCount: answer.heldByteCount, id: url, for: host, target, madeIn: look.generation,
                    now: look.time)
            }
            return answer
        } catch {
            return plain(500, "\(error)")
        }
    }

    /// One look at the store.
    struct Look {
        let reader: StoreReader
        let generation: TierGeneration
        let time: Int64
    }

    func look() throws(StoreError) -> Look {
        let now = SystemClock.seconds()
        let generation = store.generation(in: context.tier, at: now)
        return Look(reader: try store.reader, generation: generation, time: now)
    }

    func rules(_ look: Look) throws(StoreError) -> SiteRules {
        if let rules, rules.generation == look.generation { return rules.rules }
        let read = SiteRules(try look.reader.siteSettings(), own: context.rules)
        rules = (look.generation, read)
        return read
    }

    /// What the manifests in force require at the first of the addresses of which they require anything.
    func required(_ addresses: [String], _ look: Look) throws(StoreError) -> Bundle? {
        if requirements?.generation != look.generation {
            requirements = (look.generation, try context.requirements(look.reader))
        }
        guard let all = requirements?.requirements, !all.isEmpty else { return nil }
        return addresses.lazy.compactMap { WebURL($0).flatMap { all[$0] } }.first
    }

    /// Where bodies are hashed before they are shown. What is found is noted, so that the next who fetches mends it.
    func isDamaged(_ copy: FoundCopy?, _ look: Look) throws(StoreError) -> Bool {
        guard let body = copy?.response.body, let content = try look.reader.content(of: body),
            try !context.verifier.isWhole(content, body)
        else { return false }
        context.notes?.found(damaged: body.sha256)
        return true
    }

    /// What a copy is by what is required of it. What only stands in for what was asked for is nothing.
    func shown(
        _ copy: FoundCopy, as required: Bundle?, _ look: Look
    ) throws(StoreError) -> ShownBundle? {
        guard let required, let body = copy.response.body, let content = try look.reader.content(of: body) else {
            return nil
        }
        return try ShownBundle(required, body, content)
    }

    func place(_ request: Request, _ look: Look) throws(StoreError) -> Place {
        let (authority, target) = (request.authority, request.targetText)
        let place = context.names.place(authority: authority, target: target)
        guard place == .unknown, named != look.generation else { return place }
        try look.reader.eachOrigin(context.layout.names.learn)
        named = look.generation
        return context.names.place(authority: authority, target: target)
    }

    /// The answer, and the number of the URL that it shows when it stays true until the store changes.
    private func find(_ request: Request, _ look: Look) throws(StoreError) -> (answer: Answer, url: Int64?) {
        let isRead = request.head.method != .other
        let place = try place(request, look)
        switch place {
        case .portal:
            guard isRead else { return (refusal, nil) }
            let target = String(decoding: request.target, as: UTF8.self)
            return (try portal.answer(target, accept: request.accept, reader: look.reader), nil)
        case .shim: return (isRead ? context.shim?.answer ?? plain(404, "The shim is switched off.") : refusal, nil)
        case .name(let origin):
            let name = WebURL(origin).flatMap(layout(for: request).name)
            return (name.map(Shim.nameAnswer) ?? plain(404, "Only http and https origins have names."), nil)
        case .copy(let addresses) where !addresses.isEmpty: return try show(addresses, request, look)
        case .past(let visit, let addresses) where !addresses.isEmpty:
            guard try look.reader.isComplete(visit: visit) else {
                return (plain(404, "The larder has no visit \(visit) that could be shown."), nil)
            }
            return try look.reader.asOf(visit) { () throws(StoreError) in try show(addresses, request, look) }
        case .copy, .past, .way, .moved, .unknown, .refused: return (elsewhere(place, request), nil)
        }
    }

    /// What is asked for is at another address, or nowhere.
    private func elsewhere(_ place: Place, _ request: Request) -> Answer {
        let layout = layout(for: request)
        switch place {
        case .way(let url):
            guard let address = layout.address(of: url) else { return plain(404, "Only http and https are led to.") }
            return .redirect(to: address, fields: layout.commonFields, keepsMethod: true, sharing: .everybodys)
        case .moved(let address):
            return .redirect(to: address, fields: layout.commonFields, keepsMethod: true)
        case .unknown:
            return plain(404, "\(request.authority) stands for an origin that the larder does not hold.")
        case .refused:
            return plain(421, "\(request.authority) is not served here. The larder is at \(layout.home)")
        case .copy, .past, .portal, .shim, .name:
            // Below `/-/`, beside a site at the root.
            guard let portal = layout.portal else { return plain(404, "There is nothing here.") }
            let target = String(decoding: request.target, as: UTF8.self)
            return .redirect(to: portal.dropLast() + target, fields: layout.commonFields)
        }
    }

    private func show(
        _ addresses: [String], _ request: Request, _ look: Look
    ) throws(StoreError) -> (answer: Answer, url: Int64?) {
        let layout = layout(for: request)
        let finder = CopyFinder(reader: look.reader, fields: AnswerFields(layout: layout))
        let fields = request.fields
        let key = RequestKey(method: request.method, body: request.body.span)
        let rules = try rules(look)
        // What is required now says nothing of earlier visits.
        let required = key == .get && layout.visit == nil ? try required(addresses, look) : nil
        var copy = try timing.measure("lookup") { () throws(StoreError) in
            try finder.find(
                addresses, request: key, requestFields: original(fields, request.authority, layout), rules: rules)
        }
        let bundle = try copy.flatMap { (copy) throws(StoreError) in try shown(copy, as: required, look) }
        if let found = copy, !found.change.isEmpty, required != nil, bundle?.isVerified != true { copy = nil }
        guard let copy else {
            if let answer = led(request, layout) { return (answer, nil) }
            return (try miss(try likeliest(addresses, request, look), request, fields, look), nil)
        }
        _ = try isDamaged(copy, look)
        context.notes?.made(copy.response.url, at: look.time)
        let renderer = CopyRenderer(
            finder: finder, layout: layout, shim: context.shim, verifier: context.verifier,
            asked: fields)
        let answer = try timing.measure("splice") { () throws(StoreError) in
            try renderer.answer(copy, source: .hit(copy.change), bundle: bundle)
        }
        // An address that only keeps caches from answering is asked for but once.
        let isKept =
            context.verifier.allowsKeeping && key == .get && answer.status != 500 && !copy.isVariant
            && !renderer.dependsOnUse
            && copy.change.isDisjoint(with: [.busters, .query, .search])
        return (answer, isKept ? copy.response.url : nil)
    }

    /// A request's fields as the page would have sent them on the web, by which variants are told apart.
    func original(_ fields: HTTPFields, _ authority: String, _ layout: OriginLayout) -> HTTPFields {
        guard fields.contains("Origin") else { return fields }
        var fields = fields
        let asker = Asker(fields, authority: authority, layout: layout)
        if !asker.isOpaque, let origin = asker.origins.first { fields.set("Origin", origin) }
        return fields
    }

    /// The address that is most likely meant of those that a request may mean. A name stands for http and for https: that
    /// counts of which anything is held, then what something links to, then the scheme of the page that asks.
    ///
    /// - Parameter addresses: not empty.
    func likeliest(_ addresses: [String], _ request: Request, _ look: Look) throws(StoreError) -> String {
        guard context.layout.root == nil, addresses.count > 1, let first = WebURL(addresses[0]),
            first.scheme == "https",
            let other = addresses.first(where: { $0.hasPrefix("http:") }), let plainOrigin = WebURL(other)?.origin
        else { return addresses[0] }
        if plain?.generation != look.generation { plain = (look.generation, [:]) }
        if let known = plain?.origins[first.origin] { return known ? other : addresses[0] }
        var isPlain: Bool?
        if try look.reader.leastReach(ofOrigin: first.origin) != nil {
            isPlain = false
        } else if try look.reader.leastReach(ofOrigin: plainOrigin) != nil {
            isPlain = true
        }
        if let isPlain {
            if plain?.origins.count ?? 0 < Self.mostOrigins { plain?.origins[first.origin] = isPlain }
            return isPlain ? other : addresses[0]
        }
        if try look.reader.knows(first.href) { return addresses[0] }
        if try WebURL(other).map({ (url) throws(StoreError) in try look.reader.knows(url.href) }) == true {
            return other
        }
        let page = request.fields["Referer"].flatMap { WebURL($0) }
        let asker = try page.flatMap { (page) throws(StoreError) in try original(of: page, look.reader) }
        return asker?.hasPrefix("http:") == true ? other : addresses[0]
    }

    /// Of how many it is remembered.
    private static let mostOrigins = 10_000

    /// An original URL that was pasted behind the address of a site at the root.
    func led(_ request: Request, _ layout: OriginLayout) -> Answer? {
        guard layout.root != nil, let url = WebURL(String(decoding: request.target.dropFirst(), as: UTF8.self)),
            let address = layout.address(of: url)
        else { return nil }
        return .redirect(to: address, fields: layout.commonFields)
    }

    private var refusal: Answer {
        plain(405, "The larder's own pages answer GET and HEAD.", fields: [("Allow", "GET, HEAD")])
    }

    func plain(
        _ status: Int, _ text: String, fields: [(name: String, value: String)] = [], sharing: Sharing = .own
    ) -> Answer {
        .text(status, text + "\n", fields: fields + context.layout.commonFields, sharing: sharing)
    }
}

// MARK: - Preflights

extension MirrorResponder {
    /// What a browser is told that asks whether a page of one origin may send a request to another: by its server where one
    /// is asked, else by what is held there. Nil leaves it to `respond`.
    func preflight(_ request: Request) -> Reply? {
        let asked = request.fields
        guard request.origin != nil, let method = asked["Access-Control-Request-Method"] else { return nil }
        timing = ServerTiming()
        do throws(StoreError) {
            let look = try look()
            let addresses: [String]
            let visit: Int64?
            switch try place(request, look) {
            case .copy(let held): (addresses, visit) = (held, nil)
            case .past(let past, let held): (addresses, visit) = (held, past)
            case .portal, .shim, .name, .way, .moved, .unknown, .refused: return nil
            }
            guard !addresses.isEmpty, let url = WebURL(try likeliest(addresses, request, look)) else { return nil }
            if visit == nil, let loading = context.loading,
                try policy(of: request, asked, url, loading, look) != .offline,
                loading.reach.reachability(of: url.origin, now: loading.now) != .unreachable
            {
                return nil
            }
            let layout = layout(for: request)
            let finder = CopyFinder(reader: look.reader, fields: AnswerFields(layout: layout))
            func find() throws(StoreError) -> FoundCopy? {
                try finder.find(
                    addresses, request: .get, requestFields: original(asked, request.authority, layout),
                    rules: try rules(look))
            }
            let copy: FoundCopy?
            if let visit {
                copy = try look.reader.isComplete(visit: visit) ? try look.reader.asOf(visit, find) : nil
            } else {
                copy = try find()
            }
            guard let copy else {
                // What it was to be followed by would have been noted.
                if method == "GET" { _ = try miss(url.href, request, asked, look) }
                return reply(plain(504, "Not in the larder: \(url.href)", sharing: Sharing(missing: url)), to: request)
            }
            var fields = layout.commonFields + [("Access-Control-Allow-Methods", method)]
            if let names = asked.combined("Access-Control-Request-Headers") {
                fields.append(("Access-Control-Allow-Headers", names))
            }
            let sharing = copy.sharing
            return reply(Answer(status: 204, fields: fields, body: [], sharing: sharing), to: request)
        } catch {
            return reply(plain(500, "\(error)"), to: request)
        }
    }

    /// No other origin's page has a say in it.
    func policy(
        of request: Request, _ fields: HTTPFields, _ url: WebURL, _ loading: Loading, _ look: Look
    ) throws(StoreError) -> CachePolicy {
        if !request.isCrossOrigin, let policy = fields["Larder-Policy"].flatMap({ CachePolicy(rawValue: $0) }) {
            return policy
        }
        return try rules(look).rules(for: url).policy(for: url) ?? loading.policy
    }
}
