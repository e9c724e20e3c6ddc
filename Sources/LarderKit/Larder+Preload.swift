internal import Check
internal import Crawl

extension Larder {
    /// Asks a manifest what is current, and brings in only what differs: a bundle that is held with its
    /// digest is not asked for. The bundles change together, in one visit that is published when all that are
    /// required verify; until then, and when they do not, the last good set is served.
    ///
    /// - Parameter manifest: a file, or an URL, in any form that is known. The manifest stays with the site.
    /// - Throws: `LarderError` of kind `.input` for a manifest that says what it must not, `.machine` when
    ///   the store fails, or when the manifest cannot be had and none is known. What a server refuses is no
    ///   error; it is in the report.
    public func preload(
        _ manifest: String, options: PreloadOptions = PreloadOptions()
    ) async throws(LarderError) -> PreloadReport {
        var plan = ManifestPlan(
            place: ManifestPlan.fullPlace(manifest), base: options.base, format: options.format)
        plan.hasRequisites = options.hasRequisites
        let wanted = plan
        return try await running { (run) throws(LarderError) in
            try run.preload(wanted, named: manifest, options, by: .localUser)
        }
    }
}
