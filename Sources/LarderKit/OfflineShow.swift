internal import Browser
internal import Check
internal import Crawl
internal import Reports
internal import Serve
internal import Store
internal import System
internal import Web

/// Opens pages of a held site in a browser that reaches nothing but the larder: the proof by what a person
/// would see, who goes through them as the prefetch did.
struct OfflineShow {
    private let larder: Larder
    private let program: String
    private let tabs: Int
    private let pages: [Page]
    /// The site's other URLs whose hosts may be asked for.
    private let origins: Set<String>
    private let wishes: Wishes
    private let manner: RenderManner

    /// What the site's settings say, and keep out of it.
    private struct Wishes {
        let plan: SitePlan
        let scope: Scope?
        let rules: CacheRules

        init(_ site: Site?) {
            plan = SitePlan(text: site?.settings ?? "")
            let start = site?.start.compactMap { WebURL($0) } ?? []
            // A check of what is held, which comes first, refuses settings that cannot be read.
            scope = try? Scope(start: start, options: plan.scope)
            rules = CacheRules(plan.rules.compactMap { try? CacheRules.Rule($0) })
        }

        /// Why it was never wanted; nil for what was.
        func reason(against url: WebURL) -> String? {
            if case .skipped(let reason)? = scope?.verdict(on: url, as: .requisite) { return reason.name }
            return rules.storageBan(for: url, nil).map { SkipReason.unstored($0.text).name }
        }
    }

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
            let known = try reader.sites().first { $0.name == site }
            wishes = Wishes(known)
            let visit = known?.published ?? 0
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
                func bytes(_ response: StoredResponse?, _ key: RequestKey) throws(StoreError) -> [UInt8]? {
                    let seen =
                        if let response { response } else {
                            try reader.lastSeen(url.href, key, before: visit)
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

    /// Some of each kind in turn, in the order of their addresses.
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

    /// With what the browser asked for and did not get, and pages that say something else than they did.
    func adding(to report: CheckReport, _ interruption: Interruption) throws(LarderError) -> CheckReport {
        guard !pages.isEmpty else { return report.adding([], ["there is no page to be shown"]) }
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
                // As its server says, to this page here and there.
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
            "\(opened), \(words) compared by their words" + (seen > 0 ? ", \(seen) by their pictures" : "")
        ]
        if let first = talking.first {
            let pages = Wording.count(talking.count, "page")
            notes.append("over a WebSocket, of which nothing is held, talk \(pages), such as \(first)")
        }
        if !refused.isEmpty {
            let first = refused.min() ?? ""
            notes.append(
                "\(Wording.count(refused.count, "address", plural: "addresses")) refused to pages of other origins, as online: \(first)"
            )
        }
        return report.adding(items, notes)
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

    /// Something that a page asked for and did not get.
    private struct Loss {
        let url: WebURL
        let why: String
        var isRefusedByCORS = false
    }

    private func losses(of shown: Shown, _ service: MirrorService) -> [Loss] {
        shown.outcome.requests.compactMap { request in
            // What would change something is never held, and what only tells somebody is no loss.
            guard let url = WebURL(request.url), url.isHTTP,
                ["GET", "HEAD", "POST"].contains(request.method),
                request.type != "Ping"
            else { return nil }
            let original = service.original(of: url.href) { origins.contains($0.origin) } ?? url
            switch request.status {
            // The site itself said so, or the larder answers for itself.
            case let status? where status < 500 || url.path == "/favicon.ico": return nil
            case let status?:
                let why =
                    status == 504
                    ? "a browser asks for it, and it is not held" : "the larder answered \(status)"
                return Loss(url: original, why: why)
            case nil:
                guard let failure = request.failure, failure != "net::ERR_ABORTED" else { return nil }
                return Loss(
                    url: original, why: "a browser asks for it: \(failure)",
                    isRefusedByCORS: request.isRefusedByCORS)
            }
        }
    }

    private func item(of loss: Loss, on page: WebURL) -> CheckReport.Item {
        if let reason = wishes.reason(against: loss.url) {
            return .init(url: loss.url.href, chain: [page.href], .leftOut, "a browser asks for it; \(reason)")
        }
        return .init(url: loss.url.href, chain: [page.href], .missing, loss.why)
    }

    /// What is to be said of the page itself.
    private static func item(of shown: Shown) -> CheckReport.Item? {
        let page = shown.page.url.href
        switch shown.outcome.ending {
        case .complete:
            if let then = shown.page.text, let now = shown.outcome.text,
                let difference = WordDifference(then, now)
            {
                let why = "a browser shows other words than when it was prefetched: \(difference)"
                return .init(url: page, .unverifiable, why)
            }
            if let then = shown.page.picture, let now = shown.outcome.picture, then != now {
                let why = "a browser shows another picture than when it was prefetched"
                return .init(url: page, .unverifiable, why)
            }
            return nil
        case .outOfTime: return .init(url: page, .unverifiable, "it does not come to rest in a browser")
        case .hung: return .init(url: page, .unverifiable, "its scripts never pause in a browser")
        case .crashed: return .init(url: page, .unverifiable, "it crashes a browser")
        case .download: return nil
        case .failed(let why): return .init(url: page, .missing, "a browser does not show it: \(why)")
        }
    }
}

/// The first line in which two texts differ, for people.
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
            case (let gone?, let new?): "\"\(new)\" for \"\(gone)\""
            case (let gone?, nil): "\"\(gone)\" is not there"
            case (nil, let new?): "\"\(new)\" was not there"
            case (nil, nil): "in white space"
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
    /// What an earlier visit saw of a page that is as it was then: an update does not show those again.
    fileprivate func lastSeen(
        _ href: String, _ key: RequestKey, before visit: Int64
    ) throws(StoreError) -> StoredResponse? {
        guard let seen = try response(for: href, request: key), seen.visit < visit,
            let then = try response(for: href, ofVisit: seen.visit)?.body,
            let now = try response(for: href, ofVisit: visit)?.body, then.sha256 == now.sha256
        else { return nil }
        return seen
    }
}
