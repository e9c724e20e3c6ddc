internal import Check
internal import Crawl
internal import Store
internal import System
internal import Web

extension Larder {
    /// Opens a sample of the pages that a run has stored, from the store alone, and compares them with what they
    /// showed when they were rendered. What they request and the store does not have is fetched, and the pages are
    /// opened again, until nothing more can be fetched.
    ///
    /// Does nothing if the run rendered no page, or only pages for which a scan had found everything. If the browser fails, the run has succeeded all the same.
    ///
    /// - Parameters:
    ///   - browser: the browser that rendered the pages.
    ///   - again: Runs the site once more with other options.
    func rehearse(
        _ report: inout PrefetchReport, _ options: PrefetchOptions, in browser: SharedBrowser,
        _ interruption: Interruption,
        again: (PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) {
        guard report.isPublished, !report.isInterrupted, report.work == nil, report.rendering.rendered > 0,
            report.rendering.failure == nil, report.rendering.isWorthRehearsing
        else { return }
        var showing = OfflineCheckOptions.Showing()
        showing.browser = options.browser
        showing.tabs = options.renderTabs
        showing.pages = Self.rehearsedPages
        var wanted = OfflineCheckOptions()
        wanted.showing = showing
        // The stored responses are used as they are, and only what is missing is fetched.
        var further = options
        further.policy = .preferCache
        let freezing = (report.plan.render ?? RenderSettings()).freezing
        var (before, least, wereRendered): (Set<String>, Int, Bool) = ([], .max, false)
        for round in 0...Self.repetitions {
            let findings: OfflineShow.Findings
            do throws(LarderError) {
                let show = try OfflineShow(self, site: report.site, opensScripts: true, wanted)
                findings = try show.findings(interruption, in: browser)
            } catch {
                return
            }
            report.rehearsal = findings.rehearsal
            // Pages without a frozen copy, because only other pages of their kind were rendered.
            let unseen = freezing == .auto ? findings.differing.filter { !$0.isRendered }.map(\.href) : []
            // URLs with a time or a random number in them are missing each time.
            let isNew = findings.missing.count < least && !findings.missing.subtracting(before).isEmpty
            guard round < Self.repetitions, isNew || !unseen.isEmpty && !wereRendered else {
                guard freezing != .never else { return }
                let frozen = findings.differing.filter(\.isRendered).map(\.href)
                return freeze(
                    freezing == .always ? findings.rendered : frozen, besides: findings.opened, &report,
                    wanted, in: browser, interruption)
            }
            before.formUnion(findings.missing)
            least = findings.missing.count
            // First fetches what is missing; the pages may work then.
            further.alwaysRendered = isNew ? [] : Set(unseen.prefix(Self.furtherPages))
            wereRendered = !isNew
            let first = live(report.site)
            // If this fails, the first run has still succeeded.
            guard let next = try? again(further) else { return }
            guard next.isPublished, !next.isInterrupted else { return }
            report.continue(with: next)
            if let first { drop(first, of: report.site) }
        }
    }

    /// The ID of the live snapshot.
    private func live(_ site: String) -> Int64? {
        try? StoreReader(folder).sites().first { $0.name == site }?.published
    }

    /// Removes a snapshot that a later one of the same prefetch completes, so that a rollback leads to the state
    /// before the prefetch.
    private func drop(_ snapshot: Int64, of site: String) {
        do throws(StoreError) {
            guard let held = try StoreReader(folder).sites().first(where: { $0.name == site }),
                held.published != snapshot
            else { return }
            try StoreWriter(folder).drop(snapshot: snapshot, of: held)
        } catch {
            // The store is busy or full. The snapshot stays, which does no harm.
        }
    }

    /// Serves frozen copies of these pages from now on, and opens the pages once more.
    ///
    /// - Parameter opened: the pages that were opened. Other pages are served as before.
    private func freeze(
        _ pages: [String], besides opened: Set<String>, _ report: inout PrefetchReport,
        _ options: OfflineCheckOptions, in browser: SharedBrowser, _ interruption: Interruption
    ) {
        let site = report.site
        do throws(StoreError) {
            guard let held = try StoreReader(folder).sites().first(where: { $0.name == site }) else { return }
            var plan = SitePlan(text: held.settings)
            let before = plan.frozen
            plan.frozen = Array(
                Set(before).subtracting(opened).union(pages).sorted().prefix(Self.frozenPages))
            guard plan.frozen != before || !before.isEmpty else { return }
            try StoreWriter(folder).keep(settings: plan.text, ofSite: site)
        } catch {
            // The store is busy or full. The report still says that the pages differ.
            return
        }
        do throws(LarderError) {
            let show = try OfflineShow(self, site: site, options)
            let findings = try show.findings(interruption, in: browser)
            report.rehearsal = findings.rehearsal.explained(by: report.rehearsal)
        } catch {
            // The earlier result stays in the report.
        }
    }

    private static let frozenPages = 1000
    /// The maximum number of pages that are rendered only so that copies of them can be shown.
    private static let furtherPages = 100
    /// The maximum number of pages that are opened after a prefetch.
    private static let rehearsedPages = 24
    /// How often missing responses are fetched and the pages opened again.
    private static let repetitions = 3
}
