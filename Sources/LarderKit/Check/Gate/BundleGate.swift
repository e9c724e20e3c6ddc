internal import Bundles
internal import Fetch
internal import Store
internal import Web

/// Stands between a visit and its readers: it may be published when the bundles that a manifest requires verify in it.
struct BundleGate: Sendable {
    private let manifest: ManifestSource
    private let folder: StoreFolder
    private let failsOn: Set<CheckReport.Verdict>
    private let targets: [CheckTarget]

    /// - Throws: `LarderError` of kind `.input` when the manifest is not there, or says what it must not.
    init(_ manifest: ManifestSource, options: CheckOptions, folder: StoreFolder) throws(LarderError) {
        self.manifest = manifest
        self.folder = folder
        failsOn = options.failsOn
        targets = try CheckTarget.all(of: manifest)
    }

    /// Where the manifest says that its site starts.
    ///
    /// - Throws: `LarderError` of kind `.input` when it says no such thing.
    func start() throws(LarderError) -> [WebURL] {
        var start: [WebURL] = []
        for text in manifest.manifest.start {
            guard let url = WebURL(text, base: manifest.bases[0].url) else {
                throw LarderError(.input, "\(manifest.name): \"\(text)\" is relative: say to what with --base URL")
            }
            guard url.isHTTP else {
                throw LarderError(
                    .input,
                    "\(manifest.name): \(url.href) is neither http nor https: write it so in the manifest, or give --base URL"
                )
            }
            start.append(url.key)
        }
        guard !start.isEmpty else {
            throw LarderError(
                .input, "\(manifest.name) does not say where the site starts: give it \"start\": [\"https://...\"]")
        }
        return start
    }

    /// The site's name, where the manifest gives one.
    var site: String? { manifest.manifest.site }

    /// How the manifest wants its site to be prefetched, where it says so; what it does not say stays.
    func apply(to options: inout PrefetchOptions) {
        let wishes = manifest.manifest.wishes
        if let extent = wishes.extent.flatMap({ PrefetchScope.Extent(rawValue: $0.rawValue) }) {
            options.scope.extent = extent
        }
        if let depth = wishes.depth { options.scope.depth = depth }
        options.scope.include += wishes.include
        options.scope.exclude += wishes.exclude
        if let nofollow = wishes.nofollow { options.nofollow = NofollowPolicy(rawValue: nofollow.rawValue) }
        if let noindex = wishes.noindex.flatMap({ RobotsPolicy(rawValue: $0.rawValue) }) { options.noindex = noindex }
        options.network.headers += wishes.headers
        options.rules += wishes.rules
        if let policy = wishes.policy.flatMap({ Policy(rawValue: $0.rawValue) }) { options.policy = policy }
    }

    /// What is to be fetched beside the pages: no page may link to it.
    var bundles: [WebURL] { targets.map { $0.urls[0] } }

    /// What the larder would show of the bundles if the visit were published, all of whose responses are stored by now. It
    /// may be published when the report is clean. Blocks.
    func report(onVisit visit: Int64, _ interruption: Interruption = Interruption()) throws(StoreError) -> CheckReport {
        let folder = folder
        let targets = targets
        let found = try WorkTeam.share(targets.count, named: "larder-gate", interruption) {
            (next, give) throws(StoreError) in
            var bundles = HeldBundles(try StoreReader(folder), visit: visit)
            while let number = next() {
                let url = targets[number].urls[0]
                let examination = try bundles.examination(of: targets[number].bundle, at: url)
                give(number, CheckReport.Finding(url: url.href, examination))
            }
        }
        let items = zip(targets, found).map { target, finding in
            CheckReport.Item(
                name: target.bundle.reference, line: target.line, isRequired: target.bundle.isRequired, chain: [],
                findings: [finding ?? CheckReport.Finding(url: target.urls[0].href, .missing("it was not looked at"))])
        }
        try VerdictNotes.keep(zip(targets, items).map { ($0.urls[0], $1.findings[0]) }, visit: visit, in: folder)
        return CheckReport(
            subject: .manifest(manifest.name), places: ["visit \(visit)"], items: items, failsOn: failsOn)
    }
}

extension Larder {
    /// The gate of a manifest: a file, or an URL. Blocks.
    func gate(
        _ manifest: String, options: CheckOptions = CheckOptions(), interruption: Interruption = Interruption()
    ) throws(LarderError) -> BundleGate {
        let source = try ManifestSource(manifest, options: options, folder: folder, interruption: interruption)
        return try BundleGate(source, options: options, folder: folder)
    }
}
