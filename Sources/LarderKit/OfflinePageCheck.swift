internal import Browser
internal import Check
internal import Crawl
internal import Mirror
internal import Reports
internal import Store
internal import System
internal import Web

/// Opens pages of a stored site in a browser that reaches only this store's server, like a visitor who is offline, and
/// compares them with the same pages as rendered by the prefetch.
///
/// Opening every page would take hours, so pages are sampled: pages of one host with the same scripts form a kind
/// (`PageKinds`), and a few pages of each kind are opened. For each opened page the check compares the text and, if the
/// prefetch took one, the screenshot. Requests that the store could not answer are reported as missing.
struct OfflinePageCheck {
    let larder: Larder
    let program: String?
    private let tabs: Int
    private let kinds: [PageKinds.Kind]
    private let pages: [Page]
    /// Why pages of a kind were not opened.
    private let reasonForNotOpening: String
    /// The origins of all URLs in the snapshot.
    private let origins: Set<String>
    private let exclusionRules: ExclusionRules
    let visitTemplate: PageVisitTemplate
    /// Whether pages are opened with their scripts, although frozen copies of them are shown.
    private let bypassesFrozenCopies: Bool
    /// The URLs of pages that the server shows as frozen copies, or with replayed messages.
    private let frozenPages: Set<String>
    /// The URLs among these whose pages the server shows with replayed messages.
    private let replayedPages: Set<String>
    /// Whether responses that were fetched with credentials are left out.
    private let hidesPrivate: Bool

    /// The settings of the site, with the rules that leave URLs out.
    private struct ExclusionRules {
        let plan: SitePlan
        let scope: Scope?
        let rules: CacheRules
        /// The hosts that had no address at the last prefetch. Pages did not get anything from them online either.
        let unknownHosts: Set<String>

        init(_ site: Site?) {
            unknownHosts = site.flatMap { MissingURLCounts(of: $0) }?.unknownHosts ?? []
            plan = SitePlan(text: site?.settings ?? "")
            let start = site?.start.compactMap { WebURL($0) } ?? []
            // The check of the stored content ran first, and refuses settings that cannot be read.
            scope = try? Scope(start: start, options: plan.scope)
            rules = CacheRules(plan.rules.compactMap { try? CacheRules.Rule($0) })
        }

        /// Why the settings leave a URL out; nil if they do not.
        func reason(against url: WebURL) -> String? {
            if case .skipped(let reason)? = scope?.verdict(on: url, as: .asset) { return reason.name }
            return rules.storageBan(for: url, nil).map { SkipReason.unstored($0.text).name }
        }
    }

    struct Page: Sendable {
        let url: WebURL
        /// The index of its kind in `kinds`.
        let kind: Int
        /// The text that the page showed when it was prefetched; nil if no browser rendered it then.
        let text: String?
        /// Whether the page was still loading then, and may show more now.
        let isTextPartial: Bool
        /// The screenshot from the prefetch, if there is one.
        let picture: [UInt8]?
        /// Whether the page is among the first ones of its kind, whose controls are used.
        let isAmongFirst: Bool
    }

    struct OpenedPage: Sendable {
        let page: Page
        let outcome: PageOutcome
        /// Whether it has been compared, no request failed, and it shows the same as at the prefetch.
        var isEqual = false

        /// Whether its text is known from the prefetch and was read again.
        var hasTexts: Bool { page.text != nil && outcome.text != nil }
    }

    /// The maximum number of pages of one kind that are opened, unless the options ask for all pages.
    private static let maxPagesPerKind = 6

    /// - Parameters:
    ///   - site: the name of the site in the store.
    ///   - hidesPrivate: leaves out responses that were fetched with credentials, as if they were not stored.
    ///   - bypassesFrozenCopies: whether pages are opened with their scripts, although frozen copies of them are shown.
    init(
        _ larder: Larder, site: String, hidesPrivate: Bool = false, bypassesFrozenCopies: Bool = false,
        _ options: OfflineCheckOptions
    ) throws(LarderError) {
        self.larder = larder
        self.bypassesFrozenCopies = bypassesFrozenCopies
        self.hidesPrivate = hidesPrivate
        var showing = options.browserCheck
        var reason = options.reasonForNoBrowserCheck
        if let wanted = showing, !wanted.requiresBrowser, !BrowserProgram.isAvailable(wanted.browser) {
            showing = nil
            reason = "no browser was found"
        }
        program = try showing.map { (showing) throws(LarderError) in
            try BrowserProgram.resolve(showing.browser)
        }
        tabs = showing?.tabs ?? Machine.defaultTabCount
        reasonForNotOpening = showing?.pages.map { "no more than \($0) pages were opened" } ?? reason
        var (storedPages, scripts): ([StoredResponse], Set<Int64>) = ([], [])
        var (texts, pictures): ([String: StoredResponse], [String: StoredResponse]) = ([:], [:])
        var origins: Set<String> = []
        do throws(StoreError) {
            let reader = try StoreReader(larder.folder, hidesPrivate: hidesPrivate)
            let known = try reader.sites().first { $0.name == site }
            exclusionRules = ExclusionRules(known)
            let snapshot = known?.servedSnapshot ?? 0
            try reader.eachResponse(ofSnapshot: snapshot) { response in
                guard let url = WebURL(response.href) else { return }
                origins.insert(url.origin)
                if let type = response.type, type.hasSuffix("javascript") { scripts.insert(response.url) }
                if response.isPage { storedPages.append(response) }
                if response.request == .renderedText { texts[response.href] = response }
                if response.request == .renderedPicture { pictures[response.href] = response }
            }
            let found = try PageKinds(
                of: storedPages, scripts: scripts, rendered: Set(texts.values.map(\.url)),
                start: known?.start ?? [],
                reader)
            kinds = found.kinds
            func loadRendered(_ url: WebURL, _ known: StoredResponse?, _ key: RequestKey) throws(StoreError)
                -> (bytes: [UInt8], notes: RenderNotes)?
            {
                let seen =
                    if let known { known } else { try reader.lastRendered(url.href, key, before: snapshot) }
                guard let seen, let body = seen.body, let bytes = try reader.content(of: body)?.load() else {
                    return nil
                }
                return (bytes, RenderNotes(HTTPFields(block: seen.fields.utf8.span)))
            }
            var pages: [Page] = []
            for (kind:kind, page:pageIndex) in showing.map({
                found.sample(atMost: $0.pages, perKind: Self.maxPagesPerKind)
            })
                ?? []
            {
                guard let url = WebURL(found.kinds[kind].pages[pageIndex].href) else { continue }
                let text = try loadRendered(url, texts[url.href], .renderedText)
                let picture = try loadRendered(url, pictures[url.href], .renderedPicture)?.bytes
                pages.append(
                    Page(
                        url: url, kind: kind, text: text.map { String(decoding: $0.bytes, as: UTF8.self) },
                        isTextPartial: text?.notes.isTextPartial ?? false, picture: picture,
                        isAmongFirst: pageIndex < RenderScheduler.fewPages))
            }
            self.pages = pages
        } catch {
            throw LarderError(error)
        }
        self.origins = origins
        frozenPages = Set(exclusionRules.plan.frozen)
        replayedPages = Set(exclusionRules.plan.replayed)
        visitTemplate = try PageVisitTemplate(exclusionRules.plan)
    }

    /// Adds findings to a report: requests of the browser that failed, and pages that differ from their rendering in the
    /// prefetch.
    func adding(to report: CheckReport, _ interruption: Interruption) throws(LarderError) -> CheckReport {
        let known = Set(report.items.filter { $0.verdict != .verified }.map(\.name))
        let findings = try findings(interruption)
        let items = findings.items.filter { !known.contains($0.name) }
        return report.adding(items, findings.notes, findings.rehearsal)
    }

    /// The result of opening the pages.
    struct Findings {
        /// Requests that failed, and pages that show something else than when they were prefetched.
        var items: [CheckReport.Item] = []
        var notes: [String] = []
        var rehearsal: Rehearsal
        /// The pages that show something else, and the unopened pages of their kinds.
        var differing: [PageKinds.Page] = []
        /// One opened page of each kind that could not be compared, because none of its pages was rendered.
        var unrendered: [String] = []
        /// The rendered pages of all kinds.
        var rendered: [String] = []
        /// All pages of the kinds of which an opened page shows something else or requests something that is missing.
        var pagesOfDifferentKinds: Set<String> = []
        /// The pages that were opened.
        var opened: [OpenedPage] = []
        /// For each origin the first opened page whose scripts loaded other scripts.
        var scriptLoaders: [ScriptLoader] = []

        /// The URLs that pages requested and did not get.
        var missing: Set<String> { Set(items.filter { $0.verdict == .missing }.map(\.name)) }
    }

    /// Opens the pages.
    ///
    /// - Parameters:
    ///   - browser: the browser of a prefetch; nil to start one for this call.
    ///   - earlier: the pages that were opened before responses were added to the site. Those that were equal
    ///     then are not opened again, because they need none of these responses.
    func findings(
        _ interruption: Interruption, in browser: SharedBrowser? = nil, after earlier: [OpenedPage] = []
    ) throws(LarderError) -> Findings {
        guard let program, !pages.isEmpty else { return Findings(rehearsal: rehearsal([:], of: [])) }
        return try larder.withBrowserAndServer(by: program, in: browser) {
            (browser, service) throws(LarderError) in
            try findings(by: browser, service, interruption, earlier)
        }
    }

    /// The result if the user interrupted the check before any page was opened.
    var interruptedRehearsal: Rehearsal {
        let unopened = kinds.map { kind in
            Rehearsal.PageKind(
                example: kind.pages.first?.href ?? "", pages: kind.pages.count, opened: 0, compared: 0,
                .unknown(Rehearsal.interruptionReason))
        }
        return Rehearsal(unopened, isInterrupted: !unopened.isEmpty)
    }

    /// The results of all kinds.
    private func rehearsal(
        _ firstDifferences: [Int: (page: WebURL, detail: String)], of all: [OpenedPage]
    ) -> Rehearsal {
        Rehearsal(
            kinds.enumerated().map { number, kind in
                let opened = all.filter { $0.page.kind == number }
                return Rehearsal.PageKind(
                    example: opened.first?.page.url.href ?? kind.pages.first?.href ?? "",
                    pages: kind.pages.count, opened: opened.count, compared: opened.count(where: \.hasTexts),
                    result(of: kind, opened, firstDifferences[number]))
            })
    }

    private func result(
        of kind: PageKinds.Kind, _ opened: [OpenedPage], _ difference: (page: WebURL, detail: String)?
    ) -> Rehearsal.PageKind.Result {
        if let difference { return .different(page: difference.page.href, detail: difference.detail) }
        if opened.contains(where: \.hasTexts) {
            guard !bypassesFrozenCopies else { return .equal }
            let replayed = kind.pages.count { replayedPages.contains($0.href) }
            let frozen = kind.pages.count { frozenPages.contains($0.href) } - replayed
            return frozen > 0
                ? .frozen(pages: frozen, replayed: replayed)
                : replayed > 0 ? .replayed(pages: replayed) : .equal
        }
        if opened.isEmpty { return .unknown(reasonForNotOpening) }
        return .unknown(
            opened.contains { $0.page.text != nil }
                ? "the text of its pages could not be read"
                : "no page of it was rendered when the site was prefetched")
    }

    private func findings(
        by browser: Browser, _ service: MirrorService, _ interruption: Interruption, _ earlier: [OpenedPage]
    ) throws(LarderError) -> Findings {
        let reader = try mapStoreError { () throws(StoreError) in
            try StoreReader(larder.folder, hidesPrivate: hidesPrivate)
        }
        var all = try open(browser, service, interruption, after: earlier)
        var collector = Collector()
        var scriptLoaders: [ScriptLoader] = []
        for (number, opened) in all.enumerated() {
            if !scriptLoaders.contains(where: { $0.page.origin == opened.page.url.origin }),
                let loader = ScriptLoader(
                    opened, original: { url in service.original(of: url) { origins.contains($0.origin) } })
            {
                scriptLoaders.append(loader)
            }
            collector.noteLiveData(of: opened)
            collector.noteControls(of: opened)
            for request in opened.outcome.requests where request.isAfterText && request.hasSimilarAnswer {
                collector.similarlyAnswered.insert(originalURL(of: request, service))
            }
            guard !opened.isEqual else { continue }
            var isEqual = true
            for failed in failedRequests(of: opened, service) {
                // The stored response forbids other origins to read it (CORS), as on the live site.
                if failed.isRefusedByCORS,
                    try mapStoreError({ () throws(StoreError) in try reader.response(for: failed.url.key.href)
                    })
                        != nil
                {
                    collector.refusedByCORS.insert(failed.url.href)
                } else if let status = failed.status,
                    try mapStoreError({ () throws(StoreError) in
                        try reader.errorAnswer(for: failed.url.key)?.status == status
                    })
                {
                    // The site answered the same when it was prefetched.
                    continue
                } else {
                    isEqual = false
                    collector.addFailedRequest(
                        failed, item(of: failed, on: opened.page.url), of: opened)
                }
            }
            let similar = opened.outcome.requests.first { !$0.isAfterText && $0.hasSimilarAnswer }
            let item = Self.pageItem(
                of: opened, isFrozen: isShownFrozen(opened.page),
                similarAnswer: similar.map { originalURL(of: $0, service) })
            if let item {
                isEqual = false
                collector.addPageItem(item, of: opened)
            }
            all[number].isEqual = isEqual
        }
        let withoutMismatch = Set(all.map(\.page.url.href)).subtracting(collector.mismatchedPages)
        return Findings(
            items: collector.items, notes: notes(all, collector, browser),
            rehearsal: rehearsal(collector.firstDifferences, of: all),
            differing: collector.mismatchedKinds.sorted().flatMap { kind in
                kinds[kind].pages.filter { !withoutMismatch.contains($0.href) }
            },
            unrendered: kinds.indices.compactMap { number in
                let opened = all.filter { $0.page.kind == number }
                return opened.contains { $0.page.text != nil } ? nil : opened.first?.page.url.href
            },
            rendered: kinds.flatMap { $0.pages.filter(\.isRendered).map(\.href) },
            pagesOfDifferentKinds: Set(
                collector.firstDifferences.keys.flatMap { kinds[$0].pages.map(\.href) }),
            opened: all, scriptLoaders: scriptLoaders)
    }

    /// Collects the findings about opened pages.
    private struct Collector {
        private(set) var items: [CheckReport.Item] = []
        private(set) var pagesWithLiveData: [String] = []
        /// Pages with controls that send what no prefetch may send.
        private(set) var pagesWithSendingControls: [String] = []
        /// The URLs that views and controls requested and for which the server had only the response to a similar request.
        var similarlyAnswered: Set<String> = []
        /// The first difference of each kind that has one.
        private(set) var firstDifferences: [Int: (page: WebURL, detail: String)] = [:]
        /// Pages that show something else than when they were prefetched, and their kinds.
        private(set) var mismatchedPages: Set<String> = []
        private(set) var mismatchedKinds: Set<Int> = []
        var refusedByCORS: Set<String> = []
        /// The URLs for which there is an item.
        private var reportedURLs: Set<String> = []

        /// Records a page that uses live data, which cannot work offline and is not a fault of the store.
        mutating func noteLiveData(of opened: OpenedPage) {
            let hasSocket = opened.outcome.notices.contains { $0.kind == .webSocket }
            guard hasSocket || opened.outcome.requests.contains(where: \.isForLiveData) else { return }
            pagesWithLiveData.append(opened.page.url.href)
        }

        /// Records a page whose buttons sent requests that failed, which a prefetch never sends.
        mutating func noteControls(of opened: OpenedPage) {
            let sends = opened.outcome.requests.contains {
                $0.isAfterAction && !$0.isSafe && $0.type != "Ping"
                    && $0.status.map { $0 >= 400 } ?? true
            }
            if sends { pagesWithSendingControls.append(opened.page.url.href) }
        }

        mutating func addFailedRequest(
            _ failed: FailedRequest, _ item: CheckReport.Item, of opened: OpenedPage
        ) {
            if item.verdict == .missing {
                noteDifference(of: opened, "it requests \(failed.url.href), which is not stored")
            }
            add(item, failed.url.href)
        }

        mutating func addPageItem(_ item: CheckReport.Item, of opened: OpenedPage) {
            switch (item.verdict, opened.outcome.ending) {
            case (.mismatch, _):
                mismatchedPages.insert(opened.page.url.href)
                mismatchedKinds.insert(opened.page.kind)
                noteDifference(of: opened, item.detail ?? "")
            case (.missing, _), (_, .hung), (_, .crashed): noteDifference(of: opened, item.detail ?? "")
            default: break
            }
            add(item, item.name)
        }

        private mutating func add(_ item: CheckReport.Item, _ url: String) {
            if reportedURLs.insert(url).inserted { items.append(item) }
        }

        private mutating func noteDifference(of opened: OpenedPage, _ detail: String) {
            guard firstDifferences[opened.page.kind] == nil else { return }
            firstDifferences[opened.page.kind] = (opened.page.url, detail)
        }
    }

    private func notes(_ all: [OpenedPage], _ collector: Collector, _ browser: Browser) -> [String] {
        let byText = all.count(where: \.hasTexts)
        let byPicture = all.count { $0.page.picture != nil && $0.outcome.picture != nil }
        // The summary of the rehearsal counts the opened pages.
        var notes: [String] = []
        if byPicture > 0 {
            notes.append(
                "opened \(Wording.count(all.count, "page")) in \(browser.version), and compared the text of \(byText) and the screenshot of \(byPicture)"
            )
        }
        if let first = collector.pagesWithLiveData.first {
            let pages = Wording.count(collector.pagesWithLiveData.count, "page")
            notes.append(
                "\(pages) using live data (a WebSocket, server-sent events or polling), which ends offline, such as \(first)"
            )
        }
        if let first = collector.pagesWithSendingControls.first {
            let pages = Wording.count(collector.pagesWithSendingControls.count, "page")
            notes.append(
                "\(pages) with buttons or tabs that send data to the server (POST) and do not work offline, such as \(first)"
            )
        }
        if let first = collector.similarlyAnswered.min() {
            let count = Wording.count(collector.similarlyAnswered.count, "request")
            notes.append(
                "\(count) of views or controls answered with the stored response to a similar request, which was not compared: \(first)"
            )
        }
        if let first = collector.refusedByCORS.min() {
            let count = Wording.count(collector.refusedByCORS.count, "address", plural: "addresses")
            notes.append("\(count) not readable by pages of other origins, as online: \(first)")
        }
        return notes
    }

    /// Whether the server shows the frozen copy of the page.
    private func isShownFrozen(_ page: Page) -> Bool {
        !bypassesFrozenCopies && frozenPages.contains(page.url.href)
            && !replayedPages.contains(page.url.href)
    }

    /// Opens all pages that were not equal earlier, several at a time. The outcomes are in the order of the pages.
    private func open(
        _ browser: Browser, _ service: MirrorService, _ interruption: Interruption,
        after earlier: [OpenedPage]
    ) throws(LarderError) -> [OpenedPage] {
        let outcomes = Monitor<[Int: OpenedPage]>(equalPages(of: earlier))
        let usedControls = UsedControls()
        var waiting = outcomes.change { known in pages.indices.filter { known[$0] == nil } }[...]
        while true {
            guard !interruption.isRequested else { throw .interrupted }
            let ended = outcomes.change { $0.count }
            if ended == pages.count { break }
            while waiting.count > pages.count - ended - tabs, let number = waiting.popFirst() {
                let page = pages[number]
                var visit = visitTemplate.visit(to: page.url, usesControls: page.isAmongFirst)
                visit.controlGroup = String(page.kind)
                if !visit.isDeep { visit.usedControls = usedControls }
                visit.url = service.address(of: page.url.href) ?? page.url.href
                if bypassesFrozenCopies, frozenPages.contains(page.url.href), let url = WebURL(visit.url) {
                    visit.url = FrozenCopy.askingForScripts(url).href
                }
                visit.wantsText = page.text != nil
                visit.wantsPicture = page.picture != nil
                useOtherDevice(for: &visit, browser)
                browser.open(visit) { [visit] outcome in
                    guard let further = visit.visitToLaterViews(of: outcome) else {
                        return outcomes.change { $0[number] = OpenedPage(page: page, outcome: outcome) }
                    }
                    browser.open(further) { later in
                        var outcome = outcome
                        outcome.add(laterViews: later)
                        outcomes.change { [outcome] in $0[number] = OpenedPage(page: page, outcome: outcome) }
                    }
                }
            }
            _ = outcomes.wait(atMost: .milliseconds(200)) { $0.count > ended ? true : nil }
        }
        return outcomes.change { all in pages.indices.compactMap { all[$0] } }
    }

    /// Opens a page on another device than the prefetch, because the next reader has another one: what a page requests by
    /// the size of the window or by the name of the browser is then found to be missing. Pictures need the same size.
    private func useOtherDevice(for visit: inout PageVisit, _ browser: Browser) {
        visit.userAgent = Self.userAgent(of: browser.version)
        guard !visit.wantsPicture, visitTemplate.settings.viewports.isEmpty else { return }
        for index in visit.viewports.indices { visit.viewports[index].width = Self.otherWidth }
    }

    /// The name by which a browser with a window calls itself in requests.
    private static func userAgent(of version: String) -> String {
        let number = version.split(separator: "/").last?.prefix { $0 != "." } ?? ""
        return "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
            + " Chrome/\(number).0.0.0 Safari/537.36"
    }

    /// A common width of screens, in CSS pixels.
    private static let otherWidth = 1366

    /// The pages that were equal earlier and that the prefetch has not rendered again since then, by their indices.
    private func equalPages(of earlier: [OpenedPage]) -> [Int: OpenedPage] {
        let equal = earlier.lazy.filter(\.isEqual).map { ($0.page.url.href, $0) }
        let byURL = Dictionary(equal, uniquingKeysWith: { first, _ in first })
        var known: [Int: OpenedPage] = [:]
        for (number, page) in pages.enumerated() {
            guard let opened = byURL[page.url.href], opened.page.text == page.text else { continue }
            known[number] = OpenedPage(page: page, outcome: opened.outcome, isEqual: true)
        }
        return known
    }

    /// A request of a page that failed.
    private struct FailedRequest {
        let url: WebURL
        let why: String
        /// The status of the answer; nil if there was none.
        var status: Int?
        var isRefusedByCORS = false
    }

    /// The original URL of a page's request to the mirror.
    private func originalURL(of request: ObservedRequest, _ service: MirrorService) -> String {
        service.original(of: request.url) { origins.contains($0.origin) }?.href ?? request.url
    }

    private func failedRequests(of opened: OpenedPage, _ service: MirrorService) -> [FailedRequest] {
        opened.outcome.requests.compactMap { request in
            // Only responses to these methods are stored. A page needs no response to a ping (`Ping`).
            guard let url = WebURL(request.url), url.isHTTP,
                ["GET", "HEAD", "POST"].contains(request.method),
                request.type != "Ping", !request.isForLiveData
            else { return nil }
            // While the site was prefetched, controls sent no such requests either.
            if request.isAfterAction, request.method == "POST" { return nil }
            // A banner reports the answer to its server, with the time.
            if request.isOfConsent, request.method == "POST" { return nil }
            let original = service.original(of: url.href) { origins.contains($0.origin) } ?? url
            switch request.status {
            // A status below 500 came from the site. `/favicon.ico` is requested by browsers, not by pages.
            case let status? where status < 500 || url.path == "/favicon.ico": return nil
            case let status?:
                let why =
                    status == 504
                    ? "requested by a browser, but not stored" : "the local server answered \(status)"
                return FailedRequest(url: original, why: why, status: status)
            case nil:
                guard let failure = request.failure, failure != "net::ERR_ABORTED" else { return nil }
                return FailedRequest(
                    url: original, why: "requested by a browser, but failed: \(failure)",
                    isRefusedByCORS: request.isRefusedByCORS)
            }
        }
    }

    private func item(of failed: FailedRequest, on page: WebURL) -> CheckReport.Item {
        if let reason = exclusionRules.reason(against: failed.url) {
            return .init(
                url: failed.url.href, chain: [page.href], .notFetched, "requested by a browser; \(reason)")
        }
        if exclusionRules.unknownHosts.contains(failed.url.host) {
            return .init(url: failed.url.href, chain: [page.href], .broken, "its host has no address")
        }
        return .init(url: failed.url.href, chain: [page.href], .missing, failed.why)
    }

    /// A finding about the page itself; nil if there is none.
    ///
    /// - Parameter similarAnswer: a URL that the page requested before its text was read, and for which the server had only
    ///   the response to a similar request. If the page shows other text, that may be the reason.
    private static func pageItem(
        of opened: OpenedPage, isFrozen: Bool, similarAnswer: String?
    ) -> CheckReport.Item? {
        let page = opened.page.url.href
        let difference = difference(of: opened, isFrozen: isFrozen)
        if let difference, difference.verdict == .mismatch {
            let reason = similarAnswer.map { "; it got the stored response to a similar request for \($0)" }
            return .init(url: page, .mismatch, difference.text + (reason ?? ""))
        }
        switch opened.outcome.ending {
        case .complete: return difference.map { .init(url: page, $0.verdict, $0.text) }
        case .outOfTime: return .init(url: page, .unverifiable, "it keeps loading in a browser")
        case .hung: return .init(url: page, .unverifiable, "its scripts do not end in a browser")
        case .crashed: return .init(url: page, .unverifiable, "it crashes a browser")
        case .download: return nil
        case .failed(let why): return .init(url: page, .missing, "a browser cannot show it: \(why)")
        }
    }

    /// The difference of an opened page from its rendering in the prefetch; nil if there is none.
    private static func difference(
        of opened: OpenedPage, isFrozen: Bool
    ) -> (verdict: CheckReport.Verdict, text: String)? {
        if let then = opened.page.text, let now = opened.outcome.text,
            let difference = WordDifference(then, now),
            !opened.page.isTextPartial || difference.sharedPart < 0.9
        {
            // A few words may be a clock or a greeting.
            let verdict: CheckReport.Verdict = difference.likeness < 0.9 ? .mismatch : .unverifiable
            return (verdict, "a browser shows other text than at the prefetch: \(difference)")
        }
        // The notice at the top of a frozen copy is in the picture.
        if !isFrozen, let then = opened.page.picture, let now = opened.outcome.picture, then != now {
            return (.unverifiable, "a browser shows another picture than at the prefetch")
        }
        return nil
    }
}

extension ObservedRequest {
    /// Whether a mirror answered with the response to a similar request, which may have other content: another query, time or
    /// device, or another page of the application.
    fileprivate var hasSimilarAnswer: Bool {
        guard let source = mirrorSource, let mark = source.firstIndex(of: "=") else { return false }
        let changes = source[source.index(after: mark)...].split(separator: "+")
        return changes.contains { ["search", "time", "shell", "device"].contains($0) }
    }
}

extension StoreReader {
    /// The rendered form of a page from an earlier snapshot, if the page has not changed since: an update does not
    /// render unchanged pages again.
    fileprivate func lastRendered(
        _ href: String, _ key: RequestKey, before snapshot: Int64
    ) throws(StoreError) -> StoredResponse? {
        guard let seen = try response(for: href, request: key), seen.snapshot < snapshot,
            let then = try response(for: href, ofSnapshot: seen.snapshot)?.body,
            let now = try response(for: href, ofSnapshot: snapshot)?.body, then.sha256 == now.sha256
        else { return nil }
        return seen
    }
}
