internal import Web

/// A list of bundles, in our own form or in that of a Weex update configuration.
package struct Manifest: Sendable, Equatable {
    /// How people name it; nil when the manifest does not say.
    package var site: String?
    /// Where a prefetch begins, absolute or relative to the base.
    package var start: [String]
    package var bundles: [Bundle]

    /// Reads a manifest and recognises its form by its shape. `file` names it in errors.
    package init(_ source: [UInt8], file: String) throws(ManifestError) {
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONValue.parse(source.span)
        } catch {
            throw ManifestError(
                file: file, position: error.position, detail: "expected \(error.expected), found \(error.found)")
        }
        let reader = ManifestReader(root, file: file) { offset in TextPosition(of: offset, in: source.span) }
        self = try reader.manifest()
    }

    init(site: String?, start: [String], bundles: [Bundle]) {
        self.site = site
        self.start = start
        self.bundles = bundles
    }
}
