/// The forms of manifest that are read. The names are those of `--format`.
package enum ManifestFormat: String, Sendable, CaseIterable {
    /// Our own; see manifests/larder.schema.json.
    case larder
    /// A Weex update configuration: `{"md5", "version", "pages": [{"page", "h5", "js", "md5"}]}`.
    case weex
    /// The answer for a single Weex bundle: `{"url", "md5"}`, also inside of `data`.
    case weexBundle = "weex-bundle"
    /// Workbox's precache list: as JSON, or as it stands in a built service worker.
    case workbox
    /// Cordova hot code push: `chcp.manifest`, or the `chcp.json` that leads to it.
    case cordova
    /// Cocos: `project.manifest`, or the `version.manifest` that leads to it.
    case cocos
    /// Angular's `ngsw.json`.
    case angular
    /// What webpack-assets-manifest and tools like it write: `{"app.js": "app.3f2a9c81.js"}`, or with `src` and
    /// `integrity`.
    case webpackAssets = "webpack-assets"
    /// create-react-app's `asset-manifest.json`.
    case cra
    /// Vite's `manifest.json`.
    case vite
    /// webpack's `stats.json`.
    case webpackStats = "webpack-stats"
    case sprockets
    /// An import map with `integrity`.
    case importMap = "import-map"
    /// What `md5sum`, `sha256sum`, `cksum` and their BSD relatives write.
    case checksums
    /// The `integrity` attributes of a page.
    case html

    package static var names: [String] { allCases.map(\.rawValue) }

    /// What a mistyped name probably meant; nil when nothing is close.
    package static func suggestion(for name: String) -> String? { Spelling.closest(to: name, among: names) }
}
