internal import Bundles
internal import Crawl
internal import Fetch
internal import Serve
internal import Store
internal import System
internal import Web

extension Larder {
    /// Proves that a site can be had offline: walks from its start everything that its pages need, by the links as they are
    /// kept, and compares every body with its size and SHA-256. What is missing is told with the pages that lead to it, and
    /// apart from what the site itself says is gone. Opens no socket. What is damaged is marked: the next who fetches loads it
    /// again.
    ///
    /// - Parameter site: by its name, its address or its host.
    /// - Throws: `LarderError` of kind `.input` when the larder does not hold the site, `.machine` when there is no larder, or
    ///   it cannot be read, `.interrupted` when the task is cancelled.
    public func checkOffline(
        _ site: String, options: OfflineCheckOptions = OfflineCheckOptions()
    ) async throws(LarderError) -> CheckReport {
        let folder = folder
        let interruption = Interruption()
        return try await Self.onThread("larder-offline", onCancel: interruption.request) { () throws(LarderError) in
            let scope: Scope
            let held: Site
            let reader: StoreReader
            let settings: SitePlan
            let report: CheckReport
            do throws(StoreError) {
                reader = try StoreReader(folder)
                held = try Self.site(named: site, in: reader.sites())
                settings = SitePlan(text: held.settings)
            } catch {
                throw LarderError(error)
            }
            do throws(PatternMistake) {
                scope = try Scope(start: held.start.compactMap { WebURL($0) }, options: settings.scope)
            } catch {
                throw LarderError(.input, error.description)
            }
            let bundles = try bundles(of: held, settings)
            let start = settings.manifest?.isAlone == true ? [] : held.start
            do throws(StoreError) {
                var walk = OfflineWalk(reader, scope, settings)
                try reader.steadily { () throws(StoreError) in
                    try walk.run(held, start: start, bundles: bundles, interruption)
                }
                let faults = try BodyProof.faults(
                    of: walk.bodies, in: folder, isQuick: options.isQuick, interruption,
                    progress: options.progress)
                let damaged = zip(walk.bodies, faults).filter { $1?.verdict == .mismatch }.map(\.0.sha256)
                try NoteBook.mark(damaged: damaged, in: folder)
                report = CheckReport(
                    subject: .site(held.name), places: ["held"], items: walk.items(faults), failsOn: options.failsOn)
            } catch {
                throw LarderError(error)
            }
            guard !interruption.isRequested else { throw .interrupted }
            return report
        }
    }

    /// Tells the portal what `checkOffline` would find missing when it has to be quick.
    func walk(_ reader: StoreReader, _ site: Site, limit: Int) throws(StoreError) -> SiteNeeds? {
        let settings = SitePlan(text: site.settings)
        guard let scope = try? Scope(start: site.start.compactMap { WebURL($0) }, options: settings.scope),
            let bundles = try? bundles(of: site, settings)
        else { return nil }
        var walk = OfflineWalk(reader, scope, settings, limit: limit)
        try walk.run(
            site, start: settings.manifest?.isAlone == true ? [] : site.start, bundles: bundles, Interruption())
        guard !walk.isCut else { return nil }
        let faults = try walk.bodies.map { (body) throws(StoreError) in
            try BodyProof.fault(of: body, in: reader, true)
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

    /// Those of the manifest that is in force.
    private func bundles(
        of site: Site, _ plan: SitePlan
    ) throws(LarderError) -> [(href: String, isRequired: Bool)] {
        guard let manifest = plan.manifest, let kept = try keptManifest(of: site.name) else { return [] }
        let source = try ManifestSource(kept, options: manifest.checkOptions())
        return try CheckTarget.all(of: source).map { ($0.urls[0].key.href, $0.bundle.isRequired) }
    }
}

/// How thoroughly to prove that a site can be had offline.
public struct OfflineCheckOptions: Sendable {
    /// Sizes only: bytes that changed in place are not found.
    public var isQuick = false
    /// What makes the check fail.
    public var failsOn = CheckReport.usualFailures
    /// Told how many bodies were compared, now and then, on threads of the check's.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    public init() {}
}
