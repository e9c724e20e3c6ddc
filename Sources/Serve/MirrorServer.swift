package import Store
internal import Web

/// Serves what a store holds, on loopback, until it is stopped.
package final class MirrorServer: Sendable {
    private let server: HTTPServer
    private let pressure: MemoryPressure?

    /// - Parameters:
    ///   - port: 0 lets the kernel choose.
    ///   - memoryLimit: how much of what was answered is kept ready, in bytes, over all threads.
    ///   - secondsBetweenLooks: how long a change of the store may stay unseen; 0 looks for each request.
    package init(
        _ folder: StoreFolder, port: UInt16, threadCount: Int, memoryLimit: Int, secondsBetweenLooks: Int64 = 1
    ) throws(ServerError) {
        let tier = MemoryTier<Answer>(byteLimit: memoryLimit)
        pressure = memoryLimit > 0 ? try Self.pressure(on: tier) : nil
        server = try HTTPServer(port: port, threadCount: threadCount) { (port) throws(ServerError) in
            do throws(StoreError) {
                let store = try WatchedStore(folder, secondsBetweenLooks: secondsBetweenLooks)
                return MirrorResponder(store, port: port, tier: tier)
            } catch {
                throw ServerError(error)
            }
        }
    }

    package var port: UInt16 { server.port }

    /// Ends what is under way, and returns when every thread is done. From any thread, and as often as one likes.
    package func stop() {
        server.stopAndWait()
        pressure?.stop()
    }

    private static func pressure(on tier: MemoryTier<Answer>) throws(ServerError) -> MemoryPressure? {
        do throws(StoreError) {
            return try MemoryPressure(held: { tier.byteCount }, shrink: { tier.shrink(to: $0) })
        } catch {
            throw ServerError(error)
        }
    }
}

extension MirrorServer {
    /// Where an http or https URL is shown; nil for anything else.
    package func address(of url: String) -> String? {
        WebURL(url).flatMap(OriginLayout(port: port).address)
    }
}
