internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import Synchronization
internal import System
internal import Web

/// Answers that lead to no entry: those that are about a host, and those that somebody else got.
extension Crawl {
    func keep(_ document: CrawlPlan.Document) throws(CrawlError) {
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

    /// What could not be had as it is required, or as somebody who is known, while something of it is held:
    /// that stays.
    func findKept() throws(CrawlError) {
        guard !required.isEmpty || plan.hasSession else { return }
        for (number, failure) in frontier.failures where !failure.isGone {
            if failure.isOfSession || required[frontier.url(number)] != nil { try noteIfKept(number) }
        }
    }

    /// What robots.txt says is kept like everything else, so that it can be explained later.
    func robotsFetched(_ result: FetchResult, of host: Int) throws(CrawlError) {
        result.partial?.discard()
        switch result.outcome {
        case .failure(let failure) where failure.kind == .machine:
            throw .fetch(failure)
        case .failure(let failure):
            try noteAnswer(to: result.url.href, of: result.url, failure: failure)
            try apply(.robots(host: host, .failed(failure)))
        case .response(var response):
            let location = response.fields["Location"].flatMap { WebURL($0, base: result.url) }
            var body = try storing { () throws(StoreError) in
                try response.body.beginning(RobotsGate.maxBytes)
            }
            if response.isCut {
                body = RobotsGate.wholeLines(body)
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
            if !isStored, !actions.isEmpty { try keepRobotsRedirect(result, response) }
            try noteAnswer(
                to: result.url.href, of: result.url, response, location: location?.href,
                zone: result.zone, body,
                storedBy: isStored ? result.number : nil)
            if isStored {
                // As any file that nobody looks into for links.
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

    private func keepRobotsRedirect(_ result: FetchResult, _ response: FetchedResponse) throws(CrawlError) {
        var head = NewResponse(
            href: result.url.href, referrer: nil, status: response.status, role: Frontier.Role.guide.rawValue,
            fields: response.fields.block, fetched: Self.secondsSinceEpoch(), body: .none)
        head.flags = ResponseFlags(result).union(ResponseFlags(zone: result.zone))
        try keep(head)
    }

    /// What the host says about what it cannot have is remembered, and not kept.
    func probeFetched(_ result: FetchResult, of host: Int) throws(CrawlError) {
        let name = Self.probeName(result.url)
        guard let (response, text) = try looked(at: result, ContentPrint.longestText) else {
            try noteAnswer(to: name, of: result.url, failure: FetchFailure(.unreachable, ""))
            return try apply(.probed(host: host, nil))
        }
        let target = Redirect(response.status, response.fields, from: result.url)?.url
        try noteAnswer(
            to: name, of: result.url, response, location: target?.href,
            zone: result.zone, text)
        let answer = SoftNotFound.Answer(
            status: response.status, target: target, content: ContentPrint(text: text.span))
        try apply(.probed(host: host, answer))
    }

    /// What is asked for to learn something of its host: the answer with the beginning of its body, of which
    /// nothing is kept. Nil when none came.
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
    /// What a page sent that a browser shows.
    case sent(Int)

    private static let hostBits: UInt32 = 29

    /// The most bytes of the body that say something; nil for all of them.
    var maxBytes: Int? {
        switch self {
        case .robots: RobotsGate.maxBytes
        case .probe: ContentPrint.longestText
        case .witness: Crawl.maxWitnessBytes
        case .entry, .sent: nil
        }
    }

    init(number: UInt32) {
        let host = Int(number & (1 << Self.hostBits - 1))
        switch number >> Self.hostBits {
        case 1: self = .witness(host)
        case 2: self = .probe(host)
        case 4: self = .robots(host)
        case 5: self = .sent(host)
        default: self = .entry(number)
        }
    }

    var number: UInt32 {
        switch self {
        case .entry(let number): number
        case .witness(let host): UInt32(host) | 1 << Self.hostBits
        case .probe(let host): UInt32(host) | 2 << Self.hostBits
        case .robots(let host): UInt32(host) | 4 << Self.hostBits
        case .sent(let number): UInt32(number) | 5 << Self.hostBits
        }
    }
}

/// What those are given who watch. Nothing of it is computed when nobody does.
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

    func reportAnswer(_ result: FetchResult) {
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
        switch Errand(number: number) {
        case .robots: .robots
        case .probe: .probe
        case .witness: .page
        case .sent: .asset
        case .entry(let number):
            switch frontier.role(of: number) {
            case .page: .page
            case .asset: .asset
            case .guide: .guide
            }
        }
    }
}
