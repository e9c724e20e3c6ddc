package import Web

/// The robots.txt of one origin: which pages it allows, and when it has to be fetched (RFC 9309, section
/// 2.3.1).
///
/// Only pages are subject to it. Assets are fetched in any case, because a browser that shows an allowed page
/// fetches them, too. Start URLs are fetched because the user named them.
///
/// The rules are at first unknown. A success makes them known, and they stay known while they cannot be
/// renewed. A failure is retried after each of `delays` while pages wait, an error of the server after all but the
/// last of them; after that the origin counts as unreachable and pages are refused.
///
/// Times are those of the driver's clock. A stored response of an earlier run has a time below zero.
package struct OriginRobots: Sendable {
    /// The decision about a page.
    package enum Verdict: Sendable, Equatable {
        case allowed
        /// The robots.txt has to be fetched first: `next(now:)` returns its URL, unless the request is in
        /// progress.
        case waits
        case refused(SkipReason)
    }

    /// The state of the rules.
    private enum Rules: Sendable {
        case unknown
        /// The last request failed, and will soon be repeated.
        case awaited
        case known(RobotsRules)
        /// The robots.txt cannot be loaded for now: the reason.
        case unreachable(String)
    }

    /// The number of bytes of a robots.txt that are fetched, stored and parsed; the rest is ignored. RFC
    /// 9309, section 2.5, requires a crawler to parse at least this many.
    package static let maxBytes = 500 * 1024
    package static let maxRedirects = 5
    private static let lifetime: Duration = .seconds(24 * 3600)
    /// After this time without a response, everything is allowed (section 2.3.1.4 proposes 30 days).
    private static let maxOutage: Duration = .seconds(30 * 24 * 3600)
    /// The delays before retries while pages wait. After the last one, pages are refused, and `rareDelay`
    /// applies.
    private static let delays: [Duration] = [.seconds(2), .seconds(10), .seconds(30)]
    private static let rareDelay: Duration = .seconds(600)
    private static let maxCrawlDelay: Duration = .seconds(60)

    private let address: WebURL?
    private let productToken: String
    private let obeys: Bool
    private var rules = Rules.unknown
    private var isFetching = false
    /// The time from which the file may be requested again.
    private var due: Duration = .zero
    private var redirects = 0
    private var failures = 0
    /// The time of the first failure since the last success; nil after a success. The driver keeps it for the
    /// next run.
    private(set) var unreachableSince: Duration?
    /// The URLs in `Sitemap` records, each resolved against the URL of the file.
    package private(set) var sitemaps: [WebURL] = []
    /// The network zone that the known robots.txt came from, the most public one of its redirect chain. It
    /// limits the requests for `sitemaps`.
    package private(set) var zone = NetworkZone.publicNetwork
    /// The most public network zone of the responses to the current request and its redirects so far. It
    /// limits the next redirect.
    package private(set) var chainZone = NetworkZone.publicNetwork

    /// Creates the gate of an origin.
    ///
    /// - Parameters:
    ///   - url: Any URL of the origin.
    ///   - obeys: If false, all pages are allowed. The file is still requested, because it lists sitemaps.
    ///   - unreachableSince: The value of this property in the previous run.
    ///   - hasFailedBefore: Whether the file could not be loaded a moment ago. It is then requested once, and pages
    ///     do not wait for retries.
    package init(
        for url: WebURL, productToken: String, obeys: Bool = true, unreachableSince: Duration? = nil,
        hasFailedBefore: Bool = false
    ) {
        failures = hasFailedBefore ? Self.delays.count : 0
        address = WebURL("/robots.txt", base: url)?.key
        self.productToken = productToken
        self.obeys = obeys
        self.unreachableSince = unreachableSince
    }

    package func verdict(on page: WebURL) -> Verdict {
        guard obeys else { return .allowed }
        switch rules {
        case .unknown, .awaited: return .waits
        case .unreachable(let trouble): return .refused(.robotsUnknown(trouble))
        case .known(let rules):
            guard let rule = rules.decidingRule(for: page.target), !rule.isAllow else { return .allowed }
            return .refused(.robots(rule.description))
        }
    }

    /// Whether an earlier request of this run failed.
    var hasFailed: Bool { failures > 0 }

    /// Whether pages are refused because the file could not be loaded.
    package var isUnreachable: Bool { if case .unreachable = rules { true } else { false } }

    /// Returns the URL of the robots.txt if it should be requested now, and counts it as being requested from
    /// then on.
    package mutating func next(now: Duration) -> WebURL? {
        guard !isFetching, now >= due, let address else { return nil }
        isFetching = true
        redirects = 0
        chainZone = .thisMachine
        return address
    }

    /// When `next(now:)` will return a URL for which pages wait; nil if pages do not wait, or if the request
    /// is in progress.
    var nextFetch: Duration? {
        switch rules {
        case .unknown, .awaited: isFetching ? nil : due
        case .known, .unreachable: nil
        }
    }
}

extension OriginRobots {
    /// The whole lines of the beginning of a robots.txt: the part that is parsed and stored.
    package static func wholeLines(_ beginning: [UInt8]) -> [UInt8] {
        let end = beginning.lastIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        return Array(beginning[..<(end.map { $0 + 1 } ?? 0)])
    }

    /// Takes the response to the request for the robots.txt, or for the target of its redirect.
    ///
    /// - Parameters:
    ///   - location: the target of a redirect, on whatever host; nil if the response does not say.
    ///   - source: the network zone that the response came from.
    /// - Returns: The URL to request instead, if the response is a redirect that is followed.
    package mutating func didRespond(
        status: Int, location: WebURL? = nil, body: Span<UInt8>, from source: NetworkZone, now: Duration
    ) -> WebURL? {
        chainZone = min(chainZone, source)
        switch status {
        case 200..<300: setRules(from: RobotsFile(body), now: now)
        case 304:
            zone = min(zone, chainZone)
            keepRules(now: now)
        case 300..<400:
            // Section 2.3.1.2: after five redirects, a crawler may treat the file as unavailable.
            if let location, location.isHTTP, redirects < Self.maxRedirects {
                redirects += 1
                return location
            }
            setRules(from: nil, now: now)
        // Section 2.3.1.3 allows everything for all 4xx statuses, but with these ones the server only says
        // that it is busy.
        case 408, 425, 429: fail("the server answered \(status)", now: now)
        case 400..<500: setRules(from: nil, now: now)
        default:
            // The host answers, so a longer wait than that before the second retry seldom helps.
            if failures + 1 >= Self.delays.count { skipRetries() }
            fail("the server answered \(status)", now: now)
        }
        return nil
    }

    /// Reports that the request failed. A failure that will last (`isTemporary` is false) is not retried while
    /// pages wait.
    package mutating func didFail(_ trouble: String, isTemporary: Bool = true, now: Duration) {
        if !isTemporary { skipRetries() }
        fail(trouble, now: now)
    }

    /// Makes the current request the last one for which pages wait.
    mutating func skipRetries() { failures = max(failures, Self.delays.count) }

    /// Makes a pending retry due at once.
    mutating func hurry(now: Duration) {
        if case .awaited = rules { due = min(due, now) }
    }

    /// The delay between requests that the file asks for, and the one that is applied.
    package struct CrawlDelay: Sendable, Equatable {
        package var requested: Duration
        package var applied: Duration
        /// Whether the file asks for a longer delay than the maximum.
        package var isCapped: Bool { applied < requested }
    }

    /// Nil if the file does not ask for a delay.
    package var crawlDelay: CrawlDelay? {
        guard obeys, case .known(let rules) = rules, let seconds = rules.crawlDelay, seconds > 0 else {
            return nil
        }
        let requested = Duration.seconds(seconds)
        return CrawlDelay(requested: requested, applied: min(requested, Self.maxCrawlDelay))
    }

    /// Sets the rules of a file. Without a file, everything is allowed.
    private mutating func setRules(from file: RobotsFile?, now: Duration) {
        rules = .known(file?.rules(for: productToken) ?? .allowsAll)
        zone = chainZone
        let base = address
        sitemaps = (file?.sitemaps ?? []).compactMap { WebURL($0, base: base)?.key }.filter(\.isHTTP)
        keepRules(now: now)
    }

    private mutating func keepRules(now: Duration) {
        switch rules {
        case .known: break
        case .unknown, .awaited, .unreachable: rules = .known(.allowsAll)
        }
        isFetching = false
        failures = 0
        unreachableSince = nil
        due = now + Self.lifetime
    }

    private mutating func fail(_ trouble: String, now: Duration) {
        isFetching = false
        failures += 1
        let since = min(unreachableSince ?? now, now)
        unreachableSince = since
        due = now + (failures <= Self.delays.count ? Self.delays[failures - 1] : Self.rareDelay)
        // Section 2.4: known rules stay valid while they cannot be renewed.
        if case .known = rules { return }
        if now - since >= Self.maxOutage {
            rules = .known(.allowsAll)
        } else {
            rules = failures <= Self.delays.count ? .awaited : .unreachable(trouble)
        }
    }
}
