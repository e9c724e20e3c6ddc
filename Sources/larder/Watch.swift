internal import Glibc
internal import LarderKit
internal import Synchronization
internal import System

/// Shows how far some work is, on a thread of its own, so that a slow terminal holds up nothing: one block on
/// a terminal, or a line of JSON now and then.
final class Watch: Sendable {
    enum Mode: String, CaseIterable {
        case block, json, none
    }

    private struct State {
        var block: ProgressBlock?
        var came = ContinuousClock.now
        /// What waits to be written above the block.
        var text = ""
        var notice: String?
        var canvas = Canvas()
        var screen: Screen
        var lastEvent: ContinuousClock.Instant?
        /// JSON that was not due yet.
        var isOwed = false
        var hasEnded = false
    }

    private let mode: Mode
    private let isVerbose: Bool
    private let isQuiet: Bool
    private let output: Output
    private let state: Mutex<State>
    private let thread: Ticker?
    /// Held by whoever writes, so that nothing gets into another's lines.
    private let writing = Mutex(())

    private static let interval: Duration = .milliseconds(100)
    private static let eventInterval: Duration = .seconds(1)
    /// More waits in memory only as long as whoever brings it waits too.
    private static let mostText = 64 * 1024

    init(_ arguments: Arguments, _ terminal: Terminal) throws(UsageError) {
        let screen = Screen.ofErrors()
        let wanted: Mode = try arguments.choice(.progress) ?? .block
        mode = terminal.isQuiet ? .none : wanted == .block && !screen.isDrawable ? .none : wanted
        isVerbose = arguments.has(.verbose) && !terminal.isQuiet
        isQuiet = terminal.isQuiet
        output = .errors
        state = Mutex(State(screen: screen))
        thread = mode == .none && !isVerbose ? nil : Ticker(every: Self.interval)
    }

    var isNeeded: Bool { mode != .none }

    /// What prefetches are to tell of themselves.
    func watch(_ options: inout PrefetchOptions) {
        if isNeeded { options.progress = { self.show(.prefetch($0)) } }
        if isVerbose { options.fetched = { self.tell($0) } }
        if !isQuiet { options.notice = { self.say($0) } }
    }

    /// What other work is to tell; nil when nobody watches.
    func progress(_ title: String) -> (@Sendable (WorkProgress) -> Void)? {
        guard isNeeded else { return nil }
        return { progress in self.show(.work(title, progress)) }
    }

    /// Runs what is watched. Whatever comes of it, nothing of the block is left.
    func during<Value: Sendable>(
        again: String, isStoppable: Bool = true, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        thread?.start { self.refresh() }
        defer { end() }
        return try await Signals.shared.cancelling(body) {
            if isStoppable { self.stopping(again) } else { self.stopNow(again) }
        }
    }

    private func show(_ block: ProgressBlock) {
        state.withLock { state in
            state.block = block
            state.came = .now
            state.isOwed = mode == .json
        }
    }

    private func tell(_ url: PrefetchedURL) {
        let isFull = state.withLock { state in
            state.text += (mode == .json ? url.json : FetchLine.text(of: url)) + "\n"
            return state.text.utf8.count > Self.mostText
        }
        if isFull { refresh() }
    }

    /// What hinders the work for the time being.
    private func say(_ notice: String) {
        let text = "larder: \(Larder.printable(notice))\n"
        guard thread != nil else {
            writing.withLock { _ in _ = output.write(text) }
            return
        }
        state.withLock { $0.text += text }
        refresh()
    }

    private func stopping(_ again: String) {
        state.withLock { state in
            if mode == .json {
                state.text += "{\"event\":\"stopping\"}\n"
            } else if mode == .block {
                state.notice = "Stopping. Ctrl-C again stops at once; to go on later: \(again)"
            }
        }
        refresh()
    }

    /// What cannot stop in between loses nothing when it ends at once.
    private func stopNow(_ again: String) {
        if thread != nil { refresh(isLast: true) }
        _ = output.write("larder: stopped; to do it again: \(again)\n")
        _exit(ExitStatus.interrupted.rawValue)
    }

    private func refresh(isLast: Bool = false) {
        // The figures' lock is not held while a slow terminal takes its time.
        writing.withLock { _ in
            let text = state.withLock { pieces(of: &$0, isLast: isLast) }
            if !text.isEmpty { _ = output.write(text) }
        }
    }

    /// What is to be written now.
    private func pieces(of state: inout State, isLast: Bool) -> String {
        guard !state.hasEnded else { return "" }
        state.hasEnded = isLast
        let text = state.text
        state.text = ""
        switch mode {
        case .none:
            return text
        case .json:
            return text + event(&state, isLast: isLast)
        case .block:
            state.screen.measure()
            let lines = isLast ? [] : lines(state)
            return state.canvas.draw(lines, above: text, width: state.screen.width)
        }
    }

    private func event(_ state: inout State, isLast: Bool) -> String {
        let now = ContinuousClock.now
        let isDue = state.lastEvent.map { now - $0 >= Self.eventInterval } ?? true
        guard state.isOwed, isDue || isLast, let block = state.block else { return "" }
        state.isOwed = false
        state.lastEvent = now
        switch block {
        case .prefetch(let progress): return progress.json + "\n"
        case .work(_, let progress): return progress.json + "\n"
        }
    }

    private func lines(_ state: borrowing State) -> [String] {
        guard let block = state.block else { return [] }
        return block.lines(
            width: state.screen.width, height: state.screen.height, waited: .now - state.came,
            isColored: state.screen.isColored, notice: state.notice)
    }

    private func end() {
        thread?.stop()
        if thread != nil { refresh(isLast: true) }
    }
}

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
