package import Web

/// A list of bundles and what its site is, in our own form or read from that of another tool.
package struct Manifest: Sendable, Equatable {
    package var format: ManifestFormat
    package var bundles: [Bundle]
    /// How people name the site; nil when the manifest does not say.
    package var site: String?
    /// Of the release that it tells of.
    package var version: String?
    /// What it says that its references are relative to. Itself relative to where the manifest is; nil for that place.
    package var base: String?
    /// Where a prefetch begins, absolute or relative to the base.
    package var start: [String] = []
    package var wishes = Wishes()
    /// Where the list itself is, relative to the base: `chcp.json` and Cocos' `version.manifest` only lead to it.
    package var continuation: String?
    /// What it says that cannot be checked, a sentence each.
    package var notes: [String] = []

    /// How the site is to be prefetched, as far as the manifest says.
    package struct Wishes: Sendable, Equatable {
        package var extent: SiteExtent?
        package var depth: Int?
        package var include: [String] = []
        package var exclude: [String] = []
        /// `Name: value` for every host, or `example.com Name: value` for one.
        package var headers: [String] = []
        package var nofollow: NofollowPolicy?
        package var noindex: RobotsPolicy?
        package var policy: CachePolicy?
        /// As `CacheRules.Rule` reads them.
        package var rules: [String] = []

        package init() {}
    }

    package init(_ format: ManifestFormat = .larder, bundles: [Bundle] = []) {
        self.format = format
        self.bundles = bundles
    }

    /// Reads a manifest, of the form that is named or else that its shape tells. `file` names it in errors; it is not
    /// opened.
    package init(_ source: [UInt8], file: String, format: ManifestFormat? = nil) throws(ManifestError) {
        self = try SourceText(bytes: source, file: file).manifest(format)
    }

    mutating func note(_ text: String) {
        if notes.count < ManifestLimits.noteCount { notes.append(text) }
    }
}
