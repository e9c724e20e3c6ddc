internal import Fetch
public import Store
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
    /// Changes that were held back, for the replacement check of the next run.
    package var doubts: [String] = []
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
    /// By name.
    package var tallies: [String: Host] = [:]
    /// The limit that ended the crawl, or kept pages out.
    package var limit: CrawlLimits.Reached?
    package var traps: [TrapReason] = []
    /// What is too large to be looked into: it is held, and what it needs and leads to is not known.
    public package(set) var unread: [String] = []
    /// Documents with more links than are followed, 100,000 of each kind: what they link to beyond that is not
    /// fetched.
    public package(set) var overlong: [String] = []
    /// Certificates are not looked at.
    public package(set) var isInsecure = false
    /// What came over the network.
    public package(set) var wireByteCount = 0
    /// The bodies of this run, without content coding.
    public package(set) var bodyByteCount = 0
    public package(set) var elapsed: Duration = .zero
    /// What rendering pages brought.
    public package(set) var rendering = RenderReport()
    public package(set) var missing: [Missing] = []
    /// Of what a server missed, what nobody answered to.
    package var unansweredMisses: Set<String> = []
    /// Origins whose robots.txt could not be had: the next site of the same run does not wait for them.
    package var doubted: Set<String> = []
    public package(set) var skipped: [Skipped] = []

    /// What the crawl had to do with each host, in the order of their names.
    public var hosts: [Host] { tallies.values.sorted { $0.name < $1.name } }

    public struct Host: Sendable, Equatable {
        public let name: String
        public package(set) var requests = 0
        /// Of them, those that got no answer, or one that the server is to blame for.
        public package(set) var failures = 0
        public package(set) var byteCount = 0
        /// `HTTP/1.1`, `HTTP/2`; nil when it never answered.
        public package(set) var version: String?
    }

    /// A host whose pages began to ask for a login.
    public struct LostSession: Sendable, Equatable {
        /// `https://example.com`
        public let origin: String
        /// Where its pages led.
        public let login: String
    }

    /// Stored responses that were kept, since the new ones look like those of a captive portal or a broken server.
    public struct KeptStored: Sendable, Equatable {
        /// Why the new ones were held back: `identical`, `empty`, `gone`.
        public let reason: String
        public let count: Int
        /// The reason as a sentence.
        public let text: String
    }

    /// A host that asked not to be asked again for longer than a run waits.
    public struct Deferral: Sendable, Equatable {
        public let host: String
        /// The value of its `Retry-After` header.
        public let seconds: Int64
    }

    /// By reason, the most frequent first.
    public var keptStored: [KeptStored] {
        var counts: [ReplacementCheck.Reason: Int] = [:]
        for missing in missing {
            if case .heldBack(let reason) = missing.failure { counts[reason, default: 0] += 1 }
        }
        return counts.map { KeptStored(reason: $0.rawValue, count: $1, text: $0.text) }
            .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    }

    public var deferrals: [Deferral] {
        var seconds: [String: Int64] = [:]
        for missing in missing {
            if case .deferred(_, let wait) = missing.failure {
                seconds[missing.address.host] = max(wait, seconds[missing.address.host] ?? 0)
            }
        }
        return seconds.map { Deferral(host: $0, seconds: $1) }.sorted { $0.host < $1.host }
    }

    /// Asked for, and not got.
    public struct Missing: Sendable, Equatable {
        package let address: WebURL
        package let failure: Failure
        package let way: [WebURL]
        /// A page needs it to look and work as it did.
        public let isRequisite: Bool
        /// An earlier visit has it, and that goes on being served.
        public let isKeptFromBefore: Bool
        /// No page of the run leads there: somebody asked a server of ours for it, and it stays noted.
        public package(set) var isNoted = false

        public var url: String { address.href }
        public var reason: String { failure.description }
        /// What would have it come, where one thing does.
        public var remedy: Remedy? { failure.remedy }
        /// The server says that there is no such thing.
        public var isGone: Bool { failure.isGone }
        /// From a start URL to the page that asked for it.
        public var chain: [String] { way.map(\.href) }
    }

    /// Linked, and not asked for.
    public struct Skipped: Sendable, Equatable {
        public let url: String
        package let cause: SkipReason
        public let referrer: String?
        /// Something that is held needs it.
        public let isRequisite: Bool

        package var address: WebURL { WebURL(url) ?? .blank }
        public var reason: String { cause.name }
        /// What would have it fetched, where one thing does.
        public var remedy: Remedy? { cause.remedy }
        /// It would have been fetched, had the run been allowed more.
        public var isOverLimit: Bool { cause.isOfLimit }
    }
}

extension CrawlReport.Host: JSONObject {
    package var members: JSONMembers {
        [
            "name": name, "requests": requests, "failures": failures, "bytes": byteCount,
            "version": IfAny(version),
        ]
    }
}

extension CrawlReport.Missing: JSONObject {
    package var members: JSONMembers {
        [
            "url": url, "requisite": isRequisite, "reason": reason, "gone": isGone, "chain": chain,
            "keptFromBefore": isKeptFromBefore, "noted": IfAny(isNoted ? true : nil),
        ]
    }
}

extension CrawlReport.Skipped: JSONObject {
    package var members: JSONMembers {
        ["url": url, "reason": reason, "requisite": isRequisite, "referrer": IfAny(referrer)]
    }
}

extension CrawlReport {
    mutating func add(_ result: FetchResult) {
        requests += 1
        wireByteCount += result.wireByteCount
        var tally = tallies[result.url.host] ?? Host(name: result.url.host)
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
        tallies[result.url.host] = tally
    }

    /// Counts what the frontier knows at the end.
    mutating func count(
        _ frontier: borrowing Frontier, _ keptFromBefore: Set<UInt32>,
        heldBack: [UInt32: ReplacementCheck.Reason] = [:], isInterrupted: Bool,
        limit reached: CrawlLimits.Reached? = nil
    ) {
        var isAnyStartHeld = false
        self.isInterrupted = isInterrupted
        limit = frontier.limit ?? reached
        traps = frontier.traps
        lostSessions = frontier.lostSessions
        doubted = frontier.doubted
        for entry in frontier.entries {
            let number = entry.number
            if let reason = heldBack[number] {
                isAnyStartHeld = isAnyStartHeld || entry.isStart && entry.state == .done
                missing.append(
                    missing(
                        number, .heldBack(reason), frontier, isKeptFromBefore: keptFromBefore.contains(number)
                    ))
                continue
            }
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
                var noted = missing(
                    number, failure, frontier, isKeptFromBefore: keptFromBefore.contains(number))
                noted.isNoted = true
                missing.append(noted)
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
            case .elsewhere: break
            case .queued, .running, .waiting:
                if let limit = frontier.limit ?? reached {
                    skipped.append(skipped(entry, .limit(limit), frontier))
                } else {
                    self.isInterrupted = true
                }
            }
        }
        // A limit that kept nothing out did not end anything.
        if !skipped.contains(where: \.isOverLimit), !frontier.rendering.isCut { limit = nil }
        // A visit of which not even the start was reached says nothing about the site.
        isPublished = !self.isInterrupted && isAnyStartHeld
    }

    private func skipped(_ entry: Frontier.Entry, _ reason: SkipReason, _ frontier: borrowing Frontier)
        -> Skipped
    {
        Skipped(
            url: frontier.text(entry.number), cause: reason,
            referrer: entry.referrer.map { frontier.text($0) },
            isRequisite: entry.role == .requisite && !entry.isGuess)
    }

    private func missing(
        _ number: UInt32, _ failure: Failure, _ frontier: borrowing Frontier, isKeptFromBefore: Bool
    ) -> Missing {
        Missing(
            address: frontier.url(number), failure: failure, way: frontier.chain(to: number).dropLast(),
            isRequisite: frontier.role(of: number) == .requisite, isKeptFromBefore: isKeptFromBefore)
    }

    /// What came and was not what it has to be, by URL.
    var refused: [String: String] {
        var refused: [String: String] = [:]
        for missing in missing {
            if case .altered(let detail) = missing.failure { refused[missing.url] = detail }
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
