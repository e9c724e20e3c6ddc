internal import Bundles
package import Check
public import Crawl
internal import Digest
public import Fetch
internal import Reports
internal import Store
public import System
package import Updates
public import Web

/// Options of a preload.
public struct PreloadOptions: Sendable {
    /// The URL that the manifest's references are relative to; nil takes it from the manifest, or uses the
    /// manifest's own URL.
    public var base: String?
    /// The format of the manifest, one of `CheckOptions.formats`; nil detects it.
    public var format: String?
    /// Reads and hashes stored bundles: those that changed on the disk are fetched again. Else their recorded
    /// digests count, unless a body was found damaged.
    public var rehashesStoredBundles = false
    /// Only SHA-256 or stronger digests verify a bundle. A manifest with a required bundle that has only MD5
    /// or SHA-1, or no digest, is rejected before anything is fetched.
    public var requiresStrongDigests = false
    /// The keys that may sign the manifest: minisign's text (`RW…`), the path of a `.pub` file, the path of a certificate
    /// in PEM that signs updates of Expo, or `first-use` for the key that the manifest names. Any one of them suffices. They are stored with the site in place of its earlier keys; if this
    /// is empty, the stored ones apply. `none` accepts every manifest.
    public var trustedKeys: [String] = []
    /// Accepts a manifest that is older than the one accepted last. Later preloads compare with this one.
    public var allowsRollback = false
    /// Fetches a release again that did not start before (`Larder.beginStart`).
    public var retriesFailedReleases = false
    /// The clock that decides whether a manifest has expired: seconds since 1970.
    package var secondsSinceEpoch = ManifestAgeRules.systemClock
    /// Also fetches the assets that the bundles need: images, styles, and requests that they contain.
    public var includesAssets = true
    /// The options of the network.
    public var network = NetworkOptions()
    /// The maximum number of connections to one host; nil for 16.
    public var connectionsPerHost: Int?
    /// Called before a response with a body is stored; can change it, or prevent that it is stored. A bundle
    /// whose body is changed does not verify, and is rejected.
    public var willStore: WillStore?
    /// Receives the progress about ten times a second, on a thread of the preload, which waits for the call
    /// to return.
    public var progress: (@Sendable (PrefetchProgress) -> Void)?
    /// Called for every request that ended, on the same thread.
    public var fetched: (@Sendable (PrefetchedURL) -> Void)?

    /// Creates options for all bundles with their assets.
    public init() {}
}

/// The result of a preload.
public struct PreloadReport: Sendable, Equatable {
    /// The outcome of a preload.
    public enum Outcome: String, Sendable, CaseIterable {
        /// All bundles were stored with the right digests. Nothing was fetched.
        case current
        /// All changed bundles were fetched and verified, and are live.
        case changed
        /// The manifest does not have the required signature or is older than the one accepted last, or a bundle does not
        /// verify or is gone from the server. The last good set stays live.
        case refused
        /// The manifest or a bundle could not be loaded. The last good set stays live.
        case unreachable
        /// The manifest has expired. The last good set stays live.
        case expired
        /// The preload was cancelled. Fetched bundles are stored, and the next preload continues.
        case interrupted
    }

    /// The manifest, as the caller named it.
    public let manifest: String
    /// The name of the site that the manifest belongs to.
    public let site: String
    /// How the preload ended.
    public package(set) var outcome: Outcome
    /// The number of the live snapshot; nil if there is none yet.
    public package(set) var snapshot: Int64?
    /// The time at which the live snapshot began.
    public package(set) var since: Timestamp?
    /// The number of bundles in the manifest.
    public package(set) var bundles = 0
    /// The number of bundles that were stored with the right digests, and not requested.
    public package(set) var reused = 0
    /// The number of bundles that were fetched and verified.
    public package(set) var fetched = 0
    /// Bundles that were rejected because they do not verify, and files that a TUF repository has under the plain names of its
    /// targets although they differ.
    public package(set) var refused: [Problem] = []
    /// Bundles and assets that could not be loaded.
    public package(set) var missing: [Problem] = []
    /// The number of assets that were fetched for the bundles.
    public package(set) var assets = 0
    /// The number of requests, including those for the manifest.
    public package(set) var requests = 0
    /// The number of bytes received for bundles and assets.
    public package(set) var byteCount = 0
    /// The duration of the preload.
    public package(set) var elapsed: Duration = .zero
    /// Whether certificates were not verified.
    public package(set) var isInsecure = false
    /// The number of live bundles for each algorithm that verified them (`md5`, `sha1`, `sha256`, `sha384`,
    /// `sha512`), the strongest of several. Empty unless the live set matches the manifest.
    public package(set) var algorithms: [String: Int] = [:]
    /// Why the manifest could not be loaded, or was refused; nil if it is in force.
    public package(set) var manifestFailure: String?
    /// Why the time of the manifest does not fit the clock of this machine; nil if it does.
    public package(set) var manifestWarning: String?
    /// The trusted key that signed the manifest of the live set, as minisign's text, or `x509:` and the SHA-256 of the trusted
    /// certificate; nil if no signature was required, or if
    /// the live set does not match the manifest.
    public package(set) var signer: String?
    /// The number of stored files of the site that its signed manifest does not list, such as images. No signature covers
    /// them. 0 if no signature was required.
    public package(set) var unlisted = 0

    /// Whether the keys that may sign the manifest are stored with the site from this preload on.
    public package(set) var hasNewKeys = false
    /// Whether the manifest and the bundles came from an update file. Nothing was then fetched.
    public package(set) var isFromUpdate = false
    /// The option that makes an acceptable manifest of a refused one, if there is one.
    public package(set) var refusalRemedy: Remedy?

    /// A bundle or asset that was rejected or is missing.
    public struct Problem: Sendable, Equatable {
        /// The URL of the bundle or asset.
        public let url: String
        /// Why it was rejected, or could not be loaded.
        public let reason: String
        /// Whether the set is incomplete without it. Missing assets are reported, but do not prevent
        /// publishing.
        public let isRequired: Bool
    }

    init(manifest: String, site: String, outcome: Outcome) {
        self.manifest = manifest
        self.site = site
        self.outcome = outcome
    }

    /// Whether a verified set is live.
    public var isServed: Bool { snapshot != nil }

    /// The date of the live set, in UTC: `2026-01-31T12:00:00Z`.
    public var sinceDate: String? { since?.description }

    /// Notes on bundles that only MD5 or SHA-1 verified, one for each algorithm.
    public var weakProofs: [String] { WeakProofs.notes { algorithms[$0.rawValue] ?? 0 } }

    /// Whether no bundle was verified by a strong digest or a signature, so that ``weakProofs`` counts all of them.
    package var hasOnlyWeakProofs: Bool {
        signer == nil
            && DigestAlgorithm.allCases.allSatisfy { !$0.isStrong || algorithms[$0.rawValue] ?? 0 == 0 }
    }

    /// The digests that verified the live bundles, with the number of each: `sha256 (12), signed by RWQf…`; nil if there are none.
    public var proofSummary: String? {
        BundleProof.summary(signer: signer) { algorithms[$0.rawValue] ?? 0 }
    }

    /// A note on files that the signed manifest does not list; nil if there are none.
    package var unlistedNote: String? { UnlistedFiles.note(unlisted) }

    /// The report as JSON.
    public var json: String { members.text() }
}

extension PreloadReport: JSONObject {
    package var members: JSONMembers {
        [
            "manifest": manifest, "site": site, "outcome": outcome.rawValue, "snapshot": snapshot,
            "since": sinceDate,
            "bundles": bundles, "reused": reused, "fetched": fetched, "assets": assets,
            "requests": requests, "bytes": byteCount, "seconds": elapsed / .seconds(1),
            "insecure": isInsecure,
            "algorithms": JSONMembers(algorithms.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }),
            "signer": IfAny(signer), "unlisted": IfAny(signer == nil ? nil : unlisted),
            "newKeys": IfAny(hasNewKeys ? true : nil),
            "update": IfAny(isFromUpdate ? true : nil),
            "refused": refused, "missing": missing, "manifestFailure": IfAny(manifestFailure),
            "manifestWarning": IfAny(manifestWarning),
        ]
    }
}

extension PreloadReport.Problem: JSONObject {
    package var members: JSONMembers { ["url": url, "reason": reason, "required": isRequired] }
}

extension SiteRun {
    /// Loads the manifest, and fetches the bundles that differ from it.
    ///
    /// - Parameters:
    ///   - name: the manifest as the user named it, for the report.
    ///   - update: the file that has the manifest and the bundles; nil to load them from their origins.
    ///   - siteName: the site that the update claims to belong to; nil without an update.
    package func preload(
        _ manifest: ManifestPlan, named name: String, _ options: PreloadOptions, by principal: Principal,
        from update: UpdateReader? = nil, ofSite siteName: String? = nil
    ) throws(LarderError) -> PreloadReport {
        if options.allowsRollback { try TUFLocation.requireNoRollback(of: manifest.place) }
        let clock = ContinuousClock()
        let started = clock.now
        let rules = ManifestAgeRules(
            allowsRollback: options.allowsRollback, secondsSinceEpoch: options.secondsSinceEpoch)
        let loaded: LoadedManifest
        var target: ManifestSite
        do throws(LarderError) {
            loaded =
                if let update {
                    try loadManifest(
                        in: update, manifest, principal.nearestZone, trusting: options.trustedKeys, rules)
                } else {
                    try loadManifest(
                        manifest, principal.nearestZone, options.network, trusting: options.trustedKeys,
                        rules,
                        isNew: WebURL(manifest.place)?.isHTTP != true)
                }
            target = try resolveSite(of: loaded, trusting: options.trustedKeys)
            if let update { try requireNoPages(of: target.site, loaded.verifier, update) }
        } catch  where error.kind == .refused {
            // The site's own plan has the base with which its stored manifest is read.
            let known = siteName.flatMap { storedPlan(of: $0)?.manifest } ?? manifest
            return try reportRefusal(of: known, named: name, ofSite: siteName, error)
        }
        do throws(LarderError) {
            try requireCurrent(loaded, &target, rules)
        } catch  where error.kind == .refused {
            let known = storedPlan(of: target.site.href)?.manifest
            return try reportRefusal(of: known ?? manifest, named: name, ofSite: siteName, error)
        }
        let site = sites.first { $0.name == target.site.href }
        // The site consists of its bundles until a prefetch adds its pages.
        target.manifest.isAlone =
            storedPlan(of: target.site.href).map { $0.manifest?.isAlone ?? false } ?? true
        if let update, let known = storedPlan(of: target.site.href)?.manifest {
            // Later runs load the manifest from where they did before.
            target.manifest.place =
                known.isUpdateFile ? ManifestPlan.absoluteLocation(of: update.path) : known.place
            (target.manifest.base, target.manifest.isUpdateFile) = (known.base, known.isUpdateFile)
        }
        var report = PreloadReport(manifest: name, site: target.site.href, outcome: .current)
        report.requests = loaded.verifier.requestCount
        report.isFromUpdate = update != nil
        report.manifestWarning = loaded.warning
        if let failure = loaded.failure {
            report.outcome = outcome(of: failure)
            report.manifestFailure = failure.description
            report.bundles = loaded.verifier.bundleURLs.count
            try report.setLiveSet(site, of: loaded.verifier, in: folder)
        } else if !options.retriesFailedReleases, let digest = loaded.age?.digest,
            storedPlan(of: target.site.href)?.starts.failedManifests.contains(digest) == true
        {
            report.outcome = .refused
            report.manifestFailure =
                "the release of \(name) did not start before; publish a newer one"
            report.bundles = loaded.verifier.bundleURLs.count
            try report.setLiveSet(site, of: loaded.verifier, in: folder)
        } else if options.requiresStrongDigests, !loaded.verifier.weakBundles.isEmpty {
            report.outcome = .refused
            report.bundles = loaded.verifier.bundleURLs.count
            report.refused = loaded.verifier.weakBundles
            try report.setLiveSet(site, of: loaded.verifier, in: folder)
        } else {
            let steps = try PreloadPlan.plan(
                for: loaded.verifier, of: site, in: folder, provesBytes: options.rehashesStoredBundles)
            report.bundles = steps.steps.count
            report.reused = steps.steps.count { step in if case .fetch = step { false } else { true } }
            if try isCurrent(steps, loaded.verifier, target, site) {
                try recordAge(of: loaded, site)
                try report.setLiveSet(site, of: loaded.verifier, in: folder)
            } else {
                try fetchBundles(steps, loaded, target, options, principal, from: update, &report)
            }
        }
        if report.outcome == .current || report.outcome == .changed {
            for (algorithm, count) in loaded.verifier.bundleCounts {
                report.algorithms[algorithm.rawValue] = count
            }
            report.signer = loaded.verifier.signer?.key
            if report.signer != nil { report.unlisted = try countUnlistedFiles(loaded.verifier, target) }
            report.hasNewKeys =
                (loaded.hasNewKeys || update != nil)
                && storedPlan(of: target.site.href)?.manifest?.trustedKeys ?? []
                    != target.manifest.trustedKeys
        }
        report.elapsed = clock.now - started
        return report
    }

    /// The number of stored files of the site that its manifest does not list.
    private func countUnlistedFiles(
        _ verifier: ManifestVerifier, _ target: ManifestSite
    ) throws(LarderError) -> Int {
        try mapStoreError { () throws(StoreError) in
            let reader = try StoreReader(folder)
            guard let site = try reader.sites().first(where: { $0.name == target.site.href }) else {
                return 0
            }
            let listed = verifier.bundleURLs.map(\.key.href) + verifier.requirements.hrefs
            return try UnlistedFiles.count(
                ofSite: site, listed: listed, manifestAt: [target.manifest.place, verifier.location], reader)
        }
    }

    /// Returns the report on a manifest that is refused. Nothing is fetched, and the last good set stays live.
    private func reportRefusal(
        of manifest: ManifestPlan, named name: String, ofSite siteName: String?, _ refusal: LarderError
    ) throws(LarderError) -> PreloadReport {
        let stored = try storedVersion(of: manifest, manifest.checkOptions(), refusal)
        let site = site(of: manifest)
        // A manifest that is refused on first use belongs to no site yet.
        var report = PreloadReport(
            manifest: name, site: site?.name ?? siteName ?? manifest.place, outcome: outcome(of: refusal))
        report.isFromUpdate = siteName != nil
        report.manifestFailure = refusal.description
        report.refusalRemedy = refusal.remedy
        if let stored {
            report.bundles = stored.verifier.bundleURLs.count
            try report.setLiveSet(site, of: stored.verifier, in: folder)
        }
        return report
    }

    /// The outcome if the current manifest is not used.
    private func outcome(of failure: LarderError) -> PreloadReport.Outcome {
        failure.isExpired ? .expired : failure.kind == .machine ? .unreachable : .refused
    }

    /// Records how new the manifest is, if all its bundles were live before and no snapshot is made.
    private func recordAge(of loaded: LoadedManifest, _ site: Site?) throws(LarderError) {
        guard let site, let age = loaded.age else { return }
        var settings = SitePlan(text: site.settings)
        let last = settings.manifest?.accepted
        settings.manifest?.accept(age)
        guard settings.manifest?.accepted != last else { return }
        let text = settings.text
        try mapStoreError { () throws(StoreError) in
            try StoreWriter(folder).storeSettings(text, ofSite: site.name)
        }
    }

    /// Whether nothing has to be done: all bundles are stored, the site has this manifest, and no asset is
    /// missing.
    private func isCurrent(
        _ steps: PreloadPlan, _ verifier: ManifestVerifier, _ target: ManifestSite, _ site: Site?
    ) throws(LarderError) -> Bool {
        guard steps.isCurrent, let site, var knownManifest = SitePlan(text: site.settings).manifest else {
            return false
        }
        // The trusted metadata of a repository is stored as soon as it is verified.
        knownManifest.repository = target.manifest.repository
        // The same location in another spelling.
        let isNextUpdate = knownManifest.isUpdateFile && target.manifest.isUpdateFile
        if isNextUpdate || knownManifest.hasSamePlace(as: target.manifest) {
            knownManifest.place = target.manifest.place
        }
        guard knownManifest == target.manifest else { return false }
        guard let current = try storedManifest(of: site.name) else { return false }
        // A manifest that differs only in irrelevant text, such as a date, does not need a snapshot.
        if verifier.isEqual(to: current) { return true }
        return try mapStoreError { () throws(StoreError) in try knownManifest.requirements(of: current) }
            == verifier.requirements
    }

    /// Runs a crawl that fetches only bundles and, if the options say so, their assets, and adds its results to the report.
    ///
    /// - Parameter update: the file that has the bundles; nothing is then fetched.
    private func fetchBundles(
        _ steps: PreloadPlan, _ loaded: LoadedManifest, _ target: ManifestSite, _ options: PreloadOptions,
        _ principal: Principal, from update: UpdateReader?, _ report: inout PreloadReport
    ) throws(LarderError) {
        // All of it is verified before anything is stored.
        let unpacked = try update.map { (update) throws(LarderError) -> UpdateUnpacking.Outcome in
            let version = try storedVersion(ofSite: target.site.href)
            // A site that is loaded from its origin, or has other pages, has its own start page.
            let start = try loaded.verifier.startURLs()
            return try UpdateUnpacking(update, in: folder, interruption).unpack(
                for: loaded.verifier, steps, ofSite: target.site, version: version,
                addsStartPage: target.manifest.isUpdateFile && target.manifest.isAlone && start.isEmpty)
        }
        // The crawl moves the bodies from its folder into the store.
        defer { withExtendedLifetime(unpacked?.scratch) {} }
        let equal =
            update == nil
            ? try EqualBodies.copy(for: loaded.verifier, steps, ofSite: target.site.href, in: folder) : nil
        defer { withExtendedLifetime(equal?.scratch) {} }
        if let unpacked, !unpacked.problems.isEmpty {
            report.outcome = .refused
            report.refused = unpacked.problems
            report.manifestFailure = unpacked.refusal
            try report.setLiveSet(
                sites.first { $0.name == target.site.href }, of: loaded.verifier, in: folder)
            return
        }
        var own = PrefetchOptions()
        let known = storedPlan(of: target.site.href)
        if let known { own.plan = own.plan.overriding(known) }
        own.network = options.network
        own.plan.connectionsPerHost = options.connectionsPerHost ?? own.plan.connectionsPerHost
        own.willStore = options.willStore
        own.progress = options.progress
        own.fetched = options.fetched
        loaded.verifier.apply(to: &own)
        // Assets that were missing the last time are found by scanning all bundles.
        let before = known?.manifest
        let isWhole = before.map { $0.isWhole && $0.hasAssets == target.manifest.hasAssets } ?? true
        let urls = loaded.verifier.bundleURLs
        var wanted = isWhole ? zip(urls, steps.steps).filter { $1 != .reuse }.map(\.0) : urls
        wanted += unpacked?.otherURLs ?? []
        var crawlPlan = try CrawlPlan(
            site: target.site, start: target.start,
            startZone: startZone(target.site, target.start, for: principal), folder: folder, own)
        crawlPlan.startsAtAssets = true
        crawlPlan.urlsNotTakenOver = try formerBundles(ofSite: target.site.href, without: urls)
        crawlPlan.followsLinks = target.manifest.hasAssets
        crawlPlan.supplied = unpacked?.responses ?? equal?.responses
        crawlPlan.checksReplacements = unpacked == nil
        crawlPlan.sitePlan.leftOut = known?.leftOut
        crawlPlan.sitePlan.doubts = known?.doubts ?? []
        // `isWhole` says that no asset is missing. It is set only after a run has completed (`recordMissingAssets`).
        var manifest = target.manifest
        manifest.isWhole = before?.isWhole ?? true
        let run = try crawl(crawlPlan, manifest, loaded, only: wanted)

        let bundleURLs = Set(urls.map(\.href))
        let required = Set(loaded.verifier.requiredBundleURLs.map(\.href))
        for missing in run.missing {
            let isDigestMismatch = missing.failure.isDigestMismatch
            let problem = PreloadReport.Problem(
                url: missing.url, reason: missing.reason,
                // A rejected URL that is not a bundle's own is the target of a bundle's redirect.
                isRequired: required.contains(missing.url)
                    || isDigestMismatch && !bundleURLs.contains(missing.url))
            if isDigestMismatch { report.refused.append(problem) } else { report.missing.append(problem) }
        }
        // A redirected bundle was rejected under the URL of its target.
        for item in run.check?.items ?? [] where item.verdict == .mismatch && item.isRequired {
            guard !report.refused.contains(where: { $0.url == item.url }) else { continue }
            guard !report.missing.contains(where: { $0.url == item.url }) else { continue }
            report.refused.append(
                .init(url: item.url, reason: item.detail ?? "it does not match", isRequired: true))
        }
        let fetchedCount = steps.steps.count { step in if case .fetch = step { true } else { false } }
        // A rejected URL that is not a bundle's own belongs to a redirected bundle, unless all required bundles are there.
        let lost = (report.refused + report.missing).count {
            bundleURLs.contains($0.url) || $0.isRequired && !run.isPublished
        }
        report.fetched = max(0, fetchedCount - lost)
        report.assets = max(0, run.assets - (wanted.count - lost))
        report.requests += update == nil ? max(0, run.requests - (equal?.count ?? 0)) : 0
        report.byteCount = unpacked?.byteCount ?? run.wireByteCount
        report.isInsecure = run.isInsecure
        if run.isPublished {
            report.outcome = .changed
        } else if run.isInterrupted {
            report.outcome = .interrupted
        } else {
            let isGone = run.missing.contains { $0.failure.isGone && required.contains($0.url) }
            report.outcome = report.refused.contains(where: \.isRequired) || isGone ? .refused : .unreachable
        }
        let sitesAfterRun = try mapStoreError { () throws(StoreError) in
            try recordMissingAssets(run, target)
            return folder.exists ? try StoreReader(folder).sites() : []
        }
        try report.setLiveSet(
            sitesAfterRun.first { $0.name == target.site.href }, of: loaded.verifier, in: folder)
    }

    /// Returns the URLs of the bundles in the stored manifest of a site that are not among the new ones. Empty if it has none,
    /// or if that can no longer be read.
    private func formerBundles(ofSite site: String, without urls: [WebURL]) throws(LarderError) -> Set<String>
    {
        guard let plan = storedPlan(of: site)?.manifest, let stored = try storedManifest(of: site) else {
            return []
        }
        do throws(LarderError) {
            let source = try ManifestSource(stored, of: plan)
            let verifier = try ManifestVerifier(source, options: plan.checkOptions(), folder: folder)
            return Set(verifier.bundleURLs.map(\.key.href)).subtracting(urls.map(\.key.href))
        } catch  where error.kind == .input {
            return []
        }
    }

    /// Records whether assets are still missing, so that the next preload looks for them even if it has all
    /// bundles.
    private func recordMissingAssets(_ run: PrefetchReport, _ target: ManifestSite) throws(StoreError) {
        guard run.isPublished else { return }
        let isWhole = run.missing.allSatisfy { $0.failure.isGone || $0.isKeptFromBefore }
        guard let site = try StoreReader(folder).sites().first(where: { $0.name == target.site.href }) else {
            return
        }
        var settings = SitePlan(text: site.settings)
        guard settings.manifest?.isWhole != isWhole else { return }
        settings.manifest?.isWhole = isWhole
        try StoreWriter(folder).storeSettings(settings.text, ofSite: site.name)
    }
}

extension PreloadReport {
    /// Adds the live snapshot of the site to the report, unless the site's stored manifest has another base: then the
    /// live snapshot belongs to other URLs than the manifest.
    fileprivate mutating func setLiveSet(
        _ site: Site?, of verifier: ManifestVerifier, in folder: StoreFolder
    ) throws(LarderError) {
        guard let site, let published = site.published else { return }
        let current = try mapStoreError { () throws(StoreError) in
            try StoredManifest.current(of: site.name, StoreReader(folder))
        }
        if let current, !verifier.hasSameBase(as: current) { return }
        let live = site.snapshots.first { $0.id == published }
        snapshot = live?.number
        since = live.map { Timestamp(secondsSinceEpoch: $0.started) }
    }
}
