internal import Fetch
internal import Store
package import Web

/// What a crawl did, and everything that it did not get.
public struct CrawlReport: Sendable, Equatable {
    public package(set) var site: String
    public package(set) var visit: Int64
    /// It went on with what an interrupted run had.
    public package(set) var isContinued: Bool
    public package(set) var isInterrupted = false
    /// Readers see this visit from now on.
    public package(set) var isPublished = false
    /// It is complete, and the gate did not let it pass.
    public package(set) var isHeldBack = false
    /// That is so since it has too few pages.
    public package(set) var hasShrunk = false
    /// That is so since this stands in the way of the site.
    package var wall: SiteWall?
    /// Where the session ended on the way, so that no more was asked.
    public package(set) var lostSessions: [LostSession] = []
    public package(set) var pages = 0
    public package(set) var requisites = 0
    public package(set) var redirects = 0
    /// What looked like a link in a script and led to nothing.
    public package(set) var wrongGuesses = 0
    public package(set) var requests = 0
    /// What the servers said is still as it is held.
    public package(set) var confirmed = 0
    /// The bodies that were therefore not sent.
    public package(set) var savedByteCount = 0
    /// What the crawl had to do with each host, by name.
    package var hosts: [String: HostTally] = [:]
    /// The limit that ended the crawl, or kept pages out.
    package var limit: CrawlLimits.Reached?
    package var traps: [TrapReason] = []
    /// Certificates are not looked at.
    public package(set) var isInsecure = false
    /// What came over the network.
    public package(set) var wireByteCount = 0
    /// The bodies of this run, without content coding.
    public package(set) var bodyByteCount = 0
    public package(set) var elapsed: Duration = .zero
    package var missing: [Missing] = []
    /// Of what a server missed, what nobody answered to.
    package var unansweredMisses: Set<String> = []
    package var skipped: [Skipped] = []

    /// A host whose pages began to ask for a login.
    public struct LostSession: Sendable, Equatable {
        /// `https://example.com`
        public let origin: String
        /// Where its pages led.
        public let login: String
    }

    /// Asked for, and not got.
    package struct Missing: Sendable, Equatable {
        package var url: WebURL
        package var isRequisite: Bool
        package var failure: Failure
        /// From a start URL to the page that asked for it.
        package var chain: [WebURL]
        /// An earlier visit has it, and readers go on seeing that.
        package var isKeptFromBefore: Bool
    }

    /// Linked, and not asked for.
    package struct Skipped: Sendable, Equatable {
        package var url: WebURL
        package var reason: SkipReason
        package var referrer: WebURL?
        /// Something that is held needs it.
        package var isRequisite: Bool
    }
}

extension CrawlReport {
    mutating func add(_ result: FetchResult) {
        requests += 1
        wireByteCount += result.wireByteCount
        var tally = hosts[result.url.host] ?? HostTally()
        tally.requests += 1
        tally.byteCount += result.wireByteCount
        switch result.outcome {
        case .failure: tally.failures += 1
        case .response(let response):
            if response.status >= 500 || response.status == 429 { tally.failures += 1 }
        }
        if let exchange = result.exchange {
            tally.version = exchange.version?.rawValue ?? tally.version
            isInsecure = isInsecure || exchange.security == .unverified
        }
        hosts[result.url.host] = tally
    }

    /// Counts what the frontier knows at the end.
    mutating func count(_ frontier: Frontier, _ keptFromBefore: Set<UInt32>, isInterrupted: Bool) {
        var isAnyStartHeld = false
        self.isInterrupted = isInterrupted
        limit = frontier.limit
        traps = frontier.traps
        lostSessions = frontier.lostSessions
        for entry in frontier.entries {
            let number = entry.number
            switch entry.state {
            case .done:
                isAnyStartHeld = isAnyStartHeld || entry.isStart
                switch entry.role {
                case .page where entry.isSoftNotFound:
                    missing.append(missing(number, .softNotFound, frontier, isKeptFromBefore: false))
                case .page: pages += 1
                case .requisite: requisites += 1
                case .guide: break
                }
            case .redirected:
                redirects += 1
            case .failed(.fetch(let failure)) where failure.kind == .refused && frontier.isMiss(number):
                skipped.append(skipped(entry, .refused(failure.detail), frontier))
            case .failed(let failure) where frontier.isMiss(number) && !failure.isAnswer:
                unansweredMisses.insert(frontier.chain(to: number).first?.href ?? "")
                missing.append(
                    missing(number, failure, frontier, isKeptFromBefore: keptFromBefore.contains(number)))
            case .failed(let failure) where failure.isOfSession && entry.isRedirectTarget:
                // What leads there is told.
                break
            case .failed where entry.isGuess:
                wrongGuesses += 1
            case .failed(let failure):
                missing.append(
                    missing(number, failure, frontier, isKeptFromBefore: keptFromBefore.contains(number)))
            case .skipped(let reason):
                skipped.append(skipped(entry, reason, frontier))
            case .queued, .running, .waiting:
                if let limit = frontier.limit {
                    skipped.append(skipped(entry, .limit(limit), frontier))
                } else {
                    self.isInterrupted = true
                }
            }
        }
        // A limit that kept nothing out did not end anything.
        if !skipped.contains(where: \.reason.isOfLimit) { limit = nil }
        // A visit of which not even the start was reached says nothing about the site.
        isPublished = !self.isInterrupted && isAnyStartHeld
    }

    private func skipped(_ entry: Frontier.Entry, _ reason: SkipReason, _ frontier: Frontier) -> Skipped {
        Skipped(
            url: frontier.url(entry.number), reason: reason,
            referrer: entry.referrer.map { frontier.url($0) },
            isRequisite: entry.role == .requisite && !entry.isGuess)
    }

    private func missing(
        _ number: UInt32, _ failure: Failure, _ frontier: Frontier, isKeptFromBefore: Bool
    ) -> Missing {
        Missing(
            url: frontier.url(number), isRequisite: frontier.role(of: number) == .requisite, failure: failure,
            chain: frontier.chain(to: number).dropLast(), isKeptFromBefore: isKeptFromBefore)
    }

    /// What came and was not what it has to be, by URL.
    var refused: [String: String] {
        var refused: [String: String] = [:]
        for missing in missing {
            if case .altered(let detail) = missing.failure { refused[missing.url.href] = detail }
        }
        return refused
    }

    func ending(now: Int64) -> VisitEnding {
        if isPublished {
            switch limit {
            // So many pages are what is wanted of the site; the others are what one run may cost.
            case .pages, nil: return .publish(now: now)
            case .byteCount, .time: return .publishSoFar
            }
        }
        return isInterrupted ? .keepOpen : .forget
    }
}

/// What a crawl had to do with one host.
package struct HostTally: Sendable, Equatable {
    package var requests = 0
    package var failures = 0
    package var byteCount = 0
    /// `HTTP/1.1`, `HTTP/2`; nil when it never answered.
    package var version: String?
}

/// How far a crawl is.
package struct CrawlProgress: Sendable, Equatable {
    package var elapsed: Duration = .zero
    /// Nothing is asked for any more: what came is being stored.
    package var isEnding = false
    package var done = 0
    /// Of them, what pages need.
    package var doneRequisites = 0
    package var failed = 0
    package var queuedPages = 0
    package var queuedRequisites = 0
    package var known = 0
    package var running = 0
    /// Pages that wait for what robots.txt says.
    package var atGate = 0
    /// What failed, and is to be tried again.
    package var toRetry = 0
    package var scanning = 0
    package var requests = 0
    package var confirmed = 0
    package var savedByteCount = 0
    package var byteCount = 0
    /// Those that something is asked of, or is to be; the busiest first, and not all of very many.
    package var hosts: [Host] = []
    package var hostCount = 0

    package struct Host: Sendable, Equatable {
        package var name: String
        package var running = 0
        package var queued = 0
        /// How many requests it gets at once.
        package var limit = 0
        package var requests = 0
        /// For how long nothing is asked of it; nil while something may be.
        package var pause: Duration?
    }
}

/// What came of one request.
package struct CrawlAnswer: Sendable, Equatable {
    package enum Kind: String, Sendable, Equatable {
        case page, requisite, guide
        /// A robots.txt.
        case robots
        /// Something that no server can have, to learn how it says so.
        case probe
    }

    package var url: String
    package var kind: Kind
    /// Nil when there was no answer.
    package var status: Int?
    /// Why there was none.
    package var failure: String?
    /// What came over the network.
    package var byteCount: Int
    package var elapsed: Duration
}
