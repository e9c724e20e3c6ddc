internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Responses that belong to no entry: robots.txt, probes for error pages, and documents that the caller had
/// fetched before.
extension Crawl {
    /// Stores a document that was fetched before the crawl began. It is not scanned.
    func store(_ document: CrawlPlan.Document) throws(CrawlError) {
        try storing { () throws(StoreError) in
            let body = try NewBody(
                .bytes(document.bytes), form: BodyFormat.opaque.name, links: LinkTable().encoded(),
                in: plan.folder)
            var new = NewResponse(
                href: document.href, referrer: nil, status: 200, role: Frontier.Role.guide.rawValue,
                fields: document.fields.block, fetched: Self.secondsSinceEpoch(), body: .new(body))
            new.request = document.request
            new.type = document.fields.contentType?.essence
            try writes.add(new)
        }
    }

    /// Notes which failed URLs keep a response of an earlier snapshot. Considers URLs with a required digest
    /// and failures that concern the session, but not URLs that are gone (404, 410).
    func noteKeptResponses() throws(CrawlError) {
        guard !required.isEmpty || plan.hasSession else { return }
        for number in frontier.numbers {
            guard let failure = frontier.failure(of: number), !failure.isGone else { continue }
            if failure.isOfSession || required[frontier.url(number)] != nil { try noteIfKept(number) }
        }
    }

    /// Reports a robots.txt to the frontier. It is stored like other responses, so that its rules can be
    /// explained later.
    func didFetchRobots(_ result: FetchResult, of host: Int) throws(CrawlError) {
        result.partial?.discard()
        switch result.outcome {
        case .failure(let failure) where failure.kind == .machine:
            throw .fetch(failure)
        case .failure(let failure):
            try shareFailure(to: result.url.href, of: result.url, failure: failure)
            try apply(.robots(host: host, .failed(failure)))
        case .response(var response):
            let location = response.fields["Location"].flatMap { WebURL($0, base: result.url) }
            var body = try storing { () throws(StoreError) in
                try response.body.beginning(OriginRobots.maxBytes)
            }
            if response.isCut {
                body = OriginRobots.wholeLines(body)
                response.body.discard()
                response.body = .bytes(body)
                response.fields.remove("Content-Length")
            }
            let actions = frontier.apply(
                .robots(
                    host: host,
                    .answered(
                        status: response.status, location: location, body: body,
                        from: result.zone)), now: now)
            let isStored = (200..<300).contains(response.status)
            if !isStored, !actions.isEmpty { try storeRobotsRedirect(result, response) }
            try shareResponse(
                to: result.url.href, of: result.url, response, location: location?.href,
                zone: result.zone, body,
                storedBy: isStored ? result.number : nil)
            if isStored {
                // The scan thread stores the body. Links that it finds are ignored.
                var job = ScanJob(
                    number: result.number, url: result.url, role: .guide, referrer: nil,
                    source: .fetched(response),
                    time: Self.secondsSinceEpoch())
                job.flags = ResponseFlags(result).union(ResponseFlags(zone: result.zone))
                job.sentFields = result.sentFields
                scanning += 1
                scanningByteCount += job.byteCount
                pool.add(job)
            } else {
                response.body.discard()
            }
            try carryOut(actions)
        }
    }

    private func storeRobotsRedirect(_ result: FetchResult, _ response: FetchedResponse) throws(CrawlError) {
        var head = NewResponse(
            href: result.url.href, referrer: nil, status: response.status, role: Frontier.Role.guide.rawValue,
            fields: response.fields.block, fetched: Self.secondsSinceEpoch(), body: .none)
        head.flags = ResponseFlags(result).union(ResponseFlags(zone: result.zone))
        try store(head)
    }

    /// Reports to the frontier how a host responds to a URL that cannot exist. The response is not stored,
    /// but other workers receive it.
    func didFetchProbe(_ result: FetchResult, of host: Int) throws(CrawlError) {
        let name = Self.probeName(result.url)
        guard let (response, text) = try beginning(of: result, ContentPrint.maxTextBytes) else {
            try shareFailure(to: name, of: result.url, failure: FetchFailure(.unreachable, ""))
            return try apply(.probed(host: host, nil))
        }
        let target = Redirect(response.status, response.fields, from: result.url)?.url
        try shareResponse(
            to: name, of: result.url, response, location: target?.href,
            zone: result.zone, text)
        let answer = SoftNotFound.Answer(
            status: response.status, target: target, content: ContentPrint(text: text.span))
        try apply(.probed(host: host, answer))
    }

    /// Reports to the frontier whether a page that loaded before now asks for a login, which means that the
    /// session has ended. The response is not stored.
    func didFetchSessionCheck(_ result: FetchResult, of host: Int) throws(CrawlError) {
        var asksForLogin: Bool?
        if let (response, text) = try beginning(of: result, Self.maxSessionCheckBytes) {
            switch response.status {
            case 301, 302, 303, 307, 308, 401, 403: asksForLogin = true
            case 200..<300: asksForLogin = LoginPageSigns.hasPasswordField(text.span)
            default: break
            }
        }
        try apply(.sessionChecked(host: host, asksForLogin: asksForLogin))
    }

    /// The maximum size of the part of a page that is searched for a password field.
    static let maxSessionCheckBytes = 256 * 1024

    /// Returns a response with at most `byteCount` bytes of its body, and discards the rest. Returns nil if
    /// the request failed, and throws if this machine was the cause.
    func beginning(
        of result: FetchResult, _ byteCount: Int
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

/// The purpose of a request, encoded in the number that the fetch loop returns with its result. The upper
/// three bits are the kind, the other 29 the host or the page request. Numbers of entries are used as they
/// are.
enum RequestPurpose: Equatable {
    /// A URL of the frontier, by its number.
    case entry(UInt32)
    /// The robots.txt of a host, by the number of the host.
    case robots(Int)
    /// A URL that cannot exist on a host, which shows what its error page looks like.
    case probe(Int)
    /// A page of a host that has loaded before, which shows whether the session goes on.
    case sessionCheck(Int)
    /// A request of a page in the browser that belongs to no entry, such as a POST; a key of
    /// `Rendering.sent`.
    case pageRequest(Int)

    private static let hostBits: UInt32 = 29

    /// The number of bytes of the body after which the transfer is cut; nil for the limit of all transfers.
    var maxBytes: Int? {
        switch self {
        case .robots: OriginRobots.maxBytes
        case .probe: ContentPrint.maxTextBytes
        case .sessionCheck: Crawl.maxSessionCheckBytes
        case .entry, .pageRequest: nil
        }
    }

    init(number: UInt32) {
        let host = Int(number & (1 << Self.hostBits - 1))
        switch number >> Self.hostBits {
        case 1: self = .sessionCheck(host)
        case 2: self = .probe(host)
        case 4: self = .robots(host)
        case 5: self = .pageRequest(host)
        default: self = .entry(number)
        }
    }

    var number: UInt32 {
        switch self {
        case .entry(let number): number
        case .sessionCheck(let host): UInt32(host) | 1 << Self.hostBits
        case .probe(let host): UInt32(host) | 2 << Self.hostBits
        case .robots(let host): UInt32(host) | 4 << Self.hostBits
        case .pageRequest(let number): UInt32(number) | 5 << Self.hostBits
        }
    }
}

/// Progress and the results of requests, for the closures of the plan. Nothing is computed without a closure.
extension Crawl {
    static let progressInterval: Duration = .milliseconds(100)

    func reportProgress(isEnding: Bool = false) {
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
            figures.hosts[place].requests = report.tallies[figures.hosts[place].name]?.requests ?? 0
        }
        progress(meter.measure(figures))
    }

    /// Calls the caller's closure for finished requests (`CrawlPlan.fetched`), if there is one.
    func notifyFetched(_ result: FetchResult) {
        guard let fetched = plan.fetched else { return }
        var status: Int?
        var failure: String?
        switch result.outcome {
        case .response(let response): status = response.status
        case .failure(let reason): failure = reason.description
        }
        fetched(
            PrefetchedURL(
                url: result.url.href, kind: kind(of: result.number), status: status, failure: failure,
                byteCount: result.wireByteCount, elapsed: result.exchange?.timings.done ?? .zero))
    }

    private func kind(of number: UInt32) -> PrefetchedURL.Kind {
        switch RequestPurpose(number: number) {
        case .robots: .robots
        case .probe: .probe
        case .sessionCheck: .page
        case .pageRequest: .asset
        case .entry(let number):
            switch frontier.role(of: number) {
            case .page: .page
            case .asset: .asset
            case .guide: .guide
            }
        }
    }
}
