internal import Bundles
internal import Crawl
internal import Reports
internal import Store
internal import Web

/// The release of an app for one start.
public struct StartReport: Sendable, Equatable {
    /// The name of the site.
    public let site: String
    /// The number of the live snapshot; nil if nothing is live yet, so that the app uses the files that it was built with.
    public let snapshot: Int64?
    /// The number of the snapshot that did not start and is not live any more; nil if there is none.
    public let failed: Int64?

    /// The report as JSON.
    public var json: String {
        let members: JSONMembers = ["site": site, "snapshot": snapshot, "failed": failed]
        return members.text()
    }
}

extension Larder {
    /// Begins a start of an app whose bundles `preload` stores. If the live release was begun before and not confirmed by
    /// `confirmStart`, the release before it becomes live again, and preloads do not fetch the failed one any more.
    ///
    /// ```swift
    /// let start = try await larder.beginStart(of: "https://example.com/")
    /// print(start.snapshot ?? 0, start.failed ?? 0)
    /// ```
    ///
    /// Without an earlier release, the live one stays live.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is no such site, `.machine` if the store cannot be written or the
    ///   site is being preloaded.
    public func beginStart(of site: String) async throws(LarderError) -> StartReport {
        try await readStore("larder-start") { (reader) throws(StoreError) in
            let site = try SiteName.site(site, in: reader.sites())
            guard let live = site.liveNumber else {
                return StartReport(site: site.name, snapshot: nil, failed: nil)
            }
            var plan = SitePlan(text: site.settings)
            if plan.starts.hasFailed(live), let report = try Self.fallBack(site, plan, reader) {
                return report
            }
            let before = plan.starts
            plan.starts.begin(live)
            if plan.starts != before {
                try StoreWriter(reader.folder).storeSettings(plan.text, ofSite: site.name)
            }
            return StartReport(site: site.name, snapshot: live, failed: nil)
        }
    }

    /// Confirms that the app has started with the live release and works.
    ///
    /// - Parameter start: the report of `beginStart`. If another release went live meanwhile, it is not confirmed.
    /// - Throws: `LarderError` as `beginStart`.
    public func confirmStart(_ start: StartReport) async throws(LarderError) {
        try await readStore("larder-start") { (reader) throws(StoreError) in
            let site = try SiteName.site(start.site, in: reader.sites())
            guard let live = site.liveNumber, live == start.snapshot else { return }
            var plan = SitePlan(text: site.settings)
            let before = plan.starts
            plan.starts.confirm(live, manifest: site.manifestDigest(plan))
            guard plan.starts != before else { return }
            try StoreWriter(reader.folder).storeSettings(plan.text, ofSite: site.name)
        }
    }

    /// Makes the release before that of a failed start live. Preloads do not fetch the failed one any more, unless
    /// `PreloadOptions.retriesFailedReleases` is set.
    ///
    /// - Returns: The release for the next start: the same one if there is none before it, or another release went live
    ///   meanwhile.
    /// - Throws: `LarderError` as `beginStart`.
    @discardableResult
    public func fallBack(from start: StartReport) async throws(LarderError) -> StartReport {
        try await readStore("larder-start") { (reader) throws(StoreError) in
            let site = try SiteName.site(start.site, in: reader.sites())
            if let live = site.liveNumber, live == start.snapshot,
                let report = try Self.fallBack(site, SitePlan(text: site.settings), reader)
            {
                return report
            }
            return StartReport(site: site.name, snapshot: site.liveNumber, failed: nil)
        }
    }

    /// Makes the last confirmed snapshot live, else the one before the live snapshot. Returns nil if there is none.
    private static func fallBack(
        _ site: Site, _ plan: SitePlan, _ reader: StoreReader
    ) throws(StoreError) -> StartReport? {
        guard let published = site.published, let live = site.liveNumber else { return nil }
        let earlier = site.snapshots.filter { $0.id < published && $0.isRelease }
        guard let target = earlier.last(where: { $0.number == plan.starts.confirmed }) ?? earlier.last else {
            return nil
        }
        let writer = try StoreWriter(reader.folder)
        var plan = plan
        plan.starts.didFail(manifest: site.manifestDigest(plan), replacedBy: target.number)
        // If the process is killed between the two, the earlier release is live and works; the next preload fetches the failed
        // one again, and its next start fails again.
        try writer.publish(snapshot: target.id, of: site)
        try writer.storeSettings(plan.text, ofSite: site.name)
        return StartReport(site: site.name, snapshot: target.number, failed: live)
    }
}

extension Site {
    /// The number of the live snapshot.
    fileprivate var liveNumber: Int64? { published.flatMap { id in snapshots.first { $0.id == id }?.number } }

    /// The SHA-256 of the manifest of the live snapshot; nil if an earlier snapshot is live, since only that of the last
    /// accepted manifest is recorded.
    fileprivate func manifestDigest(_ plan: SitePlan) -> String? {
        snapshots.last(where: { $0.isRelease })?.id == published ? plan.manifest?.accepted?.digest : nil
    }
}

extension Snapshot {
    /// Whether it is complete and was accepted, and is not an overlay.
    fileprivate var isRelease: Bool { finished != nil && !isRejected && base == nil }
}
