internal import Bundles
package import Crawl
package import Fetch
public import Reports
internal import Store
internal import Web

/// Where to look for the bundles of a manifest.
public struct CheckOptions: Sendable {
    public enum Place: Sendable, Hashable {
        /// Fetch each from its origin.
        case live
        /// What the larder holds, its bytes read. Opens no socket.
        case held
        /// The files of a folder, as a server would show them. Opens no socket.
        case folder(String)
    }

    /// What may mean something else, or agree by chance: it is told, and neither fails a check nor proves
    /// anything.
    public enum Evidence: Sendable, Hashable {
        /// ETags that are MD5s, as S3 gives them to what was stored in one piece.
        case entityTags
        /// Hashed file names, where their hashes are beginnings of such a digest.
        case names(Algorithm)

        public enum Algorithm: String, Sendable, CaseIterable {
            case md5, sha1, sha256, sha384, sha512
        }
    }

    /// All of them in one run, side by side. Each of the bases is looked at live, and as it is held. Where
    /// there is none it is live; for a list of checksums, the folder in which the list is.
    public var places: [Place] = []
    /// What the manifest's relative URLs are relative to: production, staging. A manifest that was fetched
    /// brings its own, and so does one that names where its site starts. URLs on the manifest's own origin
    /// follow; those elsewhere stay.
    public var bases: [String] = []
    /// Manifests of other releases: a body that is as one of them says is of that release.
    public var releases: [String] = []
    /// Of what is held the digests that were computed before are believed, where its bytes are there.
    public var isQuick = false
    /// What is looked at beside digests.
    public var evidence: [Evidence] = []
    /// The form of the manifest, one of `formats`; nil for what its shape tells.
    public var format: String?
    /// What makes a check fail, where the bundle is required.
    public var failsOn = CheckReport.usualFailures

    /// Only SHA-256 or better verifies a bundle. One that has only MD5 or SHA-1, or no digest, is unverifiable,
    /// and fails the check where it is required: attackers can make another file with the same MD5 or SHA-1.
    public var requiresStrongDigests = false

    /// How to ask for the manifest; nil for the usual way.
    package var network: NetworkOptions?
    /// Told how many bundles were looked at, now and then, on threads of the check's.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// The forms of manifest that are read.
    public static var formats: [String] { ManifestFormat.names }

    public init() {}
}

extension ManifestPlan {
    /// - Parameter network: how to ask for it.
    package func checkOptions(_ network: NetworkOptions? = nil) -> CheckOptions {
        var options = CheckOptions()
        options.network = network
        options.bases = base.map { [$0] } ?? []
        options.format = format
        // What is fetched is on servers, wherever the list of it is.
        options.places = [.live]
        return options
    }
}

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

    /// The same, verified by SHA-256 or better alone.
    var requiringStrongDigest: CheckTarget {
        CheckTarget(bundle: bundle.requiringStrongDigest, line: line, urls: urls)
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
            let name = bundle.reference
            guard base.url == nil else {
                throw LarderError(.input, "\(source.name): \"\(name)\" is not a URL")
            }
            throw LarderError(
                .input, "\(source.name): \"\(name)\" is relative: say to what", remedy: .base)
        }
        guard url.isHTTP else {
            throw LarderError(
                .input,
                "\(source.name): \(url.href) is neither http nor https: write it so in the manifest, or name its base",
                remedy: .base
            )
        }
        // What is on the manifest's own origin is the site's, and moves with it; what is elsewhere stays
        // there.
        if base.isGiven, url.origin == source.home?.origin, let moved = WebURL(url.target, base: base.root) {
            url = moved
        }
        return url.withoutFragment
    }
}

/// A place to look at, with one of the bases: a column of the report.
struct CheckColumn: Sendable {
    let name: String
    /// The place of the base among those of the targets.
    let base: Int
    let root: WebURL?
    /// Nil for what is fetched.
    let local: LocalPlace?

    static func all(
        of source: ManifestSource, _ folder: StoreFolder, isQuick: Bool
    ) throws(LarderError) -> [CheckColumn] {
        var columns: [CheckColumn] = []
        for place in source.places {
            for (number, base) in source.bases.enumerated() {
                let suffix = source.bases.count > 1 ? base.root?.href : nil
                let column: CheckColumn
                switch place {
                case .live:
                    column = CheckColumn(name: suffix ?? "live", base: number, root: base.root, local: nil)
                case .held:
                    let name = suffix.map { "held of \($0)" } ?? "held"
                    column = CheckColumn(
                        name: name, base: number, root: base.root, local: .held(folder, provesBytes: !isQuick)
                    )
                case .folder(let path):
                    // The same files, whatever the base.
                    guard number == 0 else { continue }
                    let files = try SiteFolder(path)
                    column = CheckColumn(name: path, base: number, root: base.root, local: .folder(files))
                }
                columns.append(column)
            }
        }
        return columns
    }

    /// How reports call what is looked for.
    func name(of url: WebURL) -> String {
        guard case .folder(let folder) = local else { return url.href }
        return folder.path + "/" + folder.relativePath(of: url, base: root)
    }
}
