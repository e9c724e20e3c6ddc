internal import Bundles
internal import Fetch
internal import Markup
package import Store
internal import System
package import Web

/// The settings with which pages are rendered in a browser. They are stored with the site (`SitePlan.render`).
public struct RenderSettings: Sendable, Equatable {
    /// Which pages are rendered.
    public var mode = RenderMode.auto
    /// The number of screens by which a page is scrolled, to load lazy images and endless lists.
    public var scroll = 20
    /// The sizes of the window, such as `1280x900` or `390x844@3`. The page is rendered in the first one, and
    /// then shown in the others for a moment.
    public var viewports: [String] = []
    /// Which controls of pages are used, so that the content behind them is loaded and stored.
    public var acting = RenderActing.all
    /// How banners are answered that ask for consent to cookies.
    public var consent = RenderConsent.reject
    /// Whether pages are also stored as they were shown, without their scripts.
    public var freezing = RenderFreezing.auto
    /// Uses controls on every rendered page, and not only on the first ones of each kind, and plays the
    /// beginning of videos.
    public var isDeep = false
    /// Also shows the page with the dark colour scheme.
    public var seesDark = false
    /// Stores a screenshot of each page, with which an offline check compares the page.
    public var takesPictures = false
    /// A fixed time for scripts, in seconds since 1970, together with fixed random numbers, while pages are
    /// rendered and when they are served. Nil for the real time. Updates keep it.
    public var steadySince: Int64?
    /// The maximum time per page.
    public var limit = Duration.seconds(20)
    /// Scripts that run in pages after they have loaded.
    public var scripts: [Script] = []

    /// A script that runs in pages.
    public struct Script: Sendable, Equatable {
        /// The pattern of its pages, as for `include`; nil for all pages.
        public var pages: String?
        /// The source of the script.
        public var text: String

        /// Creates a script for the pages that match a pattern.
        public init(pages: String? = nil, text: String) {
            self.pages = pages
            self.text = text
        }
    }

    /// Creates the default settings.
    public init() {}

    /// Reads stored settings. Missing and malformed members have their default values.
    init(_ json: JSONValue) {
        mode = json["mode"]?.string.flatMap(RenderMode.init) ?? mode
        scroll = json["scroll"]?.int ?? scroll
        viewports = json["viewports"]?.array?.compactMap(\.string) ?? []
        acting = json["act"]?.string.flatMap(RenderActing.init) ?? acting
        consent = json["consent"]?.string.flatMap(RenderConsent.init) ?? consent
        freezing = json["freeze"]?.string.flatMap(RenderFreezing.init) ?? freezing
        isDeep = json["deep"]?.bool ?? false
        seesDark = json["dark"]?.bool ?? false
        takesPictures = json["pictures"]?.bool ?? false
        steadySince = json["steady"]?.int.map { Int64($0) }
        limit = json["seconds"]?.int.map { .seconds($0) } ?? limit
        scripts =
            json["scripts"]?.array?.compactMap { script in
                script["text"]?.string.map { Script(pages: script["pages"]?.string, text: $0) }
            } ?? []
    }
}

extension RenderSettings: JSONObject {
    /// The settings that differ from the defaults.
    package var members: JSONMembers {
        let defaults = RenderSettings()
        return [
            "mode": mode.rawValue, "scroll": IfAny(scroll == defaults.scroll ? nil : scroll),
            "viewports": IfAny(viewports), "act": IfAny(acting == defaults.acting ? nil : acting.rawValue),
            "consent": IfAny(consent == defaults.consent ? nil : consent.rawValue),
            "freeze": IfAny(freezing == defaults.freezing ? nil : freezing.rawValue),
            "deep": IfAny(isDeep ? true : nil),
            "dark": IfAny(seesDark ? true : nil),
            "pictures": IfAny(takesPictures ? true : nil), "steady": IfAny(steadySince),
            "seconds": IfAny(limit == defaults.limit ? nil : Int(limit / .seconds(1))),
            "scripts": IfAny(scripts.map { ["pages": IfAny($0.pages), "text": $0.text] as JSONMembers }),
        ]
    }
}

/// Which controls of rendered pages are used.
public enum RenderActing: String, Sendable, CaseIterable {
    /// No control.
    case never
    /// The search field: it gets the focus and a word of the page.
    case search
    /// The search field, collapsed parts, tabs, menus and buttons. Controls whose names say that they change
    /// something are not used, and requests that could change something are not sent then.
    case all
}

/// How banners on rendered pages are answered that ask for consent to cookies.
public enum RenderConsent: String, Sendable, CaseIterable {
    /// The choice with the least tracking. A banner without such a choice is closed, or stays.
    case reject
    /// All purposes.
    case accept
    /// Banners stay as they are.
    case leave
}

/// Whether rendered pages are also stored as they were shown, as HTML without scripts: frozen copies.
public enum RenderFreezing: String, Sendable, CaseIterable {
    /// Pages that show something else offline than online are served as frozen copies.
    case auto
    /// All rendered pages are served as frozen copies.
    case always
    /// No frozen copies are stored.
    case never
}

/// How many pages are rendered at once, and with which renderer.
package struct RenderPlan: Sendable {
    package var mode: RenderMode
    /// The maximum number of pages that are rendered at once.
    package var tabs: Int
    /// Starts the browser in the background, because pages will most likely be rendered.
    package var prepare: @Sendable () -> Void = {}
    /// Creates the renderer before the first page is rendered. The requests of pages go through the channel.
    /// Throws the reason if pages cannot be rendered.
    package var renderer: @Sendable (RenderChannel) throws(RenderFailure) -> any PageRenderer

    package init(
        mode: RenderMode, tabs: Int,
        renderer: @escaping @Sendable (RenderChannel) throws(RenderFailure) -> any PageRenderer
    ) {
        self.mode = mode
        self.tabs = tabs
        self.renderer = renderer
    }
}

/// The reason why no page can be rendered, such as a missing browser.
package struct RenderFailure: Error, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Renders pages in a browser.
package protocol PageRenderer: Sendable {
    /// The name and version of the browser, such as `Chrome/150.0.1`; nil until it has reported them.
    var version: String? { get }

    /// Renders a page, and calls `done` once, on any thread.
    ///
    /// - Parameters:
    ///   - isBrief: Gives the page less time, because pages with similar URLs hardly ever finish loading.
    ///   - controlGroup: The group of pages that have the same controls, each of which is used once, as the
    ///     settings say; nil if no control is used.
    func render(
        _ page: UInt32, at url: WebURL, isBrief: Bool, controlGroup: String?,
        done: @escaping @Sendable (RenderedPage) -> Void)

    /// Ends the rendering of all pages. Returns when no part of the renderer is running any more.
    func close()
}

/// The result of rendering a page.
package struct RenderedPage: Sendable {
    package var ending: RenderEnding
    /// Details of a failure.
    package var detail: String?
    /// The links of the document after its scripts have run.
    package var links: [WebURL] = []
    /// The text that the page shows.
    package var text: String?
    /// A screenshot as a PNG.
    package var picture: [UInt8]?
    /// The page as it was shown, as HTML without scripts.
    package var frozen: String?
    /// The cookies that scripts of the page set, as lines of a Netscape cookie file.
    package var cookies: [String] = []
    /// The URLs that the page requested and received without a request to the crawl.
    package var given: [WebURL] = []
    /// How often the page did something that is not part of loading, by kind.
    package var notices: [String: Int] = [:]

    package init(ending: RenderEnding) { self.ending = ending }
}

/// How the rendering of a page ended.
public enum RenderEnding: String, Sendable, CaseIterable {
    /// The page has loaded.
    case complete
    /// The time was over while it was still loading.
    case outOfTime
    /// The page's scripts did not end.
    case hung
    /// The page crashed.
    case crashed
    /// The response was a download, not a page.
    case download
    /// The browser failed.
    case failed
}

/// Passes the requests and results of rendered pages to the crawl. Any thread may use it.
package final class RenderChannel: Sendable {
    /// A message of a rendered page to the crawl.
    enum Message: Sendable {
        /// The page sends a request, and receives the result by the closure.
        case requested(page: UInt32, PageRequest, @Sendable (PageRequestResult) -> Void)
        /// The rendering of the page has ended.
        case rendered(page: UInt32, RenderedPage)
    }

    /// The folder of the store, from which pages read stored responses.
    package let folder: StoreFolder
    /// Whether requests are sent with credentials.
    package let hasSession: Bool
    /// The snapshot that stores the responses.
    package let snapshot: Int64
    private let messages: Inbox<Message>

    init(
        _ folder: StoreFolder, snapshot: Int64, hasSession: Bool = false, wake: @escaping @Sendable () -> Void
    ) {
        self.folder = folder
        self.hasSession = hasSession
        self.snapshot = snapshot
        messages = Inbox(wake: wake)
    }

    /// Requests a URL that the snapshot does not have yet for a page that is being rendered.
    ///
    /// `answer` is called on any thread. It is not called if the crawl ends while the request is in progress.
    package func ask(
        _ page: UInt32, _ request: PageRequest, answer: @escaping @Sendable (PageRequestResult) -> Void
    ) {
        if !messages.put(.requested(page: page, request, answer)) { answer(.blocked("the crawl has ended")) }
    }

    /// Reports that the rendering of a page has ended.
    func report(_ page: UInt32, _ rendered: RenderedPage) { messages.put(.rendered(page: page, rendered)) }

    /// Takes all messages, on the crawl's thread.
    func takeAll() -> [Message] { messages.takeAll() }

    /// Accepts no more messages, and answers the requests among them.
    func close() {
        messages.close()
        for case .requested(_, _, let answer) in messages.takeAll() {
            answer(.blocked("the crawl has ended"))
        }
    }
}

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
        guard rendering?.isPrepared == false, frontier.expectsRendering else { return }
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
        let isBrief = frontier.rendering.isRestless(number)
        let url = frontier.url(number)
        let controlGroup = frontier.rendering.controlGroup(of: number, at: url)
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
            }
            // A URL with a required digest has the same body for all pages.
            if request.needsOwnResponse, required[request.url] == nil {
                return send(request, of: page, answer)
            }
            let isCORS = request.fields.contains("Origin")
            try apply(
                .requestedByPage(request.url, by: page, isPage: request.use == .document, isCORS: isCORS))
            guard let number = frontier.number(of: request.url) else {
                return answer(.blocked("its URL is too long"))
            }
            rendering?.openPages[page]?.requestedEntries.insert(number)
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
        case .queued, .running, .waiting: return
        case .done, .redirected:
            guard !beingScanned.contains(number) else { return }
            answer = .stored
        case .skipped(let reason): answer = .blocked(reason.name)
        case .elsewhere: answer = .failed("another worker fetches from its host")
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
                sent.request.method != "OPTIONS" && (200..<300).contains(response.status)
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
            if sent.request.method == "POST" { report.rendering.recorded += 1 }
            scanning += 1
            scanningByteCount += job.byteCount
            pool.add(job)
        }
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
        for url in rendered.given { if let number = frontier.number(of: url) { requested.insert(number) } }
        try storeRendering(rendered, hasSent: openPage.untrackedCount > 0, of: page)
        if report.rendering.browser == nil { report.rendering.browser = rendering?.renderer?.version }
        let result = Frontier.RenderResult(
            links: rendered.links, requested: requested,
            print: rendered.text.map { ContentPrint(text: Array($0.utf8).span) },
            isWhole: rendered.ending == .complete,
            missingEntries: unanswered)
        try apply(.rendered(page, result))
        // A page that will be rendered once more is reported then.
        if !frontier.rendering.isRetryScheduled(page) {
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
    fileprivate var key: RequestKey { RequestKey(method: method, body: body.span, type: fields.contentType) }
}

extension WebURL {
    /// Whether both hosts have the same registrable domain ("schemelessly same site" in HTML).
    fileprivate func isSameSite(as other: WebURL) -> Bool {
        guard host != other.host else { return true }
        let site = PublicSuffixes.system.registrableDomain(of: host)
        return site != nil && site == PublicSuffixes.system.registrableDomain(of: other.host)
    }
}

/// The results of rendering pages.
public struct RenderReport: Sendable, Equatable {
    /// The mode of the run.
    public package(set) var mode = RenderMode.never
    /// The version of the browser, such as `Chrome/150.0.1`; nil if none was started.
    public package(set) var browser: String?
    /// Why no browser was started although there were pages to render; nil if there is no such reason.
    public package(set) var failure: String?
    /// The results by URL pattern.
    public package(set) var patterns: [Pattern] = []
    /// The number of stored responses to requests that pages sent (POST), which are found again by the
    /// request body.
    public package(set) var recorded = 0
    /// The first 100 pages whose rendering did not complete, with the reasons.
    public package(set) var unfinished: [Unfinished] = []
    /// How often pages did something that is not part of loading, by kind.
    public package(set) var notices: [String: Int] = [:]

    /// Pages with URLs of the same pattern, of which at least one had a reason to be rendered.
    public struct Pattern: Sendable, Equatable {
        /// The URL pattern.
        public let pattern: String
        /// The number of pages.
        public let pages: Int
        /// The number of rendered pages.
        public let rendered: Int
        /// The number of assets that only rendering found.
        public let foundAssets: Int
        /// The number of linked pages that only rendering found.
        public let foundPages: Int
        /// The number of rendered pages that did not complete.
        public let unfinished: Int
        /// The reasons for rendering: the parts of the pages that a scan could not read.
        public let reasons: [String]
        /// Whether one of the reasons is strong.
        package let isStrong: Bool
    }

    /// A page whose rendering did not complete.
    public struct Unfinished: Sendable, Equatable {
        /// The URL of the page.
        public let url: String
        /// How its rendering ended.
        public let ending: RenderEnding
        /// Details of a failure; nil if there are none.
        public let detail: String?
    }

    /// The patterns that the next run renders from the start; nil if no page was rendered.
    package internal(set) var fruitfulPatterns: [String]?
    /// The patterns that were rendered in this run or an earlier one.
    package internal(set) var renderedPatternTexts: [String] = []

    /// The number of WebSockets that pages opened.
    package var sockets: Int { notices["web-socket"] ?? 0 }

    /// Whether rendered pages did something that a scan had not found, or for a strong reason may do so offline.
    package var isWorthRehearsing: Bool {
        mode == .always || recorded > 0 || !notices.isEmpty
            || patterns.contains { $0.rendered > 0 && ($0.foundAssets + $0.foundPages > 0 || $0.isStrong) }
    }

    /// The number of rendered pages.
    public var rendered: Int { patterns.reduce(0) { $0 + $1.rendered } }

    /// The maximum number of pages in `unfinished`. Further ones only count in `patterns`.
    private static let maxUnfinished = 100
    /// The maximum number of stored patterns. Pages of further ones are rendered again by the next run.
    private static let maxRenderedPatterns = 1000

    /// Adds the result of a rendered page.
    mutating func add(_ page: RenderedPage, of url: WebURL) {
        for (notice, count) in page.notices { notices[notice, default: 0] += count }
        guard page.ending != .complete, unfinished.count < Self.maxUnfinished else { return }
        unfinished.append(.init(url: url.href, ending: page.ending, detail: page.detail))
    }

    /// Counts the patterns of the scheduler at the end of the run.
    mutating func count(_ scheduler: RenderScheduler) {
        mode = scheduler.mode
        if scheduler.patterns.contains(where: { $0.renderedCount > 0 }) {
            fruitfulPatterns = scheduler.patterns.filter { $0.isFruitful || $0.wasFruitful }.map(\.text)
                .sorted()
        }
        // If pages were left out, it is not known which patterns have been rendered sufficiently.
        if failure == nil, !scheduler.hasUnrenderedPages {
            renderedPatternTexts = scheduler.patterns.lazy.filter(\.wasEverRendered).prefix(
                Self.maxRenderedPatterns
            )
            .map(
                \.text
            )
            .sorted()
        }
        patterns = scheduler.patterns.filter { $0.renderedCount > 0 || !$0.reasons.strong.isEmpty }.map {
            pattern in
            Pattern(
                pattern: pattern.text, pages: pattern.pageCount, rendered: pattern.renderedCount,
                foundAssets: pattern.foundAssetCount, foundPages: pattern.foundPageCount,
                unfinished: pattern.unfinishedCount,
                reasons: pattern.reasons.words, isStrong: !pattern.reasons.strong.isEmpty)
        }
    }
}

extension RenderReasons {
    /// The reasons in words, for reports.
    var words: [String] {
        let all: [(RenderReasons, String)] = [
            (.littleText, "hardly any text"), (.uninterpretedLoader, "a module loader"),
            (.composedURL, "URLs put together by a script"),
            (.indirectFetch, "a fetch whose URL is set elsewhere"),
            (.sendsRequests, "scripts that send requests"),
        ]
        return all.filter { contains($0.0) }.map(\.1)
    }
}

extension RenderReport: JSONObject {
    package var members: JSONMembers {
        [
            "mode": mode.rawValue, "browser": IfAny(browser), "failure": IfAny(failure), "rendered": rendered,
            "recorded": recorded, "patterns": patterns, "unfinished": unfinished,
            "notices": notices.sorted { $0.key < $1.key }.map {
                ["notice": $0.key, "count": $0.value] as JSONMembers
            },
        ]
    }
}

extension RenderReport.Pattern: JSONObject {
    package var members: JSONMembers {
        [
            "pattern": pattern, "pages": pages, "rendered": rendered, "foundAssets": foundAssets,
            "foundPages": foundPages, "unfinished": unfinished, "reasons": reasons,
        ]
    }
}

extension RenderReport.Unfinished: JSONObject {
    package var members: JSONMembers { ["url": url, "ending": ending.rawValue, "detail": IfAny(detail)] }
}
