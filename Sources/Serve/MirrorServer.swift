package import Store
internal import Web

/// Serves what a store holds, on loopback, until it is stopped.
package final class MirrorServer: Sendable {
    private let server: HTTPServer

    /// - Parameters:
    ///   - port: 0 lets the kernel choose.
    ///   - memoryLimit: how much of what was answered is kept ready, in bytes, over all threads.
    ///   - secondsBetweenLooks: how long a change of the store may stay unseen; 0 looks for each request.
    package init(
        _ folder: StoreFolder, port: UInt16, threadCount: Int, memoryLimit: Int, secondsBetweenLooks: Int64 = 1
    ) throws(ServerError) {
        let share = memoryLimit / max(1, threadCount)
        server = try HTTPServer(port: port, threadCount: threadCount) { (port) throws(ServerError) in
            do throws(StoreError) {
                let store = try WatchedStore(folder, secondsBetweenLooks: secondsBetweenLooks)
                return MirrorResponder(store, port: port, memoryLimit: share)
            } catch {
                throw ServerError(error)
            }
        }
    }

    package var port: UInt16 { server.port }

    /// Ends what is under way, and returns when every thread is done. From any thread, and as often as one likes.
    package func stop() {
        server.stopAndWait()
    }
}

extension MirrorServer {
    /// Where an http or https URL is shown; nil for anything else.
    package func address(of url: String) -> String? {
        WebURL(url).flatMap(OriginLayout(port: port).address)
    }
}
