internal import Check
internal import Crawl
internal import Prefetch
internal import Store
internal import System
internal import Web

extension Larder {
    /// Opens a sample of the pages that a prefetch has stored, from the store alone, and compares them with the
    /// same pages as rendered. Responses that the pages request and the store lacks are fetched, and the pages are
    /// opened again, until nothing more can be fetched. Pages that then still differ are served with their recorded live
    /// messages, if that makes them equal, or else as frozen copies.
    ///
    /// Does nothing if the prefetch rendered no page, or only pages for which a scan had found everything. If the
    /// browser fails, the prefetch has succeeded all the same.
    ///
    /// - Parameters:
    ///   - browser: the browser that rendered the pages.
    ///   - prefetchAgain: This closure prefetches the site again with the given options.
    func rehearse(
        _ report: inout PrefetchReport, _ options: PrefetchOptions, in browser: SharedBrowser,
        _ interruption: Interruption,
        prefetchAgain: (PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) {
        guard report.isPublished, !report.isInterrupted, report.work == nil, report.rendering.rendered > 0,
            report.rendering.failure == nil, report.rendering.isWorthRehearsing
        else { return }
        let run = RehearsalRun(self, report, options, browser, interruption)
        run.run(&report, prefetchAgain: prefetchAgain)
        if interruption.isRequested { run.noteInterruption(&report) }
    }
}

/// The rehearsal of one prefetch.
///
/// A round opens pages offline and looks at the result. If responses are missing, the site is prefetched again with the
/// policy `prefer-cache`, which fetches only those, and the next round follows. If nothing new is missing, pages of kinds
/// that have no rendered page are rendered once. The rounds end when neither helps, or after three repeated prefetches. At
/// the end, pages that still differ are opened with their recorded live messages. Those that differ even then are served as
/// frozen copies.
private struct RehearsalRun {
    private let larder: Larder
    private let site: String
    private let options: PrefetchOptions
    private let checkOptions: OfflineCheckOptions
    private let freezing: RenderFreezing
    private let browser: SharedBrowser
    private let interruption: Interruption

    /// The maximum number of pages that are opened at a time: as many as are rendered because they are the first of their
    /// kind.
    private static let maxOpenedPages = 40
    /// The maximum number of times that the site is prefetched again. Missing responses stay missing after that.
    private static let maxExtraRounds = 3
    /// The maximum number of pages that are rendered only so that they can be compared, or copies of them served.
    private static let maxFurtherRenderedPages = 100
    /// The maximum number of pages that are served as frozen copies.
    private static let maxFrozenPages = 1000

    init(
        _ larder: Larder, _ report: PrefetchReport, _ options: PrefetchOptions, _ browser: SharedBrowser,
        _ interruption: Interruption
    ) {
        (self.larder, site, self.options) = (larder, report.site, options)
        (self.browser, self.interruption) = (browser, interruption)
        freezing = (report.plan.render ?? RenderSettings()).freezing
        var browserCheck = OfflineCheckOptions.BrowserCheck()
        browserCheck.browser = options.browser
        browserCheck.tabs = options.renderTabs
        browserCheck.pages = Self.maxOpenedPages
        var checkOptions = OfflineCheckOptions()
        checkOptions.browserCheck = browserCheck
        self.checkOptions = checkOptions
    }

    func run(
        _ report: inout PrefetchReport,
        prefetchAgain: (PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) {
        // What could not be fetched a moment ago is not fetched again.
        var knownMissing = Set(report.missing.map(\.url))
        var minMissingCount = Int.max
        var didRenderFurtherPages = false
        var findings: OfflinePageCheck.Findings?
        var scriptLoaders: [String: ScriptLoader] = [:]
        for round in 0...Self.maxExtraRounds {
            guard let found = open(bypassesFrozenCopies: true, after: findings?.opened ?? []) else { break }
            findings = found
            report.rehearsal = found.rehearsal
            for loader in found.scriptLoaders { scriptLoaders[loader.page.origin] = loader }
            // These pages have no copies, because only other pages of their kinds were rendered.
            let withoutCopies = freezing == .auto ? found.differing.filter { !$0.isRendered }.map(\.href) : []
            let toRender = found.unrendered.filter { mayRender($0, report.rendering) } + withoutCopies
            // The stored responses are used as they are, and only missing ones are fetched.
            var further = options
            further.policy = .preferCache
            further.alwaysRendered = []
            further.isRepeat = true
            if round == Self.maxExtraRounds { break }
            // A URL with a time or a random number in it is missing each time.
            if found.missing.count < minMissingCount, !found.missing.isSubset(of: knownMissing) {
                knownMissing.formUnion(found.missing)
                minMissingCount = found.missing.count
            } else if !toRender.isEmpty, !didRenderFurtherPages {
                further.alwaysRendered = Set(toRender.prefix(Self.maxFurtherRenderedPages))
                didRenderFurtherPages = true
            } else {
                break
            }
            guard complete(&report, further, prefetchAgain) else { break }
        }
        storeScriptCopies(of: scriptLoaders.values.sorted { $0.page.href < $1.page.href })
        guard let findings, freezing != .never else { return }
        let differing = findings.differing.filter(\.isRendered).map(\.href)
        let opened = Set(findings.opened.map(\.page.url.href))
        freeze(freezing == .always ? findings.rendered : differing, replacing: opened, &report)
    }

    /// Reports which kinds of pages were not compared, because the user interrupted the rehearsal.
    func noteInterruption(_ report: inout PrefetchReport) {
        if let rehearsal = report.rehearsal {
            report.rehearsal = rehearsal.interrupted
        } else if let check = try? OfflinePageCheck(larder, site: site, checkOptions) {
            report.rehearsal = check.interruptedRehearsal
        } else {
            report.rehearsal = Rehearsal([], isInterrupted: true)
        }
    }

    /// Whether a page without a known text may be rendered for it: not if it was rendered a moment ago, and its text could
    /// not be read.
    private func mayRender(_ page: String, _ rendering: RenderReport) -> Bool {
        guard let url = WebURL(page), !rendering.unfinished.contains(where: { $0.url == page }) else {
            return false
        }
        let pattern = PagePattern.text(of: url)
        return !rendering.patterns.contains { $0.pattern == pattern && $0.rendered >= $0.pages }
    }

    /// Opens the pages. Returns nil if that fails.
    ///
    /// - Parameter earlier: the pages that were opened before.
    private func open(
        bypassesFrozenCopies: Bool, after earlier: [OfflinePageCheck.OpenedPage] = []
    ) -> OfflinePageCheck.Findings? {
        do throws(LarderError) {
            return try OfflinePageCheck(
                larder, site: site, bypassesFrozenCopies: bypassesFrozenCopies, checkOptions
            ).findings(interruption, in: browser, after: earlier)
        } catch {
            return nil
        }
    }

    /// Finds out which entries of `localStorage` contain copies of scripts, so that served pages start without them. Entries
    /// that an earlier rehearsal found stay, because a busy machine may be too slow to write them this time.
    private func storeScriptCopies(of loaders: [ScriptLoader]) {
        guard !loaders.isEmpty, let stored,
            let check = try? OfflinePageCheck(larder, site: site, checkOptions),
            let found = try? check.scriptCopies(of: loaders, interruption, in: browser)
        else { return }
        let origins = Set(found.map(\.origin))
        var plan = SitePlan(text: stored.settings)
        let before = plan.scriptCopies
        plan.scriptCopies = before.filter { !origins.contains($0.origin) } + found
        if plan.scriptCopies != before { _ = store(plan) }
    }

    /// Prefetches the site again, as a part of the same prefetch. Returns false if that fails or is interrupted;
    /// the first prefetch has still succeeded.
    private func complete(
        _ report: inout PrefetchReport, _ options: PrefetchOptions,
        _ prefetchAgain: (PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) -> Bool {
        // An update that found nothing changed has no snapshot of its own.
        let before = report.isUnchanged ? nil : stored?.published
        guard let next = try? prefetchAgain(options), next.isPublished, !next.isInterrupted else {
            return false
        }
        report.continue(with: next)
        if let before { drop(before, &report) }
        return true
    }

    /// The site in the store.
    private var stored: Site? {
        try? StoreReader(larder.folder).sites().first { $0.name == site }
    }

    /// Removes a snapshot that a later one of the same prefetch completes, so that a rollback restores the state
    /// before the prefetch. The later one gets its number, because users see one snapshot.
    private func drop(_ snapshot: Int64, _ report: inout PrefetchReport) {
        guard let before = stored, before.published != snapshot,
            let number = before.name(ofSnapshot: snapshot)?.number
        else { return }
        do throws(StoreError) {
            let writer = try StoreWriter(larder.folder)
            try writer.drop(snapshot: snapshot, of: before, canBeUndone: false, passesOnNumber: true)
            guard let stored, stored.name(ofSnapshot: stored.published)?.number == number else { return }
            var plan = SitePlan(text: stored.settings)
            plan.renumberSnapshot(report.snapshot, as: number)
            try writer.storeSettings(plan.text, ofSite: site)
            report.renumberSnapshot(as: number)
        } catch {
            // The store is busy or full. The snapshot stays or has the later number, which does no harm.
        }
    }

    /// Serves these pages with replayed messages or as frozen copies from now on, and opens the pages once more.
    ///
    /// - Parameter opened: the opened pages. Those of them that are not named are served with their scripts alone again.
    private func freeze(_ pages: [String], replacing opened: Set<String>, _ report: inout PrefetchReport) {
        guard let stored else { return }
        var plan = SitePlan(text: stored.settings)
        let before = plan.frozen
        plan.frozen = Array(Set(before).subtracting(opened).union(pages).sorted().prefix(Self.maxFrozenPages))
        guard !(plan.frozen.isEmpty && before.isEmpty) else { return }
        // Of pages that were not opened this time, the last prefetch has decided.
        let replayed = Set(plan.replayed).subtracting(opened).union(pagesWithMessages(pages))
        plan.replayed = plan.frozen.filter(replayed.contains)
        guard store(plan), var findings = open(bypassesFrozenCopies: false) else { return }
        let failed = findings.pagesOfDifferentKinds.intersection(plan.replayed)
        if !failed.isEmpty {
            plan.replayed.removeAll(where: failed.contains)
            guard store(plan), let next = open(bypassesFrozenCopies: false, after: findings.opened) else {
                return
            }
            findings = next
        }
        report.rehearsal = findings.rehearsal.addingReasonsForCopies(from: report.rehearsal)
    }

    /// Stores the settings of the site. Returns false if the store is busy or full; the report still says that the pages
    /// differ.
    private func store(_ plan: SitePlan) -> Bool {
        do throws(StoreError) {
            try StoreWriter(larder.folder).storeSettings(plan.text, ofSite: site)
            return true
        } catch {
            return false
        }
    }

    /// The pages among these whose live messages were recorded; none if all pages are served as frozen copies.
    private func pagesWithMessages(_ pages: [String]) -> [String] {
        guard freezing == .auto, let reader = try? StoreReader(larder.folder) else { return [] }
        return pages.filter { href in
            guard let page = try? reader.response(for: href) else { return false }
            return (try? reader.liveMessages(of: page)) != nil
        }
    }
}
