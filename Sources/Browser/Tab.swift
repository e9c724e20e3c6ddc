internal import Web

/// One page in one tab, as a value: replies, events and the time go in, and actions come out, the last of
/// which is `finish`.
///
/// The page is either examined automatically (``PageInspection``) or opened for a person (``InteractiveWindow``).
struct Tab: Sendable {
    /// A task for the owner of the tab.
    enum Action: Sendable {
        /// Sends a command. The reply must be passed to ``didReceive(_:to:now:)`` with the number, if there is one.
        case send(Command, number: Int?)
        /// Routes the browser-level events about this context to this tab.
        case ownContext(String)
        /// Routes the events of this session to this tab.
        case ownSession(String)
        /// Stops routing the events of this session.
        case disownSession(String)
        /// The controls of the page are used from now on: calls ``PageVisit/willAct``.
        case act
        /// The tab is over, with this outcome.
        case finish(PageOutcome)
        /// The browser itself does not answer and must be ended.
        case giveUp(String)
    }

    /// The time limits for replies, generous enough for a busy machine, and some intervals.
    enum Timeouts {
        /// For a command to the browser itself.
        static let browser = Duration.seconds(15)
        /// For a picture of a viewport.
        static let picture = Duration.seconds(5)
        /// For a picture of a whole page, or a PDF.
        static let wholePage = Duration.seconds(60)
        /// For the first reply of a page whose scripts were just stopped.
        static let probe = Duration.seconds(5)
        /// A page that has sent nothing for this time is tested with a command.
        static let silence = Duration.seconds(2)
        /// For the commands that end a tab.
        static let disposal = Duration.seconds(2)
        /// How often the cookies of a person's window are read. They cannot be read after the browser was
        /// closed.
        static let cookies = Duration.seconds(1)
        /// How much each further view of a document extends the time limit.
        static let view = Duration.seconds(1)
    }

    /// The number of dialogs or of windows at which a page is stopped.
    static let maxNuisances = 30

    let visit: PageVisit
    // One of the two is set. They are separate optionals so that each is mutated in place without a copy.
    private var inspection: PageInspection?
    private var window: InteractiveWindow?

    /// - Parameter now: the time on any monotonic clock; all other calls must use the same one.
    init(_ visit: PageVisit, now: Duration) {
        self.visit = visit
        if visit.staysOpen {
            window = InteractiveWindow(visit, now: now)
        } else {
            inspection = PageInspection(visit, now: now)
        }
    }

    mutating func takeActions() -> [Action] { inspection?.takeActions() ?? window?.takeActions() ?? [] }

    var isOver: Bool { inspection?.isOver ?? window?.isOver ?? true }

    mutating func didReceive(_ reply: Reply, to number: Int, now: Duration) {
        inspection?.didReceive(reply, to: number, now: now)
        window?.didReceive(reply, to: number, now: now)
    }

    /// Whether the frame belongs to the page or to a window that it opened.
    func owns(frame: String) -> Bool { inspection?.owns(frame: frame) ?? false }

    mutating func didReceive(_ event: Event, now: Duration) {
        inspection?.didReceive(event, now: now)
        window?.didReceive(event, now: now)
    }

    /// The time when `tick` must be called if no message arrives before; nil if it need not be.
    var deadline: Duration? { inspection?.deadline ?? window?.deadline }

    mutating func tick(now: Duration) {
        inspection?.tick(now: now)
        window?.tick(now: now)
    }

    /// Ends the tab, because the browser has ended or is being closed.
    mutating func browserDidEnd(_ why: String, now: Duration) {
        inspection?.browserDidEnd(why, now: now)
        window?.browserDidEnd(why, now: now)
    }
}

/// The queue of a tab's actions, and the replies that it awaits, each with its purpose and deadline.
///
/// `Purpose` is an enum of the owner, by which it decides what to do with a reply.
struct CommandQueue<Purpose: Sendable>: Sendable {
    private var actions: [Tab.Action] = []
    private var awaited: [Int: (purpose: Purpose, deadline: Duration)] = [:]
    private var lastNumber = 0

    mutating func takeActions() -> [Tab.Action] {
        defer { actions = [] }
        return actions
    }

    mutating func enqueue(_ action: Tab.Action) { actions.append(action) }

    mutating func send(_ command: Command) { actions.append(.send(command, number: nil)) }

    /// Sends a command whose reply is awaited until the deadline.
    mutating func request(_ command: Command, _ purpose: Purpose, until deadline: Duration) {
        lastNumber += 1
        awaited[lastNumber] = (purpose, deadline)
        actions.append(.send(command, number: lastNumber))
    }

    /// Returns the purpose of the reply with this number, which is then no longer awaited; nil if it was not
    /// awaited.
    mutating func take(_ number: Int) -> Purpose? { awaited.removeValue(forKey: number)?.purpose }

    /// Removes and returns the purpose of the oldest command whose reply is overdue.
    mutating func takeOverdue(_ now: Duration) -> Purpose? {
        awaited.filter { $0.value.deadline <= now }.keys.min().flatMap { take($0) }
    }

    mutating func forgetAwaited() { awaited.removeAll() }

    var isAwaiting: Bool { !awaited.isEmpty }

    func isAwaiting(_ isMeant: (Purpose) -> Bool) -> Bool { awaited.values.contains { isMeant($0.purpose) } }

    var deadline: Duration? { awaited.values.lazy.map(\.deadline).min() }
}
