internal import Bundles
internal import Crawl
internal import Digest
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
            let manifest = try manifest(of: site, reader)
            let bundles = try bundles(of: manifest) + releaseFiles(of: site, reader)
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
            if SitePlan(text: site.settings).manifest?.isUpdateFile == true, let manifest {
                try found.compare(with: manifest.source, manifest.targets, reader)
            }
            found.missingURLs = .current(of: site, byStoredLinks: found.walkedCounts)
            if site.published == nil, site.servedSnapshot != nil {
                found.notes.append(
                    "no prefetch of this site has ended: what the interrupted one had not found is not checked"
                )
            }
            let sockets = SitePlan(text: site.settings).sockets
            if sockets > 0 {
                found.notes.append(
                    "pages opened \(sockets) web \(sockets == 1 ? "socket" : "sockets") when they were rendered: only the messages of the first seconds are stored"
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
        // A site without a manifest has no bundles, but one whose manifest cannot be read cannot be judged.
        guard var walk = try? OfflineWalk(of: site, reader, limit: limit),
            let bundles = try? bundles(of: manifest(of: site, reader))
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
        (needs.checkedCount, needs.lacksAssets) = (items.count, walk.lacksAssets)
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

    /// The URLs of a manifest's bundles.
    private static func bundles(
        of manifest: (source: ManifestSource, targets: [CheckTarget])?
    ) -> [(href: String, isRequired: Bool)] {
        (manifest?.targets ?? []).map { ($0.urls[0].key.href, $0.bundle.isRequired) }
    }

    /// The files of the releases that channels announce, if the site is that of an app.
    private static func releaseFiles(
        of site: Site, _ reader: StoreReader
    ) throws(StoreError) -> [(href: String, isRequired: Bool)] {
        guard let app = AppURL.app(ofSite: site.name) else { return [] }
        let (urls, bases) = try AnnouncedReleases(in: reader.folder).files(ofApp: app)
        var files = Set(urls)
        for base in bases {
            let place = base + AppURL.manifestName
            files.insert(place)
            guard let body = try reader.response(for: place)?.body,
                let bytes = try reader.content(of: body)?.load(),
                let manifest = try? Manifest(bytes, file: place)
            else { continue }
            for bundle in manifest.bundles {
                if let url = WebURL(bundle.reference, base: WebURL(base)) { files.insert(url.key.href) }
            }
        }
        return files.sorted().map { ($0, true) }
    }

    /// The manifest in force, with its bundles; nil if the site has none.
    private static func manifest(
        of site: Site, _ reader: StoreReader
    ) throws(StoreError) -> (source: ManifestSource, targets: [CheckTarget])? {
        guard let manifest = SitePlan(text: site.settings).manifest,
            let storedManifest = try StoredManifest.current(of: site.name, reader)
        else { return nil }
        return try storedManifest.read(by: manifest)
    }
}

extension CheckReport {
    /// Compares the digests of the stored bundles with the manifest from the last update file. The bodies were compared with
    /// these digests before.
    fileprivate mutating func compare(
        with source: ManifestSource, _ targets: [CheckTarget], _ reader: StoreReader
    ) throws(StoreError) {
        var indices: [String: Int] = [:]
        for (index, item) in items.enumerated() { indices[item.name] = index }
        var verified = 0
        for target in targets {
            let url = target.urls[0]
            guard let index = indices[url.key.href], items[index].verdict == .verified,
                let body = try reader.responseWithBody(at: url)?.1,
                let digest = Digest(.sha256, bytes: body.sha256)
            else { continue }
            switch target.bundle.finding(knowing: [digest], byteCount: body.byteCount)?.verdict {
            case .verified: verified += 1
            case .mismatch(let mismatch):
                items[index] = Item(url: url.href, .mismatch, "it differs from the manifest: \(mismatch)")
            case .missing, .unverifiable, .skew, nil: break
            }
        }
        let version = source.manifest.version.map { " of version \($0)" } ?? ""
        signer = source.signer?.key
        let signature = source.signer.map { ", signed by \($0.key)" } ?? ""
        notes.append(
            "\(verified) of \(targets.count) \(targets.count == 1 ? "bundle" : "bundles") match the stored manifest"
                + version + signature)
    }

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
