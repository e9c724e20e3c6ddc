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
    private let program: String?
    private let tabs: Int
    private let kinds: [PageKinds.Kind]
    private let pages: [Page]
    /// Why pages of a kind were not opened.
    private let reasonForNotOpening: String
    /// The origins of all URLs in the snapshot.
    private let origins: Set<String>
    private let wishes: Wishes
    private let manner: RenderManner
    /// Whether pages are opened with their scripts, although frozen copies of them are shown.
    private let opensScripts: Bool

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
        /// The index of its kind in `kinds`.
        let kind: Int
        /// The text that the page showed when it was prefetched; nil if no browser rendered it then.
        let text: String?
        /// The screenshot from the prefetch, if there is one.
        let picture: [UInt8]?
        /// Whether the page is among the first ones of its kind, whose controls are used.
        let isAmongFirst: Bool
    }

    private struct Shown: Sendable {
        let page: Page
        let outcome: PageOutcome
    }

    /// The maximum number of pages of one kind that are opened, unless all pages are.
    private static let pagesOfKind = 6

    /// - Parameters:
    ///   - site: the name of the site in the store.
    ///   - hidesPrivate: leaves out responses that were fetched with credentials, as if they were not stored.
    ///   - opensScripts: whether pages are opened with their scripts, although frozen copies of them are shown.
    init(
        _ larder: Larder, site: String, hidesPrivate: Bool = false, opensScripts: Bool = false,
        _ options: OfflineCheckOptions
    ) throws(LarderError) {
        self.larder = larder
        self.opensScripts = opensScripts
        var showing = options.showing
        var reason = options.reasonForNotShowing
        if let wanted = showing, !wanted.needsBrowser, !BrowserProgram.isNamedOrFound(wanted.browser) {
            showing = nil
            reason = "no browser was found"
        }
        program = try showing.map { (showing) throws(LarderError) in
            try BrowserProgram.needed(showing.browser)
        }
        tabs = showing?.tabs ?? Machine.usualTabs
        reasonForNotOpening = showing.map { "no more than \($0.pages ?? 0) pages were opened" } ?? reason
        var (held, scripts): ([StoredResponse], Set<Int64>) = ([], [])
        var (texts, pictures): ([String: StoredResponse], [String: StoredResponse]) = ([:], [:])
        var origins: Set<String> = []
        do throws(StoreError) {
            let reader = try StoreReader(larder.folder, hidesPrivate: hidesPrivate)
            let known = try reader.sites().first { $0.name == site }
            wishes = Wishes(known)
            let snapshot = known?.published ?? 0
            try reader.eachResponse(ofSnapshot: snapshot) { response in
                guard let url = WebURL(response.href) else { return }
                origins.insert(url.origin)
                if let type = response.type, type.hasSuffix("javascript") { scripts.insert(response.url) }
                if response.isPage { held.append(response) }
                if response.request == .shown { texts[response.href] = response }
                if response.request == .pictured { pictures[response.href] = response }
            }
            let found = try PageKinds(
                of: held, scripts: scripts, rendered: Set(texts.values.map(\.url)), start: known?.start ?? [],
                reader)
            kinds = found.kinds
            func bytes(_ url: WebURL, _ known: StoredResponse?, _ key: RequestKey) throws(StoreError)
                -> [UInt8]?
            {
                let seen =
                    if let known { known } else { try reader.lastSeen(url.href, key, before: snapshot) }
                guard let body = seen?.body else { return nil }
                return try reader.content(of: body)?.load()
            }
            var pages: [Page] = []
            for (kind:kind, page:turn) in showing.map({ found.sample($0.pages, perKind: Self.pagesOfKind) })
                ?? []
            {
                guard let url = WebURL(found.kinds[kind].pages[turn].href) else { continue }
                let text = try bytes(url, texts[url.href], .shown).map { String(decoding: $0, as: UTF8.self) }
                let picture = try bytes(url, pictures[url.href], .pictured)
                pages.append(
                    Page(
                        url: url, kind: kind, text: text, picture: picture,
                        isAmongFirst: turn < RenderBook.fewPages))
            }
            self.pages = pages
        } catch {
            throw LarderError(error)
        }
        self.origins = origins
        manner = try RenderManner(wishes.plan)
    }

    /// Adds to a report what the browser requested and did not get, and pages that show something else than when they
    /// were prefetched.
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
        /// The rendered pages of all kinds.
        var rendered: [String] = []
        /// The pages that were opened.
        var opened: Set<String> = []

        /// The URLs that pages requested and did not get.
        var missing: Set<String> { Set(items.filter { $0.verdict == .missing }.map(\.name)) }
    }

    /// Opens the pages.
    ///
    /// - Parameter browser: the browser of a prefetch; nil to start one for this call.
    func findings(
        _ interruption: Interruption, in browser: SharedBrowser? = nil
    ) throws(LarderError) -> Findings {
        guard let program, !pages.isEmpty else { return Findings(rehearsal: rehearsal([:], of: [])) }
        return try larder.showing(by: program, in: browser) { (browser, service) throws(LarderError) in
            try findings(by: browser, service, interruption)
        }
    }

    /// The results of all kinds.
    ///
    /// - Parameters:
    ///   - differences: the first difference of each kind that has one.
    ///   - shown: the pages that were opened.
    private func rehearsal(
        _ differences: [Int: (page: WebURL, detail: String)], of shown: [Shown]
    ) -> Rehearsal {
        Rehearsal(
            kinds.enumerated().map { place, kind in
                let opened = shown.filter { $0.page.kind == place }
                let result: Rehearsal.Kind.Result
                if let (page, detail) = differences[place] {
                    result = .different(page: page.href, detail: detail)
                } else if opened.contains(where: { $0.page.text != nil && $0.outcome.text != nil }) {
                    let frozen = Set(opensScripts ? [] : wishes.plan.frozen)
                    let count = kind.pages.count { frozen.contains($0.href) }
                    result = count > 0 ? .frozen(pages: count) : .equal
                } else {
                    result = .unknown(
                        opened.isEmpty
                            ? reasonForNotOpening : "no page of it was rendered when the site was prefetched")
                }
                return Rehearsal.Kind(
                    example: opened.first?.page.url.href ?? kind.pages.first?.href ?? "",
                    pages: kind.pages.count, opened: opened.count, result)
            })
    }

    private func findings(
        by browser: Browser, _ service: MirrorService, _ interruption: Interruption
    ) throws(LarderError) -> Findings {
        var items: [CheckReport.Item] = []
        var told: Set<String> = []
        var refused: Set<String> = []
        var talking: [String] = []
        var differences: [Int: (page: WebURL, detail: String)] = [:]
        var differing: Set<String> = []
        var lessShown: Set<Int> = []
        let frozen = Set(wishes.plan.frozen)
        let reader = try storing { () throws(StoreError) in try StoreReader(larder.folder) }
        let all = try show(browser, service, interruption)
        for shown in all {
            if shown.outcome.notices.contains(where: { $0.kind == .webSocket })
                || shown.outcome.requests.contains(where: \.isLive)
            {
                talking.append(shown.page.url.href)
            }
            func differs(_ detail: String) {
                if differences[shown.page.kind] == nil {
                    differences[shown.page.kind] = (shown.page.url, detail)
                }
            }
            for loss in losses(of: shown, service) {
                // The stored response forbids other origins to read it (CORS), as on the live site.
                if loss.isRefusedByCORS,
                    try storing({ () throws(StoreError) in try reader.response(for: loss.url.key.href) })
                        != nil
                {
                    refused.insert(loss.url.href)
                    continue
                }
                let item = item(of: loss, on: shown.page.url)
                if item.verdict == .missing { differs("it requests \(loss.url.href), which is not stored") }
                if told.insert(loss.url.href).inserted { items.append(item) }
            }
            let isFrozen = !opensScripts && frozen.contains(shown.page.url.href)
            if let item = Self.item(of: shown, isFrozen: isFrozen) {
                switch (item.verdict, shown.outcome.ending) {
                case (.mismatch, _):
                    differing.insert(shown.page.url.href)
                    lessShown.insert(shown.page.kind)
                    differs(item.detail ?? "")
                case (.missing, _), (_, .hung), (_, .crashed): differs(item.detail ?? "")
                default: break
                }
                if told.insert(item.name).inserted { items.append(item) }
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
            notes.append(
                "\(pages) using live data (a WebSocket, server-sent events or polling), which is not stored, such as \(first)"
            )
        }
        if !refused.isEmpty {
            let first = refused.min() ?? ""
            notes.append(
                "\(Wording.count(refused.count, "address", plural: "addresses")) not readable by pages of other origins, as online: \(first)"
            )
        }
        let equal = Set(all.map(\.page.url.href)).subtracting(differing)
        return Findings(
            items: items, notes: notes, rehearsal: rehearsal(differences, of: all),
            differing: lessShown.sorted().flatMap { place in
                kinds[place].pages.filter { !equal.contains($0.href) }
            },
            rendered: kinds.flatMap { $0.pages.filter(\.isRendered).map(\.href) },
            opened: Set(all.map(\.page.url.href)))
    }

    /// Opens all pages, several at a time. The outcomes are in the order of the pages.
    private func show(
        _ browser: Browser, _ service: MirrorService, _ interruption: Interruption
    ) throws(LarderError) -> [Shown] {
        let outcomes = Monitor<[Int: Shown]>([:])
        let frozen = Set(wishes.plan.frozen)
        var begun = 0
        while true {
            guard !interruption.isRequested else { throw .interrupted }
            let ended = outcomes.change { $0.count }
            if ended == pages.count { break }
            while begun < pages.count, begun - ended < tabs {
                let (number, page) = (begun, pages[begun])
                var visit = manner.visit(to: page.url, acts: page.isAmongFirst)
                visit.url = service.address(of: page.url.href) ?? page.url.href
                if opensScripts, frozen.contains(page.url.href), let url = WebURL(visit.url) {
                    visit.url = FrozenCopy.askingForScripts(url).href
                }
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
                request.type != "Ping", !request.isLive
            else { return nil }
            // While the site was prefetched, controls sent no such requests either.
            if request.isAfterAction, request.method == "POST" { return nil }
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
    private static func item(of shown: Shown, isFrozen: Bool) -> CheckReport.Item? {
        let page = shown.page.url.href
        let difference = difference(of: shown, isFrozen: isFrozen)
        if let difference, difference.verdict == .mismatch {
            return .init(url: page, .mismatch, difference.text)
        }
        switch shown.outcome.ending {
        case .complete: return difference.map { .init(url: page, $0.verdict, $0.text) }
        case .outOfTime: return .init(url: page, .unverifiable, "it keeps loading in a browser")
        case .hung: return .init(url: page, .unverifiable, "its scripts do not end in a browser")
        case .crashed: return .init(url: page, .unverifiable, "it crashes a browser")
        case .download: return nil
        case .failed(let why): return .init(url: page, .missing, "a browser cannot show it: \(why)")
        }
    }

    /// How the page differs from what it showed when it was prefetched; nil if it does not.
    private static func difference(
        of shown: Shown, isFrozen: Bool
    ) -> (verdict: CheckReport.Verdict, text: String)? {
        if let then = shown.page.text, let now = shown.outcome.text,
            let difference = WordDifference(then, now)
        {
            // A few words may be a clock or a greeting.
            let verdict: CheckReport.Verdict = difference.likeness < 0.9 ? .mismatch : .unverifiable
            return (verdict, "a browser shows other text than at the prefetch: \(difference)")
        }
        // The notice at the top of a frozen copy is in the picture.
        if !isFrozen, let then = shown.page.picture, let now = shown.outcome.picture, then != now {
            return (.unverifiable, "a browser shows another picture than at the prefetch")
        }
        return nil
    }
}

extension SeenRequest {
    /// Whether the request asks for live data, which has no end: server-sent events, or a transport that polls
    /// in place of a WebSocket.
    fileprivate var isLive: Bool {
        guard type != "EventSource" else { return true }
        guard let url = WebURL(url) else { return false }
        let query = url.query ?? ""
        return query.contains("transport=polling") || query.contains("transport=longPolling")
            || query.contains("transport=serverSentEvents")
            || ["/xhr_streaming", "/xhr_send", "/eventsource", "/htmlfile"].contains {
                url.path.hasSuffix($0)
            }
    }
}

/// The first line in which two texts differ, for messages.
struct WordDifference: CustomStringConvertible {
    let description: String
    /// The share of words that both texts have, from 0 to 1. Words with digits, such as times, do not count.
    let likeness: Double

    init?(_ then: String, _ now: String) {
        guard then != now else { return nil }
        likeness = Self.likeness(then, now)
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

    private static func likeness(_ then: String, _ now: String) -> Double {
        let (before, after) = (counts(then), counts(now))
        let total = before.values.reduce(0, +) + after.values.reduce(0, +)
        guard total > 0 else { return then.isEmpty == now.isEmpty ? 1 : 0 }
        let common = before.reduce(0) { $0 + min($1.value, after[$1.key] ?? 0) }
        return Double(2 * common) / Double(total)
    }

    /// How often each word occurs. In writing without spaces, each character is a word.
    private static func counts(_ text: String) -> [Substring: Int] {
        var counts: [Substring: Int] = [:]
        for word in text.split(whereSeparator: \.isWhitespace) {
            if word.unicodeScalars.contains(where: { $0.value >= 0x2E80 || 0x0E00...0x0EFF ~= $0.value }) {
                for place in word.indices { counts[word[place...place], default: 0] += 1 }
            } else if !word.utf8.contains(where: \.isASCIIDigit) {
                counts[word, default: 0] += 1
            }
        }
        return counts
    }

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
