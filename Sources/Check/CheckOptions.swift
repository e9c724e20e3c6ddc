package import Bundles
package import Crawl
internal import Digest
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
        /// A folder, given by its path. Its files are looked up as a server would; no request is made.
        case folder(String)
    }

    /// Weak evidence: a hash that may have another meaning, or match by chance. The report shows it, but it
    /// neither verifies a bundle nor fails a check.
    public enum Evidence: Sendable, Hashable {
        /// ETags that look like an MD5. S3 uses the MD5 for objects that were uploaded in one piece.
        case entityTags
        /// Hashes in file names that are compared with the beginning of the file's digest.
        case names(Algorithm)

        /// A digest algorithm.
        public enum Algorithm: String, Sendable, CaseIterable {
            case md5, sha1, sha256, sha384, sha512
        }
    }

    /// The places to check. The report has a column for each: for `live` and `stored`, one for each base. If
    /// empty, the live server is checked or, for a local list of checksums, the folder that contains the list.
    public var places: [Place] = []
    /// The URLs that relative URLs of the manifest are resolved against, such as those of production and staging.
    /// May be empty if the manifest was fetched or contains its start URL. In an absolute URL on the manifest's
    /// own origin, the base replaces the origin; URLs on other origins stay as they are.
    public var bases: [String] = []
    /// The paths or URLs of manifests of other releases. The report says if a body belongs to one of these
    /// releases.
    public var releases: [String] = []
    /// Whether the digests in the store are trusted, so that stored bodies are read only if another digest is
    /// needed. Imported bodies are always read.
    public var isQuick = false
    /// The kinds of weak evidence to report besides digests.
    public var evidence: [Evidence] = []
    /// The format of the manifest, one of `formats`; nil detects it.
    public var format: String?
    /// The verdicts that make the check fail if a required bundle has one of them.
    public var failsOn = CheckReport.usualFailures

    /// Whether only SHA-256 or stronger digests verify a bundle, because attackers can make another file with the
    /// same MD5 or SHA-1. A bundle without such a digest is unverifiable. If it is required, the check fails.
    public var requiresStrongDigests = false

    /// The keys that may sign the manifest: minisign's text (`RW…`), the path of a `.pub` file, or that of a
    /// certificate in PEM that signs updates of Expo. Any one of them suffices. `none` accepts every manifest. If empty, the keys apply that are stored with the site of the
    /// manifest.
    public var trustedKeys: [String] = []
    /// The parsed keys, with those that are stored with the site. The caller of `ManifestSource` sets them, since it has
    /// the store.
    package var trust = ManifestTrust.anyone

    /// The stored update, if the manifest is requested as Expo's client does.
    package var expoUpdate: ExpoUpdate?
    /// The stored release, if its server need not send it again.
    package var announcedRelease: AnnouncedRelease?

    /// Accepts a manifest that is older than the one that a preload or prefetch accepted last.
    public var allowsRollback = false
    /// The clock that decides whether a manifest has expired: seconds since 1970.
    package var secondsSinceEpoch = ManifestAgeRules.systemClock

    /// The network options for loading the manifest; nil for the defaults.
    package var network: NetworkOptions?
    /// Receives the number of checked bundles from time to time, on threads of the check.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// The names of the manifest formats that can be read.
    public static var formats: [String] { ManifestFormat.names }

    /// Creates the default options.
    public init() {}
}

extension ManifestPlan {
    /// Returns the options for reading the manifest of a site and checking its bundles live.
    ///
    /// - Parameter network: the network options for loading the manifest; nil for the defaults.
    package func checkOptions(_ network: NetworkOptions? = nil) -> CheckOptions {
        var options = CheckOptions()
        options.network = network
        options.bases = base.map { [$0] } ?? []
        options.format = format
        // Without a place, a local list of checksums would be checked against its own folder.
        options.places = [.live]
        return options
    }
}

/// A bundle with the URLs at which it is checked.
package struct CheckTarget: Sendable {
    package let bundle: Bundle
    /// The line of the manifest that names the bundle; nil if unknown.
    package let line: Int?
    /// The URLs, one for each of `ManifestSource.bases`.
    package let urls: [WebURL]

    /// The URL of a TUF target without the digest that precedes its file name; nil for other bundles.
    package var urlWithoutDigest: WebURL? {
        guard bundle.signer?.hasPrefix(TUFManifest.signerPrefix) == true else { return nil }
        let href = urls[0].href
        guard let slash = href.lastIndex(of: "/") else { return nil }
        let name = href[href.index(after: slash)...]
        guard let digest = bundle.digests.first(where: { name.hasPrefix($0.hex + ".") }) else { return nil }
        return WebURL(String(href[...slash]) + String(name.dropFirst(digest.hex.utf8.count + 1)))
    }

    /// Returns the target with the hash in the bundle's file name as weak evidence, if `evidence` includes that.
    func addingFileNameEvidence(_ evidence: Evidence) -> CheckTarget {
        CheckTarget(bundle: bundle.addingFileNameEvidence(evidence), line: line, urls: urls)
    }

    /// The target, whose bundle only SHA-256 or stronger digests verify.
    package var requiringStrongDigest: CheckTarget {
        CheckTarget(bundle: bundle.requiringStrongDigest, line: line, urls: urls)
    }

    /// Returns the bundles of a manifest, in its order.
    ///
    /// - Throws: `LarderError` of kind `.input` if a name is not an HTTP URL, or is relative and there is no base, or if two
    ///   spellings of one URL have different digests.
    package static func all(of source: ManifestSource) throws(LarderError) -> [CheckTarget] {
        let bundles = source.manifest.bundles
        let lines = ManifestLines(source.bytes).lines(of: bundles.map(\.reference))
        var targets: [CheckTarget] = []
        targets.reserveCapacity(bundles.count)
        var indices: [String: Int] = [:]
        indices.reserveCapacity(bundles.count)
        for (bundle, line) in zip(bundles, lines) {
            var urls: [WebURL] = []
            for base in source.bases { urls.append(try url(of: bundle.reference, source, base)) }
            var bundle = bundle
            bundle.signer = source.signer?.key
            let index = indices.updateValue(targets.count, forKey: urls[0].key.href)
            if let other = index.map({ targets[$0].bundle }),
                let difference = bundle.contradiction(with: other)
            {
                throw LarderError(
                    .input,
                    "\(source.name): \(other.reference) and \(bundle.reference) are the same URL, with different values of "
                        + "\(difference): correct the manifest")
            }
            targets.append(CheckTarget(bundle: bundle, line: line, urls: urls))
        }
        return targets
    }

    /// The URL of a reference as the manifest writes it, with the first base.
    package static func url(of name: String, in source: ManifestSource) throws(LarderError) -> WebURL {
        try url(of: name, source, source.bases[0])
    }

    private static func url(
        of name: String, _ source: ManifestSource, _ base: ManifestSource.Base
    ) throws(LarderError) -> WebURL {
        let url = try absoluteURL(of: name, in: source, at: base)
        // URLs on the manifest's own origin belong to the site and move with it. Others stay.
        if base.isGivenByUser, url.origin == source.home?.origin,
            let moved = WebURL(url.target, base: base.root)
        {
            return moved.withoutFragment
        }
        return url.withoutFragment
    }

    /// Resolves a reference of a manifest against a base.
    package static func absoluteURL(
        of name: String, in source: ManifestSource, at base: ManifestSource.Base
    ) throws(LarderError) -> WebURL {
        guard let url = WebURL(name, base: base.url) else {
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
        return url
    }
}

/// A column of the report: a place, with one of the bases.
struct CheckColumn: Sendable {
    let name: String
    /// The index of the base in `ManifestSource.bases` and of its URL in `CheckTarget.urls`.
    let baseIndex: Int
    /// The root of the base (`ManifestSource.Base.root`).
    let root: WebURL?
    /// The local place; nil for the live server.
    let local: LocalPlace?

    /// Returns the columns of a check, in the order of the places.
    ///
    /// - Parameter folder: the store, for the place `stored`.
    static func all(
        of source: ManifestSource, _ folder: StoreFolder, isQuick: Bool
    ) throws(LarderError) -> [CheckColumn] {
        var columns: [CheckColumn] = []
        for place in source.places {
            for (baseIndex, base) in source.bases.enumerated() {
                let suffix = source.bases.count > 1 ? base.root?.href : nil
                let column: CheckColumn
                switch place {
                case .live:
                    column = CheckColumn(
                        name: suffix ?? "live", baseIndex: baseIndex, root: base.root, local: nil)
                case .stored:
                    let name = suffix.map { "stored of \($0)" } ?? "stored"
                    column = CheckColumn(
                        name: name, baseIndex: baseIndex, root: base.root,
                        local: .stored(folder, provesBytes: !isQuick)
                    )
                case .folder(let path):
                    // A folder has the same files for every base.
                    guard baseIndex == 0 else { continue }
                    let files = try SiteFolder(path)
                    column = CheckColumn(
                        name: path, baseIndex: baseIndex, root: base.root, local: .folder(files))
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
