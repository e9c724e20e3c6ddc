package import Bundles
package import Crawl
package import Fetch
public import Reports
internal import Store
package import Web

/// Options for checking the bundles of a manifest.
public struct CheckOptions: Sendable {
    /// A place at which bundles are checked.
    public enum Place: Sendable, Hashable {
        /// The live server. Each bundle is fetched.
        case live
        /// The store. Stored bodies are read; no request is made.
        case stored
        /// The files of a folder, as a server would serve them. No request is made.
        case folder(String)
    }

    /// Weak evidence: a hash that may have another meaning, or match by chance. It is reported, and neither
    /// fails a check nor verifies a bundle.
    public enum Evidence: Sendable, Hashable {
        /// ETags that look like an MD5. S3 uses the MD5 for objects that were uploaded in one piece.
        case entityTags
        /// Hashes in file names that are prefixes of such a digest.
        case names(Algorithm)

        /// A digest algorithm.
        public enum Algorithm: String, Sendable, CaseIterable {
            case md5, sha1, sha256, sha384, sha512
        }
    }

    /// The places to check, which the report shows side by side. Each base is checked live and in the store.
    /// If empty, the live server; for a checksum list, the folder that contains the list.
    public var places: [Place] = []
    /// The URLs that relative URLs of the manifest are resolved against, such as production and staging. They
    /// are not needed for a manifest that was fetched, or that names its start URL. URLs on the manifest's
    /// own origin move to the base; URLs on other origins stay.
    public var bases: [String] = []
    /// Manifests of other releases. A body that matches one of them belongs to that release.
    public var releases: [String] = []
    /// Trusts digests that were computed before, if the stored bytes exist.
    public var isQuick = false
    /// Weak evidence to report beside digests.
    public var evidence: [Evidence] = []
    /// The format of the manifest, one of `formats`; nil detects it.
    public var format: String?
    /// The verdicts on required bundles that make a check fail.
    public var failsOn = CheckReport.usualFailures

    /// Only SHA-256 or stronger digests verify a bundle. One that has only MD5 or SHA-1, or no digest, is
    /// unverifiable, and fails the check if it is required: attackers can make another file with the same MD5
    /// or SHA-1.
    public var requiresStrongDigests = false

    /// The network options for loading the manifest; nil for the defaults.
    package var network: NetworkOptions?
    /// Receives the number of checked bundles now and then, on threads of the check.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// The names of the manifest formats that can be read.
    public static var formats: [String] { ManifestFormat.names }

    /// Creates options for the usual place.
    public init() {}
}

extension ManifestPlan {
    /// - Parameter network: the network options for loading the manifest.
    package func checkOptions(_ network: NetworkOptions? = nil) -> CheckOptions {
        var options = CheckOptions()
        options.network = network
        options.bases = base.map { [$0] } ?? []
        options.format = format
        // Fetched bundles are on servers, even if the manifest is a local list.
        options.places = [.live]
        return options
    }
}

/// A bundle with the URLs at which it is checked.
package struct CheckTarget: Sendable {
    package let bundle: Bundle
    package let line: Int?
    /// The URLs, one for each base.
    package let urls: [WebURL]

    /// Adds the hash in the bundle's file name as weak evidence, if the options include it.
    package func addingFileNameEvidence(_ evidence: Evidence) -> CheckTarget {
        CheckTarget(bundle: bundle.addingFileNameEvidence(evidence), line: line, urls: urls)
    }

    /// The bundle, verified only by SHA-256 or stronger digests.
    package var requiringStrongDigest: CheckTarget {
        CheckTarget(bundle: bundle.requiringStrongDigest, line: line, urls: urls)
    }

    /// The bundles of a manifest.
    ///
    /// - Throws: `LarderError` of kind `.input` if a name is not a URL, or is relative and there is no base.
    package static func all(of source: ManifestSource) throws(LarderError) -> [CheckTarget] {
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
                .input, "\(source.name): \"\(name)\" is relative: name its base", remedy: .base)
        }
        guard url.isHTTP else {
            throw LarderError(
                .input,
                "\(source.name): \(url.href) is neither http nor https: correct it in the manifest, or name its base",
                remedy: .base
            )
        }
        // URLs on the manifest's own origin belong to the site and move with it. Others stay.
        if base.isGiven, url.origin == source.home?.origin, let moved = WebURL(url.target, base: base.root) {
            url = moved
        }
        return url.withoutFragment
    }
}

/// A column of the report: a place with one of the bases.
struct CheckColumn: Sendable {
    let name: String
    /// The index of the base among the URLs of a target.
    let base: Int
    let root: WebURL?
    /// The local place; nil for the live server.
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
                case .stored:
                    let name = suffix.map { "stored of \($0)" } ?? "stored"
                    column = CheckColumn(
                        name: name, base: number, root: base.root,
                        local: .stored(folder, provesBytes: !isQuick)
                    )
                case .folder(let path):
                    // A folder has the same files for every base.
                    guard number == 0 else { continue }
                    let files = try SiteFolder(path)
                    column = CheckColumn(name: path, base: number, root: base.root, local: .folder(files))
                }
                columns.append(column)
            }
        }
        return columns
    }

    /// The name of a URL in reports: the path of a file in a folder, else the URL.
    func name(of url: WebURL) -> String {
        guard case .folder(let folder) = local else { return url.href }
        return folder.path + "/" + folder.relativePath(of: url, base: root)
    }
}
