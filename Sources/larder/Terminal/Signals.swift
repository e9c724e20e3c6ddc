internal import Glibc
internal import Synchronization

/// Signals as events. SIGINT and SIGTERM: the first asks the command to stop, the second ends it at once. SIGHUP, once
/// somebody waits for it, asks it to look again.
final class Signals: Sendable {
    static let shared = Signals()

    private let state = Mutex<(count: Int, handler: (@Sendable () -> Void)?)>((0, nil))
    private let hangUp = Mutex<(@Sendable () -> Void)?>(nil)

    /// What the signal handler writes to; set once, before there is a handler.
    nonisolated(unsafe) private static var pipeStart: Int32 = -1

    /// Blocking the signals and waiting for them would not do: the runtime has threads before `main` begins.
    func catchAll() {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        Self.pipeStart = ends[1]
        let pipeEnd = ends[0]
        let waiter = Unmanaged.passRetained(Waiter(pipeEnd))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { waiter in
                guard let waiter else { return nil }
                Unmanaged<Waiter>.fromOpaque(waiter).takeRetainedValue().wait()
                return nil
            }, waiter.toOpaque())
        guard code == 0 else { return waiter.release() }
        signal(SIGPIPE, SIG_IGN)
        for number in [SIGINT, SIGTERM] {
            signal(number) { _ in
                // Only what is safe inside a signal handler: one write.
                var byte: UInt8 = 0
                _ = write(Signals.pipeStart, &byte, 1)
            }
        }
    }

    /// Calls `handler` at the first signal, or now when it has come already.
    func onFirst(_ handler: @escaping @Sendable () -> Void) {
        let hasCome = state.withLock { state in
            state.handler = handler
            return state.count > 0
        }
        if hasCome { handler() }
    }

    /// Calls `handler` at each SIGHUP from here on, by which the process would end otherwise.
    func onHangUp(_ handler: @escaping @Sendable () -> Void) {
        hangUp.withLock { $0 = handler }
        signal(SIGHUP) { _ in
            var byte: UInt8 = 1
            _ = write(Signals.pipeStart, &byte, 1)
        }
    }

    fileprivate func hungUp() { hangUp.withLock { $0 }?() }

    fileprivate func arrived() {
        let (count, handler) = state.withLock { state in
            state.count += 1
            return (state.count, state.handler)
        }
        // A command that cannot stop in between ends here; what is committed is kept.
        guard count == 1, let handler else {
            if count > 1 { _ = Output.errors.write("larder: stopped at once; what is stored is kept\n") }
            _exit(ExitStatus.interrupted.rawValue)
        }
        handler()
    }

    /// Turns the handler's bytes into calls on an ordinary thread, where everything may be done.
    private final class Waiter: Sendable {
        private let pipeEnd: Int32

        init(_ pipeEnd: Int32) {
            self.pipeEnd = pipeEnd
        }

        func wait() {
            var byte: UInt8 = 0
            while true {
                let count = read(pipeEnd, &byte, 1)
                switch count {
                case 1 where byte == 1: Signals.shared.hungUp()
                case 1: Signals.shared.arrived()
                case 0: return
                case _: if errno != EINTR { return }
                }
            }
        }
    }
}
