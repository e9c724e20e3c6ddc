internal import Glibc
internal import LarderKit
internal import Synchronization
internal import System

/// The progress display of a long command on standard error: a block of lines on a terminal, or a line of
/// JSON every second.
///
/// Workers report figures from any thread with the callbacks that `attach` and `progress` set. The
/// callbacks only store the figures, so a slow terminal does not slow down the work. A thread of its own
/// (`Ticker`) draws the latest figures ten times a second. Lines of `--verbose` and notices wait in
/// `DisplayState.text` and are written above the block.
///
/// ```swift
/// let display = try ProgressDisplay(arguments, terminal)
/// let report = try await display.run(orContinueWith: arguments.commandLine) {
///     try await larder.index(site, progress: display.progress("Indexing pages"))
/// }
/// ```
///
/// `state` is locked for short times only, never during a write. `writing` is locked around each write; it
/// is always taken before `state`. After the last refresh (`hasEnded`), nothing is written any more: the
/// terminal belongs to the report.
final class ProgressDisplay: Sendable {
    /// The form of the progress display, as in `--progress`. `block` becomes `none` if standard error is
    /// not a terminal that can move its cursor.
    enum Mode: String, CaseIterable {
        case block, json, none
    }

    /// The latest figures and the unwritten text, protected by the lock of `state`.
    private struct DisplayState {
        /// The latest figures; nil until the first report.
        var block: ProgressBlock?
        /// The time of the latest figures. The block adds their age to the elapsed time, so that its clock
        /// runs between reports.
        var receivedAt = ContinuousClock.now
        /// Lines that are not written yet, such as those of `--verbose`.
        var text = ""
        /// The line below the block after the first Ctrl-C.
        var notice: String?
        /// The lines on the screen, to be replaced by the next ones.
        var canvas = Canvas()
        var screen: Screen
        /// The time of the last line of JSON.
        var lastEvent: ContinuousClock.Instant?
        /// Whether there are figures that have not been written as JSON yet.
        var hasUnwrittenFigures = false
        /// Whether the last refresh was written. Later calls of callbacks write nothing.
        var hasEnded = false
    }

    private let mode: Mode
    private let isVerbose: Bool
    private let isQuiet: Bool
    private let output: Output
    private let state: Mutex<DisplayState>
    /// The thread that draws; nil if there is nothing to draw.
    private let ticker: Ticker?
    /// Locked during each write, so that lines of different threads do not mix.
    private let writing = Mutex(())

    /// The time between two refreshes of the block.
    private static let interval: Duration = .milliseconds(100)
    /// The minimum time between two lines of JSON.
    private static let eventInterval: Duration = .seconds(1)
    /// The maximum size of waiting text. A thread that adds more writes the text itself, and waits for the
    /// terminal.
    private static let maxWaitingTextBytes = 64 * 1024

    /// Chooses the form from `--progress`, `--verbose`, `--quiet` and the terminal. Nothing is drawn before
    /// `run`.
    init(_ arguments: Arguments, _ terminal: Terminal) throws(UsageError) {
        let screen = Screen.ofStandardError()
        let wanted: Mode = try arguments.choice(.progress) ?? .block
        mode = terminal.isQuiet ? .none : wanted == .block && !screen.isDrawable ? .none : wanted
        isVerbose = arguments.has(.verbose) && !terminal.isQuiet
        isQuiet = terminal.isQuiet
        output = .errors
        state = Mutex(DisplayState(screen: screen))
        ticker = mode == .none && !isVerbose ? nil : Ticker(every: Self.interval)
    }

    /// Whether figures are shown.
    var isShown: Bool { mode != .none }

    /// Sets the callbacks of a prefetch: figures, finished requests with `--verbose`, and notices.
    func attach(to options: inout PrefetchOptions) {
        if isShown { options.progress = { self.show(.prefetch($0)) } }
        if isVerbose { options.fetched = { self.addRequestLine($0) } }
        if !isQuiet { options.notice = { self.writeNotice($0) } }
    }

    /// Returns the callback for the progress of other work; nil if no progress is shown.
    ///
    /// - Parameters:
    ///   - title: the first words of the line, such as `Indexing pages`.
    ///   - phase: the step of a command that counts its items several times, for the lines of JSON; nil for
    ///     other commands.
    func progress(_ title: String, phase: String? = nil) -> (@Sendable (WorkProgress) -> Void)? {
        guard isShown else { return nil }
        return { progress in self.show(.work(title, phase: phase, progress)) }
    }

    /// Runs work while the display is active, and removes the block at the end, also after an error. The
    /// first signal cancels the work.
    ///
    /// - Parameters:
    ///   - command: the command line that continues or repeats the work, which is shown after a signal.
    ///   - isStoppable: whether the work returns early when it is cancelled; if not, the first signal ends
    /// the process.
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

    /// Stores the latest figures. The ticker draws them.
    private func show(_ block: ProgressBlock) {
        state.withLock { state in
            state.block = block
            state.receivedAt = .now
            state.hasUnwrittenFigures = mode == .json
        }
    }

    /// Adds the line of `--verbose` for a finished request.
    private func addRequestLine(_ url: PrefetchedURL) {
        let isFull = state.withLock { state in
            state.text += (mode == .json ? url.json : FetchLine.text(of: url)) + "\n"
            return state.text.utf8.count > Self.maxWaitingTextBytes
        }
        if isFull { refresh() }
    }

    /// Writes a notice at once, such as a reason why the work is waiting.
    private func writeNotice(_ notice: String) {
        let text = "larder: \(Larder.printable(notice))\n"
        guard ticker != nil else {
            writing.withLock { _ in _ = output.write(text) }
            return
        }
        state.withLock { $0.text += text }
        refresh()
    }

    /// Says that the work is stopping, after the first signal.
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

    /// Ends the process with status 130. Used for work that does not return early, and that loses nothing
    /// by this.
    private func exitNow(_ command: String) {
        if ticker != nil { refresh(isLast: true) }
        _ = output.write("larder: stopped; to start again: \(command)\n")
        _exit(ExitStatus.interrupted.rawValue)
    }

    /// Writes the waiting text and the new block.
    ///
    /// - Parameter isLast: removes the block for good.
    private func refresh(isLast: Bool = false) {
        // `state` must not stay locked during the write: a slow terminal would slow down the work.
        writing.withLock { _ in
            let text = state.withLock { takeOutput(from: &$0, isLast: isLast) }
            if !text.isEmpty { _ = output.write(text) }
        }
    }

    /// Removes the waiting text from the state, and returns it with the new block or line of JSON. Called
    /// with the lock of `state`.
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

    /// Returns the line of JSON if it is due and the figures are new, else an empty text. The last figures
    /// are always written.
    private func takeEvent(from state: inout DisplayState, isLast: Bool) -> String {
        let now = ContinuousClock.now
        let isDue = state.lastEvent.map { now - $0 >= Self.eventInterval } ?? true
        guard state.hasUnwrittenFigures, isDue || isLast, let block = state.block else { return "" }
        state.hasUnwrittenFigures = false
        state.lastEvent = now
        switch block {
        case .prefetch(let progress): return progress.json + "\n"
        case .work(_, let phase, let progress): return progress.json(phase: phase) + "\n"
        }
    }

    /// The lines of the block for the current size of the terminal.
    private func blockLines(_ state: borrowing DisplayState) -> [String] {
        guard let block = state.block else { return [] }
        return block.lines(
            width: state.screen.width, height: state.screen.height, age: .now - state.receivedAt,
            isColored: state.screen.isColored, notice: state.notice)
    }

    /// Stops the ticker, then removes the block. No thread draws after that.
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

    /// Creates a ticker that is not running yet.
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
