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

/// Answers requests to the mirror: from memory, from the store, or from origins if the policy allows. It belongs to
/// one server thread, as does its reader of the store; all threads share the context.
///
/// A request takes the shortest path that can answer it:
///
/// 1. An answer in memory that is the same for every requester (`memoryAnswer`).
/// 2. A `MirrorExchange`, which lives as long as the request and looks up and renders the stored response.
/// 3. A `CacheExchange`, if the policy may ask the origin.
///
/// The responder keeps only values that outlive a request: the store as of the last check, and settings that were
/// read then. Each is stored with the generation of that check, and is read again in a newer generation.
final class MirrorResponder: Responder {
    let context: MirrorContext
    let portal: Portal
    let threadLoader: (any ThreadLoader)?
    var sideWork: (any SideWork)? { threadLoader }
    let counts: ServingCounts
    /// The store, seen without private responses if the layout hides these.
    private var store: WatchedStore
    /// The rules of the sites, read once per generation of the store.
    private var rules: (generation: TierGeneration, rules: SiteRules)?
    /// The digests that manifests require, read once per generation and version of the store's data.
    private var requirements: (generation: TierGeneration, version: Int64, requirements: Requirements)?
    /// By https origin: whether it has stored responses only over http.
    private var httpOnlyOrigins: (generation: TierGeneration, origins: [String: Bool])?
    /// Bytes that this thread has added to the tier since it last checked the budget.
    private var uncheckedByteCount = 0
    /// Answers requests of devices for updates; nil if the server has no updates.
    private lazy var updates = context.updates.map { worker in
        UpdateServer(worker, context) { [unowned self] () throws(StoreError) in try view() }
    }
    /// The generation in which the names of all stored origins were read, so that digests in names can be resolved.
    private var namesLearned: TierGeneration?

    init(
        _ store: WatchedStore, verdicts: ScriptsPage.VerdictLookup? = nil,
        traffic: ProxyLogSource? = nil, context: MirrorContext
    ) {
        self.store = store
        self.context = context
        threadLoader = context.makeThreadLoader?()
        counts = context.totals.makeCounts()
        portal = context.portal(verdicts: verdicts, traffic: traffic)
    }

    func respond(to request: Request, orDefer later: DeferredReply) -> Reply? {
        // First: update servers stand behind proxies.
        if let updates, updates.isResponsible(for: request) {
            let reply = updates.reply(
                to: request, orDefer: later.observing { [counts] in counts.record($0) })
            if let reply { counts.record(reply) }
            return reply
        }
        if let refusal = refusal(of: request) { return refusal }
        if let known = memoryAnswer(for: request) {
            counts.record(known)
            return withDictionary(Reply(answer: known), of: request)
        }
        let reply = respond(
            to: request, proxied: nil, orDefer: later.observing { [counts] in counts.record($0) })
        if let reply { counts.record(reply) }
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
        let exchange = MirrorExchange(request, self, proxied: proxied)
        do throws(StoreError) {
            return try exchange.reply(orDefer: later).map { DictionaryExchange(exchange).apply(to: $0) }
        } catch {
            return exchange.failure(error)
        }
    }

    /// An answer in memory that is the same for every requester, if no origin could be asked instead. Most
    /// requests need nothing else, so they get no `MirrorExchange`.
    private func memoryAnswer(for request: Request) -> Answer? {
        guard context.sharesMemoryAnswers, request.head.method != .other, !request.isCrossOrigin,
            !context.canBeBesideRoot(request), !context.canHaveEarlierState(request),
            !context.isPageOpening(request), let view = try? view()
        else { return nil }
        let known = context.tier.value(for: request.host.span, request.target.span, now: view.time)
        return known?.isCurrent == true ? known : nil
    }

    /// For a proxy: an answer in memory for the URL. If origins may be asked, it is fresh and the request
    /// contains nothing that selects another answer.
    func memoryAnswer(for request: Request, at origin: inout String) -> Reply? {
        guard request.head.method != .other, !request.head.affectsResponse || context.loader == nil,
            !request.head.hasUpgrade,
            let view = try? view()
        else { return nil }
        let known = origin.withUTF8 { context.tier.value(for: $0.span, request.target.span, now: view.time) }
        guard let known, known.isCurrent else { return nil }
        guard let freshness = known.freshness else {
            return context.loader == nil ? withDictionary(Reply(answer: known), of: request) : nil
        }
        guard let loader = context.loader, freshness.isFresh(at: loader.now),
            VaryKey.isSelected(known.variant, by: request.fields, loader.secrets)
        else { return nil }
        let reply = Reply(
            answer: known, clientFields: AnswerFields.age(freshness, at: loader.now), role: .cache)
        return withDictionary(reply, of: request)
    }

    /// The reply as it is sent to a client that knows compression dictionaries.
    private func withDictionary(_ reply: Reply, of request: Request) -> Reply {
        guard reply.answer.dictionary != nil, DictionaryExchange.canApply(to: request) else { return reply }
        return DictionaryExchange(MirrorExchange(request, self)).apply(to: reply)
    }

    /// For a proxy: the nearest network zone that the client of a request may connect to, whatever page sent
    /// the request.
    func clientZone(of request: Request) -> NetworkZone { MirrorExchange(request, self).clientZone }

    /// For a proxy: the nearest network zone that the sender of a request may connect to.
    func nearestZone(of request: Request, to url: WebURL) -> NetworkZone {
        (try? MirrorExchange(request, self).nearestProxiedZone(to: url)) ?? .publicNetwork
    }

    /// For a proxy: the same for a request that no stored response can answer. Nil where the policy sends no
    /// request.
    func zoneOfMiss(of request: Request, to url: WebURL) -> NetworkZone? {
        guard let loader = context.loader else { return nil }
        return try? CacheExchange(MirrorExchange(request, self, proxied: url), by: loader)?.zoneOfMiss
    }

    /// Takes over an archive that is uploaded to the portal.
    func answer(_ upload: LongUpload, of request: Request) -> Reply? {
        if let refusal = refusal(of: request) { return refusal }
        do throws(StoreError) { return try MirrorExchange(request, self).portal.pass(upload) } catch {
            return nil
        }
    }

    /// Answers a CORS preflight; nil if it is handled like other requests.
    func preflight(_ request: Request) -> Reply? {
        if let updates, updates.isResponsible(for: request) { return updates.preflight(request) }
        if let refusal = refusal(of: request) { return refusal }
        let exchange = MirrorExchange(request, self)
        do throws(StoreError) {
            return try PreflightExchange(exchange)?.reply()
        } catch {
            return exchange.failure(error)
        }
    }

    // MARK: - The store

    /// The store as of its last check: answers that are made from it belong to its generation.
    struct StoreView {
        let reader: StoreReader
        let generation: TierGeneration
        /// Seconds of `SystemClock` at which the view was made.
        let time: Int64
    }

    /// Checks the store if that is due, and returns its current state.
    func view() throws(StoreError) -> StoreView {
        let now = SystemClock.seconds()
        let generation = store.generation(in: context.tier, at: now)
        return StoreView(reader: try store.reader, generation: generation, time: now)
    }

    /// Runs `body` in one read transaction, so that everything that it reads for a request belongs together.
    ///
    /// The transaction may see a newer snapshot than the last check did. The view that `body` gets, and that is
    /// returned with the result, has the generation of the transaction.
    func atOneStoreState<Result>(
        _ body: (StoreView) throws(StoreError) -> Result
    ) throws(StoreError) -> (view: StoreView, result: Result) {
        while true {
            let view = try view()
            let found = try view.reader.withFixedVersion {
                () throws(StoreError) -> (view: StoreView, result: Result)? in
                guard let generation = try store.generation(since: view.generation, in: context.tier)
                else { return nil }
                let current = StoreView(reader: view.reader, generation: generation, time: view.time)
                return (current, try body(current))
            }
            if let found { return found }
        }
    }

    /// The rules of all sites, as of the generation of the view.
    func rules(_ view: StoreView) throws(StoreError) -> SiteRules {
        if let rules, rules.generation == view.generation { return rules.rules }
        let read = SiteRules(
            try view.reader.siteSettings(), importedSites: try view.reader.importedSites(),
            serverRules: context.rules
        )
        rules = (view.generation, read)
        return read
    }

    /// The bundle that the active manifests require at the first of the addresses that they contain; nil if
    /// there is none.
    func requiredBundle(for addresses: [String], _ view: StoreView) throws(StoreError) -> Bundle? {
        // The response may be newer than the last check, so the requirements must be as new.
        let version = try view.reader.dataVersion()
        if requirements?.generation != view.generation || requirements?.version != version {
            requirements = (view.generation, version, try context.requirements(view.reader))
        }
        guard let all = requirements?.requirements, !all.isEmpty else { return nil }
        return addresses.lazy.compactMap { WebURL($0).flatMap { all[$0] } }.first
    }

    /// The meaning of a host and a target. If the host is the digest of an origin's name that this server has
    /// not met yet, reads the names of all stored origins first.
    func resolve(authority: String, target: String, _ view: StoreView) throws(StoreError) -> RequestTarget {
        let known = context.names.resolve(authority: authority, target: target)
        guard known == .unknownOrigin, namesLearned != view.generation else { return known }
        try view.reader.eachOrigin(context.layout.names.learn)
        namesLearned = view.generation
        return context.names.resolve(authority: authority, target: target)
    }

    /// Whether an https origin has stored responses only over http. Nil if it has none at all.
    func isStoredOverHTTPOnly(_ origin: String, _ httpOrigin: String, _ view: StoreView) throws(StoreError)
        -> Bool?
    {
        if httpOnlyOrigins?.generation != view.generation { httpOnlyOrigins = (view.generation, [:]) }
        if let known = httpOnlyOrigins?.origins[origin] { return known }
        let isHTTPOnly: Bool
        if try view.reader.mostPublicZone(ofOrigin: origin) != nil {
            isHTTPOnly = false
        } else if try view.reader.mostPublicZone(ofOrigin: httpOrigin) != nil {
            isHTTPOnly = true
        } else {
            return nil
        }
        if httpOnlyOrigins?.origins.count ?? 0 < Self.maxOrigins {
            httpOnlyOrigins?.origins[origin] = isHTTPOnly
        }
        return isHTTPOnly
    }

    /// The maximum number of remembered origins. Further ones are looked up each time.
    private static let maxOrigins = 10_000

    /// To be called after an answer was added to the tier.
    func didKeep(_ byteCount: Int) {
        guard let budget = context.budget else { return }
        uncheckedByteCount += byteCount
        guard uncheckedByteCount >= Self.maxUncheckedByteCount else { return }
        uncheckedByteCount = 0
        budget.check(context.tier)
    }

    /// The number of added bytes after which the budget is checked.
    private static let maxUncheckedByteCount = 1024 * 1024
}

/// The state that the responders of all server threads share.
struct MirrorContext: Sendable {
    let layout: OriginLayout
    /// The host names that the server answers to.
    let names: MirrorHostNames
    /// Nil if pages get no shim.
    let shim: Shim?
    let verifier: BodyVerifier
    /// Rendered answers that are the same for every requester.
    let tier: MemoryTier<Answer>
    /// Nil if only the limit of the tier applies.
    let budget: MemoryBudget?
    /// The counts of all threads, for the portal and metrics.
    let totals: ServingTotals
    /// Whether the store can be read; nil if it is not watched.
    let health: StoreHealth?
    let rejectedResponses: RejectedResponses?
    /// Nil if notes cannot be written.
    let notes: ServingRecords?
    /// Addresses to which this server has just redirected a user.
    let expected: ExpectedNavigations
    /// Bodies that were compressed with earlier versions.
    let deltas = DeltaCache()
    /// The digests of rendered bodies, by which clients name dictionaries.
    let renderedDigests = RenderedDigests()
    /// Nil if no origin is ever asked.
    let loader: OriginLoader?
    /// Makes the loader of a server thread, if threads load by themselves.
    let makeThreadLoader: (@Sendable () -> (any ThreadLoader)?)?
    /// The cache rules of the server's options. They apply to all sites, in addition to the sites' own rules.
    let rules: [CacheRules.Rule]
    /// Reads the digests that active manifests require.
    let requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements
    let walk: SiteNeeds.Walk?
    let isExcluded: URLExclusion?
    /// Carries out the portal's commands; nil if it is read-only.
    let services: PortalServices?
    /// Nil if searches are answered on the server's thread.
    var searches: PortalSearchQueue?
    /// For a proxy: whether pages of the public network may request private addresses.
    let mayReachPrivate: Bool
    /// For a proxy: the log of its requests.
    let log: ProxyLog?
    /// Whether answers in memory are for every requester of the same origin.
    let sharesMemoryAnswers: Bool
    /// Records reports of devices; nil if the server has no updates.
    let updates: UpdateWorker?
    /// The sites that browsers may have state of; nil except for a mirror with a site at the root.
    let rootHistory: RootHistory?

    /// - Parameter proxy: the options of a proxy; nil for a mirror.
    init(
        _ options: MirrorOptions, port: UInt16, proxy: ProxySettings? = nil, verifier: BodyVerifier,
        tier: MemoryTier<Answer>, budget: MemoryBudget? = nil,
        notes: ServingRecords?, loader: OriginLoader?, seals: PageSeals, services: PortalServices? = nil,
        totals: ServingTotals = ServingTotals(), health: StoreHealth? = nil,
        rejectedResponses: RejectedResponses? = nil, updates: UpdateWorker? = nil,
        rootHistory: RootHistory? = nil, expected: ExpectedNavigations = ExpectedNavigations()
    ) {
        self.expected = expected
        self.rootHistory = proxy == nil ? rootHistory : nil
        self.updates = proxy == nil ? updates : nil
        self.totals = totals
        self.health = health
        self.rejectedResponses = rejectedResponses
        layout = OriginLayout(
            port: port, root: proxy == nil ? options.root.flatMap(RootOrigin.init) : nil,
            allowsNetwork: options.allowsNetwork,
            isExposed: options.isExposed, showsPrivate: options.showsPrivate,
            isTransparent: proxy != nil, isSecure: options.security != nil && proxy == nil, seals: seals,
            loopbackNames: options.address.loopbackNames)
        mayReachPrivate = proxy?.mayReachPrivate ?? false
        log = proxy?.log
        names = MirrorHostNames(
            layout: layout, others: options.isExposed ? Self.machineNames : [],
            takesAddresses: options.isExposed)
        shim = options.hasShim && proxy == nil ? Shim(layout: layout) : nil
        self.verifier = verifier
        self.tier = tier
        self.budget = budget
        self.notes = notes
        self.loader = loader
        makeThreadLoader = options.makeThreadLoader
        rules = options.rules
        requirements = options.requirements
        (walk, isExcluded) = (options.walk, options.isExcluded)
        self.services = proxy == nil ? services : nil
        // Browsers on other machines may not identify the requesting page, so each of their requests is
        // checked.
        sharesMemoryAnswers = loader == nil && !layout.isTransparent && !layout.isExposed
    }

    /// Makes the portal of one thread.
    func portal(verdicts: ScriptsPage.VerdictLookup?, traffic: ProxyLogSource?) -> Portal {
        var figures: (@Sendable () -> UpdateFigures)?
        if let updates { figures = { updates.figures } }
        let serverMetrics = ServerMetrics(
            totals: totals, memoryByteCount: { [tier] in tier.byteCount },
            generation: { [tier] in tier.generation.number },
            isReadable: { [health] in health?.isReadable ?? true },
            rejectedCount: { [rejectedResponses] in rejectedResponses?.count ?? 0 },
            updates: figures)
        return Portal(
            layout: layout.forClient("localhost:\(layout.port)"), verdicts: verdicts, walk: walk,
            isExcluded: isExcluded, traffic: traffic, services: services, serverMetrics: serverMetrics)
    }

    /// Whether the request may be for another origin that shares the root's name.
    func canBeBesideRoot(_ request: Request) -> Bool {
        layout.sharesOrigin && request.target.starts(with: "/-/".utf8)
    }

    /// Whether a browser may still have state of another site that was at this name before.
    func canHaveEarlierState(_ request: Request) -> Bool {
        guard let rootHistory, request.head.fetchSite != nil else { return false }
        let authority = request.authority
        return names.isLocalRoot(authority) && !rootHistory.isCurrent(at: authority)
    }

    /// Whether a person opens a page. The answer may have the portal's bar, which no answer in memory has, and the reading is
    /// recorded. Browsers send both fields, and other programs neither.
    func isPageOpening(_ request: Request) -> Bool {
        request.head.fetchSite != nil && request.fields.isPageOpening
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
    private let secondsBetweenChecks: Int64
    private let health: StoreHealth?
    /// The reader, or the error for answers until a check finds the store readable.
    private var source: Result<StoreReader, StoreError>
    private var identity: Identity?
    private var dataVersion: Int64
    /// The stamp of the version of the data that was read last.
    private var live: (dataVersion: Int64, stamp: PublicationStamp)
    /// The last check. Nil before the first, so that a store that was replaced since it was opened is noticed
    /// before it is used.
    private var lastCheck: (time: Int64, generation: TierGeneration)?

    init(
        _ folder: StoreFolder, hidesPrivate: Bool = false, secondsBetweenChecks: Int64,
        health: StoreHealth? = nil
    ) throws(StoreError) {
        self.folder = folder
        self.hidesPrivate = hidesPrivate
        self.health = health
        self.secondsBetweenChecks = secondsBetweenChecks
        // Read before the store is opened, so that a replacement in between is noticed.
        identity = Identity(folder.database)
        let reader = try StoreReader(failingFast: folder, hidesPrivate: hidesPrivate)
        source = .success(reader)
        live = try Self.live(in: reader)
        dataVersion = live.dataVersion
    }

    private static func live(
        in reader: StoreReader
    ) throws(StoreError) -> (dataVersion: Int64, stamp: PublicationStamp) {
        try reader.withFixedVersion { () throws(StoreError) in
            (try reader.dataVersion(), try reader.publicationStamp())
        }
    }

    var reader: StoreReader {
        get throws(StoreError) { try source.get() }
    }

    private var isOutdated: Bool {
        if case .success(let reader) = source { reader.isOutdated } else { false }
    }

    /// Checks the store if that is due, or if another thread has found a change. After a change, begins a new
    /// generation, so that all answers in memory count as outdated. Returns the generation for answers that are
    /// made from now on.
    mutating func generation(in tier: MemoryTier<Answer>, at now: Int64) -> TierGeneration {
        // Read before the check: a change after it begins another generation.
        let current = tier.generation
        if let lastCheck, lastCheck.generation == current, now - lastCheck.time < secondsBetweenChecks,
            !isOutdated
        {
            return current
        }
        let generation = hasChanged() ? tier.advance() : current
        lastCheck = (now, generation)
        return generation
    }

    /// The generation of answers that are read in the reader's current transaction (`StoreReader.withFixedVersion`).
    ///
    /// The transaction may see more than the last check. If other snapshots are live in it, begins a new
    /// generation first: once one thread has answered from a snapshot, no thread may serve responses of an earlier
    /// one.
    ///
    /// - Parameter view: the generation of a check before the transaction.
    /// - Returns: nil if another thread has begun a generation since the check. It may have seen more than this
    ///   transaction does, so the caller checks again.
    mutating func generation(
        since view: TierGeneration, in tier: MemoryTier<Answer>
    ) throws(StoreError) -> TierGeneration? {
        guard tier.generation == view else { return nil }
        let reader = try reader
        let version = try reader.dataVersion()
        guard version != live.dataVersion else { return view }
        let before = live.stamp
        live = (version, try reader.publicationStamp())
        // A run that only adds to a snapshot that is not live is noticed by the next check.
        guard live.stamp != before else { return view }
        guard let begun = tier.advanceIfCurrent(view) else { return nil }
        dataVersion = version
        lastCheck?.generation = begun
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
        source = .success(try StoreReader(failingFast: folder, hidesPrivate: hidesPrivate))
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
