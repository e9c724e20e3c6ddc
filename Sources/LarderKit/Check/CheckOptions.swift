internal import Bundles
internal import Crawl

/// Where to look for the bundles of a manifest.
public struct CheckOptions: Sendable {
    public enum Place: Sendable, Hashable {
        /// Fetch each from its origin.
        case live
        /// What the larder holds. Opens no socket.
        case held
        /// The files of a folder, as a server would show them. Opens no socket.
        case folder(String)
    }

    /// What may mean something else, or agree by chance: it is told, and neither fails a check nor proves anything.
    public enum Evidence: Sendable, Hashable {
        /// ETags that are MD5s, as S3 gives them to what was stored in one piece.
        case entityTags
        /// Hashed file names, where their hashes are beginnings of such a digest.
        case names(Algorithm)

        public enum Algorithm: String, Sendable, CaseIterable {
            case md5, sha1, sha256, sha384, sha512
        }
    }

    /// All of them in one run, side by side. Each of the bases is looked at live, and as it is held. Where there is none it
    /// is live; for a list of checksums, the folder in which the list is.
    public var places: [Place] = []
    /// What the manifest's relative URLs are relative to: production, staging. A manifest that was fetched brings its own, and
    /// so does one that names where its site starts. URLs on the manifest's own origin follow; those elsewhere stay.
    public var bases: [String] = []
    /// Manifests of other releases: a body that is as one of them says is of that release.
    public var releases: [String] = []
    /// What is looked at beside digests.
    public var evidence: [Evidence] = []
    /// The form of the manifest, one of `formats`; nil for what its shape tells.
    public var format: String?
    /// What makes a check fail, where the bundle is required.
    public var failsOn = CheckReport.usualFailures

    /// How to ask for the manifest; nil for the usual way.
    var network: NetworkOptions?
    /// Told how many bundles were looked at, now and then, on threads of the check's.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// The forms of manifest that are read.
    public static var formats: [String] { ManifestFormat.names }

    public init() {}
}

extension ManifestPlan {
    /// - Parameter network: how to ask for it.
    func checkOptions(_ network: NetworkOptions? = nil) -> CheckOptions {
        var options = CheckOptions()
        options.network = network
        options.bases = base.map { [$0] } ?? []
        options.format = format
        return options
    }
}
