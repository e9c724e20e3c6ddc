internal import Bundles
package import Check
internal import Cluster
package import Crawl
internal import Fetch
internal import Glibc
package import Store
internal import Synchronization
package import System
package import Web

/// One run that fetches for a site: a prefetch, an update or a preload. Blocks; belongs to the thread that calls it.
///
/// A run has four steps:
/// 1. If the site has a manifest, load it again (`loadManifest`). If that fails, the stored version applies.
/// 2. Build the crawl plan from the options and the stored settings of the site (`makeCrawlPlan`).
/// 3. Crawl, alone or with other workers. Responses that differ from a digest in a manifest are rejected.
/// 4. Before the snapshot is published, check all bundles of the manifest in it (`ManifestVerifier`).
///
/// Then facts about the run, such as skipped pages, are stored with the site for reports and for the next run.
package struct SiteRun {
    let folder: StoreFolder
    let interruption: Interruption
    /// The sites that are stored when the run begins.
    let sites: [Site]

    package init(_ folder: StoreFolder, _ interruption: Interruption) throws(LarderError) {
        self.folder = folder
        self.interruption = interruption
        do throws(StoreError) {
            sites = folder.exists ? try StoreReader(folder).sites() : []
        } catch  where error.reason == .missing {
            sites = []
        } catch {
            throw LarderError(error)
        }
    }

    /// Prefetches a site. If a manifest is stored with it, the manifest is loaded again and applies, whether
    /// or not the user named it this time.
    package func prefetch(
        _ first: WebURL, start: [WebURL], options: PrefetchOptions, by principal: Principal
    ) throws(LarderError) -> PrefetchReport {
        let zone = startZone(first, start, for: principal)
        guard var manifest = storedPlan(of: first.href)?.manifest else {
            return try crawl(makeCrawlPlan(site: first, start: start, zone, options, by: principal))
        }
        manifest.isAlone = false
        let loaded = try loadAcceptedManifest(manifest, zone, options)
        var siteOptions = options
        loaded.verifier.apply(to: &siteOptions)
        return try crawl(
            makeCrawlPlan(site: first, start: start, zone, siteOptions, by: principal), loaded.plan, loaded)
    }

    /// Prefetches the site of a manifest that the user named.
    package func prefetch(
        _ manifest: ManifestPlan, options: PrefetchOptions, by principal: Principal
    ) throws(LarderError) -> PrefetchReport {
        if options.allowsRollback { try TUFLocation.requireNoRollback(of: manifest.place) }
        let loaded = try loadAcceptedManifest(manifest, principal.nearestZone, options, isNew: true)
        var siteOptions = options
        loaded.verifier.apply(to: &siteOptions)
        var target = try resolveSite(of: loaded, trusting: options.trustedKeys)
        do throws(LarderError) {
            try requireCurrent(loaded, &target, options.manifestAgeRules)
        } catch {
            throw error.addingClause(liveSetText(ofSite: target.site.href))
        }
        let zone = startZone(target.site, target.start, for: principal)
        return try crawl(
            makeCrawlPlan(site: target.site, start: target.start, zone, siteOptions, by: principal),
            target.manifest,
            loaded)
    }

    /// Returns the nearest network zone that requests for start URLs may connect to: the zone of the
    /// principal, or the stored zone of the site if that is nearer and the site already has all these start
    /// URLs.
    func startZone(_ name: WebURL, _ start: [WebURL], for principal: Principal) -> NetworkZone {
        let principalZone = principal.nearestZone
        guard let site = sites.first(where: { $0.name == name.href }),
            let stored = SitePlan(text: site.settings).zone,
            start.allSatisfy({ site.start.contains($0.href) })
        else { return principalZone }
        return max(principalZone, stored)
    }

    /// Updates a stored site. The zone that is stored with the site limits its start URLs, whichever
    /// principal requests the update: the local user may not have added the site.
    ///
    /// - Parameter principal: limits the start URLs of a site that was stored without a zone.
    package func update(
        _ site: Site, options: PrefetchOptions, by principal: Principal
    ) throws(LarderError) -> PrefetchReport {
        let storedPlan = SitePlan(text: site.settings)
        var siteOptions = options
        siteOptions.plan = options.plan.overriding(storedPlan)
        var start: [WebURL] = []
        for url in site.start { start.append(try WebURL.start(url)) }
        let name: WebURL
        if let url = WebURL(site.name) { name = url } else { name = try WebURL.starts(site.start).first }
        addCookieFiles(of: storedPlan, named: name, &siteOptions)
        let zone = storedPlan.zone ?? principal.nearestZone
        guard let manifest = storedPlan.manifest else {
            guard options.trustedKeys.isEmpty else {
                throw LarderError(
                    .input,
                    "\(site.name) has no manifest, so that there is nothing to sign: name no key for it")
            }
            return try crawl(makeCrawlPlan(site: name, start: start, zone, siteOptions, by: principal))
        }
        let loaded = try loadAcceptedManifest(manifest, zone, options)
        loaded.verifier.apply(to: &siteOptions)
        let named = try loaded.verifier.startURLs()
        if !named.isEmpty, !manifest.isAlone { start = named }
        return try crawl(
            makeCrawlPlan(site: name, start: start, zone, siteOptions, by: principal), loaded.plan, loaded)
    }

    /// Adds the cookie files of the last prefetch to the options of an update that names none. A login that was stored
    /// later replaces them.
    private func addCookieFiles(
        of storedPlan: SitePlan, named name: WebURL, _ options: inout PrefetchOptions
    ) {
        guard options.network.cookies.isEmpty, !options.network.isAnonymous,
            folder.login(for: name) == nil
        else { return }
        for file in storedPlan.cookieFiles {
            if WholeFile.exists(file) {
                options.network.cookies.append(file)
            } else {
                options.notice?(
                    "the cookie file \(file) of \(name.href) is gone; name another one")
            }
        }
    }

    /// Creates a crawl plan from the options and the stored settings. Unless the options allow shrinking, an
    /// update with the same scope and start URLs must find at least half of the stored pages.
    private func makeCrawlPlan(
        site: WebURL, start: [WebURL], _ startZone: NetworkZone, _ options: PrefetchOptions,
        by principal: Principal
    ) throws(LarderError) -> CrawlPlan {
        var plan = try CrawlPlan(
            site: site, start: start, startZone: startZone, folder: folder, options)
        if let last = self.storedPlan(of: site.href) {
            // Only the user of this machine decides for a site that was stored without a zone.
            if last.zone == nil, principal != .localUser { plan.sitePlan.zone = nil }
            plan.sitePlan.leftOut = last.leftOut
            plan.sitePlan.doubts = last.doubts
            plan.sitePlan.rendered = last.rendered
            plan.sitePlan.sockets = last.sockets
            plan.sitePlan.scriptCopies = last.scriptCopies
            let freezing = plan.sitePlan.render?.freezing ?? .auto
            plan.sitePlan.frozen = freezing == .never ? [] : last.frozen
            plan.sitePlan.replayed = freezing == .auto ? last.replayed : []
            plan.sitePlan.renderedPatterns = last.render == plan.sitePlan.render ? last.renderedPatterns : []
        }
        plan.rejectsInterceptionPages = !options.allowsShrinking
        plan.checksReplacements = !options.allowsShrinking
        plan.keepsPrivate = !principal.actsForLocalUser
        if !options.allowsShrinking { plan.hadSession = try wasFetchedWithSession(start) }
        guard !options.allowsShrinking, let storedSite = sites.first(where: { $0.name == site.href }),
            SitePlan(text: storedSite.settings).scope == plan.sitePlan.scope,
            storedSite.start == start.map(\.href)
        else { return plan }
        let pages = try mapStoreError { () throws(StoreError) in
            try StoreReader(folder).pageCount(of: storedSite)
        }
        if pages >= Self.minPagesForShrinkCheck { plan.minPages = (pages + 1) / 2 }
        return plan
    }

    /// Whether the stored response of a start URL was fetched with credentials.
    private func wasFetchedWithSession(_ start: [WebURL]) throws(LarderError) -> Bool {
        guard folder.exists else { return false }
        return try mapStoreError { () throws(StoreError) in
            let reader = try StoreReader(folder)
            for url in start where try reader.response(for: url.key.href)?.flags.contains(.isPrivate) ?? false
            {
                return true
            }
            return false
        }
    }

    /// The minimum number of stored pages for the check that an update does not lose half of the pages. In a smaller
    /// site, losing half of them is normal.
    private static let minPagesForShrinkCheck = 3

    /// The settings that are stored with a site; nil if there is no such site.
    func storedPlan(of name: String) -> SitePlan? {
        sites.first { $0.name == name }.map { SitePlan(text: $0.settings) }
    }

    // MARK: - Running

    /// Runs a crawl that verifies responses against the manifest, stores the manifest with the snapshot, and
    /// publishes the snapshot if its bundles verify.
    ///
    /// - Parameter bundles: the only URLs to fetch, without pages; nil for the whole site.
    func crawl(
        _ plan: CrawlPlan, _ manifest: ManifestPlan, _ loaded: LoadedManifest, only bundles: [WebURL]? = nil
    ) throws(LarderError) -> PrefetchReport {
        var plan = plan
        plan.sitePlan.manifest = manifest
        let verifier = loaded.verifier
        plan.assets = bundles ?? verifier.bundleURLs
        plan.manifestZones.nearestZone = verifier.zone
        plan.manifestZones.givenOrigins = verifier.givenOrigins
        plan.manifestZones.isStart = try !verifier.startURLs().isEmpty
        plan.documents = verifier.documents(ofSite: plan.site)
        if manifest.isAlone || bundles != nil {
            plan.startsAtAssets = true
            plan.minPages = nil
            plan.rejectsInterceptionPages = false
            // The links of supplied responses are stored without being requested.
            plan.followsLinks = manifest.hasAssets || plan.supplied?.isComplete == true
            plan.rendering = nil
            // Only bundles and their assets are fetched here. robots.txt applies to pages.
            plan.productToken = nil
            // Publishing an unchanged snapshot records that the current manifest verified. If it could not be
            // loaded, there is nothing to record.
            plan.requiresRequestToPublish = loaded.failure != nil
        }
        let verdict = VerificationResult()
        plan.publishCheck = { (snapshot: Int64, refused: [String: String]) throws(StoreError) -> Bool in
            let report = try verifier.report(onSnapshot: snapshot, refused: refused)
            verdict.report.withLock { $0 = report }
            return report.isClean
        }
        var report = try crawl(plan, with: verifier, accepting: loaded.age)
        report.check = verdict.report.withLock { $0 }
        report.manifestFailure = loaded.failure?.description
        report.isManifestExpired = loaded.failure?.isExpired ?? false
        report.manifestWarning = loaded.warning
        if bundles == nil { try ignoreOptionalBundles(of: verifier, in: &report) }
        let isRefused = report.isRejected || report.missing.contains(where: \.failure.isDigestMismatch)
        // A rejected run that starts at its bundles has stored none of them.
        if isRefused, plan.startsAtAssets, !report.isPublished, !report.isInterrupted {
            report.reject()
        }
        if !report.isPublished, !report.isInterrupted, !isRefused {
            let site = sites.first { $0.name == plan.site }
            let served = site?.snapshots.first { $0.id == site?.published }
            report.lastGood = served.map {
                PrefetchReport.LastGood(
                    snapshot: $0.number, since: Timestamp(secondsSinceEpoch: $0.started))
            }
        }
        return report
    }

    /// Removes optional bundles that no stored page links to from the report's missing URLs. The check of the
    /// manifest reports them.
    private func ignoreOptionalBundles(
        of verifier: ManifestVerifier, in report: inout PrefetchReport
    ) throws(LarderError) {
        let optional = Set(verifier.bundleURLs.map(\.href)).subtracting(
            verifier.requiredBundleURLs.map(\.href))
        let missing = report.missing.filter { optional.contains($0.url) && !$0.failure.isDigestMismatch }
        guard !missing.isEmpty else { return }
        let ignored = try mapStoreError { () throws(StoreError) in
            let reader = try StoreReader(folder)
            var ignored: Set<String> = []
            for missing in missing where try reader.referrers(of: missing.url).isEmpty {
                ignored.insert(missing.url)
            }
            return ignored
        }
        report.removeMissing(ignored)
    }

    /// Counts the cookies of the user's files, and tells the user before the crawl if none of them is for the site.
    /// Nil if there are no files.
    private func countCookies(_ plan: CrawlPlan) throws(LarderError) -> CookieCounts? {
        for file in plan.cookieFiles {
            guard let reason = WholeFile.unreadableReason(file) else { continue }
            throw LarderError(.input, "cannot read the cookie file \(file): \(reason); name an existing file")
        }
        // A pipe can be read only once, by the crawl.
        let files = plan.cookieFiles.filter { WholeFile.exists($0) }
        guard !files.isEmpty else { return nil }
        let counts: CookieCounts
        do throws(FetchFailure) {
            counts = try CookieCounts(files: files, start: plan.start, now: SystemClock.secondsSinceEpoch())
        } catch {
            throw LarderError(.input, error.detail)
        }
        guard counts.valid == 0 else { return counts }
        let names = files.joined(separator: ", ")
        let hosts = Set(plan.start.map(\.host)).sorted().joined(separator: ", ")
        plan.notice?(
            counts.expired > 0
                ? "all cookies in \(names) for \(hosts) have expired; log in with the browser and export them again"
                : "no cookie in \(names) is for \(hosts)")
        return counts
    }

    /// Runs a crawl, with the requirements of all manifests and the recorded misses of the site, and stores its facts.
    ///
    /// - Parameters:
    ///   - verifier: the manifest of the site; nil if it has none.
    ///   - age: the age of the manifest, to be stored if the snapshot goes live; nil to keep the stored one.
    private func crawl(
        _ plan: CrawlPlan, with verifier: ManifestVerifier? = nil, accepting age: ManifestAge? = nil
    ) throws(LarderError) -> PrefetchReport {
        let misses =
            plan.startsAtAssets
            ? [] : try misses(on: Set(plan.start.map(\.host))).filter { belongsToSite($0, plan) }
        var plan = plan
        if let lastPlan = self.storedPlan(of: plan.site) { plan.sitePlan.copyHistory(from: lastPlan) }
        // Responses must also meet the requirements of other sites' manifests.
        plan.required = try mapStoreError { () throws(StoreError) in
            try CurrentRequirements.all(
                in: folder, besides: plan.site, at: plan.start.map(\.href), with: verifier)
        }
        plan.recordedMisses = misses.compactMap { CrawlPlan.RecordedMiss($0, start: plan.start) }
        plan.previousMaxPages = previousPageLimit(plan)
        let cookies = try countCookies(plan)
        var report: PrefetchReport
        let unanswered: Set<String>
        do throws(CrawlError) {
            let (crawl, work) = try runAloneOrShared(plan)
            unanswered = crawl.unansweredMisses
            // The skipped pages of an unpublished snapshot say nothing about the live one.
            let leftOut = crawl.isPublished ? LeftOut(crawl) : plan.sitePlan.leftOut ?? LeftOut(crawl)
            if work?.isLast ?? true { try storeRunFacts(leftOut, crawl, plan, age) }
            report = PrefetchReport(crawl, plan.sitePlan)
            report.work = work
            report.cookies = cookies
            let site = sites.first { $0.name == plan.site }
            let live = site?.name(ofSnapshot: site?.published)?.number
            report.previousSnapshot = live == report.snapshot ? nil : live
            report.unansweredMisses = unanswered.count
        } catch {
            throw LarderError(error, storedCount: storedCount(of: plan.site))
        }
        // Misses that the crawl could not answer stay for the next run, until they are old.
        if report.isPublished, report.work?.isLast ?? true {
            let now = SystemClock.secondsSinceEpoch()
            try deleteMisses(
                misses.filter {
                    !unanswered.contains(CrawlPlan.RecordedMiss($0, start: plan.start)?.url.href ?? "")
                        || now - $0.last > Self.maxMissAgeSeconds
                })
        }
        return report
    }

    /// Crawls alone, or as one of several workers if the snapshot is shared.
    private func runAloneOrShared(_ plan: CrawlPlan) throws(CrawlError) -> (CrawlReport, PrefetchReport.Work?)
    {
        guard plan.isShared else { return (try Crawl(plan, interruption: interruption).run(), nil) }
        let ending = try SharedCrawl(plan, interruption: interruption).run()
        let work = PrefetchReport.Work(
            worker: Int(ending.worker), isLast: ending.isLast, lostLeases: ending.lostLeases)
        return (ending.report, work)
    }

    /// Returns the first site with a shared snapshot that workers can join; nil if there is none.
    package func nextShared() throws(LarderError) -> Site? {
        guard folder.exists else { return nil }
        return try mapStoreError { () throws(StoreError) in
            let frontier = try SharedFrontier(folder)
            try frontier.setUpTables()
            let shared = try frontier.sharedSnapshots()
            return try StoreReader(folder).sites().first { site in shared.contains { $0.site == site.id } }
        }
    }

    /// Returns the number of stored responses of the site's incomplete snapshot; nil if there is none, or the
    /// store cannot be read.
    private func storedCount(of site: String) -> Int? {
        do throws(StoreError) {
            let snapshots = try StoreReader(folder).sites().first { $0.name == site }?.snapshots ?? []
            return snapshots.last { $0.finished == nil && $0.base == nil }?.responseCount
        } catch {
            // The error that stopped the run is reported. It also makes this read fail.
            return nil
        }
    }

    /// Returns the previous page limit of the site if the new limit is higher or there is none; else nil.
    private func previousPageLimit(_ plan: CrawlPlan) -> Int? {
        guard let previous = self.storedPlan(of: plan.site)?.maxPages else { return nil }
        return plan.limits.pages.map { $0 > previous } ?? true ? previous : nil
    }

    /// Stores facts of this run with the site: the pages that were skipped and why, for later questions, and
    /// the URL patterns that are worth rendering, for the next run. If the snapshot is live, also how new its manifest is.
    private func storeRunFacts(
        _ leftOut: LeftOut?, _ report: CrawlReport, _ plan: CrawlPlan, _ age: ManifestAge?
    ) throws(CrawlError) {
        let rendering = report.rendering
        var settings = plan.sitePlan
        settings.leftOut = leftOut
        settings.doubts = report.doubts
        if report.isPublished {
            if let age { settings.manifest?.accept(age) }
            settings.recordMissingURLs(report.missingURLs)
            settings.failures = report.failures
            settings.recordConfirmation(
                of: report.snapshot,
                at: report.isUnchanged ? SystemClock.secondsSinceEpoch() : nil)
        }
        settings.rendered = rendering.fruitfulPatterns ?? settings.rendered
        settings.renderedPatterns = rendering.renderedPatternTexts
        if rendering.rendered > 0 { settings.sockets = rendering.sockets }
        guard settings != plan.sitePlan else { return }
        do throws(StoreError) {
            try StoreWriter(folder).storeSettings(settings.text, ofSite: plan.site)
        } catch {
            throw .store(error)
        }
    }

    /// The age in seconds at which a recorded miss that no server answers is removed: two weeks.
    private static let maxMissAgeSeconds: Int64 = 14 * 24 * 60 * 60

    /// Returns the recorded misses on these hosts, and those that were requested by pages on them.
    private func misses(on hosts: Set<String>) throws(LarderError) -> [Miss] {
        try mapStoreError { () throws(StoreError) in
            folder.exists
                ? try ActivityDatabase.openIfExists(folder)?.missesToFetch(forHosts: hosts) ?? [] : []
        }
    }

    /// Whether a miss belongs to this site. A miss on another origin belongs to another site if that site
    /// starts at the origin of the miss or of its referrer. A miss whose referrer is on a start origin of
    /// this site is its own.
    private func belongsToSite(_ miss: Miss, _ plan: CrawlPlan) -> Bool {
        // A page belongs to the nearest site on its origin, not to each.
        if miss.isPage, let url = CrawlPlan.RecordedMiss(miss, start: plan.start)?.url {
            let starts =
                sites.filter { $0.name != plan.site }.flatMap { site in
                    site.start.map { (site: site.name, start: $0) }
                } + plan.start.map { (site: plan.site, start: $0.href) }
            let near = starts.filter { WebURL($0.start)?.origin == url.origin }
            if let index = NearestStart.index(of: near.map(\.start), for: url.href),
                near[index].site != plan.site
            {
                return false
            }
        }
        let referrerOrigin = miss.referrer.flatMap { WebURL($0)?.origin }
        guard let origin = CrawlPlan.RecordedMiss(miss, start: plan.start)?.url.origin,
            !plan.start.contains(where: { $0.origin == origin || $0.origin == referrerOrigin })
        else { return true }
        return !sites.contains {
            $0.start.contains { [origin, referrerOrigin].contains(WebURL($0)?.origin ?? "") }
        }
    }

    /// Removes recorded misses.
    private func deleteMisses(_ misses: [Miss]) throws(LarderError) {
        guard !misses.isEmpty else { return }
        try mapStoreError { () throws(StoreError) in
            let activity = try ActivityDatabase.openIfExists(folder)
            try activity?.deleteMisses(at: misses.map(\.href))
        }
    }
}

/// Passes the report of the verification from the store's thread to the thread that waits for the crawl.
final class VerificationResult: Sendable {
    let report = Mutex<CheckReport?>(nil)
}

extension ManifestVerifier {
    /// Applies the prefetch settings that the manifest gives; the others stay as they are.
    func apply(to options: inout PrefetchOptions) {
        let settings = settings(beside: options.network.headers)
        var plan = options.plan
        plan.scope.extent = settings.extent ?? plan.scope.extent
        plan.scope.depth = settings.depth ?? plan.scope.depth
        // An update passes the stored patterns again.
        plan.scope.include += settings.include.filter { !plan.scope.include.contains($0) }
        plan.scope.exclude += settings.exclude.filter { !plan.scope.exclude.contains($0) }
        plan.nofollow = settings.nofollow ?? plan.nofollow
        plan.noindex = settings.noindex ?? plan.noindex
        plan.rules += settings.rules.filter { !plan.rules.contains($0) }
        options.plan = plan
        options.network.headers += settings.headers
        options.policy = settings.policy ?? options.policy
    }
}
