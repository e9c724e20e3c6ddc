internal import Crawl
internal import Fetch
internal import Reports
internal import Store
internal import System
internal import Web

/// Requests the targets of links to other sites.
enum ExternalLinks {
    /// The result for a link.
    struct Result: Sendable, Equatable {
        var verdict: LinkCheckReport.Verdict
        var detail: String
    }

    /// The clock of a check, and how it takes pauses.
    struct Timing: Sendable {
        /// Returns how long a pause takes that should take this time.
        var pause: @Sendable (Duration) -> Duration = { $0 }
        /// The time in seconds since 1970.
        var secondsSinceEpoch: @Sendable () -> Int64 = { SystemClock.secondsSinceEpoch() }
    }

    /// Checks links; each URL may have a fragment. Blocks.
    ///
    /// Results that are stored in the cache file of the options, else in the store, and are not too old are used instead of
    /// requests, and new results are stored. A folder without a store gets none.
    ///
    /// - Parameter zone: The network zone of the documents with the links: the nearest one that the first request for a link may
    ///   connect to.
    /// - Throws: `LarderError` of kind `.interrupted`; of kind `.input` for invalid network options; of kind `.machine` if this
    ///   machine fails.
    static func check(
        _ urls: [WebURL], _ options: LinkCheckOptions, in folder: StoreFolder,
        from zone: NetworkZone = Principal.localUser.nearestZone, timing: Timing = Timing(),
        _ interruption: Interruption
    ) throws(LarderError) -> [Result] {
        let cache = try LinkResultCache(
            folder, file: options.cacheFile, maxAge: options.maxAge, now: timing.secondsSinceEpoch(),
            for: LinkResultCache.requestIdentity(options, zone))
        var results = cache.results(of: urls)
        let uncached = Set(urls.filter { results[$0.href] == nil })
        let groups = Dictionary(grouping: uncached) { $0.withoutFragment }
        let targets = groups.keys.sorted { $0.href < $1.href }
        let allowedZone = options.network?.allowedZone(zone) ?? .publicNetwork
        let checks = targets.map { target in
            ExternalLinkCheck(
                target, fragments: (groups[target] ?? []).compactMap(\.fragment).sorted(),
                nearestZone: max(zone, allowedZone), allowedZone: allowedZone,
                accepting: options.acceptedStatuses)
        }
        let targetCount = Set(urls.map(\.withoutFragment)).count
        let tally = ProgressCounter(.responses, of: targetCount, options.progress)
        if targetCount > targets.count { tally.add(targetCount - targets.count) }
        var run = ExternalLinkRun(
            checks, obeysRobots: options.obeysRobots, allowedZone, timing, tally, interruption)
        let fetchOptions = try fetchOptions(options.network)
        do throws(FetchFailure) { try run.run(fetchOptions) } catch { throw LarderError(error) }
        var lasting: [String: Result] = [:]
        for (target, check) in zip(targets, run.checks) {
            for url in groups[target] ?? [] {
                let result = check.result(forFragment: url.fragment)
                results[url.href] = result
                // While this machine is offline, all hosts seem to be missing.
                if check.hasResponded { lasting[url.href] = result }
            }
        }
        // After an interruption, the next check uses the results so far.
        cache.store(lasting)
        guard !interruption.isRequested else { throw .interrupted }
        return urls.map { results[$0.href] ?? Result(verdict: .notChecked, detail: "it was not requested") }
    }

    /// The maximum time from a request to the end of its response.
    private static let maxTime: Duration = .seconds(30)

    private static func fetchOptions(_ network: NetworkOptions?) throws(LarderError) -> FetchOptions {
        var options = FetchOptions.forReading
        if let network {
            let threshold = options.spoolThreshold
            options = try network.options(for: [], spoolFolder: options.spoolFolder)
            options.spoolThreshold = threshold
        }
        options.totalTimeout = min(options.totalTimeout ?? maxTime, maxTime)
        // An upgrade because of an earlier response would hide that a server redirects http permanently, and would make results
        // depend on the order of requests.
        options.strictTransport = nil
        return options
    }
}

// MARK: - Requests

/// Sends the requests of all checks. Belongs to one thread.
///
/// The requests are sent in rounds, each with new connections. A check that asks for a new connection continues in the next
/// round. There are at most three: each check is retried once, and may be put off in the first round.
private struct ExternalLinkRun {
    /// The checks by number. Requests for robots.txt files have the numbers from `checks.count` on.
    private(set) var checks: [ExternalLinkCheck]
    private let obeysRobots: Bool
    private let allowedZone: NetworkZone
    private let timing: ExternalLinks.Timing
    private let tally: ProgressCounter
    private let interruption: Interruption
    private let age = Stopwatch()
    private var queue = LinkRequestQueue()
    private var gates: [RobotsGate] = []
    private var gateIndexes: [RobotsGate.Key: Int] = [:]
    private var health: [String: OriginHealth] = [:]
    /// The checks that continue in the next round.
    private var deferred: [Int] = []
    private var round = 1

    /// The robots.txt of an origin.
    ///
    /// A file that cannot be loaded blocks no request. RFC 9309 has crawlers refrain then, but a check requests a single page,
    /// as a person does who follows the link.
    private struct RobotsGate {
        /// The zone is part of the key, so that the network guard's refusal of one request for the file does not stand for
        /// requests that may connect.
        struct Key: Hashable {
            let origin: String
            let zone: NetworkZone
        }

        var robots: OriginRobots
        /// The next request.
        var url: WebURL
        var nearestZone: NetworkZone
        /// The checks that wait for the file.
        var waiting: [Int] = []
    }

    /// Whether an origin answers.
    private struct OriginHealth {
        var hasResponded = false
        /// The number of requests of this round that ended without a connection or a response.
        var silentCount = 0
        var failure: FetchFailure?
        /// The number of timeouts since the last response.
        var timeoutCount = 0
        /// The number of times that checks have waited because of `Retry-After`.
        var waitCount = 0

        /// After this number of waits, further links to the origin are blocked, so that one server cannot hold up a check for hours.
        static let maxWaitCount = 4

        /// After this number, further requests would most likely only wait for the same failure.
        static let maxSilentCount = 3

        /// The failure of all requests to the origin; nil if they may succeed.
        var lastingFailure: FetchFailure? {
            let isSilent = !hasResponded && silentCount >= Self.maxSilentCount
            return isSilent || timeoutCount >= Self.maxSilentCount ? failure : nil
        }
    }

    /// The time between the starts of two requests to a host.
    private static let hostInterval: Duration = .milliseconds(100)
    /// A greater Crawl-delay is shortened to this, so that a check ends.
    private static let maxCrawlDelay: Duration = .seconds(5)
    /// The pause before requests on new connections.
    private static let retryPause: Duration = .seconds(2)

    init(
        _ checks: [ExternalLinkCheck], obeysRobots: Bool, _ allowedZone: NetworkZone,
        _ timing: ExternalLinks.Timing,
        _ tally: ProgressCounter, _ interruption: Interruption
    ) {
        self.checks = checks
        self.obeysRobots = obeysRobots
        self.allowedZone = allowedZone
        self.timing = timing
        self.tally = tally
        self.interruption = interruption
    }

    /// Runs all checks to their ends, or until the interruption.
    mutating func run(_ options: FetchOptions) throws(FetchFailure) {
        deferred = Array(checks.indices)
        while !deferred.isEmpty, !interruption.isRequested {
            let numbers = deferred
            deferred = []
            for number in numbers { submit(number, after: round > 1 ? Self.retryPause : .zero) }
            try runRound(options)
            round += 1
            for origin in health.keys {
                health[origin]?.silentCount = 0
                health[origin]?.timeoutCount = 0
            }
        }
    }

    private mutating func runRound(_ options: FetchOptions) throws(FetchFailure) {
        let loop = try FetchLoop(options)
        interruption.addWaker(loop.waker)
        defer { interruption.removeWaker(loop.waker) }
        while !interruption.isRequested {
            while let number = queue.next(now: age.elapsed) { start(number, loop) }
            let due = queue.nextStart
            guard queue.runningCount > 0 || due != nil else { break }
            let wait = due.map { min(.seconds(60), max(.zero, $0 - age.elapsed)) } ?? .seconds(60)
            for result in try loop.turn(waitingAtMost: wait) { try didEnd(result) }
        }
    }

    /// Queues the next request of a check, or that for the robots.txt which it has to wait for.
    private mutating func submit(_ number: Int, after pause: Duration = .zero) {
        let url = checks[number].url
        if obeysRobots {
            let index = gate(for: checks[number])
            switch gates[index].robots.verdict(on: url) {
            case .waits:
                gates[index].waiting.append(number)
                requestRobots(index)
                return
            case .refused(.robots):
                checks[number].didDisallow()
                return tally.add()
            case .allowed, .refused: break
            }
        }
        if pause > .zero { queue.pause(url.host, until: age.elapsed + timing.pause(pause)) }
        enqueue(UInt32(number), url)
    }

    private mutating func enqueue(_ number: UInt32, _ url: WebURL) {
        queue.add(number, to: url.host, interval: url.isOnLoopback ? .zero : timing.pause(Self.hostInterval))
    }

    private mutating func start(_ number: UInt32, _ loop: FetchLoop) {
        let index = Int(number)
        guard index < checks.count else {
            let gate = gates[index - checks.count]
            var request = FetchRequest(number: number, url: gate.url, nearestZone: gate.nearestZone)
            request.maxBytes = OriginRobots.maxBytes
            return loop.start(request)
        }
        let check = checks[index]
        if let failure = health[check.url.origin]?.lastingFailure {
            queue.didEnd(at: check.url.host)
            if round == 1 {
                deferred.append(index)
            } else {
                checks[index].giveUp(failure)
                tally.add()
            }
            return
        }
        var request = FetchRequest(number: number, url: check.url, nearestZone: check.nearestZone)
        request.method = check.method.rawValue
        request.maxBytes = check.maxBytes
        loop.start(request)
    }

    private mutating func didEnd(_ result: FetchResult) throws(FetchFailure) {
        queue.didEnd(at: result.url.host)
        // A check never resumes a body.
        result.partial?.discard()
        var health = health[result.url.origin] ?? OriginHealth()
        switch result.outcome {
        case .response: (health.hasResponded, health.timeoutCount) = (true, 0)
        case .failure(let failure):
            switch failure.kind {
            case .machine, .diskFull: throw failure
            case .unknownHost, .unreachable, .timeout:
                health.silentCount += 1
                health.failure = failure
                if failure.kind == .timeout { health.timeoutCount += 1 }
            case .broken, .invalidResponse, .tooLarge, .endless, .mismatch, .insecure, .refused, .interrupted:
                break
            }
        }
        self.health[result.url.origin] = health
        let number = Int(result.number)
        if number < checks.count {
            didEnd(result, of: number)
        } else {
            didEndRobots(result, of: number - checks.count)
        }
    }

    private mutating func didEnd(_ result: FetchResult, of number: Int) {
        let step: ExternalLinkCheck.Step
        switch result.outcome {
        case .failure(let failure): step = checks[number].didFail(failure)
        case .response(let response):
            let now = HTTPDate(secondsSinceEpoch: timing.secondsSinceEpoch())
            step = checks[number].didReceive(
                ExternalLinkCheck.Response(
                    status: response.status, fields: response.fields, body: Self.bytes(of: response.body),
                    isCut: response.isCut, zone: result.zone), now: now)
        }
        switch step {
        case .request: submit(number)
        case .requestAfter(let pause):
            let origin = result.url.origin
            health[origin, default: OriginHealth()].waitCount += 1
            guard health[origin]?.waitCount ?? 0 <= OriginHealth.maxWaitCount else {
                checks[number].stopWaiting()
                return tally.add()
            }
            submit(number, after: pause)
        case .retry: deferred.append(number)
        case .done: tally.add()
        }
    }

    /// The bytes of a body. Those of a file are not needed: `FetchOptions.spoolThreshold` is greater than the maximum sizes of
    /// all bodies here.
    private static func bytes(of body: FetchedBody) -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .file:
            body.discard()
            return []
        }
    }
}

// MARK: - robots.txt

extension ExternalLinkRun {
    private mutating func gate(for check: ExternalLinkCheck) -> Int {
        let key = RobotsGate.Key(origin: check.url.origin, zone: check.nearestZone)
        if let index = gateIndexes[key] { return index }
        // The file is requested once, without retries.
        let robots = OriginRobots(for: check.url, productToken: Product.token, hasFailedBefore: true)
        gates.append(RobotsGate(robots: robots, url: check.url, nearestZone: check.nearestZone))
        gateIndexes[key] = gates.count - 1
        return gates.count - 1
    }

    /// Queues the request for a robots.txt, unless that was done before.
    private mutating func requestRobots(_ index: Int) {
        guard let url = gates[index].robots.next(now: age.elapsed) else { return }
        gates[index].url = url
        enqueue(UInt32(checks.count + index), url)
    }

    private mutating func didEndRobots(_ result: FetchResult, of index: Int) {
        switch result.outcome {
        case .failure(let failure):
            gates[index].robots.didFail(failure.description, isTemporary: false, now: age.elapsed)
        case .response(let response):
            let bytes = Self.bytes(of: response.body)
            let target = gates[index].robots.didRespond(
                status: response.status,
                location: Redirect(response.status, response.fields, from: result.url)?.url,
                body: (response.isCut ? OriginRobots.wholeLines(bytes) : bytes).span, from: result.zone,
                now: age.elapsed)
            if let target {
                gates[index].url = target
                gates[index].nearestZone = max(allowedZone, gates[index].robots.chainZone)
                return enqueue(UInt32(checks.count + index), target)
            }
        }
        let waiting = gates[index].waiting
        gates[index].waiting = []
        if let delay = gates[index].robots.crawlDelay, let first = waiting.first,
            !checks[first].url.isOnLoopback
        {
            let interval = min(delay.applied, Self.maxCrawlDelay)
            queue.setInterval(timing.pause(interval), of: checks[first].url.host)
        }
        for number in waiting { submit(number) }
    }
}

extension WebURL {
    /// Whether the host is this machine, by its name or address.
    fileprivate var isOnLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || IPAddress(host)?.kind == .loopback
    }
}
