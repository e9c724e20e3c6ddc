internal import Serve

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
