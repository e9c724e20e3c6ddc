internal import Bundles
package import Crawl
internal import Fetch
internal import Glibc
package import Store
internal import Synchronization
package import System
package import Web

/// One run of whatever fetches for a site: what the site's plan says, and the manifest by which what comes is
/// held. Blocks.
package struct SiteRun {
    let folder: StoreFolder
    private let interruption: Interruption
    /// What is held when the run begins.
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

    /// A site that has a manifest is held against it, be it named again or not.
    package func prefetch(
        _ first: WebURL, start: [WebURL], options: PrefetchOptions, by principal: Principal
    ) throws(LarderError) -> PrefetchReport {
        let zone = startZone(first, start, for: principal)
        guard var manifest = plan(ofSite: first.href)?.manifest else {
            return try run(plan(site: first, start: start, zone, options, by: principal))
        }
        manifest.isAlone = false
        let found = try find(manifest, zone, options.network)
        var own = options
        found.gate.apply(to: &own)
        return try run(plan(site: first, start: start, zone, own, by: principal), manifest, found)
    }

    package func prefetch(
        _ manifest: ManifestPlan, options: PrefetchOptions, by principal: Principal
    ) throws(LarderError) -> PrefetchReport {
        let found = try find(manifest, principal.nearestZone, options.network, isNew: true)
        var own = options
        found.gate.apply(to: &own)
        let place = try place(of: found.gate, manifest)
        let zone = startZone(place.site, place.start, for: principal)
        return try run(
            plan(site: place.site, start: place.start, zone, own, by: principal), place.manifest, found)
    }

    /// The nearest network zone that requests for start URLs may connect to: what the principal may name, or
    /// what is stored with the site if all of them are its start URLs already.
    func startZone(_ name: WebURL, _ start: [WebURL], for principal: Principal) -> NetworkZone {
        let own = principal.nearestZone
        guard let site = sites.first(where: { $0.name == name.href }),
            let stored = SitePlan(text: site.settings).zone,
            start.allSatisfy({ site.start.contains($0.href) })
        else { return own }
        return max(own, stored)
    }

    /// Updates a stored site. The zone that is stored with the site limits its start URLs, whoever asks for the
    /// update: the user of this machine, too, need not have added it.
    ///
    /// - Parameter principal: limits the start URLs of a site that was stored without a zone.
    package func update(
        _ site: Site, options: PrefetchOptions, by principal: Principal
    ) throws(LarderError) -> PrefetchReport {
        let held = SitePlan(text: site.settings)
        var own = options
        own.plan = options.plan.over(held)
        var start: [WebURL] = []
        for url in site.start { start.append(try WebURL.start(url)) }
        let name: WebURL
        if let own = WebURL(site.name) { name = own } else { name = try WebURL.starts(site.start).first }
        let zone = held.zone ?? principal.nearestZone
        guard let manifest = held.manifest else {
            return try run(plan(site: name, start: start, zone, own, by: principal))
        }
        let found = try find(manifest, zone, options.network)
        found.gate.apply(to: &own)
        let named = try found.gate.start()
        if !named.isEmpty, !manifest.isAlone { start = named }
        return try run(plan(site: name, start: start, zone, own, by: principal), manifest, found)
    }

    // MARK: - Manifests

    /// A manifest that could be had, or the last known one and why.
    struct FoundManifest {
        let gate: BundleGate
        let failure: LarderError?
    }

    /// Where it cannot be had, the last known one holds, if there is one.
    ///
    /// - Parameters:
    ///   - nearestZone: the nearest network zone that the request for it may connect to.
    ///   - isNew: the user names it: what is wrong with it is told before anything is fetched.
    /// - Throws: Why it cannot be had, where none is known.
    func find(
        _ manifest: ManifestPlan, _ nearestZone: NetworkZone, _ network: NetworkOptions, isNew: Bool = false
    ) throws(LarderError) -> FoundManifest {
        let checkOptions = manifest.checkOptions(network)
        do throws(LarderError) {
            let source = try ManifestSource(
                manifest.place, nearestZone: nearestZone, options: checkOptions, folder: folder,
                interruption: interruption)
            return FoundManifest(
                gate: try BundleGate(source, options: checkOptions, folder: folder), failure: nil)
        } catch {
            guard error.kind == .machine || error.kind == .input && !isNew,
                let site = sites.first(where: {
                    plan(ofSite: $0.name)?.manifest?.isSamePlace(manifest) ?? false
                }),
                let kept = try keptManifest(of: site.name)
            else { throw error }
            let source = try ManifestSource(kept, options: checkOptions)
            return FoundManifest(
                gate: try BundleGate(source, options: checkOptions, folder: folder), failure: error)
        }
    }

    func keptManifest(of site: String) throws(LarderError) -> KeptManifest? {
        try storing { () throws(StoreError) in try KeptManifest.inForce(of: site, StoreReader(folder)) }
    }

    struct Place {
        let site: WebURL
        let start: [WebURL]
        var manifest: ManifestPlan
    }

    /// Which site the manifest is of, and where that starts: where it says, or where the site starts already,
    /// else with the bundles themselves.
    func place(of gate: BundleGate, _ manifest: ManifestPlan) throws(LarderError) -> Place {
        var manifest = manifest
        let named = try gate.start()
        let site: WebURL
        if let name = gate.site {
            site = try WebURL.start(name, mayBeWord: true)
            try refuseTakeover(of: site, by: manifest)
        } else if let first = named.first {
            site = first
            try refuseTakeover(of: site, by: manifest)
        } else {
            site = try home(of: gate, manifest)
        }
        if !named.isEmpty { return Place(site: site, start: named, manifest: manifest) }
        if let held = sites.first(where: { $0.name == site.href }),
            plan(ofSite: held.name)?.manifest?.isAlone != true
        {
            var start: [WebURL] = []
            for url in held.start { start.append(try WebURL.start(url)) }
            if !start.isEmpty { return Place(site: site, start: start, manifest: manifest) }
        }
        manifest.isAlone = true
        return Place(site: site, start: [site], manifest: manifest)
    }

    /// A server elsewhere does not speak for what is held already.
    private func refuseTakeover(of site: WebURL, by manifest: ManifestPlan) throws(LarderError) {
        guard let own = WebURL(manifest.place), own.isHTTP, own.origin != site.origin,
            sites.contains(where: { $0.name == site.href })
        else { return }
        let held = plan(ofSite: site.href)?.manifest
        guard held?.place != manifest.place else { return }
        let before =
            held.map { ", which has another manifest, \($0.place)" } ?? ", which is stored without a manifest"
        throw LarderError(
            .input,
            "\(manifest.place) claims to be the manifest of \(site.href)\(before): to use it for that site, name it as a file, or remove the site first"
        )
    }

    /// The site of a manifest that names none: the one that it had before, else where it is said to be.
    /// Another manifest may be there already; then it is its own address, or a file's name where it is said
    /// to be.
    private func home(of gate: BundleGate, _ manifest: ManifestPlan) throws(LarderError) -> WebURL {
        if let own = sites.first(where: { plan(ofSite: $0.name)?.manifest?.isSamePlace(manifest) ?? false }),
            let url = WebURL(own.name)
        {
            return url
        }
        let home = try gate.home()
        let path = manifest.place.utf8.split(separator: UInt8(ascii: "/")).map { String($0) ?? "" }
        // A folder of the path more, until nobody is there.
        let beside = (1...max(1, path.count)).lazy.compactMap { count in
            WebURL("./" + path.suffix(count).joined(separator: "/"), base: home)
        }
        let own = WebURL(manifest.place).flatMap { $0.isHTTP ? [$0] : nil } ?? Array(beside)
        return ([home] + own).first { !isTaken($0.key, by: manifest) }?.key ?? home
    }

    /// Whether another manifest that is still there stands with the site.
    private func isTaken(_ site: WebURL, by manifest: ManifestPlan) -> Bool {
        guard let held = plan(ofSite: site.href)?.manifest, !held.isSamePlace(manifest) else { return false }
        return WebURL(held.place)?.isHTTP ?? false || access(held.place, F_OK) == 0
    }

    /// As the options say; a site that the same rules lead through is not to lose more than half of its pages
    /// unnoticed.
    private func plan(
        site: WebURL, start: [WebURL], _ startZone: NetworkZone, _ options: PrefetchOptions,
        by principal: Principal
    ) throws(LarderError) -> CrawlPlan {
        var plan = try CrawlPlan(
            site: site, start: start, startZone: startZone, folder: folder, options)
        if let last = self.plan(ofSite: site.href) {
            // Only the user of this machine decides for a site that was stored without a zone.
            if last.zone == nil, principal != .localUser { plan.sitePlan.zone = nil }
            plan.sitePlan.leftOut = last.leftOut
            plan.sitePlan.doubts = last.doubts
            plan.sitePlan.rendered = last.rendered
            plan.sitePlan.sockets = last.sockets
            plan.sitePlan.lookedAt = last.render == plan.sitePlan.render ? last.lookedAt : []
        }
        plan.refusesWalls = !options.allowsShrinking
        plan.checksReplacements = !options.allowsShrinking
        plan.keepsPrivate = principal == .remoteUser
        if !options.allowsShrinking { plan.wasOfSession = try wasOfSession(start) }
        guard !options.allowsShrinking, let held = sites.first(where: { $0.name == site.href }),
            SitePlan(text: held.settings).scope == plan.sitePlan.scope, held.start == start.map(\.href)
        else { return plan }
        let pages = try storing { () throws(StoreError) in try StoreReader(folder).pageCount(of: held) }
        if pages >= Self.fewestToShrink { plan.fewestPages = (pages + 1) / 2 }
        return plan
    }

    /// Whether what is held of where the site starts was asked for with credentials.
    private func wasOfSession(_ start: [WebURL]) throws(LarderError) -> Bool {
        guard folder.exists else { return false }
        return try storing { () throws(StoreError) in
            let reader = try StoreReader(folder)
            for url in start where try reader.response(for: url.key.href)?.flags.contains(.isPrivate) ?? false
            {
                return true
            }
            return false
        }
    }

    /// Of fewer pages, half of them is nothing.
    private static let fewestToShrink = 3

    func plan(ofSite name: String) -> SitePlan? {
        sites.first { $0.name == name }.map { SitePlan(text: $0.settings) }
    }

    // MARK: - Running

    /// Holds what comes against the manifest, keeps that with the snapshot, and publishes the snapshot when its
    /// bundles verify.
    ///
    /// - Parameter bundles: those to go through, without any pages; nil for the site with all of them.
    func run(
        _ plan: CrawlPlan, _ manifest: ManifestPlan, _ found: FoundManifest, only bundles: [WebURL]? = nil
    ) throws(LarderError) -> PrefetchReport {
        var plan = plan
        plan.sitePlan.manifest = manifest
        let gate = found.gate
        plan.assets = bundles ?? gate.bundles
        plan.named.nearestZone = gate.zone
        plan.named.givenOrigins = gate.givenOrigins
        plan.named.isStart = try !gate.start().isEmpty
        plan.documents = gate.documents(ofSite: plan.site)
        if manifest.isAlone || bundles != nil {
            plan.startsAtAssets = true
            plan.fewestPages = nil
            plan.refusesWalls = false
            plan.followsLinks = manifest.hasAssets
            plan.rendering = nil
            // Only what bundles need is wanted: no pages, and what is said of those in robots.txt says
            // nothing of it.
            plan.productToken = nil
            // A snapshot says when its manifest held.
            plan.publishesNewsAlone = found.failure != nil
        }
        let verdict = GateVerdict()
        plan.gate = { (snapshot: Int64, refused: [String: String]) throws(StoreError) -> Bool in
            let report = try gate.report(onSnapshot: snapshot, refused: refused)
            verdict.report.withLock { $0 = report }
            return report.isClean
        }
        var report = try run(plan, with: gate)
        report.check = verdict.report.withLock { $0 }
        report.manifestFailure = found.failure?.description
        if bundles == nil { try forgiveOptional(of: gate, in: &report) }
        let isRefused = report.isRejected || report.missing.contains(where: \.failure.isAltered)
        // It starts with its bundles, of which none is held then.
        if isRefused, plan.startsAtAssets, !report.isPublished, !report.isInterrupted {
            report.reject()
        }
        if !report.isPublished, !report.isInterrupted, !isRefused {
            let site = sites.first { $0.name == plan.site }
            let served = site?.snapshots.first { $0.id == site?.published }
            report.lastGood = served.map { PrefetchReport.LastGood(snapshot: $0.number, since: $0.started) }
        }
        return report
    }

    /// What the manifest alone asked for, and need not be there, is told by its check and is no loss.
    private func forgiveOptional(
        of gate: BundleGate, in report: inout PrefetchReport
    ) throws(LarderError) {
        let optional = Set(gate.bundles.map(\.href)).subtracting(gate.requiredBundles.map(\.href))
        let missing = report.missing.filter { optional.contains($0.url) && !$0.failure.isAltered }
        guard !missing.isEmpty else { return }
        let forgiven = try storing { () throws(StoreError) in
            let reader = try StoreReader(folder)
            var forgiven: Set<String> = []
            for missing in missing where try reader.referrers(of: missing.url).isEmpty {
                forgiven.insert(missing.url)
            }
            return forgiven
        }
        report.forgive(forgiven)
    }

    private func run(_ plan: CrawlPlan, with gate: BundleGate? = nil) throws(LarderError) -> PrefetchReport {
        let misses =
            plan.startsAtAssets
            ? [] : try misses(on: Set(plan.start.map(\.host))).filter { isOwn($0, plan) }
        var plan = plan
        // Whoever brings a body in holds it against what others require of it.
        plan.required = try storing { () throws(StoreError) in
            try RequirementsInForce.all(
                in: folder, besides: plan.site, at: plan.start.map(\.href), with: gate)
        }
        plan.missed = misses.compactMap { CrawlPlan.Missed($0, start: plan.start) }
        plan.beyond = beyond(plan)
        var report: PrefetchReport
        let unanswered: Set<String>
        do throws(CrawlError) {
            let (crawl, work) = try crawl(plan)
            unanswered = crawl.unansweredMisses
            // What a run left out that ended otherwise says nothing of what is served.
            let leftOut = crawl.isPublished ? LeftOut(crawl) : plan.sitePlan.leftOut ?? LeftOut(crawl)
            if work?.isLast ?? true { try keep(leftOut, crawl, plan) }
            report = PrefetchReport(crawl, plan.sitePlan)
            report.work = work
            report.unansweredMisses = unanswered.count
        } catch {
            throw LarderError(error, kept: keptCount(of: plan.site))
        }
        // What nobody answered is looked for again, unless nobody has wanted it for long.
        if report.isPublished, report.work?.isLast ?? true {
            let now = SystemClock.secondsSinceEpoch()
            try forget(
                misses.filter {
                    !unanswered.contains(CrawlPlan.Missed($0, start: plan.start)?.url.href ?? "")
                        || now - $0.last > Self.secondsOfMiss
                })
        }
        return report
    }

    /// Alone or, where the snapshot is shared, along with others.
    private func crawl(_ plan: CrawlPlan) throws(CrawlError) -> (CrawlReport, PrefetchReport.Work?) {
        guard plan.isShared else { return (try Crawl(plan, interruption: interruption).run(), nil) }
        let ending = try SharedCrawl(plan, interruption: interruption).run()
        let work = PrefetchReport.Work(
            worker: Int(ending.worker), isLast: ending.isLast, lostLeases: ending.lostLeases)
        return (ending.report, work)
    }

    /// The site whose snapshot workers share and that is to be worked on next; nil when there is none.
    package func nextShared() throws(LarderError) -> Site? {
        guard folder.exists else { return nil }
        return try storing { () throws(StoreError) in
            let frontier = try ServerFrontier(folder)
            try frontier.prepare()
            let shared = try frontier.shared()
            return try StoreReader(folder).sites().first { site in shared.contains { $0.site == site.id } }
        }
    }

    /// How many addresses the snapshot of the site has that is not complete; nil where there is none, or nobody
    /// can tell.
    private func keptCount(of site: String) -> Int? {
        do throws(StoreError) {
            let snapshots = try StoreReader(folder).sites().first { $0.name == site }?.snapshots ?? []
            return snapshots.last { $0.finished == nil && $0.base == nil }?.responseCount
        } catch {
            // What stopped the run is told, and stops this too.
            return nil
        }
    }

    /// The number of pages that was wanted of the site so far, where more are wanted now.
    private func beyond(_ plan: CrawlPlan) -> Int? {
        guard let wanted = self.plan(ofSite: plan.site)?.maxPages else { return nil }
        return plan.limits.pages.map { $0 > wanted } ?? true ? wanted : nil
    }

    /// For whoever asks later why a page is not there, and for the next run, which patterns of pages are
    /// worth being rendered.
    private func keep(_ leftOut: LeftOut?, _ report: CrawlReport, _ plan: CrawlPlan) throws(CrawlError) {
        let rendering = report.rendering
        var settings = plan.sitePlan
        settings.leftOut = leftOut
        settings.doubts = report.doubts
        settings.rendered = rendering.worthPatterns ?? settings.rendered
        settings.lookedAt = rendering.lookedAtPatterns
        if rendering.rendered > 0 { settings.sockets = rendering.sockets }
        guard settings != plan.sitePlan else { return }
        do throws(StoreError) {
            try StoreWriter(folder).keep(settings: settings.text, ofSite: plan.site)
        } catch {
            throw .store(error)
        }
    }

    private static let secondsOfMiss: Int64 = 14 * 24 * 60 * 60

    /// What a server noted as missing of sites on these hosts, or as asked for by their pages.
    private func misses(on hosts: Set<String>) throws(LarderError) -> [Miss] {
        try storing { () throws(StoreError) in
            folder.exists ? try NoteBook.ifAny(folder)?.misses(for: hosts) ?? [] : []
        }
    }

    /// What is missed of another port where a site begins, or asked for by its pages, is for that site, unless a page of
    /// this one asked.
    private func isOwn(_ miss: Miss, _ plan: CrawlPlan) -> Bool {
        let asking = miss.referrer.flatMap { WebURL($0)?.origin }
        guard let origin = CrawlPlan.Missed(miss, start: plan.start)?.url.origin,
            !plan.start.contains(where: { $0.origin == origin || $0.origin == asking })
        else { return true }
        return !sites.contains {
            $0.start.contains { [origin, asking].contains(WebURL($0)?.origin ?? "") }
        }
    }

    private func forget(_ misses: [Miss]) throws(LarderError) {
        guard !misses.isEmpty else { return }
        try storing { () throws(StoreError) in
            let notes = try NoteBook.ifAny(folder)
            try notes?.forget(misses: misses.map(\.href))
        }
    }
}

/// What a gate said, handed from the store's thread to whoever waits for the crawl.
final class GateVerdict: Sendable {
    let report = Mutex<CheckReport?>(nil)
}

extension BundleGate {
    /// How the manifest wants its site to be prefetched, where it says so; what it does not say stays.
    func apply(to options: inout PrefetchOptions) {
        let wishes = wishes(beside: options.network.headers)
        var plan = options.plan
        plan.scope.extent = wishes.extent ?? plan.scope.extent
        plan.scope.depth = wishes.depth ?? plan.scope.depth
        // What an earlier run was told is said again.
        plan.scope.include += wishes.include.filter { !plan.scope.include.contains($0) }
        plan.scope.exclude += wishes.exclude.filter { !plan.scope.exclude.contains($0) }
        plan.nofollow = wishes.nofollow ?? plan.nofollow
        plan.noindex = wishes.noindex ?? plan.noindex
        plan.rules += wishes.rules.filter { !plan.rules.contains($0) }
        options.plan = plan
        options.network.headers += wishes.headers
        options.policy = wishes.policy ?? options.policy
    }
}
