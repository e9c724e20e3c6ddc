internal import Store
internal import Web

/// Answers from the larder, and from servers where the policy has them asked. It belongs to one server thread, as its reader
/// does; the context is everybody's.
final class MirrorResponder: Responder {
    let context: MirrorContext
    private let portal: Portal
    private var store: WatchedStore
    /// Read once for each look at the store.
    private var rules: (generation: TierGeneration, rules: SiteRules)?
    /// Of the answer that is being made.
    var timing = ServerTiming()
    /// It tells what is held, which no page of the mirror may read.
    private var isPortals = false

    init(_ store: WatchedStore, verdicts: ScriptsPage.Verdicts? = nil, context: MirrorContext) {
        self.store = store
        self.context = context
        portal = Portal(layout: context.layout, home: context.layout.root == nil ? "/" : "/-/", verdicts: verdicts)
    }

    func respond(to request: Request) -> Reply {
        timing = ServerTiming()
        isPortals = false
        return reply(answer(to: request), to: request.origin)
    }

    func respond(to request: Request, orLater later: Later) -> Reply? {
        guard let loading = context.loading else { return respond(to: request) }
        timing = ServerTiming()
        isPortals = false
        return reply(to: request, orLater: later, by: loading)
    }

    func preflight(_ request: Request) -> Reply? {
        Preflight.reply(to: request, layout: context.layout)
    }

    /// An answer as one origin's page gets it.
    func reply(_ answer: Answer, to origin: String?, role: Preconditions.Role = .origin) -> Reply {
        let shared = isPortals ? nil : origin.map(context.layout.crossOriginFields)
        return Reply(answer: answer, ownFields: (shared ?? []) + timing.line, role: role)
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
        let now = CoarseClock.seconds()
        let generation = store.generation(in: context.tier, at: now)
        return Look(reader: try store.reader, generation: generation, time: now)
    }

    func rules(_ look: Look) throws(StoreError) -> SiteRules {
        if let rules, rules.generation == look.generation { return rules.rules }
        let read = SiteRules(try look.reader.siteSettings())
        rules = (look.generation, read)
        return read
    }

    /// The answer, and the number of the URL that it shows when it stays true until the store changes.
    private func find(_ request: Request, _ look: Look) throws(StoreError) -> (answer: Answer, url: Int64?) {
        let authority = String(decoding: request.host, as: UTF8.self)
        let target = String(decoding: request.target, as: UTF8.self)
        let isRead = request.head.method != .other
        switch context.names.place(authority: authority, target: target) {
        case .refused:
            return (plain(421, "\(authority) is not served here. The larder is at \(context.layout.portal)"), nil)
        case .portal:
            isPortals = true
            return (isRead ? try portal.answer(target, accept: request.accept, reader: look.reader) : refusal, nil)
        case .shim: return (isRead ? context.shim?.answer ?? plain(404, "The shim is switched off.") : refusal, nil)
        case .copy(let addresses): return try show(addresses, request, authority, look)
        }
    }

    private func show(
        _ addresses: [String], _ request: Request, _ authority: String, _ look: Look
    ) throws(StoreError) -> (answer: Answer, url: Int64?) {
        let layout = context.layout.seen(from: authority)
        let finder = CopyFinder(reader: look.reader, fields: AnswerFields(layout: layout))
        let fields = request.fields
        let key = RequestKey(method: request.method, body: request.body.span)
        let rules = try rules(look)
        let copy = try timing.measure("lookup") { () throws(StoreError) in
            try finder.find(addresses, request: key, requestFields: fields, rules: rules)
        }
        guard let copy else {
            if let answer = led(request, layout) { return (answer, nil) }
            return (try miss(addresses[0], request, fields, look), nil)
        }
        context.notes?.made(copy.response.url, at: look.time)
        let renderer = CopyRenderer(
            finder: finder, layout: layout, shim: context.shim, verifier: context.verifier)
        let answer = try timing.measure("splice") { () throws(StoreError) in
            try renderer.answer(copy, source: .hit(copy.change))
        }
        // An address that only keeps caches from answering is asked for but once.
        let isKept =
            context.verifier.allowsKeeping && key == .get && answer.status != 500 && !copy.isVariant
            && copy.change.isDisjoint(with: [.busters, .query])
        return (answer, isKept ? copy.response.url : nil)
    }

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

    func plain(_ status: Int, _ text: String, fields: [(name: String, value: String)] = []) -> Answer {
        .text(status, text + "\n", fields: fields + context.layout.commonFields)
    }
}
