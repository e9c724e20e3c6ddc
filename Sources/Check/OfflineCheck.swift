internal import Bundles
internal import Crawl
public import Reports
package import Store
package import System
internal import Web

/// Proves that a site is complete offline: follows the links to everything that its pages need (`OfflineWalk`), and
/// compares stored bodies with their digests (`BodyProof`).
package enum OfflineCheck {
    /// Checks a site. Damaged bodies are marked, so that the next prefetch loads them again. Blocks.
    ///
    /// - Parameters:
    ///   - name: the site's name, URL, host or origin.
    ///   - hidesPrivate: leaves out responses that were fetched with credentials, as if they were not stored.
    package static func report(
        onSite name: String, _ options: OfflineCheckOptions, in folder: StoreFolder,
        hidesPrivate: Bool = false, _ interruption: Interruption
    ) throws(LarderError) -> CheckReport {
        let report: CheckReport
        do throws(StoreError) {
            let reader = try StoreReader(folder, hidesPrivate: hidesPrivate)
            let site = try SiteName.site(name, in: reader.sites(), acceptsOrigin: true)
            var walk = try OfflineWalk(of: site, reader)
            let bundles = try bundles(of: site, reader)
            try reader.inReadTransaction { () throws(StoreError) in
                try walk.run(site, start: start(of: site), bundles: bundles, interruption)
            }
            let faults = try BodyProof.faults(
                of: walk.bodies, imported: walk.importedBodies, in: folder, isQuick: options.isQuick,
                interruption,
                progress: options.progress)
            let damaged = zip(walk.bodies, faults).filter { $1?.verdict == .mismatch }.map(\.0.sha256)
            try ActivityDatabase.markDamagedIfWritable(damaged, in: folder)
            var found = CheckReport(
                subject: .site(site.name), places: ["stored"], items: walk.items(faults),
                failsOn: options.failsOn)
            found.lacksAssets = walk.lacksAssets
            found.missingURLs = .current(of: site, byStoredLinks: found.walkedCounts)
            let sockets = SitePlan(text: site.settings).sockets
            if sockets > 0 {
                found.notes.append(
                    "pages opened \(sockets) web \(sockets == 1 ? "socket" : "sockets") when they were rendered: data sent over these is not stored"
                )
            }
            if !options.isQuick { found.notes += try IntegrityDemands.notes(of: walk, reader, interruption) }
            report = found
        } catch {
            throw LarderError(error)
        }
        guard !interruption.isRequested else { throw .interrupted }
        return report
    }

    /// The URLs that `report` would find missing, without comparing digests. Nil if the site has more than
    /// `limit` URLs, or its settings cannot be read.
    package static func needs(of site: Site, limit: Int, _ reader: StoreReader) throws(StoreError)
        -> SiteNeeds?
    {
        guard var walk = try? OfflineWalk(of: site, reader, limit: limit),
            let bundles = try? bundles(of: site, reader)
        else { return nil }
        try walk.run(site, start: start(of: site), bundles: bundles, Interruption())
        guard !walk.exceedsLimit else { return nil }
        let faults = try walk.bodies.map { (body) throws(StoreError) in
            try BodyProof.fault(of: body, in: reader, isQuick: true)
        }
        let items = walk.items(faults)
        let nodes = Dictionary(walk.nodes.map { ($0.href, $0) }, uniquingKeysWith: { first, _ in first })
        var needs = SiteNeeds()
        needs.walked = walk.nodes.count
        let report = CheckReport(subject: .site(site.name), places: [], items: items, failsOn: [])
        needs.counts = report.walkedCounts
        needs.broken = items.filter { $0.verdict == .broken }.map { item in
            SiteNeeds.UnmetNeed(
                href: item.name, reason: .other(item.detail ?? ""),
                isAsset: nodes[item.name]?.isAsset ?? false, referrer: item.chain.last)
        }
        needs.missing = items.filter { $0.verdict == .missing }.map { item in
            var reason = SiteNeeds.UnmetNeed.Reason.other(item.detail ?? "")
            if case .missing(let known) = nodes[item.name]?.state { reason = known }
            return SiteNeeds.UnmetNeed(
                href: item.name, reason: reason, isAsset: nodes[item.name]?.isAsset ?? false,
                referrer: item.chain.last)
        }
        return needs
    }

    /// The start URLs; none if the site consists only of its bundles.
    private static func start(of site: Site) -> [String] {
        SitePlan(text: site.settings).manifest?.isAlone == true ? [] : site.start
    }

    /// The bundles of the manifest in force.
    private static func bundles(
        of site: Site, _ reader: StoreReader
    ) throws(StoreError) -> [(href: String, isRequired: Bool)] {
        guard let manifest = SitePlan(text: site.settings).manifest,
            let storedManifest = try StoredManifest.current(of: site.name, reader)
        else { return [] }
        do throws(LarderError) {
            let source = try ManifestSource(storedManifest, of: manifest)
            return try CheckTarget.all(of: source).map { ($0.urls[0].key.href, $0.bundle.isRequired) }
        } catch {
            throw StoreError(
                .request, doing: "read the stored manifest", path: storedManifest.place,
                detail: error.description,
                advice: "prefetch it again, or remove its site")
        }
    }
}

extension CheckReport {
    /// The numbers of missing URLs among the items.
    fileprivate var walkedCounts: MissingURLCounts {
        MissingURLCounts(
            broken: count(.broken), failed: count(.missing), notFetched: count(.notFetched))
    }
}

extension OfflineWalk {
    fileprivate init(of site: Site, _ reader: StoreReader, limit: Int = .max) throws(StoreError) {
        let plan = SitePlan(text: site.settings)
        do throws(PatternMistake) {
            let scope = try Scope(start: site.start.compactMap { WebURL($0) }, options: plan.scope)
            self.init(
                reader, scope, plan, unknownHosts: MissingURLCounts(of: site)?.unknownHosts ?? [],
                failures: StoredFailures(of: site), limit: limit)
        } catch {
            throw StoreError(
                .request, doing: "read the settings of", path: site.name, detail: error.description,
                advice: "prefetch the site again with other patterns")
        }
    }
}

/// Options for an offline check.
public struct OfflineCheckOptions: Sendable {
    /// Compares only sizes, so that changed bytes are not found.
    public var isQuick = false
    /// The verdicts that make the check fail.
    public var failsOn = CheckReport.usualFailures
    /// Also opens pages in a browser; nil opens none.
    public var browserCheck: BrowserCheck?
    /// Why no pages are opened, for the report.
    public var reasonForNoBrowserCheck = "no page was opened"
    /// How much must be proved for the check to succeed. Differences that opening pages shows are findings like
    /// others; this decides about kinds of pages that could not be compared.
    public var requires = Rehearsal.Level.read
    /// Receives the number of compared bodies now and then, on threads of the check.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// Creates options for a full check without a browser.
    public init() {}

    /// Options for opening pages in a browser that reaches only the store.
    public struct BrowserCheck: Sendable {
        /// The path of a Chromium or Chrome; nil for the first one that is found.
        public var browser: String?
        /// Whether the check fails if there is no browser; else it opens no pages then.
        public var requiresBrowser = true
        /// The maximum number of pages to open, chosen from all kinds of pages with scripts, and at most six of
        /// a kind; nil for all.
        public var pages: Int? = 60
        /// The number of pages to open at once; nil for as many as the cores and the memory of the machine allow.
        public var tabs: Int?

        /// Creates options for 60 pages.
        public init() {}
    }
}
