internal import Crawl
internal import Web

extension Larder {
    /// Stocks a site: the pages on the hosts of the URLs, and everything that they need from any host.
    ///
    /// The first URL names the site. When the task is cancelled the prefetch stops soon and reports; what it has is kept,
    /// and the next prefetch of the same site goes on with it.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no http or https URL, `.machine` when the store or the
    ///   network library fails. What a server refuses is no error; it is in the report.
    public func prefetch(
        _ urls: [String], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        var start: [WebURL] = []
        for url in urls { start.append(try Self.startURL(url)) }
        guard let first = start.first else {
            throw LarderError(.input, "there is no URL to prefetch: name one, such as https://example.com/")
        }
        var plan = CrawlPlan(site: first.href, start: start, folder: folder, userAgent: Self.userAgent)
        plan.connectionsPerHost = options.connectionsPerHost
        plan.scanThreads = options.scanThreads
        if let progress = options.progress {
            plan.progress = { now in
                progress(
                    PrefetchProgress(
                        done: now.done, known: now.known, running: now.running, byteCount: now.byteCount))
            }
        }
        return try await run(plan)
    }

    private func run(_ plan: CrawlPlan) async throws(LarderError) -> PrefetchReport {
        let interruption = Interruption()
        let outcome: Result<PrefetchReport, LarderError> = await withTaskCancellationHandler {
            do throws(LarderError) {
                return .success(
                    try await Self.onThread("larder-crawl") { () throws(LarderError) in
                        do throws(CrawlError) {
                            return PrefetchReport(try Crawl(plan, interruption: interruption).run())
                        } catch {
                            throw LarderError(error)
                        }
                    })
            } catch {
                return .failure(error)
            }
        } onCancel: {
            interruption.request()
        }
        return try outcome.get()
    }

    /// `example.com/a` is taken for `https://example.com/a`, as a browser's address field would.
    static func startURL(_ text: String) throws(LarderError) -> WebURL {
        let hasScheme = text.utf8.contains("://".utf8)
        guard let url = WebURL(hasScheme ? text : "https://" + text), !url.host.isEmpty else {
            throw LarderError(.input, "\"\(text)\" is not a URL: write it like https://example.com/")
        }
        guard url.isHTTP else {
            throw LarderError(.input, "\(text) cannot be prefetched: only http and https can")
        }
        return url.withoutFragment
    }
}
