internal import Glibc
internal import Synchronization
internal import System

/// The signals of the process, delivered as events on a thread of its own (`larder-signals`).
///
/// - SIGINT, SIGTERM and SIGHUP: the first one asks the command to stop through the handler of `onFirst`;
///   without a handler, the process ends at once. The second one always ends it. Everything committed to
///   the store is kept in both cases.
/// - SIGHUP after `onHangUp`: calls that handler, which reloads; the command goes on.
/// - After `beginForwarding` (`larder record` and `larder replay`): every signal goes to the other program,
///   and `larder` ends when that program does.
///
/// The signal handler writes one byte to a pipe; the thread reads it and calls the handlers, where every
/// call is allowed. Each of the three states has a lock of its own. Handlers are called without a lock.
final class Signals: Sendable {
    static let shared = Signals()

    /// The number of stop signals that arrived, and the handler of the first.
    private let state = Mutex<(count: Int, handler: (@Sendable () -> Void)?)>((0, nil))
    private let hangUp = Mutex<HangUp?>(nil)
    private let forwarding = Mutex<Forwarding?>(nil)

    /// The handler for SIGHUP.
    private struct HangUp: Sendable {
        let endsWithTerminal: Bool
        let handler: @Sendable () -> Void
    }

    /// The program that receives the signals. Nil in `forwarding` means that signals stop `larder` itself.
    private struct Forwarding {
        var child: pid_t?
        /// The first signal that arrived before the child was started.
        var first: Int32?
    }

    /// The flag of a signal that was sent to this process alone, not by the terminal to its whole process
    /// group.
    private static let isForThisProcessOnly: UInt8 = 0x80

    /// The end of the pipe that the signal handler writes to; set once, before the handler is installed.
    nonisolated(unsafe) private static var pipeInput: Int32 = -1

    /// Installs the handlers. Blocking the signals and waiting for them would not work, because the runtime
    /// has threads before `main` begins.
    func installHandlers() {
        guard let pipe = try? Pipe() else { return }
        Self.pipeInput = pipe.writing
        guard (try? NamedThread.start("larder-signals") { Self.wait(pipe.reading) }) != nil else { return }
        signal(SIGPIPE, SIG_IGN)
        for number in [SIGINT, SIGTERM] { Self.installHandler(for: number) }
        // Ignored, for example, by `nohup`.
        if !Self.isIgnored(SIGHUP) { Self.installHandler(for: SIGHUP) }
    }

    /// Whether the parent process set the signal to be ignored, as `nohup` does.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return true }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Installs the handler that writes the signal to the pipe. `SA_RESTART` lets interrupted system calls
    /// of other threads continue.
    private static func installHandler(for number: Int32) {
        var action = sigaction()
        action.sa_flags = SA_SIGINFO | SA_RESTART
        action.__sigaction_handler.sa_sigaction = { number, info, _ in
            // Only async-signal-safe calls: one `write`.
            let isFromKernel = info?.pointee.si_code == 0x80  // SI_KERNEL
            var byte = UInt8(truncatingIfNeeded: number) | (isFromKernel ? 0 : Signals.isForThisProcessOnly)
            _ = write(Signals.pipeInput, &byte, 1)
        }
        sigaction(number, &action, nil)
    }

    /// Passes all further signals on to the command that is about to be started, instead of stopping
    /// `larder`.
    func beginForwarding() {
        forwarding.withLock { $0 = Forwarding() }
    }

    /// The first signal that arrived before the command was started; it must not be started then.
    var firstForwarded: Int32? { forwarding.withLock { $0?.first } }

    /// Sets the process that receives the signals; nil after it has ended.
    func forward(to child: pid_t?) {
        forwarding.withLock { forwarding in
            forwarding?.child = child
            if let child, let number = forwarding?.first { kill(child, number) }
        }
    }

    /// Passes a signal on. Returns false if no other command runs.
    private func forward(_ number: Int32, isForThisProcessOnly: Bool) -> Bool {
        forwarding.withLock { forwarding in
            guard let child = forwarding?.child else {
                forwarding?.first = number
                return forwarding != nil
            }
            // A terminal sends its signals to the whole process group, which includes the child.
            if isForThisProcessOnly { kill(child, number) }
            return true
        }
    }

    /// Calls `handler` at the first signal, or immediately if it has arrived already.
    func onFirst(_ handler: @escaping @Sendable () -> Void) {
        let hasArrived = state.withLock { state in
            state.handler = handler
            return state.count > 0
        }
        if hasArrived { handler() }
    }

    /// Calls `handler` at each further SIGHUP, instead of ending the process.
    ///
    /// - Parameter endsWithTerminal: whether the process still ends when its terminal is closed, which also
    ///   sends SIGHUP.
    func onHangUp(endsWithTerminal: Bool, _ handler: @escaping @Sendable () -> Void) {
        let hadTerminal = Self.hasTerminal && !Self.isIgnored(SIGHUP)
        hangUp.withLock { $0 = HangUp(endsWithTerminal: endsWithTerminal && hadTerminal, handler: handler) }
        Self.installHandler(for: SIGHUP)
    }

    /// Whether the process has a controlling terminal that is still open.
    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// Handles SIGHUP. Returns false if it should stop the command.
    private func handleHangUp() -> Bool {
        guard let hangUp = hangUp.withLock({ $0 }), !hangUp.endsWithTerminal || Self.hasTerminal else {
            return false
        }
        hangUp.handler()
        return true
    }

    /// Handles a signal that asks the command to stop.
    private func didReceiveStop() {
        let (count, handler) = state.withLock { state in
            state.count += 1
            return (state.count, state.handler)
        }
        // A command that cannot stop early ends here. Everything committed is kept.
        guard count == 1, let handler else {
            if count > 1 { _ = Output.errors.write("larder: stopped at once; everything stored is kept\n") }
            _exit(ExitStatus.interrupted.rawValue)
        }
        handler()
    }

    /// Reads the bytes of the signal handler on an ordinary thread, where every call is allowed.
    private static func wait(_ pipeOutput: Int32) {
        var byte: UInt8 = 0
        while true {
            let count = read(pipeOutput, &byte, 1)
            switch count {
            case 1:
                let number = Int32(byte & ~isForThisProcessOnly)
                if shared.forward(number, isForThisProcessOnly: byte & isForThisProcessOnly != 0) { continue }
                if number == SIGHUP, shared.handleHangUp() { continue }
                shared.didReceiveStop()
            case 0: return
            case _: if errno != EINTR { return }
            }
        }
    }
}

extension Signals {
    /// Runs `body` as a task that the first signal cancels, and returns its result.
    ///
    /// - Parameter onStop: called on the signal thread after the cancellation.
    func runCancellable<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value, onStop: @escaping @Sendable () -> Void = {}
    ) async throws -> Value {
        // The body must not begin before the handler is set: a signal before that ends the process at once.
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

    /// Returns an interruption that the first signal requests, for a command that waits for it.
    func interruption() -> Interruption {
        let interruption = Interruption()
        onFirst { interruption.request() }
        return interruption
    }
}
