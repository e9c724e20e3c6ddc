internal import Bundles
internal import Store
internal import Web

/// Answers from the larder, and from servers where the policy has them asked: each request by an `Exchange` of its own. It
/// belongs to one server thread, as its reader does; the context is everybody's.
///
/// Here is what outlives a request: the store as it was looked at last, and what was read of it then.
final class MirrorResponder: Responder {
    let context: MirrorContext
    let portal: Portal
    private var store: WatchedStore
    /// Read once for each look at the store.
    private var rules: (generation: TierGeneration, rules: SiteRules)?
    private var requirements: (generation: TierGeneration, requirements: Requirements)?
    /// Of origins by https whether they are held by http alone, as of one look at the store.
    private var plain: (generation: TierGeneration, origins: [String: Bool])?
    /// When all origins that are held were named, so that digests in names are known.
    private var named: TierGeneration?

    init(_ store: WatchedStore, verdicts: ScriptsPage.Verdicts? = nil, context: MirrorContext) {
        self.store = store
        self.context = context
        portal = Portal(
            layout: context.layout.seen(from: "localhost:\(context.layout.port)"), verdicts: verdicts,
            walk: context.walk)
    }

    func respond(to request: Request, orLater later: Later) -> Reply? {
        let exchange = Exchange(request, self)
        do throws(StoreError) {
            return try exchange.reply(orLater: later)
        } catch {
            return exchange.failure(error)
        }
    }

    func preflight(_ request: Request) -> Reply? {
        let exchange = Exchange(request, self)
        do throws(StoreError) {
            return try exchange.preflight()
        } catch {
            return exchange.failure(error)
        }
    }

    // MARK: - The store

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

    func place(authority: String, target: String, _ look: Look) throws(StoreError) -> Place {
        let place = context.names.place(authority: authority, target: target)
        guard place == .unknown, named != look.generation else { return place }
        try look.reader.eachOrigin(context.layout.names.learn)
        named = look.generation
        return context.names.place(authority: authority, target: target)
    }

    /// Of an https origin, whether anything is held of it by http alone. Nil where nothing is held by either.
    func isPlain(_ origin: String, _ plainOrigin: String, _ look: Look) throws(StoreError) -> Bool? {
        if plain?.generation != look.generation { plain = (look.generation, [:]) }
        if let known = plain?.origins[origin] { return known }
        let isPlain: Bool
        if try look.reader.leastReach(ofOrigin: origin) != nil {
            isPlain = false
        } else if try look.reader.leastReach(ofOrigin: plainOrigin) != nil {
            isPlain = true
        } else {
            return nil
        }
        if plain?.origins.count ?? 0 < Self.mostOrigins { plain?.origins[origin] = isPlain }
        return isPlain
    }

    /// Of how many it is remembered.
    private static let mostOrigins = 10_000
}
