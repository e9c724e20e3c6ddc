internal import Glibc
internal import LarderKit
internal import Synchronization
internal import System

/// The progress display: a block of lines on a terminal, or a line of JSON every second. It has its own
/// thread, so that a slow terminal does not slow down the work.
final class ProgressDisplay: Sendable {
    /// The form of the progress display, as in `--progress`.
    enum Mode: String, CaseIterable {
        case block, json, none
    }

    /// The latest figures, and what is still to be written.
    private struct DisplayState {
        var block: ProgressBlock?
        var receivedAt = ContinuousClock.now
        /// Text that is still to be written above the block.
        var text = ""
        var notice: String?
        var canvas = Canvas()
        var screen: Screen
        var lastEvent: ContinuousClock.Instant?
        /// Whether there are figures that have not been written as JSON yet.
        var hasUnwrittenFigures = false
        var hasEnded = false
    }

    private let mode: Mode
    private let isVerbose: Bool
    private let isQuiet: Bool
    private let output: Output
    private let state: Mutex<DisplayState>
    private let ticker: Ticker?
    /// Locked during each write, so that lines of different threads do not mix.
    private let writing = Mutex(())

    private static let interval: Duration = .milliseconds(100)
    private static let eventInterval: Duration = .seconds(1)
    /// The size of waiting text in bytes beyond which the ticker that adds more writes it, and waits for
    /// that.
    private static let maxWaitingTextBytes = 64 * 1024

    init(_ arguments: Arguments, _ terminal: Terminal) throws(UsageError) {
        let screen = Screen.ofErrors()
        let wanted: Mode = try arguments.choice(.progress) ?? .block
        mode = terminal.isQuiet ? .none : wanted == .block && !screen.isDrawable ? .none : wanted
        isVerbose = arguments.has(.verbose) && !terminal.isQuiet
        isQuiet = terminal.isQuiet
        output = .errors
        state = Mutex(DisplayState(screen: screen))
        ticker = mode == .none && !isVerbose ? nil : Ticker(every: Self.interval)
    }

    var isShown: Bool { mode != .none }

    /// Sets the callbacks that a prefetch reports its progress to.
    func attach(to options: inout PrefetchOptions) {
        if isShown { options.progress = { self.show(.prefetch($0)) } }
        if isVerbose { options.fetched = { self.addRequestLine($0) } }
        if !isQuiet { options.notice = { self.writeNotice($0) } }
    }

    /// The callback for the progress of other work; nil if no progress is shown.
    func progress(_ title: String) -> (@Sendable (WorkProgress) -> Void)? {
        guard isShown else { return nil }
        return { progress in self.show(.work(title, progress)) }
    }

    /// Runs work while the display is active, and removes the block at the end, also after an error. The
    /// first signal cancels the work.
    ///
    /// - Parameters:
    ///   - command: the command line that continues or repeats the work.
    ///   - isStoppable: whether the work can end early by itself; if not, the first signal ends the process.
    func run<Value: Sendable>(
        orContinueWith command: String, isStoppable: Bool = true,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        ticker?.start { self.refresh() }
        defer { end() }
        return try await Signals.shared.runCancellable(body) {
            if isStoppable { self.didRequestStop(command) } else { self.exitNow(command) }
        }
    }

    private func show(_ block: ProgressBlock) {
        state.withLock { state in
            state.block = block
            state.receivedAt = .now
            state.hasUnwrittenFigures = mode == .json
        }
    }

    private func addRequestLine(_ url: PrefetchedURL) {
        let isFull = state.withLock { state in
            state.text += (mode == .json ? url.json : FetchLine.text(of: url)) + "\n"
            return state.text.utf8.count > Self.maxWaitingTextBytes
        }
        if isFull { refresh() }
    }

    /// Writes a notice, such as a reason why the work is waiting.
    private func writeNotice(_ notice: String) {
        let text = "larder: \(Larder.printable(notice))\n"
        guard ticker != nil else {
            writing.withLock { _ in _ = output.write(text) }
            return
        }
        state.withLock { $0.text += text }
        refresh()
    }

    private func didRequestStop(_ command: String) {
        state.withLock { state in
            if mode == .json {
                state.text += "{\"event\":\"stopping\"}\n"
            } else if mode == .block {
                state.notice = "Stopping; press Ctrl-C again to stop at once. To continue later: \(command)"
            }
        }
        refresh()
    }

    /// Ends the process. Work that cannot end early loses nothing by that.
    private func exitNow(_ command: String) {
        if ticker != nil { refresh(isLast: true) }
        _ = output.write("larder: stopped; to start again: \(command)\n")
        _exit(ExitStatus.interrupted.rawValue)
    }

    private func refresh(isLast: Bool = false) {
        // `state` must not stay locked during the write: a slow terminal would slow down the work.
        writing.withLock { _ in
            let text = state.withLock { takeOutput(from: &$0, isLast: isLast) }
            if !text.isEmpty { _ = output.write(text) }
        }
    }

    /// The text to write now.
    private func takeOutput(from state: inout DisplayState, isLast: Bool) -> String {
        guard !state.hasEnded else { return "" }
        state.hasEnded = isLast
        let text = state.text
        state.text = ""
        switch mode {
        case .none:
            return text
        case .json:
            return text + takeEvent(from: &state, isLast: isLast)
        case .block:
            state.screen.measure()
            let lines = isLast ? [] : blockLines(state)
            return state.canvas.draw(lines, above: text, width: state.screen.width)
        }
    }

    private func takeEvent(from state: inout DisplayState, isLast: Bool) -> String {
        let now = ContinuousClock.now
        let isDue = state.lastEvent.map { now - $0 >= Self.eventInterval } ?? true
        guard state.hasUnwrittenFigures, isDue || isLast, let block = state.block else { return "" }
        state.hasUnwrittenFigures = false
        state.lastEvent = now
        switch block {
        case .prefetch(let progress): return progress.json + "\n"
        case .work(_, let progress): return progress.json + "\n"
        }
    }

    private func blockLines(_ state: borrowing DisplayState) -> [String] {
        guard let block = state.block else { return [] }
        return block.lines(
            width: state.screen.width, height: state.screen.height, age: .now - state.receivedAt,
            isColored: state.screen.isColored, notice: state.notice)
    }

    private func end() {
        ticker?.stop()
        if ticker != nil { refresh(isLast: true) }
    }
}

/// A ticker that calls a function at an interval until it is stopped.
final class Ticker: Sendable {
    private let milliseconds: Int32
    /// Set by `start`, taken by `stop`.
    private let running = Mutex<(thread: NamedThread, stop: StopSignal)?>(nil)

    init(every interval: Duration) {
        milliseconds = Int32(interval / .milliseconds(1))
    }

    /// Starts the ticker. Does nothing if no ticker can be created.
    func start(_ body: @escaping @Sendable () -> Void) {
        guard let stop = try? StopSignal() else { return }
        let milliseconds = milliseconds
        let thread = try? NamedThread.start("larder-ticker") {
            repeat { body() } while !stop.wait(milliseconds: milliseconds)
        }
        guard let thread else { return }
        running.withLock { $0 = (thread, stop) }
    }

    /// Stops the thread, and returns after the last call.
    func stop() {
        guard let running = running.withLock({ $0.take() }) else { return }
        running.stop.give()
        running.thread.join()
    }
}
