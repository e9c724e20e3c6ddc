internal import Check
internal import Crawl
public import Prefetch

extension Larder {
    /// Loads a manifest, and fetches only the bundles that differ: a bundle that is stored with its digest is not
    /// requested.
    ///
    /// The bundles change together, in one snapshot that is published when all required bundles verify. Until then,
    /// and if one of them fails, the last good set stays live.
    ///
    /// - Parameter manifest: a file or a URL, in any known format. The manifest stays with the site.
    /// - Throws: `LarderError` of kind `.input` if the manifest is invalid, `.machine` if the store fails, or the
    ///   manifest cannot be loaded and no earlier version is stored. Bundles that a server does not deliver are
    ///   results in the report.
    public func preload(
        _ manifest: String, options: PreloadOptions = PreloadOptions()
    ) async throws(LarderError) -> PreloadReport {
        var plan = ManifestPlan(
            place: ManifestPlan.absoluteLocation(of: manifest), base: options.base, format: options.format)
        plan.hasAssets = options.includesAssets
        let wanted = plan
        return try await runSite { (run) throws(LarderError) in
            try run.preload(wanted, named: manifest, options, by: .localUser)
        }
    }
}
