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
    /// Does nothing if the run rendered no page. If the browser fails, the run has succeeded all the same.
    ///
    /// - Parameter again: Runs the site once more with other options.
    func rehearse(
        _ report: inout PrefetchReport, _ options: PrefetchOptions, _ interruption: Interruption,
        again: (PrefetchOptions) throws(LarderError) -> PrefetchReport
    ) throws(LarderError) {
        guard report.isPublished, !report.isInterrupted, report.work == nil, report.rendering.rendered > 0,
            report.rendering.failure == nil
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
        var (before, wereRendered): (Set<String>, Bool) = ([], false)
        for round in 0...Self.repetitions {
            let findings: OfflineShow.Findings
            do throws(LarderError) {
                let show = try OfflineShow(self, site: report.site, hidesPrivate: false, wanted)
                findings = try show.findings(interruption)
            } catch {
                return
            }
            report.rehearsal = findings.rehearsal
            // Pages of which no copy can be shown, because they were not rendered like others of their kind.
            let unseen = freezing == .auto ? findings.differing.filter { !$0.isRendered }.map(\.href) : []
            let isNew = !findings.missing.subtracting(before).isEmpty
            guard round < Self.repetitions, isNew || !unseen.isEmpty && !wereRendered else {
                switch freezing {
                case .auto:
                    let pages = findings.differing.filter(\.isRendered).map(\.href)
                    try freeze(pages, &report, wanted, interruption)
                case .always: try freeze(findings.rendered, &report, wanted, interruption)
                case .never: break
                }
                return
            }
            before.formUnion(findings.missing)
            // Missing responses may be all that the pages lack.
            if !isNew {
                further.furtherRendered = Set(unseen.prefix(Self.furtherPages))
                wereRendered = true
            }
            let next = try again(further)
            guard next.isPublished, !next.isInterrupted else { return }
            report.continue(with: next)
        }
    }

    /// Shows the frozen copies of pages that differ, and opens the pages once more.
    private func freeze(
        _ pages: [String], _ report: inout PrefetchReport, _ options: OfflineCheckOptions,
        _ interruption: Interruption
    ) throws(LarderError) {
        guard !pages.isEmpty else { return }
        let site = report.site
        do throws(StoreError) {
            guard let held = try StoreReader(folder).sites().first(where: { $0.name == site }) else { return }
            var plan = SitePlan(text: held.settings)
            plan.frozen = Array(Set(plan.frozen + pages).sorted().prefix(Self.frozenPages))
            try StoreWriter(folder).keep(settings: plan.text, ofSite: site)
        } catch {
            throw LarderError(error)
        }
        do throws(LarderError) {
            let show = try OfflineShow(self, site: site, hidesPrivate: false, options)
            report.rehearsal = try show.findings(interruption).rehearsal
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
