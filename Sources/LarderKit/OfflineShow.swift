internal import Browser
internal import Check
internal import Crawl
internal import Reports
internal import Serve
internal import Store
internal import System
internal import Web

/// Opens pages of a held site in a browser that reaches nothing but the larder: the proof by what a person would see.
struct OfflineShow {
    private let larder: Larder
    private let program: String
    private let tabs: Int
    private let pages: [Page]
    /// The site's other URLs whose hosts may be asked for.
    private let origins: Set<String>

    private struct Page: Sendable {
        let url: WebURL
        /// Its words when it was prefetched; nil where no browser showed it then.
        let text: String?
        /// How it looked.
        let picture: [UInt8]?
    }

    private struct Shown: Sendable {
        let page: Page
        let outcome: PageOutcome
    }

    /// - Parameter site: its name, as the larder has it.
    init(_ larder: Larder, site: String, _ options: OfflineCheckOptions.Showing) throws(LarderError) {
        self.larder = larder
        program = try BrowserProgram.needed(options.browser)
        tabs = options.tabs ?? Machine.usualTabs
        var (held, origins): ([WebURL], Set<String>) = ([], [])
        var (texts, pictures): ([String: StoredResponse], [String: StoredResponse]) = ([:], [:])
        do throws(StoreError) {
            let reader = try StoreReader(larder.folder)
            let visit = try reader.sites().first { $0.name == site }?.published ?? 0
            try reader.eachResponse(ofVisit: visit) { response in
                guard let url = WebURL(response.href) else { return }
                origins.insert(url.origin)
                if response.request == .shown {
                    texts[response.href] = response
                } else if response.request == .pictured {
                    pictures[response.href] = response
                } else if response.request == .get, response.role == 0, response.status == 200,
                    response.type == "text/html" || response.type == "application/xhtml+xml"
                {
                    held.append(url)
                }
            }
            var pages: [Page] = []
            for url in Self.sample(held, options.pages) {
                func bytes(_ response: StoredResponse?) throws(StoreError) -> [UInt8]? {
                    guard let body = response?.body else { return nil }
                    return try reader.content(of: body)?.load()
                }
                let text = try bytes(texts[url.href]).map { String(decoding: $0, as: UTF8.self) }
                pages.append(Page(url: url, text: text, picture: try bytes(pictures[url.href])))
            }
            self.pages = pages
        } catch {
            throw LarderError(error)
        }
        self.origins = origins
    }

    /// Some of each kind in turn, in the order of their addresses.
    private static func sample(_ urls: [WebURL], _ count: Int?) -> [WebURL] {
        let sorted = urls.sorted { $0.href < $1.href }
        guard let count, sorted.count > count else { return sorted }
        let kinds = Dictionary(grouping: sorted) { RenderBook.pattern(of: $0) }.sorted { $0.key < $1.key }
        var sample: [WebURL] = []
        var turn = 0
        while sample.count < count {
            for kind in kinds where turn < kind.value.count && sample.count < count { sample.append(kind.value[turn]) }
            turn += 1
        }
        return sample
    }

    /// With what the browser asked for and did not get, and pages that say something else than they did.
    func adding(to report: CheckReport, _ interruption: Interruption) throws(LarderError) -> CheckReport {
        guard !pages.isEmpty else { return report.adding([], ["there is no page to be shown"]) }
        let service = try larder.serve(port: 0, threads: 1)
        defer { service.stop() }
        let browser: Browser
        do throws(BrowserError) {
            browser = try Browser(BrowserOptions(executable: program))
        } catch {
            throw LarderError(.machine, "the browser does not start: \(error)", remedy: .browser)
        }
        defer { browser.close() }
        let known = Set(report.items.filter { $0.verdict != .verified }.map(\.name))
        let locals = Dictionary(
            origins.compactMap { origin in
                service.address(of: origin + "/").flatMap { WebURL($0) }.map { ($0.origin, origin) }
            }, uniquingKeysWith: { first, _ in first })
        var items: [CheckReport.Item] = []
        var told: Set<String> = []
        for shown in try show(browser, service, interruption) {
            for item in Self.items(of: shown, locals) where !known.contains(item.name) {
                if told.insert(item.name).inserted { items.append(item) }
            }
        }
        let words = pages.count { $0.text != nil }
        let opened = "\(Wording.count(pages.count, "page")) opened in \(browser.version)"
        let seen = pages.count { $0.picture != nil }
        return report.adding(
            items,
            ["\(opened), \(words) compared by their words" + (seen > 0 ? ", \(seen) by their pictures" : "")])
    }

    /// In the order of the pages.
    private func show(
        _ browser: Browser, _ service: MirrorService, _ interruption: Interruption
    ) throws(LarderError) -> [Shown] {
        let outcomes = Monitor<[Int: Shown]>([:])
        var begun = 0
        while true {
            guard !interruption.isRequested else { throw .interrupted }
            let ended = outcomes.change { $0.count }
            if ended == pages.count { break }
            while begun < pages.count, begun - ended < tabs {
                let (number, page) = (begun, pages[begun])
                var visit = PageVisit(url: service.address(of: page.url.href) ?? page.url.href)
                visit.wantsText = page.text != nil
                visit.wantsPicture = page.picture != nil
                browser.open(visit) { outcome in
                    outcomes.change { $0[number] = Shown(page: page, outcome: outcome) }
                }
                begun += 1
            }
            _ = outcomes.wait(atMost: .milliseconds(200)) { $0.count > ended ? true : nil }
        }
        return outcomes.change { all in pages.indices.compactMap { all[$0] } }
    }

    private static func items(of shown: Shown, _ locals: [String: String]) -> [CheckReport.Item] {
        let page = shown.page.url.href
        var items: [CheckReport.Item] = []
        for request in shown.outcome.requests {
            // What would change something is never held, and what only tells somebody is no loss.
            guard let url = WebURL(request.url), url.isHTTP, ["GET", "HEAD", "POST"].contains(request.method),
                request.type != "Ping"
            else { continue }
            let original = locals[url.origin].map { $0 + url.target } ?? request.url
            let isIcon = url.path == "/favicon.ico"
            switch request.status {
            // The site itself said so, or the larder answers for itself.
            case let status? where status < 500 || isIcon: continue
            case let status?:
                let why = status == 504 ? "a browser asks for it, and it is not held" : "the larder answered \(status)"
                items.append(.init(url: original, chain: [page], .missing, why))
            case nil:
                guard let failure = request.failure, failure != "net::ERR_ABORTED" else { continue }
                items.append(.init(url: original, chain: [page], .missing, "a browser asks for it: \(failure)"))
            }
        }
        switch shown.outcome.ending {
        case .complete:
            if let then = shown.page.text, let now = shown.outcome.text, then != now {
                let why = "a browser shows other words than when it was prefetched"
                items.append(.init(url: page, .unverifiable, why))
            } else if let then = shown.page.picture, let now = shown.outcome.picture, then != now {
                let why = "a browser shows another picture than when it was prefetched"
                items.append(.init(url: page, .unverifiable, why))
            }
        case .outOfTime: items.append(.init(url: page, .unverifiable, "it does not come to rest in a browser"))
        case .hung: items.append(.init(url: page, .unverifiable, "its scripts never pause in a browser"))
        case .crashed: items.append(.init(url: page, .unverifiable, "it crashes a browser"))
        case .download: break
        case .failed(let why): items.append(.init(url: page, .missing, "a browser does not show it: \(why)"))
        }
        return items
    }
}
