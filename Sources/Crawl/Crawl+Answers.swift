internal import Bundles
internal import Fetch
internal import Markup
internal import Store
package import Web

extension Crawl {
    func fetched(_ result: FetchResult) throws(CrawlError) {
        report.add(result)
        reportAnswer(result)
        try apply(.received(byteCount: result.wireByteCount))
        switch Errand(number: result.number) {
        case .robots(let host): return try robotsFetched(result, of: host)
        case .probe(let host): return try probeFetched(result, of: host)
        case .witness(let host): return try witnessFetched(result, of: host)
        case .sent(let errand): return try sentFetched(result, of: errand)
        case .entry: break
        }
        let held = validating.removeValue(forKey: result.number)
        try apply(
            .connected(
                result.number, from: result.zone,
                multiplexes: result.exchange.flatMap { $0.version == nil ? nil : $0.multiplexes }))
        if try goesOn(result, held) { return }
        try keepPartial(of: result)
        switch result.outcome {
        case .response(let response):
            if response.status == 412, held != nil {
                // A server that does not understand the conditions is asked without them.
                response.body.discard()
                return try fetch(
                    result.number, result.url, HTTPFields().naming(origin: result.sentFields["Origin"]))
            }
            if response.status == 304, let held {
                try confirmed(result, response, held)
            } else {
                try answered(result, response)
            }
        case .failure(let failure) where failure.kind == .machine:
            // A full disk or no memory: going on would only lose more.
            throw .fetch(failure)
        case .failure(let failure) where failure.kind == .endless:
            try apply(.endless(result.number, failure))
        case .failure(let failure):
            try apply(
                .failed(
                    result.number, .fetch(failure), after: result.exchange?.timings.latency,
                    hadBegun: result.exchange?.version != nil))
        }
        if let held {
            try fallBack(result.number, to: held.response)
        } else if case .failed(let failure) = frontier.state(result.number), !failure.isGone {
            try noteIfKept(result.number)
        }
    }

    /// Asks on at once where the last answer did not say how it stands with what was to be resumed: a part
    /// that is shorter than asked leads to the next, and a 304 that nothing was asked for it by says nothing.
    private func goesOn(_ result: FetchResult, _ held: Recall.Copy?) throws(CrawlError) -> Bool {
        let before = resumed.removeValue(forKey: result.number)
        guard let partial = result.partial else { return false }
        let origin = HTTPFields().naming(origin: result.sentFields["Origin"])
        if result.isShortPart, let before, partial.byteCount - before >= Self.leastPart {
            if let held { validating[result.number] = held }
            try fetch(result.number, result.url, origin, resume: partial)
            return true
        }
        guard case .response(let response) = result.outcome, response.status == 304,
            !result.sentFields.contains("If-None-Match"), !result.sentFields.contains("If-Modified-Since")
        else { return false }
        response.body.discard()
        partial.discard()
        try fetch(result.number, result.url, origin)
        return true
    }

    /// Smaller parts count as attempts.
    private static let leastPart = 16 * 1024

    /// What an earlier snapshot has stays when it cannot be had anew, and so does what it leads to.
    func fallBack(_ number: UInt32, to held: StoredResponse) throws(CrawlError) {
        switch frontier.state(number) {
        case .failed(let failure) where !failure.isGone:
            keptFromBefore.insert(number)
            // What did not answer is from nowhere: what is held is from where it was had then.
            try apply(.connected(number, from: held.flags.zone))
            try follow(number, held, mayLeaveOut: false)
        case .waiting:
            // It is tried again, and asked by the same conditions.
            break
        default:
            break
        }
    }

    /// What is there of a body is gone on with by the next attempt, be it of this run or of a later one.
    func keepPartial(of result: FetchResult) throws(CrawlError) {
        guard let partial = result.partial else { return }
        if case .response(let response) = result.outcome, !Failure.status(response.status).mayPass {
            return partial.discard()
        }
        try storing { () throws(StoreError) in
            try partials.keep(
                HeldPart(
                    href: result.url.href, path: partial.path, byteCount: partial.byteCount,
                    fields: partial.fields.block))
        }
    }

    /// What is held is what the server has.
    private func confirmed(
        _ result: FetchResult, _ response: FetchedResponse, _ copy: Recall.Copy
    ) throws(CrawlError) {
        response.body.discard()
        let held = copy.response
        guard
            let fields = recall?.confirmed(
                copy, by: response.fields, now: Self.httpNow())
        else {
            // It speaks of another version than the one that is held.
            return try fetch(
                result.number, result.url, HTTPFields().naming(origin: result.sentFields["Origin"]))
        }
        heldBefore[result.number] = nil
        // The links are those of the stored body: its zone limits them, too.
        let zone = min(held.flags.zone, frontier.zone(of: result.number))
        try apply(.connected(result.number, from: zone))
        try apply(.succeeded(result.number, after: result.exchange?.timings.latency))
        replacements?.confirm(frontier.url(result.number))
        report.confirmed += 1
        report.savedByteCount += held.body?.byteCount ?? 0
        try apply(.openedInSession(result.number))
        if try follow(result.number, held) {
            try keep(
                self.response(
                    result.number, held, fields: fields.block, fetched: Self.secondsSinceEpoch(),
                    flags: ResponseFlags(result)))
        }
    }

    private func answered(_ result: FetchResult, _ response: FetchedResponse) throws(CrawlError) {
        let number = result.number
        let latency = result.exchange?.timings.latency
        if (200..<300).contains(response.status) {
            try apply(.succeeded(number, after: latency))
            report.bodyByteCount += response.body.byteCount
            return try scan(number, frontier.url(number), .fetched(response), of: result)
        }
        response.body.discard()
        let url = frontier.url(number)
        let held = heldBefore.removeValue(forKey: number)
        let isGone = Failure.status(response.status).isGone
        let redirect = Redirect(response.status, response.fields, from: url)
        if isGone || redirect != nil,
            let failure = try refuseReplacement(number, url, (response.status, response.fields), over: held)
        {
            try apply(.failed(number, failure, after: latency))
            if let held { try fallBack(number, to: held) }
            return
        }
        if let redirect {
            passOn(url, to: redirect.url)
            redirects[number] = head(number, url, response, of: result)
            return try apply(
                .redirected(
                    number,
                    .init(
                        target: redirect.url, latency: latency,
                        setsCookie: response.fields.contains("Set-Cookie"),
                        wasHeld: try isHeldFromBefore(number))))
        }
        let failure = Failure.status(response.status)
        try apply(
            .failed(
                number, failure, after: latency,
                retryAfter: RetryAfter(response.fields)?.delay(now: Self.httpNow())))
        if failure.isGone { try keep(head(number, url, response, of: result)) }
    }

    func scan(
        _ number: UInt32, _ url: WebURL, _ source: ScanJob.Source, of result: FetchResult? = nil
    ) throws(CrawlError) {
        let role = frontier.role(of: number)
        var job = ScanJob(
            number: number, url: url, role: role, referrer: frontier.referrerText(of: number),
            source: source,
            time: Self.secondsSinceEpoch())
        job.referrerNumber = frontier.referrerNumber(of: number)
        job.flags = ResponseFlags(zone: frontier.zone(of: number))
        if let result {
            job.flags.formUnion(ResponseFlags(result))
            job.sentFields = result.sentFields
        }
        if result != nil, let said = scriptFields[number] {
            job.scriptFields = said.list.map(\.name).filter { $0.lowercased() != "origin" }
        }
        job.required = required[url]
        if result != nil { job.held = heldBefore.removeValue(forKey: number) }
        job.mayBeLeftOut = frontier.mayBeLeftOut(number)
        job.wantsWords = role == .page && frontier.wantsWords(of: number)
        if frontier.opensBySession(number) {
            job.login = frontier.entry(number).isRedirectTarget ? .isRedirectTarget : .mayBeInPlace
            try apply(.scanning(number))
        }
        scanning += 1
        scanningByteCount += job.byteCount
        beingScanned.insert(number)
        pool.add(job)
    }

    func scanned(_ result: ScanResult) throws(CrawlError) {
        scanning -= 1
        scanningByteCount -= result.byteCount
        if let failure = result.failure { throw .store(failure) }
        switch Errand(number: result.number) {
        case .entry: break
        case .sent(let errand): return sentScanned(result, of: errand)
        case .robots, .probe, .witness: return try answerStored(result.number)
        }
        beingScanned.remove(result.number)
        let wasHeld = result.login == .inPlace ? try isHeldFromBefore(result.number) : false
        if result.isTooLarge { report.unread.append(frontier.url(result.number).href) }
        if result.isOverlong { report.overlong.append(frontier.url(result.number).href) }
        var result = result
        try recallWhatWasShown(&result)
        try apply(.scanned(result, wasHeld: wasHeld))
        if let kept = result.kept { try fallBack(result.number, to: kept) }
        try restore(result.restored)
        if rejectedReasons[result.number] != nil, result.refusal == nil {
            try restore(result.number, frontier.url(result.number), isEnding: false)
        }
    }

    /// Whether an earlier snapshot has what may have been a login this time.
    private func isHeldFromBefore(_ number: UInt32) throws(CrawlError) -> Bool {
        guard frontier.opensBySession(number), let recall else { return false }
        return try storing { () throws(StoreError) in try recall.holds(frontier.url(number)) }
    }

    /// A response that needs no body: a redirect, or a tombstone.
    func head(
        _ number: UInt32, _ url: WebURL, _ response: FetchedResponse, of result: FetchResult
    ) -> NewResponse {
        var head = NewResponse(
            href: url.href, referrer: frontier.referrerText(of: number), status: response.status,
            role: frontier.role(of: number).rawValue, fields: response.fields.block,
            fetched: Self.secondsSinceEpoch(), body: .none)
        head.number = number
        head.referrerNumber = frontier.referrerNumber(of: number)
        head.flags = ResponseFlags(zone: frontier.zone(of: number)).union(ResponseFlags(result))
        return head
    }
}

extension FetchedBody {
    var content: BodyContent {
        switch self {
        case .bytes(let bytes): .bytes(bytes)
        case .file(let path, _): .file(path: path)
        }
    }

    func beginning(_ byteCount: Int) throws(StoreError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): bytes.count <= byteCount ? bytes : Array(bytes[..<byteCount])
        case .file(let path, _): try BodyContent.file(path: path).beginning(byteCount)
        }
    }
}
extension Crawl {
    /// What the host says to a page that came before is not kept: it tells whether the session goes on.
    func witnessFetched(_ result: FetchResult, of host: Int) throws(CrawlError) {
        var asksForLogin: Bool?
        if let (response, text) = try looked(at: result, Self.maxWitnessBytes) {
            switch response.status {
            case 301, 302, 303, 307, 308, 401, 403: asksForLogin = true
            case 200..<300: asksForLogin = LoginWords.isAsked(in: text.span)
            default: break
            }
        }
        try apply(.witnessed(host: host, asksForLogin: asksForLogin))
    }

    static let maxWitnessBytes = 256 * 1024
}

/// An answer that leads elsewhere.
package struct Redirect {
    /// Nil when it does not say where.
    package let url: WebURL?

    /// Nil for a status that is no redirect. 300 and 304 are none: the one offers a choice, the other was not
    /// asked for.
    package init?(_ status: Int, _ fields: HTTPFields, from url: WebURL) {
        switch status {
        case 301, 302, 303, 307, 308: self.url = fields["Location"].flatMap { WebURL($0, base: url)?.key }
        default: return nil
        }
    }
}
