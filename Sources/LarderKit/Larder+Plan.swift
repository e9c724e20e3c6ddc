internal import Check
internal import Crawl
internal import Fetch
internal import Glibc
public import Prefetch
internal import Reports
internal import System
internal import Web

extension Larder {
    /// Estimates the numbers of pages, assets and bytes that a prefetch with these options would fetch. Requests a sample of
    /// the site's pages, one after the other, and stores nothing.
    ///
    /// - Parameters:
    ///   - urls: the start URLs.
    ///   - options: the options of the prefetch.
    ///   - maxRequests: the maximum number of requests. More requests narrow the estimate.
    ///   - progress: receives the number of requests, on a thread of the call.
    /// - Throws: The same errors as `prefetch`.
    public func plan(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions(), maxRequests: Int = 200,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> PlanReport {
        let (first, start) = try WebURL.starts(urls)
        var plan = try CrawlPlan(
            site: first, start: start, startZone: Principal.localUser.nearestZone, folder: folder, options)
        plan.fetch.spoolFolder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let wanted = plan
        let interruption = Interruption()
        return try await Self.runOnThread("larder-plan", onCancel: interruption.request) {
            () throws(LarderError) in
            do throws(CrawlError) {
                var run = try PlanRun(wanted, maxRequests: maxRequests)
                return try run.run(interruption) {
                    progress?(WorkProgress(.responses, done: $0, of: maxRequests))
                }
            } catch {
                throw LarderError(error)
            }
        }
    }
}
