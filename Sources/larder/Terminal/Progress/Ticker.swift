internal import Glibc
internal import Synchronization

/// A thread that does something at an interval until it is stopped.
final class Ticker: Sendable {
    private let milliseconds: Int32
    /// The thread ends when this pipe is closed. Set by `start`, taken by `stop`.
    private let running = Mutex<(thread: pthread_t, pipeStart: Int32)?>(nil)

    init(every interval: Duration) {
        milliseconds = Int32(interval / .milliseconds(1))
    }

    /// Where there is no thread to be had, nothing is done.
    func start(_ body: @escaping @Sendable () -> Void) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let work = Unmanaged.passRetained(Work(pipeEnd: ends[0], milliseconds: milliseconds, body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { work in
                guard let work else { return nil }
                Unmanaged<Work>.fromOpaque(work).takeRetainedValue().run()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            for end in ends { close(end) }
            return
        }
        let pipeStart = ends[1]
        let own = thread
        running.withLock { $0 = (own, pipeStart) }
    }

    /// Returns when the last call has.
    func stop() {
        guard
            let running = running.withLock({ state in
                defer { state = nil }
                return state
            })
        else { return }
        close(running.pipeStart)
        pthread_join(running.thread, nil)
    }

    private final class Work: Sendable {
        private let pipeEnd: Int32
        private let milliseconds: Int32
        private let body: @Sendable () -> Void

        init(pipeEnd: Int32, milliseconds: Int32, _ body: @escaping @Sendable () -> Void) {
            self.pipeEnd = pipeEnd
            self.milliseconds = milliseconds
            self.body = body
        }

        func run() {
            defer { close(pipeEnd) }
            while true {
                body()
                var wait = pollfd(fd: pipeEnd, events: Int16(POLLIN), revents: 0)
                if poll(&wait, 1, milliseconds) > 0 { return }
            }
        }
    }
}
