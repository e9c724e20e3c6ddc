internal import System

/// Waits for what takes too long, on a thread of its own. Any thread may use it.
final class LoadTimer: Sendable {
    private struct Wait {
        let number: Int
        let end: ContinuousClock.Instant
        let body: @Sendable () -> Void
    }

    private struct State {
        /// In the order of their numbers, which is that of their ends.
        var waits: [Wait] = []
        var last = 0
        var isStopped = false
    }

    private let state = Monitor(State())
    private let time: Duration
    private let thread: NamedThread

    init(_ time: Duration) throws(ServerError) {
        self.time = time
        let state = state
        do throws(SystemError) {
            thread = try NamedThread.start("larder-wait") { Self.run(state) }
        } catch {
            throw ServerError(error)
        }
    }

    /// Calls the body when the time is over, unless the wait has been ended by then.
    func wait(_ body: @escaping @Sendable () -> Void) -> Int {
        state.change { state in
            state.last += 1
            state.waits.append(Wait(number: state.last, end: .now + time, body: body))
            return state.last
        }
    }

    func end(_ number: Int) {
        state.change { state in state.waits.removeAll { $0.number == number } }
    }

    func stop() {
        state.change { $0.isStopped = true }
        thread.join()
    }

    private static func run(_ state: Monitor<State>) {
        while true {
            let first: Wait?? = state.wait(atMost: .seconds(3600)) { state -> Wait?? in
                state.isStopped ? .some(.none) : state.waits.first.map { .some($0) }
            }
            guard let known = first else { continue }
            guard let next = known else { return }
            // Until its time is over, or it is ended.
            let due = state.wait(atMost: next.end - .now) { state -> Bool? in
                if state.isStopped || state.waits.first?.number != next.number { return false }
                guard next.end <= .now else { return nil }
                state.waits.removeFirst()
                return true
            }
            if due == true { next.body() }
        }
    }
}
