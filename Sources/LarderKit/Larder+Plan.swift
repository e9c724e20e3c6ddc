internal import Check
internal import Crawl
internal import Fetch
internal import Glibc
internal import Reports
internal import System
internal import Web

extension Larder {
    /// Looks at some pages of a site, one after the other, and estimates what a prefetch with these options
    /// would fetch. Nothing is kept.
    ///
    /// - Parameter progress: told how many pages were looked at, on a thread of the call's.
    /// - Throws: As `prefetch`.
    public func plan(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions(), mostPages: Int = 120,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> PlanReport {
        let (first, start) = try WebURL.starts(urls)
        var plan = try CrawlPlan(
            site: first, start: start, startZone: Principal.localUser.nearestZone, folder: folder, options)
        plan.fetch.spoolFolder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let wanted = plan
        let interruption = Interruption()
        return try await Self.onThread("larder-plan", onCancel: interruption.request) {
            () throws(LarderError) in
            do throws(CrawlError) {
                var run = try PlanRun(wanted, mostPages: mostPages)
                return try run.run(interruption) { progress?(WorkProgress(.pages, done: $0, of: nil)) }
            } catch {
                throw LarderError(error)
            }
        }
    }
}
