internal import Bundles
internal import Glibc
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Answers from the larder, and from servers where the policy has them asked: each request by an `Exchange`
/// of its own. It belongs to one server thread, as its reader does; the context is everybody's.
///
/// Here is what outlives a request: the store as it was looked at last, and what was read of it then.
final class MirrorResponder: Responder {
    let context: MirrorContext
    let portal: Portal
    let loads: (any OwnLoads)?
    let counts: ServingCounts
    /// The store, seen without private responses if the layout hides these.
    private var store: WatchedStore
    /// Read once for each look at the store.
    private var rules: (generation: TierGeneration, rules: SiteRules)?
    private var requirements: (generation: TierGeneration, version: Int64, requirements: Requirements)?
    /// Of origins by https whether they are held by http alone, as of one look at the store.
    private var plain: (generation: TierGeneration, origins: [String: Bool])?
    /// Bytes that this thread has added to the tier since it last checked the budget.
    private var uncheckedByteCount = 0
    /// When all origins that are held were named, so that digests in names are known.
    private var named: TierGeneration?

    init(
        _ store: WatchedStore, verdicts: ScriptsPage.Verdicts? = nil,
        traffic: PassingTraffic? = nil, context: MirrorContext
    ) {
        self.store = store
        self.context = context
        loads = context.ownLoads?()
        counts = context.totals.counts()
        portal = context.portal(verdicts: verdicts, traffic: traffic)
    }

    func respond(to request: Request, orLater later: Later) -> Reply? {
        if let refusal = refusal(of: request) { return refusal }
        if let known = ready(request) {
            counts.note(known)
            return Reply(answer: known)
        }
        let reply = respond(
            to: request, proxied: nil, orLater: later.observed { [counts] in counts.note($0) })
        if let reply { counts.note(reply) }
        return reply
    }

    /// Refuses a request that a proxy on this machine forwarded for another client, if the server is for this machine
    /// only.
    private func refusal(of request: Request) -> Reply? {
        guard request.head.isForwarded, !context.layout.isExposed, !context.layout.isTransparent else {
            return nil
        }
        return Reply(
            answer: .text(
                403,
                "A proxy passed on this request, and this server is for its own machine alone; to serve others: larder help serve\n",
                fields: [("Cache-Control", "no-store")]))
    }

    /// - Parameter proxied: what a proxy is asked for.
    func respond(to request: Request, proxied: WebURL?, orLater later: Later) -> Reply? {
        let exchange = Exchange(request, self, proxied: proxied)
        do throws(StoreError) {
            return try exchange.reply(orLater: later)
        } catch {
            return exchange.failure(error)
        }
    }

    /// What is ready for whoever asks, where no server could be asked instead: by far the most, and worth no
    /// exchange.
    private func ready(_ request: Request) -> Answer? {
        guard context.givesAlike, request.head.method != .other, !request.isCrossOrigin,
            !context.mayBeBesideRoot(request), !context.mayHaveEarlierState(request), let look = try? look()
        else { return nil }
        let known = context.tier.value(for: request.host.span, request.target.span, now: look.time)
        return known?.isCurrent == true ? known : nil
    }

    /// To a proxy: what is ready for whoever asks for the URL, and, where servers are asked, says nothing by
    /// which one gets another answer than the next.
    func ready(_ request: Request, at origin: inout String) -> Reply? {
        guard request.head.method != .other, !request.head.isParticular || context.loading == nil,
            !request.head.asksUpgrade,
            let look = try? look()
        else { return nil }
        let known = origin.withUTF8 { context.tier.value(for: $0.span, request.target.span, now: look.time) }
        guard let known, known.isCurrent else { return nil }
        guard let freshness = known.freshness else {
            return context.loading == nil ? Reply(answer: known) : nil
        }
        guard let loading = context.loading, freshness.isFresh(at: loading.now),
            VaryKey.isMet(known.variant, by: request.fields, loading.secrets)
        else { return nil }
        return Reply(answer: known, ownFields: AnswerFields.age(freshness, at: loading.now), role: .cache)
    }

    /// For a proxy: the nearest network zone that the client of a request may be connected to, whatever page
    /// sent it.
    func clientZone(of request: Request) -> NetworkZone { Exchange(request, self).clientZone }

    /// For a proxy: the nearest network zone that a request's sender may be connected to.
    func nearestZone(of request: Request, to url: WebURL) -> NetworkZone {
        (try? Exchange(request, self).nearestProxiedZone(to: url)) ?? .publicNetwork
    }

    /// For a proxy: the same for a request that no stored response can answer. Nil where the policy sends no
    /// request.
    func zoneOfMiss(of request: Request, to url: WebURL) -> NetworkZone? {
        guard let loading = context.loading else { return nil }
        return try? CacheExchange(Exchange(request, self, proxied: url), by: loading)?.zoneOfMiss
    }

    /// An archive that somebody hands in on the portal.
    func pass(_ upload: LongUpload, of request: Request) -> Reply? {
        if let refusal = refusal(of: request) { return refusal }
        do throws(StoreError) { return try Exchange(request, self).pass(upload) } catch { return nil }
    }

    func preflight(_ request: Request) -> Reply? {
        if let refusal = refusal(of: request) { return refusal }
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
        let now = SystemClock.seconds()
        let generation = store.generation(in: context.tier, at: now)
        return Look(reader: try store.reader, generation: generation, time: now)
    }

    /// Runs `body`, which reads from the store what answers a request, at one moment.
    ///
    /// That moment may be newer than the last look: the look that `body` gets, which is returned with the result,
    /// is as new as the moment.
    func atOneMoment<Result>(
        _ body: (Look) throws(StoreError) -> Result
    ) throws(StoreError) -> (look: Look, result: Result) {
        while true {
            let look = try look()
            let found = try look.reader.atOnce { () throws(StoreError) -> (look: Look, result: Result)? in
                guard let generation = try store.generation(ofMomentAfter: look.generation, in: context.tier)
                else { return nil }
                let current = Look(reader: look.reader, generation: generation, time: look.time)
                return (current, try body(current))
            }
            if let found { return found }
        }
    }

    func rules(_ look: Look) throws(StoreError) -> SiteRules {
        if let rules, rules.generation == look.generation { return rules.rules }
        let read = SiteRules(
            try look.reader.siteSettings(), importedSites: try look.reader.importedSites(), own: context.rules
        )
        rules = (look.generation, read)
        return read
    }

    /// What the manifests in force require at the first of the addresses of which they require anything.
    func required(_ addresses: [String], _ look: Look) throws(StoreError) -> Bundle? {
        // What is found may be newer than the last look: what is required of it has to be as new.
        let version = try look.reader.dataVersion()
        if requirements?.generation != look.generation || requirements?.version != version {
            requirements = (look.generation, version, try context.requirements(look.reader))
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
        if try look.reader.mostPublicZone(ofOrigin: origin) != nil {
            isPlain = false
        } else if try look.reader.mostPublicZone(ofOrigin: plainOrigin) != nil {
            isPlain = true
        } else {
            return nil
        }
        if plain?.origins.count ?? 0 < Self.mostOrigins { plain?.origins[origin] = isPlain }
        return isPlain
    }

    /// Of how many it is remembered.
    private static let mostOrigins = 10_000

    /// To be called where an answer was kept in the tier.
    func didKeep(_ byteCount: Int) {
        guard let budget = context.budget else { return }
        uncheckedByteCount += byteCount
        guard uncheckedByteCount >= Self.maxUncheckedByteCount else { return }
        uncheckedByteCount = 0
        budget.check(context.tier)
    }

    private static let maxUncheckedByteCount = 1024 * 1024
}

/// What the responders of all server threads have in common.
struct MirrorContext: Sendable {
    let layout: OriginLayout
    let names: LarderNames
    /// Nil where pages do without.
    let shim: Shim?
    let verifier: BodyVerifier
    let tier: MemoryTier<Answer>
    /// Nil where the tier has a limit of its own alone.
    let budget: MemoryBudget?
    let totals: ServingTotals
    let health: StoreHealth?
    let heldBackResponses: HeldBackResponses?
    /// Nil when nobody could write them down.
    let notes: ServingNotes?
    /// Nil where no server is ever asked.
    let loading: Loading?
    let ownLoads: (@Sendable () -> (any OwnLoads)?)?
    let rules: [CacheRules.Rule]
    let requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements
    let walk: SiteNeeds.Walk?
    /// What the portal can have done; nil where it only shows.
    let powers: PortalPowers?
    /// Nil where the portal's searches are answered as all else.
    var searches: PortalSearches?
    /// To a proxy: public servers' pages may ask private addresses.
    let mayReachPrivate: Bool
    /// To a proxy: what passes.
    let log: PassLog?
    /// A mirror, where what is ready is for all who ask from the same origin.
    let givesAlike: Bool
    /// Which sites browsers may still have something of; nil for other servers than a mirror with a root.
    let rootHistory: RootHistory?

    /// - Parameter proxy: what a proxy does beside; nil for a mirror.
    init(
        _ options: MirrorOptions, port: UInt16, proxy: ProxyOptions? = nil, verifier: BodyVerifier,
        tier: MemoryTier<Answer>, budget: MemoryBudget? = nil,
        notes: ServingNotes?, loading: Loading?, seals: PageSeals, powers: PortalPowers? = nil,
        totals: ServingTotals = ServingTotals(), health: StoreHealth? = nil,
        heldBackResponses: HeldBackResponses? = nil,
        rootHistory: RootHistory? = nil
    ) {
        self.rootHistory = proxy == nil ? rootHistory : nil
        self.totals = totals
        self.health = health
        self.heldBackResponses = heldBackResponses
        layout = OriginLayout(
            port: port, root: proxy == nil ? options.root.flatMap(RootOrigin.init) : nil,
            allowsNetwork: options.allowsNetwork,
            isExposed: !options.address.isLoopback, showsPrivate: options.showsPrivate,
            isTransparent: proxy != nil, isSecure: options.security != nil && proxy == nil, seals: seals,
            loopbackNames: options.address.loopbackNames)
        mayReachPrivate = proxy?.mayReachPrivate ?? false
        log = proxy?.log
        names = LarderNames(
            layout: layout, others: options.address.isLoopback ? [] : Self.machineNames,
            takesAddresses: !options.address.isLoopback)
        shim = options.hasShim && proxy == nil ? Shim(layout: layout) : nil
        self.verifier = verifier
        self.tier = tier
        self.budget = budget
        self.notes = notes
        self.loading = loading
        ownLoads = options.ownLoads
        rules = options.rules
        requirements = options.requirements
        walk = options.walk
        self.powers = proxy == nil ? powers : nil
        // Other machines' browsers may not say who asks, so that each of their requests is judged.
        givesAlike = loading == nil && !layout.isTransparent && !layout.isExposed
    }

    /// For one thread.
    func portal(verdicts: ScriptsPage.Verdicts?, traffic: PassingTraffic?) -> Portal {
        let figures = PortalFigures(
            totals: totals, memoryByteCount: { [tier] in tier.byteCount },
            generation: { [tier] in tier.generation.number },
            isReadable: { [health] in health?.isReadable ?? true },
            heldBackCount: { [heldBackResponses] in heldBackResponses?.count ?? 0 })
        return Portal(
            layout: layout.seen(from: "localhost:\(layout.port)"), verdicts: verdicts, walk: walk,
            traffic: traffic, powers: powers, figures: figures)
    }

    /// Whether the request may be for another origin than the root's, which shares its name.
    func mayBeBesideRoot(_ request: Request) -> Bool {
        layout.sharesOrigin && request.target.starts(with: "/-/".utf8)
    }

    /// Whether a browser may still have something of another site that was at the request's name.
    func mayHaveEarlierState(_ request: Request) -> Bool {
        guard let rootHistory, request.head.fetchSite != nil else { return false }
        let authority = request.authority
        return names.isLocalRoot(authority) && !rootHistory.isCurrent(at: authority)
    }

    /// As the machine calls itself, and as others on its network may find it (RFC 6762).
    static var machineNames: Set<String> {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return [] }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .lowercased()
        let first = String(name.prefix { $0 != "." })
        return first.isEmpty ? [] : [name, first, first + ".local"]
    }
}

/// Whether the store can be read, as all threads find it. A change is told once. Any thread may use it.
final class StoreHealth: Sendable {
    private let failure = Mutex<StoreError?>(nil)
    private let tell: @Sendable (String) -> Void

    init(_ tell: @escaping @Sendable (String) -> Void) {
        self.tell = tell
    }

    var isReadable: Bool { failure.withLock { $0 == nil } }

    /// - Parameter error: nil where it can be read.
    func note(_ error: StoreError?) {
        let hasChanged = failure.withLock { known in
            defer { known = error }
            return (known == nil) != (error == nil)
        }
        guard hasChanged else { return }
        tell(
            error.map { "\($0); until then requests are answered with 503" } ?? "the larder can be read again"
        )
    }
}

/// The store as it is now: looked at once in a while, and opened anew when another one has taken its place.
///
/// It belongs to one thread; what the threads share is the memory tier, by whose generation each knows of the
/// others' looks. A thread that finds a newer generation looks before it goes on, so that nothing which it
/// makes from then on is older than what led to that generation.
struct WatchedStore {
    private let folder: StoreFolder
    /// Responses that were fetched with credentials do not exist for its reader.
    private let hidesPrivate: Bool
    private let secondsBetweenLooks: Int64
    private let health: StoreHealth?
    /// Why it cannot be read is kept for the answers, and forgotten as soon as a look finds it readable.
    private var source: Result<StoreReader, StoreError>
    private var identity: Identity?
    private var dataVersion: Int64
    /// The live snapshots in the version of the data that was read last.
    private var live: (dataVersion: Int64, snapshots: LiveSnapshots)
    /// Of the last look. Nil before the first, so that a store replaced since it was opened is seen before it
    /// is used.
    private var lastLook: (time: Int64, generation: TierGeneration)?

    init(
        _ folder: StoreFolder, hidesPrivate: Bool = false, secondsBetweenLooks: Int64,
        health: StoreHealth? = nil
    ) throws(StoreError) {
        self.folder = folder
        self.hidesPrivate = hidesPrivate
        self.health = health
        self.secondsBetweenLooks = secondsBetweenLooks
        // Looked at before it is opened, so that one that is replaced meanwhile is seen to be another.
        identity = Identity(folder.database)
        let reader = try StoreReader(impatiently: folder, hidesPrivate: hidesPrivate)
        source = .success(reader)
        live = try Self.live(in: reader)
        dataVersion = live.dataVersion
    }

    private static func live(
        in reader: StoreReader
    ) throws(StoreError) -> (dataVersion: Int64, snapshots: LiveSnapshots) {
        try reader.atOnce { () throws(StoreError) in
            (try reader.dataVersion(), try reader.liveSnapshots())
        }
    }

    var reader: StoreReader {
        get throws(StoreError) { try source.get() }
    }

    private var isOutdated: Bool {
        if case .success(let reader) = source { reader.isOutdated } else { false }
    }

    /// Looks, if it is time to or another thread has seen a change. Has the tier forget what may not be so
    /// any more, and returns the generation of what is made from now on.
    mutating func generation(in tier: MemoryTier<Answer>, at now: Int64) -> TierGeneration {
        // Before the look: a change that comes after it begins another generation.
        let current = tier.generation
        if let lastLook, lastLook.generation == current, now - lastLook.time < secondsBetweenLooks,
            !isOutdated
        {
            return current
        }
        let generation = hasChanged() ? tier.advance() : current
        lastLook = (now, generation)
        return generation
    }

    /// The generation of what is read at the moment that the reader holds (`StoreReader.atOnce`).
    ///
    /// The moment may be newer than the last look. If other snapshots are live in it, the tier forgets everything
    /// first: once one thread has answered from a snapshot, no thread gives out what an earlier one had.
    ///
    /// - Parameter look: the generation of a look before the moment.
    /// - Returns: nil when another thread has begun a generation since the look. It may have seen more than
    ///   this moment shows, so the caller looks again.
    mutating func generation(
        ofMomentAfter look: TierGeneration, in tier: MemoryTier<Answer>
    ) throws(StoreError) -> TierGeneration? {
        guard tier.generation == look else { return nil }
        let reader = try reader
        let version = try reader.dataVersion()
        guard version != live.dataVersion else { return look }
        let before = live.snapshots
        live = (version, try reader.liveSnapshots())
        // A run that only adds to what is not live yet is noticed by the next look.
        guard live.snapshots != before else { return look }
        guard let begun = tier.advance(after: look) else { return nil }
        dataVersion = version
        lastLook?.generation = begun
        return begun
    }

    /// True when what was read before may not be so any more.
    private mutating func hasChanged() -> Bool {
        do throws(StoreError) {
            let before = dataVersion
            let isReplaced = try openIfReplaced()
            dataVersion = try reader.dataVersion()
            if isReplaced || dataVersion != before {
                live = try Self.live(in: reader)
                dataVersion = live.dataVersion
            }
            health?.note(nil)
            return isReplaced || dataVersion != before
        } catch {
            health?.note(error)
            // While it stays so, this thread has nothing to make answers from, and gives out none.
            let wasReadable = if case .success = source { true } else { false }
            source = .failure(error)
            return wasReadable
        }
    }

    private mutating func openIfReplaced() throws(StoreError) -> Bool {
        let found = Identity(folder.database)
        if case .success(let reader) = source, found == identity, !reader.isOutdated { return false }
        identity = found
        source = .success(try StoreReader(impatiently: folder, hidesPrivate: hidesPrivate))
        return true
    }

    /// Tells a file from another one that bears its name later. A number is not given again while a reader
    /// has the file open.
    private struct Identity: Equatable {
        let device: dev_t
        let number: ino_t

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = status.st_dev
            number = status.st_ino
        }
    }
}
