internal import Fetch
internal import Store
internal import Synchronization
internal import System

/// Threads of ours that share a list of tasks, a thread a core: each takes the next one.
enum WorkTeam {
    /// Gives what came of each task, in their order; nil for those that an interruption left undone. Blocks.
    /// The first error ends it.
    ///
    /// - Parameters:
    ///   - threads: the most of them; more than there are cores never work.
    ///   - work: runs once on each thread; `next` gives it the number of its next task, nil when there is
    ///     none left.
    static func share<Value: Sendable, Failure: Error>(
        _ count: Int, atMost threads: Int = .max, named name: String, _ interruption: Interruption,
        _ work: @escaping @Sendable (_ next: () -> Int?, _ give: (Int, Value) -> Void) throws(Failure) -> Void
    ) throws(Failure) -> [Value?] {
        let state = State<Value, Failure>(count)
        let run: @Sendable () -> Void = {
            do throws(Failure) {
                try work({ interruption.isRequested ? nil : state.next() }, state.give)
            } catch {
                state.stop(error)
            }
        }
        var helpers: [NamedThread] = []
        let wanted = min(Machine.coreCount, threads, count) - 1
        if wanted > 0 {
            // Whoever calls works too; without helpers it only takes longer.
            for number in 1...wanted {
                if let helper = try? NamedThread.start("\(name)-\(number)", body: run) {
                    helpers.append(helper)
                }
            }
        }
        run()
        for helper in helpers { helper.join() }
        return try state.results()
    }

    private final class State<Value: Sendable, Failure: Error>: Sendable {
        private let count: Int
        private let begun = Atomic(0)
        private let outcome: Mutex<(values: [Value?], failure: Failure?)>

        init(_ count: Int) {
            self.count = count
            outcome = Mutex(([Value?](repeating: nil, count: count), nil))
        }

        func next() -> Int? {
            let number = begun.add(1, ordering: .relaxed).oldValue
            return number < count ? number : nil
        }

        func give(_ number: Int, _ value: Value) {
            outcome.withLock { $0.values[number] = value }
        }

        func stop(_ failure: Failure) {
            outcome.withLock { $0.failure = $0.failure ?? failure }
            begun.store(count, ordering: .relaxed)
        }

        func results() throws(Failure) -> [Value?] {
            let (values, failure) = outcome.withLock { $0 }
            if let failure { throw failure }
            return values
        }
    }
}
