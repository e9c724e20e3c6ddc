internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import Web

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
    func robotsFetched(_ result: FetchResult) throws(CrawlError) {
        result.partial?.discard()
        let host = Int(result.number & ~Self.robotsBit)
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
            ask(result.number, next, result.exchange?.reach ?? .publicNetwork)
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
    func probeFetched(_ result: FetchResult) throws(CrawlError) {
        result.partial?.discard()
        let host = Int(result.number & ~Self.probeBit)
        switch result.outcome {
        case .failure(let failure) where failure.kind == .machine:
            throw .fetch(failure)
        case .failure:
            frontier.probed(host: host, nil, now: now)
        case .response(let response):
            let body = try storing { () throws(StoreError) in try response.body.beginning(ContentPrint.longestText) }
            response.body.discard()
            let target = Redirect(response.status, response.fields, from: result.url)?.url
            let answer = SoftNotFound.Answer(
                status: response.status, target: target, content: ContentPrint(text: body.span))
            frontier.probed(host: host, answer, now: now)
        }
    }
}
