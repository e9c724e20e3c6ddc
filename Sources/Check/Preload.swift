internal import Bundles
public import Crawl
internal import Digest
public import Fetch
internal import Store
public import Web

/// How to preload.
public struct PreloadOptions: Sendable {
    /// What the manifest's references are relative to; nil for where the manifest says, or is.
    public var base: String?
    /// The form of the manifest, one of `CheckOptions.formats`; nil for what its shape tells.
    public var format: String?
    /// What is held is read and hashed: bytes that changed on the disk since they came are fetched anew. Else the
    /// digests count that are kept of it, unless somebody found it damaged.
    public var provesHeld = false
    /// Only SHA-256 or better verifies a bundle: a manifest that has only MD5 or SHA-1 of a required one, or no
    /// digest, is refused before anything is fetched.
    public var requiresStrongDigests = false
    /// What the bundles need comes along: images, styles, and the requests that they name.
    public var hasRequisites = true
    public var network = NetworkOptions()
    /// The most connections that one host gets at once; nil for 16.
    public var connectionsPerHost: Int?
    /// Asked before a response with a body is stored. A bundle cannot be edited out of its digest: then it is
    /// refused.
    public var willStore: WillStore?
    /// Told of the figures about ten times a second, on a thread of the preload's, which waits meanwhile.
    public var progress: (@Sendable (PrefetchProgress) -> Void)?
    /// Told of every request that ended, on the same thread.
    public var fetched: (@Sendable (PrefetchedURL) -> Void)?

    public init() {}
}

/// What a preload did: which bundles were at hand, which came, and which set is served.
public struct PreloadReport: Sendable, Equatable {
    public enum Outcome: String, Sendable, CaseIterable {
        /// Everything is held as the manifest says: nothing was fetched.
        case current
        /// All that differed has come and verified, and is served from now on.
        case changed
        /// Something came that is not what the manifest says, or is gone: the last good set is served.
        case refused
        /// The manifest or a bundle could not be had: the last good set is served.
        case unreachable
        /// It was cancelled: what came is kept, and the next preload goes on.
        case interrupted
    }

    /// As it was asked for.
    public let manifest: String
    public let site: String
    public package(set) var outcome: Outcome
    /// The visit that is served, and when it began, in seconds since 1970; nil when none is yet.
    public package(set) var visit: Int64?
    public package(set) var since: Int64?
    /// How many the manifest lists.
    public package(set) var bundles = 0
    /// Held with their digests: nobody was asked for them.
    public package(set) var reused = 0
    /// Asked for, and as they have to be.
    public package(set) var fetched = 0
    /// What came and was not kept, since it is not what it has to be.
    public package(set) var refused: [Problem] = []
    /// What did not come.
    public package(set) var missing: [Problem] = []
    /// What the bundles need, and came along.
    public package(set) var requisites = 0
    /// Those for the manifest included.
    public package(set) var requests = 0
    /// What came over the network for the bundles and what they need.
    public package(set) var byteCount = 0
    public package(set) var elapsed: Duration = .zero
    /// Certificates were not looked at.
    public package(set) var isInsecure = false
    /// How many of the served bundles were verified by which digest (`md5`, `sha1`, `sha256`, `sha384`, `sha512`),
    /// the strongest of several. Empty unless the set is served as the manifest says.
    public package(set) var algorithms: [String: Int] = [:]
    /// Why the manifest could not be had.
    public package(set) var manifestFailure: String?

    public struct Problem: Sendable, Equatable {
        public let url: String
        public let reason: String
        /// Without it, the set is not complete. What the bundles need is told, and holds nothing up.
        public let isRequired: Bool
    }

    init(manifest: String, site: String, outcome: Outcome) {
        self.manifest = manifest
        self.site = site
        self.outcome = outcome
    }

    /// A set of bundles that verify is served.
    public var isServed: Bool { visit != nil }

    /// When the set that is served came, in universal time: `2026-01-31T12:00:00Z`.
    public var sinceDate: String? { since.map { HTTPDate(secondsSinceEpoch: $0).iso8601 } }

    /// Notes on bundles that only MD5 or SHA-1 verified, one for each algorithm.
    public var weakProofs: [String] { WeakProofs.notes { algorithms[$0.rawValue] ?? 0 } }

    /// The report for programs.
    public var json: String { members.text() }
}

extension PreloadReport: JSONObject {
    package var members: JSONMembers {
        [
            "manifest": manifest, "site": site, "outcome": outcome.rawValue, "visit": visit, "since": since,
            "bundles": bundles, "reused": reused, "fetched": fetched, "requisites": requisites,
            "requests": requests, "bytes": byteCount, "seconds": elapsed / .seconds(1),
            "insecure": isInsecure,
            "algorithms": JSONMembers(algorithms.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
            "refused": refused, "missing": missing, "manifestFailure": IfAny(manifestFailure),
        ]
    }
}

extension PreloadReport.Problem: JSONObject {
    package var members: JSONMembers { ["url": url, "reason": reason, "required": isRequired] }
}

extension SiteRun {
    package func preload(
        _ manifest: ManifestPlan, named name: String, _ options: PreloadOptions, by principal: Principal
    ) throws(LarderError) -> PreloadReport {
        let clock = ContinuousClock()
        let started = clock.now
        let found = try find(
            manifest, principal.nearestZone, options.network,
            isNew: WebURL(manifest.place)?.isHTTP != true)
        var place = try place(of: found.gate, manifest)
        let site = sites.first { $0.name == place.site.href }
        // Only its bundles are wanted, until somebody prefetches its pages.
        place.manifest.isAlone = plan(ofSite: place.site.href).map { $0.manifest?.isAlone ?? false } ?? true
        var report = PreloadReport(manifest: name, site: place.site.href, outcome: .current)
        report.requests = found.gate.requestCount
        if let failure = found.failure {
            report.outcome = failure.kind == .input ? .refused : .unreachable
            report.manifestFailure = failure.description
            report.bundles = found.gate.bundles.count
            try report.show(site, of: found.gate, in: folder)
        } else if options.requiresStrongDigests, !found.gate.weakBundles.isEmpty {
            report.outcome = .refused
            report.bundles = found.gate.bundles.count
            report.refused = found.gate.weakBundles
            try report.show(site, of: found.gate, in: folder)
        } else {
            let steps = try PreloadPlan.plan(
                for: found.gate, of: site, in: folder, provesBytes: options.provesHeld)
            report.bundles = steps.steps.count
            report.reused = steps.steps.count { step in if case .fetch = step { false } else { true } }
            if try isCurrent(steps, found.gate, place, site) {
                try report.show(site, of: found.gate, in: folder)
            } else {
                try bringIn(steps, found, place, options, principal, &report)
            }
        }
        if report.outcome == .current || report.outcome == .changed {
            for (algorithm, count) in found.gate.proofCounts { report.algorithms[algorithm.rawValue] = count }
        }
        report.elapsed = clock.now - started
        return report
    }

    /// Whether there is nothing to do: the bundles are as they have to be, the site says so already, and
    /// nothing was left over.
    private func isCurrent(
        _ steps: PreloadPlan, _ gate: BundleGate, _ place: Place, _ site: Site?
    ) throws(LarderError) -> Bool {
        guard steps.isCurrent, let site, let held = SitePlan(text: site.settings).manifest,
            held == place.manifest
        else {
            return false
        }
        guard let kept = try keptManifest(of: site.name) else { return false }
        // Another text that says the same, such as a later date, is not worth a visit.
        if gate.isSame(as: kept) { return true }
        return try storing { () throws(StoreError) in try held.requirements(of: kept) } == gate.requirements
    }

    private func bringIn(
        _ steps: PreloadPlan, _ found: FoundManifest, _ place: Place, _ options: PreloadOptions,
        _ principal: Principal, _ report: inout PreloadReport
    ) throws(LarderError) {
        var own = PrefetchOptions()
        let known = plan(ofSite: place.site.href)
        if let known { own.plan = own.plan.over(known) }
        own.network = options.network
        own.plan.connectionsPerHost = options.connectionsPerHost ?? own.plan.connectionsPerHost
        own.willStore = options.willStore
        own.progress = options.progress
        own.fetched = options.fetched
        found.gate.apply(to: &own)
        // What is left over of the last time is looked for by way of all bundles.
        let before = known?.manifest
        let isWhole = before.map { $0.isWhole && $0.hasRequisites == place.manifest.hasRequisites } ?? true
        let urls = found.gate.bundles
        let wanted = isWhole ? zip(urls, steps.steps).filter { $1 != .reuse }.map(\.0) : urls
        var crawlPlan = try CrawlPlan(
            site: place.site, start: place.start,
            startZone: startZone(place.site, place.start, for: principal), folder: folder, own)
        crawlPlan.startsAtRequisites = true
        crawlPlan.followsLinks = place.manifest.hasRequisites
        crawlPlan.sitePlan.leftOut = known?.leftOut
        crawlPlan.sitePlan.doubts = known?.doubts ?? []
        // What is left over stays so until a run has looked for it to its end.
        var manifest = place.manifest
        manifest.isWhole = before?.isWhole ?? true
        let run = try self.run(crawlPlan, manifest, found, only: wanted)

        let bundleURLs = Set(urls.map(\.href))
        let required = Set(found.gate.requiredBundles.map(\.href))
        for missing in run.missing {
            let isAltered = missing.failure.isAltered
            let problem = PreloadReport.Problem(
                url: missing.url, reason: missing.reason,
                // What is held against a digest and is no bundle's own address is where one's redirect leads.
                isRequired: required.contains(missing.url) || isAltered && !bundleURLs.contains(missing.url))
            if isAltered { report.refused.append(problem) } else { report.missing.append(problem) }
        }
        // By way of a redirect it is another address that was refused.
        for item in run.check?.items ?? [] where item.verdict == .mismatch && item.isRequired {
            guard !report.refused.contains(where: { $0.url == item.url }) else { continue }
            guard !report.missing.contains(where: { $0.url == item.url }) else { continue }
            report.refused.append(
                .init(url: item.url, reason: item.detail ?? "it does not match", isRequired: true))
        }
        let asked = steps.steps.count { step in if case .fetch = step { true } else { false } }
        let lost = (report.refused + report.missing).count { bundleURLs.contains($0.url) || $0.isRequired }
        report.fetched = max(0, asked - lost)
        report.requisites = max(0, run.requisites - (wanted.count - lost))
        report.requests += run.requests
        report.byteCount = run.wireByteCount
        report.isInsecure = run.isInsecure
        if run.isPublished {
            report.outcome = .changed
        } else if run.isInterrupted {
            report.outcome = .interrupted
        } else {
            let isGone = run.missing.contains { $0.isGone && required.contains($0.url) }
            report.outcome = report.refused.contains(where: \.isRequired) || isGone ? .refused : .unreachable
        }
        let held = try storing { () throws(StoreError) in
            try keepWholeness(run, place)
            return folder.exists ? try StoreReader(folder).sites() : []
        }
        try report.show(held.first { $0.name == place.site.href }, of: found.gate, in: folder)
    }

    /// What is still missing is looked for the next time, though all bundles be held.
    private func keepWholeness(_ run: PrefetchReport, _ place: Place) throws(StoreError) {
        guard run.isPublished else { return }
        let isWhole = run.missing.allSatisfy { $0.isGone || $0.isKeptFromBefore }
        guard let site = try StoreReader(folder).sites().first(where: { $0.name == place.site.href }) else {
            return
        }
        var settings = SitePlan(text: site.settings)
        guard settings.manifest?.isWhole != isWhole else { return }
        settings.manifest?.isWhole = isWhole
        try StoreWriter(folder).keep(settings: settings.text, ofSite: site.name)
    }
}

extension PreloadReport {
    /// What a site shows is another's where its manifest names the same site, and speaks of another base.
    fileprivate mutating func show(
        _ site: Site?, of gate: BundleGate, in folder: StoreFolder
    ) throws(LarderError) {
        guard let site, let published = site.published else { return }
        let kept = try storing { () throws(StoreError) in
            try KeptManifest.inForce(of: site.name, StoreReader(folder))
        }
        if let kept, !gate.hasBase(of: kept) { return }
        visit = published
        since = site.visits.first { $0.id == published }?.started
    }
}
