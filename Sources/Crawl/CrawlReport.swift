internal import Fetch
public import Store
internal import System
package import Web

/// The result of a crawl.
///
/// The driver (`Crawl`) adds each finished request while the crawl runs (`add(_:)`), and the URLs of the frontier once, at
/// the end (`complete(from:)`). Each URL is then stored (`pages`, `assets`, `redirects`), without a usable response
/// (`missing`), left out (`skipped`) or a wrong guess. These URLs are not counted: loaded sitemaps, URLs of other workers,
/// login pages that another URL redirects to, URLs to which only responses of an update file link
/// (`SkipReason.notSupplied`), and URLs that an interrupted run did not reach.
public struct CrawlReport: Sendable, Equatable {
    /// The name of the site.
    public package(set) var site: String
    /// The number of the snapshot.
    public package(set) var snapshot: Int64
    /// Whether the run continued an interrupted one.
    public package(set) var isContinued: Bool
    /// Whether the run was interrupted.
    public package(set) var isInterrupted = false
    /// Whether the new snapshot has the same content as the live one. The live one then stays, and `snapshot` is its number.
    public package(set) var isUnchanged = false
    /// Whether the snapshot is live. Between `complete(from:)` and the end of the run: whether it may be published.
    public package(set) var isPublished = false
    /// Whether the snapshot is complete, but was rejected.
    public package(set) var isRejected = false
    /// Whether the snapshot was rejected because it has too few pages.
    public package(set) var hasShrunk = false
    /// The login page or captive portal because of which the snapshot was rejected.
    package var interceptionPage: InterceptionPage?
    /// The URL of a start page that has a field for a password, if the run was not logged in.
    package var passwordPage: String?
    /// The doubts that `ReplacementCheck` left open, as text: changes that were rejected. The check of the next run begins
    /// with them.
    package var doubts: [String] = []
    /// Hosts whose login session ended during the run, so that no more was requested from them.
    public package(set) var lostSessions: [LostSession] = []
    /// The names in URLs by which side pages that were left out were recognised, such as `/commit/`, with the kind of
    /// each.
    var sideNames: [String: SidePage] = [:]
    /// The recognised views, with the URLs of their fetched pages (`QueryViews`).
    package var views: [String: [String]] = [:]
    /// The branches of repositories whose files were fetched, if others were left out (`RepositoryBranches`).
    var branches: [String: [String]] = [:]
    /// The number of pages.
    public package(set) var pages = 0
    /// The number of assets.
    public package(set) var assets = 0
    /// The number of redirects.
    public package(set) var redirects = 0
    /// The number of guesses that could not be loaded: for example, texts in scripts that looked like links, and recorded
    /// misses with a final response such as 404.
    public package(set) var wrongGuesses = 0
    /// The number of requests.
    public package(set) var requests = 0
    /// The number of stored responses that servers confirmed.
    public package(set) var confirmed = 0
    /// The size of the bodies that were therefore not sent.
    public package(set) var savedByteCount = 0
    /// The statistics of each host by its name. `hosts` is the sorted list.
    package var tallies: [String: Host] = [:]
    /// The limit that ended the crawl, or left pages out.
    package var limit: CrawlLimits.Reached?
    /// The URL patterns whose pages were not fetched any more.
    package var traps: [TrapReason] = []
    /// URLs of documents that are too large to be scanned. They are stored, but their links are not followed.
    public package(set) var unread: [String] = []
    /// URLs of documents with more than 100,000 links of one kind. Further links are not followed.
    public package(set) var overlong: [String] = []
    /// Whether certificates were not verified.
    public package(set) var isInsecure = false
    /// The number of bytes received from the network.
    public package(set) var wireByteCount = 0
    /// The size of the received bodies, without content coding.
    public package(set) var bodyByteCount = 0
    /// The duration of the run.
    public package(set) var elapsed: Duration = .zero
    /// The results of rendering pages.
    public package(set) var rendering = RenderReport()
    /// URLs without a usable response. Among them are the recorded misses that got no final response
    /// (`Missing.isRecordedMiss`).
    public package(set) var missing: [Missing] = []
    /// The URLs of recorded misses (`CrawlPlan.RecordedMiss`) that got no final response (`Failure.isFinalResponse`). They
    /// stay recorded for the next run.
    package var unansweredMisses: Set<String> = []
    /// Origins whose robots.txt could not be loaded. If one command updates several sites, the next ones do not wait long
    /// for them.
    package var failedRobotsOrigins: Set<String> = []
    /// URLs that a rule, a limit or a directive left out. Most of them were not requested.
    public package(set) var skipped: [Skipped] = []
    /// Hosts of other sites that have no address. Their URLs are broken on the live site.
    package var unknownHosts: Set<String> = []

    /// The numbers of missing URLs by class. URLs with a stored response of an earlier snapshot are not missing.
    public var missingURLs: MissingURLCounts {
        let missing = missing.filter { !$0.isRecordedMiss && !$0.isKeptFromBefore }
        let broken = missing.count(where: \.isBroken)
        return MissingURLCounts(
            broken: broken, failed: missing.count - broken, notFetched: skipped.count,
            unknownHosts: unknownHosts, snapshot: snapshot, isCutShort: isCutShort)
    }

    /// The reasons of the URLs that count as failed in `missingURLs`, for the store.
    package var failures: StoredFailures {
        let failed = missing.filter { !$0.isRecordedMiss && !$0.isKeptFromBefore && !$0.isBroken }
        return StoredFailures(snapshot: snapshot, failed.lazy.map { ($0.url, $0.reason) })
    }

    /// Whether a limit ended the run before it had all that belongs to the site (`MissingURLCounts.isCutShort`).
    public var isCutShort: Bool {
        switch limit {
        case .byteCount, .time: true
        case .pages, nil: skipped.contains { $0.isAsset && $0.isOverLimit }
        }
    }

    /// The statistics of each host, in the order of their names.
    public var hosts: [Host] { tallies.values.sorted { $0.name < $1.name } }

    /// The statistics of a host.
    public struct Host: Sendable, Equatable {
        /// The host name, without its port.
        public let name: String
        /// The number of requests.
        public package(set) var requests = 0
        /// The number of requests without a response, or with one that reports a fault of the server (5xx,
        /// 429).
        public package(set) var failures = 0
        /// The number of bytes received from it over the network.
        public package(set) var byteCount = 0
        /// `HTTP/1.1` or `HTTP/2`; nil if it never answered.
        public package(set) var version: String?
    }

    /// A host whose pages began to redirect to a login.
    public struct LostSession: Sendable, Equatable {
        /// `https://example.com`
        public let origin: String
        /// The URL of the login.
        public let login: String
    }

    /// The stored responses that stay in place because their new responses were rejected for one reason.
    public struct KeptStored: Sendable, Equatable {
        /// Why the new responses were rejected, such as `identical`, `empty` or `gone` (`ReplacementCheck.Reason`).
        public let reason: String
        /// The number of these responses.
        public let count: Int
        /// The reason as a sentence.
        public let text: String
    }

    /// A host that asked to wait longer than a run waits.
    public struct Deferral: Sendable, Equatable {
        /// The host name.
        public let host: String
        /// The value of its `Retry-After` header.
        public let seconds: Int64
    }

    /// The stored responses that stay in place, by reason, the most frequent first.
    public var keptStored: [KeptStored] {
        var counts: [ReplacementCheck.Reason: Int] = [:]
        for missing in missing {
            if case .rejected(let reason) = missing.failure { counts[reason, default: 0] += 1 }
        }
        return counts.map { KeptStored(reason: $0.rawValue, count: $1, text: $0.text) }
            .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    }

    /// The hosts that asked to wait longer than a run waits.
    public var deferrals: [Deferral] {
        var seconds: [String: Int64] = [:]
        for missing in missing {
            if case .deferred(_, let wait) = missing.failure {
                seconds[missing.address.host] = max(wait, seconds[missing.address.host] ?? 0)
            }
        }
        return seconds.map { Deferral(host: $0, seconds: $1) }.sorted { $0.host < $1.host }
    }

    /// A host that sent bot challenges instead of its content, and was then sent no more requests.
    public struct ChallengedHost: Sendable, Equatable {
        /// The host name.
        public let host: String
        /// The service that sends the challenges, such as `Cloudflare`; empty if it is not known.
        public let service: String
        /// The number of its URLs that could not be loaded because of the challenges.
        public let count: Int
    }

    /// The hosts that sent bot challenges, sorted by name.
    public var challengedHosts: [ChallengedHost] {
        var hosts: [String: (service: String, count: Int)] = [:]
        for missing in missing {
            guard case .challenged(let challenge) = missing.failure else { continue }
            hosts[missing.address.host, default: (challenge.service, 0)].count += 1
        }
        return hosts.map { ChallengedHost(host: $0, service: $1.service, count: $1.count) }
            .sorted { $0.host < $1.host }
    }

    /// A URL without a usable response: its request failed or was not sent, the response is an error or says "not found", or
    /// the response was rejected in favour of the stored one.
    public struct Missing: Sendable, Equatable {
        /// The URL. `url` is its text.
        package let address: WebURL
        /// The last failure of the URL.
        package let failure: Failure
        /// The URLs from a start URL to the page that requested it, without the middle of a very long chain. `chain` is their
        /// texts.
        package let referrers: [WebURL]
        /// Whether it is an asset; else it is a page.
        public let isAsset: Bool
        /// Whether an earlier snapshot has a response, which is still served.
        public let isKeptFromBefore: Bool
        /// Whether it is a recorded miss to which no page links, and which got no final response. It stays recorded, so that
        /// the next run requests it again.
        public package(set) var isRecordedMiss = false
        /// Whether its host has no address, and belongs to another site.
        fileprivate(set) var isOnUnknownHost = false
        /// Whether a page's script requested the URL and got an error that the site intends, such as 401. The error is
        /// stored, so that the script gets it offline as well.
        fileprivate(set) var isIntendedError = false

        /// The URL.
        public var url: String { address.href }
        /// Why it could not be loaded.
        public var reason: String { failure.description }
        /// The status of the server's answer, if that is why it could not be loaded.
        package var errorStatus: Int? { failure.errorStatus }
        /// Whether it could not be loaded because the server's certificate was not accepted.
        package var isOfTLS: Bool { failure.isOfTLS }
        /// The option with which it could be loaded, if there is one.
        public var remedy: Remedy? { failure.remedy }
        /// Whether the URL does not exist on the live site: the server answers 404 or 410, the page says "not found", or
        /// the host of another site has no address. Also true for an error that a page's script gets offline as well, if its
        /// status is from 400 to 499 and not 403.
        public var isBroken: Bool {
            failure.isGone || failure == .softNotFound || isOnUnknownHost || isIntendedError
        }
        /// The URLs from a start URL to the page that requested it, without the middle of a very long chain.
        public var chain: [String] { referrers.map(\.href) }
    }

    /// A URL that a rule, a limit or a directive left out. Most such URLs were not requested.
    public struct Skipped: Sendable, Equatable {
        /// The URL. `address` is the parsed one.
        public let url: String
        /// The rule, limit or directive that left it out.
        package let cause: SkipReason
        /// The page that links to it.
        public let referrer: String?
        /// Whether a stored page needs it as an asset.
        public let isAsset: Bool

        package var address: WebURL { WebURL(url) ?? .blank }
        /// Why it was left out.
        public var reason: String { cause.name }
        /// The option with which it would not be left out, if there is one.
        public var remedy: Remedy? { cause.remedy }
        /// Whether only a limit of the run left it out.
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
            "url": url, "asset": isAsset, "reason": reason, "broken": isBroken, "chain": chain,
            "keptFromBefore": isKeptFromBefore, "noted": IfAny(isRecordedMiss ? true : nil),
        ]
    }
}

extension CrawlReport.Skipped: JSONObject {
    package var members: JSONMembers {
        ["url": url, "reason": reason, "asset": isAsset, "referrer": IfAny(referrer)]
    }
}

extension CrawlReport {
    /// Adds a finished request to the counts, and to those of its host.
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

    /// Adds the URLs and results of the frontier at the end of a run, and decides whether the snapshot may be published, as
    /// far as the frontier shows it. `Crawl` and `CrawlEnding` may change that decision.
    ///
    /// - Parameters:
    ///   - rejected: the entries whose new responses were rejected in favour of the stored ones.
    ///   - reached: the limit that ended the run, if the frontier did not notice it.
    mutating func complete(
        from frontier: borrowing Frontier, rejected: [UInt32: ReplacementCheck.Reason] = [:],
        isInterrupted: Bool,
        limit reached: CrawlLimits.Reached? = nil
    ) {
        var hasStoredStart = false
        self.isInterrupted = isInterrupted
        limit = frontier.limits.reached ?? reached
        traps = frontier.traps.stopped
        lostSessions = frontier.lostSessions
        sideNames = frontier.sidePages.leftOutNames
        views = frontier.recognisedViews
        branches = frontier.branches.record
        failedRobotsOrigins = frontier.failedRobotsOrigins
        for number in frontier.numbers {
            let entry = frontier.entry(number)
            if let reason = rejected[number] {
                // The stored response has taken the place of the rejected one.
                hasStoredStart = hasStoredStart || entry.isStart && entry.state == .done
                missing.append(
                    missingURL(
                        number, .rejected(reason), frontier, isKeptFromBefore: entry.isKeptFromBefore
                    ))
                continue
            }
            switch entry.state {
            case .done:
                hasStoredStart = hasStoredStart || entry.isStart
                switch entry.role {
                case .page where entry.isSoftNotFound:
                    missing.append(missingURL(number, .softNotFound, frontier, isKeptFromBefore: false))
                case .page: pages += 1
                // The store counts it as a page.
                case .asset where entry.isStoredAsPage: pages += 1
                case .asset: assets += 1
                case .guide: break
                }
            case .redirected:
                redirects += 1
            // The network guard blocked the request for a recorded miss, which is not a failure of the site. A blocked URL
            // to which a page links is missing (below).
            case .failed(.fetch(let failure)) where failure.kind == .refused && frontier.isMiss(number):
                skipped.append(skippedURL(entry, .refused(failure.detail), frontier))
            case .failed(let failure) where frontier.isMiss(number) && !failure.isFinalResponse:
                // A recorded miss has no referrer, so the chain of its redirects begins with it.
                unansweredMisses.insert(frontier.chain(to: number).first?.href ?? "")
                var miss = missingURL(
                    number, failure, frontier, isKeptFromBefore: entry.isKeptFromBefore)
                miss.isRecordedMiss = true
                missing.append(miss)
            case .failed(let failure) where failure.isOfSession && entry.isRedirectTarget:
                // The URL that redirects there is reported.
                break
            case .failed where entry.isGuess:
                wrongGuesses += 1
            case .failed(let failure):
                missing.append(
                    missingURL(number, failure, frontier, isKeptFromBefore: entry.isKeptFromBefore))
            // A response of an update file links to the URL. An update does not request links, and the response may be
            // stored already.
            case .skipped(.notSupplied): break
            case .skipped(let reason):
                skipped.append(skippedURL(entry, reason, frontier))
            // Another worker reports it.
            case .elsewhere: break
            case .queued, .running, .waiting:
                // The run ended before the URL's turn: because of a limit, or because it was interrupted.
                if let limit = frontier.limits.reached ?? reached {
                    skipped.append(skippedURL(entry, .limit(limit), frontier))
                } else {
                    self.isInterrupted = true
                }
            }
        }
        // A limit that left out no URL, and no page to be rendered, did not affect the result.
        if !skipped.contains(where: \.isOverLimit), !frontier.renderScheduler.hasUnrenderedPages {
            limit = nil
        }
        // A snapshot without any start URL says nothing about the site.
        isPublished = !self.isInterrupted && hasStoredStart
    }

    /// Looks up the hosts that could not be resolved during the crawl once more, to distinguish domains that do not exist
    /// from a failing network. Stops at the first lookup that no name server answers. URLs of the remaining hosts count as
    /// failed.
    ///
    /// - Parameter starts: the hosts of the start URLs, which are not looked up. Their URLs never count as broken for this
    ///   reason.
    mutating func checkUnresolvedHosts(
        except starts: Set<String>, lookUp: (String) -> HostLookup.Answer
    ) {
        let hosts = Set(missing.filter { $0.failure.isUnknownHost }.map(\.address.host)).subtracting(starts)
        lookups: for host in hosts.sorted().prefix(Self.maxLookups) {
            switch lookUp(host) {
            case .hasAddress: break
            case .isUnknown: unknownHosts.insert(host)
            case .noAnswer: break lookups
            }
        }
        for index in missing.indices where unknownHosts.contains(missing[index].address.host) {
            missing[index].isOnUnknownHost = missing[index].failure.isUnknownHost
        }
    }

    /// Marks the URLs whose stored errors for scripts are intended. Errors of the server (500 to 599) may be temporary.
    mutating func noteErrorAnswers(_ urls: Set<WebURL>) {
        for index in missing.indices where urls.contains(missing[index].address) {
            guard case .status(let status) = missing[index].failure else { continue }
            // Some servers answer 403 to crawlers only.
            missing[index].isIntendedError = status < 500 && status != 403
        }
    }

    /// The maximum number of hosts that are looked up. URLs of further hosts count as failed.
    private static let maxLookups = 200

    private func skippedURL(_ entry: Frontier.EntryInfo, _ reason: SkipReason, _ frontier: borrowing Frontier)
        -> Skipped
    {
        Skipped(
            url: frontier.href(entry.number), cause: reason,
            referrer: entry.referrer.map { frontier.href($0) },
            isAsset: entry.role == .asset && !entry.isGuess)
    }

    private func missingURL(
        _ number: UInt32, _ failure: Failure, _ frontier: borrowing Frontier, isKeptFromBefore: Bool
    ) -> Missing {
        Missing(
            address: frontier.url(number), failure: failure, referrers: frontier.chain(to: number).dropLast(),
            isAsset: frontier.role(of: number) == .asset, isKeptFromBefore: isKeptFromBefore)
    }

    /// The details of digest mismatches, by URL.
    var digestMismatches: [String: String] {
        var mismatches: [String: String] = [:]
        for missing in missing {
            if case .digestMismatch(let detail) = missing.failure { mismatches[missing.url] = detail }
        }
        return mismatches
    }

    /// How the snapshot ends. A byte or time limit stops a run at any point, so that the snapshot goes live incomplete and
    /// the next run continues it; a page limit stops it after complete pages. A snapshot that may not be published is
    /// continued by the next run if this one was interrupted, and else deleted.
    func ending(now: Int64) -> SnapshotEnding {
        if isPublished {
            switch limit {
            case .pages, nil: return .publishIfChanged(now: now)
            case .byteCount, .time: return .publishSoFar
            }
        }
        return isInterrupted ? .keepOpen : .forget
    }
}

extension CrawlReport {
    /// Adds the traffic of an earlier run of the same prefetch, whose missing responses this run fetched. The confirmed
    /// responses and the results of rendering become those of the earlier run. Pages, assets and missing URLs stay as they
    /// are, because this report already has those of both runs.
    package mutating func include(_ earlier: CrawlReport) {
        isContinued = earlier.isContinued
        isUnchanged = isUnchanged && earlier.isUnchanged
        passwordPage = passwordPage ?? earlier.passwordPage
        requests += earlier.requests
        // The responses that this run confirms are those that the earlier run has just fetched or confirmed.
        confirmed = earlier.confirmed
        savedByteCount = earlier.savedByteCount
        wireByteCount += earlier.wireByteCount
        bodyByteCount += earlier.bodyByteCount
        elapsed += earlier.elapsed
        for (name, host) in earlier.tallies {
            guard var own = tallies[name] else {
                tallies[name] = host
                continue
            }
            own.requests += host.requests
            own.failures += host.failures
            own.byteCount += host.byteCount
            tallies[name] = own
        }
        // This run renders only a few more pages, of the same patterns, so that the earlier results say more.
        rendering = earlier.rendering
    }
}
