internal import Bundles
internal import Fetch
internal import Markup
internal import Store
internal import System
internal import Web

/// The crawl's state of the pages that are being rendered. It belongs to the crawl's thread.
///
/// A page is rendered in these steps: the frontier returns it as a task (`Crawl.render`); the browser opens it and sends its
/// requests through `channel` (`handle`); each is answered from the store once its response is committed, or directly
/// (`answerPageRequests`); and at the end its links, text and notes are stored (`didRender`).
///
/// A GET of a page becomes an entry of the frontier, like a link. The scope, robots.txt and limits apply to it, and its
/// response is stored once for all pages. A request whose response belongs to this page alone, such as a POST, has no entry
/// and is "untracked".
///
/// Each `answer` closure is called exactly once, except when the crawl ends: then those in `waiting` and `untracked` are
/// dropped together with the renderer.
struct Rendering {
    let channel: RenderChannel
    let plan: RenderPlan
    /// Whether the browser was started in advance.
    var isPrepared = false
    /// Nil until the first page is rendered.
    var renderer: (any PageRenderer)?
    /// The pages that are being rendered, by number.
    var openPages: [UInt32: OpenPage] = [:]
    /// The requests of pages that wait for an entry, by the number of the entry.
    var waiting: [UInt32: [@Sendable (PageRequestResult) -> Void]] = [:]
    /// Cookies of the page that are sent with the first request for an entry, by the number of the entry.
    var cookies: [UInt32: [PageCookie]] = [:]
    /// The entries whose status a script can read.
    var readByScripts: Set<UInt32> = []
    /// The entries with a stored answer for such scripts (`RequestKey.errorAnswer`).
    var errorAnswers: Set<UInt32> = []
    /// The pages that came with 404 or 410 (`Crawl.isSinglePageApplication`).
    var unknownPaths: Set<UInt32> = []
    /// The pages that have loaded themselves again with cookies of their scripts.
    var reloadedPages: Set<UInt32> = []
    /// The fingerprints of the responses to POST requests.
    var postBodies: Set<UInt64> = []
    /// Requests that belong to no entry, such as POST, by the number in their `RequestPurpose`.
    var untracked: [Int: UntrackedRequest] = [:]
    /// The number of untracked requests so far, which numbers them.
    var untrackedCount = 0
    /// POST requests whose responses are stored or about to be.
    var storedPosts: Set<PostKey> = []

    /// A page that is being rendered.
    struct OpenPage {
        /// The entries that the page requested.
        var requestedEntries: Set<UInt32> = []
        /// The number of documents that the page requested through the channel.
        var documentCount = 0
        /// The number of its untracked requests.
        var untrackedCount = 0
        /// The number of WebSockets that it opened.
        var socketCount = 0
        /// Whether it has loaded itself again with cookies of its scripts, for the first time.
        var wasReloaded = false
        /// The number of its POST requests whose responses differ from all before.
        var newPostCount = 0
    }

    /// A request that belongs to no entry.
    struct UntrackedRequest {
        let page: UInt32
        let request: PageRequest
        /// The closures of all pages that have sent the same request meanwhile.
        var waiting: [@Sendable (PageRequestResult) -> Void]
        /// The response, until it is stored.
        var answer: PageRequestResult?
    }

    /// The key of the stored response to a POST.
    struct PostKey: Hashable {
        let url: WebURL
        let key: RequestKey
    }

    /// The maximum size of a request body. Larger requests are refused.
    static let maxRequestBodyBytes = 4 * 1024 * 1024
    /// The maximum size of a response body that a page receives without the store. Longer ones are truncated.
    static let maxResponseBodyBytes = 16 * 1024 * 1024
    /// The maximum number of untracked requests per page. Further ones are refused. A page with many views sends one for
    /// each of them.
    static let maxUntrackedRequestsPerPage = 5_000
    /// The maximum size of the body of an answer with an error status. Longer ones are not stored.
    static let maxErrorBodyBytes = 256 * 1024
    /// The maximum number of WebSockets that a page may open. Further ones are refused.
    static let maxSocketsPerPage = 8
    /// The maximum number of requests in `storedPosts`. Further ones are sent again when a page repeats them.
    static let maxStoredPosts = 65_536
    /// The maximum number of documents that a page may request. Further ones are refused.
    static let maxDocumentsPerPage = 3
}

extension Crawl {
    /// Starts the browser in the background while requests are still running, if pages will most likely be
    /// rendered.
    func prepareRendering() {
        guard rendering?.isPrepared == false, frontier.renderScheduler.expectsPages else { return }
        rendering?.isPrepared = true
        rendering?.plan.prepare()
    }

    /// Starts to render a page, and creates the renderer for the first one. If that fails, no page is
    /// rendered in this run.
    func render(_ number: UInt32) throws(CrawlError) {
        guard var rendering else { return try apply(.rendered(number, .init(isWhole: false))) }
        let renderer: any PageRenderer
        if let known = rendering.renderer {
            renderer = known
        } else {
            do throws(RenderFailure) {
                renderer = try rendering.plan.renderer(rendering.channel)
            } catch {
                report.rendering.failure = error.description
                try apply(.renderingUnavailable)
                return try apply(.rendered(number, .init(isWhole: false)))
            }
            rendering.renderer = renderer
        }
        rendering.openPages[number] = .init()
        self.rendering = rendering
        let channel = rendering.channel
        let isBrief = frontier.renderScheduler.isRestless(number)
        let url = frontier.url(number)
        let controlGroup = frontier.renderScheduler.controlGroup(of: number, at: url)
        // The renderer reads stored responses, so they have to be committed first.
        try storing { () throws(StoreError) in
            try writes.commitSoon {
                renderer.render(number, at: url, isBrief: isBrief, controlGroup: controlGroup) {
                    channel.report(number, $0)
                }
            }
        }
    }

    /// Processes the requests and results of rendered pages.
    func processPageMessages() throws(CrawlError) {
        guard let channel = rendering?.channel else { return }
        for message in channel.takeAll() {
            switch message {
            case .requested(let page, let request, let answer): try handle(request, by: page, answer)
            case .rendered(let page, let rendered): try didRender(page, rendered)
            }
        }
        for number in rendering?.waiting.keys.sorted() ?? [] { try answerPageRequests(about: number) }
    }

    /// Handles a request of a page that is being rendered: a GET becomes an entry of the frontier, a POST is
    /// answered from the store or sent, an OPTIONS is sent, and a WebSocket is connected. Other methods are refused.
    private func handle(
        _ request: PageRequest, by page: UInt32, _ answer: @escaping @Sendable (PageRequestResult) -> Void
    ) throws(CrawlError) {
        guard rendering?.openPages[page] != nil else { return answer(.blocked("its page is closed")) }
        guard request.url.isHTTP else { return answer(.blocked("it is neither http nor https")) }
        switch request.method {
        case "GET", "HEAD":
            if request.use == .document {
                rendering?.openPages[page]?.documentCount += 1
                guard rendering?.openPages[page]?.documentCount ?? 0 <= Rendering.maxDocumentsPerPage else {
                    return answer(.blocked("the page navigates too often"))
                }
                if request.reloadsWithCookies, frontier.number(of: request.url) == page,
                    rendering?.reloadedPages.insert(page).inserted == true
                {
                    rendering?.openPages[page]?.wasReloaded = true
                    return send(request, of: page, answer)
                }
            }
            // A URL with a required digest has the same body for all pages.
            if request.needsOwnResponse, required[request.url] == nil {
                return send(request, of: page, answer)
            }
            let isCORS = request.fields.contains("Origin")
            let readsStatus = request.isReadByScript
            try apply(
                .requestedByPage(
                    request.url, by: page, isPage: request.use == .document, isCORS: isCORS,
                    readsStatus: readsStatus))
            guard let number = frontier.number(of: request.url) else {
                return answer(.blocked("its URL is too long"))
            }
            rendering?.openPages[page]?.requestedEntries.insert(number)
            if readsStatus { rendering?.readByScripts.insert(number) }
            if frontier.state(number) == .queued, scriptFields[number] == nil {
                scriptFields[number] = request.scriptFields
                if !request.cookies.isEmpty { rendering?.cookies[number] = request.cookies }
            }
            rendering?.waiting[number, default: []].append(answer)
            try answerPageRequests(about: number)
        case "POST":
            let key = request.key
            if rendering?.storedPosts.contains(.init(url: request.url.key, key: key)) == true {
                // The page looked in the store just before the response was committed.
                try storing { () throws(StoreError) in try writes.commitSoon { answer(.stored) } }
                return
            }
            let stored = try storing { () throws(StoreError) in
                try cacheLookup?.reusablePost(key, at: request.url, now: Self.httpNow())
            }
            guard let stored else {
                if joinRunningRequest(request, of: page, answer) { return }
                return send(request, of: page, answer)
            }
            answer(
                .response(
                    status: stored.status, fields: HTTPFields(block: stored.fields.utf8.span),
                    body: stored.body)
            )
        case PageRequest.socketMethod:
            guard rendering?.openPages[page]?.socketCount ?? .max < Rendering.maxSocketsPerPage else {
                return answer(.blocked("the page opens too many sockets"))
            }
            if let reason = frontier.refusal(ofAsset: request.url) { return answer(.blocked(reason.name)) }
            rendering?.openPages[page]?.socketCount += 1
            answer(.connect(max(plan.allowedZone, frontier.zone(of: page))))
        case "OPTIONS": send(request, of: page, answer)
        case let method: answer(.blocked("\(method) would change data on the server"))
        }
    }

    /// Answers the requests of pages for an entry, once its outcome is known and its response is committed.
    private func answerPageRequests(about number: UInt32) throws(CrawlError) {
        let answer: PageRequestResult
        switch frontier.state(number) {
        // A page does not wait for the second lookup, because hosts without an address are much more frequent than
        // lookups that fail once.
        case .queued, .running, .waiting:
            guard frontier.awaitsLookup(number) else { return }
            answer = .failed(FetchFailure.Kind.unknownHost.rawValue)
        case .done, .redirected:
            guard !beingScanned.contains(number) else { return }
            answer = .stored
        case .skipped(let reason): answer = .blocked(reason.name)
        case .elsewhere: answer = .failed("another worker fetches from its host")
        case .failed(.status) where rendering?.errorAnswers.contains(number) == true: answer = .stored
        case .failed(.status(let status)): answer = .response(status: status, fields: HTTPFields(), body: [])
        case .failed(let failure): answer = .failed(failure.description)
        }
        guard let waiting = rendering?.waiting.removeValue(forKey: number) else { return }
        scriptFields[number] = nil
        rendering?.cookies[number] = nil
        guard case .stored = answer else {
            for reply in waiting { reply(answer) }
            return
        }
        try storing { () throws(StoreError) in
            try writes.commitSoon { for reply in waiting { reply(.stored) } }
        }
    }

    /// Whether the same request is in progress. If so, its response is used for this request, too.
    private func joinRunningRequest(
        _ request: PageRequest, of page: UInt32, _ answer: @escaping @Sendable (PageRequestResult) -> Void
    ) -> Bool {
        let (key, url) = (request.key, frontier.url(page))
        let same = rendering?.untracked.first { _, sent in
            sent.request.url == request.url && sent.request.key == key
                && sent.request.scriptFields == request.scriptFields
                && sent.request.cookies == request.cookies && frontier.url(sent.page).origin == url.origin
        }
        guard let same else { return false }
        rendering?.openPages[page]?.untrackedCount += 1
        if let given = same.value.answer {
            answer(given)
        } else {
            rendering?.untracked[same.key]?.waiting.append(answer)
        }
        return true
    }

    /// Sends a request as the page made it. The response is stored under a key that includes the request
    /// body.
    private func send(
        _ request: PageRequest, of page: UInt32, _ answer: @escaping @Sendable (PageRequestResult) -> Void
    ) {
        guard var rendering else { return }
        guard request.body.count <= Rendering.maxRequestBodyBytes,
            rendering.openPages[page]?.untrackedCount ?? .max < Rendering.maxUntrackedRequestsPerPage
        else {
            report.rendering.notices["not-sent", default: 0] += 1
            return answer(.blocked("the page sends too much data"))
        }
        if let reason = frontier.refusal(ofAsset: request.url) { return answer(.blocked(reason.name)) }
        rendering.openPages[page]?.untrackedCount += 1
        rendering.untrackedCount += 1
        rendering.untracked[rendering.untrackedCount] = .init(page: page, request: request, waiting: [answer])
        var fetch = FetchRequest(
            number: RequestPurpose.pageRequest(rendering.untrackedCount).number, url: request.url,
            nearestZone: max(plan.allowedZone, frontier.zone(of: page)), fields: request.scriptFields)
        fetch.method = request.method
        fetch.cookies = request.cookies
        fetch.body = request.method == "POST" ? request.body : nil
        fetch.referrer = frontier.url(page)
        // A page must not act as the user on other sites. Browsers withhold cookies there as well
        // (SameSite=Lax).
        fetch.isAnonymous = !frontier.url(page).isSameSite(as: request.url)
        self.rendering = rendering
        loop.start(fetch)
    }

    /// Answers the pages that wait for a request without an entry, and sends a successful response to the scan
    /// pool, which stores it.
    func didFetchPageRequest(_ result: FetchResult, number: Int) throws(CrawlError) {
        result.partial?.discard()
        guard var sent = rendering?.untracked.removeValue(forKey: number) else { return }
        switch result.outcome {
        case .failure(let failure) where failure.kind == .machine: throw .fetch(failure)
        case .failure(let failure): for reply in sent.waiting { reply(.failed(failure.description)) }
        case .response(let response):
            let isStored =
                sent.request.method != "OPTIONS" && !sent.request.reloadsWithCookies
                && (200..<300).contains(response.status)
                && plan.rules.storageBan(for: result.url, response.fields.contentType) == nil
            let body = try storing { () throws(StoreError) in
                try response.body.beginning(Rendering.maxResponseBodyBytes)
            }
            let answer = PageRequestResult.response(
                status: response.status, fields: response.fields, body: body)
            for reply in sent.waiting { reply(answer) }
            guard isStored else { return response.body.discard() }
            (sent.waiting, sent.answer) = ([], answer)
            rendering?.untracked[number] = sent
            var job = ScanJob(
                number: result.number, url: result.url, role: .asset,
                referrer: frontier.url(sent.page).href, source: .fetched(response),
                time: Self.secondsSinceEpoch())
            job.request = sent.request.key
            job.flags = ResponseFlags(result)
            job.sentFields = result.sentFields
            if sent.request.method == "POST" {
                report.rendering.recorded += 1
                notePost(body, of: sent.page)
            }
            scanning += 1
            scanningByteCount += job.byteCount
            pool.add(job)
        }
    }

    /// Counts the response to a POST as found by rendering the page. Responses that come again, such as the confirmation of a
    /// report, and empty ones do not count.
    private func notePost(_ body: [UInt8], of page: UInt32) {
        guard !body.isEmpty, rendering?.postBodies.count ?? .max < Rendering.maxStoredPosts,
            rendering?.postBodies.insert(Mixing.mix(body[...])).inserted == true
        else { return }
        rendering?.openPages[page]?.newPostCount += 1
    }

    /// Notes that the response to a POST is on its way into the store, unless it was rejected.
    func didScanPageRequest(_ result: ScanResult, number: Int) {
        guard let sent = rendering?.untracked.removeValue(forKey: number), sent.request.method == "POST",
            result.refusal == nil, result.storageBan == nil,
            rendering?.storedPosts.count ?? .max < Rendering.maxStoredPosts
        else { return }
        rendering?.storedPosts.insert(.init(url: sent.request.url.key, key: sent.request.key))
    }

    /// Handles a rendered page: stores its text and notes, and reports its links and requests to the frontier.
    private func didRender(_ page: UInt32, _ rendered: RenderedPage) throws(CrawlError) {
        guard let openPage = rendering?.openPages.removeValue(forKey: page) else { return }
        var requested = openPage.requestedEntries
        // After a crash or a hang, the missing responses are not the reason.
        let mayLackResponses = rendered.ending == .outOfTime || rendered.ending == .complete
        let unanswered = mayLackResponses ? requested.filter { rendering?.waiting[$0] != nil }.sorted() : []
        if !rendered.cookies.isEmpty { cookieTraces.noteScriptCookies(of: frontier.url(page)) }
        do throws(FetchFailure) {
            try loop.addCookies(fromScripts: rendered.cookies)
        } catch {
            throw .fetch(error)
        }
        for url in rendered.urlsFromSnapshot {
            if let number = frontier.number(of: url) { requested.insert(number) }
        }
        try storeRendering(rendered, hasSent: openPage.untrackedCount > 0, of: page)
        if report.rendering.browser == nil { report.rendering.browser = rendering?.renderer?.version }
        let result = Frontier.RenderResult(
            links: rendered.links, requested: requested,
            print: rendered.text.map { ContentPrint(text: Array($0.utf8).span) },
            saysNotFound: rendering?.unknownPaths.contains(page) == true
                && rendered.text.map(NotFoundWords.areAll) ?? false,
            isWhole: rendered.ending == .complete,
            missingEntries: unanswered, wasReloaded: openPage.wasReloaded,
            newPostCount: openPage.newPostCount)
        try apply(.rendered(page, result))
        // A page that will be rendered once more is reported then.
        if !frontier.renderScheduler.isRetryScheduled(page) {
            report.rendering.add(rendered, of: frontier.url(page))
        }
        if rendered.ending == .failed, rendering?.renderer?.version == nil {
            report.rendering.failure = rendered.detail
            try apply(.renderingUnavailable)
        }
    }

    /// Ends rendering, and closes the browser. Pages get no more answers from here on.
    func endRendering() {
        guard let rendering else { return }
        rendering.channel.close()
        rendering.renderer?.close()
        self.rendering?.waiting = [:]
        self.rendering?.untracked = [:]
    }
}

extension PageRequest {
    /// The key under which the store keeps the response to the request.
    fileprivate var key: RequestKey {
        RequestKey(form: requestedForm)
            ?? RequestKey(method: method, body: body.span, type: fields.contentType)
    }
}

extension WebURL {
    /// Whether both hosts have the same registrable domain ("schemelessly same site" in HTML).
    fileprivate func isSameSite(as other: WebURL) -> Bool {
        guard host != other.host else { return true }
        let site = PublicSuffixes.system.registrableDomain(of: host)
        return site != nil && site == PublicSuffixes.system.registrableDomain(of: other.host)
    }
}
