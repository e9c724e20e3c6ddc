internal import Serve
internal import Store

extension Larder {
    /// Serves what the larder holds on loopback, until the service is stopped. It asks nothing of the network.
    ///
    /// - Parameters:
    ///   - port: 0 lets the kernel choose.
    ///   - threads: nil takes one a core.
    ///   - memoryLimit: how many bytes of answers are kept ready.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, or the port is not to be had.
    public func serve(
        port: UInt16 = 8080, threads: Int? = nil, memoryLimit: Int = 64 * 1024 * 1024
    ) throws(LarderError) -> MirrorService {
        guard folder.exists else {
            throw LarderError(
                .machine, "there is no larder at \(path): prefetch a site into it first, or name another with --store")
        }
        do throws(ServerError) {
            return MirrorService(
                try MirrorServer(
                    folder, port: port, threadCount: threads ?? Machine.coreCount, memoryLimit: memoryLimit))
        } catch {
            throw LarderError(error)
        }
    }
}

/// A running server.
public final class MirrorService: Sendable {
    private let server: MirrorServer

    init(_ server: MirrorServer) {
        self.server = server
    }

    public var port: UInt16 { server.port }

    /// Where to look: the list of what is held.
    public var address: String { "http://localhost:\(port)/" }

    /// Ends what is under way, and returns when every thread is done. From any thread, and as often as one likes.
    public func stop() {
        server.stop()
    }

    /// The served address of an original URL; nil for what is no http or https URL.
    public func address(of url: String) -> String? {
        server.address(of: url)
    }
}
