package import Bundles
internal import CLinux
internal import Digest
internal import Glibc
package import Reports
package import Store
internal import System
package import TLS
package import Web

/// Serves what a store holds, on loopback, until it is stopped.
package final class MirrorServer: Sendable {
    private let server: HTTPServer?
    private let proxy: HTTPServer?
    private let layout: OriginLayout
    private let pressure: MemoryPressure?
    private let housekeeping: Housekeeping?
    private let loading: Loading?
    private let board: JobBoard?
    private let searches: PortalSearches?
    private let tier: MemoryTier<Answer>

    /// - Parameters:
    ///   - port: 0 lets the kernel choose; nil is for a proxy alone.
    ///   - memoryLimit: how much of what was answered is kept ready, in bytes, over all threads.
    ///   - secondsBetweenLooks: how long a change of the store may stay unseen; 0 looks for each request.
    package init(
        _ folder: StoreFolder, port: UInt16?, threadCount: Int, memoryLimit: Int,
        secondsBetweenLooks: Int64 = 1,
        options: MirrorOptions = MirrorOptions(), proxy: (port: UInt16, options: ProxyOptions)? = nil
    ) throws(ServerError) {
        // What servers are asked for is answered from what was read; a part of the memory is for what is held
        // there alone.
        let shelfByteLimit = options.load == nil ? 0 : memoryLimit / 2
        let tier = MemoryTier<Answer>(byteLimit: memoryLimit - shelfByteLimit)
        self.tier = tier
        let budget = options.processMemoryLimit.map { MemoryBudget(limit: $0) }
        budget?.check(tier)
        let verifier = BodyVerifier(options.verification)
        let notes = access(folder.path, W_OK) == 0 ? ServingNotes() : nil
        let recording = RecordingHealth(options.notice)
        let rejectedResponses = RejectedResponses(options.notice)
        let loading = try options.load.map { (load) throws(ServerError) in
            try Loading(
                folder, options, tier: tier, shelfByteLimit: shelfByteLimit, recording: recording,
                rejectedResponses: rejectedResponses, load: load)
        }
        self.loading = loading
        let seals = PageSeals()
        let (totals, health) = (ServingTotals(), StoreHealth(options.notice))
        let powers = options.work.map { work in
            let memory = options.isReadOnly ? nil : Self.memory(folder)
            // Whoever keeps the list has the files that belong to it.
            let board = JobBoard(memory: memory, files: memory.map { _ in PortalFiles(folder) }, work)
            var circumstances = PortalGuard.Circumstances()
            circumstances.isExposed = !options.address.isLoopback
            circumstances.isReadOnly = options.isReadOnly || !folder.isWritable
            circumstances.password = { folder.portalPassword.flatMap { PasswordHash(text: $0) } }
            let bar = BarSwitch(isOn: options.hasBar || !options.isReadOnly && folder.hasPortalBar) { isOn in
                tier.advance()
                // Where it cannot be kept, it holds as long as the server runs.
                try? folder.keep(portalBar: isOn)
            }
            return PortalPowers(
                gate: PortalGuard(circumstances), board: board, bar: bar, exportForms: options.exportForms)
        }
        board = powers?.board
        let rootHistory =
            options.address.isLoopback
            ? options.root.flatMap(RootOrigin.init).map { RootHistory($0, in: folder) } : nil
        func context(_ port: UInt16, _ proxy: ProxyOptions?) -> MirrorContext {
            MirrorContext(
                options, port: port, proxy: proxy, verifier: verifier, tier: tier, budget: budget,
                notes: notes,
                loading: loading, seals: seals, powers: powers, totals: totals, health: health,
                rejectedResponses: rejectedResponses,
                rootHistory: rootHistory)
        }
        var searches: PortalSearches?
        func responder(
            _ port: UInt16, _ proxy: ProxyOptions?, _ traffic: PassingTraffic? = nil
        ) throws(ServerError) -> MirrorResponder {
            do throws(StoreError) {
                var context = context(port, proxy)
                let store = try WatchedStore(
                    folder, hidesPrivate: context.layout.hidesPrivate,
                    secondsBetweenLooks: secondsBetweenLooks, health: health)
                if proxy == nil {
                    let known =
                        searches ?? Self.searches(folder, context, traffic, options, secondsBetweenLooks)
                    searches = known
                    context.searches = known
                }
                return MirrorResponder(
                    store, verdicts: Self.verdicts(folder), traffic: traffic, context: context)
            } catch {
                throw ServerError(error)
            }
        }
        let opened = try proxy.map { (proxy) throws(ServerError) in
            try HTTPServer(
                port: proxy.port, threadCount: threadCount, address: options.address, limits: .proxy
            ) { (port) throws(ServerError) in
                ProxyResponder(try responder(port, proxy.options), proxy.options, port: port)
            }
        }
        self.proxy = opened
        let traffic = opened.flatMap { opened in
            proxy.map { PassingTraffic(log: $0.options.log, port: opened.port) }
        }
        do throws(ServerError) {
            server = try port.map { (port) throws(ServerError) in
                try HTTPServer(
                    port: port, threadCount: threadCount, address: options.address, limits: .mirror,
                    security: options.security
                ) {
                    (port) throws(ServerError) in try responder(port, nil, traffic)
                }
            }
        } catch {
            opened?.stopAndWait()
            throw error
        }
        self.searches = searches
        let port = server?.port ?? 0
        layout = OriginLayout(
            port: port, root: options.root.flatMap(RootOrigin.init),
            isExposed: !options.address.isLoopback, isSecure: options.security != nil, seals: seals
        )
        .seen(from: "localhost:\(port)")
        do throws(ServerError) {
            pressure = memoryLimit > 0 ? try Self.pressure(on: tier) : nil
            let keeper = notes.map { NoteKeeper(folder, notes: $0, tier: tier, recording: recording) }
            housekeeping =
                keeper == nil && budget == nil
                ? nil
                : try Housekeeping(everySeconds: Self.secondsBetweenNotes) { isLast in
                    keeper?.write(isLast: isLast)
                    budget?.check(tier)
                }
        } catch {
            server?.stopAndWait()
            self.proxy?.stopAndWait()
            throw error
        }
    }

    /// Nil where nobody could write it down, or another server does.
    private static func memory(_ folder: StoreFolder) -> JobMemory? {
        guard folder.isWritable, let lock = folder.lockPortal() else { return nil }
        return JobMemory(kept: folder.portalJobs) { text in
            // A list that cannot be kept is no reason not to do what stands in it.
            withExtendedLifetime(lock) { try? folder.keep(portalJobs: text) }
        }
    }

    /// Whether the update of a site waits or runs, by itself or with all others.
    package func isUpdating(_ site: String) -> Bool {
        board?.jobs.contains {
            !$0.isOver && ($0.order == .update(site: site) || $0.order == .update(site: nil))
        }
            ?? false
    }

    /// Has a site updated, as the portal would.
    package func update(_ site: String) { _ = board?.take(.update(site: site), by: .schedule) }

    private static let secondsBetweenNotes: Int32 = 2

    /// 0 where there is a proxy alone.
    package var port: UInt16 { server?.port ?? 0 }
    package var proxyPort: UInt16? { proxy?.port }

    /// Has every thread read the store anew before it answers the next request. Any thread may call it.
    package func reload() { tier.advance() }

    /// Ends what is under way, writes down what was served, and returns when every thread is done. From any
    /// thread, and as often as one likes.
    package func stop() {
        board?.close()
        server?.stopAndWait()
        proxy?.stopAndWait()
        searches?.close()
        loading?.stop()
        housekeeping?.stop()
        pressure?.stop()
    }

    /// Each of its threads looks at the store by itself.
    private static func searches(
        _ folder: StoreFolder, _ context: MirrorContext, _ traffic: PassingTraffic?, _ options: MirrorOptions,
        _ secondsBetweenLooks: Int64
    ) -> PortalSearches {
        PortalSearches(willSearch: options.willSearch) { () throws(StoreError) in
            var store = try WatchedStore(
                folder, hidesPrivate: context.layout.withholdsPrivate,
                secondsBetweenLooks: secondsBetweenLooks, health: context.health)
            let portal = context.portal(verdicts: verdicts(folder), traffic: traffic)
            return PortalSearches.Desk(portal: portal) { () throws(StoreError) in
                _ = store.generation(in: context.tier, at: SystemClock.seconds())
                return try store.reader
            }
        }
    }

    /// What checks found. Looked up anew for each page: a check may be going on.
    private static func verdicts(_ folder: StoreFolder) -> ScriptsPage.Verdicts {
        { hrefs in
            var found: [BundleVerdict] = []
            do throws(StoreError) {
                guard let book = try NoteBook.ifAny(folder) else { return [] }
                for href in hrefs { found += try book.verdicts(of: href) }
            } catch {
                // Whoever may not read the notes is shown what is held without them.
            }
            return found
        }
    }

    private static func pressure(on tier: MemoryTier<Answer>) throws(ServerError) -> MemoryPressure? {
        do throws(SystemError) {
            return try MemoryPressure(
                held: { tier.byteCount },
                shrink: { byteCount in
                    tier.shrink(to: byteCount)
                    // What is free inside the heap is no help to those who wait.
                    _ = malloc_trim(0)
                })
        } catch {
            throw ServerError(error)
        }
    }

    /// Whether a name, without its port, is one of those that a server at an address answers to.
    package static func answers(to name: String, at address: ListenAddress) -> Bool {
        name == "localhost" || name.hasSuffix(".localhost")
            || !address.isLoopback && MirrorContext.machineNames.contains(name)
    }

    /// Where this machine is shown an http or https URL; nil for anything else.
    package func address(of url: String) -> String? {
        WebURL(url).flatMap(layout.address)
    }

    /// Where this machine is shown an http or https URL as of a snapshot, by its `Snapshot.id`; nil for anything else.
    package func address(of url: String, inSnapshot id: Int64) -> String? {
        WebURL(url).flatMap { layout.address(of: $0, in: id) }
    }

    /// The original URLs that one of the larder's addresses may show, the likelier first; none for what shows
    /// no copy.
    package func originals(of address: String) -> [String] {
        guard let local = WebURL(address), local.scheme == layout.scheme else { return [] }
        return LarderNames(layout: layout).originals(of: local)
    }

    /// The URL of the portal of a server on the port that only this machine can reach.
    package static func portalAddress(at port: UInt16) -> String {
        "http://\(OriginLayout.portalName):\(port)/"
    }

    /// Where a server on the port would show an http or https URL under its origin's name; nil for anything
    /// else.
    package static func address(of url: String, at port: UInt16) -> String? {
        WebURL(url).flatMap(OriginLayout(port: port).address)
    }
}

/// How a mirror is shown.
package struct MirrorOptions: Sendable {
    /// Has the tier shrink so that the whole process stays within so many bytes; nil where the process does other
    /// things too.
    package var processMemoryLimit: Int?
    /// The site at the root; nil gives every origin a name of its own.
    package var root: WebURL?
    package var address = ListenAddress.loopback
    /// Has pages lead to the larder what their scripts ask for by whole addresses.
    package var hasShim = true
    /// Lets pages ask the network for what the larder does not lead to itself.
    package var allowsNetwork = false
    /// Shows other machines what was fetched with credentials.
    package var showsPrivate = false

    /// When bodies are hashed before they are shown.
    package var verification = Verification.once

    /// How what is held and servers share the work, where neither a request nor a rule says otherwise. Those
    /// are heard only when there is somebody to ask servers.
    package var policy = CachePolicy.offline
    /// Asks servers. Without it none is ever asked.
    package var load: Load?
    /// Makes what does the same for one thread of the server, beside its clients: of two threads that wake
    /// each other for each request, one is spared. Nil where `load` alone does it.
    package var ownLoads: (@Sendable () -> (any OwnLoads)?)?

    /// The site that takes in all that is loaded; nil puts it to the sites whose pages it is for.
    package var site: String?
    /// What the user wants otherwise than servers say, before what the rules of sites say.
    package var rules: [CacheRules.Rule] = []
    /// After how long a held copy is shown where a server that is asked first has not answered; nil waits for
    /// it.
    package var patience: Duration?
    /// How large the larder may become by what is loaded; nil for any size.
    package var sizeLimit: Int64?
    /// What the manifests in force require of bodies, as the store has them. Any thread may call it.
    package var requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements = {
        _ throws(StoreError) in
        Requirements()
    }

    /// Carries out what people ask for on the portal; nil lets them look alone.
    package var work: JobBoard.Worker?
    /// Forms of archives that sites can be exported into here, by their names.
    package var exportForms = PortalOrder.exportForms
    /// Pages have a bar, until it is switched off on the portal.
    package var hasBar = false
    /// Has clients speak TLS; nil for plain http.
    package var security: TLSServer?
    /// Nothing is changed by way of the portal.
    package var isReadOnly = false

    /// Finds what is missing of sites. Any thread may call it.
    package var walk: SiteNeeds.Walk?

    /// Told of each search on the portal before it begins, on the thread that makes it.
    package var willSearch: (@Sendable (_ target: String) -> Void)?

    /// Gets what whoever runs the server should know, a sentence at a time. Any thread may call it.
    package var notice: @Sendable (String) -> Void = { _ in }

    /// What time it is, by which what is held is fresh or stale.
    package var clock: @Sendable () -> HTTPDate = {
        HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
    }

    package init() {}

    /// Several people ask, as a proxy that other machines reach.
    package var isShared = false

    /// A site at the root is everybody's, and its cache a shared one, as is a proxy's that several use: what
    /// was asked for with `Authorization`, or answered as `private`, is kept for nobody, unless the server
    /// says otherwise (RFC 9111, section 3.5). Else the larder is somebody's own.
    var profile: CacheProfile {
        var profile = root != nil ? CacheProfile.reverseProxy : isShared ? .shared : .private
        profile.storesParts = true
        return profile
    }
}
