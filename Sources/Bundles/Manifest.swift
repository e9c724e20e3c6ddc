internal import Digest
package import Web

/// A list of bundles and what its site is, in our own form or read from that of another tool.
package struct Manifest: Sendable, Equatable {
    package var format: ManifestFormat
    package var bundles: [Bundle]
    /// How people name the site; nil when the manifest does not say.
    package var site: String?
    /// Of the release that it tells of.
    package var version: String?
    /// What it says that its references are relative to. Itself relative to where the manifest is; nil for
    /// that place.
    package var base: String?
    /// Where a prefetch begins, absolute or relative to the base.
    package var start: [String] = []
    package var wishes = Wishes()
    /// Where the list itself is, relative to the base: `chcp.json` and Cocos' `version.manifest` only lead to
    /// it.
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

    /// Reads a manifest, of the form that is named or else that its shape tells. `file` names it in errors;
    /// it is not opened.
    package init(_ source: [UInt8], file: String, format: ManifestFormat? = nil) throws(ManifestError) {
        self = try SourceText(bytes: source, file: file).manifest(format)
    }

    mutating func note(_ text: String) {
        if notes.count < ManifestLimits.noteCount { notes.append(text) }
    }
}

// MARK: - ManifestFormat

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
    /// What webpack-assets-manifest and tools like it write: `{"app.js": "app.3f2a9c81.js"}`, or with `src`
    /// and `integrity`.
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

// MARK: - BundleList

/// Gathers a manifest's bundles in their order, and sees to it that none is listed twice with different
/// things to say.
struct BundleList {
    private(set) var bundles: [Bundle] = []
    private var places: [String: Int] = [:]

    /// The reason why a bundle could not be added.
    enum Refusal {
        case listed
        case conflict(String)
        case unusable(String)

        var detail: String {
            switch self {
            case .listed: "the URL is listed twice"
            case .conflict(let what): "the URL is listed twice, with different values of \(what)"
            case .unusable(let why): why
            }
        }
    }

    func contains(_ reference: String) -> Bool { places[reference] != nil }

    /// Nil when it was added.
    mutating func add(_ bundle: Bundle) -> Refusal? {
        if let problem = Self.problem(of: bundle.reference) { return .unusable(problem) }
        guard places[bundle.reference] == nil else { return .listed }
        guard bundles.count < ManifestLimits.bundleCount else {
            return .unusable("more than \(ManifestLimits.bundleCount) bundles")
        }
        places[bundle.reference] = bundles.count
        bundles.append(bundle)
        return nil
    }

    /// The same, and what is said of a reference in several places is put together. It is required if one
    /// place says so.
    mutating func merge(_ bundle: Bundle) -> Refusal? {
        guard let place = places[bundle.reference] else { return add(bundle) }
        bundles[place].isRequired = bundles[place].isRequired || bundle.isRequired
        for new in bundle.claims where !bundles[place].claims.contains(new) {
            let known = bundles[place].claims
            guard !known.contains(where: { $0.contradicts(new) }) else { return .conflict(new.source) }
            bundles[place].claims.append(new)
        }
        return nil
    }

    private static func problem(of reference: String) -> String? {
        if reference.isEmpty { return "expected a URL, found an empty string" }
        let count = reference.utf8.count
        guard count > ManifestLimits.referenceByteCount else { return nil }
        return "expected a URL of at most \(ManifestLimits.referenceByteCount) bytes, found \(count)"
    }
}

extension Claim {
    /// Whether no body can meet both.
    fileprivate func contradicts(_ other: Claim) -> Bool {
        guard subject == other.subject, strength == .strong, other.strength == .strong else { return false }
        switch (content, other.content) {
        case (.digest(let one), .digest(let two)): return one.algorithm == two.algorithm && one != two
        case (.byteCount(let one), .byteCount(let two)): return one != two
        case (.digest(let digest), .integrity(let integrity)),
            (.integrity(let integrity), .digest(let digest)):
            return integrity.algorithm == digest.algorithm && !integrity.digests.contains(digest)
        case (.integrity(let one), .integrity(let two)):
            return one.algorithm == two.algorithm && Set(one.digests).isDisjoint(with: two.digests)
        default: return false
        }
    }
}

/// The reason why a manifest cannot be read, with the position.
package struct ManifestError: Error, Sendable, Equatable, CustomStringConvertible {
    package var file: String
    package var position: TextPosition
    /// The path of the wrong value, such as `bundles[3].md5`; nil if the whole text is wrong.
    package var key: String?
    package var detail: String
    /// The format that it probably has, but that is only used if the user names it.
    package var likelyFormat: ManifestFormat?

    package var description: String { "\(file):\(position): \(key.map { "\($0): " } ?? "")\(detail)" }
}

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
