internal import Crawl
internal import Fetch
internal import Store
internal import Synchronization
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
        let (first, start) = try Self.startURLs(urls)
        return try await run(plan(site: first, start: start, options))
    }

    /// Stocks the site that a manifest describes, and publishes the visit only when the bundles that it requires verify;
    /// until then the last good visit is served.
    ///
    /// - Parameters:
    ///   - manifest: a file, or an URL, that says where the site starts.
    ///   - options: what the manifest does not say.
    /// - Throws: As `prefetch`; `LarderError` of kind `.input` too for what the manifest must not say.
    public func prefetch(
        manifest: String, base: String? = nil, options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> PrefetchReport {
        var checking = CheckOptions()
        checking.bases = base.map { [$0] } ?? []
        let check = checking
        let interruption = Interruption()
        let gate = try await Self.onThread("larder-manifest", onCancel: interruption.request) {
            () throws(LarderError) -> BundleGate in
            try self.gate(manifest, options: check, interruption: interruption)
        }
        var own = options
        gate.apply(to: &own)
        let start = try gate.start()
        let (first, _) = try Self.startURLs([gate.site ?? start[0].href])
        var plan = try plan(site: first, start: start, own)
        plan.requisites = gate.bundles
        let verdict = GateVerdict()
        plan.gate = { (visit: Int64) throws(StoreError) -> Bool in
            let report = try gate.report(onVisit: visit)
            verdict.report.withLock { $0 = report }
            return report.isClean
        }
        var report = try await run(plan)
        report.check = verdict.report.withLock { $0 }
        return report
    }

    /// Prefetches again what is held, each site in the way in which it was prefetched last: what is unchanged costs a
    /// request and no body.
    ///
    /// - Parameters:
    ///   - sites: by name, address or host; all of them when there are none.
    ///   - options: what of them does not say how a site is prefetched: network, limits, policy, progress.
    /// - Returns: A report for each site, in order. When the task is cancelled, those that were begun.
    /// - Throws: `LarderError` of kind `.input` when the larder holds no such site.
    public func update(
        _ sites: [String] = [], options: PrefetchOptions = PrefetchOptions()
    ) async throws(LarderError) -> [PrefetchReport] {
        let held = try await heldSites(sites)
        var reports: [PrefetchReport] = []
        for site in held {
            var start: [WebURL] = []
            for url in site.start { start.append(try Self.startURL(url)) }
            guard let first = WebURL(site.name) ?? start.first else { continue }
            var own = options
            SiteSettings(text: site.settings).apply(to: &own)
            let report = try await run(plan(site: first, start: start, own))
            reports.append(report)
            if report.isInterrupted { break }
        }
        return reports
    }

    private func heldSites(_ names: [String]) async throws(LarderError) -> [Site] {
        let folder = folder
        return try await Self.onThread("larder-sites") { () throws(LarderError) in
            do throws(StoreError) {
                let sites = try StoreReader(folder).sites()
                if names.isEmpty { return sites }
                let known = sites.map(\.name)
                var wanted: [Site] = []
                for name in names {
                    guard let place = SiteName.place(of: name, among: known) else {
                        throw SiteName.unknown(name, among: known)
                    }
                    wanted.append(sites[place])
                }
                return wanted
            } catch {
                throw LarderError(lookingUp: error)
            }
        }
    }

    /// All of them, and the first, which names the site.
    static func startURLs(_ urls: [String]) throws(LarderError) -> (first: WebURL, all: [WebURL]) {
        var start: [WebURL] = []
        for url in urls { start.append(try startURL(url)) }
        guard let first = start.first else {
            throw LarderError(.input, "there is no URL: name one, such as https://example.com/")
        }
        return (first, start)
    }

    func plan(site: WebURL, start: [WebURL], _ options: PrefetchOptions) throws(LarderError) -> CrawlPlan {
        let settings = SiteSettings(options)
        var plan = CrawlPlan(site: site.href, start: start, folder: folder, userAgent: Self.userAgent)
        plan.fetch = try options.network.fetchOptions(for: start, spoolFolder: folder.incoming)
        plan.fetch.connectionsPerHost = options.connectionsPerHost
        for sitemap in options.sitemaps { plan.sitemaps.append(try Self.startURL(sitemap)) }
        plan.scope = settings.scope
        plan.limits = CrawlLimits(
            pages: options.limits.pages, byteCount: options.limits.byteCount, time: options.limits.time)
        plan.connectionsPerHost = options.connectionsPerHost
        plan.scanThreads = options.scanThreads
        plan.productToken = Self.productToken
        plan.obeysRobots = settings.robots == .obey
        plan.manners = settings.manners
        plan.followsGuesses = options.guesses
        plan.mayReachPrivate = options.network.mayReachPrivate
        plan.rules = try CacheRules(texts: options.rules)
        plan.settings = settings.text
        guard let policy = CachePolicy(rawValue: options.policy.rawValue), policy != .offline else {
            throw LarderError(
                .input, "the policy \(options.policy.rawValue) asks nothing of the network: choose another to prefetch")
        }
        plan.policy = policy
        if let progress = options.progress {
            let meter = Mutex(ProgressMeter(site: site.href))
            plan.progress = { figures in progress(meter.withLock { $0.measure(figures) }) }
        }
        if let fetched = options.fetched { plan.answered = { fetched(PrefetchedURL($0)) } }
        return plan
    }

    private func run(_ plan: CrawlPlan) async throws(LarderError) -> PrefetchReport {
        let interruption = Interruption()
        return try await Self.onThread("larder-crawl", onCancel: interruption.request) { () throws(LarderError) in
            let misses = try self.misses(on: Set(plan.start.map(\.host)))
            var plan = plan
            plan.missed = misses.compactMap(CrawlPlan.Missed.init)
            plan.beyond = try self.beyond(plan)
            let report: PrefetchReport
            do throws(CrawlError) {
                let crawl = try Crawl(plan, interruption: interruption).run()
                try keep(LeftOut(crawl), plan)
                report = PrefetchReport(crawl, plan)
            } catch {
                throw LarderError(error)
            }
            if report.isPublished { try forget(misses) }
            return report
        }
    }

    /// The number of pages that was wanted of the site so far, where more are wanted now.
    private func beyond(_ plan: CrawlPlan) throws(LarderError) -> Int? {
        do throws(StoreError) {
            let site = folder.exists ? try StoreReader(folder).sites().first { $0.name == plan.site } : nil
            guard let wanted = site.flatMap({ SiteSettings(text: $0.settings).maxPages }) else { return nil }
            return plan.limits.pages.map { $0 > wanted } ?? true ? wanted : nil
        } catch {
            throw LarderError(error)
        }
    }

    /// For whoever asks later why a page is not there.
    private func keep(_ leftOut: LeftOut?, _ plan: CrawlPlan) throws(CrawlError) {
        guard let leftOut else { return }
        var settings = SiteSettings(text: plan.settings)
        settings.leftOut = leftOut
        do throws(StoreError) {
            try StoreWriter(folder).keep(settings: settings.text, ofSite: plan.site)
        } catch {
            throw .store(error)
        }
    }

    /// What a server noted as missing of sites on these hosts, or as asked for by their pages.
    private func misses(on hosts: Set<String>) throws(LarderError) -> [Miss] {
        do throws(StoreError) {
            return folder.exists ? try NoteBook.ifAny(folder)?.misses(for: hosts) ?? [] : []
        } catch {
            throw LarderError(error)
        }
    }

    private func forget(_ misses: [Miss]) throws(LarderError) {
        guard !misses.isEmpty else { return }
        do throws(StoreError) {
            try NoteBook.ifAny(folder)?.forget(misses: misses.map(\.href))
        } catch {
            throw LarderError(error)
        }
    }

    /// `example.com/a` is taken for `https://example.com/a`, as a browser's address field would, and `localhost:3000` for
    /// `http://localhost:3000`, since few servers on this machine speak TLS.
    static func startURL(_ text: String) throws(LarderError) -> WebURL {
        var url = WebURL(hasScheme(text) ? text : "https://" + text)
        if let given = url, !hasScheme(text), given.isLoopback { url = WebURL("http://" + text) }
        guard let url, !url.isHTTP || !url.host.isEmpty else {
            throw LarderError(.input, "\"\(text)\" is not a URL: write it like https://example.com/")
        }
        guard url.isHTTP else {
            throw LarderError(
                .input,
                "\(text) cannot be prefetched: only http and https can; name a page such as https://example.com/")
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

/// What a gate said, handed from the store's thread to whoever waits for the crawl.
private final class GateVerdict: Sendable {
    let report = Mutex<CheckReport?>(nil)
}
