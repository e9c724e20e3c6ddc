internal import Serve
internal import Store
internal import Web

extension Larder {
    /// Serves what the larder holds, until the service is stopped. It asks nothing of the network, unless the options name
    /// another policy than `offline`.
    ///
    /// - Parameters:
    ///   - port: 0 lets the kernel choose.
    ///   - threads: nil takes one a core.
    ///   - memoryLimit: how many bytes of answers are kept ready.
    /// - Throws: `LarderError` of kind `.input` for options that name nothing, `.machine` when there is no larder, or the port
    ///   is not to be had.
    public func serve(
        port: UInt16 = 8080, threads: Int? = nil, memoryLimit: Int = 64 * 1024 * 1024,
        options: ServeOptions = ServeOptions()
    ) throws(LarderError) -> MirrorService {
        var mirror = try options.mirrorOptions()
        let requirements = RequirementsInForce()
        mirror.requirements = { reader throws(StoreError) in try requirements.read(reader) }
        mirror.walk = { [self] reader, site, limit throws(StoreError) in try walk(reader, site, limit: limit) }
        if options.mayBeEmpty { try makeStore() }
        let loads = try loads(options, mirror)
        if let loads { mirror.load = { loads.load($0, done: $1) } }
        guard folder.exists else {
            throw LarderError(
                .machine, "there is no larder at \(path): prefetch a site into it first, or name another with --store")
        }
        do throws(ServerError) {
            return MirrorService(
                try MirrorServer(
                    folder, port: port, threadCount: threads ?? Machine.coreCount, memoryLimit: memoryLimit,
                    options: mirror),
                mirror, loads)
        } catch {
            loads?.stop()
            throw LarderError(error)
        }
    }

    /// Nil where no server is asked. What they answer is kept, so there has to be a store.
    private func loads(_ options: ServeOptions, _ mirror: MirrorOptions) throws(LarderError) -> ServerLoads? {
        guard mirror.policy != .offline else { return nil }
        try makeStore()
        let start = mirror.root.map { [$0] } ?? []
        return try ServerLoads(
            try options.network.fetchOptions(for: start, spoolFolder: folder.incoming), clock: mirror.clock)
    }

    private func makeStore() throws(LarderError) {
        do throws(StoreError) {
            _ = try StoreWriter(folder)
        } catch {
            throw LarderError(error)
        }
    }
}

/// A running server.
public final class MirrorService: Sendable {
    private let server: MirrorServer
    private let options: MirrorOptions
    private let loads: ServerLoads?

    init(_ server: MirrorServer, _ options: MirrorOptions, _ loads: ServerLoads?) {
        self.server = server
        self.options = options
        self.loads = loads
    }

    public var port: UInt16 { server.port }

    /// Where to look: the list of what is held, or the site at the root.
    public var address: String { "http://\(options.address.isLoopback ? "localhost" : reachable[0]):\(port)/" }

    /// Whether other machines can reach it.
    public var isExposed: Bool { !options.address.isLoopback }

    /// The addresses by which other machines reach it, as they stand in a URL; this machine's name where it has none.
    public var reachable: [String] {
        let addresses = options.address.isLoopback ? [] : options.address.reachable
        return addresses.isEmpty ? ["localhost"] : addresses
    }

    /// Ends what is under way, and returns when every thread is done. From any thread, and as often as one likes.
    public func stop() {
        server.stop()
        loads?.stop()
    }

    /// The served address of an original URL; nil for what is no http or https URL.
    public func address(of url: String) -> String? {
        server.address(of: url)
    }
}
