internal import Browser
internal import Check
internal import Crawl
internal import Fetch
internal import Glibc
internal import HTTPServer
internal import Mirror
internal import Prefetch
internal import Store
internal import Synchronization
internal import System
internal import TLS
internal import Web

extension PrefetchOptions {
    /// Returns options with a renderer of pages.
    ///
    /// - Parameters:
    ///   - browser: the browser that renders the pages. The caller closes it.
    ///   - authorityFolder: the folder of the store whose certificate authority the browser trusts.
    func withRenderer(in browser: SharedBrowser, authorityFolder: String) -> PrefetchOptions {
        var options = self
        options.rendering = { (options, plan, folder) throws(LarderError) in
            try RenderPlan(options, plan, folder, browser, authorityFolder: authorityFolder)
        }
        return options
    }
}

extension RenderPlan {
    /// Returns nil if no pages are rendered: in the mode `never`, and in the mode `auto` if there is no browser.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no browser, or a setting is invalid.
    fileprivate init?(
        _ options: PrefetchOptions, _ plan: SitePlan, _ folder: StoreFolder, _ browser: SharedBrowser,
        authorityFolder: String
    ) throws(LarderError) {
        let settings = plan.render ?? RenderSettings()
        guard settings.mode != .never else { return nil }
        guard settings.mode == .always || BrowserProgram.isAvailable(options.browser) else { return nil }
        // Throws before the crawl begins if there is no browser.
        _ = try BrowserProgram.resolve(options.browser)
        let visitTemplate = try PageVisitTemplate(plan)
        let tabs = options.renderTabs ?? Machine.defaultTabCount
        let fetching = try options.network.options(for: [], spoolFolder: folder.incoming)
        // Connects the sockets and event streams of pages, which the crawl cannot fetch as responses.
        let connect: Connect = { url, nearestZone in
            (try? RawConnection(to: url, fetching, nearestZone: nearestZone)).map(RawChannel.init)
        }
        self.init(mode: settings.mode, tabs: tabs) { (channel) throws(RenderFailure) in
            try BrowserRenderer(channel, visitTemplate, connect, browser, authorityFolder: authorityFolder)
        }
        prepare = { browser.prepare() }
    }
}

extension BrowserProgram {
    static func isAvailable(_ name: String?) -> Bool { name.map { !$0.isEmpty } ?? (find() != nil) }

    /// The named browser, else the first one that is found.
    static func resolve(_ name: String?, forWindow: Bool = false) throws(LarderError) -> String {
        let found = name.map { $0.isEmpty ? nil : $0 } ?? find(forWindow: forWindow)
        guard let program = found else {
            throw LarderError(
                .input, "cannot find a Chromium or Chrome; install one, or name its path",
                remedy: .browser)
        }
        guard access(program, X_OK) == 0 else {
            throw LarderError(
                .input, "\(program) is not executable; name a Chromium or Chrome",
                remedy: .browser)
        }
        return program
    }
}

/// The settings with which pages of a site are opened in a browser. A prefetch and the offline check after it use the same
/// template, so that differences between the two come from the content.
struct PageVisitTemplate: Sendable {
    let settings: RenderSettings
    /// The maximum number of views of one document (`#/about`): the page limit of the plan.
    private let maxViews: Int?
    private let ignoresNofollowLinks: Bool
    private let viewports: [Viewport]
    /// The scripts of the user, each with the pattern of its pages; nil for all pages.
    private let scripts: [(pages: URLPattern?, text: String)]

    init(_ plan: SitePlan) throws(LarderError) {
        settings = plan.render ?? RenderSettings()
        maxViews = plan.maxPages
        ignoresNofollowLinks = plan.directivePolicy.nofollow == .obey
        var viewports: [Viewport] = []
        for text in settings.viewports {
            guard let viewport = Viewport(text) else {
                throw LarderError(
                    .input, "\"\(text)\" is not a window size; write it like 390x844 or 390x844@3")
            }
            viewports.append(viewport)
        }
        self.viewports = viewports
        var scripts: [(pages: URLPattern?, text: String)] = []
        for script in settings.scripts {
            do throws(PatternMistake) {
                let pages = try script.pages.map { (text) throws(PatternMistake) in try URLPattern(text) }
                scripts.append((pages, script.text))
            } catch {
                throw LarderError(.input, error.description)
            }
        }
        self.scripts = scripts
    }

    /// Returns how the browser opens a page with these settings.
    ///
    /// - Parameters:
    ///   - isBrief: Whether the page gets only a quarter of the time.
    ///   - usesControls: Whether controls of the page are used, as far as the settings allow. Deep rendering uses them on
    ///     every page.
    func visit(to url: WebURL, isBrief: Bool = false, usesControls: Bool) -> PageVisit {
        var visit = PageVisit(url: url.href)
        if !viewports.isEmpty { visit.viewports = viewports }
        visit.scroll = settings.scroll
        visit.maxViews = maxViews ?? visit.maxViews
        if usesControls || settings.isDeep { visit.acting = Acting(settings.acting) }
        visit.isDeep = settings.isDeep
        visit.consent = ConsentChoice(rawValue: settings.consent.rawValue) ?? .leave
        visit.seesDark = settings.seesDark
        visit.limit = isBrief ? settings.limit / 4 : settings.limit
        visit.extendWaits(by: Machine.slowness)
        visit.ignoresNofollowLinks = ignoresNofollowLinks
        visit.scripts = scripts.filter { $0.pages?.matches(url) ?? true }.map(\.text)
        return visit
    }
}

/// Renders pages in one browser, each in a tab with its own proxy. `render` may be called from any thread.
///
/// The proxy of a tab answers from the responses of the crawl. It passes requests that the crawl has not fetched yet to the
/// crawl (`channel`), which applies its scope, robots.txt and limits. So a browser never sends a request by itself. A page goes
/// through these steps: a proxy is taken from `idle` or created; the page is opened; if it has later views that must be opened
/// separately, these follow; the proxy returns to `idle`; and the result goes to `done`.
private final class BrowserRenderer: PageRenderer {
    private let channel: RenderChannel
    private let shared: SharedBrowser
    private let browser: Browser
    private let visitTemplate: PageVisitTemplate
    private let security: TLSServer
    private let connect: Connect
    private let reader: Mutex<StoreReader>
    private let usedControls = UsedControls()
    /// Proxies that no page uses now, and the number of open pages.
    private let idle = Mutex<(proxies: [PageProxy], openCount: Int, isClosed: Bool)>(([], 0, false))

    init(
        _ channel: RenderChannel, _ visitTemplate: PageVisitTemplate, _ connect: @escaping Connect,
        _ shared: SharedBrowser,
        authorityFolder: String
    ) throws(RenderFailure) {
        self.channel = channel
        self.connect = connect
        self.visitTemplate = visitTemplate
        self.shared = shared
        do throws(TLSError) {
            security = try TLSServer(try CertificateAuthority.openOrCreate(in: authorityFolder))
        } catch {
            throw RenderFailure(error.description)
        }
        do throws(StoreError) {
            reader = Mutex(try StoreReader(channel.folder))
        } catch {
            throw RenderFailure(error.description)
        }
        do throws(BrowserError) { browser = try shared.browser() } catch {
            throw RenderFailure(error.description)
        }
    }

    var version: String? { browser.version }

    func render(
        _ page: UInt32, at url: WebURL, isBrief: Bool, controlGroup: String?,
        done: @escaping @Sendable (RenderedPage) -> Void
    ) {
        var visit = visitTemplate.visit(to: url, isBrief: isBrief, usesControls: controlGroup != nil)
        visit.controlGroup = controlGroup ?? ""
        // Without deep rendering, a control is not used again on another page of its group.
        if !visit.isDeep { visit.usedControls = usedControls }
        // A button can change something for the logged-in user even by a request that the proxy does not refuse, such as a
        // GET.
        if channel.hasSession, visit.acting == .all { visit.acting = .search }
        visit.ignoresActionLinks = channel.hasSession
        visit.wantsText = true
        visit.wantsCookies = true
        visit.wantsPicture = visitTemplate.settings.takesPictures
        visit.wantsFrozen = visitTemplate.settings.freezing != .never
        visit.wantsSockets = visitTemplate.settings.freezing == .auto
        if let since = steadyTime(for: url) { visit.preludes.append(SteadyTime.call(since: since)) }
        idle.withLock { $0.openCount += 1 }
        open(page, at: url, visit) { [self, visit] outcome, traffic in
            guard let laterVisit = visit.visitToLaterViews(of: outcome) else {
                return finish(outcome, traffic, done)
            }
            open(page, at: url, laterVisit) { [self] laterOutcome, laterTraffic in
                var outcome = outcome
                outcome.add(laterViews: laterOutcome)
                finish(outcome, traffic.adding(laterTraffic), done)
            }
        }
    }

    /// Opens a page in a tab with a proxy of its own.
    private func open(
        _ page: UInt32, at url: WebURL, _ visit: PageVisit,
        then done: @escaping @Sendable (PageOutcome, PageTraffic) -> Void
    ) {
        let proxy: PageProxy
        do throws(ServerError) {
            proxy = try takeProxy()
        } catch {
            return done(PageOutcome(ending: .failed(error.description), address: url.href), PageTraffic())
        }
        proxy.begin(page, at: url)
        var visit = visit
        visit.willAct = { proxy.refuseChanges() }
        visit.proxy = proxy.address
        browser.open(visit) { [self] outcome in
            let traffic = proxy.end()
            let isClosed = idle.withLock { idle in
                if !idle.isClosed { idle.proxies.append(proxy) }
                return idle.isClosed
            }
            if isClosed { proxy.stop() }
            done(outcome, traffic)
        }
    }

    /// Passes the result of a page to the crawl.
    private func finish(
        _ outcome: PageOutcome, _ traffic: PageTraffic, _ done: @Sendable (RenderedPage) -> Void
    ) {
        var rendered = RenderedPage(outcome)
        rendered.urlsFromSnapshot = traffic.urlsFromSnapshot.compactMap { WebURL($0) }
        if traffic.refusedChanges > 0 { rendered.notices["not-sent-by-control"] = traffic.refusedChanges }
        // Scripts cannot read or set cookies that are HTTP only, and the fetcher knows those of servers already.
        rendered.cookies = outcome.cookies.filter {
            !$0.isHTTPOnly && !traffic.servedCookies.contains($0.name)
        }.compactMap(\.cookieFileLine)
        idle.withLock { $0.openCount -= 1 }
        done(rendered)
    }

    /// The start time of a steady page (`SteadyTime`); nil for other pages. Also nil if the stored page cannot be read: its
    /// proxy then reports that error.
    private func steadyTime(for url: WebURL) -> Int? {
        guard visitTemplate.settings.steadySince != nil else { return nil }
        let stored = reader.withLock { reader in
            try? reader.response(for: url.key.href, ofSnapshot: channel.snapshot)
        }
        return stored.flatMap { SteadyTime.since(HTTPFields(block: $0.fields.utf8.span)) }
    }

    /// Returns a proxy that no tab uses, a new one if there is none.
    private func takeProxy() throws(ServerError) -> PageProxy {
        if let proxy = idle.withLock({ $0.proxies.popLast() }) { return proxy }
        return try PageProxy(channel.folder, snapshot: channel.snapshot, security: security, connect: connect)
        {
            [channel] page, request, answer in
            channel.send(request, of: page, answer: answer)
        }
    }

    /// Ends the proxies. Also ends the browser if pages are still open, which ends their loading.
    func close() {
        let (proxies, hasOpenPages) = idle.withLock { idle in
            idle.isClosed = true
            return (idle.proxies, idle.openCount > 0)
        }
        // The run was interrupted or reached a limit, so that the results of these pages are not needed.
        if hasOpenPages { shared.close() }
        for proxy in proxies { proxy.stop() }
    }
}

extension Acting {
    init(_ acting: RenderActing) {
        self =
            switch acting {
            case .never: .never
            case .search: .search
            case .all: .all
            }
    }
}

extension RenderedPage {
    fileprivate init(_ outcome: PageOutcome) {
        switch outcome.ending {
        case .complete: self.init(ending: .complete)
        case .outOfTime: self.init(ending: .outOfTime)
        case .hung: self.init(ending: .hung)
        case .crashed: self.init(ending: .crashed)
        case .download: self.init(ending: .download)
        case .failed(let why):
            self.init(ending: .failed)
            detail = why
        }
        text = outcome.text
        isTextPartial = outcome.isTextPartial
        picture = outcome.picture
        frozen = outcome.frozen
        liveMessages = outcome.sockets.map { Array($0.members.text(.compact).utf8) }
        links = outcome.links.compactMap { WebURL($0) }
        for notice in outcome.notices { notices[notice.kind.rawValue, default: 0] += notice.count }
    }
}

extension Machine {
    /// The number of tabs that the cores and the memory of this machine allow.
    static var defaultTabCount: Int {
        let pages = max(0, sysconf(Int32(_SC_AVPHYS_PAGES))) * max(1, sysconf(Int32(_SC_PAGESIZE)))
        return max(1, min(coreCount * 3, pages / bytesOfTab, 12))
    }

    /// The factor by which the present load slows this machine down. Time limits of pages grow with it.
    static var slowness: Double {
        var load = 0.0
        return getloadavg(&load, 1) == 1 ? max(1, load / Double(max(1, coreCount))) : 1
    }

    /// The memory of a page of average size, with its processes. Most of the time a page waits for the network.
    private static let bytesOfTab = 256 * 1024 * 1024
}
