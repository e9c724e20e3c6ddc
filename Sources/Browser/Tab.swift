internal import Web

/// One page in one tab, as a value: what the browser says and the time go in, commands come out, and in the
/// end the outcome. Either it is looked at and left, or it is a person's.
struct Tab: Sendable {
    enum Action: Sendable {
        /// With a number where the tab waits for the reply.
        case send(Command, number: Int?)
        /// The browser's own events about this context, and those of this session, are this tab's.
        case ownContext(String)
        case ownSession(String)
        case disownSession(String)
        case finish(PageOutcome)
        /// The browser itself does not answer.
        case giveUp(String)
    }

    /// How long it takes at most for a reply, on a machine that has much else to do.
    enum Patience {
        static let browser = Duration.seconds(15)
        static let picture = Duration.seconds(5)
        /// For all of a page, or a page on paper.
        static let paper = Duration.seconds(60)
        /// For a page whose scripts were just stopped.
        static let probe = Duration.seconds(5)
        /// A page that has said nothing for so long is asked whether it can.
        static let silence = Duration.seconds(2)
        static let disposal = Duration.seconds(2)
        /// How often a person's cookies are read: when he closes the browser, nobody can be asked any more.
        static let cookies = Duration.seconds(1)
        /// What a further view of a document may take beside.
        static let view = Duration.seconds(1)
    }

    /// So many dialogs, or windows, are no accident.
    static let nuisanceLimit = 30

    let visit: PageVisit
    // One of the two: each is changed in its place, where it may be large.
    private var walk: PageWalk?
    private var window: PersonWindow?

    /// - Parameter now: since whenever; the same clock as in all other calls.
    init(_ visit: PageVisit, now: Duration) {
        self.visit = visit
        if visit.staysOpen {
            window = PersonWindow(visit, now: now)
        } else {
            walk = PageWalk(visit, now: now)
        }
    }

    mutating func takeActions() -> [Action] { walk?.takeActions() ?? window?.takeActions() ?? [] }

    var isOver: Bool { walk?.isOver ?? window?.isOver ?? true }

    mutating func take(_ reply: Reply, to number: Int, now: Duration) {
        walk?.take(reply, to: number, now: now)
        window?.take(reply, to: number, now: now)
    }

    /// Whether the frame is in its page, or in a window that this opened.
    func owns(frame: String) -> Bool { walk?.owns(frame: frame) ?? false }

    mutating func take(_ event: Event, now: Duration) {
        walk?.take(event, now: now)
        window?.take(event, now: now)
    }

    /// When the tab is to be asked again, if nothing happens until then.
    var deadline: Duration? { walk?.deadline ?? window?.deadline }

    mutating func tick(now: Duration) {
        walk?.tick(now: now)
        window?.tick(now: now)
    }

    /// The browser is no more, or is not wanted any more.
    mutating func abandon(_ why: String, now: Duration) {
        walk?.abandon(why, now: now)
        window?.abandon(why, now: now)
    }
}

/// What a tab says, and the replies that it waits for, each for a purpose.
struct TabTalk<Purpose: Sendable>: Sendable {
    private var actions: [Tab.Action] = []
    private var awaited: [Int: (purpose: Purpose, deadline: Duration)] = [:]
    private var lastNumber = 0

    mutating func takeActions() -> [Tab.Action] {
        defer { actions = [] }
        return actions
    }

    mutating func say(_ action: Tab.Action) { actions.append(action) }

    mutating func post(_ command: Command) { actions.append(.send(command, number: nil)) }

    mutating func ask(_ command: Command, _ purpose: Purpose, until deadline: Duration) {
        lastNumber += 1
        awaited[lastNumber] = (purpose, deadline)
        actions.append(.send(command, number: lastNumber))
    }

    /// What the reply is for; nil where nobody waits for it any more.
    mutating func take(_ number: Int) -> Purpose? { awaited.removeValue(forKey: number)?.purpose }

    /// What did not come in time, what was asked first before the others.
    mutating func takeOverdue(_ now: Duration) -> Purpose? {
        awaited.filter { $0.value.deadline <= now }.keys.min().flatMap { take($0) }
    }

    mutating func forgetAll() { awaited.removeAll() }

    var isAwaiting: Bool { !awaited.isEmpty }

    func isAwaiting(_ isMeant: (Purpose) -> Bool) -> Bool { awaited.values.contains { isMeant($0.purpose) } }

    var deadline: Duration? { awaited.values.lazy.map(\.deadline).min() }
}
