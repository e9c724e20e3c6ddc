/// A manifest that was written, and of what.
public struct ManifestReport: Sendable, Equatable {
    /// JSON of our own form, with a line feed at its end.
    public let text: String
    public let bundles: Int
    public let byteCount: Int64
    /// What was found and could not be listed, with the reason.
    public let skipped: [Skipped]

    public struct Skipped: Sendable, Equatable {
        public let name: String
        public let reason: String
    }
}
