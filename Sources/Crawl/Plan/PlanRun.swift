internal import Fetch
internal import Glibc
internal import Markup
internal import Store
package import System
package import Web

/// Loads a sample of a site's pages and estimates the rest. Stores nothing, and requests only robots.txt,
/// sitemaps, the site's search index, the sampled pages, and the sizes of some files and assets.
///
/// The frontier of a prefetch decides which URLs belong to the site and may be requested. It returns all of
/// them at once, and the sample chooses among them. For example, the frontier returns the 300 pages that the start page
/// links to, `sample.next` returns one of them, `fetchPage` loads it and reports its links to both.
///
/// It belongs to the thread that calls `run`, which makes one request at a time.
package struct PlanRun: ~Copyable {
    /// The plan of the prefetch that is estimated.
    private let plan: CrawlPlan
    private let loop: FetchLoop
    private let scanner = LinkScanner()
    private var references: ReferenceList
    private var frontier: Frontier
    private var sample: PlanSample
    /// The frontier's numbers of the pages that the sample may choose.
    private var candidates: [WebURL: UInt32] = [:]
    /// The assets that the sample may weigh.
    private var assets: [WebURL: UInt32] = [:]
    /// The number of hosts whose robots.txt was requested.
    private var robotsCount = 0
    /// Sitemaps and search indexes that were requested.
    private var readGuides: Set<UInt32> = []
    /// The URLs of search indexes, and whether the pages that they list are named `.html`.
    private var searchIndexes: [WebURL: Bool] = [:]

    /// The maximum number of redirects of a request for a size. After more, the URL counts as missing.
    private static let maxRedirects = 10
    /// The maximum number of hosts whose robots.txt is loaded. Pages of further hosts count, but are not
    /// sampled.
    private static let maxRobotsHosts = 32
    /// The maximum share of the requests that load sitemaps and search indexes ("guides"). Further ones are not read.
    private static let maxGuideShare = 0.15
    /// The maximum number of these requests.
    private static let maxGuides = 60
    /// Larger pages and files are cut off here, and their size is that of the header `Content-Length`.
    private static let maxBytes = 16 << 20

    private var report: PlanReport

    /// - Parameters:
    ///   - maxRequests: the maximum number of requests, except for redirects of the last ones.
    ///   - seed: chooses the random pages of the sample.
    package init(_ plan: CrawlPlan, maxRequests: Int = 200, seed: UInt64 = 0) throws(CrawlError) {
        let scope: Scope
        do throws(PatternMistake) {
            scope = try Scope(start: plan.start, options: plan.scope)
        } catch {
            throw .pattern(error)
        }
        let loop: FetchLoop
        do throws(FetchFailure) {
            loop = try FetchLoop(plan.fetchOfSnapshot)
        } catch {
            throw .fetch(error)
        }
        self.plan = plan
        self.loop = loop
        references = ReferenceList(maxLinks: plan.maxLinksPerDocument)
        frontier = Frontier(scope: scope, options: plan.sampleOptions)
        sample = PlanSample(maxRequests: maxRequests, seed: seed)
        report = PlanReport(
            site: plan.site,
            estimate: sample.estimate(PlanSample.RequestRate(connections: plan.connectionsPerHost)))
    }

    /// Makes one request after the other, so that the sample is no load for the site. Blocks.
    package mutating func run(
        _ interruption: Interruption, progress: (_ requests: Int) -> Void
    ) throws(CrawlError) -> PlanReport {
        for url in plan.start { apply(.start(url, nearestZone: plan.startZone)) }
        for url in plan.sitemaps { apply(.guide(url, nearestZone: plan.startZone)) }
        offer(try takeDue(interruption))
        while !interruption.isRequested, let request = sample.next(spent: report.requests) {
            switch request {
            case .page(let url):
                if let number = candidates[url] { try fetchPage(number, interruption) }
            case .file(let url):
                if let number = candidates[url] { try weigh(number, request, interruption) }
            case .asset(let url):
                if let number = assets[url] { try weigh(number, request, interruption) }
            }
            progress(report.requests)
        }
        report.isInterrupted = interruption.isRequested
        let distance = plan.sitePlan.obeysRobots ? frontier.crawlDelay : nil
        report.crawlDelay = distance.map { $0 / .seconds(1) }
        for number in frontier.numbers {
            if case .skipped(.robots) = frontier.state(number) { report.refusedByRobots += 1 }
        }
        report.estimate = sample.estimate(
            PlanSample.RequestRate(connections: plan.connectionsPerHost, distance: distance ?? .zero),
            traps: frontier.traps.stopped)
        return report
    }

    /// Applies an event to the frontier. Its time is always zero, so that no request waits for a delay.
    @discardableResult
    private mutating func apply(_ event: Frontier.Event) -> [Frontier.Action] {
        frontier.apply(event, now: .zero)
    }

    /// Takes all URLs that are due from the frontier, in the order in which they were discovered. Loads robots.txt files,
    /// sitemaps and search indexes on the way, because the frontier holds pages back until their robots.txt is known.
    private mutating func takeDue(_ interruption: Interruption) throws(CrawlError) -> [UInt32] {
        var due: [UInt32] = []
        while let task = frontier.next(now: .zero) {
            switch task {
            case .fetch(let number): due.append(number)
            case .robots(let host, let url, let nearestZone):
                try fetchRobots(of: host, url, nearestZone, interruption)
            // Probes would cost requests without changing the estimate.
            case .probe(let host, _, _): apply(.probed(host: host, nil))
            case .sessionCheck(let host, _, _): apply(.sessionChecked(host: host, asksForLogin: nil))
            case .render(let number): apply(.rendered(number, .init()))
            }
        }
        // Sitemaps and search indexes come first: they list pages at one request each.
        for number in due.sorted() where frontier.role(of: number) == .guide {
            try readGuide(number, interruption)
        }
        return due.sorted()
    }

    /// Offers the pages among the due URLs to the sample.
    private mutating func offer(_ due: [UInt32], areListed: Bool = false) {
        for number in due {
            let url = frontier.url(number)
            switch frontier.role(of: number) {
            case .guide: break
            case .asset: assets[url] = number
            case .page:
                guard candidates.updateValue(number, forKey: url) == nil else { continue }
                let leadsOn = plan.scope.depth.map { frontier.entry(number).depth < $0 } ?? true
                sample.offer(url, leadsOn: leadsOn, isListed: areListed)
            }
        }
    }

    /// Fetches a page, follows its redirects to their end, and reports the page that is there to the sample. A redirect to a
    /// URL that is already known ends here, because that URL is counted itself.
    private mutating func fetchPage(_ first: UInt32, _ interruption: Interruption) throws(CrawlError) {
        var number = first
        while let result = try result(of: request(number), interruption) {
            apply(.connected(number, from: result.zone))
            guard case .response(let response) = result.outcome else {
                sample.didMiss(frontier.url(number))
                if case .failure(let failure) = result.outcome { report.record(.fetch(failure)) }
                return apply(failure: result, of: number)
            }
            if let redirect = Redirect(response.status, response.fields, from: frontier.url(number)) {
                response.body.discard()
                sample.didMiss(frontier.url(number))
                apply(.redirected(number, .init(target: redirect.url)))
                var due = try takeDue(interruption)
                let target = frontier.target(of: number)
                let index = due.firstIndex { $0 == target }
                if let index { number = due.remove(at: index) }
                offer(due)
                if index == nil { return }
                offer([number])
            } else if (200..<300).contains(response.status) {
                apply(.succeeded(number))
                return try readPage(
                    number, from: frontier.url(first), response,
                    after: result.exchange?.timings.latency ?? .zero, interruption)
            } else {
                response.body.discard()
                sample.didMiss(frontier.url(number))
                report.record(.status(response.status))
                apply(.failed(number, .status(response.status)))
                return
            }
        }
    }

    /// Reports a request without a response to the frontier.
    private mutating func apply(failure result: FetchResult, of number: UInt32) {
        if case .failure(let failure) = result.outcome { apply(.failed(number, .fetch(failure))) }
    }

    /// Scans a page for links, and reports them to the frontier and to the sample. `first` is the URL that redirected to it,
    /// or its own.
    private mutating func readPage(
        _ number: UInt32, from first: WebURL, _ response: FetchedResponse, after latency: Duration,
        _ interruption: Interruption
    ) throws(CrawlError) {
        let isCut = response.isCut
        let bytes = try contents(of: response.body)
        let url = frontier.url(number)
        let (foundLinks, title, isShell) = links(of: bytes, response.fields, url)
        if plan.start.contains(first) {
            sample.loginPage = .login(from: first, at: url, titled: title, bytes.span)
        }
        var scan = ScanResult(number: number, byteCount: 0)
        scan.print = ContentPrint(text: bytes.span)
        scan.links = foundLinks
        // Before the links: the frontier does not request an asset as a list of pages.
        addSearchIndexes(of: number, foundLinks, bytes)
        var linkedPages: Set<UInt32> = []
        var neededAssets: Set<UInt32> = []
        for case .storeLinks(let links) in apply(.scanned(scan)) where links.source.number == number {
            linkedPages = Set(links.pages.map(\.number))
            neededAssets = Set(links.assets.map(\.number))
        }
        let due = try takeDue(interruption)
        var page = PlanSample.Page(
            url: url, byteCount: isCut ? response.fields.contentLength ?? bytes.count : bytes.count,
            latency: latency)
        page.isShell = isShell
        page.links = linkedPages.sorted().filter { isOfSite($0) }.map { frontier.url($0) }
        for number in due where frontier.role(of: number) == .asset { assets[frontier.url(number)] = number }
        page.assets = neededAssets.sorted().map { frontier.url($0) }.filter { assets[$0] != nil }
        sample.didFetch(page)
        // After the page, so that the sample sees which links are new.
        offer(due)
    }

    /// Whether a prefetch would request the URL as a page. A page that it takes for a trap counts, since it
    /// shows the trap.
    private func isOfSite(_ number: UInt32) -> Bool {
        guard frontier.role(of: number) == .page else { return false }
        switch frontier.state(number) {
        case .skipped(.trap): return true
        case .skipped: return false
        case .queued, .running, .waiting, .done, .redirected, .failed, .elsewhere: return true
        }
    }

    /// The links of a page that a prefetch would follow, its title, and whether only its scripts give it content. With a
    /// session, links that may change something are left out.
    private mutating func links(
        of bytes: [UInt8], _ fields: HTTPFields, _ url: WebURL
    ) -> (links: [FoundLink], title: String?, isShell: Bool) {
        let type = fields.contentType
        let format = BodyFormat(mediaType: type, url: url, body: bytes.span)
        references.removeAll()
        let table = scanner.scan(bytes.span, as: format, charset: type?.charset) { occurrence, reference in
            references.append(occurrence, reference)
        }
        let directives = PageDirectives(
            fields, metaContent: table.robots, productToken: plan.productToken ?? "")
        let links = references.resolve(against: url, table: table, plan.sitePlan.directivePolicy, directives)
        let isShell = table.renderReasons.contains(.littleText)
        guard plan.hasSession, format == .html else { return (links, table.title, isShell) }
        let base = table.base.flatMap { WebURL($0, base: url) } ?? url
        let actions = ActionLinkScanner.links(in: bytes.span, isUTF8: table.encoding == .utf8, base: base)
        let harmless = links.filter { link in link.url.map { !actions.contains($0) } ?? true }
        return (harmless, table.title, isShell)
    }

    // MARK: - Sitemaps and search indexes

    /// Makes the frontier offer the search indexes that a page uses. With a depth limit, pages of an index may
    /// be too deep, so no index is read.
    private mutating func addSearchIndexes(of number: UInt32, _ links: [FoundLink], _ body: [UInt8]) {
        guard plan.scope.depth == nil else { return }
        let url = frontier.url(number)
        let namesFiles = links.contains { $0.role == .page && $0.url?.path.hasSuffix(".html") == true }
        let scripts = links.filter { $0.role == .asset }.compactMap(\.url)
        for file in SearchIndexFile.files(of: url, links: scripts, body: body)
        where file.origin == url.origin && searchIndexes[file] == nil {
            searchIndexes[file] = namesFiles
            apply(.guide(file, nearestZone: frontier.nearestZone(number)))
        }
    }

    /// The maximum number of sitemaps and search indexes for a sample of this size.
    private var maxGuides: Int {
        min(Self.maxGuides, Int((Double(sample.maxRequests) * Self.maxGuideShare).rounded(.up)))
    }

    /// Loads a sitemap or a search index, and adds the pages that it lists to the sample.
    private mutating func readGuide(
        _ number: UInt32, _ interruption: Interruption
    ) throws(CrawlError) {
        guard readGuides.count < maxGuides, readGuides.insert(number).inserted else { return }
        var request = request(number)
        request.maxBytes = nil
        guard let result = try result(of: request, interruption) else { return }
        apply(.connected(number, from: result.zone))
        guard case .response(let response) = result.outcome else {
            return apply(failure: result, of: number)
        }
        let bytes = try contents(of: response.body)
        guard (200..<300).contains(response.status) else {
            apply(.failed(number, .status(response.status)))
            return
        }
        apply(.succeeded(number))
        let url = frontier.url(number)
        var scan = ScanResult(number: number, byteCount: 0)
        if let namesFiles = searchIndexes[url] {
            let listing = SearchIndexFile.listing(in: bytes, at: url, namesFiles: namesFiles)
            scan.links = listing.pages.map { FoundLink(url: $0, role: .page) }
            // A part of the files would say little, and cost requests that say more elsewhere.
            let canReadAll = listing.files.count <= maxGuides - readGuides.count
            for file in listing.files
            where canReadAll && file.origin == url.origin && searchIndexes[file] == nil {
                searchIndexes[file] = namesFiles
                apply(.guide(file, nearestZone: frontier.nearestZone(number)))
            }
        } else {
            scan.links =
                references.readSitemap(bytes, response.fields.contentType, at: url, by: scanner).links
        }
        apply(.scanned(scan))
        offer(try takeDue(interruption), areListed: true)
    }

    // MARK: - Sizes

    /// Requests the size of a file or an asset, from the header of the response or of the one at the end of its
    /// redirects. If HEAD fails, a GET that ends after the header decides whether the file exists.
    private mutating func weigh(
        _ number: UInt32, _ subject: PlanSample.Request, _ interruption: Interruption
    ) throws(CrawlError) {
        var request = request(number)
        request.method = "HEAD"
        for _ in 0...Self.maxRedirects {
            guard let result = try result(of: request, interruption),
                case .response(let answer) = result.outcome
            else { break }
            answer.body.discard()
            if let redirect = Redirect(answer.status, answer.fields, from: request.url) {
                guard let target = redirect.url, target.isHTTP else { break }
                request.url = target
                request.nearestZone = effectiveZone(result.zone)
            } else if (200..<300).contains(answer.status) {
                return sample.didWeigh(subject, byteCount: answer.fields.contentLength)
            } else if request.method == "HEAD" {
                // Some servers refuse HEAD, or answer it with another status than GET.
                request.method = "GET"
                request.maxBytes = 1
            } else {
                break
            }
        }
        sample.didMiss(frontier.url(number))
    }

    /// Loads a robots.txt. If there is no response, the sample continues; a prefetch would wait and retry.
    private mutating func fetchRobots(
        of host: Int, _ url: WebURL, _ nearestZone: NetworkZone, _ interruption: Interruption
    ) throws(CrawlError) {
        guard robotsCount < Self.maxRobotsHosts else { return }
        robotsCount += 1
        var request = FetchRequest(number: 0, url: url, nearestZone: effectiveZone(nearestZone))
        request.maxBytes = OriginRobots.maxBytes
        while let result = try result(of: request, interruption) {
            // A 404 allows everything (RFC 9309 2.3.1.3). Here it also stands for a missing response.
            var answer = Frontier.RobotsAnswer.answered(status: 404, from: .publicNetwork)
            if case .response(let response) = result.outcome {
                let bytes = try contents(of: response.body)
                let body = response.isCut ? OriginRobots.wholeLines(bytes) : bytes
                if response.status < 500, !Failure.status(response.status).isTemporary {
                    answer = .answered(
                        status: response.status,
                        location: response.fields["Location"].flatMap { WebURL($0, base: request.url) },
                        body: body, from: result.zone)
                }
            }
            guard
                case .startTask(.robots(_, let further, let nearestZone))? = apply(
                    .robots(host: host, answer)
                ).first
            else { return }
            request.url = further
            request.nearestZone = effectiveZone(nearestZone)
        }
    }

    /// A request for a URL of the frontier.
    private func request(_ number: UInt32) -> FetchRequest {
        var request = FetchRequest(
            number: 0, url: frontier.url(number), nearestZone: effectiveZone(frontier.nearestZone(number)))
        request.maxBytes = Self.maxBytes
        return request
    }

    /// The nearest network zone of a request, which an option of the user may have widened.
    private func effectiveZone(_ nearestZone: NetworkZone) -> NetworkZone {
        max(plan.allowedZone, nearestZone)
    }

    /// The result of a request; nil if the run was interrupted.
    private mutating func result(
        of request: FetchRequest, _ interruption: Interruption
    ) throws(CrawlError) -> FetchResult? {
        do throws(FetchFailure) {
            guard let result = try loop.result(of: request, interruption) else { return nil }
            report.requests += 1
            report.fetchedByteCount += result.wireByteCount
            return result
        } catch {
            throw .fetch(error)
        }
    }

    /// The beginning of a body, which is discarded. Larger bodies than `BodyReading.maxBytes` are cut off.
    private func contents(of body: FetchedBody) throws(CrawlError) -> [UInt8] {
        defer { body.discard() }
        do throws(StoreError) {
            return try body.beginning(BodyReading.maxBytes)
        } catch {
            throw .store(error)
        }
    }
}

/// The estimate of a prefetch from a sample of its pages. The members of `PlanEstimate`, such as `pages` and
/// `byteCount`, are members of this report too.
@dynamicMemberLookup
public struct PlanReport: Sendable, Equatable {
    /// The name of the site.
    public let site: String
    /// The estimate.
    package var estimate: PlanEstimate
    /// The number of requests for the sample.
    public package(set) var requests = 0
    /// The number of bytes received for the sample.
    public package(set) var fetchedByteCount = 0
    /// The number of discovered pages that robots.txt forbids.
    public package(set) var refusedByRobots = 0
    /// The delay between requests that robots.txt asks for, in seconds.
    public package(set) var crawlDelay: Double?
    /// Whether it was interrupted.
    public package(set) var isInterrupted = false
    /// The first failure of a request for a page.
    private var failure: Failure?

    package init(site: String, estimate: PlanEstimate) {
        (self.site, self.estimate) = (site, estimate)
    }

    /// Why the first page that could not be fetched was not fetched; nil if all were.
    public var failureReason: String? { failure?.description }
    /// The status of the server's answer, if that is why.
    package var errorStatus: Int? { failure?.errorStatus }
    /// Whether the server's certificate was not accepted.
    package var isOfTLS: Bool { failure?.isOfTLS ?? false }

    /// Records why a page could not be fetched.
    fileprivate mutating func record(_ failure: Failure) { self.failure = self.failure ?? failure }

    /// URL patterns of pages that link to ever more pages of the same kind.
    public var traps: [String] { estimate.traps.map(\.description) }

    /// A member of the estimate.
    public subscript<Value>(dynamicMember figure: KeyPath<PlanEstimate, Value>) -> Value {
        estimate[keyPath: figure]
    }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension PlanReport: JSONObject {
    package var members: JSONMembers {
        [
            "site": site, "interrupted": isInterrupted, "requests": requests,
            "fetchedBytes": fetchedByteCount,
            "pages": estimate.pages, "bytes": estimate.byteCount, "seconds": estimate.seconds,
            "confidence": estimate.confidence.rawValue, "reasons": estimate.reasons,
            "largerSample": IfAny(estimate.largerSample), "refusedByRobots": refusedByRobots,
            "crawlDelay": IfAny(crawlDelay), "traps": traps, "patterns": estimate.groups,
        ]
    }
}

extension CrawlPlan {
    /// The options for a sample: no delays, no retries, no limits.
    fileprivate var sampleOptions: Frontier.Options {
        var options = frontierOptions
        options.isUnpaced = true
        options.retryPlan = RetryPlan(maxAttempts: 1, maxLookupAttempts: 1)
        options.limits = CrawlLimits()
        if !options.obeysRobots { options.productToken = nil }
        options.followsLinks = true
        options.followsGuesses = false
        options.patience = nil
        return options
    }
}
