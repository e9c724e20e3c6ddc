internal import System

/// A thread that does something once in a while, and once more before it ends.
final class Housekeeping: Sendable {
    private let stopSignal: StopSignal
    private let thread: NamedThread

    init(everySeconds pause: Int32, _ work: @escaping @Sendable (_ isLast: Bool) -> Void) throws(ServerError) {
        do throws(SystemError) {
            let signal = try StopSignal()
            stopSignal = signal
            thread = try NamedThread.start("larder-notes") {
                var isStopped = false
                while !isStopped {
                    // An interrupted wait does the work a little early.
                    isStopped = signal.wait(milliseconds: pause * 1000)
                    work(isStopped)
                }
            }
        } catch {
            throw ServerError(error)
        }
    }

    deinit {
        stop()
    }

    /// Returns when the work has been done for the last time. From any other thread, and as often as one likes.
    func stop() {
        stopSignal.give()
        thread.join()
    }
}
