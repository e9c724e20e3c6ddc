internal import Bundles
internal import Glibc
internal import HTTPServer
internal import Origins
internal import Portal
internal import Reports
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Answers from the store, and from origins if the policy allows; one `Exchange` per request. It belongs to
/// one server thread, like its reader; all threads share the context.
///
/// Holds what outlives a request: the last look at the store, and what was read then.
final class MirrorResponder: Responder {
    let context: MirrorContext
    let portal: Portal
    let loads: (any OwnLoads)?
    var sideWork: (any SideWork)? { loads }
    let counts: ServingCounts
    /// The store, seen without private responses if the layout hides these.
    private var store: WatchedStore
    /// Read once per look at the store.
    private var rules: (generation: TierGeneration, rules: SiteRules)?
    private var requirements: (generation: TierGeneration, version: Int64, requirements: Requirements)?
    /// Whether an https origin has stored responses only over http, as of one look at the store.
    private var plain: (generation: TierGeneration, origins: [String: Bool])?
    /// Bytes that this thread has added to the tier since it last checked the budget.
    private var uncheckedByteCount = 0
    /// The look at which all stored origins were named, so that digests in names can be resolved.
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

    func respond(to request: Request, orDefer later: DeferredReply) -> Reply? {
        if let refusal = refusal(of: request) { return refusal }
        if let known = ready(request) {
            counts.note(known)
            return Reply(answer: known)
        }
        let reply = respond(
            to: request, proxied: nil, orDefer: later.observing { [counts] in counts.note($0) })
        if let reply { counts.note(reply) }
        return reply
    }

    /// Refuses a request that a proxy on this machine forwarded for another client, if the server is for this
    /// machine only.
    private func refusal(of request: Request) -> Reply? {
        guard request.head.isForwarded, !context.layout.isExposed, !context.layout.isTransparent else {
            return nil
        }
        return Reply(
            answer: .text(
                403,
                "This request was forwarded by a proxy, but the server accepts only requests from this machine; to serve other machines, see: larder help serve\n",
                fields: [("Cache-Control", "no-store")]))
    }

    /// - Parameter proxied: the absolute URL of a proxy request.
    func respond(to request: Request, proxied: WebURL?, orDefer later: DeferredReply) -> Reply? {
        let exchange = Exchange(request, self, proxied: proxied)
        do throws(StoreError) {
            return try exchange.reply(orDefer: later)
        } catch {
            return exchange.failure(error)
        }
    }

    /// An answer in memory that is the same for every requester, if no origin could be asked instead. Most
    /// requests need nothing else, so they get no `Exchange`.
    private func ready(_ request: Request) -> Answer? {
        guard context.givesAlike, request.head.method != .other, !request.isCrossOrigin,
            !context.mayBeBesideRoot(request), !context.mayHaveEarlierState(request), let look = try? look()
        else { return nil }
        let known = context.tier.value(for: request.host.span, request.target.span, now: look.time)
        return known?.isCurrent == true ? known : nil
    }

    /// For a proxy: an answer in memory for the URL. If origins may be asked, it is fresh and the request
    /// contains nothing that selects another answer.
    func ready(_ request: Request, at origin: inout String) -> Reply? {
        guard request.head.method != .other, !request.head.affectsResponse || context.loading == nil,
            !request.head.hasUpgrade,
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
        return Reply(answer: known, clientFields: AnswerFields.age(freshness, at: loading.now), role: .cache)
    }

    /// For a proxy: the nearest network zone that the client of a request may connect to, whatever page sent
    /// the request.
    func clientZone(of request: Request) -> NetworkZone { Exchange(request, self).clientZone }

    /// For a proxy: the nearest network zone that the sender of a request may connect to.
    func nearestZone(of request: Request, to url: WebURL) -> NetworkZone {
        (try? Exchange(request, self).nearestProxiedZone(to: url)) ?? .publicNetwork
    }

    /// For a proxy: the same for a request that no stored response can answer. Nil where the policy sends no
    /// request.
    func zoneOfMiss(of request: Request, to url: WebURL) -> NetworkZone? {
        guard let loading = context.loading else { return nil }
        return try? CacheExchange(Exchange(request, self, proxied: url), by: loading)?.zoneOfMiss
    }

    /// Takes over an archive that is uploaded to the portal.
    func answer(_ upload: LongUpload, of request: Request) -> Reply? {
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
    /// That moment may be newer than the last look: the look that `body` gets, which is returned with the
    /// result, is as new as the moment.
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
            try look.reader.siteSettings(), importedSites: try look.reader.importedSites(),
            serverRules: context.rules
        )
        rules = (look.generation, read)
        return read
    }

    /// The bundle that the active manifests require at the first of the addresses that they contain; nil if
    /// there is none.
    func required(_ addresses: [String], _ look: Look) throws(StoreError) -> Bundle? {
        // The response may be newer than the last look, so the requirements must be as new.
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

    /// Whether an https origin has stored responses only over http. Nil if it has none at all.
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

    /// Maximum number of remembered origins.
    private static let mostOrigins = 10_000

    /// To be called after an answer was added to the tier.
    func didKeep(_ byteCount: Int) {
        guard let budget = context.budget else { return }
        uncheckedByteCount += byteCount
        guard uncheckedByteCount >= Self.maxUncheckedByteCount else { return }
        uncheckedByteCount = 0
        budget.check(context.tier)
    }

    private static let maxUncheckedByteCount = 1024 * 1024
}

/// The state that the responders of all server threads share.
struct MirrorContext: Sendable {
    let layout: OriginLayout
    let names: LarderNames
    /// Nil if pages get no shim.
    let shim: Shim?
    let verifier: BodyVerifier
    let tier: MemoryTier<Answer>
    /// Nil if only the limit of the tier applies.
    let budget: MemoryBudget?
    let totals: ServingTotals
    let health: StoreHealth?
    let rejectedResponses: RejectedResponses?
    /// Nil if notes cannot be written.
    let notes: ServingNotes?
    let expected: ExpectedNavigations
    /// Nil if no origin is ever asked.
    let loading: Loading?
    let ownLoads: (@Sendable () -> (any OwnLoads)?)?
    let rules: [CacheRules.Rule]
    let requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements
    let walk: SiteNeeds.Walk?
    /// Carries out the portal's commands; nil if it is read-only.
    let powers: PortalPowers?
    /// Nil if searches are answered on the server's thread.
    var searches: PortalSearches?
    /// For a proxy: whether pages of the public network may request private addresses.
    let mayReachPrivate: Bool
    /// For a proxy: the log of its requests.
    let log: PassLog?
    /// Whether answers in memory are for every requester of the same origin.
    let givesAlike: Bool
    /// The sites that browsers may have state of; nil except for a mirror with a site at the root.
    let rootHistory: RootHistory?

    /// - Parameter proxy: the options of a proxy; nil for a mirror.
    init(
        _ options: MirrorOptions, port: UInt16, proxy: ProxySettings? = nil, verifier: BodyVerifier,
        tier: MemoryTier<Answer>, budget: MemoryBudget? = nil,
        notes: ServingNotes?, loading: Loading?, seals: PageSeals, powers: PortalPowers? = nil,
        totals: ServingTotals = ServingTotals(), health: StoreHealth? = nil,
        rejectedResponses: RejectedResponses? = nil,
        rootHistory: RootHistory? = nil, expected: ExpectedNavigations = ExpectedNavigations()
    ) {
        self.expected = expected
        self.rootHistory = proxy == nil ? rootHistory : nil
        self.totals = totals
        self.health = health
        self.rejectedResponses = rejectedResponses
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
        // Browsers on other machines may not identify the requesting page, so each of their requests is
        // checked.
        givesAlike = loading == nil && !layout.isTransparent && !layout.isExposed
    }

    /// Makes the portal of one thread.
    func portal(verdicts: ScriptsPage.Verdicts?, traffic: PassingTraffic?) -> Portal {
        let figures = PortalFigures(
            totals: totals, memoryByteCount: { [tier] in tier.byteCount },
            generation: { [tier] in tier.generation.number },
            isReadable: { [health] in health?.isReadable ?? true },
            rejectedCount: { [rejectedResponses] in rejectedResponses?.count ?? 0 })
        return Portal(
            layout: layout.forClient("localhost:\(layout.port)"), verdicts: verdicts, walk: walk,
            traffic: traffic, powers: powers, figures: figures)
    }

    /// Whether the request may be for another origin that shares the root's name.
    func mayBeBesideRoot(_ request: Request) -> Bool {
        layout.sharesOrigin && request.target.starts(with: "/-/".utf8)
    }

    /// Whether a browser may still have state of another site that was at this name before.
    func mayHaveEarlierState(_ request: Request) -> Bool {
        guard let rootHistory, request.head.fetchSite != nil else { return false }
        let authority = request.authority
        return names.isLocalRoot(authority) && !rootHistory.isCurrent(at: authority)
    }

    /// The machine's host name, also as mDNS name (RFC 6762).
    static var machineNames: Set<String> {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return [] }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .lowercased()
        let first = String(name.prefix { $0 != "." })
        return first.isEmpty ? [] : [name, first, first + ".local"]
    }
}

/// Whether the store can be read, as found by all threads. Reports each change once. Any thread may use it.
final class StoreHealth: Sendable {
    private let failure = Mutex<StoreError?>(nil)
    private let tell: @Sendable (String) -> Void

    init(_ tell: @escaping @Sendable (String) -> Void) {
        self.tell = tell
    }

    var isReadable: Bool { failure.withLock { $0 == nil } }

    /// - Parameter error: nil if the store can be read.
    func note(_ error: StoreError?) {
        let hasChanged = failure.withLock { known in
            defer { known = error }
            return (known == nil) != (error == nil)
        }
        guard hasChanged else { return }
        tell(
            error.map { "\($0); until then requests are answered with 503" } ?? "the store can be read again"
        )
    }
}

/// The current store: checked periodically, and reopened if another store has replaced it.
///
/// It belongs to one thread. Threads share the memory tier, whose generation shows each of them when another
/// one has found a change. A thread that finds a newer generation looks at the store again first, so that
/// none of its later answers is older than the change.
struct WatchedStore {
    private let folder: StoreFolder
    /// Whether private responses do not exist for the reader.
    private let hidesPrivate: Bool
    private let secondsBetweenLooks: Int64
    private let health: StoreHealth?
    /// The reader, or the error for answers until a look finds the store readable.
    private var source: Result<StoreReader, StoreError>
    private var identity: Identity?
    private var dataVersion: Int64
    /// The live snapshots in the version of the data that was read last.
    private var live: (dataVersion: Int64, snapshots: LiveSnapshots)
    /// The last look. Nil before the first, so that a store that was replaced since it was opened is noticed
    /// before it is used.
    private var lastLook: (time: Int64, generation: TierGeneration)?

    init(
        _ folder: StoreFolder, hidesPrivate: Bool = false, secondsBetweenLooks: Int64,
        health: StoreHealth? = nil
    ) throws(StoreError) {
        self.folder = folder
        self.hidesPrivate = hidesPrivate
        self.health = health
        self.secondsBetweenLooks = secondsBetweenLooks
        // Read before the store is opened, so that a replacement in between is noticed.
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

    /// Looks if it is time, or if another thread has seen a change. Makes the tier forget what may be
    /// outdated, and returns the generation for answers that are made from now on.
    mutating func generation(in tier: MemoryTier<Answer>, at now: Int64) -> TierGeneration {
        // Before the look: a change after it begins another generation.
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
    /// The moment may be newer than the last look. If other snapshots are live in it, the tier forgets
    /// everything first: once one thread has answered from a snapshot, no thread gives out what an earlier
    /// one had.
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
        // A run that only adds to a snapshot that is not live is noticed by the next look.
        guard live.snapshots != before else { return look }
        guard let begun = tier.advance(after: look) else { return nil }
        dataVersion = version
        lastLook?.generation = begun
        return begun
    }

    /// Whether earlier reads may be outdated.
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
            // While the store stays unreadable, this thread makes no answers and serves none from memory.
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

    /// Distinguishes a file from a later one with the same name. An inode number is not reused while a reader
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
