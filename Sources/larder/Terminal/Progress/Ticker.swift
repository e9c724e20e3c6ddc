internal import Synchronization
internal import System

/// A thread that does something at an interval until it is stopped.
final class Ticker: Sendable {
    private let milliseconds: Int32
    /// Set by `start`, taken by `stop`.
    private let running = Mutex<(thread: NamedThread, stop: StopSignal)?>(nil)

    init(every interval: Duration) {
        milliseconds = Int32(interval / .milliseconds(1))
    }

    /// Where there is no thread to be had, nothing is done.
    func start(_ body: @escaping @Sendable () -> Void) {
        guard let stop = try? StopSignal() else { return }
        let milliseconds = milliseconds
        let thread = try? NamedThread.start("larder-ticker") {
            repeat { body() } while !stop.wait(milliseconds: milliseconds)
        }
        guard let thread else { return }
        running.withLock { $0 = (thread, stop) }
    }

    /// Returns when the last call has.
    func stop() {
        guard let running = running.withLock({ $0.take() }) else { return }
        running.stop.give()
        running.thread.join()
    }
}
