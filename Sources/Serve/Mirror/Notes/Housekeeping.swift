internal import CLinux
internal import Glibc
internal import Store

/// A thread that does something once in a while, and once more before it ends.
final class Housekeeping: Sendable {
    private let stopSignal: StopSignal
    private let thread: Gate<NamedThread?>

    init(everySeconds pause: Int32, _ work: @escaping @Sendable (_ isLast: Bool) -> Void) throws(ServerError) {
        let signal = try StopSignal()
        stopSignal = signal
        do throws(StoreError) {
            let started = try NamedThread.start("larder-notes") {
                var isStopped = false
                while !isStopped {
                    var polled = pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0)
                    // An interrupted wait does the work a little early.
                    isStopped = poll(&polled, 1, pause * 1000) > 0
                    work(isStopped)
                }
            }
            thread = Gate(started)
        } catch {
            throw ServerError(error)
        }
    }

    deinit {
        stop()
    }

    /// Returns when the work has been done for the last time. From any other thread, and as often as one likes.
    func stop() {
        thread.change { thread in
            guard let running = thread else { return }
            stopSignal.give()
            running.join()
            thread = nil
        }
    }
}
