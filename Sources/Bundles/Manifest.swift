package import Digest
package import Web

/// A list of bundles and facts about their site, in Larder's own format or in that of another tool.
package struct Manifest: Sendable, Equatable {
    package var format: ManifestFormat
    package var bundles: [Bundle]
    /// The name of the site; nil if the manifest gives none.
    package var site: String?
    /// The version of the release that it describes.
    package var version: String?
    /// When it was created; nil if it does not say so.
    package var created: HTTPDate?
    /// When it expires. After that it is not current, and the set that was accepted last stays live. Nil if it
    /// does not expire.
    package var expires: HTTPDate?
    /// The base of its relative URLs, itself relative to the manifest's own location; nil for that location.
    package var base: String?
    /// The start URLs, absolute or relative to the base.
    package var start: [String] = []
    package var settings = PrefetchSettings()
    /// The location of the list itself, relative to the base: `chcp.json` and Cocos' `version.manifest` only
    /// name it.
    package var continuation: String?
    /// The digest of the list that `continuation` names. It binds the two files to each other; nil if the format has none.
    package var continuationDigest: Digest?
    /// The key that signs the manifests of this site, as the manifest itself names it. An attacker who changes the manifest can
    /// change the key too, so it counts only if the user trusts the first manifest.
    package var key: MinisignPublicKey?
    /// The signature inside the manifest; nil if there is none. Parsing does not verify it.
    package var signature: ManifestSignature?
    /// The ID of an update of Expo Updates, which its client sends with the next request.
    package var updateID: String?
    /// The runtime of an app that an update of Expo Updates is for; nil if it names none.
    package var runtimeVersion: String?
    /// Notes about content that cannot be checked, one sentence each.
    package var notes: [String] = []

    /// The prefetch settings that the manifest gives; nil or empty for those that it does not.
    package struct PrefetchSettings: Sendable, Equatable {
        package var extent: SiteExtent?
        package var depth: Int?
        package var include: [String] = []
        package var exclude: [String] = []
        /// `Name: value` for every host, or `example.com Name: value` for one.
        package var headers: [String] = []
        package var nofollow: NofollowPolicy?
        package var noindex: RobotsPolicy?
        package var policy: CachePolicy?
        /// Cache rules in the syntax of `CacheRules.Rule`.
        package var rules: [String] = []

        package init() {}
    }

    package init(_ format: ManifestFormat = .larder, bundles: [Bundle] = []) {
        self.format = format
        self.bundles = bundles
    }

    /// Parses a manifest, in the given format or in the one that is detected. `file` names it in errors and
    /// is not opened.
    package init(_ source: [UInt8], file: String, format: ManifestFormat? = nil) throws(ManifestError) {
        self = try ManifestText(bytes: source, file: file).manifest(format)
    }

    mutating func note(_ text: String) {
        if notes.count < ManifestLimits.maxNotes { notes.append(text) }
    }
}

// MARK: - ManifestFormat

/// The manifest formats that can be read. The names are the values of `--format`.
package enum ManifestFormat: String, Sendable, CaseIterable {
    /// Larder's own format; see manifests/larder.schema.json.
    case larder
    /// A Weex update configuration: `{"md5", "version", "pages": [{"page", "h5", "js", "md5"}]}`.
    case weex
    /// The response for a single Weex bundle: `{"url", "md5"}`, also inside `data`.
    case weexBundle = "weex-bundle"
    /// Workbox's precache list, as JSON or inside a built service worker.
    case workbox
    /// Cordova hot code push: `chcp.manifest`, or the `chcp.json` that names it.
    case cordova
    /// Cocos: `project.manifest`, or the `version.manifest` that names it.
    case cocos
    /// Angular's `ngsw.json`.
    case angular
    /// The output of webpack-assets-manifest and similar tools: `{"app.js": "app.3f2a9c81.js"}`, or with
    /// `src` and `integrity`.
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
    /// The output of `md5sum`, `sha256sum`, `cksum` and their BSD equivalents.
    case checksums
    /// The `integrity` attributes of a page.
    case html
    /// Flutter's `flutter_service_worker.js`.
    case flutter
    /// The boot configuration of .NET in WebAssembly: `blazor.boot.json`, `dotnet.boot.js` or `dotnet.js`.
    case blazor
    /// The manifest of Expo Updates, alone or in a `multipart/mixed` response.
    case expo
    /// An integrity manifest of WAICT.
    case waict
    /// Next.js' `subresource-integrity-manifest.json`, or its build manifests, which have no digests.
    case next

    package static var names: [String] { allCases.map(\.rawValue) }

    /// Returns the format that a mistyped name probably means; nil if none is close.
    package static func suggestion(for name: String) -> String? { Spelling.closest(to: name, among: names) }
}

// MARK: - BundleList

/// Collects a manifest's bundles in order, and rejects contradictory entries for one reference.
struct BundleList {
    private(set) var bundles: [Bundle] = []
    private var indices: [String: Int] = [:]

    /// The reason why a bundle could not be added.
    enum Refusal {
        case listed
        case conflict(String)
        case unusable(String)

        var detail: String {
            switch self {
            case .listed: "the URL is listed twice"
            case .conflict(let difference): "the URL is listed twice, with different values of \(difference)"
            case .unusable(let why): why
            }
        }
    }

    func contains(_ reference: String) -> Bool { indices[reference] != nil }

    /// Adds a bundle. Returns the reason if it was not added.
    mutating func add(_ bundle: Bundle) -> Refusal? {
        if let problem = Self.problem(of: bundle.reference) { return .unusable(problem) }
        guard indices[bundle.reference] == nil else { return .listed }
        guard bundles.count < ManifestLimits.maxBundles else {
            return .unusable("more than \(ManifestLimits.maxBundles) bundles")
        }
        indices[bundle.reference] = bundles.count
        bundles.append(bundle)
        return nil
    }

    /// Adds a bundle, or merges its claims into the listed bundle with the same reference. The bundle is
    /// required if any of its entries is.
    mutating func merge(_ bundle: Bundle) -> Refusal? {
        guard let index = indices[bundle.reference] else { return add(bundle) }
        bundles[index].isRequired = bundles[index].isRequired || bundle.isRequired
        for new in bundle.claims where !bundles[index].claims.contains(new) {
            let known = bundles[index].claims
            guard !known.contains(where: { $0.contradicts(new) }) else { return .conflict(new.source) }
            bundles[index].claims.append(new)
        }
        return nil
    }

    private static func problem(of reference: String) -> String? {
        if reference.isEmpty { return "expected a URL, found an empty string" }
        let count = reference.utf8.count
        guard count > ManifestLimits.maxReferenceBytes else { return nil }
        return "expected a URL of at most \(ManifestLimits.maxReferenceBytes) bytes, found \(count)"
    }
}

extension Claim {
    /// Whether no body can satisfy both claims.
    func contradicts(_ other: Claim) -> Bool {
        guard subject == other.subject, strength == .strong, other.strength == .strong else { return false }
        switch (content, other.content) {
        case (.digest(let one), .digest(let two)): return one.algorithm == two.algorithm && one != two
        case (.byteCount(let one), .byteCount(let two)): return one != two
        case (.digest(let digest), .integrity(let integrity)),
            (.integrity(let integrity), .digest(let digest)):
            return integrity.algorithm == digest.algorithm && !integrity.digests.contains(digest)
        case (.integrity(let one), .integrity(let two)):
            return one.algorithm != nil && one.algorithm == two.algorithm
                && Set(one.digests).isDisjoint(with: two.digests)
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

/// The limits of a manifest. One that exceeds a limit is rejected, except where noted.
package enum ManifestLimits {
    /// The maximum size of a manifest. A loader reads one byte more, so that the parser notices a larger one.
    package static let maxBytes = 32 << 20
    /// The maximum number of bundles.
    static let maxBundles = 150_000
    /// The maximum nesting depth of JSON and script literals.
    static let maxDepth = 256
    /// The maximum number of values in JSON or in the literals of a script.
    static let maxValues = 2_000_000
    /// The maximum size of a reference in bytes, the same as for URLs in a crawl.
    static let maxReferenceBytes = 16 * 1024
    /// The maximum number of digests in one `integrity`. Further ones are ignored.
    static let maxIntegrityDigests = 64
    /// The maximum number of notes. Further ones are dropped.
    static let maxNotes = 100
    /// The maximum distance in bytes between a marker in a script, such as `precacheAndRoute`, and the start of its list. A
    /// list that begins later is not found.
    static let maxLookaheadBytes = 256
}
