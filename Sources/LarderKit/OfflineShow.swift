internal import Browser
internal import Check
internal import Crawl
internal import Reports
internal import Serve
internal import Store
internal import System
internal import Web

/// Opens pages of a stored site in a browser that reaches only this store's server, like a visitor who is offline,
/// and reports what differs from the prefetch.
struct OfflineShow {
    private let larder: Larder
    private let program: String
    private let tabs: Int
    private let pages: [Page]
    /// The origins of all URLs in the snapshot.
    private let origins: Set<String>
    private let wishes: Wishes
    private let manner: RenderManner

    /// The rules of the site's settings that leave URLs out.
    private struct Wishes {
        let plan: SitePlan
        let scope: Scope?
        let rules: CacheRules

        init(_ site: Site?) {
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

    private struct Page: Sendable {
        let url: WebURL
        /// The text that the page showed when it was prefetched; nil if no browser rendered it then.
        let text: String?
        /// The screenshot from the prefetch, if there is one.
        let picture: [UInt8]?
    }

    private struct Shown: Sendable {
        let page: Page
        let outcome: PageOutcome
    }

    /// - Parameter site: the name of the site in the store.
    init(_ larder: Larder, site: String, _ options: OfflineCheckOptions.Showing) throws(LarderError) {
        self.larder = larder
        program = try BrowserProgram.needed(options.browser)
        tabs = options.tabs ?? Machine.usualTabs
        var (held, origins): ([WebURL], Set<String>) = ([], [])
        var (texts, pictures): ([String: StoredResponse], [String: StoredResponse]) = ([:], [:])
        do throws(StoreError) {
            let reader = try StoreReader(larder.folder)
            let known = try reader.sites().first { $0.name == site }
            wishes = Wishes(known)
            let snapshot = known?.published ?? 0
            try reader.eachResponse(ofSnapshot: snapshot) { response in
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
                func bytes(_ response: StoredResponse?, _ key: RequestKey) throws(StoreError) -> [UInt8]? {
                    let seen =
                        if let response { response } else {
                            try reader.lastSeen(url.href, key, before: snapshot)
                        }
                    guard let body = seen?.body else { return nil }
                    return try reader.content(of: body)?.load()
                }
                let text = try bytes(texts[url.href], .shown).map { String(decoding: $0, as: UTF8.self) }
                pages.append(Page(url: url, text: text, picture: try bytes(pictures[url.href], .pictured)))
            }
            self.pages = pages
        } catch {
            throw LarderError(error)
        }
        self.origins = origins
        manner = try RenderManner(wishes.plan)
    }

    /// A sample of pages of every URL pattern, in the order of their URLs.
    private static func sample(_ urls: [WebURL], _ count: Int?) -> [WebURL] {
        let sorted = urls.sorted { $0.href < $1.href }
        guard let count, sorted.count > count else { return sorted }
        let kinds = Dictionary(grouping: sorted) { RenderBook.pattern(of: $0) }.sorted { $0.key < $1.key }
        var sample: [WebURL] = []
        var turn = 0
        while sample.count < count {
            for kind in kinds where turn < kind.value.count && sample.count < count {
                sample.append(kind.value[turn])
            }
            turn += 1
        }
        return sample
    }

    /// Adds to a report what the browser requested and did not get, and pages that show something else than when they
    /// were prefetched.
    func adding(to report: CheckReport, _ interruption: Interruption) throws(LarderError) -> CheckReport {
        guard !pages.isEmpty else { return report.adding([], ["no page is stored that a browser can show"]) }
        return try larder.showing(by: program) { (browser, service) throws(LarderError) in
            try adding(to: report, by: browser, service, interruption)
        }
    }

    private func adding(
        to report: CheckReport, by browser: Browser, _ service: MirrorService, _ interruption: Interruption
    ) throws(LarderError) -> CheckReport {
        let known = Set(report.items.filter { $0.verdict != .verified }.map(\.name))
        var items: [CheckReport.Item] = []
        var told: Set<String> = []
        var refused: Set<String> = []
        var talking: [String] = []
        let reader = try storing { () throws(StoreError) in try StoreReader(larder.folder) }
        for shown in try show(browser, service, interruption) {
            if shown.outcome.notices.contains(where: { $0.kind == .webSocket }) {
                talking.append(shown.page.url.href)
            }
            for loss in losses(of: shown, service) where !known.contains(loss.url.href) {
                // The stored response forbids other origins to read it (CORS), as on the live site.
                if loss.isRefusedByCORS,
                    try storing({ () throws(StoreError) in try reader.response(for: loss.url.key.href) })
                        != nil
                {
                    refused.insert(loss.url.href)
                } else if told.insert(loss.url.href).inserted {
                    items.append(item(of: loss, on: shown.page.url))
                }
            }
            if let item = Self.item(of: shown), !known.contains(item.name), told.insert(item.name).inserted {
                items.append(item)
            }
        }
        let words = pages.count { $0.text != nil }
        let opened = "\(Wording.count(pages.count, "page")) opened in \(browser.version)"
        let seen = pages.count { $0.picture != nil }
        var notes = [
            "\(opened), \(words) compared by text" + (seen > 0 ? ", \(seen) by screenshot" : "")
        ]
        if let first = talking.first {
            let pages = Wording.count(talking.count, "page")
            notes.append("\(pages) using a WebSocket, which is not stored, such as \(first)")
        }
        if !refused.isEmpty {
            let first = refused.min() ?? ""
            notes.append(
                "\(Wording.count(refused.count, "address", plural: "addresses")) not readable by pages of other origins, as online: \(first)"
            )
        }
        return report.adding(items, notes)
    }

    /// Opens all pages, several at a time. The outcomes are in the order of the pages.
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
                var visit = manner.visit(to: page.url)
                visit.url = service.address(of: page.url.href) ?? page.url.href
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

    /// A request of a page that failed.
    private struct Loss {
        let url: WebURL
        let why: String
        var isRefusedByCORS = false
    }

    private func losses(of shown: Shown, _ service: MirrorService) -> [Loss] {
        shown.outcome.requests.compactMap { request in
            // Requests with other methods are never stored, and pings (`Ping`) have no response that a page needs.
            guard let url = WebURL(request.url), url.isHTTP,
                ["GET", "HEAD", "POST"].contains(request.method),
                request.type != "Ping"
            else { return nil }
            let original = service.original(of: url.href) { origins.contains($0.origin) } ?? url
            switch request.status {
            // The site itself sent this status. `/favicon.ico` is requested by browsers, not by pages.
            case let status? where status < 500 || url.path == "/favicon.ico": return nil
            case let status?:
                let why =
                    status == 504
                    ? "requested by a browser, but not stored" : "the local server answered \(status)"
                return Loss(url: original, why: why)
            case nil:
                guard let failure = request.failure, failure != "net::ERR_ABORTED" else { return nil }
                return Loss(
                    url: original, why: "requested by a browser, but failed: \(failure)",
                    isRefusedByCORS: request.isRefusedByCORS)
            }
        }
    }

    private func item(of loss: Loss, on page: WebURL) -> CheckReport.Item {
        if let reason = wishes.reason(against: loss.url) {
            return .init(
                url: loss.url.href, chain: [page.href], .leftOut, "requested by a browser; \(reason)")
        }
        return .init(url: loss.url.href, chain: [page.href], .missing, loss.why)
    }

    /// A finding about the page itself; nil if there is none.
    private static func item(of shown: Shown) -> CheckReport.Item? {
        let page = shown.page.url.href
        switch shown.outcome.ending {
        case .complete:
            if let then = shown.page.text, let now = shown.outcome.text,
                let difference = WordDifference(then, now)
            {
                let why = "a browser shows other text than at the prefetch: \(difference)"
                return .init(url: page, .unverifiable, why)
            }
            if let then = shown.page.picture, let now = shown.outcome.picture, then != now {
                let why = "a browser shows another picture than at the prefetch"
                return .init(url: page, .unverifiable, why)
            }
            return nil
        case .outOfTime: return .init(url: page, .unverifiable, "it keeps loading in a browser")
        case .hung: return .init(url: page, .unverifiable, "its scripts do not end in a browser")
        case .crashed: return .init(url: page, .unverifiable, "it crashes a browser")
        case .download: return nil
        case .failed(let why): return .init(url: page, .missing, "a browser cannot show it: \(why)")
        }
    }
}

/// The first line in which two texts differ, for messages.
struct WordDifference: CustomStringConvertible {
    let description: String

    init?(_ then: String, _ now: String) {
        guard then != now else { return nil }
        let (before, after) = (Self.lines(then), Self.lines(now))
        let change = after.difference(from: before)
        let gone = change.removals.first.flatMap { Self.line(of: $0) }
        let new = change.insertions.first.flatMap { Self.line(of: $0) }
        description =
            switch (gone, new) {
            case (let gone?, let new?): "\"\(new)\" instead of \"\(gone)\""
            case (let gone?, nil): "without \"\(gone)\""
            case (nil, let new?): "with \"\(new)\" in addition"
            case (nil, nil): "in white space only"
            }
    }

    private static func lines(_ text: String) -> [String] {
        text.utf8.split(separator: 0x0A).prefix(mostLines).map { line in
            line.split(separator: 0x20).map { String(Substring($0)) }.joined(separator: " ")
        }.filter { !$0.isEmpty }
    }

    private static let mostLines = 2000

    private static func line(of change: CollectionDifference<String>.Change) -> String? {
        let line =
            switch change {
            case .insert(_, let line, _), .remove(_, let line, _): line
            }
        return line.unicodeScalars.count > 60 ? String(line.prefix(60)) + "…" : line
    }
}

extension StoreReader {
    /// The rendered form of a page from an earlier snapshot, if the page has not changed since: an update does not
    /// render unchanged pages again.
    fileprivate func lastSeen(
        _ href: String, _ key: RequestKey, before snapshot: Int64
    ) throws(StoreError) -> StoredResponse? {
        guard let seen = try response(for: href, request: key), seen.snapshot < snapshot,
            let then = try response(for: href, ofSnapshot: seen.snapshot)?.body,
            let now = try response(for: href, ofSnapshot: snapshot)?.body, then.sha256 == now.sha256
        else { return nil }
        return seen
    }
}
