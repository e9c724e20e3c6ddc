internal import Bundles
internal import Crawl
public import Reports
package import Store
package import System
internal import Web

/// Proves that a site can be had offline: walks everything that its pages need, and compares what is held
/// with its digest.
package enum OfflineCheck {
    /// What the walk and the digests say of a site. What is damaged is marked: the next who fetches loads it
    /// again. Blocks.
    ///
    /// - Parameters:
    ///   - name: of the site, its address or its host.
    ///   - hidesPrivate: Responses that were fetched with credentials do not exist for the report.
    package static func report(
        onSite name: String, _ options: OfflineCheckOptions, in folder: StoreFolder,
        hidesPrivate: Bool = false, _ interruption: Interruption
    ) throws(LarderError) -> CheckReport {
        let report: CheckReport
        do throws(StoreError) {
            let reader = try StoreReader(folder, hidesPrivate: hidesPrivate)
            let site = try SiteName.site(name, in: reader.sites())
            var walk = try OfflineWalk(of: site, reader)
            let bundles = try bundles(of: site, reader)
            try reader.steadily { () throws(StoreError) in
                try walk.run(site, start: start(of: site), bundles: bundles, interruption)
            }
            let faults = try BodyProof.faults(
                of: walk.bodies, imported: walk.importedBodies, in: folder, isQuick: options.isQuick,
                interruption,
                progress: options.progress)
            let damaged = zip(walk.bodies, faults).filter { $1?.verdict == .mismatch }.map(\.0.sha256)
            try NoteBook.mark(damaged: damaged, in: folder)
            var found = CheckReport(
                subject: .site(site.name), places: ["held"], items: walk.items(faults),
                failsOn: options.failsOn)
            let sockets = SitePlan(text: site.settings).sockets
            if sockets > 0 {
                found.notes.append(
                    "pages opened \(sockets) web \(sockets == 1 ? "socket" : "sockets") when they were shown: what comes over these is not held"
                )
            }
            report = found
        } catch {
            throw LarderError(error)
        }
        guard !interruption.isRequested else { throw .interrupted }
        return report
    }

    /// What `report` would find missing, but for the digests of bodies; nil where that is more than `limit`
    /// addresses, and where the site's plan cannot be read.
    package static func needs(of site: Site, limit: Int, _ reader: StoreReader) throws(StoreError)
        -> SiteNeeds?
    {
        guard var walk = try? OfflineWalk(of: site, reader, limit: limit),
            let bundles = try? bundles(of: site, reader)
        else { return nil }
        try walk.run(site, start: start(of: site), bundles: bundles, Interruption())
        guard !walk.isCut else { return nil }
        let faults = try walk.bodies.map { (body) throws(StoreError) in
            try BodyProof.fault(of: body, in: reader, isQuick: true)
        }
        let items = walk.items(faults)
        var needs = SiteNeeds()
        needs.walked = walk.nodes.count
        needs.leftOut = items.count { $0.verdict == .leftOut }
        needs.missing = items.filter { $0.verdict == .missing }.map { item in
            SiteNeeds.Lack(href: item.name, reason: item.detail ?? "", asker: item.chain.last)
        }
        return needs
    }

    /// Nowhere for a site that is its bundles.
    private static func start(of site: Site) -> [String] {
        SitePlan(text: site.settings).manifest?.isAlone == true ? [] : site.start
    }

    /// Those of the manifest that is in force.
    private static func bundles(
        of site: Site, _ reader: StoreReader
    ) throws(StoreError) -> [(href: String, isRequired: Bool)] {
        guard let manifest = SitePlan(text: site.settings).manifest,
            let kept = try KeptManifest.inForce(of: site.name, reader)
        else { return [] }
        do throws(LarderError) {
            let source = try ManifestSource(kept, of: manifest)
            return try CheckTarget.all(of: source).map { ($0.urls[0].key.href, $0.bundle.isRequired) }
        } catch {
            throw StoreError(
                .request, doing: "read the kept manifest", path: kept.place, detail: error.description,
                advice: "prefetch it again, or remove its site")
        }
    }
}

extension OfflineWalk {
    fileprivate init(of site: Site, _ reader: StoreReader, limit: Int = .max) throws(StoreError) {
        let plan = SitePlan(text: site.settings)
        do throws(PatternMistake) {
            let scope = try Scope(start: site.start.compactMap { WebURL($0) }, options: plan.scope)
            self.init(reader, scope, plan, limit: limit)
        } catch {
            throw StoreError(
                .request, doing: "read the settings of", path: site.name, detail: error.description,
                advice: "prefetch the site again with other patterns")
        }
    }
}

/// How thoroughly to prove that a site can be had offline.
public struct OfflineCheckOptions: Sendable {
    /// Sizes only: bytes that changed in place are not found.
    public var isQuick = false
    /// What makes the check fail.
    public var failsOn = CheckReport.usualFailures
    /// Pages are opened in a browser too; nil opens none.
    public var showing: Showing?
    /// Told how many bodies were compared, now and then, on threads of the check's.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    public init() {}

    /// How pages are opened in a browser that reaches nothing but the larder.
    public struct Showing: Sendable {
        /// The Chromium or Chrome; nil for the first that is found.
        public var browser: String?
        /// How many, some of each kind; nil for all.
        public var pages: Int? = 60
        /// How many at once; nil for what the machine's cores and memory allow.
        public var tabs: Int?

        public init() {}
    }
}
