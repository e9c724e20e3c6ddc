internal import Check
internal import Crawl
public import Prefetch
internal import Updates

extension Larder {
    /// Loads a manifest, and fetches only the bundles that differ: a bundle that is stored with its digest is not
    /// requested.
    ///
    /// The bundles change together, in one snapshot that is published when all required bundles verify. Until then,
    /// and if one of them fails, the last good set stays live.
    ///
    /// An update file, which `writeUpdate` writes, has its manifest and all changed bundles: nothing is then fetched, and the
    /// update is refused as a whole if anything in it does not verify.
    ///
    /// - Parameter manifest: a file or a URL, in any known format. The manifest stays with the site. Or an update file.
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
        if UpdateReader.isUpdateFile(manifest) {
            return try await runSite { (run) throws(LarderError) in
                try run.preload(updateFile: manifest, options, by: .localUser)
            }
        }
        return try await runSite { (run) throws(LarderError) in
            try run.preload(wanted, named: manifest, options, by: .localUser)
        }
    }

    /// Whether the file is an update file, which `preload` applies.
    package static func isUpdateFile(_ path: String) -> Bool { UpdateReader.isUpdateFile(path) }
}
