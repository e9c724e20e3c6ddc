internal import Check
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
        var before: Set<String> = []
        for round in 0...Self.repetitions {
            let findings: OfflineShow.Findings
            do throws(LarderError) {
                let show = try OfflineShow(self, site: report.site, hidesPrivate: false, wanted)
                findings = try show.findings(interruption)
            } catch {
                return
            }
            report.rehearsal = findings.rehearsal
            guard round < Self.repetitions, !findings.missing.subtracting(before).isEmpty else { return }
            before.formUnion(findings.missing)
            let next = try again(further)
            guard next.isPublished, !next.isInterrupted else { return }
            report.continue(with: next)
        }
    }

    /// The maximum number of pages that are opened after a prefetch.
    private static let rehearsedPages = 24
    /// How often missing responses are fetched and the pages opened again.
    private static let repetitions = 3
}
