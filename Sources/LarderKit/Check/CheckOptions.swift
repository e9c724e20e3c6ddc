/// Where to look for the bundles of a manifest.
public struct CheckOptions: Sendable {
    public enum Place: Sendable {
        /// Fetch each from its origin.
        case live
        /// What the larder holds. Opens no socket.
        case held
    }

    public var place = Place.live
    /// What the manifest's relative URLs are relative to. A manifest that was fetched brings its own.
    public var base: String?

    public init() {}
}
