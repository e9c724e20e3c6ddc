internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import Synchronization
package import System
internal import Web

/// Drives one prefetch: carries out what the frontier says, on the thread that calls `run`, which is libcurl's too.
package final class Crawl {
    let plan: CrawlPlan
    private let interruption: Interruption
    private let age = Stopwatch()
    let loop: FetchLoop
    let writes: WriteQueue
    let pool: ScanPool
    var frontier: Frontier
    var report: CrawlReport
    /// Nil when the store has nothing that could be recalled.
    let recall: Recall?
    /// What is held of the URLs whose servers are being asked whether it still holds.
    var asked: [UInt32: StoredResponse] = [:]
    /// How much was there of what is being resumed.
    var resumed: [UInt32: Int] = [:]
    /// What bodies have to be; of what redirects, at its target too.
    var required: Requirements
    /// What failed, while an earlier visit has it.
    var keptFromBefore: Set<UInt32> = []
    var partials: PartialShelf
    /// Redirects of pages that wait for what is there, by where they lead; see `keepRedirect`.
    var openRedirects: [UInt32: [(number: UInt32, head: NewResponse)]] = [:]
    /// Pages that are being looked into.
    var inScan: Set<UInt32> = []
    var scanning = 0
    var scanningByteCount = 0
    var lastProgress: Duration = .zero

    /// Bodies that wait for a scan may fill so much memory before no further ones are asked for.
    private static let mostScanningBytes = 2 * 1024 * 1024
    private static let mostScanning = 64

    /// Opens the store, holds the site, and starts the threads. A visit that was interrupted is gone on with.
    package init(_ plan: CrawlPlan, interruption: Interruption) throws(CrawlError) {
        self.plan = plan
        required = plan.required
        self.interruption = interruption
        let scope: Scope
        do throws(PatternMistake) {
            scope = try Scope(start: plan.start, options: plan.scope)
        } catch {
            throw .pattern(error)
        }
        frontier = Frontier(scope: scope, options: plan.frontierOptions)
        do throws(FetchFailure) {
            loop = try FetchLoop(plan.fetchOfVisit)
        } catch {
            throw .fetch(error)
        }
        do throws(StoreError) {
            let writer = try StoreWriter(plan.folder)
            let visit = try writer.begin(
                site: plan.site, start: plan.start.map(\.href), now: Self.secondsSinceEpoch(),
                beyond: plan.beyond, isGated: plan.gate != nil)
            try writer.keep(settings: plan.sitePlan.text, of: visit)
            report = CrawlReport(site: plan.site, visit: visit.id, isContinued: visit.isContinued)
            recall = try Recall(plan.folder, visit: visit, policy: plan.policy, rules: plan.rules)
            partials = try PartialShelf(plan.folder)
            let writes = try WriteQueue(writer, visit: visit)
            self.writes = writes
            let folder = plan.folder
            let rules = plan.rules
            let (manners, productToken, willStore) = (plan.sitePlan.manners, plan.productToken, plan.willStore)
            let waker = loop.waker
            pool = try ScanPool(count: plan.scanThreads) {
                ScanWorker(
                    folder, writes: writes, rules: rules, manners: manners, productToken: productToken,
                    willStore: willStore)
            } wake: {
                waker.wake()
            }
        } catch {
            throw .store(error)
        }
    }

    /// Runs to the end. Blocks.
    package consuming func run() throws(CrawlError) -> CrawlReport {
        interruption.wakes(loop.waker)
        defer { interruption.forgets(loop.waker) }
        if !plan.startsAtRequisites { for url in plan.start { frontier.start(url) } }
        for url in plan.sitemaps { frontier.startGuide(url) }
        for url in plan.requisites { frontier.startRequisite(url, isStart: plan.startsAtRequisites) }
        for miss in plan.missed {
            frontier.startGuess(miss.url, isPage: miss.isPage, mayReach: miss.mayReach, origin: miss.origin)
        }
        var failure: CrawlError?
        do throws(CrawlError) {
            for document in plan.documents { try keep(document) }
            try go()
        } catch {
            failure = error
        }
        tellProgress(isEnding: true)
        pool.finish()
        do throws(CrawlError) {
            for result in pool.takeResults() { try scanned(result) }
            for result in loop.abandon() { try keepPartial(of: result) }
            try closeAll()
            try findKept()
        } catch {
            failure = failure ?? error
        }
        report.tell(frontier, keptFromBefore, isInterrupted: interruption.isRequested)
        // There was nothing to ask for: what is held is what is wanted.
        if plan.startsAtRequisites, plan.requisites.isEmpty { report.isPublished = !report.isInterrupted }
        report.isInsecure = report.isInsecure || plan.fetch.isInsecure
        do throws(StoreError) {
            for missing in report.missing where missing.failure == .softNotFound {
                try writes.addWithoutWaiting(softNotFound: missing.url.href)
            }
            try end(hasFailed: failure != nil)
        } catch {
            // The first error is the one that tells.
            failure = failure ?? .store(error)
        }
        if let failure { throw failure }
        do throws(FetchFailure) {
            try loop.saveCookies()
        } catch {
            throw .fetch(error)
        }
        report.elapsed = age.elapsed
        return report
    }

    /// A visit that would be published has to pass the gate, once all of it is stored.
    private func end(hasFailed: Bool) throws(StoreError) {
        let now = Self.secondsSinceEpoch()
        var ending = hasFailed ? VisitEnding.keepOpen : report.ending(now: now)
        if ending.isPublishing, let fewest = plan.fewestPages, report.limit == nil {
            // What failed is shown as it was before: it is not lost.
            let failed = report.missing.count {
                !$0.isRequisite && !$0.failure.isGone && $0.failure != .softNotFound
            }
            let held = report.pages + failed
            if held < fewest {
                // What answers is perhaps not the site.
                ending = .holdBack(now: now)
                report.hasShrunk = true
                report.isHeldBack = true
                report.isPublished = false
            }
        }
        guard ending.isPublishing, plan.gate != nil || plan.refusesWalls else { return try writes.finish(ending) }
        let (visit, refused, plan) = (report.visit, report.refused, plan)
        // A gated run adds nothing to what is served, so that this one ends here.
        let passing = plan.gate == nil ? ending : .publish(now: now)
        let found = Mutex<(isHeldBack: Bool, wall: SiteWall?)>((false, nil))
        try writes.finish { () throws(StoreError) in
            let wall =
                plan.refusesWalls
                ? try SiteWall.found(in: visit, start: plan.start, StoreReader(plan.folder)) : nil
            if wall == nil, try plan.gate?(visit, refused) ?? true { return passing }
            found.withLock { $0 = (true, wall) }
            return .holdBack(now: now)
        }
        (report.isHeldBack, report.wall) = found.withLock { $0 }
        report.isPublished = !report.isHeldBack
    }

    private func go() throws(CrawlError) {
        while !interruption.isRequested {
            // What is held already is done at once: of that there may be much.
            while mayScanMore, !interruption.isRequested, let task = frontier.next(now: now) {
                try start(task)
                tellProgress()
            }
            if frontier.isOutOfTime || frontier.isDone && scanning == 0 { return }
            if scanning == 0, frontier.isOutOfPatience(now: now) { return try loseSilentHosts() }
            for result in try turn() { try fetched(result) }
            for result in pool.takeResults() { try scanned(result) }
            tellProgress()
        }
    }

    /// What an earlier visit has of them stays.
    private func loseSilentHosts() throws(CrawlError) {
        for number in frontier.loseSilentHosts() {
            guard let recall else { continue }
            if try storing({ () throws(StoreError) in try recall.holds(frontier.url(number)) }) {
                keptFromBefore.insert(number)
            }
        }
    }

    private func turn() throws(CrawlError) -> [FetchResult] {
        do throws(FetchFailure) {
            // With the scans backed up nothing may start, whatever is due; their results end the wait.
            let due = mayScanMore ? frontier.nextRetry : nil
            let wait = due.map { max(.zero, $0 - now) } ?? .seconds(60)
            return try loop.turn(waitingAtMost: plan.progress == nil ? wait : min(wait, Self.progressInterval))
        } catch {
            throw .fetch(error)
        }
    }

    private var mayScanMore: Bool {
        scanning < Self.mostScanning && scanningByteCount < Self.mostScanningBytes
    }

    func storing<Value>(_ body: () throws(StoreError) -> Value) throws(CrawlError) -> Value {
        do throws(StoreError) {
            return try body()
        } catch {
            throw .store(error)
        }
    }

    var now: Duration { age.elapsed }

    static func secondsSinceEpoch() -> Int64 { SystemClock.secondsSinceEpoch() }

    static func httpNow() -> HTTPDate { HTTPDate(secondsSinceEpoch: secondsSinceEpoch()) }
}

extension Crawl {
    func start(_ task: Frontier.Task) throws(CrawlError) {
        switch task {
        case .fetch(let number): try start(number)
        case .robots(let host, let url, let reach): ask(.robots(host), url, reach)
        case .probe(let host, let url, let reach): ask(.probe(host), url, reach)
        case .witness(let host, let url, let reach): ask(.witness(host), url, reach)
        }
    }

    /// Fetches what is due, unless it is held and need not be.
    private func start(_ number: UInt32) throws(CrawlError) {
        let url = frontier.url(number)
        if let rule = plan.rules.storageBan(for: url, nil) {
            frontier.recalled(number)
            return frontier.drop(number, for: .unstored(rule.text))
        }
        let isCORS = frontier.isCORS(number)
        let answer = try storing { () throws(StoreError) in
            try recall?.answer(
                for: url, requiring: required[url], origin: frontier.origin(askingFor: number), isCORS: isCORS,
                now: Self.httpNow())
        }
        switch answer {
        case nil:
            fetch(number, url, HTTPFields().naming(origin: isCORS ? frontier.origin(askingFor: number) : nil))
        case .load(let fields)?:
            fetch(number, url, fields)
        case .validate(let held, let fields)?:
            asked[number] = held
            // What is there of a newer version is gone on with: its own conditions tell whether it still fits.
            if let part = partials.take(url.href) {
                fetch(
                    number, url, HTTPFields().naming(origin: fields["Origin"]), resume: PartialBody(part))
            } else {
                fetch(number, url, fields)
            }
        case .done(let held)?:
            try recalled(number, url, held)
        case .reuse(let held)?:
            if try recalled(number, url, held) { try keep(number, held, fields: held.fields, fetched: held.fetched) }
        }
    }

    /// What is required of an address is required of what it leads to.
    func passOn(_ url: WebURL, to target: WebURL?) {
        if let target, let bundle = required[url], required[target] == nil { required.require(bundle, at: target) }
    }

    func fetch(_ number: UInt32, _ url: WebURL, _ fields: HTTPFields = HTTPFields(), resume: PartialBody? = nil) {
        var request = FetchRequest(number: number, url: url, fields: fields)
        // To where it is redirected too.
        if fields.contains("Origin") { frontier.becomeCORS(number) }
        request.referrer = frontier.referrer(of: number)
        request.reach = plan.mayReachPrivate ? .thisMachine : frontier.mayReach(number)
        // What is asked for by conditions is held whole.
        request.resume = resume ?? (asked[number] == nil ? partials.take(url.href).map(PartialBody.init) : nil)
        if let part = request.resume { resumed[number] = part.byteCount }
        loop.start(request)
    }

    /// For what is no entry.
    func ask(_ errand: Errand, _ url: WebURL, _ reach: Reach) {
        var request = FetchRequest(number: errand.number, url: url)
        request.reach = plan.mayReachPrivate ? .thisMachine : reach
        loop.start(request)
    }

    /// Goes on from what is held without asking for it. False for what is not to be kept, and for a redirect that leads
    /// nowhere.
    @discardableResult
    private func recalled(_ number: UInt32, _ url: WebURL, _ held: StoredResponse) throws(CrawlError) -> Bool {
        frontier.came(number, from: held.flags.reach)
        if let redirect = Redirect(held.status, HTTPFields(block: held.fields.utf8.span), from: url) {
            passOn(url, to: redirect.url)
            return frontier.redirected(number, to: redirect.url, isRecalled: true)
        }
        frontier.recalled(number)
        return try follow(number, held)
    }

    /// The links of what is held, out of their lists: its body is looked into only where there are none. False when it is
    /// not to be kept.
    @discardableResult
    func follow(_ number: UInt32, _ held: StoredResponse, mayLeaveOut: Bool = true) throws(CrawlError) -> Bool {
        guard let recall else { return true }
        let isLeftOut =
            mayLeaveOut && plan.sitePlan.manners.noindex == .obey && held.flags.contains(.saysNoindex)
            && frontier.mayBeLeftOut(number)
        if held.flags.contains(.isSoftNotFound) { frontier.knowAsMissing(number) }
        frontier.came(number, as: held.body?.format)
        // Lists do not tell which of a sitemap's links is another sitemap, nor which link is marked.
        guard frontier.role(of: number) != .guide, plan.sitePlan.manners.nofollow != .links else {
            scan(number, frontier.url(number), .held(held))
            return !isLeftOut
        }
        let isLeft = plan.sitePlan.manners.nofollow == .pages && held.flags.contains(.saysNofollow)
        let isListed = try storing { () throws(StoreError) in
            try recall.eachLink(of: held) { heard, kind in
                if kind.role == .page ? isLeft : isLeftOut { return }
                frontier.foundAgain(heard, by: number, role: kind.role, isGuess: kind == .guess)
            } new: { link in
                var link = link
                link.isNofollow = isLeft && link.role == .page
                return isLeftOut && link.role != .page ? nil : frontier.found(link, by: number)
            }
        }
        if !isListed {
            scan(number, frontier.url(number), .held(held))
        } else if isLeftOut {
            frontier.leaveOut(number)
        }
        return !isLeftOut
    }

    /// Keeps in this visit what an earlier one has; `flags` are those of the request that confirmed it.
    func keep(
        _ number: UInt32, _ held: StoredResponse, fields: String, fetched: Int64, flags: ResponseFlags = []
    ) throws(CrawlError) {
        var new = NewResponse(
            href: held.href, referrer: frontier.referrer(of: number)?.href, status: held.status,
            role: frontier.role(of: number).rawValue, fields: fields, fetched: fetched,
            body: held.body.map(NewResponse.Body.held) ?? .none)
        new.number = number
        new.variant = held.variant
        new.type = held.type
        new.flags = ResponseFlags(frontier.reach(of: number)).union(held.flags.intersection(.ofBody)).union(flags)
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(new) }
    }
}

/// Answers that lead to no entry: those that are about a host, and those that somebody else got.
extension Crawl {
    func keep(_ document: CrawlPlan.Document) throws(CrawlError) {
        try storing { () throws(StoreError) in
            let body = try NewBody(
                .bytes(document.bytes), form: BodyFormat.opaque.name, links: LinkTable().encoded(), in: plan.folder)
            var new = NewResponse(
                href: document.href, referrer: nil, status: 200, role: Frontier.Role.guide.rawValue,
                fields: document.fields.block, fetched: Self.secondsSinceEpoch(), body: .new(body))
            new.request = document.request
            new.type = document.fields.contentType?.essence
            try writes.add(new)
        }
    }

    /// What could not be had as it is required, or as somebody who is known, while something of it is held: that stays.
    func findKept() throws(CrawlError) {
        guard !required.isEmpty || frontier.options.hasSession, let recall else { return }
        for number in 0..<UInt32(frontier.records.count) {
            guard case .failed(let failure) = frontier.state(number), !failure.isGone,
                failure.isOfSession || required[frontier.url(number)] != nil
            else { continue }
            if try storing({ () throws(StoreError) in try recall.holds(frontier.url(number)) }) {
                keptFromBefore.insert(number)
            }
        }
    }

    /// What robots.txt says is kept like everything else, so that it can be explained later.
    func robotsFetched(_ result: FetchResult, of host: Int) throws(CrawlError) {
        result.partial?.discard()
        switch result.outcome {
        case .failure(let failure) where failure.kind == .machine:
            throw .fetch(failure)
        case .failure(let failure):
            frontier.robotsFailed(host: host, failure, now: now)
        case .response(let response):
            let location = response.fields["Location"].flatMap { WebURL($0, base: result.url) }
            let body = try storing { () throws(StoreError) in try response.body.beginning(RobotsGate.mostBytes) }
            let next = frontier.robotsAnswered(
                host: host, status: response.status, location: location, body: body.span, now: now)
            if (200..<300).contains(response.status) {
                // As any file that nobody looks into for links.
                var job = ScanJob(
                    number: result.number, url: result.url, role: .guide, referrer: nil, source: .fetched(response),
                    time: Self.secondsSinceEpoch())
                job.flags = ResponseFlags(result)
                job.sentFields = result.sentFields
                scanning += 1
                scanningByteCount += job.byteCount
                pool.add(job)
            } else {
                response.body.discard()
            }
            guard let next else { return }
            try keepRobotsRedirect(result, response)
            ask(.robots(host), next, result.exchange?.reach ?? .publicNetwork)
        }
    }

    private func keepRobotsRedirect(_ result: FetchResult, _ response: FetchedResponse) throws(CrawlError) {
        var head = NewResponse(
            href: result.url.href, referrer: nil, status: response.status, role: Frontier.Role.guide.rawValue,
            fields: response.fields.block, fetched: Self.secondsSinceEpoch(), body: .none)
        head.flags = ResponseFlags(result)
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(head) }
    }

    /// What the host says about what it cannot have is remembered, and not kept.
    func probeFetched(_ result: FetchResult, of host: Int) throws(CrawlError) {
        guard let (response, text) = try looked(at: result, ContentPrint.longestText) else {
            return frontier.probed(host: host, nil, now: now)
        }
        let target = Redirect(response.status, response.fields, from: result.url)?.url
        let answer = SoftNotFound.Answer(
            status: response.status, target: target, content: ContentPrint(text: text.span))
        frontier.probed(host: host, answer, now: now)
    }

    /// What is asked for to learn something of its host: the answer with the beginning of its body, of which nothing is
    /// kept. Nil when none came.
    func looked(
        at result: FetchResult, _ byteCount: Int
    ) throws(CrawlError) -> (response: FetchedResponse, text: [UInt8])? {
        result.partial?.discard()
        switch result.outcome {
        case .failure(let failure) where failure.kind == .machine: throw .fetch(failure)
        case .failure: return nil
        case .response(let response):
            defer { response.body.discard() }
            return (response, try storing { () throws(StoreError) in try response.body.beginning(byteCount) })
        }
    }
}

/// What a request is for: the number that the fetch loop gives back with its answer.
enum Errand: Equatable {
    /// An entry of the frontier.
    case entry(UInt32)
    /// Of a host: its robots.txt.
    case robots(Int)
    /// What it cannot have.
    case probe(Int)
    /// A page of it once more.
    case witness(Int)

    private static let hostBits: UInt32 = 29

    init(number: UInt32) {
        let host = Int(number & (1 << Self.hostBits - 1))
        switch number >> Self.hostBits {
        case 1: self = .witness(host)
        case 2: self = .probe(host)
        case 4: self = .robots(host)
        default: self = .entry(number)
        }
    }

    var number: UInt32 {
        switch self {
        case .entry(let number): number
        case .witness(let host): UInt32(host) | 1 << Self.hostBits
        case .probe(let host): UInt32(host) | 2 << Self.hostBits
        case .robots(let host): UInt32(host) | 4 << Self.hostBits
        }
    }
}

/// What those hear who watch. Nothing of it is computed when nobody does.
extension Crawl {
    static let progressInterval: Duration = .milliseconds(100)

    func tellProgress(isEnding: Bool = false) {
        guard let progress = plan.progress else { return }
        let now = now
        guard isEnding || now - lastProgress > Self.progressInterval else { return }
        lastProgress = now
        var figures = frontier.progress(now: now)
        figures.isEnding = isEnding
        figures.scanning = scanning
        figures.requests = report.requests
        figures.confirmed = report.confirmed
        figures.savedByteCount = report.savedByteCount
        figures.byteCount = report.wireByteCount
        for place in figures.hosts.indices {
            figures.hosts[place].requests = report.hosts[figures.hosts[place].name]?.requests ?? 0
        }
        progress(figures)
    }

    func tell(_ result: FetchResult) {
        guard let answered = plan.answered else { return }
        var status: Int?
        var failure: String?
        switch result.outcome {
        case .response(let response): status = response.status
        case .failure(let reason): failure = reason.description
        }
        answered(
            CrawlAnswer(
                url: result.url.href, kind: kind(of: result.number), status: status, failure: failure,
                byteCount: result.wireByteCount, elapsed: result.exchange?.timings.done ?? .zero))
    }

    private func kind(of number: UInt32) -> CrawlAnswer.Kind {
        switch Errand(number: number) {
        case .robots: .robots
        case .probe: .probe
        case .witness: .page
        case .entry(let number):
            switch frontier.role(of: number) {
            case .page: .page
            case .requisite: .requisite
            case .guide: .guide
            }
        }
    }
}
