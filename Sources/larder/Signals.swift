internal import Glibc
internal import Synchronization
internal import System

/// Signals as events. SIGINT, SIGTERM and the SIGHUP of a terminal that goes: the first asks the command to
/// stop, the second ends it at once. SIGHUP, once somebody waits for it, asks it to look again. While another
/// command runs on larder's behalf, all of them are that one's.
final class Signals: Sendable {
    static let shared = Signals()

    private let state = Mutex<(count: Int, handler: (@Sendable () -> Void)?)>((0, nil))
    private let hangUp = Mutex<HangUp?>(nil)
    private let passing = Mutex<Passing?>(nil)

    private struct HangUp: Sendable {
        let endsWithTerminal: Bool
        let handler: @Sendable () -> Void
    }

    /// What is passed on, and to whom.
    private struct Passing {
        var child: pid_t?
        /// What came before there was a child.
        var first: Int32?
    }

    /// Larder alone got the signal, and not everybody at a terminal.
    private static let isForUsAlone: UInt8 = 0x80

    /// What the signal handler writes to; set once, before there is a handler.
    nonisolated(unsafe) private static var pipeStart: Int32 = -1

    /// Blocking the signals and waiting for them would not do: the runtime has threads before `main` begins.
    func catchAll() {
        guard let pipe = try? Pipe() else { return }
        Self.pipeStart = pipe.writing
        guard (try? NamedThread.start("larder-signals") { Self.wait(pipe.reading) }) != nil else { return }
        signal(SIGPIPE, SIG_IGN)
        for number in [SIGINT, SIGTERM] { Self.catch(number) }
        // Whoever had it ignored, as `nohup` does, wants larder to go on.
        if !Self.isIgnored(SIGHUP) { Self.catch(SIGHUP) }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return true }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private static func `catch`(_ number: Int32) {
        var action = sigaction()
        action.sa_flags = SA_SIGINFO | SA_RESTART
        action.__sigaction_handler.sa_sigaction = { number, info, _ in
            // Only what is safe inside a signal handler: one write.
            let isKernels = info?.pointee.si_code == 0x80  // SI_KERNEL
            var byte = UInt8(truncatingIfNeeded: number) | (isKernels ? 0 : Signals.isForUsAlone)
            _ = write(Signals.pipeStart, &byte, 1)
        }
        sigaction(number, &action, nil)
    }

    /// From here on signals neither stop nor end larder: they are passed on to a command that it is about to
    /// run.
    func beginPassing() {
        passing.withLock { $0 = Passing() }
    }

    /// What has come meanwhile, after which the command is not to be run.
    var firstPassed: Int32? { passing.withLock { $0?.first } }

    /// Who gets them; nil when that one has ended.
    func pass(to child: pid_t?) {
        passing.withLock { passing in
            passing?.child = child
            if let child, let number = passing?.first { kill(child, number) }
        }
    }

    /// False where nobody runs another command.
    private func passOn(_ number: Int32, isForUsAlone: Bool) -> Bool {
        passing.withLock { passing in
            guard let child = passing?.child else {
                passing?.first = number
                return passing != nil
            }
            // A terminal tells everybody.
            if isForUsAlone { kill(child, number) }
            return true
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
    ///
    /// - Parameter endsWithTerminal: the process still ends by the SIGHUP that means that its terminal was closed.
    func onHangUp(endsWithTerminal: Bool, _ handler: @escaping @Sendable () -> Void) {
        let hadTerminal = Self.hasTerminal && !Self.isIgnored(SIGHUP)
        hangUp.withLock { $0 = HangUp(endsWithTerminal: endsWithTerminal && hadTerminal, handler: handler) }
        Self.catch(SIGHUP)
    }

    /// Whether there is a controlling terminal that has not been closed.
    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// False where nobody waits for it.
    private func hungUp() -> Bool {
        guard let hangUp = hangUp.withLock({ $0 }), !hangUp.endsWithTerminal || Self.hasTerminal else {
            return false
        }
        hangUp.handler()
        return true
    }

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
            case 1:
                let number = Int32(byte & ~isForUsAlone)
                if shared.passOn(number, isForUsAlone: byte & isForUsAlone != 0) { continue }
                if number == SIGHUP, shared.hungUp() { continue }
                shared.arrived()
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
