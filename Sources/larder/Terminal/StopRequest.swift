internal import Synchronization

/// The first signal, to be waited for without holding a thread.
final class StopRequest: Sendable {
    private enum State {
        case nobodyWaits
        case waiting(CheckedContinuation<Void, Never>)
        case arrived
    }

    private let state = Mutex(State.nobodyWaits)

    func arrive() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            defer { state = .arrived }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume()
    }

    /// Returns when it has come. To be called once.
    func arrival() async {
        await withCheckedContinuation { continuation in
            let hasArrived = state.withLock { state in
                if case .arrived = state { return true }
                state = .waiting(continuation)
                return false
            }
            if hasArrived { continuation.resume() }
        }
    }
}

extension Signals {
    /// Runs `body` as a task that the first signal cancels.
    func cancelling<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value, onStop: @escaping @Sendable () -> Void = {}
    ) async throws -> Value {
        // It begins when there is somebody to stop it: a signal before that would end the process as it stands.
        let (beginning, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            for await _ in beginning {}
            return try await body()
        }
        onFirst {
            task.cancel()
            onStop()
        }
        begin.finish()
        return try await task.value
    }

    /// Catches the first signal from here on.
    func first() -> StopRequest {
        let request = StopRequest()
        onFirst { request.arrive() }
        return request
    }
}
