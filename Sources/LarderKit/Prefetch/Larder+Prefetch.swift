internal import Crawl
internal import Fetch
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
        return try await Self.onThread("larder-crawl", onCancel: interruption.request) { () throws(LarderError) in
            do throws(CrawlError) {
                return PrefetchReport(try Crawl(plan, interruption: interruption).run())
            } catch {
                throw LarderError(error)
            }
        }
    }

    /// `example.com/a` is taken for `https://example.com/a`, as a browser's address field would, and `localhost:3000` for
    /// `http://localhost:3000`, since few servers on this machine speak TLS.
    static func startURL(_ text: String) throws(LarderError) -> WebURL {
        var url = WebURL(hasScheme(text) ? text : "https://" + text)
        if let given = url, !hasScheme(text), given.isLoopback { url = WebURL("http://" + text) }
        guard let url, !url.host.isEmpty else {
            throw LarderError(.input, "\"\(text)\" is not a URL: write it like https://example.com/")
        }
        guard url.isHTTP else {
            throw LarderError(.input, "\(text) cannot be prefetched: only http and https can")
        }
        guard !url.hasCredentials else {
            throw LarderError(
                .input,
                "the address of \(url.host) has a user name or a password in it: leave them out, nothing may keep them")
        }
        return url.key
    }

    /// Whether what stands before the first slash ends with a colon: `https://a`, not `a:80/` nor `a/?u=https://b`.
    private static func hasScheme(_ text: String) -> Bool {
        let start = text.utf8.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return start.last == UInt8(ascii: ":")
    }
}

extension WebURL {
    /// Whether the host is this machine by its name or its address.
    fileprivate var isLoopback: Bool {
        // A host of digits and dots is an IPv4 address, whatever was written: anything else was refused.
        let isIPv4 = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || isIPv4 && host.hasPrefix("127.")
    }
}
