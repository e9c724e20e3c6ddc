internal import Fetch
internal import Store
internal import Synchronization
package import System

/// Shares a list of tasks among threads, one per core; each thread takes the next task when it is free.
///
/// ```swift
/// let sums = ParallelWork.share(files.count, named: "larder-files", interruption) { next, give in
///     while let number = next() { give(number, sum(of: files[number])) }
/// }
/// ```
package enum ParallelWork {
    /// Returns the results of the tasks, in order; nil for tasks that an interruption left out. Blocks. The
    /// first error stops all threads and is thrown.
    ///
    /// - Parameters:
    ///   - threads: the maximum number of threads; never more than there are cores.
    ///   - work: runs once on each thread. `next` returns the index of the next task, or nil if there is none left.
    ///     `give` stores the result of a task.
    package static func share<Value: Sendable, Failure: Error>(
        _ count: Int, atMost threads: Int = .max, named name: String, _ interruption: Interruption,
        _ work: @escaping @Sendable (_ next: () -> Int?, _ give: (Int, Value) -> Void) throws(Failure) -> Void
    ) throws(Failure) -> [Value?] {
        let state = ParallelWorkState<Value, Failure>(count)
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
            // The calling thread works too, so a helper that cannot start only makes it slower.
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

    /// The state that the threads share: the next task, the results and the first error. Atomic or behind a lock.
    private final class ParallelWorkState<Value: Sendable, Failure: Error>: Sendable {
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
