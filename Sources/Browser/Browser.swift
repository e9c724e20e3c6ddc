internal import Glibc
internal import Synchronization
internal import System
internal import Web

/// One Chromium, which renders pages in tabs side by side.
///
///     let browser = try Browser(BrowserOptions(executable: path))
///     browser.open(PageVisit(url: "http://localhost:8080/")) { outcome in print(outcome.links) }
///     browser.close()
///
/// A thread of its own, `larder-browser`, owns the process, its socket and all tabs; any thread may call. A
/// browser that ends or hangs takes its open pages with it, and the next page starts another one.
package final class Browser: Sendable {
    enum Order: Sendable {
        case open(PageVisit, @Sendable (PageOutcome) -> Void)
        case close
    }

    /// What its thread tells others, under one lock.
    struct Facts: Sendable {
        var version = ""
        var isSandboxed = true
        var processGroup: Int32?
        /// Nil until the first start has worked, or not.
        var start: Result<Void, BrowserError>?
        var thread: UInt?
    }

    private let inbox: Inbox<Order>
    private let facts: Monitor<Facts>
    private let thread: NamedThread

    /// Starts it and waits for its first answer.
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

    /// As it says itself: `Chrome/150.0.7821.3`.
    package var version: String { facts.change { $0.version } }

    /// Whether a page that takes over its own process is still walled off from the machine.
    package var isSandboxed: Bool { facts.change { $0.isSandboxed } }

    /// The process group of the browser that runs now.
    package var processGroup: Int32? { facts.change { $0.processGroup } }

    /// Opens the page in a tab with a browser context of its own; `done` is called exactly once, on the
    /// browser's thread, whatever happens.
    package func open(_ visit: PageVisit, then done: @escaping @Sendable (PageOutcome) -> Void) {
        guard inbox.put(.open(visit, done)) else {
            done(PageOutcome(ending: .failed("the browser is closed"), address: visit.url))
            return
        }
    }

    /// Opens the page and waits for what becomes of it; not on the browser's thread.
    package func look(at visit: PageVisit) -> PageOutcome {
        let outcome = Monitor<PageOutcome?>(nil)
        open(visit) { result in outcome.change { $0 = result } }
        return outcome.wait { $0 }
    }

    /// Ends all tabs and the browser, whose process group is killed, after a short grace where its profile
    /// stays, and removes its folder. Returns when that is done, unless it is called on the browser's own
    /// thread.
    package func close() {
        inbox.put(.close)
        guard facts.change({ $0.thread }) != UInt(pthread_self()) else { return }
        thread.join()
    }
}

/// Rings for somebody who polls.
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

    /// One that is not heard yet is enough, so that a full pipe loses nothing.
    func ring() {
        _ = write(pipe.writing, "!", 1)
    }

    func hush() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while read(pipe.reading, &bytes, bytes.count) > 0 {}
    }
}

/// The browser's thread: waits for its socket, for orders and for the tabs' deadlines, asks the tabs, and
/// carries out what they say.
private final class BrowserLoop {
    private struct OpenTab {
        var tab: Tab
        let done: @Sendable (PageOutcome) -> Void
    }

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
    private var callers: [Int: Caller] = [:]
    private var lastNumber = 0
    private var contexts: [String: Int] = [:]
    private var sessions: [String: Int] = [:]
    /// Of frames of which no tab was told yet.
    private var ownerless: [Event] = []
    private static let mostOwnerless = 32
    private var isSandboxed = getuid() != 0
    private var isClosing = false
    /// Starts since the last page that worked.
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

    /// Where the system forbids the sandbox, which its log says, it starts without one.
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
            keepsHome: !options.isHeadless
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
                // What it wrote about it may come a moment after the socket's end.
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

    /// The browser is lost, with all that it shows.
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
        // Only a profile that stays has something to be written down.
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
        // Rounded up: a deadline that is nearly there must not be asked for again and again.
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
            // A frame may be told of, in a process of its own, after what it began.
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

    /// The tabs that an event is for.
    private func owners(of event: Event) -> [Int] {
        if let session = event.session { return sessions[session].map { [$0] } ?? [] }
        if let context = event["targetInfo"]?["browserContextId"]?.string {
            if let key = contexts[context] { return [key] }
            // A window that belongs to nobody: it goes on, and its owner is the person before it.
            if let session = event["sessionId"]?.string {
                post(Command("Runtime.runIfWaitingForDebugger", session))
            }
            return []
        }
        if let session = event["sessionId"]?.string { return sessions[session].map { [$0] } ?? [] }
        // A download names a frame. Whose it is, the tabs know.
        guard let frame = event["frameId"]?.string else { return [] }
        return tabs.keys.filter { tabs[$0]?.tab.owns(frame: frame) ?? false }
    }

    private func post(_ command: Command) {
        lastNumber = lastNumber % Self.numberLimit + 1
        connection?.send(command.bytes(number: lastNumber))
    }

    /// Numbers are 32 bits wide over there.
    private static let numberLimit = 1 << 30

    private func carryOut(_ key: Int) {
        // What is done may have the tab say more.
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
