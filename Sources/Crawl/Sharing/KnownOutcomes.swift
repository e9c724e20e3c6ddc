internal import Cluster
internal import Fetch
internal import Store
internal import Web

/// The outcomes of URLs and the responses about hosts (robots.txt, probes) that other workers of a shared
/// snapshot found, so that a worker that takes over a host, or finishes the snapshot, does not repeat their
/// requests. It belongs to the crawl's thread.
struct KnownOutcomes {
    private var outcomes: [String: Frontier.KnownOutcome] = [:]
    /// Responses about hosts by their names, in the order of their arrival. Each is returned once.
    private var hostResponses: [String: [SharedFrontier.HostResponse]] = [:]
    /// The limit after which nothing more is requested; stored responses are still used.
    var limit: CrawlLimits.Reached?
    /// The page limit, with the number of pages that may still be requested; nil without a limit.
    private var pages: (left: Int, limit: Int)?
    /// The page limit, if it has excluded a page.
    private(set) var pagesReached: CrawlLimits.Reached?

    init() {}

    mutating func add(_ outcomes: [SharedFrontier.Outcome], _ responses: [SharedFrontier.HostResponse]) {
        for outcome in outcomes {
            if let known = Frontier.KnownOutcome(text: outcome.text) { self.outcomes[outcome.href] = known }
        }
        for response in responses { hostResponses[response.href, default: []].append(response) }
    }

    mutating func setPageLimit(pagesLeft: Int, of limit: Int) { pages = (pagesLeft, limit) }

    /// Counts a page that is about to be requested. Returns the limit if it has been reached, so that the
    /// page must not be requested.
    mutating func takePage() -> CrawlLimits.Reached? {
        guard let (left, limit) = pages else { return nil }
        pages?.left = max(0, left - 1)
        if left <= 0 { pagesReached = .pages(limit) }
        return left <= 0 ? .pages(limit) : nil
    }

    func outcome(of url: WebURL) -> Frontier.KnownOutcome? { outcomes[url.href] }

    /// The reasons why URLs were skipped as endless, one per URL pattern, in the order of the patterns.
    var traps: [TrapReason] {
        var traps: [String: TrapReason] = [:]
        for case .skipped(.trap(let reason)) in outcomes.values { traps[reason.pattern] = reason }
        return traps.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Returns the next response under this name, and forgets it.
    mutating func takeHostResponse(to href: String) -> SharedFrontier.HostResponse? {
        guard let first = hostResponses[href]?.first else { return nil }
        hostResponses[href]?.removeFirst()
        return first
    }
}

extension Frontier.KnownOutcome {
    /// Whether a request was sent of whose response nothing is stored. False for 404 and 410, which are
    /// stored as tombstones.
    var isRequestWithoutStoredResponse: Bool {
        switch self {
        case .failed(let failure): !failure.isGone
        case .skipped(.endless): true
        case .skipped: false
        }
    }

    /// Parses the text in the database: a word, and its details after tabs.
    init?(text: String) {
        let parts = text.utf8.split(separator: 0x09, maxSplits: 1, omittingEmptySubsequences: false)
        let rest = parts.count > 1 ? String(parts[1]) ?? "" : ""
        func fields(_ count: Int) -> [String]? {
            let fields = rest.utf8.split(
                separator: 0x09, maxSplits: count - 1, omittingEmptySubsequences: false)
            return fields.count == count ? fields.map { String($0) ?? "" } : nil
        }
        func failure() -> FetchFailure? {
            guard let fields = fields(2), let kind = FetchFailure.Kind(rawValue: fields[0]) else {
                return nil
            }
            return FetchFailure(kind, fields[1])
        }
        switch String(parts[0]) {
        case "status":
            guard let status = Int(rest) else { return nil }
            self = .failed(.status(status))
        case "fetch":
            guard let failure = failure() else { return nil }
            self = .failed(.fetch(failure))
        case "outwaited":
            guard let failure = failure() else { return nil }
            self = .failed(.hostSilent(failure))
        case "redirects": self = .failed(.redirects)
        case "nowhere": self = .failed(.redirectWithoutTarget)
        case "stand-in": self = .failed(.htmlInstead)
        case "refused": self = .failed(.rejectedByRule(rest))
        case "unwanted": self = .failed(.declinedByApp)
        case "altered": self = .failed(.digestMismatch(rest))
        case "soft": self = .failed(.softNotFound)
        case "login": self = .failed(.login(rest))
        case "session": self = .failed(.sessionEnded(rest))
        case "unasked":
            guard case .failed(let failure)? = Self(text: rest) else { return nil }
            self = .failed(.notRequested(failure))
        case "held-back":
            guard let reason = ReplacementCheck.Reason(rawValue: rest) else { return nil }
            self = .failed(.rejected(reason))
        case "challenged": self = .failed(.challenged(BotChallenge(service: rest)))
        case "deferred":
            guard let fields = fields(2), let status = Int(fields[0]), let seconds = Int64(fields[1]) else {
                return nil
            }
            self = .failed(.deferred(status: status, seconds: seconds))
        case "endless": self = .skipped(.endless(rest))
        case "unstored": self = .skipped(.unstored(rest))
        case "trap":
            guard let fields = fields(4), let number = UInt8(fields[0]),
                let kind = TrapReason.Kind(rawValue: number),
                let pages = Int(fields[1]), let alike = Int(fields[2])
            else { return nil }
            self = .skipped(.trap(TrapReason(kind: kind, pattern: fields[3], pages: pages, alike: alike)))
        default: return nil
        }
    }

    /// The text for the database; nil for outcomes that each worker has to find by itself.
    var text: String? {
        switch self {
        case .failed(let failure):
            switch failure {
            case .status(let status): "status\t\(status)"
            // Another machine may be able to resolve the name.
            case .fetch(let failure) where failure.kind == .unknownHost: nil
            case .hostSilent(let failure) where failure.kind == .unknownHost: nil
            case .fetch(let failure): "fetch\t\(failure.kind.rawValue)\t\(failure.detail)"
            case .hostSilent(let failure): "outwaited\t\(failure.kind.rawValue)\t\(failure.detail)"
            case .redirects: "redirects"
            case .redirectWithoutTarget: "nowhere"
            case .htmlInstead: "stand-in"
            case .rejectedByRule(let rule): "refused\t\(rule)"
            case .declinedByApp: "unwanted"
            case .digestMismatch(let detail): "altered\t\(detail)"
            case .softNotFound: "soft"
            case .login(let place): "login\t\(place)"
            case .sessionEnded(let place): "session\t\(place)"
            case .notRequested(let failure): Self.failed(failure).text.map { "unasked\t\($0)" }
            case .rejected(let reason): "held-back\t\(reason.rawValue)"
            case .challenged(let challenge): "challenged\t\(challenge.service)"
            case .deferred(let status, let seconds): "deferred\t\(status)\t\(seconds)"
            }
        case .skipped(.endless(let why)): "endless\t\(why)"
        case .skipped(.unstored(let rule)): "unstored\t\(rule)"
        case .skipped(.trap(let reason)):
            "trap\t\(reason.kind.rawValue)\t\(reason.pages)\t\(reason.alike)\t\(reason.pattern)"
        case .skipped: nil
        }
    }
}
