internal import Bundles
internal import Fetch
internal import Store
internal import System
internal import Web

extension Larder {
    /// Compares every bundle of a manifest with the digests that it gives, at every place that is asked for.
    ///
    /// - Parameter manifest: the path of a file, or an http or https URL.
    /// - Throws: `LarderError` of kind `.input` for a manifest that is not there or says what it must not, `.machine` when
    ///   the store or this machine fails, `.interrupted` when the task is cancelled. A bundle that differs or is missing
    ///   is no error; it is in the report, as is a manifest that its server does not give.
    public func check(
        _ manifest: String, options: CheckOptions = CheckOptions()
    ) async throws(LarderError) -> CheckReport {
        let folder = folder
        let interruption = Interruption()
        return try await Self.onThread("larder-check", onCancel: interruption.request) { () throws(LarderError) in
            let source: ManifestSource
            do throws(LarderError) {
                source = try ManifestSource(manifest, options: options, folder: folder, interruption: interruption)
            } catch  where error.isOfServer {
                return CheckReport(ofMissing: manifest, error, failsOn: options.failsOn)
            }
            // A check of nothing would be clean, and prove nothing.
            guard !source.manifest.bundles.isEmpty else {
                throw LarderError(.input, "\(source.name) lists no bundles: there is nothing to check")
            }
            let loader = try ManifestLoader(options, folder, interruption)
            var releases = KnownReleases()
            for name in options.releases {
                let other = try loader.parse(loader.load(ManifestLoader.Place(name)).bytes, name)
                releases.add(other, name: other.version.map { "version \($0)" } ?? name)
            }
            let check = try BundleCheck(source, options, folder, releases: releases)
            let report = try check.run(interruption)
            guard !interruption.isRequested else { throw .interrupted }
            return report
        }
    }
}

extension CheckReport {
    /// Nothing can be said of the bundles of a manifest that cannot be had, and a check of nothing is not clean.
    init(ofMissing manifest: String, _ error: LarderError, failsOn: Set<Verdict>) {
        let finding = Finding(
            url: manifest, verdict: .missing, detail: "\(error); none of its bundles was looked at")
        self.init(
            subject: .manifest(manifest), places: ["live"],
            items: [Item(name: manifest, line: nil, isRequired: true, chain: [], findings: [finding])],
            failsOn: failsOn.union([.missing]))
    }
}
