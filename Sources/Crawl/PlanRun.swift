internal import Fetch
internal import Glibc
internal import Markup
internal import Store
package import System
internal import Web

/// Looks at a few pages of a site and estimates the rest. Nothing is kept, and no more is fetched than the sample needs:
/// robots.txt, the pages, and the size of some of what they need.
package struct PlanRun {
    private let plan: CrawlPlan
    private let scope: Scope
    private let loop: FetchLoop
    private let scanner = LinkScanner()
    private var references = ReferenceList()
    private var sample: PlanSample
    private var traps = Traps()
    private var gates: [String: RobotsGate] = [:]
    private var known: Set<WebURL> = []
    private var refused = 0

    private static let mostRedirects = 10
    /// Requisites of a page whose sizes are asked for.
    private static let measuredRequisites = 8

    /// What came of it.
    package struct Outcome: Sendable {
        package var estimate: PlanEstimate
        package var requests = 0
        package var byteCount = 0
        /// Pages that robots.txt holds back, as far as they were heard of.
        package var refusedByRobots = 0
        /// The distance between requests that robots.txt asks for.
        package var crawlDelay: Duration?
        package var isInterrupted = false
    }

    private var outcome: Outcome

    /// - Parameter seed: other pages are looked at by another one.
    package init(_ plan: CrawlPlan, mostPages: Int = 120, seed: UInt64 = 0) throws(CrawlError) {
        self.plan = plan
        do throws(PatternMistake) {
            scope = try Scope(start: plan.start, options: plan.scope)
        } catch {
            throw .pattern(error)
        }
        do throws(FetchFailure) {
            loop = try FetchLoop(plan.fetchOfVisit)
        } catch {
            throw .fetch(error)
        }
        sample = PlanSample(mostPages: mostPages, seed: seed)
        outcome = Outcome(estimate: sample.estimate(PlanSample.Manner(connections: plan.connectionsPerHost)))
    }

    /// One request after the other: a look at a site is no load for it. Blocks.
    package mutating func run(_ interruption: Interruption, progress: (Int) -> Void) throws(CrawlError) -> Outcome {
        for url in plan.start { hear(of: url) }
        while !interruption.isRequested, let url = sample.next() {
            guard try mayFetch(url) else { continue }
            try look(at: url, interruption)
            progress(sample.pages.count)
        }
        outcome.isInterrupted = interruption.isRequested
        let distance = gates.values.compactMap { $0.crawlDelay?.kept }.max()
        outcome.crawlDelay = distance
        outcome.estimate = sample.estimate(
            PlanSample.Manner(connections: plan.connectionsPerHost, distance: distance ?? .zero), traps: traps.stopped)
        return outcome
    }

    private mutating func hear(of url: WebURL) {
        if known.insert(url).inserted { sample.hear(of: url) }
    }

    private mutating func look(at url: WebURL, _ interruption: Interruption) throws(CrawlError) {
        guard let (answer, latency, place) = try load(url, interruption) else { return }
        guard (200..<300).contains(answer.status) else { return answer.body.discard() }
        let bytes = try contents(of: answer.body)
        var page = PlanSample.Page(url: place, byteCount: bytes.count, latency: latency)
        var requisites: [WebURL] = []
        for link in links(of: bytes, answer.fields, place) {
            let isNew = known.insert(link.url).inserted
            switch link.role {
            case .page where scope.verdict(onPage: link.url, depth: 0).isFollowed:
                page.links.append(link.url)
                guard isNew else { continue }
                page.newPages.append(link.url)
                sample.hear(of: link.url)
            case .requisite where isNew && !link.isGuess && scope.verdict(onRequisite: link.url).isFollowed:
                requisites.append(link.url)
            case .page, .requisite, .guide:
                break
            }
        }
        page.newRequisites = requisites.count
        page.newRequisiteByteCount = try size(of: requisites, interruption)
        traps.fetched(place, ContentPrint(text: bytes.span), newPages: page.newPages)
        sample.fetched(page)
    }

    private mutating func links(of bytes: [UInt8], _ fields: HTTPFields, _ url: WebURL) -> [FoundLink] {
        let type = fields.contentType
        let format = BodyFormat(mediaType: type, url: url, body: bytes.span)
        references.removeAll()
        let table = scanner.scan(bytes.span, as: format, charset: type?.charset) { occurrence, reference in
            references.append(occurrence, reference)
        }
        return references.resolve(against: url, table: table)
    }

    /// The sizes of some tell the sizes of all.
    private mutating func size(of requisites: [WebURL], _ interruption: Interruption) throws(CrawlError) -> Int {
        guard !requisites.isEmpty else { return 0 }
        let step = max(1, requisites.count / Self.measuredRequisites)
        var (sum, count) = (0, 0)
        for index in stride(from: 0, to: requisites.count, by: step) where !interruption.isRequested {
            guard let (answer, _, _) = try load(requisites[index], interruption, method: "HEAD") else { continue }
            answer.body.discard()
            guard let length = answer.fields.contentLength else { continue }
            sum += length
            count += 1
        }
        return count == 0 ? 0 : sum / count * requisites.count
    }

    private mutating func mayFetch(_ url: WebURL) throws(CrawlError) -> Bool {
        guard let token = plan.productToken, plan.sitePlan.obeysRobots, !plan.start.contains(url) else { return true }
        var gate = gates[url.origin] ?? RobotsGate(for: url, productToken: token)
        if gate.verdict(on: url) == .waits, var next = gate.next(now: .zero) {
            while true {
                guard let (answer, _, _) = try load(next, Interruption(), followsRedirects: false) else {
                    gate.failed("it did not come", now: .zero)
                    break
                }
                let location = answer.fields["Location"].flatMap { WebURL($0, base: next) }
                let body = try contents(of: answer.body)
                guard
                    let further = gate.answered(
                        status: answer.status, location: location, body: body.span, now: .zero)
                else { break }
                next = further
            }
        }
        gates[url.origin] = gate
        switch gate.verdict(on: url) {
        // Without an answer nobody knows; a real run would wait and ask again.
        case .allowed, .waits: return true
        case .refused:
            outcome.refusedByRobots += 1
            return false
        }
    }

    /// The answer, how long it took to come, and where it came from in the end; nil when none came.
    private mutating func load(
        _ url: WebURL, _ interruption: Interruption, method: String = "GET", followsRedirects: Bool = true
    ) throws(CrawlError) -> (FetchedResponse, Duration, WebURL)? {
        var place = url
        for _ in 0...Self.mostRedirects {
            var request = FetchRequest(number: 0, url: place)
            request.method = method
            guard let result = try result(of: request, interruption) else { return nil }
            outcome.requests += 1
            outcome.byteCount += result.wireByteCount
            guard case .response(let answer) = result.outcome else { return nil }
            guard followsRedirects, let redirect = Redirect(answer.status, answer.fields, from: place) else {
                return (answer, result.exchange?.timings.latency ?? .zero, place)
            }
            answer.body.discard()
            guard let target = redirect.url, target.isHTTP else { return nil }
            place = target
        }
        return nil
    }

    /// Nil when it was interrupted.
    private func result(of request: FetchRequest, _ interruption: Interruption) throws(CrawlError) -> FetchResult? {
        do throws(FetchFailure) {
            return try loop.result(of: request, interruption)
        } catch {
            throw .fetch(error)
        }
    }

    private func contents(of body: FetchedBody) throws(CrawlError) -> [UInt8] {
        defer { body.discard() }
        do throws(StoreError) {
            return try body.beginning(BodyReading.byteLimit)
        } catch {
            throw .store(error)
        }
    }
}
