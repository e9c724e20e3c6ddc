internal import Bundles
internal import Fetch
internal import Markup
internal import Store
package import Web

extension Crawl {
    func fetched(_ result: FetchResult) throws(CrawlError) {
        report.add(result)
        tell(result)
        frontier.received(result.wireByteCount)
        switch Errand(number: result.number) {
        case .robots(let host): return try robotsFetched(result, of: host)
        case .probe(let host): return try probeFetched(result, of: host)
        case .witness(let host): return try witnessFetched(result, of: host)
        case .entry: break
        }
        let held = asked.removeValue(forKey: result.number)
        frontier.came(result.number, from: result.exchange?.reach ?? .publicNetwork)
        if result.exchange?.version == .http2 { frontier.multiplexes(result.number) }
        if try goesOn(result, held) { return }
        try keepPartial(of: result)
        switch result.outcome {
        case .response(let response):
            if response.status == 412, held != nil {
                // A server that does not understand the conditions is asked without them.
                response.body.discard()
                return fetch(result.number, result.url, HTTPFields().naming(origin: result.sentFields["Origin"]))
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
            frontier.hasNoEnd(result.number, failure)
        case .failure(let failure):
            frontier.failed(
                result.number, .fetch(failure), after: result.exchange?.timings.latency,
                hadBegun: result.exchange?.version != nil, now: now)
        }
        if let held { try fallBack(result.number, to: held) }
    }

    /// Asks on at once where the last answer did not say how it stands with what was to be resumed: a part that is shorter
    /// than asked leads to the next, and a 304 that nothing was asked for it by says nothing.
    private func goesOn(_ result: FetchResult, _ held: StoredResponse?) throws(CrawlError) -> Bool {
        let before = resumed.removeValue(forKey: result.number)
        guard let partial = result.partial else { return false }
        let origin = HTTPFields().naming(origin: result.sentFields["Origin"])
        if result.isShortPart, let before, partial.byteCount - before >= Self.leastPart {
            if let held { asked[result.number] = held }
            fetch(result.number, result.url, origin, resume: partial)
            return true
        }
        guard case .response(let response) = result.outcome, response.status == 304,
            !result.sentFields.contains("If-None-Match"), !result.sentFields.contains("If-Modified-Since")
        else { return false }
        response.body.discard()
        partial.discard()
        fetch(result.number, result.url, origin)
        return true
    }

    /// Smaller parts count as attempts.
    private static let leastPart = 16 * 1024

    /// What an earlier visit has stays when it cannot be had anew, and so does what it leads to.
    private func fallBack(_ number: UInt32, to held: StoredResponse) throws(CrawlError) {
        switch frontier.state(number) {
        case .failed(let failure) where !failure.isGone:
            keptFromBefore.insert(number)
            // What did not answer came from nowhere: what is held came from where it came then.
            frontier.came(number, from: held.flags.reach)
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
        _ result: FetchResult, _ response: FetchedResponse, _ held: StoredResponse
    ) throws(CrawlError) {
        response.body.discard()
        guard let fields = recall?.confirmed(held, by: response.fields, now: Self.httpNow()) else {
            // It speaks of another version than the one that is held.
            return fetch(result.number, result.url, HTTPFields().naming(origin: result.sentFields["Origin"]))
        }
        frontier.succeeded(result.number, after: result.exchange?.timings.latency)
        report.confirmed += 1
        report.savedByteCount += held.body?.byteCount ?? 0
        frontier.cameInSession(result.number)
        if try follow(result.number, held) {
            try keep(
                result.number, held, fields: fields.block, fetched: Self.secondsSinceEpoch(),
                flags: ResponseFlags(result))
        }
    }

    private func answered(_ result: FetchResult, _ response: FetchedResponse) throws(CrawlError) {
        let number = result.number
        let latency = result.exchange?.timings.latency
        if (200..<300).contains(response.status) {
            frontier.succeeded(number, after: latency)
            report.bodyByteCount += response.body.byteCount
            return scan(number, frontier.url(number), .fetched(response), of: result)
        }
        response.body.discard()
        let url = frontier.url(number)
        if let redirect = Redirect(response.status, response.fields, from: url) {
            passOn(url, to: redirect.url)
            let setsCookie = response.fields.contains("Set-Cookie")
            let wasHeld = try isHeldFromBefore(number)
            if frontier.redirected(
                number, to: redirect.url, after: latency, setsCookie: setsCookie, wasHeld: wasHeld)
            {
                try keepRedirect(number, url, response, of: result)
            }
            return
        }
        let failure = Failure.status(response.status)
        frontier.failed(
            number, failure, after: latency, retryAfter: RetryAfter(response.fields)?.delay(now: Self.httpNow()),
            now: now)
        if failure.isGone { try keep(head(number, url, response, of: result)) }
    }

    func scan(_ number: UInt32, _ url: WebURL, _ source: ScanJob.Source, of result: FetchResult? = nil) {
        let role = frontier.role(of: number)
        var job = ScanJob(
            number: number, url: url, role: role, referrer: frontier.referrer(of: number)?.href, source: source,
            time: Self.secondsSinceEpoch())
        job.flags = ResponseFlags(frontier.reach(of: number))
        if let result {
            job.flags.formUnion(ResponseFlags(result))
            job.sentFields = result.sentFields
        }
        job.required = required[url]
        job.mayBeLeftOut = frontier.mayBeLeftOut(number)
        job.wantsWords = role == .page && frontier.wantsWords(of: number)
        if frontier.opensBySession(number) {
            job.login = frontier.wasLedTo(number) ? .wasLedTo : .mayBeInPlace
            inScan.insert(number)
        }
        scanning += 1
        scanningByteCount += job.byteCount
        pool.add(job)
    }

    func scanned(_ result: ScanResult) throws(CrawlError) {
        scanning -= 1
        scanningByteCount -= result.byteCount
        if let failure = result.failure { throw .store(failure) }
        if case .robots = Errand(number: result.number) { return }
        inScan.remove(result.number)
        if let refusal = result.refusal { return frontier.refused(result.number, refusal) }
        switch result.login {
        case .inPlace?:
            let place = frontier.url(result.number).href
            try loginCame(result.number, at: place)
            return try close(result.number, login: place)
        case .byItself?: frontier.isLogin(result.number)
        case nil: if !result.asksForPassword { frontier.cameInSession(result.number) }
        }
        try close(result.number, login: result.login.map { _ in frontier.url(result.number).href })
        frontier.came(result.number, as: result.format)
        if let rule = result.storageBan { return frontier.drop(result.number, for: .unstored(rule)) }
        guard plan.followsLinks else { return }
        let known = UInt32(frontier.urls.count)
        var links = NewLinks(from: target(result.number))
        for link in result.links where !result.isLeftOut || link.role == .page {
            let target = target(frontier.found(link, by: result.number))
            if link.isGuess {
                links.guesses.append(target)
            } else {
                switch link.role {
                case .page: links.pages.append(target)
                case .requisite: links.requisites.append(target)
                case .guide: break
                }
            }
        }
        if result.isLeftOut { return frontier.leaveOut(result.number) }
        if let print = result.print {
            frontier.read(result.number, print, newFrom: known, saysNotFound: result.saysNotFound)
        }
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(links) }
    }

    /// The text goes along once: from then on the store knows the number.
    private func target(_ number: UInt32) -> NewLinks.Target {
        NewLinks.Target(href: frontier.tell(number) ? frontier.urls.href(number) : nil, number: number)
    }

    /// A response that needs no body: a redirect, or a tombstone.
    func head(
        _ number: UInt32, _ url: WebURL, _ response: FetchedResponse, of result: FetchResult
    ) -> NewResponse {
        var head = NewResponse(
            href: url.href, referrer: frontier.referrer(of: number)?.href, status: response.status,
            role: frontier.role(of: number).rawValue, fields: response.fields.block,
            fetched: Self.secondsSinceEpoch(), body: .none)
        head.number = number
        head.flags = ResponseFlags(frontier.reach(of: number)).union(ResponseFlags(result))
        return head
    }

    func keep(_ head: NewResponse) throws(CrawlError) {
        try storing { () throws(StoreError) in try writes.addWithoutWaiting(head) }
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
/// What came where a server knows the user, and may cease to.
extension Crawl {
    /// A redirect of a page leads to something of which nobody has seen yet whether it is a login: until then it is not kept.
    func keepRedirect(
        _ number: UInt32, _ url: WebURL, _ response: FetchedResponse, of result: FetchResult
    ) throws(CrawlError) {
        let head = head(number, url, response, of: result)
        guard frontier.opensBySession(number), let target = openTarget(of: number) else { return try keep(head) }
        openRedirects[target, default: []].append((number, head))
    }

    private func openTarget(of number: UInt32) -> UInt32? {
        frontier.openTarget(of: number) ?? frontier.target(of: number).flatMap { inScan.contains($0) ? $0 : nil }
    }

    /// It was seen what a page is that redirects lead to: they are kept, unless it is a login.
    func close(_ number: UInt32, login: String? = nil) throws(CrawlError) {
        guard !openRedirects.isEmpty, let redirects = openRedirects.removeValue(forKey: number) else { return }
        for (number, head) in redirects {
            if let login { try loginCame(number, at: login) } else { try keep(head) }
            try close(number, login: login)
        }
    }

    /// What leads to nothing that came is kept as it is, but for what leads to where nothing was asked, since the session had
    /// ended.
    func closeAll() throws(CrawlError) {
        while let (target, failure) = openRedirects.keys.lazy.compactMap({ self.sessionFailure(of: $0) }).first {
            for (number, _) in openRedirects.removeValue(forKey: target) ?? [] { frontier.refused(number, failure) }
        }
        for (_, redirects) in openRedirects {
            for (_, head) in redirects { try keep(head) }
        }
        openRedirects.removeAll()
    }

    private func sessionFailure(of number: UInt32) -> (UInt32, Failure)? {
        guard case .failed(let failure) = frontier.state(number), failure.isOfSession else { return nil }
        return (number, failure)
    }

    /// A login came in place of a page, or the page leads to one. What an earlier visit has of it stays.
    func loginCame(_ number: UInt32, at place: String) throws(CrawlError) {
        frontier.askedForLogin(number, at: place, wasHeld: try isHeldFromBefore(number))
    }

    func isHeldFromBefore(_ number: UInt32) throws(CrawlError) -> Bool {
        guard frontier.opensBySession(number), let recall else { return false }
        return try storing { () throws(StoreError) in try recall.holds(frontier.url(number)) }
    }

    /// What the host says to a page that came before is not kept: it tells whether the session goes on.
    func witnessFetched(_ result: FetchResult, of host: Int) throws(CrawlError) {
        var asksForLogin: Bool?
        if let (response, text) = try looked(at: result, Self.longestWitness) {
            switch response.status {
            case 301, 302, 303, 307, 308, 401, 403: asksForLogin = true
            case 200..<300: asksForLogin = LoginWords.isAsked(in: text.span)
            default: break
            }
        }
        frontier.witnessed(host: host, asksForLogin: asksForLogin, now: now)
    }

    private static let longestWitness = 256 * 1024
}

/// An answer that leads elsewhere.
package struct Redirect {
    /// Nil when it does not say where.
    package let url: WebURL?

    /// Nil for a status that is no redirect. 300 and 304 are none: the one offers a choice, the other was not asked for.
    package init?(_ status: Int, _ fields: HTTPFields, from url: WebURL) {
        switch status {
        case 301, 302, 303, 307, 308: self.url = fields["Location"].flatMap { WebURL($0, base: url)?.key }
        default: return nil
        }
    }
}
