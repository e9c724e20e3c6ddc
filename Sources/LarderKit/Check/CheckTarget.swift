internal import Bundles
internal import Web

/// A bundle with where it is looked for.
struct CheckTarget: Sendable {
    let bundle: Bundle
    let line: Int?
    /// One for each base.
    let urls: [WebURL]

    /// With what its own name says of it, where that was asked for.
    func adding(_ evidence: Evidence) -> CheckTarget {
        CheckTarget(bundle: bundle.adding(evidence), line: line, urls: urls)
    }

    /// What there is to check of a manifest.
    ///
    /// - Throws: `LarderError` of kind `.input` that names what is no URL, or is relative to nothing.
    static func all(of source: ManifestSource) throws(LarderError) -> [CheckTarget] {
        let bundles = source.manifest.bundles
        let lines = ManifestLines(source.bytes).lines(of: bundles.map(\.reference))
        var targets: [CheckTarget] = []
        targets.reserveCapacity(bundles.count)
        for (bundle, line) in zip(bundles, lines) {
            var urls: [WebURL] = []
            for base in source.bases { urls.append(try url(of: bundle, source, base)) }
            targets.append(CheckTarget(bundle: bundle, line: line, urls: urls))
        }
        return targets
    }

    private static func url(
        of bundle: Bundle, _ source: ManifestSource, _ base: ManifestSource.Base
    ) throws(LarderError) -> WebURL {
        guard var url = WebURL(bundle.reference, base: base.url) else {
            throw LarderError(
                .input,
                base.url == nil
                    ? "\(source.name): \"\(bundle.reference)\" is relative: say to what with --base URL"
                    : "\(source.name): \"\(bundle.reference)\" is not a URL")
        }
        guard url.isHTTP else {
            throw LarderError(
                .input,
                "\(source.name): \(url.href) is neither http nor https: write it so in the manifest, or give --base URL"
            )
        }
        // What is on the manifest's own origin is the site's, and moves with it; what is elsewhere stays there.
        if base.isGiven, url.origin == source.home?.origin, let moved = WebURL(url.target, base: base.root) {
            url = moved
        }
        return url.withoutFragment
    }
}
