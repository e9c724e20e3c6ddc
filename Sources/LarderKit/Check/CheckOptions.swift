internal import Bundles

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

    /// All of them in one run, side by side. Each of the bases is looked at live, and as it is held. Where there is none it
    /// is live; for a list of checksums, the folder in which the list is.
    public var places: [Place] = []
    /// What the manifest's relative URLs are relative to: production, staging. A manifest that was fetched brings its own, and
    /// so does one that names where its site starts. URLs on the manifest's own origin follow; those elsewhere stay.
    public var bases: [String] = []
    /// The form of the manifest, one of `formats`; nil for what its shape tells.
    public var format: String?
    /// What makes a check fail, where the bundle is required.
    public var failsOn: Set<CheckReport.Verdict> = [.mismatch, .missing]

    /// Told how many bundles were looked at, now and then, on threads of the check's.
    public var progress: (@Sendable (WorkProgress) -> Void)?

    /// The forms of manifest that are read.
    public static var formats: [String] { ManifestFormat.names }

    public init() {}
}
