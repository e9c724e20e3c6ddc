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
    enum Order: Sendable {
        case open(PageVisit, @Sendable (PageOutcome) -> Void)
        case close
    }

    /// State that the browser's thread shares with callers, protected by a ``Monitor``.
    struct Facts: Sendable {
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

    private let inbox: Inbox<Order>
    private let facts: Monitor<Facts>
    private let thread: NamedThread

    /// Starts the browser and waits until it answers. Throws if it does not start.
    package init(_ options: BrowserOptions) throws(BrowserError) {
        let doing = "starting the browser"
        let facts = Monitor(Facts())
        do throws(SystemError) {
            let bell = try Bell()
            let inbox = Inbox<Order> { bell.ring() }
            self.inbox = inbox
            self.facts = facts
            thread = try NamedThread.start("larder-browser") {
                BrowserLoop(options, inbox: inbox, bell: bell, facts: facts).run()
            }
        } catch {
            throw BrowserError(error, doing: doing)
        }
        do throws(BrowserError) {
            try facts.wait { $0.start }.get()
        } catch {
            thread.join()
            throw error
        }
    }

    deinit { close() }

    /// The product and version that the browser reports, such as `Chrome/150.0.7821.3`.
    package var version: String { facts.change { $0.version } }

    /// Whether the browser's own sandbox is on, which confines a renderer process that a page has
    /// compromised.
    package var isSandboxed: Bool { facts.change { $0.isSandboxed } }

    /// Whether the browser failed so often that no page is opened any more.
    package var hasGivenUp: Bool { facts.change { $0.hasGivenUp } }

    /// The process group of the running browser; nil if none is running.
    package var processGroup: Int32? { facts.change { $0.processGroup } }

    /// Opens the page in a tab with its own browser context; a page that stays open uses the default one.
    /// Calls `done` exactly once, on the browser's thread, or on the caller's if the browser is already
    /// closed.
    package func open(_ visit: PageVisit, then done: @escaping @Sendable (PageOutcome) -> Void) {
        guard inbox.put(.open(visit, done)) else {
            done(PageOutcome(ending: .failed("the browser is closed"), address: visit.url))
            return
        }
    }

    /// Opens the page and waits for its outcome. Must not be called on the browser's thread.
    package func look(at visit: PageVisit) -> PageOutcome {
        let outcome = Monitor<PageOutcome?>(nil)
        open(visit) { result in outcome.change { $0 = result } }
        return outcome.wait { $0 }
    }

    /// Ends all tabs and kills the browser's process group, after a short grace period if its profile is
    /// permanent. Removes its folder. Returns when this is done, or at once on the browser's own thread.
    package func close() {
        inbox.put(.close)
        guard facts.change({ $0.thread }) != UInt(pthread_self()) else { return }
        thread.join()
    }
}

/// Wakes a thread that polls `descriptor`.
final class Bell: Sendable {
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
    func ring() {
        _ = write(pipe.writing, "!", 1)
    }

    /// Reads all pending bytes, so that `descriptor` is no longer readable.
    func hush() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(pipe.reading, &bytes, bytes.count) > 0 {}
    }
}

/// The loop of the browser's thread. It polls the socket and the bell until the next deadline of a tab,
/// passes messages and the time to the tabs, and executes their actions.
private final class BrowserLoop {
    /// A tab, and the callback for its outcome.
    private struct OpenTab {
        var tab: Tab
        let done: @Sendable (PageOutcome) -> Void
    }

    /// The tab that awaits a reply, and the tab's own number for the command.
    private struct Caller {
        let tab: Int
        let number: Int
    }

    private let options: BrowserOptions
    private let inbox: Inbox<Browser.Order>
    private let bell: Bell
    private let facts: Monitor<Browser.Facts>
    private let age = Stopwatch()

    private var connection: BrowserConnection?
    private var tabs: [Int: OpenTab] = [:]
    private var lastTab = 0
    /// The awaited replies, by the number that was sent to the browser.
    private var callers: [Int: Caller] = [:]
    private var lastNumber = 0
    /// The tab of each browser context.
    private var contexts: [String: Int] = [:]
    /// The tab of each session.
    private var sessions: [String: Int] = [:]
    /// Recent events about frames that no tab owns yet.
    private var ownerless: [Event] = []
    private static let mostOwnerless = 32
    private var isSandboxed = getuid() != 0
    private var isClosing = false
    /// The number of starts since the last page that did not fail.
    private var starts = 0
    private var lastFailure = ""

    private static let startLimit = 4
    private static let patience = Duration.seconds(30)
    private static let grace = Duration.seconds(2)

    init(
        _ options: BrowserOptions, inbox: Inbox<Browser.Order>, bell: Bell, facts: Monitor<Browser.Facts>
    ) {
        self.options = options
        self.inbox = inbox
        self.bell = bell
        self.facts = facts
    }

    func run() {
        facts.change { $0.thread = UInt(pthread_self()) }
        do throws(BrowserError) {
            try startAnyhow()
            facts.change { $0.start = .success(()) }
        } catch {
            inbox.close()
            facts.change { $0.start = .failure(error) }
            return
        }
        while !isClosing { turn() }
        leave()
    }

    // MARK: - Start and end

    /// Starts the browser, and starts it again without the sandbox if its log says that the system forbids
    /// that.
    private func startAnyhow() throws(BrowserError) {
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
        let deadline = age.elapsed + Self.patience
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
                let words = process.lastWords
                throw BrowserError(
                    doing: "starting \(options.executable)", why: words.isEmpty ? "it ended at once" : words)
            }
        }
        self.connection = connection
        let (isWalled, group) = (isSandboxed, process.identifier)
        facts.change { facts in
            facts.version = version ?? ""
            facts.isSandboxed = isWalled
            facts.processGroup = group
        }
    }

    /// Ends the browser after a failure, together with all open tabs.
    private func drop(_ why: String) {
        lastFailure = why
        connection?.process.end(within: .zero)
        connection = nil
        facts.change { $0.processGroup = nil }
        abandonAll(why)
    }

    private func abandonAll(_ why: String) {
        callers = [:]
        contexts = [:]
        sessions = [:]
        let now = age.elapsed
        for key in tabs.keys.sorted() {
            tabs[key]?.tab.abandon(why, now: now)
            carryOut(key)
        }
    }

    private func leave() {
        inbox.close()
        abandonAll("the browser was closed")
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
        facts.change { $0.processGroup = nil }
    }

    // MARK: - One turn

    private func turn() {
        let now = age.elapsed
        let deadline = tabs.values.compactMap(\.tab.deadline).min()
        wait(for: connection, atMost: deadline.map { max($0 - now, .zero) } ?? .seconds(60))
        bell.hush()
        do throws(BrowserError) {
            try connection?.receive { take($0) }
        } catch {
            drop(error.why)
        }
        for order in inbox.takeAll() {
            switch order {
            case .open(let visit, let done): open(visit, done)
            case .close: isClosing = true
            }
        }
        let later = age.elapsed
        for (key, open) in tabs {
            guard let deadline = open.tab.deadline, deadline <= later else { continue }
            tabs[key]?.tab.tick(now: later)
            carryOut(key)
        }
        do throws(BrowserError) {
            try connection?.flush()
        } catch {
            drop(error.why)
        }
    }

    private func wait(for connection: BrowserConnection?, atMost time: Duration) {
        var polled = [pollfd(fd: bell.descriptor, events: Int16(POLLIN), revents: 0)]
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
                guard starts < Self.startLimit else {
                    facts.change { $0.hasGivenUp = true }
                    throw BrowserError(doing: "opening \(visit.url)", why: lastFailure)
                }
                try startAnyhow()
            }
        } catch {
            lastFailure = error.why
            return done(PageOutcome(ending: .failed("no browser: \(error.why)"), address: visit.url))
        }
        connection?.process.trimLog()
        lastTab += 1
        tabs[lastTab] = OpenTab(tab: Tab(visit, now: age.elapsed), done: done)
        carryOut(lastTab)
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        guard let message = Message(bytes, isAwaited: { callers[$0] != nil }) else { return }
        let now = age.elapsed
        switch message {
        case .reply(let number, let reply):
            guard let caller = callers.removeValue(forKey: number) else { return }
            tabs[caller.tab]?.tab.take(reply, to: caller.number, now: now)
            carryOut(caller.tab)
        case .event(let event):
            let owners = owners(of: event)
            if owners.isEmpty, event.session == nil, event["frameId"] != nil {
                ownerless = ownerless.suffix(Self.mostOwnerless - 1) + [event]
            }
            for key in owners { hand(event, to: key, now) }
            // An out-of-process frame may be announced after its first events.
            for event in ownerless where !self.owners(of: event).isEmpty {
                for key in self.owners(of: event) { hand(event, to: key, now) }
                ownerless.removeAll { $0["frameId"]?.string == event["frameId"]?.string }
            }
        }
    }

    private func hand(_ event: Event, to key: Int, _ now: Duration) {
        tabs[key]?.tab.take(event, now: now)
        carryOut(key)
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
        lastNumber = lastNumber % Self.numberLimit + 1
        connection?.send(command.bytes(number: lastNumber))
    }

    /// Chromium accepts only 32-bit command numbers.
    private static let numberLimit = 1 << 30

    private func carryOut(_ key: Int) {
        // Executing an action can produce more actions.
        while let actions = tabs[key]?.tab.takeActions(), !actions.isEmpty {
            for action in actions { carryOut(action, of: key) }
        }
    }

    private func carryOut(_ action: Tab.Action, of key: Int) {
        switch action {
        case .send(let command, let number):
            post(command)
            if let number { callers[lastNumber] = Caller(tab: key, number: number) }
        case .ownContext(let context):
            contexts[context] = key
        case .ownSession(let session):
            sessions[session] = key
        case .disownSession(let session):
            sessions[session] = nil
        case .act:
            tabs[key]?.tab.visit.willAct?()
        case .giveUp(let why):
            drop(why)
        case .finish(let outcome):
            if case .failed = outcome.ending {} else { starts = 1 }
            guard let open = tabs.removeValue(forKey: key) else { return }
            contexts = contexts.filter { $0.value != key }
            sessions = sessions.filter { $0.value != key }
            callers = callers.filter { $0.value.tab != key }
            open.done(outcome)
        }
    }
}
