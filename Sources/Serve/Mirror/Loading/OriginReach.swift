internal import Synchronization
internal import Web

/// Which origins have not answered lately: `auto` does not have everybody wait for them anew. Any thread may use it.
final class OriginReach: Sendable {
    private let silent = Mutex<[String: HTTPDate]>([:])

    /// How long an origin that did not answer is left alone.
    private static let pause: Int64 = 30
    private static let mostOrigins = 1000

    func reachability(of origin: String, now: HTTPDate) -> Reachability {
        silent.withLock { silent in
            guard let until = silent[origin] else { return .unknown }
            if now < until { return .unreachable }
            silent[origin] = nil
            return .unknown
        }
    }

    func note(_ origin: String, answered: Bool, now: HTTPDate) {
        silent.withLock { silent in
            if answered {
                silent[origin] = nil
            } else if silent.count < Self.mostOrigins {
                silent[origin] = now.advanced(bySeconds: Self.pause)
            }
        }
    }
}
