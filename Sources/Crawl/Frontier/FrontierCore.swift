internal import Fetch
internal import Web

/// What a `Frontier` knows, and by what it decides. It has several files, all of whose members are open to
/// each other; no other type holds one.
///
/// Its hosts stand in a line, wait for a time, or stand aside until an answer comes, so that what is next is
/// found without looking at all of them.
struct FrontierCore: Sendable {
    typealias Options = Frontier.Options
    typealias Role = Frontier.Role
    typealias State = Frontier.State
    typealias Task = Frontier.Task
    typealias Action = Frontier.Action

    var runningCount = 0
    var doneCount = 0
    /// Of them, what pages need.
    var doneAssetCount = 0
    /// Of what failed, what only looked like a link.
    var wrongGuessCount = 0
    var records: [Record] = []
    var urls = URLTable()
    var hosts: [Host] = []
    private(set) var hostNumbers: [String: Int] = [:]
    private var lastHost: (origin: String, number: Int)?
    /// Hosts that may start something, in turn.
    private var line = WorkQueue()
    /// Hosts whose pause is over at a time.
    private var pauses = TimedQueue()
    /// Hosts with something queued.
    private var queuedHostCount = 0
    /// Hosts whose robots.txt is to be asked for, since pages wait for it.
    var gates = TimedQueue()
    /// Hosts that are to be asked for what they cannot have.
    var probes = WorkQueue()
    /// Hosts whose session may have ended.
    var witnesses = WorkQueue()
    /// Pages that ask for a login under an address of their own.
    var logins: Set<UInt32> = []
    /// Pages that are being looked into for one.
    var scanning: Set<UInt32> = []
    /// Redirects of pages that wait for what is there, by where they lead.
    var openRedirects: [UInt32: [OpenRedirect]] = [:]
    var retries = TimedQueue()
    var failures: [UInt32: Failure] = [:]
    /// What failed with its host, and nobody was told of yet.
    var lost: [UInt32] = []
    var reasons = ReasonTable()
    /// The latest time that is known.
    var now: Duration = .zero
    var scope: Scope
    var traps = Traps()
    let options: Options
    var usage = CrawlLimits.Usage()
    /// What goes to other workers, where there are such.
    var sharing: FrontierSharing?
    /// Since when nothing starts.
    private var stopped: Duration?
    /// Why no further page starts, or nothing at all.
    private(set) var limit: CrawlLimits.Reached?
    /// Whom an entry leads to, where the depth counts: a shorter way to a page is one to what it leads to as
    /// well.
    var ways = DepthWays()
    /// How the first link to an entry was written, where that names a session as well.
    var unstripped: [UInt32: WebURL] = [:]

    /// What pages and scripts said to loaders of modules.
    var loaders = LoaderBook()
    var renders: RenderBook
    private var nextEarlyLook = Duration.zero
    /// Which page was the first to ask for what no scan had found, when a browser showed it.
    var neededBy: [UInt32: UInt32] = [:]
    /// Pages that may be rendered, and whose links are not followed.
    var unfollowed: Set<UInt32> = []
    var bounds = AssetBounds()
    /// Hosts whose names were not found once.
    var lostHosts: Set<Int> = []
    /// How many hosts were asked for something and have never answered, and when somebody last did.
    var silentHostCount = 0
    var lastAnswer: Duration = .zero
    /// How many sitemaps were discovered behind others, by how many levels.
    var sitemaps: [Int: Int] = [:]
    /// Redirects that set a cookie, and how often.
    var cookieSetters: [UInt32: UInt8] = [:]

    /// Of the documents that asked for what no page of this crawl leads to.
    var origins: [UInt32: String] = [:]

    /// What runs when a limit is reached may come to its end, if it does so soon.
    private static let longestEnd: Duration = .seconds(5)
    static let mostCookieRounds: UInt8 = 3

    init(scope: Scope, options: Options = Options()) {
        self.scope = scope
        self.options = options
        renders = options.rendering
        sharing = options.isShared ? FrontierSharing() : nil
    }

    /// Nothing runs and nothing will.
    var isDone: Bool {
        runningCount == 0
            && (isStopped
                || queuedHostCount == 0 && retries.isEmpty && gates.isEmpty && isNobodyInDoubt
                    && renders.isIdle)
    }

    /// No host is to be asked anything about itself.
    var isNobodyInDoubt: Bool { probes.isEmpty && witnesses.isEmpty }

    /// A limit ends the crawl, whatever is left.
    var isStopped: Bool {
        switch limit {
        case .byteCount, .time: true
        case .pages, nil: false
        }
    }

    /// The time is up: what runs is not waited for, and for not much longer where something else has stopped
    /// the crawl.
    var isOutOfTime: Bool {
        switch limit {
        case .time: true
        case .byteCount: stopped.map { now - $0 >= Self.longestEnd } ?? false
        case .pages, nil: false
        }
    }

    /// When something that waits is due, be it a retry, a host that is given a pause, a robots.txt or the
    /// end; nil when nothing waits.
    var nextDue: Duration? {
        if isStopped { return stopped.map { $0 + Self.longestEnd } }
        let dues = [retries.next, pauses.next, gates.next, options.limits.time, endOfPatience(at: now)]
        return dues.lazy.compactMap { $0 }.min()
    }

    mutating func start(_ url: WebURL, nearestZone: NetworkZone) {
        discover(
            url.withoutFragment, role: .page, from: nil, redirects: 0, flags: .isStart,
            nearestZone: nearestZone)
    }

    /// Adds a sitemap that robots.txt or the user names.
    mutating func startGuide(_ url: WebURL, nearestZone: NetworkZone) {
        discover(url.withoutFragment, role: .guide, from: nil, redirects: 0, nearestZone: nearestZone)
    }

    /// What is needed, whoever says so.
    mutating func startAsset(_ url: WebURL, isStart: Bool = false, nearestZone: NetworkZone) {
        discover(
            url.withoutFragment, role: .asset, from: nil, redirects: 0, flags: isStart ? .isStart : [],
            nearestZone: nearestZone)
    }

    /// What somebody looked for, who may lead so far; if there is no such thing, nothing is missing.
    ///
    /// - Parameter origin: of the document that asked for it by CORS.
    mutating func startGuess(
        _ url: WebURL, isPage: Bool, nearestZone: NetworkZone, origin: String? = nil
    ) {
        let number = discover(
            url.key, role: isPage ? .page : .asset, from: nil, redirects: 0,
            flags: origin == nil ? .isGuess : [.isGuess, .isCORS], nearestZone: nearestZone)
        if let origin, records[Int(number)].referrer == Record.nobody { origins[number] = origin }
    }

    /// What to fetch now; nil when every host is busy, enough runs, or nothing is left.
    mutating func next(now: Duration) -> Task? {
        tick(now)
        guard runningCount < Frontier.mostRunning || options.isUnpaced, !isStopped else { return nil }
        while let number = gates.popDue(now: now) {
            let host = Int(number)
            hosts[host].isGateDue = false
            guard !hosts[host].isElsewhere, let url = hosts[host].gate?.next(now: now) else { continue }
            runningCount += 1
            hosts[host].isAskingGate = true
            noteStart(of: host)
            return .robots(host: host, url, hosts[host].nearestZone)
        }
        while let number = probes.popFirst() {
            let host = Int(number)
            guard let url = hosts[host].softNotFound.startProbe() else { continue }
            runningCount += 1
            return .probe(host: host, url, hosts[host].probeZone)
        }
        while let number = witnesses.popFirst() {
            let host = Int(number)
            guard let page = hosts[host].session.takeWitness() else { continue }
            runningCount += 1
            return .witness(host: host, url(page), records[Int(page)].zone)
        }
        if let number = nextQueued() { return .fetch(number) }
        if let number = renders.next(isThere) ?? nextEarlyPage() { return .render(number) }
        guard !lostHosts.isEmpty, runningCount == 0 else { return nil }
        lookUpLostNow()
        return nextQueued().map(Task.fetch)
    }

    /// One that is shown before everything has come; looked for once in a while.
    private mutating func nextEarlyPage() -> UInt32? {
        guard renders.waitsForEarly, now >= nextEarlyLook else { return nil }
        nextEarlyLook = now + Self.earlyLookInterval
        return renders.nextEarly(isThere)
    }

    /// Whether something that a page needs came, or never will.
    private var isThere: (UInt32) -> Bool {
        { [records] number in
            let record = records[Int(number)]
            return switch record.state {
            case .queued, .running, .waiting: record.flags.contains(.isGuess)
            case .done, .redirected, .failed, .skipped, .elsewhere: true
            }
        }
    }

    private static let earlyLookInterval = Duration.milliseconds(50)

    private mutating func tick(_ now: Duration) {
        self.now = now
        usage.elapsed = now
        limit = limit ?? options.limits.reasonToStop(usage)
        if isStopped { stopped = stopped ?? now }
        while let number = retries.popDue(now: now) {
            if records[Int(number)].state == .waiting { enqueue(number) }
        }
        while let host = pauses.popDue(now: now) {
            hosts[Int(host)].place = .aside
            place(Int(host))
        }
    }

    private mutating func nextQueued() -> UInt32? {
        while let number = line.popFirst() {
            let host = Int(number)
            hosts[host].place = .aside
            if mayStart(host), let number = popQueued(of: host) {
                records[Int(number)].state = .running
                records[Int(number)].attempts = min(records[Int(number)].attempts, .max - 1) + 1
                hosts[host].pace.started(now: now)
                runningCount += 1
                noteStart(of: host)
                place(host)
                return number
            }
            place(host)
        }
        return nil
    }

    private func mayStart(_ host: Int) -> Bool {
        options.isUnpaced || hosts[host].pace.mayStart(now: now) > 0
    }

    /// Puts a host with something queued where it will be found in time.
    mutating func place(_ host: Int) {
        guard hosts[host].place == .aside, hosts[host].queuedCount > 0 else { return }
        if mayStart(host) {
            hosts[host].place = .inLine
            line.append(UInt32(host))
        } else if let time = hosts[host].pace.nextStart {
            hosts[host].place = .paused
            pauses.add(UInt32(host), at: max(time, now + .microseconds(1)))
        }
    }

    /// Pages over a limit, or of a pattern that turned out to be a trap meanwhile, are skipped here; with no
    /// page left to ask for, no list of pages is either.
    private mutating func popQueued(of host: Int) -> UInt32? {
        while let number = popFirst(of: host) {
            // One that was queued as a page and again as an asset is fetched once.
            guard records[Int(number)].state == .queued else { continue }
            changeQueued(of: host, by: -1)
            let record = records[Int(number)]
            if record.flags.contains(.isGuess), record.referrer != Record.nobody, hosts[host].isGuessedInVain
            {
                skip(number, .guess)
                continue
            }
            guard record.role != .asset, record.attempts == 0 else { return number }
            if let reached = options.limits.reasonToStopPages(usage) {
                limit = reached
                skip(number, .limit(reached))
            } else if record.role == .guide {
                return number
            } else if sharing?.mayAskPage(usage.pages) == false {
                hold(page: number)
            } else if !record.flags.contains(.isStart), !traps.isQuiet,
                case .stopped(let reason) = traps.verdict(on: url(number))
            {
                skip(number, .trap(reason))
            } else {
                usage.pages += 1
                return number
            }
        }
        return nil
    }

    private mutating func popFirst(of host: Int) -> UInt32? {
        let suspects = hosts[host].faults.suspects
        guard !suspects.isEmpty else { return hosts[host].popFirst() }
        return hosts[host].popTelling { [records, urls] number in
            records[Int(number)].state == .queued
                && suspects.contains(urls.folder(number))
        } isFresh: { [records] number in
            records[Int(number)].attempts == 0
        }
    }

    mutating func changeQueued(of host: Int, by change: Int) {
        let before = hosts[host].queuedCount
        hosts[host].queuedCount += change
        if before == 0 { queuedHostCount += 1 }
        if hosts[host].queuedCount == 0 { queuedHostCount -= 1 }
    }

    mutating func enqueue(_ number: UInt32) {
        let host = Int(records[Int(number)].host)
        if hosts[host].isElsewhere {
            records[Int(number)].state = .elsewhere
            return
        }
        if hosts[host].isLost, let failure = hosts[host].unreached {
            lost.append(number)
            return fail(number, failure)
        }
        if let deferral = hosts[host].deferral {
            lost.append(number)
            return fail(number, deferral)
        }
        if hosts[host].isClosed, let place = hosts[host].session.end {
            return fail(number, .sessionEnded(place))
        }
        let isNew = records[Int(number)].state != .queued
        records[Int(number)].state = .queued
        if options.hasSession, records[Int(number)].redirects > 0 {
            // Whether it is a login has to be known soon.
            hosts[host].appendAtOnce(number)
        } else {
            hosts[host].append(number, records[Int(number)], kin: urls.kin(number))
        }
        guard isNew else { return }
        changeQueued(of: host, by: 1)
        place(host)
    }

    mutating func received(_ byteCount: Int) {
        usage.byteCount += byteCount
    }

    mutating func hostNumber(of url: WebURL) -> Int {
        // As a rule it is that of the one before.
        if let last = lastHost, url.begins(withOrigin: last.origin) { return last.number }
        let origin = url.origin
        if let known = hostNumbers[origin] {
            lastHost = (origin, known)
            return known
        }
        let gate = options.productToken.map {
            RobotsGate(
                for: url, productToken: $0, obeys: options.obeysRobots,
                isDoubted: options.doubted.contains(origin))
        }
        hosts.append(Host(pace: HostPace(highest: options.connectionsPerHost), gate: url.isHTTP ? gate : nil))
        hosts[hosts.count - 1].isElsewhere = sharing != nil
        hostNumbers[origin] = hosts.count - 1
        return hosts.count - 1
    }
}

/// Hosts that never answer are not waited for when all else is done.
extension FrontierCore {
    /// When nobody waits any longer; nil while something else is under way or due, and where everybody has
    /// answered.
    func endOfPatience(at time: Duration) -> Duration? {
        guard let patience = options.patience, silentHostCount > 0, !isStopped, renders.runningCount == 0
        else { return nil }
        // Whoever has just answered is likely to answer again: looking at all hosts can wait.
        guard time - lastAnswer >= Self.quietTime else { return lastAnswer + Self.quietTime }
        var (last, running) = (Duration.zero, 0)
        for host in hosts.indices
        where hosts[host].runningCount > 0 || hosts[host].queuedCount > 0 || !hosts[host].atGate.isEmpty {
            guard isSilent(host) else { return nil }
            last = max(last, hosts[host].firstStart ?? time)
            running += hosts[host].runningCount
        }
        // Else somebody is asked about itself, who has answered before.
        guard running == runningCount, isNobodyInDoubt,
            !retries.contains(where: { !isSilent(Int(records[Int($0)].host)) })
        else { return nil }
        return last + patience
    }

    private static let quietTime: Duration = .milliseconds(250)

    /// Whoever was not listened to did not keep silent.
    mutating func wasAway(_ time: Duration) {
        for host in hosts.indices where !hosts[host].hasAnswered {
            hosts[host].firstStart = hosts[host].firstStart.map { min($0 + time, now) }
        }
    }

    /// What was asked of silent hosts, and what waits for them, failed.
    mutating func loseSilentHosts() -> [Frontier.Action] {
        let time = options.patience.map { "\($0 / .seconds(1)) s" } ?? ""
        let failure = FetchFailure(
            .timeout, "no response for \(time) after everything else was done")
        var lost: [UInt32] = []
        var underWay: Set<UInt32> = []
        for number in records.indices
        where isOpen(records[number].state) && isSilent(Int(records[number].host)) {
            switch records[number].state {
            case .queued: changeQueued(of: Int(records[number].host), by: -1)
            case .running: underWay.insert(UInt32(number))
            default: break
            }
            lost.append(UInt32(number))
            fail(UInt32(number), .outwaited(failure))
        }
        retries.removeAll { [records] in records[Int($0)].state == .failed }
        return lost.map(Frontier.Action.lost) + (underWay.isEmpty ? [] : [.abandon(underWay, failure)])
    }

    private func isOpen(_ state: Record.State) -> Bool {
        switch state {
        case .queued, .running, .waiting: true
        case .skipped, .done, .redirected, .failed, .elsewhere: false
        }
    }

    private func isSilent(_ host: Int) -> Bool { !hosts[host].hasAnswered && !hosts[host].isOwn }

    mutating func noteStart(of host: Int) {
        guard hosts[host].firstStart == nil else { return }
        hosts[host].firstStart = now
        silentHostCount += 1
    }

    mutating func noteAnswer(of host: Int) {
        lastAnswer = now
        guard !hosts[host].hasAnswered else { return }
        hosts[host].hasAnswered = true
        if hosts[host].firstStart != nil { silentHostCount -= 1 }
    }
}

extension FrontierCore {
    private static let mostHosts = 32

    /// Costs as much as there are hosts, and nothing for what is known of them.
    func progress(now: Duration) -> CrawlProgress {
        var figures = CrawlProgress(elapsed: now)
        figures.done = doneCount
        figures.doneAssets = doneAssetCount
        figures.failed = max(0, failures.count - wrongGuessCount)
        figures.known = urls.count
        figures.running = runningCount
        figures.toRetry = retries.count
        var busy: [String: CrawlProgress.Host] = [:]
        for (origin, number) in hostNumbers {
            figures.atGate += hosts[number].atGate.count
            figures.queuedAssets += hosts[number].queuedAssetCount
            figures.queuedPages += hosts[number].queuedCount - hosts[number].queuedAssetCount
            guard hosts[number].queuedCount > 0 || hosts[number].pace.runningCount > 0 else { continue }
            let name = Self.host(of: origin)
            var figure = busy[name] ?? CrawlProgress.Host(name: name)
            figure.running += hosts[number].pace.runningCount
            figure.queued += hosts[number].queuedCount
            figure.limit += hosts[number].pace.limit
            // A pause that something runs through is no wait.
            if hosts[number].pace.runningCount == 0, let start = hosts[number].pace.nextStart, start > now {
                figure.pause = max(figure.pause ?? .zero, start - now)
            }
            busy[name] = figure
        }
        figures.hostCount = busy.count
        figures.hosts = busy.values.sorted { left, right in
            let (one, two) = (left.running + left.queued, right.running + right.queued)
            return one != two ? one > two : left.name < right.name
        }
        if figures.hosts.count > Self.mostHosts {
            figures.hosts.removeLast(figures.hosts.count - Self.mostHosts)
        }
        return figures
    }

    /// `https://example.com:8080` without its scheme and port.
    private static func host(of origin: String) -> String {
        let bytes = Array(origin.utf8)
        let start = bytes.firstRange(of: Array("://".utf8))?.upperBound ?? 0
        var end = bytes.count
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon > start,
            bytes[colon...].allSatisfy({ $0 != UInt8(ascii: "]") })
        {
            end = colon
        }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }
}
