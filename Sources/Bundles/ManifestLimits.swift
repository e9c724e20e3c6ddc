internal import Web

/// How much a manifest may ask of us. What is beyond any of these is refused with its place, never cut short.
package enum ManifestLimits {
    /// The most bytes that are read; whoever loads a manifest may stop one byte later.
    package static let byteCount = JSONLimits().byteCount
    package static let bundleCount = 500_000
    /// How deep JSON and script literals may nest.
    static let depth = 256
    /// How many values the JSON or the literals of a script may have.
    static let valueCount = 4_000_000
    /// In bytes; the same as a crawl allows a URL.
    static let referenceByteCount = 16 * 1024
    /// How many digests one `integrity` may list.
    static let integrityCount = 64
    /// How many things that cannot be checked are told one by one.
    static let noteCount = 100
    /// How far behind a marker in a script its list may begin.
    static let scriptLookahead = 256
}
