internal import Synchronization
package import System

/// The state of a PostgreSQL server, shared by the sessions of a run. When the server has been unreachable
/// for a second, the user gets one message, and another one when it is back. Sessions stop waiting after an
/// interruption. All methods may be called from any thread.
package final class PostgreSQLWatch: Sendable, Equatable {
    /// The state that the sessions share, protected by the lock of `state`.
    private struct ServerState {
        /// When the first error since the last success was reported.
        var since: ContinuousClock.Instant?
        /// Whether the user got the message.
        var hasNotified = false
        /// Whether a session has reached the server before.
        var hasConnected = false
    }

    private let state = Mutex(ServerState())
    private let interruption: Interruption
    private let notifyUser: @Sendable (String) -> Void

    /// How long the server must be unreachable before the user gets a message. A restart is usually faster.
    private static let patience = Duration.seconds(1)

    /// - Parameter notifyUser: receives a message for the user, on any thread.
    package init(_ interruption: Interruption, notifyUser: @escaping @Sendable (String) -> Void) {
        self.interruption = interruption
        self.notifyUser = notifyUser
    }

    /// Always true, so that values with a watch, such as `StoreFolder`, are compared without it.
    package static func == (left: PostgreSQLWatch, right: PostgreSQLWatch) -> Bool { true }

    /// Whether an interruption was requested, so that sessions stop waiting.
    var isInterrupted: Bool { interruption.isRequested }

    /// Whether a session of this run has reached the server before.
    var hasConnected: Bool { state.withLock { $0.hasConnected } }

    /// Reports an error of a session that could not reach the server. The user gets a message if the first such error
    /// since the last success is a second old.
    package func didFailToReach(_ error: StoreError) {
        let shouldNotify = state.withLock { state in
            let since = state.since ?? .now
            state.since = since
            guard !state.hasNotified, .now - since >= Self.patience else { return false }
            state.hasNotified = true
            return true
        }
        if shouldNotify { notifyUser("\(error.problem); waiting for it to come back") }
    }

    /// Reports that a session reached the server. The user gets a message if an earlier one said that it was
    /// unreachable.
    func didReach(_ name: String) {
        let shouldNotify = state.withLock { state in
            defer { state = ServerState(hasConnected: true) }
            return state.hasNotified
        }
        if shouldNotify { notifyUser("\(name) is back; continuing") }
    }
}
