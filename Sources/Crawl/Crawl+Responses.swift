internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import Web

extension Crawl {
    /// Processes the result of a request: stores the response, sends it to a scan thread, or reports its failure.
    /// `sendRequest` calls this before it returns if the response needs no network, such as that of an update file.
    func didFetch(_ result: FetchResult) throws(CrawlError) {
        report.add(result)
        notifyFetched(result)
        try apply(.received(byteCount: result.wireByteCount))
        switch RequestPurpose(number: result.number) {
        case .robots(let host): return try didFetchRobots(result, of: host)
        case .probe(let host): return try didFetchProbe(result, of: host)
        case .sessionCheck(let host): return try didFetchSessionCheck(result, of: host)
        case .pageRequest(let number): return try didFetchPageRequest(result, number: number)
        case .entry: break
        }
        var open = openRequests.removeValue(forKey: result.number) ?? OpenRequest()
        let result = try chooseResponse(for: result, and: open.responseWithCookies)
        open.responseWithCookies = nil
        // A result without a response has the zone of the public network, and does not show whether the host multiplexes.
        try apply(
            .connected(
                result.number, from: result.zone,
                multiplexes: result.exchange.flatMap { $0.version == nil ? nil : $0.multiplexes }))
        if try continuePartial(result, open) { return }
        try keepPartial(of: result)
        switch result.outcome {
        case .response(let response):
            if response.status == 412, open.validatedCopy != nil {
                // The server does not understand the conditions, so the request is repeated without them.
                response.body.discard()
                return try sendRequest(
                    result.number, result.url, HTTPFields().addingOrigin(result.sentFields["Origin"]),
                    open.withoutConditions)
            }
            if response.status == 304, let validatedCopy = open.validatedCopy {
                try didConfirm(result, response, validatedCopy, open)
            } else {
                try didRespond(result, response, open)
            }
        case .failure(let failure) where failure.kind == .machine:
            // The disk is full or memory has run out: to continue would only lose more.
            throw .fetch(failure)
        case .failure(let failure) where failure.kind == .endless:
            try apply(.endless(result.number, failure))
        case .failure(let failure):
            try apply(
                .failed(
                    result.number, .fetch(failure), after: result.exchange?.timings.latency,
                    hadBegun: result.exchange?.version != nil))
        }
        // If the request validated a stored copy, its links are followed, as after a 304. Otherwise the report only says
        // that a stored response stays.
        if let validatedCopy = open.validatedCopy {
            try fallBack(result.number, to: validatedCopy.response)
        } else if case .failed(let failure) = frontier.state(result.number), !failure.isGone {
            try noteIfKept(result.number)
        }
    }

    /// Requests a page once more without cookies, if the page may contain a list of recently viewed pages: with cookies,
    /// that list has the crawl's own requests (`CookieTraces`). Returns whether it did. The first response then waits in
    /// the second `OpenRequest`.
    private func startCookieComparison(
        _ result: FetchResult, _ response: FetchedResponse, _ open: OpenRequest
    ) throws(CrawlError) -> Bool {
        let (number, url) = (result.number, frontier.url(result.number))
        // A request without cookies is possible only if servers set all of them during this run. An immediate second
        // request would violate the `Crawl-delay` of robots.txt.
        guard plan.hasOnlyOwnCookies, frontier.crawlDelay == nil else { return false }
        if response.fields.contains("Set-Cookie") { cookieTraces.noteCookie(of: url) }
        guard response.status == 200, response.fields.contentType?.essence == "text/html",
            frontier.role(of: number) == .page, cookieTraces.takeComparison(number, url)
        else { return false }
        var second = open.withoutConditions
        second.responseWithCookies = result
        try sendRequest(
            number, url, HTTPFields().addingOrigin(result.sentFields["Origin"]), second, isAnonymous: true)
        return true
    }

    /// Requests a URL once more with `Referer`, if the server may have refused the request because it had none
    /// (`ReferrerHosts`). Returns whether it did.
    private func repeatWithReferrer(
        _ result: FetchResult, _ response: FetchedResponse, _ open: OpenRequest
    ) throws(CrawlError) -> Bool {
        let (number, url) = (result.number, frontier.url(result.number))
        let mayRepeat = referrerHosts.didRespond(
            number, url, status: response.status, hadReferrer: result.sentFields.contains("Referer"))
        // An immediate second request would violate the `Crawl-delay` of robots.txt.
        guard mayRepeat, frontier.crawlDelay == nil, let page = frontier.referrer(of: number),
            Referrer.value(from: page, to: url) != nil
        else { return false }
        response.body.discard()
        try sendRequest(
            number, url, HTTPFields().addingOrigin(result.sentFields["Origin"]), open.withoutConditions,
            sendsReferrer: true)
        return true
    }

    /// Chooses between the two responses of a page that was requested with cookies and then, as `result`, without them.
    /// Returns `result` for other requests, for which `withCookies` is nil.
    ///
    /// If the second response has a status that shows that the page needs its cookies, the first response is used, and
    /// pages of this kind are always requested with cookies from now on. If the second request failed, its status is
    /// temporary (429, 503), or a body cannot be read, the first response is used, too, but the kind stays undecided.
    private func chooseResponse(
        for result: FetchResult, and withCookies: FetchResult?
    ) throws(CrawlError) -> FetchResult {
        guard let withCookies else { return result }
        guard let with = Self.contentPrint(of: withCookies), let without = Self.contentPrint(of: result)
        else {
            if case .response(let response) = result.outcome, response.status != 200,
                !Failure.status(response.status).isTemporary
            {
                cookieTraces.noteRefusal(of: frontier.url(result.number))
            }
            Self.discard(result)
            return withCookies
        }
        let isTrace = cookieTraces.compare(frontier.url(result.number), with: with, without: without)
        Self.discard(isTrace ? withCookies : result)
        return isTrace ? result : withCookies
    }

    /// The fingerprint of the text of a page. Nil if the status is not 200 or the body cannot be read, so that the responses
    /// are not compared.
    private static func contentPrint(of result: FetchResult) -> ContentPrint? {
        guard case .response(let response) = result.outcome, response.status == 200 else { return nil }
        let bytes = try? response.body.beginning(ContentPrint.maxTextBytes)
        return bytes.map { ContentPrint(text: $0.span) }
    }

    /// Deletes the body of a result that is not used.
    private static func discard(_ result: FetchResult) {
        result.partial?.discard()
        if case .response(let response) = result.outcome { response.body.discard() }
    }

    /// Sends a further request at once if the response to a resumed request did not supply the rest of the body. Returns
    /// whether it did.
    ///
    /// Resumes again if the server sent a shorter range than requested, as RFC 9110 14.2 allows, and at least
    /// `minPartBytes` of it. Starts over without the part if it sent a 304, although the request had neither
    /// `If-None-Match` nor `If-Modified-Since`.
    private func continuePartial(
        _ result: FetchResult, _ open: OpenRequest
    ) throws(CrawlError) -> Bool {
        guard let partial = result.partial else { return false }
        let origin = HTTPFields().addingOrigin(result.sentFields["Origin"])
        if result.hasOnlyPartOfRest, let resumedByteCount = open.resumedByteCount,
            partial.byteCount - resumedByteCount >= Self.minPartBytes
        {
            try sendRequest(result.number, result.url, origin, open, resume: partial)
            return true
        }
        guard case .response(let response) = result.outcome, response.status == 304,
            !result.sentFields.contains("If-None-Match"), !result.sentFields.contains("If-Modified-Since")
        else { return false }
        response.body.discard()
        partial.discard()
        try sendRequest(result.number, result.url, origin, open.withoutConditions)
        return true
    }

    /// The minimum size of a part that counts as progress. A shorter one counts as a failed attempt,
    /// so that a crawl gives up on a server that sends a few bytes at a time.
    private static let minPartBytes = 16 * 1024

    /// Follows the links of the stored response for a URL that failed, and notes that this response
    /// stays in its earlier snapshot. Does nothing for a URL that succeeded, is gone (404, 410), or will be retried.
    func fallBack(_ number: UInt32, to stored: StoredResponse) throws(CrawlError) {
        switch frontier.state(number) {
        case .failed(let failure) where !failure.isGone:
            frontier.noteKept(number)
            // A failed request has no network zone, so the zone of the stored response applies to its links.
            try apply(.connected(number, from: stored.flags.zone))
            try followLinks(of: number, stored, mayLeaveOut: false)
        // An entry that waits for a retry needs nothing: the retry sends the same conditions.
        case .failed, .skipped, .queued, .running, .waiting, .done, .redirected, .elsewhere: break
        }
    }

    /// Keeps the partial body of a failed request, which the next attempt of this run or a later one resumes.
    /// Discards it if the response makes a retry useless.
    func keepPartial(of result: FetchResult) throws(CrawlError) {
        guard let partial = result.partial else { return }
        if case .response(let response) = result.outcome, !Failure.status(response.status).isTemporary {
            return partial.discard()
        }
        try storing { () throws(StoreError) in
            try partials.store(
                StoredPartialBody(
                    href: result.url.href, path: partial.path, byteCount: partial.byteCount,
                    fields: partial.fields.block))
        }
    }

    /// Adds the stored response to this snapshot after a 304, with updated headers. Repeats the request
    /// without conditions if the 304 refers to another version.
    private func didConfirm(
        _ result: FetchResult, _ response: FetchedResponse, _ copy: CacheLookup.StoredCopy,
        _ open: OpenRequest
    ) throws(CrawlError) {
        response.body.discard()
        let stored = copy.response
        guard
            let fields = cacheLookup?.updatedFields(
                of: copy, by: response.fields, now: Self.httpNow())
        else {
            // The 304 refers to a version that is not the stored one.
            return try sendRequest(
                result.number, result.url, HTTPFields().addingOrigin(result.sentFields["Origin"]),
                open.withoutConditions)
        }
        // The links are those of the stored body, so its zone limits them as well.
        let zone = min(stored.flags.zone, frontier.zone(of: result.number))
        try apply(.connected(result.number, from: zone))
        try apply(.succeeded(result.number, after: result.exchange?.timings.latency))
        replacements?.confirm(frontier.url(result.number))
        report.confirmed += 1
        report.savedByteCount += stored.body?.byteCount ?? 0
        try apply(.openedInSession(result.number))
        if try followLinks(of: result.number, stored) {
            try store(
                self.response(
                    result.number, stored, fields: fields.block, fetched: Self.secondsSinceEpoch(),
                    flags: ResponseFlags(result)))
        }
    }

    /// Processes a response that does not confirm a stored one.
    ///
    /// May repeat the request in another form, for which the response is not used. Otherwise scans the body of a success,
    /// holds a redirect until the frontier decides about it, and reports other statuses as failures. Stores a 404 or 410 as
    /// a tombstone, unless it is a single-page application, which is scanned like a success.
    private func didRespond(
        _ result: FetchResult, _ response: FetchedResponse, _ open: OpenRequest
    ) throws(CrawlError) {
        let number = result.number
        let latency = result.exchange?.timings.latency
        if try startCookieComparison(result, response, open) { return }
        if try repeatWithoutDictionary(result, response, open) { return }
        if try repeatWithReferrer(result, response, open) { return }
        if (200..<300).contains(response.status) {
            try apply(.succeeded(number, after: latency))
            report.bodyByteCount += response.body.byteCount
            return try scan(
                number, frontier.url(number), .fetched(response), of: result, replacing: open.storedBefore)
        }
        if let challenge = try takeChallenge(from: response) {
            return try apply(.failed(number, .challenged(challenge), after: latency))
        }
        // The body of an application is scanned below. Of other bodies, only a copy for scripts remains.
        let isApplication = try isSinglePageApplication(response, number)
        let errorBody = try isApplication ? nil : errorBody(of: response, number)
        if !isApplication { response.body.discard() }
        let url = frontier.url(number)
        let earlierResponse = open.storedBefore
        // Scan threads judge bodies. Here, a redirect, 404 or 410 is judged by its status and header fields.
        let isGone = Failure.status(response.status).isGone
        let redirect = Redirect(response.status, response.fields, from: url)
        if isGone || redirect != nil,
            let failure = try refuseReplacement(
                number, url, (response.status, response.fields), over: earlierResponse)
        {
            try apply(.failed(number, failure, after: latency))
            if let earlierResponse { try fallBack(number, to: earlierResponse) }
            if isApplication { response.body.discard() }
            return
        }
        if isApplication {
            rendering?.unknownPaths.insert(number)
            try apply(.succeeded(number, after: latency))
            report.bodyByteCount += response.body.byteCount
            return try scan(number, url, .fetched(response), of: result, replacing: earlierResponse)
        }
        if let redirect {
            propagateDigest(from: url, to: redirect.url)
            redirects[number] = head(number, url, response, of: result)
            return try apply(
                .redirected(
                    number,
                    .init(
                        target: redirect.url, latency: latency,
                        setsCookie: response.fields.contains("Set-Cookie"),
                        wasStored: try hasStoredPage(behindLoginAt: number))))
        }
        let failure = Failure.status(response.status)
        try apply(
            .failed(
                number, failure, after: latency,
                retryAfter: RetryAfter(response.fields)?.delay(now: Self.httpNow())))
        if failure.isGone { try store(head(number, url, response, of: result)) }
        if let errorBody, case .failed = frontier.state(number) {
            try storeErrorAnswer(errorBody, head(number, url, response, of: result))
        }
    }

    /// Whether a 404 or 410 response for a page is a single-page application: HTML whose scripts build the content, and that
    /// does not say "not found" before they run. Static file hosts send such a page, with status 404, for every path without
    /// a file. It is stored like any other page.
    private func isSinglePageApplication(_ response: FetchedResponse, _ number: UInt32) throws(CrawlError)
        -> Bool
    {
        let type = response.fields.contentType
        guard Failure.status(response.status).isGone, frontier.role(of: number) == .page,
            type?.isHTML ?? false, response.body.byteCount <= Rendering.maxErrorBodyBytes
        else { return false }
        let bytes = try storing { () throws(StoreError) in
            try response.body.beginning(Rendering.maxErrorBodyBytes)
        }
        let table = LinkScanner().read(bytes.span, of: frontier.url(number), as: type).table
        guard table.renderReasons.contains(.littleText) else { return false }
        let text = String(decoding: PageText.beginning(of: bytes.span), as: UTF8.self)
        return !NotFoundWords.areSaid(in: table.title ?? "") && !NotFoundWords.areSaid(in: text)
    }

    /// The body of an error response, if a script of a rendered page can read it (`storeErrorAnswer`); else nil.
    private func errorBody(of response: FetchedResponse, _ number: UInt32) throws(CrawlError) -> [UInt8]? {
        guard rendering?.readByScripts.contains(number) == true,
            Failure.status(response.status).isAnswerForScripts,
            response.body.byteCount <= Rendering.maxErrorBodyBytes
        else { return nil }
        return try storing { () throws(StoreError) in
            try response.body.beginning(Rendering.maxErrorBodyBytes)
        }
    }

    /// Stores an error response that the script of a page can read, so that the script gets the same error offline.
    private func storeErrorAnswer(_ body: [UInt8], _ head: NewResponse) throws(CrawlError) {
        guard let number = head.number, plan.rules.storageBan(for: frontier.url(number), nil) == nil else {
            return
        }
        var answer = head
        answer.request = .errorAnswer
        answer.type = HTTPFields(block: head.fields.utf8.span).contentType?.essence
        // The script sent credentials that Larder cannot compare with those of later requests, so the answer must match none
        // of them.
        if scriptFields[number]?.contains("Authorization") == true { answer.variant = VaryKey.never }
        try storing { () throws(StoreError) in
            answer.body = .new(
                try NewBody(
                    .bytes(body), form: BodyFormat.opaque.name, links: LinkTable().encoded(), in: plan.folder)
            )
        }
        try store(answer)
        rendering?.errorAnswers.insert(number)
    }

    /// Returns the bot challenge in a response that is not a success, and discards the body. Returns nil and leaves the body
    /// if there is none.
    private func takeChallenge(from response: FetchedResponse) throws(CrawlError) -> BotChallenge? {
        let (status, fields) = (response.status, response.fields)
        if let announced = BotChallenge(status: status, fields: fields) {
            response.body.discard()
            return announced
        }
        guard status >= 400, !Failure.status(status).isGone, fields.contentType?.isHTML ?? false else {
            return nil
        }
        let body = try storing { () throws(StoreError) in
            try response.body.beginning(BotChallenge.maxBodyBytes)
        }
        guard let challenge = BotChallenge(status: status, body: body.span) else { return nil }
        response.body.discard()
        return challenge
    }

    /// Queues a body for a scan thread.
    ///
    /// - Parameters:
    ///   - result: the result of the request that loaded the body; nil for a stored body.
    ///   - storedBefore: the stored response that the new one may replace.
    func scan(
        _ number: UInt32, _ url: WebURL, _ source: ScanJob.Source, of result: FetchResult? = nil,
        replacing storedBefore: StoredResponse? = nil
    ) throws(CrawlError) {
        let role = frontier.role(of: number)
        var job = ScanJob(
            number: number, url: url, role: storedRole(of: number, url),
            referrer: frontier.referrerText(of: number),
            source: source,
            time: Self.secondsSinceEpoch())
        job.referrerNumber = frontier.referrerNumber(of: number)
        job.flags = ResponseFlags(zone: frontier.zone(of: number))
        if let result {
            job.flags.formUnion(ResponseFlags(result))
            job.sentFields = result.sentFields
        }
        // The response varies by the fields that the script set. The browser sets `Origin` itself.
        if result != nil, let said = scriptFields[number] {
            job.scriptFields = said.list.map(\.name).filter { $0.lowercased() != "origin" }
        }
        job.required = required[url]
        job.storedBefore = storedBefore
        job.mayBeLeftOut = frontier.mayBeLeftOut(number)
        job.wantsPieces = role == .page && frontier.wantsPieces
        job.hasKnownQueries = job.wantsPieces && frontier.hasKnownQueries(number)
        job.wantsWords = role == .page && frontier.wantsWords(of: number)
        // Redirects to this page wait until the scan shows whether it is a login page.
        if frontier.needsSession(number) {
            job.login = frontier.entry(number).isRedirectTarget ? .isRedirectTarget : .mayReplacePage
            try apply(.scanning(number))
        }
        scanning += 1
        scanningByteCount += job.byteCount
        beingScanned.insert(number)
        pool.add(job)
    }

    /// Processes the result of a scan thread.
    func didScan(_ result: ScanResult) throws(CrawlError) {
        scanning -= 1
        scanningByteCount -= result.byteCount
        if let error = result.storeError { throw .store(error) }
        switch RequestPurpose(number: result.number) {
        case .entry: break
        case .pageRequest(let number): return didScanPageRequest(result, number: number)
        case .robots, .probe, .sessionCheck: return try didStoreHostResponse(result.number)
        }
        beingScanned.remove(result.number)
        let wasStored =
            result.login == .inPlaceOfPage ? try hasStoredPage(behindLoginAt: result.number) : false
        signatureRequests.add(result.acceptSignatures)
        if result.isTooLarge { report.unread.append(frontier.url(result.number).href) }
        if result.isOverlong { report.overlong.append(frontier.url(result.number).href) }
        var result = result
        try addLinksOfLastRendering(&result)
        try apply(.scanned(result, wasStored: wasStored))
        prepareRendering()
        if let kept = result.keptResponse { try fallBack(result.number, to: kept) }
        try restore(result.restored)
        // The response of this entry was rejected while it was being scanned, so that the stored one is restored only now. The
        // stored one may then be scanned for its links (`isReused`); the result of that scan must not restore it again.
        if rejectedReasons[result.number] != nil, result.refusal == nil, !result.isReused {
            try restore(result.number, frontier.url(result.number), isEnding: false)
        }
    }

    /// Whether the store has a response for a URL that may now be a login page or redirect to one. Always false for a URL at
    /// which a login page would not mean a lost session (`Frontier.needsSession`).
    private func hasStoredPage(behindLoginAt number: UInt32) throws(CrawlError) -> Bool {
        guard frontier.needsSession(number), let cacheLookup else { return false }
        return try storing { () throws(StoreError) in
            try cacheLookup.hasResponse(for: frontier.url(number))
        }
    }

    /// The role with which the response of an entry is stored.
    private func storedRole(of number: UInt32, _ url: WebURL) -> Frontier.Role {
        plan.supplied?.isPage(url) == true ? .page : frontier.role(of: number)
    }

    /// Makes a response whose body is empty so far: a redirect, a tombstone, or an error response before its body is added.
    func head(
        _ number: UInt32, _ url: WebURL, _ response: FetchedResponse, of result: FetchResult
    ) -> NewResponse {
        var head = NewResponse(
            href: url.href, referrer: frontier.referrerText(of: number), status: response.status,
            role: storedRole(of: number, url).rawValue, fields: response.fields.block,
            fetched: Self.secondsSinceEpoch(), body: .none)
        head.number = number
        head.referrerNumber = frontier.referrerNumber(of: number)
        head.flags = ResponseFlags(zone: frontier.zone(of: number)).union(ResponseFlags(result))
        return head
    }
}

extension FetchedBody {
    /// The bytes of the body, or the path of the file that contains them.
    var content: BodyContent {
        switch self {
        case .bytes(let bytes): .bytes(bytes)
        case .file(let path, _): .file(path: path)
        }
    }

    /// Returns the first `byteCount` bytes of the body, or all bytes of a shorter one.
    func beginning(_ byteCount: Int) throws(StoreError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): bytes.count <= byteCount ? bytes : Array(bytes[..<byteCount])
        case .file(let path, _): try BodyContent.file(path: path).beginning(byteCount)
        }
    }
}
