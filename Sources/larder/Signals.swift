internal import Glibc
internal import Synchronization
internal import System

/// Signals as events. SIGINT and SIGTERM: the first asks the command to stop, the second ends it at once.
/// SIGHUP, once somebody waits for it, asks it to look again.
final class Signals: Sendable {
    static let shared = Signals()

    private let state = Mutex<(count: Int, handler: (@Sendable () -> Void)?)>((0, nil))
    private let hangUp = Mutex<(@Sendable () -> Void)?>(nil)

    /// What the signal handler writes to; set once, before there is a handler.
    nonisolated(unsafe) private static var pipeStart: Int32 = -1

    /// Blocking the signals and waiting for them would not do: the runtime has threads before `main` begins.
    func catchAll() {
        guard let pipe = try? Pipe() else { return }
        Self.pipeStart = pipe.writing
        guard (try? NamedThread.start("larder-signals") { Self.wait(pipe.reading) }) != nil else { return }
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

    private func hungUp() { hangUp.withLock { $0 }?() }

    private func arrived() {
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
    private static func wait(_ pipeEnd: Int32) {
        var byte: UInt8 = 0
        while true {
            let count = read(pipeEnd, &byte, 1)
            switch count {
            case 1 where byte == 1: shared.hungUp()
            case 1: shared.arrived()
            case 0: return
            case _: if errno != EINTR { return }
            }
        }
    }
}

extension Signals {
    /// Runs `body` as a task that the first signal cancels.
    func cancelling<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value, onStop: @escaping @Sendable () -> Void = {}
    ) async throws -> Value {
        // It begins when there is somebody to stop it: a signal before that would end the process as it
        // stands.
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
    func first() -> Interruption {
        let interruption = Interruption()
        onFirst { interruption.request() }
        return interruption
    }
}
