import Store
import Web

@testable import Cluster
@testable import Crawl
@testable import Fetch

/// A class that owns a frontier, because the fields of a test suite must be copyable. It has a method for each event.
/// Without the argument `now`, an event happens at time zero.
final class TestFrontier {
    private var frontier: Frontier

    init(scope: Scope, options: Frontier.Options = Frontier.Options()) {
        frontier = Frontier(scope: scope, options: options)
    }

    /// Returns the next task. If only waiting pages are left, the frontier settles first, as in a crawl.
    func next(now: Duration) -> Frontier.Task? {
        while true {
            if let task = frontier.next(now: now) { return task }
            guard frontier.isDone, frontier.views.isWaiting else { return nil }
            frontier.apply(.settled, now: now)
        }
    }

    /// The next URL to fetch, for tests without robots.txt.
    func fetchNext(now: Duration) -> UInt32? {
        guard case .fetch(let number)? = next(now: now) else { return nil }
        return number
    }

    @discardableResult
    func apply(_ event: Frontier.Event, now: Duration) -> [Frontier.Action] {
        frontier.apply(event, now: now)
    }

    var isDone: Bool { frontier.isDone }
    var waitsToSettle: Bool { frontier.waitsToSettle }
    var isOutOfTime: Bool { frontier.isOutOfTime }
    var isStarved: Bool { frontier.isStarved }
    var nextDue: Duration? { frontier.nextDue }
    var pagesLeft: Int? { frontier.pagesLeft }
    var entries: [Frontier.EntryInfo] { frontier.numbers.map { frontier.entry($0) } }
    /// The failed entries with their failures.
    var failures: [UInt32: Failure] {
        frontier.numbers.reduce(into: [:]) { $0[$1] = frontier.failure(of: $1) }
    }

    func isOutOfPatience(now: Duration) -> Bool { frontier.isOutOfPatience(now: now) }
    func progress(now: Duration) -> CrawlProgress { frontier.progress(now: now) }
    func url(_ number: UInt32) -> WebURL { frontier.url(number) }
    func number(of url: WebURL) -> UInt32? { frontier.number(of: url) }
    func state(_ number: UInt32) -> Frontier.EntryState { frontier.state(number) }
    func awaitsLookup(_ number: UInt32) -> Bool { frontier.awaitsLookup(number) }
    func entry(_ number: UInt32) -> Frontier.EntryInfo { frontier.entry(number) }
    func chain(to number: UInt32) -> [WebURL] { frontier.chain(to: number) }
    func nearestZone(_ number: UInt32) -> NetworkZone { frontier.nearestZone(number) }
    func wantsWords(of number: UInt32) -> Bool { frontier.wantsWords(of: number) }
    func takeOutcomes() -> [UInt32] { frontier.takeOutcomes() }
    func takeOutgoing() -> [SharedFrontier.DiscoveredURL] { frontier.takeOutgoing() }

    func start(_ url: WebURL) { apply(.start(url, nearestZone: .thisMachine), now: .zero) }

    func startGuess(_ url: WebURL, isPage: Bool, nearestZone: NetworkZone) {
        apply(.miss(url, isPage: isPage, nearestZone: nearestZone), now: .zero)
    }

    /// Reports a scan of entry `number` that found only this link. Returns the number of the link's target.
    @discardableResult
    func addLink(_ link: FoundLink, from number: UInt32) -> UInt32 {
        let actions = apply(.scanned(ScanResult(number: number, byteCount: 0, links: [link])), now: .zero)
        for case .storeLinks(let links) in actions {
            if let target = (links.pages + links.assets + links.guesses).first { return target.number }
        }
        return .max
    }

    func connect(_ number: UInt32, in zone: NetworkZone) {
        apply(.connected(number, from: zone), now: .zero)
    }

    func succeed(_ number: UInt32, after latency: Duration? = nil) {
        apply(.succeeded(number, after: latency), now: .zero)
    }

    func reuse(_ number: UInt32) { apply(.reused(number), now: .zero) }

    func fail(
        _ number: UInt32, _ failure: Failure, after latency: Duration? = nil, retryAfter: Duration? = nil,
        hadBegun: Bool = false, now: Duration
    ) {
        apply(.failed(number, failure, after: latency, retryAfter: retryAfter, hadBegun: hadBegun), now: now)
    }

    /// Returns whether the redirect is stored.
    func redirect(_ number: UInt32, to target: WebURL?) -> Bool {
        for case .storeRedirect(number) in apply(.redirected(number, .init(target: target)), now: .zero) {
            return true
        }
        return false
    }

    func failRobots(host: Int, _ failure: FetchFailure, now: Duration) {
        apply(.robots(host: host, .failed(failure)), now: now)
    }

    var doneCount: Int { progress(now: .zero).done }

    var runningCount: Int { progress(now: .zero).running }
}
