internal import Bundles
internal import Check
internal import Fetch
internal import Glibc
internal import Reports
public import Serve
internal import Store
internal import System
public import Web

extension Larder {
    /// Serves what the larder holds, until the service is stopped. It asks nothing of the network, unless the
    /// options name another policy than `offline`.
    ///
    /// - Parameters:
    ///   - port: 0 lets the kernel choose.
    ///   - threads: nil takes one a core.
    ///   - memoryLimit: how many bytes of answers are kept ready.
    /// - Throws: `LarderError` of kind `.input` for options that name nothing, `.machine` when there is no
    ///   larder, or the port is not to be had.
    public func serve(
        port: UInt16 = 8080, threads: Int? = nil, memoryLimit: Int = 64 * 1024 * 1024,
        options: ServeOptions = ServeOptions()
    ) throws(LarderError) -> MirrorService {
        try start(port: port, threads: threads, memoryLimit: memoryLimit, options: options)
    }

    /// - Parameter port: nil for a proxy alone.
    func start(
        port: UInt16?, threads: Int?, memoryLimit: Int, options: ServeOptions
    ) throws(LarderError) -> MirrorService {
        var mirror = try options.mirrorOptions(
            hasMirror: port != nil, hasPassword: folder.portalPassword != nil)
        if port != nil {
            let work = PortalWork(
                larder: self, network: options.network,
                hidesPrivate: !mirror.address.isLoopback && !mirror.showsPrivate)
            mirror.work = { work.carryOut($0, $1) }
            mirror.exportForms = PortalWork.exportForms
        }
        if port != nil, folder.exists || options.mayBeEmpty {
            mirror.security = try options.security.map { (wanted) throws(LarderError) in
                try security(wanted, at: mirror.address)
            }
        }
        let requirements = RequirementsInForce()
        let isStrong = options.requiresStrongDigests
        mirror.requirements = { reader throws(StoreError) in
            let required = try requirements.read(reader)
            return isStrong ? required.requiringStrongDigests : required
        }
        mirror.walk = { reader, site, limit throws(StoreError) in
            try OfflineCheck.needs(of: site, limit: limit, reader)
        }
        // What nobody is asked for has to be there.
        if options.mayBeEmpty || options.proxy != nil && options.policy != .offline { try makeStore() }
        let log = options.proxy.map { _ in PassLog() }
        var proxy: (port: UInt16, options: Serve.ProxyOptions)?
        if folder.exists, let wanted = options.proxy, let log {
            proxy = try proxyOptions(wanted, options, log)
        }
        let fetching = try fetching(options, mirror)
        let loads = try fetching.map { (fetching) throws(LarderError) in
            try ServerLoads(fetching, clock: mirror.clock)
        }
        if let loads, let fetching {
            mirror.load = { loads.load($0, done: $1) }
            // A jar of cookies, and what all together may take off the wire, are one thread's.
            if fetching.cookies == nil, fetching.bytesPerSecond == nil {
                mirror.ownLoads = { [clock = mirror.clock] in try? LoadLoop(fetching, clock: clock) }
            }
        }
        guard folder.exists else {
            try refuseLostDatabase()
            throw LarderError(
                .machine,
                "there is no larder at \(folder.name): prefetch a site into it first, or name another",
                remedy: port == nil ? .larder : .newLarder)
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
            return MirrorService(server, mirror, loads, log, due: try due(options, server))
        } catch {
            server.stop()
            loads?.stop()
            throw error
        }
    }

    /// Nil where nothing is updated by itself.
    private func due(_ options: ServeOptions, _ server: MirrorServer) throws(LarderError) -> DueUpdates? {
        guard options.isScheduled else { return nil }
        guard !options.isReadOnly, folder.isWritable else {
            throw LarderError(
                .input, "a server that changes nothing updates nothing: leave one of the two out")
        }
        return try DueUpdates(folder, notice: options.notice) {
            server.isUpdating($0)
        } update: {
            server.update($0)
        }
    }

    /// Nil where no server is asked. What they answer is kept, so there has to be a store.
    private func fetching(
        _ options: ServeOptions, _ mirror: MirrorOptions
    ) throws(LarderError) -> FetchOptions? {
        guard mirror.policy != .offline else { return nil }
        try makeStore()
        let start = mirror.root.map { [$0] } ?? []
        // Requests of other machines never use this user's credentials.
        let isForOthers = !mirror.address.isLoopback && !mirror.showsPrivate
        let network = isForOthers ? options.network.withoutIdentity : options.network
        return try network.options(for: start, spoolFolder: folder.incoming)
    }

    /// Creates the store, or brings it up to date. One that is there and cannot be written to just now is served
    /// as it is: the server reports what it cannot record.
    private func makeStore() throws(LarderError) {
        let wasThere = folder.exists
        try storing { () throws(StoreError) in
            do throws(StoreError) {
                _ = try StoreWriter(folder)
            } catch {
                guard wasThere, [.full, .denied].contains(error.reason) else { throw error }
                _ = try StoreReader(folder)
            }
        }
    }

    /// Fails with advice on repair if the store has lost its database.
    private func refuseLostDatabase() throws(LarderError) {
        try storing { () throws(StoreError) in
            do throws(StoreError) { _ = try StoreReader(folder) } catch {
                guard error.reason == .missing else { throw error }
            }
        }
    }
}

/// A running server.
public final class MirrorService: Sendable {
    private let server: MirrorServer
    private let options: MirrorOptions
    private let loads: ServerLoads?
    private let due: DueUpdates?
    let log: PassLog?

    init(
        _ server: MirrorServer, _ options: MirrorOptions, _ loads: ServerLoads?, _ log: PassLog?,
        due: DueUpdates? = nil
    ) {
        self.due = due
        self.server = server
        self.options = options
        self.loads = loads
        self.log = log
    }

    /// 0 for a proxy alone.
    public var port: UInt16 { server.port }
    /// Where programs find the proxy; nil where there is none.
    public var proxyPort: UInt16? { server.proxyPort }

    /// Where to look: the list of what is held, or the site at the root.
    public var address: String {
        "\(scheme)://\(options.address.isLoopback ? "localhost" : reachable[0]):\(port)/"
    }

    /// `https` where it speaks TLS, else `http`.
    public var scheme: String { options.security == nil ? "http" : "https" }

    /// Whether other machines can reach it.
    public var isExposed: Bool { !options.address.isLoopback }

    /// Other machines are shown the portal, when they have said its password, and no site.
    public var isPortalAlone: Bool { isExposed && options.root == nil }

    /// The addresses by which other machines reach it, as they stand in a URL; this machine's name where it
    /// has none.
    public var reachable: [String] {
        let addresses = options.address.isLoopback ? [] : options.address.reachable
        return addresses.isEmpty ? ["localhost"] : addresses
    }

    /// Ends what is under way, and returns when every thread is done. From any thread, and as often as one
    /// likes.
    public func stop() {
        due?.stop()
        server.stop()
        loads?.stop()
    }

    /// Reads the store anew before the next request is answered. It does so by itself within a second of a
    /// change; a caller need not wait for that. Any thread may call it.
    public func reload() { server.reload() }

    /// The served address of an original URL; nil for what is no http or https URL.
    public func address(of url: String) -> String? {
        server.address(of: url)
    }

    /// What one of its addresses shows: the likeliest original, where `isKnown` knows none of them.
    func original(of address: String, isKnown: (WebURL) -> Bool) -> WebURL? {
        let originals = server.originals(of: address).compactMap { WebURL($0) }
        return originals.first(where: isKnown) ?? originals.first
    }
}

/// By what a server proves who it is.
public enum ServeSecurity: Sendable, Equatable {
    /// Certificates that the larder's own authority signs, for the names and addresses by which it is reached;
    /// clients trust them that trust `Larder.authority()`.
    case own
    /// A certificate in PEM, with those that vouch for it, and its key, which may be in the same file.
    case files(certificate: String, key: String)
}

/// How a larder is shown.
public struct ServeOptions: Sendable {
    /// The site that is shown at the root; nil gives every origin a name of its own below `localhost`.
    public var root: String?
    /// The address of this machine to listen on, or `*` for all of them. Nil listens on loopback, where
    /// nobody else comes.
    public var address: String?
    /// Has pages lead to the larder what their scripts ask for by whole addresses.
    public var hasShim = true
    /// Lets pages ask the network for what the larder does not lead to itself.
    public var allowsNetwork = false

    /// Shows other machines what was fetched with credentials, too.
    public var showsPrivate = false

    /// How what is held and servers share the work. `offline` asks no server, whatever a request or a rule
    /// says.
    public var policy = CachePolicy.offline
    /// How servers are asked, where the policy has them asked.
    public var network = NetworkOptions()

    /// When held bodies are hashed before they are shown. They were when they came, so that this finds what
    /// became of them on the disk.
    public var verification = Verification.once
    /// Only SHA-256 or better verifies a bundle. One that matches its MD5 or SHA-1 is served as `unverified`.
    public var requiresStrongDigests = false

    /// What is wanted otherwise than servers say, before what the rules of sites say; see `larder help
    /// rules`.
    public var rules: [String] = []
    /// After how long a held copy is shown where a server that is asked first has not answered; what it
    /// answers later is kept. Nil waits for it.
    public var patience: Duration? = .seconds(5)
    /// How large the larder may become by what is loaded; nil for any size.
    public var sizeLimit: Int64?
    /// Gets what whoever runs the server should know, a sentence at a time: that the larder cannot be read just
    /// now, and that it can again. Called on any thread.
    public var notice: @Sendable (String) -> Void = { _ in }
    /// Serves a larder that is not there yet, for whoever is about to stock it.
    public var mayBeEmpty = false
    /// Pages have a bar that says from when they are and leads to the portal, until that switches it off.
    public var hasBar = false
    /// Keeps fewer answers ready than `memoryLimit` allows, so that the whole process takes no more than so many
    /// bytes: for a program that does nothing but serve. Nil for no such limit.
    public var processMemoryLimit: Int?
    /// The portal shows what is held, and changes nothing.
    public var isReadOnly = false
    /// Updates the sites that are due, as their schedules say; the portal shows it.
    public var isScheduled = false
    /// Speaks TLS: clients ask by https. Nil for plain http.
    public var security: ServeSecurity?
    /// Answers programs as their proxy, too.
    public var proxy: ProxyOptions?

    public init() {}

    /// - Throws: `LarderError` of kind `.input` for a site or an address that is none.
    func mirrorOptions(hasMirror: Bool = true, hasPassword: Bool = false) throws(LarderError) -> MirrorOptions
    {
        var options = MirrorOptions()
        if let root {
            guard let url = WebURL(root), url.isHTTP else {
                throw LarderError(.input, "\"\(root)\" is not a site: write it like https://example.com/")
            }
            options.root = url
        }
        if let address {
            guard let known = ListenAddress(address) else {
                throw LarderError(
                    .input,
                    "\"\(address)\" is no address to listen on: write it like 192.0.2.1, or * for all there are"
                )
            }
            // A name below localhost is this machine for everybody: other machines would find themselves.
            // The portal they may reach, whoever has its password.
            guard root != nil || known.isLoopback || !hasMirror || hasPassword else {
                throw LarderError(
                    .input,
                    "other machines can only be shown one site, or the portal where larder password has set one: "
                        + "name the site", remedy: .root)
            }
            if proxy != nil, proxy?.login == nil, !known.isLoopback {
                throw LarderError(
                    .input, "a proxy that other machines reach is for those who have its login: name one",
                    remedy: .proxyLogin)
            }
            options.address = known
            options.isShared = !known.isLoopback
        }
        options.rules = try CacheRules(
            texts: rules + (proxy?.keepsEverything == true ? ["** allowed", "** post"] : [])
        )
        .rules
        options.site = proxy?.site
        if let login = proxy?.login, !login.utf8.contains(UInt8(ascii: ":")) {
            throw LarderError(.input, "the proxy's login lacks a password: write it like user:password")
        }
        options.patience = patience
        options.sizeLimit = sizeLimit
        options.policy = policy
        options.isReadOnly = isReadOnly
        options.processMemoryLimit = processMemoryLimit
        options.hasBar = hasBar
        options.verification = verification
        options.hasShim = hasShim
        options.allowsNetwork = allowsNetwork
        options.showsPrivate = showsPrivate
        options.notice = notice
        return options
    }
}

extension Larder {
    /// Where a server on the port shows a site, by its name or host, or any http or https URL; without one,
    /// what is held.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is neither.
    public func address(of text: String?, at port: UInt16) async throws(LarderError) -> String {
        guard let text else { return MirrorServer.portalAddress(at: port) }
        let sites = try await visits().sites.map(\.name)
        let url = SiteName.place(of: text, among: sites).map { sites[$0] } ?? text
        guard let address = MirrorServer.address(of: try WebURL.start(url).href, at: port) else {
            throw LarderError(.input, "\(text) cannot be shown: only http and https can")
        }
        return address
    }

    /// What serves on a port of this machine.
    public enum Served: Sendable, Equatable {
        /// No larder.
        case nothing
        case this
        /// By its path or address.
        case other(String)
    }

    /// Whether this larder is served on the port of this machine, or another one.
    public func served(at port: UInt16) async -> Served {
        guard let url = WebURL("http://localhost:\(port)/?format=json") else { return .nothing }
        let (interruption, own) = (Interruption(), folder.identity)
        return
            (try? await Self.onThread("larder-look") { () throws(LarderError) in
                let body = try OneFetch.load(
                    url, nearestZone: .thisMachine, limit: 1 << 20, interruption: interruption)
                guard let json = try? JSONValue.parse(body.span), json["sites"] != nil else {
                    return .nothing
                }
                // Those that came before say nothing of it.
                guard let store = json["store"]?.string, store != own else { return .this }
                return .other(store)
            }) ?? .nothing
    }

    /// Whether anything is held under a name: of a site by its name or host, of an URL, or of its origin.
    ///
    /// - Parameter isOrigin: what else the URL's host has counts too.
    public func holds(_ text: String, orOfItsOrigin isOrigin: Bool = false) async throws(LarderError) -> Bool
    {
        try await reading("larder-look") { (reader) throws(StoreError) in
            let names = try reader.sites().map(\.name)
            if SiteName.place(of: text, among: names) != nil { return true }
            guard let url = (try? WebURL.typed(text))?.key else { return false }
            let other = url.scheme == "https" ? "http" : "https"
            for scheme in [url.scheme, other] {
                guard let url = WebURL(scheme + url.href.dropFirst(url.scheme.utf8.count)) else { continue }
                if isOrigin, try reader.mostPublicZone(ofOrigin: url.origin) != nil { return true }
                if try reader.response(for: url.href) != nil { return true }
            }
            return false
        }
    }
}

extension MirrorService {
    /// Fetches the copy of an original URL over the wire, as a browser would, redirects followed.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when the mirror
    ///   does not answer it with a page, `.interrupted` when the task is cancelled.
    public func visit(_ url: String) async throws(LarderError) -> [UInt8] {
        guard let address = address(of: url), let target = WebURL(address) else {
            throw LarderError(.input, "\"\(url)\" is not a URL: write it like https://example.com/")
        }
        let interruption = Interruption()
        return try await Larder.onThread("larder-visit", onCancel: interruption.request) {
            () throws(LarderError) in
            try OneFetch.load(target, nearestZone: .thisMachine, interruption: interruption)
        }
    }
}

/// A small web site out of memory, on loopback: what a demonstration or a test prefetches from.
public final class FileService: Sendable {
    private let server: FilesServer

    /// - Parameters:
    ///   - port: 0 lets the kernel choose.
    ///   - lookup: the file at a path; nil where there is none. Called on the server's thread.
    /// - Throws: `LarderError` of kind `.machine` when the port is not to be had.
    public init(
        port: UInt16 = 0, lookup: @escaping @Sendable (_ path: String) -> (type: String, body: [UInt8])?
    ) throws(LarderError) {
        do throws(ServerError) {
            server = try FilesServer(port: port, lookup: lookup)
        } catch {
            throw LarderError(error)
        }
    }

    public var port: UInt16 { server.port }

    /// Without a slash at the end.
    public var origin: String { "http://127.0.0.1:\(port)" }

    /// Takes the site down. From any thread, and as often as one likes.
    public func stop() {
        server.stop()
    }
}
