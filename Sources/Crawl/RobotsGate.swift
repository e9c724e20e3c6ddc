package import Web

/// What the robots.txt of one origin says, and when it has to be asked for (RFC 9309, section 2.3.1).
///
/// Only pages stand before the gate: what a page needs is fetched whatever robots.txt says of it, since a
/// browser that shows the page would fetch it too, and the page without it is not what was allowed. Nor do
/// start URLs, which a person named.
///
/// Times are those of the driver's clock. An answer that an earlier run stored is told with the time of then,
/// which lies before zero.
package struct RobotsGate: Sendable {
    package enum Verdict: Sendable, Equatable {
        case allowed
        /// It is not known yet; `next(now:)` says what to ask for, or it is being asked for.
        case waits
        case refused(SkipReason)
    }

    private enum Rules: Sendable {
        case unknown
        /// Asked for without success so far, and soon to be asked for again.
        case awaited
        case known(RobotsRules)
        /// Not to be had for now; why.
        case unreachable(String)
    }

    /// Bytes of a robots.txt that are fetched, stored and parsed; the rest is ignored. RFC 9309, section 2.5,
    /// requires a crawler to parse at least as many.
    package static let maxBytes = 500 * 1024
    package static let mostRedirects = 5
    private static let lifetime: Duration = .seconds(24 * 3600)
    /// After so long without an answer there is nothing to obey (section 2.3.1.4 proposes 30 days).
    private static let longestOutage: Duration = .seconds(30 * 24 * 3600)
    /// Pages wait while it is tried again after these; then they are refused, and it is tried once in a
    /// while.
    private static let delays: [Duration] = [.seconds(2), .seconds(10), .seconds(30)]
    private static let rareDelay: Duration = .seconds(600)
    private static let longestCrawlDelay: Duration = .seconds(60)

    private let address: WebURL?
    private let productToken: String
    private let obeys: Bool
    private var rules = Rules.unknown
    private var isFetching = false
    /// When it is to be asked for again.
    private var due: Duration = .zero
    private var redirects = 0
    private var failures = 0
    /// Since when it could not be had; nil while it can. To be kept for the next run.
    package private(set) var unreachableSince: Duration?
    /// What `Sitemap` records name, each once, resolved against the file's address.
    package private(set) var sitemaps: [WebURL] = []
    /// The network zone that the known robots.txt came from, the most public one of its redirect chain. It
    /// limits the requests for `sitemaps`.
    package private(set) var zone = NetworkZone.publicNetwork
    /// The most public network zone of the responses to the current request and its redirects so far. It
    /// limits the next redirect.
    package private(set) var chainZone = NetworkZone.publicNetwork

    /// `url` is any of the origin. A gate that does not obey lets everything pass; it still hands out what to
    /// ask for, because the file names sitemaps. One that could not be had a moment ago is asked for once, and not waited
    /// for.
    package init(
        for url: WebURL, productToken: String, obeys: Bool = true, unreachableSince: Duration? = nil,
        isDoubted: Bool = false
    ) {
        failures = isDoubted ? Self.delays.count : 0
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

    /// Pages were refused, since it could not be had.
    package var isUnreachable: Bool { if case .unreachable = rules { true } else { false } }

    /// The robots.txt to ask for now, which counts as being asked for from then on; nil when nothing is to be
    /// asked for.
    package mutating func next(now: Duration) -> WebURL? {
        guard !isFetching, now >= due, let address else { return nil }
        isFetching = true
        redirects = 0
        chainZone = .thisMachine
        return address
    }

    /// When `next(now:)` will want something, as long as pages wait for it; nil when none do.
    package var nextFetch: Duration? {
        switch rules {
        case .unknown, .awaited: isFetching ? nil : due
        case .known, .unreachable: nil
        }
    }
}

extension RobotsGate {
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
    package mutating func answered(
        status: Int, location: WebURL? = nil, body: Span<UInt8>, from source: NetworkZone, now: Duration
    ) -> WebURL? {
        chainZone = min(chainZone, source)
        switch status {
        case 200..<300: know(RobotsFile(body), now: now)
        case 304:
            zone = min(zone, chainZone)
            hold(now: now)
        case 300..<400:
            // Section 2.3.1.2: after five of them the file may count as unavailable.
            if let location, location.isHTTP, redirects < Self.mostRedirects {
                redirects += 1
                return location
            }
            know(nil, now: now)
        // Section 2.3.1.3 lets a crawler pass; but these say that the server has no time, not that it has no
        // file.
        case 408, 425, 429: fail("the server answered \(status)", now: now)
        case 400..<500: know(nil, now: now)
        default: fail("the server answered \(status)", now: now)
        }
        return nil
    }

    /// No answer came, for this reason; one that lasts is not waited for.
    package mutating func failed(_ trouble: String, mayPass: Bool = true, now: Duration) {
        if !mayPass { failures = max(failures, Self.delays.count) }
        fail(trouble, now: now)
    }

    /// It is asked for at once, if it is to be asked for again at all.
    package mutating func hurry(now: Duration) {
        if case .awaited = rules { due = min(due, now) }
    }

    /// The distance between requests that the file asks for, and the one that is kept.
    package struct CrawlDelay: Sendable, Equatable {
        package var asked: Duration
        package var kept: Duration
        /// It asks for more than anybody keeps, which the report says.
        package var isCut: Bool { kept < asked }
    }

    /// Nil where none is asked for.
    package var crawlDelay: CrawlDelay? {
        guard obeys, case .known(let rules) = rules, let seconds = rules.crawlDelay, seconds > 0 else {
            return nil
        }
        let asked = Duration.seconds(seconds)
        return CrawlDelay(asked: asked, kept: min(asked, Self.longestCrawlDelay))
    }

    /// No file means no rule.
    private mutating func know(_ file: RobotsFile?, now: Duration) {
        rules = .known(file?.rules(for: productToken) ?? .allowsAll)
        zone = chainZone
        let base = address
        sitemaps = (file?.sitemaps ?? []).compactMap { WebURL($0, base: base)?.key }.filter(\.isHTTP)
        hold(now: now)
    }

    private mutating func hold(now: Duration) {
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
        // What is known holds on while it cannot be renewed (section 2.4).
        if case .known = rules { return }
        if now - since >= Self.longestOutage {
            rules = .known(.allowsAll)
        } else {
            rules = failures <= Self.delays.count ? .awaited : .unreachable(trouble)
        }
    }
}
