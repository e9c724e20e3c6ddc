package import Bundles
internal import CLinux
internal import Digest
internal import Glibc
package import HTTPServer
internal import Origins
package import Portal
package import Reports
internal import Rollouts
package import Store
internal import System
package import TLS
package import Web

/// Serves the contents of a store, on loopback by default, until it is stopped. It is a mirror, a proxy, or
/// both.
///
/// Its threads:
///
/// - `threadCount` server threads for each port. Each has its own `MirrorResponder` or `ProxyResponder` and reader of the
///   store; they share one `MirrorContext` and one memory tier.
/// - `larder-load` and `larder-wait`, if the policy may ask origins (`OriginLoader`).
/// - `larder-notes`, which records served responses and misses (`ServingRecordWriter`).
/// - `larder-updates`, if it has updates, which records the reports of devices (`UpdateWorker`).
/// - threads for jobs and searches of the portal.
///
/// All properties are constant after `init`, so that any thread may use the server.
package final class MirrorServer: Sendable {
    private let server: HTTPServer?
    private let proxy: HTTPServer?
    private let layout: OriginLayout
    /// Shrinks the tier while programs on this machine wait for memory; nil if there is no tier.
    private let pressure: MemoryPressure?
    /// Writes records of served responses, and keeps the memory budget.
    private let housekeeping: Housekeeping?
    private let loader: OriginLoader?
    /// Runs the jobs of the portal; nil if it accepts no commands.
    private let jobRunner: JobRunner?
    private let searches: PortalSearchQueue?
    /// Records reports of devices; nil if the server has no updates.
    private let updates: UpdateWorker?
    /// Rendered answers in memory, shared by all threads.
    private let tier: MemoryTier<Answer>

    /// - Parameters:
    ///   - port: The mirror's port. 0 lets the kernel choose one; nil runs only the proxy.
    ///   - memoryLimit: The maximum size, in bytes, of the answers that are kept in memory for all threads.
    ///   - secondsBetweenChecks: The maximum time until a change of the store is noticed; 0 checks at each
    ///     request.
    package init(
        _ folder: StoreFolder, port: UInt16?, threadCount: Int, memoryLimit: Int,
        secondsBetweenChecks: Int64 = 1,
        options: MirrorOptions = MirrorOptions(), proxy: (port: UInt16, options: ProxySettings)? = nil
    ) throws(ServerError) {
        // With a loader, half of the memory is for responses that are only in memory.
        let memoryOnlyByteLimit = options.load == nil ? 0 : memoryLimit / 2
        let tier = MemoryTier<Answer>(byteLimit: memoryLimit - memoryOnlyByteLimit)
        self.tier = tier
        let budget = options.processMemoryLimit.map { MemoryBudget(limit: $0) }
        budget?.check(tier)
        let verifier = BodyVerifier(options.verification)
        let notes = access(folder.path, W_OK) == 0 ? ServingRecords() : nil
        let recording = RecordingHealth(options.notice)
        let rejectedResponses = RejectedResponses(options.notice)
        let loader = try options.load.map { (load) throws(ServerError) in
            try OriginLoader(
                folder, options, tier: tier, memoryOnlyByteLimit: memoryOnlyByteLimit, recording: recording,
                rejectedResponses: rejectedResponses, load: load)
        }
        self.loader = loader
        let seals = PageSeals()
        let (totals, health) = (ServingTotals(), StoreHealth(options.notice))
        let expected = ExpectedNavigations()
        let services = options.work.map { work in
            let jobList = options.isReadOnly ? nil : Self.jobListFile(folder)
            // Only the server that writes the job list may use the files that belong to it.
            let jobRunner = JobRunner(jobList: jobList, files: jobList.map { _ in PortalFiles(folder) }, work)
            var circumstances = PortalGuard.Configuration()
            circumstances.isExposed = options.isExposed
            circumstances.isReadOnly = options.isReadOnly || !folder.isWritable
            circumstances.password = { folder.portalPassword.flatMap { PasswordHash(text: $0) } }
            // Other machines could not follow the links of the bar.
            let showsBar =
                !options.isExposed && options.hasBar != false
                && folder.showsPortalBar ?? options.hasBar ?? false
            let language = folder.portalLanguage.flatMap(PortalLanguage.init(rawValue:))
            let bar = BarSwitch(isOn: showsBar, language: language) { change in
                tier.advance()
                // A setting that cannot be saved applies until the server stops.
                switch change {
                case .isOn(let isOn): try? folder.storePortalBar(isOn)
                case .language(let language): try? folder.storePortalLanguage(language.rawValue)
                }
            }
            var services = PortalServices(
                accessGuard: PortalGuard(circumstances), jobRunner: jobRunner, bar: bar,
                extensions: circumstances.isReadOnly ? nil : ExtensionPairings(folder),
                isScheduled: options.isScheduled,
                canInstallTimer: options.canInstallTimer, exportForms: options.exportForms)
            services.extensionFile = options.extensionFile
            return services
        }
        jobRunner = services?.jobRunner
        let updates = try options.updates.map { (settings) throws(ServerError) in
            do throws(SystemError) {
                return try UpdateWorker(UpdateService(folder, settings, now: options.clock))
            } catch {
                throw ServerError(error)
            }
        }
        self.updates = updates
        let rootHistory =
            !options.isExposed
            ? options.root.flatMap(RootOrigin.init).map { RootHistory($0, in: folder) } : nil
        func context(_ port: UInt16, _ proxy: ProxySettings?) -> MirrorContext {
            MirrorContext(
                options, port: port, proxy: proxy, verifier: verifier, tier: tier, budget: budget,
                notes: notes,
                loader: loader, seals: seals, services: services, totals: totals, health: health,
                rejectedResponses: rejectedResponses, updates: updates,
                rootHistory: rootHistory, expected: expected)
        }
        var searches: PortalSearchQueue?
        func responder(
            _ port: UInt16, _ proxy: ProxySettings?, _ traffic: ProxyLogSource? = nil
        ) throws(ServerError) -> MirrorResponder {
            do throws(StoreError) {
                var context = context(port, proxy)
                let store = try WatchedStore(
                    folder, hidesPrivate: context.layout.hidesPrivate,
                    secondsBetweenChecks: secondsBetweenChecks, health: health)
                if proxy == nil {
                    let known =
                        searches ?? Self.searches(folder, context, traffic, options, secondsBetweenChecks)
                    searches = known
                    context.searches = known
                }
                return MirrorResponder(
                    store, verdicts: Self.verdicts(folder), traffic: traffic, context: context)
            } catch {
                throw ServerError(error)
            }
        }
        // The proxy opens first, since the portal shows its port and traffic.
        let opened = try proxy.map { (proxy) throws(ServerError) in
            try HTTPServer(
                port: proxy.port, threadCount: threadCount, address: options.address, limits: .proxy
            ) { (port) throws(ServerError) in
                ProxyResponder(try responder(port, proxy.options), proxy.options, port: port)
            }
        }
        self.proxy = opened
        let traffic = opened.flatMap { opened in
            proxy.map { ProxyLogSource(log: $0.options.log, port: opened.port) }
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
            updates?.stop()
            throw error
        }
        self.searches = searches
        let port = server?.port ?? 0
        layout = OriginLayout(
            port: port, root: options.root.flatMap(RootOrigin.init),
            isExposed: options.isExposed, isSecure: options.security != nil, seals: seals
        )
        .forClient("localhost:\(port)")
        do throws(ServerError) {
            pressure = memoryLimit > 0 ? try Self.pressure(on: tier) : nil
            let handler = notes.map {
                ServingRecordWriter(
                    folder, notes: $0, tier: tier, recording: recording, recordsUses: options.recordsUses)
            }
            housekeeping =
                handler == nil && budget == nil
                ? nil
                : try Housekeeping(everySeconds: Self.secondsBetweenNotes) { isLast in
                    handler?.write(isLast: isLast)
                    budget?.check(tier)
                }
        } catch {
            server?.stopAndWait()
            self.proxy?.stopAndWait()
            updates?.stop()
            throw error
        }
    }

    /// The saved job list. Nil if the store is read-only or another server has the list.
    private static func jobListFile(_ folder: StoreFolder) -> JobListFile? {
        guard folder.isWritable, let lock = folder.lockPortal() else { return nil }
        return JobListFile(saved: folder.portalJobs) { text in
            // If the list cannot be saved, its jobs are carried out all the same.
            withExtendedLifetime(lock) { try? folder.storePortalJobs(text) }
        }
    }

    /// Whether a command that makes network requests is waiting or running.
    package var isFetching: Bool {
        jobRunner?.jobs.contains { !$0.isOver && $0.command.lane == .network } ?? false
    }

    /// Starts an update of a site, as the portal does.
    package func update(_ site: String) { _ = jobRunner?.add(.update(site: site), by: .schedule) }

    /// A killed process loses the misses of at most this time.
    private static let secondsBetweenNotes: Int32 = 2

    /// The port of the mirror; 0 if only the proxy runs.
    package var port: UInt16 { server?.port ?? 0 }
    /// The port of the proxy; nil if only the mirror runs.
    package var proxyPort: UInt16? { proxy?.port }

    /// Makes every thread read the store again before its next answer. Any thread may call this.
    package func reload() { tier.advance() }

    /// Ends requests in progress, records the served responses, and returns when every thread has ended. Any
    /// thread may call this, repeatedly.
    package func stop() {
        // The loader ends after the server threads, whose clients wait for its replies. The last records are written after
        // the last response.
        // So do the devices that wait for updates.
        jobRunner?.close()
        updates?.stop()
        server?.stopAndWait()
        proxy?.stopAndWait()
        searches?.close()
        loader?.stop()
        housekeeping?.stop()
        pressure?.stop()
    }

    /// The search threads of the portal. Each reads the store by itself.
    private static func searches(
        _ folder: StoreFolder, _ context: MirrorContext, _ traffic: ProxyLogSource?, _ options: MirrorOptions,
        _ secondsBetweenChecks: Int64
    ) -> PortalSearchQueue {
        PortalSearchQueue(willSearch: options.willSearch) { () throws(StoreError) in
            var store = try WatchedStore(
                folder, hidesPrivate: context.layout.withholdsPrivate,
                secondsBetweenChecks: secondsBetweenChecks, health: context.health)
            let portal = context.portal(verdicts: verdicts(folder), traffic: traffic)
            return PortalSearchQueue.ThreadContext(portal: portal) { () throws(StoreError) in
                _ = store.generation(in: context.tier, at: SystemClock.seconds())
                return try store.reader
            }
        }
    }

    /// The results of bundle checks. Read again for each page, since a check may be running.
    private static func verdicts(_ folder: StoreFolder) -> ScriptsPage.VerdictLookup {
        { hrefs in
            var found: [BundleVerdict] = []
            do throws(StoreError) {
                guard let book = try ActivityDatabase.openIfExists(folder) else { return [] }
                for href in hrefs { found += try book.verdicts(of: href) }
            } catch {
                // Without permission to read the notes, the page shows the scripts without verdicts.
            }
            return found
        }
    }

    private static func pressure(on tier: MemoryTier<Answer>) throws(ServerError) -> MemoryPressure? {
        do throws(SystemError) {
            return try MemoryPressure(
                freeableByteCount: { tier.byteCount },
                shrink: { byteCount in
                    tier.shrink(to: byteCount)
                    // Memory that is free inside the heap is not available to other processes.
                    _ = malloc_trim(0)
                })
        } catch {
            throw ServerError(error)
        }
    }

    /// Whether a server at the address answers requests for the host name (without a port).
    package static func answers(to name: String, at address: ListenAddress) -> Bool {
        name == "localhost" || name.hasSuffix(".localhost")
            || !address.isLoopback && MirrorContext.machineNames.contains(name)
    }

    /// Whether another program listens on the port.
    package static func isInUse(port: UInt16, of address: ListenAddress) -> Bool {
        do throws(ServerError) {
            _ = try ListeningSocket.open(on: address, port: port, isShared: false, listens: false)
            return false
        } catch {
            return error.code == EADDRINUSE
        }
    }

    /// The mirror address of an http or https URL; nil for other URLs.
    package func address(of url: String) -> String? {
        WebURL(url).flatMap(layout.address)
    }

    /// The mirror address of an http or https URL in the snapshot with this `Snapshot.id`; nil for other
    /// URLs.
    package func address(of url: String, inSnapshot id: Int64) -> String? {
        WebURL(url).flatMap { layout.address(of: $0, in: id) }
    }

    /// The original URLs that a mirror address may stand for, the most likely first. Empty if the address is
    /// not one of a stored response.
    package func originals(of address: String) -> [String] {
        guard let local = WebURL(address), local.scheme == layout.scheme else { return [] }
        return MirrorHostNames(layout: layout).originals(of: local)
    }

    /// The URL of the portal of a server that listens on this port of loopback.
    package static func portalAddress(at port: UInt16) -> String {
        "http://\(OriginLayout.portalName):\(port)/"
    }

    /// The mirror address, under its origin's name, of an http or https URL on a server on this port; nil for
    /// other URLs.
    package static func address(of url: String, at port: UInt16) -> String? {
        WebURL(url).flatMap(OriginLayout(port: port).address)
    }

    /// The mirror address of a URL in a snapshot, which is given by its `Snapshot.id`.
    package static func address(of url: String, inSnapshot id: Int64, at port: UInt16) -> String? {
        WebURL(url).flatMap { OriginLayout(port: port).address(of: $0, in: id) }
    }
}

/// The options of a mirror.
package struct MirrorOptions: Sendable {
    /// The maximum memory of the whole process in bytes, for which the answers in memory are reduced. Nil if
    /// the process also does other things.
    package var processMemoryLimit: Int?
    /// The site at the root; nil serves every origin under a name of its own.
    package var root: WebURL?
    package var address = ListenAddress.loopback
    /// Whether pages get the shim, the script that rewrites absolute URLs that their scripts make.
    package var hasShim = true
    /// Whether pages may request URLs from the network that are not rewritten to the mirror.
    package var allowsNetwork = false
    /// Whether other machines may get responses that were fetched with credentials.
    package var showsPrivate = false
    /// Whether other machines can reach the server.
    package var isExposed: Bool { !address.isLoopback }
    /// Whether responses that were fetched with credentials are hidden, because other machines can reach the server.
    package var hidesPrivate: Bool { isExposed && !showsPrivate }

    /// When bodies are hashed before they are served.
    package var verification = Verification.once

    /// The cache policy where neither the request nor a rule sets one. Without `load`, policies are ignored.
    package var policy = CachePolicy.offline
    /// Sends requests to origins. Nil makes no network requests.
    package var load: Load?
    /// Makes a loader for one server thread, so that a request does not have to wake another thread. Nil to
    /// use `load` only.
    package var makeThreadLoader: (@Sendable () -> (any ThreadLoader)?)?

    /// The site that all loaded responses are stored in; nil stores them in the sites of the pages that
    /// needed them.
    package var site: String?
    /// Rules of the user that override what origins say. They come before the rules of the sites.
    package var rules: [CacheRules.Rule] = []
    /// The time after which a stored response is served if the origin has not answered; nil waits for the
    /// origin.
    package var patience: Duration?
    /// The maximum size of the store in bytes that loaded responses may cause; nil for no limit.
    package var sizeLimit: Int64?
    /// Returns the digests that the active manifests in the store require. Any thread may call it.
    package var requirements: @Sendable (StoreReader) throws(StoreError) -> Requirements = {
        _ throws(StoreError) in
        Requirements()
    }

    /// Carries out the portal's commands; nil makes the portal read-only.
    package var work: JobRunner.Worker?
    /// The names of the archive formats that the portal can export sites to.
    package var exportForms = PortalCommand.exportForms
    /// Returns the browser extension as a zip file, for the portal; nil if it is not installed. Any thread may call it.
    package var extensionFile: (@Sendable () -> [UInt8]?)?
    /// Whether something runs the scheduled updates of the store. Any thread may call it.
    package var isScheduled: @Sendable () -> Bool = { false }
    /// Whether `work` can install a timer that does.
    package var canInstallTimer = false
    /// Whether pages have a bar until it is switched on or off in the portal, which lasts. False: they have none until it is
    /// switched on while the server runs. Nil: as it was switched last, at first off.
    package var hasBar: Bool?
    /// Whether to record when responses were served. A check by a browser is no use of a page.
    package var recordsUses = true
    /// The TLS configuration; nil for plain http.
    package var security: TLSServer?
    /// Whether the portal must not change anything.
    package var isReadOnly = false
    /// How updates of apps are served; nil if they are not.
    package var updates: UpdateSettings?

    /// Finds the missing assets of sites. Any thread may call it.
    package var walk: SiteNeeds.Walk?
    /// Whether the settings of a site exclude a URL; nil if that is not known. Any thread may call it.
    package var isExcluded: URLExclusion?

    /// Called before each search in the portal, on the thread of the search.
    package var willSearch: (@Sendable (_ target: String) -> Void)?

    /// Receives messages for the person who runs the server, one sentence at a time. Any thread may call it.
    package var notice: @Sendable (String) -> Void = { _ in }

    /// The current time, by which stored responses are fresh or stale.
    package var clock: @Sendable () -> HTTPDate = {
        HTTPDate(secondsSinceEpoch: SystemClock.secondsSinceEpoch())
    }

    package init() {}

    /// Whether several people use the server, as a proxy that other machines reach.
    package var isShared = false

    /// The cache profile. A site at the root is served from a shared cache, as is a proxy with several users:
    /// responses to requests with `Authorization`, and `private` ones, are not stored unless the origin
    /// allows it (RFC 9111, section 3.5). Otherwise the cache is private.
    var profile: CacheProfile {
        var profile = root != nil ? CacheProfile.reverseProxy : isShared ? .shared : .private
        profile.storesParts = true
        return profile
    }
}

extension ServerError {
    init(_ error: StoreError) { self.init(description: error.description, remedy: error.remedy) }
}
