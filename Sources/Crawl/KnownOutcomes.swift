internal import Fetch
internal import Store
internal import Web

/// What workers found out about a snapshot, so that neither the next one who has a host nor the one who ends the snapshot
/// asks again. It belongs to the crawl's thread.
struct SnapshotMemory {
    private var outcomes: [String: Frontier.KnownOutcome] = [:]
    /// In the order in which they came; each is given once.
    private var answers: [String: [ServerFrontier.Answer]] = [:]
    /// Nothing that is not held is asked for any more.
    var limit: CrawlLimits.Reached?
    /// No page that is not held is, but for so many; nil without a limit.
    private var pages: (left: Int, limit: Int)?
    /// The limit of pages, where it kept one out.
    private(set) var pagesReached: CrawlLimits.Reached?

    init() {}

    mutating func add(_ outcomes: [ServerFrontier.Outcome], _ answers: [ServerFrontier.Answer]) {
        for outcome in outcomes {
            if let known = Frontier.KnownOutcome(text: outcome.text) { self.outcomes[outcome.href] = known }
        }
        for answer in answers { self.answers[answer.href, default: []].append(answer) }
    }

    mutating func limit(pagesLeft: Int, of limit: Int) { pages = (pagesLeft, limit) }

    /// A page is asked for, which counts; gives the limit where none may be any more.
    mutating func takePage() -> CrawlLimits.Reached? {
        guard let (left, limit) = pages else { return nil }
        pages?.left = max(0, left - 1)
        if left <= 0 { pagesReached = .pages(limit) }
        return left <= 0 ? .pages(limit) : nil
    }

    func outcome(of url: WebURL) -> Frontier.KnownOutcome? { outcomes[url.href] }

    /// Places without an end, in the order of what they have in common.
    var traps: [TrapReason] {
        var traps: [String: TrapReason] = [:]
        for case .skipped(.trap(let reason)) in outcomes.values { traps[reason.pattern] = reason }
        return traps.sorted { $0.key < $1.key }.map(\.value)
    }

    mutating func takeAnswer(to href: String) -> ServerFrontier.Answer? {
        guard let first = answers[href]?.first else { return nil }
        answers[href]?.removeFirst()
        return first
    }
}

extension Frontier.KnownOutcome {
    /// Somebody was asked, and nothing of the answer is stored: where the server says that there is nothing,
    /// that is.
    var wasAskedInVain: Bool {
        switch self {
        case .failed(let failure): !failure.isGone
        case .skipped(.endless): true
        case .skipped: false
        }
    }

    /// As the database keeps it: a word, and what belongs to it, behind tabs.
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
            self = .failed(.outwaited(failure))
        case "redirects": self = .failed(.redirects)
        case "nowhere": self = .failed(.nowhere)
        case "stand-in": self = .failed(.standIn)
        case "refused": self = .failed(.refused(rest))
        case "unwanted": self = .failed(.unwanted)
        case "altered": self = .failed(.altered(rest))
        case "soft": self = .failed(.softNotFound)
        case "login": self = .failed(.login(rest))
        case "session": self = .failed(.sessionEnded(rest))
        case "unasked":
            guard case .failed(let failure)? = Self(text: rest) else { return nil }
            self = .failed(.unasked(failure))
        case "held-back":
            guard let reason = ReplacementCheck.Reason(rawValue: rest) else { return nil }
            self = .failed(.rejected(reason))
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

    /// Nil for what everybody finds out alone.
    var text: String? {
        switch self {
        case .failed(let failure):
            switch failure {
            case .status(let status): "status\t\(status)"
            // Another machine may know names that this one does not.
            case .fetch(let failure) where failure.kind == .unknownHost: nil
            case .outwaited(let failure) where failure.kind == .unknownHost: nil
            case .fetch(let failure): "fetch\t\(failure.kind.rawValue)\t\(failure.detail)"
            case .outwaited(let failure): "outwaited\t\(failure.kind.rawValue)\t\(failure.detail)"
            case .redirects: "redirects"
            case .nowhere: "nowhere"
            case .standIn: "stand-in"
            case .refused(let rule): "refused\t\(rule)"
            case .unwanted: "unwanted"
            case .altered(let detail): "altered\t\(detail)"
            case .softNotFound: "soft"
            case .login(let place): "login\t\(place)"
            case .sessionEnded(let place): "session\t\(place)"
            case .unasked(let failure): Self.failed(failure).text.map { "unasked\t\($0)" }
            case .rejected(let reason): "held-back\t\(reason.rawValue)"
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
