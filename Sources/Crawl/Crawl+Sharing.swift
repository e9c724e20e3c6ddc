internal import Fetch
internal import Store
internal import System
internal import Web

/// What a worker keeps beside its frontier: what it knows of the others.
struct WorkDesk {
    let courier: WorkCourier
    private let shared: ServerFrontier.Shared
    var standing = ServerFrontier.Standing()
    /// Hosts that somebody else had before.
    private var left: Set<String> = []
    /// Hosts that another one gets, as soon as nothing of them is under way.
    var leaving: Set<String> = []
    /// Until then those that left are not seen where they are now.
    var nextLoan: Duration = .zero
    /// The number of the time in which there is nothing to do; nil while there is.
    private(set) var quiet: Int?
    private var quiets = 0
    /// How much came, as far as others were told of it.
    var toldBytes = 0
    var lastPost: Duration = .zero
    var isStandingNews = false
    /// What hosts said of themselves and is being read, to be stored, by the number of who asked.
    var unstoredAnswers: [UInt32: ServerFrontier.Answer] = [:]

    init(_ courier: WorkCourier, _ shared: ServerFrontier.Shared) {
        self.courier = courier
        self.shared = shared
    }

    var countsPages: Bool { shared.maxPages != nil }

    /// Whether the larder may hold something of it.
    func recalls(_ origin: String) -> Bool { !shared.wasEmpty || left.contains(origin) }

    mutating func take(_ hosts: [ServerFrontier.Host]) {
        for host in hosts where host.wasLeft { left.insert(host.origin) }
    }

    /// True when it has just become quiet.
    mutating func becomeQuiet() -> Bool {
        guard quiet == nil else { return false }
        quiets += 1
        quiet = quiets
        return true
    }

    mutating func endQuiet() { quiet = nil }

    /// How many pages a worker asks for at a time: few where few are left.
    var pagesAtOnce: Int { min(1000, max(1, (standing.pagesLeft ?? 0) / (2 * standing.workers))) }

    /// Nobody may ask for a page any more.
    var arePagesOver: Bool { standing.pagesLeft.map { $0 <= 0 } ?? false && standing.shares == 0 }
}

/// Who asks which hosts. Each host takes so long, however many others are asked beside it, so that none waits for
/// others to be done; and nobody has more than his share while another could have it: who is done first would have to
/// go through what others stored.
extension ServerFrontier.Standing {
    private static let mostHosts = Frontier.mostRunning
    private static let mostHostsAtOnce = 8
    /// With so many requests under way a worker has enough.
    private static let enoughRunning = Frontier.mostRunning * 3 / 4

    /// The hosts that each worker would have, those that nobody has yet among them.
    private var fairShare: Int { max(1, (hosts + freeHosts + workers - 1) / workers) }

    /// Whether another has so few that it is worth giving it some.
    private var isUneven: Bool { workers > 1 && fewestHosts * 4 < fairShare * 3 }

    /// Whether a worker that has something to do at so many hosts should have more.
    func isHungry(active: Int, running: Int) -> Bool {
        active == 0 || active < fairShare && running < Self.enoughRunning
    }

    /// How many free hosts a worker takes: its share, and whoever has fewest one that has come since.
    func wantedHosts(active: Int, running: Int) -> Int {
        guard active < Self.mostHosts || running < Self.enoughRunning else { return 0 }
        guard workers > 1 else { return Self.mostHostsAtOnce }
        return min(Self.mostHostsAtOnce, max(fairShare - active, active <= fewestHosts ? 1 : 0))
    }

    /// How many of its hosts a worker leaves to others: what it asks as fast as the hosts allow it keeps, unless
    /// somebody has nothing.
    func hostsToLend(active: Int, running: Int) -> Int {
        guard workless > 0 || running >= Self.enoughRunning && (hungry > 0 || isUneven) else { return 0 }
        return max(0, active - fairShare)
    }
}

/// One of several workers.
extension Crawl {
    private static let postInterval = Duration.milliseconds(50)
    private static let loanInterval = Duration.seconds(2)

    /// What a worker did, and how that ended.
    struct Work {
        var report: CrawlReport
        /// Nil when it was interrupted, or failed.
        var ending: WorkCourier.Ending?
        var failure: CrawlError?
    }

    /// Works until the snapshot is over, or this one is to end it. Blocks.
    consuming func work(_ courier: WorkCourier) -> Work {
        interruption.wakes(loop.waker)
        let waker = loop.waker
        courier.wakes { waker.wake() }
        defer {
            interruption.forgets(loop.waker)
            courier.wakes(nil)
        }
        var failure: CrawlError?
        var ending: WorkCourier.Ending?
        do throws(CrawlError) {
            if desk?.countsPages == true { try apply(.pagesGranted(0)) }
            ending = try share(courier)
        } catch {
            failure = error
        }
        reportProgress(isEnding: true)
        pool.finish()
        do throws(CrawlError) {
            for result in pool.takeResults() { try scanned(result) }
            for result in loop.abandon() { try keepPartial(of: result) }
            try apply(.ended)
            try post(courier, isQuiet: false, isEnding: true)
        } catch {
            failure = failure ?? error
        }
        report.count(frontier, keptFromBefore, isInterrupted: interruption.isRequested)
        report.isPublished = false
        courier.tell(report.workTallies)
        do throws(StoreError) {
            try writes.finish(.keepOpen)
        } catch {
            failure = failure ?? .store(error)
        }
        do throws(FetchFailure) {
            try loop.saveCookies()
        } catch {
            failure = failure ?? .fetch(error)
        }
        report.elapsed = now
        // What was written last may have been refused before it was heard why.
        return Work(
            report: report, ending: failure == nil || ending != .finishes ? ending : nil, failure: failure)
    }

    private func share(_ courier: WorkCourier) throws(CrawlError) -> WorkCourier.Ending? {
        while !interruption.isRequested {
            let (mail, ending) = try storing { () throws(StoreError) in try courier.collect() }
            if let ending { return ending }
            try take(mail)
            try startDue()
            let isQuiet = frontier.isDone && scanning == 0 || frontier.isOutOfTime
            if isQuiet, frontier.waitsToSettle, !frontier.isStopped {
                try apply(.settled)
                continue
            }
            // Whoever is waited for is waited for as long as anybody has something to do.
            if !isQuiet, scanning == 0, frontier.isOutOfPatience(now: now),
                desk?.standing.hosts ?? 0 <= frontier.activeHostCount
            {
                try apply(.patienceEnded)
                if frontier.isDone { continue }
            }
            try lend(courier)
            try post(courier, isQuiet: isQuiet)
            for result in try turn(atMost: isQuiet ? .seconds(1) : Self.postInterval) { try fetched(result) }
            for result in pool.takeResults() { try scanned(result) }
            reportProgress()
        }
        return nil
    }

    private func take(_ mail: WorkCourier.Mail) throws(CrawlError) {
        if !mail.found.isEmpty || !mail.hosts.isEmpty || !mail.moves.isEmpty || mail.grantedPages > 0 {
            desk?.endQuiet()
        }
        for move in mail.moves {
            guard let from = WebURL(move.source), let to = WebURL(move.target) else { continue }
            try apply(.moved(from: from, to: to))
        }
        memory.add(mail.outcomes, mail.answers)
        if !mail.hosts.isEmpty {
            desk?.take(mail.hosts)
            try apply(.granted(mail.hosts.map(\.origin)))
        }
        for found in mail.found {
            if let arrival = Frontier.Arrival(found) { try apply(.arrived(arrival)) }
        }
        if mail.grantedPages > 0 { try apply(.pagesGranted(mail.grantedPages)) }
        if let standing = mail.standing {
            desk?.standing = standing
            desk?.isStandingNews = true
            try apply(.othersReceived(byteCount: standing.bytes - (desk?.toldBytes ?? 0)))
            if let rate = plan.fetch.bytesPerSecond { loop.change(bytesPerSecond: rate / standing.workers) }
        }
    }

    /// Others who could ask more get hosts of which much is left, and those that are ready to go go.
    private func lend(_ courier: WorkCourier) throws(CrawlError) {
        guard let desk else { return }
        if desk.isStandingNews, desk.leaving.isEmpty, now >= desk.nextLoan {
            let count = desk.standing.hostsToLend(
                active: frontier.activeHostCount, running: frontier.running)
            for origin in frontier.hostsToLend(count) {
                self.desk?.leaving.insert(origin)
                try apply(.lent(origin))
            }
        }
        self.desk?.isStandingNews = false
        guard let leaving = self.desk?.leaving, !leaving.isEmpty else { return }
        let scanned = Set(beingScanned.map { frontier.origin(of: $0) })
        let unstored = Set(desk.unstoredAnswers.values.map(\.origin))
        for origin in leaving
        where !frontier.isBusy(origin) && !scanned.contains(origin) && !unstored.contains(origin) {
            self.desk?.leaving.remove(origin)
            self.desk?.nextLoan = now + Self.loanInterval
            try tellOutcomes(courier)
            let pause = max(.zero, (frontier.nextStart(of: origin) ?? now) - now)
            try storing { () throws(StoreError) in
                try writes.afterCommit { courier.release([(origin, pause)]) }
            }
        }
    }

    /// What came of what was asked for. Whoever hears of it asks no more, and so what is stored of it has to
    /// be committed before.
    private func tellOutcomes(_ courier: WorkCourier) throws(CrawlError) {
        let outcomes = frontier.takeOutcomes().compactMap { number -> ServerFrontier.Outcome? in
            guard let outcome = frontier.outcome(of: number), let text = outcome.text else { return nil }
            let url = frontier.url(number)
            return ServerFrontier.Outcome(
                origin: url.origin, href: url.href, text: text,
                isPage: frontier.role(of: number) == .page && frontier.entry(number).attempts > 0
                    && outcome.wasAskedInVain)
        }
        guard !outcomes.isEmpty else { return }
        try storing { () throws(StoreError) in try writes.onceCommitted { courier.note(outcomes) } }
    }

    /// Hands over what others have to know, once in a while.
    private func post(_ courier: WorkCourier, isQuiet: Bool, isEnding: Bool = false) throws(CrawlError) {
        guard let desk else { return }
        let isStarved = frontier.isStarved && !isEnding
        if isStarved, desk.arePagesOver { return try apply(.pagesEnded) }
        let isResting = isQuiet && !isStarved && desk.leaving.isEmpty
        guard isEnding || isResting && desk.quiet == nil || now - desk.lastPost >= Self.postInterval else {
            return
        }
        self.desk?.lastPost = now
        var out = WorkCourier.Outbox()
        out.found = frontier.takeOutgoing()
        try tellOutcomes(courier)
        for number in frontier.takeSoftNotFound() {
            let href = frontier.url(number).href
            try storing { () throws(StoreError) in try writes.addWithoutWaiting(softNotFound: href) }
        }
        out.moves = frontier.takeMoves().map { ($0.from.href, $0.to.href) }
        let active = frontier.activeHostCount
        out.sign.hosts = active + desk.leaving.count
        out.sign.isHungry =
            !isStarved && desk.standing.isHungry(active: active, running: frontier.running)
        out.sign.isStarved = isStarved
        out.sign.bytes = report.wireByteCount - desk.toldBytes
        self.desk?.toldBytes = report.wireByteCount
        out.isCut = frontier.isStopped
        if !frontier.isStopped, !isEnding {
            out.wantsHosts = desk.standing.wantedHosts(active: active, running: frontier.running)
        }
        if isStarved {
            out.wantsPages = desk.pagesAtOnce
        } else if isResting, let left = frontier.pagesLeft, left > 0 {
            try apply(.pagesGranted(-left))
            out.givesPages = left
        }
        out.sign.share = frontier.pagesLeft ?? 0
        if isResting {
            if self.desk?.becomeQuiet() == true, let quiet = self.desk?.quiet {
                courier.tell(report.workTallies)
                try storing { () throws(StoreError) in try writes.afterCommit { courier.committed(quiet) } }
            }
            out.quiet = self.desk?.quiet
        } else {
            self.desk?.endQuiet()
        }
        courier.send(out)
    }
}

/// What workers found out already.
extension Crawl {
    /// Whether nobody is asked, since somebody was or nothing more is asked for.
    func isKnown(_ number: UInt32, _ url: WebURL, _ answer: Recall.Answer?) throws(CrawlError) -> Bool {
        if case .done? = answer { return false }
        let isPage = frontier.role(of: number) == .page
        let outcome: Frontier.KnownOutcome
        if case .gone(let status)? = answer {
            outcome = .failed(.status(status))
        } else if let known = memory.outcome(of: url) {
            outcome = known
        } else if let limit = memory.limit {
            outcome = .skipped(.limit(limit))
        } else if isPage, frontier.entry(number).attempts == 1, let limit = memory.takePage() {
            outcome = .skipped(.limit(limit))
        } else {
            return false
        }
        try apply(.known(number, outcome))
        // Whoever found it out has counted it.
        if desk != nil { try apply(.counted(number)) }
        if case .validate(let held, _)? = answer { try fallBack(number, to: held.response) }
        return true
    }

    static func probeName(_ url: WebURL) -> String { "probe " + url.origin }

    /// - Parameter number: of who asked, where the answer is going to be stored: as long as it is not, nobody
    ///   is told. Whoever knows it stores nothing.
    func noteAnswer(
        to name: String, of url: WebURL, _ response: FetchedResponse, location: String?, zone: NetworkZone,
        _ body: [UInt8], storedBy number: UInt32? = nil
    ) throws(CrawlError) {
        let answer = ServerFrontier.Answer(
            origin: url.origin, href: name, status: response.status, location: location,
            reach: Int(Frontier.Arrival.Facts.number(zone)), failure: nil, body: body)
        if let number { desk?.unstoredAnswers[number] = answer } else { try tell(answer) }
    }

    func noteAnswer(to name: String, of url: WebURL, failure: FetchFailure) throws(CrawlError) {
        // Another machine may know the name.
        guard failure.kind != .unknownHost else { return }
        try tell(
            ServerFrontier.Answer(
                origin: url.origin, href: name, status: 0, location: nil, reach: 0,
                failure: Frontier.KnownOutcome.failed(.fetch(failure)).text, body: []))
    }

    /// What a host said of itself has been handed over to be written.
    func answerStored(_ number: UInt32) throws(CrawlError) {
        if let answer = desk?.unstoredAnswers.removeValue(forKey: number) { try tell(answer) }
    }

    /// Once what is stored of it is committed.
    private func tell(_ answer: ServerFrontier.Answer) throws(CrawlError) {
        guard let courier = desk?.courier else { return }
        try storing { () throws(StoreError) in try writes.onceCommitted { courier.note(answer) } }
    }

    func robotsKnown(_ known: ServerFrontier.Answer, of host: Int) throws(CrawlError) {
        if let failure = known.failure {
            guard case .failed(.fetch(let reason))? = Frontier.KnownOutcome(text: failure) else {
                return try apply(.robots(host: host, .failed(FetchFailure(.broken, failure))))
            }
            return try apply(.robots(host: host, .failed(reason)))
        }
        try apply(
            .robots(
                host: host,
                .answered(
                    status: known.status, location: known.location.flatMap { WebURL($0) }, body: known.body,
                    from: Frontier.Arrival.Facts.zone(Int64(known.reach)))))
    }

    func probeKnown(_ known: ServerFrontier.Answer, of host: Int) throws(CrawlError) {
        guard known.failure == nil else { return try apply(.probed(host: host, nil)) }
        try apply(
            .probed(
                host: host,
                SoftNotFound.Answer(
                    status: known.status, target: known.location.flatMap { WebURL($0) },
                    content: ContentPrint(text: known.body.span))))
    }
}

extension Frontier.Arrival {
    /// Nil for what is no URL.
    init?(_ found: ServerFrontier.Found) {
        guard let url = WebURL(found.href) else { return nil }
        self.init(
            url: url, referrer: found.referrer.flatMap { WebURL($0) }, facts: Facts(packed: found.facts))
    }
}

extension CrawlReport {
    /// What it asked for, by host and, under names that no host has, in all.
    var workTallies: [ServerFrontier.Tally] {
        tallies.values.map {
            ServerFrontier.Tally(
                name: $0.name, requests: $0.requests, failures: $0.failures, bytes: $0.byteCount,
                version: $0.version)
        } + [
            ServerFrontier.Tally(
                name: "", requests: requests, failures: confirmed, bytes: wireByteCount, version: nil),
            ServerFrontier.Tally(
                name: " ", requests: 0, failures: savedByteCount, bytes: bodyByteCount, version: nil),
        ]
    }

    /// What all workers asked for.
    mutating func add(_ all: [ServerFrontier.Tally]) {
        for tally in all {
            switch tally.name {
            case "":
                requests += tally.requests
                confirmed += tally.failures
                wireByteCount += tally.bytes
            case " ":
                savedByteCount += tally.failures
                bodyByteCount += tally.bytes
            default:
                var host = tallies[tally.name] ?? Host(name: tally.name)
                host.requests += tally.requests
                host.failures += tally.failures
                host.byteCount += tally.bytes
                host.version = host.version ?? tally.version
                tallies[tally.name] = host
            }
        }
    }
}
