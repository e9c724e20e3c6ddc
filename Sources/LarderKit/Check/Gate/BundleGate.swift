internal import Bundles
internal import Crawl
internal import Fetch
internal import Store
internal import System
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

    /// Where the manifest says that its site starts; empty where it says no such thing.
    ///
    /// - Throws: `LarderError` of kind `.input` for what is no address to start at.
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
        return start
    }

    /// What the bundles are called by where nothing else names them: where the manifest is said to be, or is, else the
    /// origin of the first.
    func home() throws(LarderError) -> WebURL {
        if let root = manifest.bases[0].root { return root.key }
        guard let first = targets.first?.urls[0], let origin = WebURL(first.origin + "/") else {
            throw LarderError(
                .input,
                "\(manifest.name) lists no bundles, and does not say where the site starts: give it \"start\": [\"https://...\"]"
            )
        }
        return origin
    }

    /// What the bundles have to be.
    var requirements: Requirements {
        var requirements = Requirements()
        for target in targets { requirements.require(target.bundle, at: target.urls[0]) }
        return requirements
    }

    /// The bundles with where they are.
    var expected: [(url: WebURL, bundle: Bundle)] { targets.map { ($0.urls[0], $0.bundle) } }

    /// Those without which the set is not complete.
    var requiredBundles: [WebURL] { targets.filter(\.bundle.isRequired).map { $0.urls[0] } }

    /// How often it was asked for.
    var requestCount: Int { manifest.answers.count }

    /// Whether it is the very same that is kept.
    func isSame(as kept: KeptManifest) -> Bool { KeptManifest(manifest) == kept }

    /// What a visit of the site keeps of the manifest: itself, and what was fetched on the way to it.
    func documents(ofSite name: String) -> [CrawlPlan.Document] {
        let kept = KeptManifest(manifest)
        return [CrawlPlan.Document(href: name, request: .manifest, fields: kept.fields, bytes: kept.bytes)]
            + manifest.answers.map { CrawlPlan.Document(href: $0.url.href, fields: $0.fields, bytes: $0.bytes) }
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
        // What an earlier run was told is said again.
        options.scope.include += wishes.include.filter { !options.scope.include.contains($0) }
        options.scope.exclude += wishes.exclude.filter { !options.scope.exclude.contains($0) }
        if let nofollow = wishes.nofollow { options.nofollow = NofollowPolicy(rawValue: nofollow.rawValue) }
        if let noindex = wishes.noindex.flatMap({ RobotsPolicy(rawValue: $0.rawValue) }) { options.noindex = noindex }
        options.network.headers += wishes.headers
        options.rules += wishes.rules.filter { !options.rules.contains($0) }
        if let policy = wishes.policy.flatMap({ Policy(rawValue: $0.rawValue) }) { options.policy = policy }
    }

    /// What is to be fetched beside the pages: no page may link to it.
    var bundles: [WebURL] { targets.map { $0.urls[0] } }

    /// What the larder would show of the bundles if the visit were published, all of whose responses are stored by now. It
    /// may be published when the report is clean. Blocks.
    ///
    /// - Parameter refused: what came and did not match, by URL.
    func report(
        onVisit visit: Int64, refused: [String: String] = [:], _ interruption: Interruption = Interruption()
    ) throws(StoreError) -> CheckReport {
        let folder = folder
        let targets = targets
        let found = try WorkTeam.share(targets.count, named: "larder-gate", interruption) {
            (next, give) throws(StoreError) in
            var bundles = HeldBundles(try StoreReader(folder), visit: visit)
            while let number = next() {
                let url = targets[number].urls[0]
                let examination = try bundles.examination(of: targets[number].bundle, at: url)
                var finding = CheckReport.Finding(url: url.href, examination)
                if finding.verdict != .verified, let refusal = refused[url.key.href] {
                    finding = CheckReport.Finding(
                        url: url.href, verdict: .mismatch, detail: "the server sent another one: \(refusal)",
                        remarks: finding.remarks)
                }
                give(number, finding)
            }
        }
        let items = zip(targets, found).map { target, finding in
            CheckReport.Item(
                name: target.bundle.reference, line: target.line, isRequired: target.bundle.isRequired, chain: [],
                findings: [finding ?? CheckReport.Finding(url: target.urls[0].href, .missing("it was not looked at"))])
        }
        let report = CheckReport(
            subject: .manifest(manifest.name), places: ["visit \(visit)"], items: items, failsOn: failsOn)
        // What did not pass is not what is shown, of which the manifest before tells.
        if report.isClean {
            try VerdictNotes.keep(zip(targets, items).map { ($0.urls[0], $1.findings[0]) }, visit: visit, in: folder)
        }
        return report
    }
}
