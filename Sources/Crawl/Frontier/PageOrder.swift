internal import Markup
internal import Web

/// The order of pages in a crawl that fetches a limited number of them. It depends on the content of the site and
/// not on the order of responses, so that two runs fetch the same pages.
///
/// Pages and sitemaps get their turn in the order of `queue`. The queue grows in the order of the turns, too: the
/// links of a response wait in `pendingLinks` until those of all earlier turns were added. A new turn starts after the end
/// of the one that is `width` earlier, so that several requests run at a time, and the content of the queue at
/// the start of a turn is always the same. Pages to which only assets and rendered pages link wait until no other page is
/// left, and go in the order of their URLs.
///
/// For example, with `width` 2 and the start page A with links to B and C: A takes turn 1 and ends it before another
/// page is known. B and C take turns 2 and 3, and are requested in parallel. If C responds first, its links wait;
/// those of B are added to the queue before them in any case.
///
/// The set may still differ if a page fails in one run, and if Chromium finds pages in another order.
struct PageOrder: Sendable {
    /// Whether the number of pages is limited, and this worker does not share the snapshot.
    let isOn: Bool
    var queue = Frontier.EntryQueue()
    /// Whether the links that are being added are those of an asset or a rendered page.
    var isAddingSecondary = false
    /// Actions of turns that ended without an event. The next event returns them.
    var actions: [Frontier.Action] = []
    /// The entries whose turns have started and not ended, in the order of their turns, and as a set.
    private var turns = FIFOQueue()
    private var open: Set<UInt32> = []
    /// The links of responses that have arrived before the end of their turn.
    private var pendingLinks: [UInt32: PendingLinks] = [:]

    /// The links of a response, or the target of its redirect.
    enum PendingLinks: Sendable {
        case scanned(ScanResult)
        case linked(UInt32, StoredLinks)
        case redirected(UInt32, Frontier.Redirection, to: WebURL)

        var number: UInt32 {
            switch self {
            case .scanned(let result): result.number
            case .linked(let number, _), .redirected(let number, _, _): number
            }
        }
    }

    /// The links of a stored response (`Frontier.Event.linked`).
    struct StoredLinks: Sendable {
        let known: [Frontier.KnownLink]
        let new: [FoundLink]
        let isLeftOut: Bool
        let isNofollow: Bool
        let reasons: RenderReasons
        let isOfThisSnapshot: Bool
    }

    init(isOn: Bool) { self.isOn = isOn }

    func isOpen(_ number: UInt32) -> Bool { open.contains(number) }

    func hasPendingLinks(_ number: UInt32) -> Bool { pendingLinks[number] != nil }

    /// The entry whose turn ends next.
    var first: UInt32? { turns.first }

    /// Whether another turn may start.
    var hasRoom: Bool { open.count < Self.width }

    /// The maximum number of turns at a time. More would give the queue less to choose from.
    private static let width = 32

    mutating func start(_ number: UInt32) {
        turns.append(number)
        open.insert(number)
    }

    /// Ends the first turn.
    mutating func end() -> PendingLinks? {
        guard let number = turns.popFirst() else { return nil }
        open.remove(number)
        return pendingLinks.removeValue(forKey: number)
    }

    /// Returns whether the links have to wait for the end of the entry's turn.
    mutating func delays(_ pending: PendingLinks) -> Bool {
        guard isOpen(pending.number) else { return false }
        pendingLinks[pending.number] = pending
        return true
    }
}

extension Frontier {
    typealias PendingLinks = PageOrder.PendingLinks

    /// Whether the entry waits for its turn, or for the end of it.
    func isInOrder(_ number: UInt32) -> Bool {
        records[Int(number)].flags.contains(.isWaitingForTurn) || order.isOpen(number)
    }

    /// Lets a page or sitemap wait for its turn. Returns false for other entries, and for those that had their turn.
    mutating func waitsForTurn(_ number: UInt32) -> Bool {
        let record = records[Int(number)]
        guard record.role != .asset, record.attempts == 0, !order.isOpen(number) else { return false }
        records[Int(number)].state = .waiting
        guard records[Int(number)].flags.insert(.isWaitingForTurn).inserted else { return true }
        if options.hasSession, record.redirects > 0 {
            takeTurn(number)
        } else {
            order.queue.append(number, record, isVariant: isVariant(number), urlKind: urls.urlKind(number))
        }
        return true
    }

    /// Starts the turn of an entry that waits for it: counts the page and queues it for its host.
    mutating func takeTurn(_ number: UInt32) {
        guard records[Int(number)].flags.remove(.isWaitingForTurn) != nil,
            records[Int(number)].state == .waiting,
            records[Int(number)].role != .asset, !isSkippedByLimit(number)
        else { return }
        let isPage = records[Int(number)].role == .page
        guard !isPage || !isSkippedAsTrap(number) else { return }
        order.start(number)
        enqueue(number)
        // A page fails at once if its host was given up.
        if isPage, records[Int(number)].state == .queued { limits.usage.pages += 1 }
    }

    /// Ends the turns for which it is time.
    mutating func endDueTurns() -> [Action] {
        var actions: [Action] = []
        // Pages that wait for robots.txt come before those that are found next.
        while let first = order.first, isAnswered(first), !isAwaitingRobots {
            startTurns()
            actions += endTurn()
        }
        return actions
    }

    /// Starts as many turns as there is room for. Called before the queue gets more, and before each request.
    mutating func startTurns() {
        while order.hasRoom, let number = order.queue.popFirst() { takeTurn(number) }
    }

    private mutating func endTurn() -> [Action] {
        guard let pending = order.end() else { return [] }
        let actions = add(pending)
        // The driver can use the numbers of links only directly after the event.
        if case .linked = pending { return [] }
        return actions
    }

    /// Ends all turns at the end of the crawl, so that the store gets the links of all pages.
    mutating func endTurns() -> [Action] {
        var actions: [Action] = []
        while order.first != nil { actions += endTurn() }
        return actions
    }

    mutating func takeDeferredActions() -> [Action] {
        defer { order.actions.removeAll() }
        return order.actions
    }

    /// Whether the turn of an entry may end. One that waits for its next attempt, or until other pages are fetched, may
    /// wait for minutes: its turn ends without links, and these are added when they come.
    private func isAnswered(_ number: UInt32) -> Bool {
        switch records[Int(number)].state {
        case .waiting: true
        case .queued, .running, .done: order.hasPendingLinks(number)
        case .redirected, .failed, .skipped, .elsewhere: true
        }
    }

    /// Whether pages may wait for a robots.txt that was requested. One that could not be loaded may take a minute, and
    /// does not hold up others.
    private var isAwaitingRobots: Bool {
        hosts.contains { ($0.isFetchingRobots || $0.isRobotsDue) && $0.robots?.hasFailed == false }
    }

    /// Adds the links of a response, now or at the end of its turn.
    mutating func addInOrder(_ pending: PendingLinks) -> [Action] {
        if order.isOn, order.delays(pending) { return [] }
        return add(pending)
    }

    private mutating func add(_ pending: PendingLinks) -> [Action] {
        order.isAddingSecondary = order.isOn && records[Int(pending.number)].role == .asset
        defer { order.isAddingSecondary = false }
        switch pending {
        case .scanned(let result): return addScan(result)
        case .linked(let number, let links):
            let numbers = addStoredLinks(links, of: number)
            return numbers.isEmpty ? [] : [.assignNumbers(numbers)]
        case .redirected(let number, let redirection, let target):
            return followRedirect(redirection, of: number, to: target)
        }
    }

    private mutating func addStoredLinks(_ links: PageOrder.StoredLinks, of number: UInt32) -> [UInt32] {
        let numbers = addLinks(of: number, known: links.known, new: links.new)
        if links.isLeftOut {
            leaveOut(number)
        } else if renderScheduler.isOn {
            let needs = links.known.lazy.filter { $0.role == .asset }.map(\.number) + numbers
            noteForRendering(
                number, links.reasons, assets: needs, isNofollow: links.isNofollow,
                isUnchanged: !links.isOfThisSnapshot
            )
        }
        return numbers
    }

    /// Handles a link of a page to a page that waits because only assets and rendered pages linked to it.
    mutating func promoteSecondary(_ number: UInt32) {
        guard records[Int(number)].flags.remove(.isSecondary) != nil, records[Int(number)].state == .waiting,
            records[Int(number)].flags.remove(.isParked) != nil
        else { return }
        enqueueOrPark(number)
    }

    /// Held pages in an order that does not depend on that of the responses.
    func inStableOrder(_ held: [UInt32]) -> [UInt32] {
        let secondary = held.filter { records[Int($0)].flags.contains(.isSecondary) }
        return held.filter { !records[Int($0)].flags.contains(.isSecondary) }
            + secondary.map { ($0, urls.href($0)) }.sorted { $0.1 < $1.1 }.map(\.0)
    }
}
