internal import Bundles
internal import Check
internal import Fetch
internal import Glibc
internal import HTTPServer
public import Mirror
internal import Portal
internal import Prefetch
internal import Reports
internal import Store
internal import Synchronization
internal import System
public import Web

extension Larder {
    /// Serves the store until the service is stopped. Makes no network requests, unless the options set another
    /// policy than `offline`.
    ///
    /// ```swift
    /// let service = try larder.serve(port: 8080)
    /// print(service.address(of: "https://example.com/") ?? "")
    /// ```
    ///
    /// - Parameters:
    ///   - port: 0 lets the kernel choose one.
    ///   - threads: the number of threads; nil for one per core.
    ///   - memoryLimit: the number of bytes of responses that are cached in memory.
    /// - Throws: `LarderError` of kind `.input` if an option is invalid, `.machine` if there is no store or the port
    ///   cannot be opened.
    public func serve(
        port: UInt16 = 8080, threads: Int? = nil, memoryLimit: Int = 64 * 1024 * 1024,
        options: ServeOptions = ServeOptions()
    ) throws(LarderError) -> MirrorService {
        try start(port: port, threads: threads, memoryLimit: memoryLimit, options: options)
    }

    /// Starts a server, a proxy or both.
    ///
    /// - Parameter port: the port of the server; nil runs only a proxy.
    func start(
        port: UInt16?, threads: Int?, memoryLimit: Int, options: ServeOptions
    ) throws(LarderError) -> MirrorService {
        var mirror = try options.mirrorOptions(
            hasMirror: port != nil, hasPassword: folder.portalPassword != nil)
        if port != nil {
            let commands = PortalCommandRunner(
                larder: self, network: options.network, updateCommand: options.updateCommand,
                hidesPrivate: mirror.hidesPrivate)
            mirror.work = { commands.run($0, $1) }
            let isScheduled = options.isScheduled
            mirror.isScheduled = { [self] in isScheduled && folder.isWritable || scheduleRunner != nil }
            mirror.canInstallTimer = options.updateCommand != nil
            mirror.exportForms = PortalCommandRunner.exportForms
            if let files = BrowserExtension.ofThisProgram {
                mirror.extensionFile = { try? files.zipFile() }
            }
            mirror.updates = try options.updates.map { (wanted) throws(LarderError) in try wanted.settings() }
        }
        if port != nil, folder.exists || options.createsStore {
            mirror.security = try options.security.map { (wanted) throws(LarderError) in
                try security(wanted, at: mirror.address)
            }
        }
        let requirements = CurrentRequirements()
        let isStrong = options.requiresStrongDigests
        mirror.requirements = { reader throws(StoreError) in
            let required = try requirements.read(reader)
            return isStrong ? required.requiringStrongDigests : required
        }
        mirror.walk = { reader, site, limit throws(StoreError) in
            try OfflineCheck.needs(of: site, limit: limit, reader)
        }
        mirror.isExcluded = { url, site, isPage in
            SitePlan(text: site.settings).excludes(url, start: site.start, isPage: isPage)
        }
        // A policy that loads responses needs a store for them; `offline` needs one that exists.
        if options.createsStore && !folder.exists || options.proxy != nil && options.policy.allowsNetwork {
            try createOrMigrateStore()
        }
        let log = options.proxy.map { _ in ProxyLog() }
        var proxy: (port: UInt16, options: ProxySettings)?
        if folder.exists, let wanted = options.proxy, let log {
            proxy = try proxyOptions(wanted, options, log)
        }
        let fetching = try fetchOptions(options, mirror)
        let loads = try fetching.map { (fetching) throws(LarderError) in
            try LoadThread(fetching, clock: mirror.clock)
        }
        if let loads, let fetching {
            mirror.load = { loads.load($0, done: $1) }
            // Each thread of the server sends its own requests, which saves a change of threads per request. Cookies and
            // a limit of the total rate are shared by all requests, so that one thread sends all of them then.
            if fetching.cookies == nil, fetching.bytesPerSecond == nil {
                mirror.makeThreadLoader = { [clock = mirror.clock] in try? LoadLoop(fetching, clock: clock) }
            }
        }
        guard folder.exists else {
            try throwIfDatabaseIsLost()
            throw LarderError(
                .machine,
                "there is no store at \(folder.name); prefetch a site into it first, or name another",
                remedy: port == nil ? .store : .newStore)
        }
        let server: MirrorServer
        do throws(ServerError) {
            server = try MirrorServer(
                folder, port: port, threadCount: threads ?? Machine.coreCount, memoryLimit: memoryLimit,
                options: mirror, proxy: proxy)
        } catch {
            loads?.stop()
            throw LarderError(error)
        }
        do throws(LarderError) {
            let service = MirrorService(
                server, mirror, loads, log, due: try startUpdateScheduler(options, server),
                indexing: options.indexesInBackground && folder.isWritable ? BackgroundIndexing(folder) : nil)
            if options.isListed, port != nil { service.record(store: folder.identity) }
            return service
        } catch {
            server.stop()
            loads?.stop()
            throw error
        }
    }

    /// Starts the scheduler of due updates; nil if the options do not ask for one, or the store is read-only.
    private func startUpdateScheduler(_ options: ServeOptions, _ server: MirrorServer) throws(LarderError)
        -> DueUpdateScheduler?
    {
        guard options.isScheduled else { return nil }
        guard !options.isReadOnly else {
            throw LarderError(
                .input, "a read-only server cannot update sites; choose either read-only or scheduled updates"
            )
        }
        guard folder.isWritable else { return nil }
        return try DueUpdateScheduler(folder, notice: options.notice) {
            server.isFetching
        } update: {
            server.update($0)
        }
    }

    /// The options for requests to origins; nil if the policy makes none. Creates the store, since their responses are
    /// stored.
    private func fetchOptions(
        _ options: ServeOptions, _ mirror: MirrorOptions
    ) throws(LarderError) -> FetchOptions? {
        guard mirror.policy.allowsNetwork else { return nil }
        try createOrMigrateStore()
        let start = mirror.root.map { [$0] } ?? []
        // Requests of other machines never use this user's credentials.
        let network = mirror.hidesPrivate ? options.network.withoutIdentity : options.network
        return try network.options(for: start, spoolFolder: folder.incoming)
    }

    /// Creates the store, or migrates it. An existing store that cannot be written now is served as it is; the server
    /// reports each record, such as a miss, that it cannot write.
    private func createOrMigrateStore() throws(LarderError) {
        let wasThere = folder.exists
        try mapStoreError { () throws(StoreError) in
            do throws(StoreError) {
                _ = try StoreWriter(folder)
            } catch {
                guard wasThere, [.full, .denied].contains(error.reason) else { throw error }
                _ = try StoreReader(folder)
            }
        }
    }

    /// Throws an error with advice on repair if the store's database is missing.
    private func throwIfDatabaseIsLost() throws(LarderError) {
        try mapStoreError { () throws(StoreError) in
            do throws(StoreError) { _ = try StoreReader(folder) } catch {
                guard error.reason == .missing else { throw error }
            }
        }
    }
}

/// A running server or proxy. Its methods may be called from any thread.
public final class MirrorService: Sendable {
    private let server: MirrorServer
    private let options: MirrorOptions
    private let loads: LoadThread?
    private let due: DueUpdateScheduler?
    private let indexing: BackgroundIndexing?
    /// The file that makes `RunningServer.all()` find the server; it is removed when the server stops.
    private let recorded = Mutex<ServerRecord?>(nil)
    let log: ProxyLog?

    init(
        _ server: MirrorServer, _ options: MirrorOptions, _ loads: LoadThread?, _ log: ProxyLog?,
        due: DueUpdateScheduler? = nil, indexing: BackgroundIndexing? = nil
    ) {
        self.due = due
        self.indexing = indexing
        self.server = server
        self.options = options
        self.loads = loads
        self.log = log
    }

    /// The port of the server; 0 if only a proxy runs.
    public var port: UInt16 { server.port }
    /// The port of the proxy; nil if there is none.
    public var proxyPort: UInt16? { server.proxyPort }

    /// The URL to open in a browser: the list of stored sites, or the site at the root.
    public var address: String {
        "\(scheme)://\(isExposed ? reachableAddresses[0] : "localhost"):\(port)/"
    }

    /// `https` if the server uses TLS, else `http`.
    public var scheme: String { options.security == nil ? "http" : "https" }

    /// Whether other machines can reach it.
    public var isExposed: Bool { options.isExposed }

    /// Whether it updates sites when their schedules are due.
    public var isScheduled: Bool { due != nil }

    /// Whether other machines see only the portal, for which they need its password, and no site.
    public var servesOnlyPortal: Bool { isExposed && options.root == nil }

    /// The addresses under which other machines reach the server, as written in a URL; `localhost` if there are none.
    public var reachableAddresses: [String] {
        let addresses = isExposed ? options.address.reachableHosts : []
        return addresses.isEmpty ? ["localhost"] : addresses
    }

    /// Cancels running requests, and returns when every thread has ended. May be called repeatedly.
    public func stop() {
        due?.stop()
        indexing?.stop()
        server.stop()
        loads?.stop()
        recorded.withLock { $0 = nil }
    }

    /// Returns when the pages that were not in the search index have been added to it; for tests.
    func waitForIndex() { indexing?.wait() }

    /// Records the server, so that commands of this user find it (`RunningServer`).
    func record(store: String) {
        let server = RunningServer(
            port: port, processID: getpid(), address: address, store: store,
            hasEverySite: options.root == nil && options.security == nil && !isExposed,
            isScheduled: isScheduled)
        let record = ServerRecord(server)
        recorded.withLock { $0 = record }
    }

    /// Makes the server read the store again before it answers the next request. Changes are noticed within a second
    /// without this call.
    public func reload() { server.reload() }

    /// The URL under which the server serves an original URL; nil if that is not http or https.
    public func address(of url: String) -> String? {
        server.address(of: url)
    }

    /// The URL under which the server serves an original URL in a snapshot, which is given by its `Snapshot.id`.
    func address(of url: String, inSnapshot id: Int64) -> String? {
        server.address(of: url, inSnapshot: id)
    }

    /// The original URL of one of the server's URLs: the first candidate that is known, else the likeliest one.
    func original(of address: String, isKnown: (WebURL) -> Bool) -> WebURL? {
        let originals = server.originals(of: address).compactMap { WebURL($0) }
        return originals.first(where: isKnown) ?? originals.first
    }
}

/// The certificate with which a server identifies itself.
public enum ServeSecurity: Sendable, Equatable {
    /// Certificates for the server's names and addresses, signed by the store's own authority. Clients trust them if
    /// they trust `Larder.authority()`.
    case own
    /// Files in PEM: a certificate with its intermediate certificates, and its key, which may be in the same file.
    case files(certificate: String, key: String)
}

/// Options of a server.
public struct ServeOptions: Sendable {
    /// The site to serve at the root; nil serves each origin under its own name below `localhost`.
    public var root: String?
    /// The address of this machine to listen on, or `*` for all addresses. Nil listens on loopback, which no other
    /// machine reaches.
    public var address: String?
    /// Adds a script to pages that redirects URLs made by other scripts to the server.
    public var hasShim = true
    /// Lets pages use the network for URLs that are not redirected to the server.
    public var allowsNetwork = false

    /// Lets other machines see responses that were fetched with credentials.
    public var showsPrivate = false

    /// How stored responses and the network are combined. With `offline` no request is made, whatever a client or a
    /// rule says.
    public var policy = CachePolicy.offline
    /// Network options for the policies that make requests.
    public var network = NetworkOptions()

    /// When stored bodies are compared with their digests before they are served. They were verified when they were
    /// stored; this finds later damage on the disk.
    public var verification = Verification.once
    /// Only SHA-256 or stronger digests verify a bundle. One that matches only its MD5 or SHA-1 is served as
    /// `unverified`.
    public var requiresStrongDigests = false

    /// Cache rules that override response headers. They precede the rules of sites; see `larder help rules`.
    public var rules: [String] = []
    /// The time after which a stored response is served because its origin has not answered; a later answer is
    /// stored. Nil waits for the origin. Only applies if the policy makes requests.
    public var patience: Duration? = .seconds(5)
    /// The maximum size of the store in bytes. If loaded responses make it larger, the server evicts content until it
    /// has 90 % of that size. Nil for no limit.
    public var sizeLimit: Int64?
    /// Receives messages for the operator, one sentence at a time, such as that the store cannot be read, and that it
    /// can be read again. Called on any thread.
    public var notice: @Sendable (String) -> Void = { _ in }
    /// Creates the store if there is none, for a caller that adds sites later, such as through the portal. Otherwise a
    /// missing store is an error.
    public var createsStore = false
    /// Lists the server in `RunningServer.all()`, for every process of this user.
    public var isListed = false
    /// Adds a bar to pages that browsers open, which shows their date and links to the portal. True: unless it was switched
    /// off in the portal. False: not until it is switched on there while the server runs. Nil: only if it was switched on. A
    /// server that other machines can reach adds none.
    public var hasBar: Bool?
    /// Whether to record when responses were served.
    var recordsUses = true
    /// The maximum memory of the whole process in bytes, for a process that only serves: fewer responses are cached
    /// in memory than `memoryLimit` allows. Nil for no limit.
    public var processMemoryLimit: Int?
    /// Adds stored pages that the search index lacks to it, in the background, if the store can be written to.
    public var indexesInBackground = false
    /// Disables all changes through the portal.
    public var isReadOnly = false
    /// Updates sites when their schedules are due, if the store can be written to. The portal shows these updates.
    public var isScheduled = false
    /// A shell command that updates the sites that are due. The portal offers to install a systemd timer that runs it;
    /// nil if it does not.
    public var updateCommand: String?
    /// Serves https with this certificate. Nil serves plain http.
    public var security: ServeSecurity?
    /// Also runs a forward proxy for programs; nil for none.
    public var proxy: ProxyOptions?
    /// Also serves the releases that `Larder.publish` stored to apps, below `/-/updates/`; nil does not.
    public var updates: UpdateServing?

    /// Creates options for a server on loopback that makes no network requests.
    public init() {}

    /// Converts the options for the module Mirror.
    ///
    /// - Parameters:
    ///   - hasMirror: whether a server runs, and not only a proxy.
    ///   - hasPassword: whether the portal has a password, so that other machines may open it.
    /// - Throws: `LarderError` of kind `.input` if a site, an address, a rule or a login is invalid.
    func mirrorOptions(hasMirror: Bool = true, hasPassword: Bool = false) throws(LarderError) -> MirrorOptions
    {
        var options = MirrorOptions()
        if let root {
            guard let url = WebURL(root), url.isHTTP else {
                throw LarderError(
                    .input, "\"\(root)\" is not the URL of a site; write it like https://example.com/")
            }
            options.root = url
        }
        if let address {
            guard let known = ListenAddress(address) else {
                throw LarderError(
                    .input,
                    "\"\(address)\" is not an address to listen on; write it like 192.0.2.1, or * for all addresses"
                )
            }
            // RFC 6761 6.3: names below localhost resolve to the machine itself, so other machines cannot open the host
            // names under which sites are served. They can open one site at the root, and the portal with its password.
            guard root != nil || known.isLoopback || !hasMirror || hasPassword else {
                throw LarderError(
                    .input,
                    "other machines can only open one site, or the portal if a password was set with larder password; "
                        + "name the site", remedy: .root)
            }
            if proxy != nil, proxy?.login == nil, !known.isLoopback {
                throw LarderError(
                    .input, "a proxy that other machines can reach needs a login; set one",
                    remedy: .proxyLogin)
            }
            options.address = known
            options.isShared = !known.isLoopback
        }
        options.rules = try CacheRules(
            texts: rules + (proxy?.storesEverything == true ? ["** allowed", "** post"] : [])
        )
        .rules
        options.site = proxy?.site
        if let login = proxy?.login, !login.utf8.contains(UInt8(ascii: ":")) {
            throw LarderError(.input, "the proxy's login has no password; write it like user:password")
        }
        options.patience = patience
        options.sizeLimit = sizeLimit
        options.policy = policy
        options.isReadOnly = isReadOnly
        options.processMemoryLimit = processMemoryLimit
        options.hasBar = hasBar
        options.recordsUses = recordsUses
        options.verification = verification
        options.hasShim = hasShim
        options.allowsNetwork = allowsNetwork
        options.showsPrivate = showsPrivate
        options.notice = notice
        return options
    }
}

extension Larder {
    /// The URL under which a server on a port serves a site, given by its name or host, or any http or https URL;
    /// without one, the URL of its portal.
    ///
    /// - Parameters:
    ///   - snapshot: an earlier snapshot of the site; nil for the live one.
    ///   - owner: the name of the site that the snapshot belongs to; nil if `text` names it.
    /// - Throws: `LarderError` of kind `.input` if the text is neither a site nor such a URL, or if the site has no such
    ///   snapshot.
    public func address(
        of text: String?, in snapshot: SnapshotName? = nil, of owner: String? = nil, at port: UInt16
    ) async throws(LarderError) -> String {
        guard let text else { return MirrorServer.portalAddress(at: port) }
        let sites = try await snapshots().sites
        let names = sites.map(\.name)
        var index = SiteName.index(of: text, among: names)
        if index == nil, try await !hasResponse(for: text) {
            index = SiteName.index(of: text, among: names, acceptsOrigin: true)
        }
        let site = index.map { sites[$0] }
        let url = site?.start.first ?? text
        if let snapshot {
            // The address names the snapshot itself: `@N` before a URL would not say of which site, if several have the URL.
            guard
                let found = (owner.flatMap { name in sites.first { $0.name == name } } ?? site)?.snapshots
                    .first(where: { $0.name == snapshot && $0.finished != nil }),
                let address = MirrorServer.address(
                    of: try await parseURL(url).href, inSnapshot: found.id, at: port)
            else {
                throw LarderError(
                    .input,
                    "\(text) has no complete snapshot \(snapshot); list its snapshots with: larder snapshots")
            }
            return address
        }
        guard let address = MirrorServer.address(of: try await parseURL(url).href, at: port) else {
            throw LarderError(
                .input, "cannot serve \(text): it is not an http or https URL; name a site or such a URL")
        }
        return address
    }

    /// The lowest port from `first` to `first` + 99 on which a server can listen; nil if all are in use.
    ///
    /// - Parameter address: the address to listen on, as in `ServeOptions.address`.
    public static func freePort(from first: UInt16, on address: String? = nil) -> UInt16? {
        let address = address.flatMap { ListenAddress($0) } ?? .loopback
        return (first...UInt16(clamping: Int(first) + 99)).first {
            !MirrorServer.isInUse(port: $0, of: address)
        }
    }

    /// The kind of server that answers on a port of this machine, as `identifyServer(at:)` finds it.
    public enum ServerIdentity: Sendable, Equatable {
        /// No Larder server answers on the port.
        case noServer
        /// A server of this store, or of a version of Larder that does not report its store.
        case thisStore
        /// A server of another store, which is given by its path or address.
        case otherStore(String)
    }

    /// Sends a request to a port of this machine to find out whether a Larder server answers there, and whether it serves
    /// this store.
    public func identifyServer(at port: UInt16) async -> ServerIdentity {
        guard let url = WebURL("http://localhost:\(port)/?format=json") else { return .noServer }
        let (interruption, own) = (Interruption(), folder.identity)
        return
            (try? await Self.runOnThread("larder-look") { () throws(LarderError) in
                let body = try SingleFetch.body(
                    url, nearestZone: .thisMachine, limit: 1 << 20, interruption: interruption)
                guard let json = try? JSONValue.parse(body.span), json["sites"] != nil else {
                    return .noServer
                }
                // Older servers do not report their store.
                guard let store = json["store"]?.string, store != own else { return .thisStore }
                return .otherStore(store)
            }) ?? .noServer
    }

    /// Whether anything is stored for a site, given by its name or host, or for a URL.
    ///
    /// - Parameter acceptsOrigin: other stored URLs of the same origin count too.
    /// - Throws: `LarderError` of kind `.machine` if there is no store, or it cannot be read.
    public func hasContent(for text: String, orItsOrigin acceptsOrigin: Bool = false)
        async throws(LarderError) -> Bool
    {
        try await readStore("larder-look") { (reader) throws(StoreError) in
            let names = try reader.sites().map(\.name)
            if SiteName.index(of: text, among: names, acceptsOrigin: true) != nil { return true }
            return try Self.hasResponse(for: text, orItsOrigin: acceptsOrigin, reader)
        }
    }

    /// The start URL on the host of a URL that a stored site has; nil if there is none.
    package func site(onHostOf text: String) async throws(LarderError) -> String? {
        guard let url = try? WebURL.parseUserInput(text) else { return nil }
        return try await readStore("larder-look") { (reader) throws(StoreError) in
            try reader.sites().lazy.flatMap(\.start).first { start in
                WebURL(start).map { ($0.host, $0.port) == (url.host, url.port) } ?? false
            }
        }
    }

    /// Whether a response for the URL is stored, with the scheme https or http.
    private func hasResponse(for text: String) async throws(LarderError) -> Bool {
        try await readStore("larder-look") { (reader) throws(StoreError) in
            try Self.hasResponse(for: text, orItsOrigin: false, reader)
        }
    }

    private static func hasResponse(
        for text: String, orItsOrigin acceptsOrigin: Bool, _ reader: StoreReader
    ) throws(StoreError) -> Bool {
        guard let url = (try? WebURL.parseUserInput(text))?.key else { return false }
        let other = url.scheme == "https" ? "http" : "https"
        for scheme in [url.scheme, other] {
            guard let url = WebURL(scheme + url.href.dropFirst(url.scheme.utf8.count)) else { continue }
            if acceptsOrigin, try reader.mostPublicZone(ofOrigin: url.origin) != nil { return true }
            if try reader.response(for: url.href) != nil { return true }
        }
        return false
    }
}

extension MirrorService {
    /// Loads the served copy of an original URL from the server over HTTP, as a browser does, and follows redirects.
    ///
    /// - Throws: `LarderError` of kind `.input` if the URL is not http or https, `.machine` if the server does not
    ///   answer with a page, `.interrupted` if the task is cancelled.
    public func load(_ url: String) async throws(LarderError) -> [UInt8] {
        guard let address = address(of: url), let target = WebURL(address) else {
            throw LarderError(
                .input, "\"\(url)\" is not an http or https URL; write it like https://example.com/")
        }
        let interruption = Interruption()
        return try await Larder.runOnThread("larder-load", onCancel: interruption.request) {
            () throws(LarderError) in
            try SingleFetch.body(target, nearestZone: .thisMachine, interruption: interruption)
        }
    }
}

/// A small web site on loopback whose files are in memory. A demonstration or a test prefetches from it.
public final class InMemorySite: Sendable {
    private let server: FilesServer

    /// - Parameters:
    ///   - port: 0 lets the kernel choose one.
    ///   - lookup: the file at a path; nil if there is none. Called on the server's thread.
    /// - Throws: `LarderError` of kind `.machine` if the port cannot be opened.
    public init(
        port: UInt16 = 0, lookup: @escaping @Sendable (_ path: String) -> (type: String, body: [UInt8])?
    ) throws(LarderError) {
        do throws(ServerError) {
            server = try FilesServer(port: port, lookup: lookup)
        } catch {
            throw LarderError(error)
        }
    }

    /// The port of the site.
    public var port: UInt16 { server.port }

    /// The origin of the site, such as `http://127.0.0.1:8080`.
    public var origin: String { "http://127.0.0.1:\(port)" }

    /// Stops the server. May be called from any thread, repeatedly.
    public func stop() {
        server.stop()
    }
}
