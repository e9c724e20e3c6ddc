internal import Glibc
internal import Synchronization
internal import System
internal import Web

/// A Chromium process that renders pages in concurrent tabs.
///
///     let browser = try Browser(BrowserOptions(executable: path))
///     browser.open(PageVisit(url: "http://localhost:8080/")) { outcome in print(outcome.links) }
///     browser.close()
///
/// Thread-safe. The thread `larder-browser` owns the process, its socket and all tabs. If the browser ends or
/// hangs, its open pages fail, and the next page starts a new process.
package final class Browser: Sendable {
    /// A message to the browser's thread.
    enum ThreadCommand: Sendable {
        case open(PageVisit, @Sendable (PageOutcome) -> Void)
        case close
    }

    /// State that the browser's thread shares with callers, protected by a ``Monitor``.
    struct SharedState: Sendable {
        var version = ""
        var isSandboxed = true
        var processGroup: Int32?
        /// Whether the browser failed so often that it is not started again.
        var hasGivenUp = false
        /// The result of the first start; nil before.
        var start: Result<Void, BrowserError>?
        /// The browser's thread, as a `pthread_t`.
        var thread: UInt?
    }

    private let inbox: Inbox<ThreadCommand>
    private let state: Monitor<SharedState>
    private let thread: NamedThread

    /// Starts the browser and waits until it replies to a command. Throws if it does not start.
    package init(_ options: BrowserOptions) throws(BrowserError) {
        let doing = "starting the browser"
        let state = Monitor(SharedState())
        do throws(SystemError) {
            let wakePipe = try WakePipe()
            let inbox = Inbox<ThreadCommand> { wakePipe.wake() }
            self.inbox = inbox
            self.state = state
            thread = try NamedThread.start("larder-browser") {
                BrowserLoop(options, inbox: inbox, wakePipe: wakePipe, state: state).run()
            }
        } catch {
            throw BrowserError(error, doing: doing)
        }
        do throws(BrowserError) {
            try state.wait { $0.start }.get()
        } catch {
            thread.join()
            throw error
        }
    }

    deinit { close() }

    /// The product and version that the browser reports, such as `Chrome/150.0.7821.3`.
    package var version: String { state.change { $0.version } }

    /// Whether the browser's own sandbox is on, which confines a renderer process that a page has
    /// compromised.
    package var isSandboxed: Bool { state.change { $0.isSandboxed } }

    /// Whether the browser failed so often that no page is opened any more.
    package var hasGivenUp: Bool { state.change { $0.hasGivenUp } }

    /// The process group of the running browser; nil if none is running.
    package var processGroup: Int32? { state.change { $0.processGroup } }

    /// Opens the page in a tab with its own browser context; a page that stays open uses the default one.
    /// Calls `done` exactly once, on the browser's thread, or on the caller's if the browser is already
    /// closed.
    package func open(_ visit: PageVisit, then done: @escaping @Sendable (PageOutcome) -> Void) {
        guard inbox.put(.open(visit, done)) else {
            done(PageOutcome(ending: .failed("the browser is closed"), address: visit.url))
            return
        }
    }

    /// Renders the page and waits for its outcome. Must not be called on the browser's thread, which would wait
    /// for itself.
    package func render(_ visit: PageVisit) -> PageOutcome {
        let outcome = Monitor<PageOutcome?>(nil)
        open(visit) { result in outcome.change { $0 = result } }
        return outcome.wait { $0 }
    }

    /// Ends all tabs and kills the browser's process group, after a short grace period if its profile is
    /// permanent. Removes its folder. Returns when this is done, or at once on the browser's own thread.
    package func close() {
        inbox.put(.close)
        guard state.change({ $0.thread }) != UInt(pthread_self()) else { return }
        thread.join()
    }
}

/// Wakes a thread that polls `descriptor`. Any thread may call `wake`.
final class WakePipe: Sendable {
    private let pipe: Pipe
    var descriptor: Int32 { pipe.reading }

    init() throws(SystemError) {
        pipe = try Pipe()
        for end in [pipe.reading, pipe.writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        close(pipe.reading)
        close(pipe.writing)
    }

    /// Makes `descriptor` readable. If the pipe is full, it already is.
    func wake() {
        _ = write(pipe.writing, "!", 1)
    }

    /// Reads all pending bytes, so that `descriptor` is no longer readable.
    func drain() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(pipe.reading, &bytes, bytes.count) > 0 {}
    }
}

/// The loop of the browser's thread. It polls the socket and the pipe of callers until the next deadline of a
/// tab, passes messages and the time to the tabs, and executes their actions.
///
/// All tabs share one connection. A reply belongs to the tab that sent the command (`replyOwners`). An event
/// belongs to the tab of its session, of its browser context, or of its frame, in this order.
///
/// After a failure of the browser, all open tabs fail and `connection` is nil. The next page starts a new
/// process, at most `maxStarts` times in a row without a page that succeeds.
private final class BrowserLoop {
    /// A tab, and the callback for its outcome.
    private struct OpenTab {
        var tab: Tab
        let done: @Sendable (PageOutcome) -> Void
    }

    /// The tab that awaits a reply, and the tab's own number for the command.
    private struct ReplyOwner {
        let tab: Int
        let number: Int
    }

    private let options: BrowserOptions
    private let inbox: Inbox<Browser.ThreadCommand>
    private let wakePipe: WakePipe
    private let state: Monitor<Browser.SharedState>
    private let age = Stopwatch()

    private var connection: BrowserConnection?
    private var tabs: [Int: OpenTab] = [:]
    private var lastTab = 0
    /// The awaited replies, by the number that was sent to the browser.
    private var replyOwners: [Int: ReplyOwner] = [:]
    private var lastNumber = 0
    /// The tab of each browser context.
    private var contexts: [String: Int] = [:]
    /// The tab of each session.
    private var sessions: [String: Int] = [:]
    /// Recent events about frames that no tab owns yet. They are delivered once a tab has learned of the frame.
    private var unownedEvents: [Event] = []
    /// The maximum number of such events. Beyond it, the oldest is dropped.
    private static let maxUnownedEvents = 32
    /// Chromium's sandbox does not work for root.
    private var isSandboxed = getuid() != 0
    private var isClosing = false
    /// The number of starts since the last page that did not fail, with the start of the browser that opened it.
    private var starts = 0
    private var lastFailure = ""

    /// The maximum number of starts without a successful page between them. Then no page is opened any more.
    private static let maxStarts = 4
    /// The time in which a started browser must reply to its first command.
    private static let startTimeout = Duration.seconds(30)
    /// The time in which a browser with a permanent profile may write it to disk before it is killed.
    private static let grace = Duration.seconds(2)

    init(
        _ options: BrowserOptions, inbox: Inbox<Browser.ThreadCommand>, wakePipe: WakePipe,
        state: Monitor<Browser.SharedState>
    ) {
        self.options = options
        self.inbox = inbox
        self.wakePipe = wakePipe
        self.state = state
    }

    func run() {
        state.change { $0.thread = UInt(pthread_self()) }
        do throws(BrowserError) {
            try startWithOptionalSandbox()
            state.change { $0.start = .success(()) }
        } catch {
            inbox.close()
            state.change { $0.start = .failure(error) }
            return
        }
        while !isClosing { turn() }
        shutDown()
    }

    // MARK: - Start and end

    /// Starts the browser, and starts it again without the sandbox if its log says that the system forbids
    /// that.
    private func startWithOptionalSandbox() throws(BrowserError) {
        starts += 1
        do throws(BrowserError) {
            try startOnce()
        } catch {
            guard isSandboxed, error.why.contains("sandbox") else { throw error }
            isSandboxed = false
            try startOnce()
        }
    }

    private func startOnce() throws(BrowserError) {
        let process = try BrowserProcess(
            options.executable, profile: options.profile, scratch: options.scratch,
            keepsHome: !options.isHeadless, niceness: options.niceness
        ) { options.arguments(profile: $0, isSandboxed: isSandboxed) }
        let connection = BrowserConnection(process)
        connection.send(Command("Browser.getVersion").bytes(number: 1))
        let targets: JSONMembers = ["autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true]
        connection.send(Command("Target.setAutoAttach", nil, targets).bytes(number: 2))
        lastNumber = 2
        let deadline = age.elapsed + Self.startTimeout
        var version: String?
        while version == nil, !isClosing {
            let left = deadline - age.elapsed
            guard left > .zero else {
                throw BrowserError(doing: "starting \(options.executable)", why: "it does not answer")
            }
            try connection.flush()
            wait(for: connection, atMost: min(left, .milliseconds(200)))
            do throws(BrowserError) {
                try connection.receive { bytes in
                    guard case .reply(_, let reply) = Message(bytes, isAwaited: { $0 == 1 }) else { return }
                    version = reply["product"]?.string ?? ""
                }
            } catch {
                // The browser's error message may arrive shortly after the socket was closed.
                process.kill(after: .milliseconds(500))
                let words = process.lastLogLines
                throw BrowserError(
                    doing: "starting \(options.executable)", why: words.isEmpty ? "it ended at once" : words)
            }
        }
        self.connection = connection
        let (isNowSandboxed, group) = (isSandboxed, process.identifier)
        state.change { state in
            state.version = version ?? ""
            state.isSandboxed = isNowSandboxed
            state.processGroup = group
        }
    }

    /// Ends the browser after a failure, together with all open tabs.
    private func browserDidFail(_ why: String) {
        lastFailure = why
        connection?.process.end(within: .zero)
        connection = nil
        state.change { $0.processGroup = nil }
        failAllTabs(why)
    }

    /// Ends all open tabs with a failure.
    private func failAllTabs(_ why: String) {
        replyOwners = [:]
        contexts = [:]
        sessions = [:]
        let now = age.elapsed
        for key in tabs.keys.sorted() {
            tabs[key]?.tab.browserDidEnd(why, now: now)
            performActions(of: key)
        }
    }

    /// Fails everything that is still open or queued, and ends the browser.
    private func shutDown() {
        inbox.close()
        failAllTabs("the browser was closed")
        for case .open(let visit, let done) in inbox.takeAll() {
            done(PageOutcome(ending: .failed("the browser was closed"), address: visit.url))
        }
        guard let connection else { return }
        // Only a permanent profile must be written to disk.
        if options.profile != nil {
            lastNumber += 1
            connection.send(Command("Browser.close").bytes(number: lastNumber))
            _ = try? connection.flush()
        }
        connection.process.end(within: options.profile == nil ? .zero : Self.grace)
        self.connection = nil
        state.change { $0.processGroup = nil }
    }

    // MARK: - One turn

    /// Waits for messages, callers or the next deadline, and handles them.
    private func turn() {
        let now = age.elapsed
        let deadline = tabs.values.compactMap(\.tab.deadline).min()
        wait(for: connection, atMost: deadline.map { max($0 - now, .zero) } ?? .seconds(60))
        wakePipe.drain()
        do throws(BrowserError) {
            try connection?.receive { didReceive($0) }
        } catch {
            browserDidFail(error.why)
        }
        for command in inbox.takeAll() {
            switch command {
            case .open(let visit, let done): open(visit, done)
            case .close: isClosing = true
            }
        }
        let later = age.elapsed
        for (key, open) in tabs {
            guard let deadline = open.tab.deadline, deadline <= later else { continue }
            tabs[key]?.tab.tick(now: later)
            performActions(of: key)
        }
        do throws(BrowserError) {
            try connection?.flush()
        } catch {
            browserDidFail(error.why)
        }
    }

    private func wait(for connection: BrowserConnection?, atMost time: Duration) {
        var polled = [pollfd(fd: wakePipe.descriptor, events: Int16(POLLIN), revents: 0)]
        if let connection {
            polled.append(pollfd(fd: connection.process.descriptor, events: connection.events, revents: 0))
        }
        let (seconds, attoseconds) = time.components
        // Rounded up, so that the loop does not spin just before a deadline.
        let milliseconds = seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        _ = poll(&polled, nfds_t(polled.count), Int32(clamping: milliseconds))
    }

    private func open(_ visit: PageVisit, _ done: @escaping @Sendable (PageOutcome) -> Void) {
        if isClosing {
            return done(PageOutcome(ending: .failed("the browser was closed"), address: visit.url))
        }
        do throws(BrowserError) {
            if connection == nil {
                guard starts < Self.maxStarts else {
                    state.change { $0.hasGivenUp = true }
                    throw BrowserError(doing: "opening \(visit.url)", why: lastFailure)
                }
                try startWithOptionalSandbox()
            }
        } catch {
            lastFailure = error.why
            return done(PageOutcome(ending: .failed("no browser: \(error.why)"), address: visit.url))
        }
        connection?.process.trimLog()
        lastTab += 1
        tabs[lastTab] = OpenTab(tab: Tab(visit, now: age.elapsed), done: done)
        performActions(of: lastTab)
    }

    /// Passes a message from the browser to the tabs that it concerns.
    private func didReceive(_ bytes: ArraySlice<UInt8>) {
        guard let message = Message(bytes, isAwaited: { replyOwners[$0] != nil }) else { return }
        let now = age.elapsed
        switch message {
        case .reply(let number, let reply):
            guard let owner = replyOwners.removeValue(forKey: number) else { return }
            tabs[owner.tab]?.tab.didReceive(reply, to: owner.number, now: now)
            performActions(of: owner.tab)
        case .event(let event):
            let owners = owners(of: event)
            if owners.isEmpty, event.session == nil, event["frameId"] != nil {
                unownedEvents = unownedEvents.suffix(Self.maxUnownedEvents - 1) + [event]
            }
            for key in owners { deliver(event, to: key, now) }
            // An out-of-process frame may be announced after its first events.
            for event in unownedEvents where !self.owners(of: event).isEmpty {
                for key in self.owners(of: event) { deliver(event, to: key, now) }
                unownedEvents.removeAll { $0["frameId"]?.string == event["frameId"]?.string }
            }
        }
    }

    private func deliver(_ event: Event, to key: Int, _ now: Duration) {
        tabs[key]?.tab.didReceive(event, now: now)
        performActions(of: key)
    }

    /// The tabs that receive an event.
    private func owners(of event: Event) -> [Int] {
        if let session = event.session { return sessions[session].map { [$0] } ?? [] }
        if let context = event["targetInfo"]?["browserContextId"]?.string {
            if let key = contexts[context] { return [key] }
            // A window in a context that no tab owns, such as one that a person opened. It only has to be
            // resumed.
            if let session = event["sessionId"]?.string {
                post(Command("Runtime.runIfWaitingForDebugger", session))
            }
            return []
        }
        if let session = event["sessionId"]?.string { return sessions[session].map { [$0] } ?? [] }
        // A download event has only a frame. Ask the tabs which of them owns it.
        guard let frame = event["frameId"]?.string else { return [] }
        return tabs.keys.filter { tabs[$0]?.tab.owns(frame: frame) ?? false }
    }

    private func post(_ command: Command) {
        lastNumber = lastNumber % Self.maxCommandNumber + 1
        connection?.send(command.bytes(number: lastNumber))
    }

    /// The greatest command number, after which they start at 1 again: Chromium accepts only 32-bit numbers.
    private static let maxCommandNumber = 1 << 30

    /// Executes the actions of a tab.
    private func performActions(of key: Int) {
        // Executing an action can produce more actions.
        while let actions = tabs[key]?.tab.takeActions(), !actions.isEmpty {
            for action in actions { perform(action, of: key) }
        }
    }

    private func perform(_ action: Tab.Action, of key: Int) {
        switch action {
        case .send(let command, let number):
            post(command)
            if let number { replyOwners[lastNumber] = ReplyOwner(tab: key, number: number) }
        case .ownContext(let context):
            contexts[context] = key
        case .ownSession(let session):
            sessions[session] = key
        case .disownSession(let session):
            sessions[session] = nil
        case .act:
            tabs[key]?.tab.visit.willAct?()
        case .giveUp(let why):
            browserDidFail(why)
        case .finish(let outcome):
            if case .failed = outcome.ending {} else { starts = 1 }
            guard let open = tabs.removeValue(forKey: key) else { return }
            contexts = contexts.filter { $0.value != key }
            sessions = sessions.filter { $0.value != key }
            replyOwners = replyOwners.filter { $0.value.tab != key }
            open.done(outcome)
        }
    }
}
