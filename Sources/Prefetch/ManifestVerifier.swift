package import Bundles
package import Check
package import Crawl
internal import Digest
internal import Fetch
package import Store
internal import Synchronization
package import System
package import Web

/// Decides whether a snapshot may be published: the bundles that its manifest requires must verify in it.
///
/// `SiteRun` uses it twice. Before the crawl it reads the bundles, start URLs and settings of the manifest. Before the
/// snapshot is published, `report(onSnapshot:)` checks every bundle as it would be served. If one fails, the snapshot is
/// rejected, and the last good one stays live.
package struct ManifestVerifier: Sendable {
    private let manifest: ManifestSource
    private let folder: StoreFolder
    private let failsOn: Set<CheckReport.Verdict>
    private let targets: [CheckTarget]

    /// - Throws: `LarderError` of kind `.input` if the manifest does not resolve to valid check targets.
    package init(_ manifest: ManifestSource, options: CheckOptions, folder: StoreFolder) throws(LarderError) {
        self.manifest = manifest
        self.folder = folder
        failsOn = options.failsOn
        targets = try CheckTarget.all(of: manifest)
    }

    /// Returns the start URLs that the manifest declares, resolved against its base; empty if it declares none.
    ///
    /// - Throws: `LarderError` of kind `.input` for a URL that is relative without a base, or neither http
    ///   nor https.
    package func startURLs() throws(LarderError) -> [WebURL] {
        var start: [WebURL] = []
        for text in manifest.manifest.start {
            guard let url = WebURL(text, base: manifest.bases[0].url) else {
                throw LarderError(
                    .input, "\(manifest.name): \"\(text)\" is relative: name its base", remedy: .base)
            }
            guard url.isHTTP else {
                throw LarderError(
                    .input,
                    "\(manifest.name): \(url.href) is neither http nor https: correct it in the manifest, or name its base",
                    remedy: .base
                )
            }
            start.append(url.key)
        }
        return start
    }

    /// Returns the site name for a manifest that declares none: the root of its first base, else the origin
    /// of its first bundle.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is neither.
    package func defaultSite() throws(LarderError) -> WebURL {
        if let root = manifest.bases[0].root { return root.key }
        guard let first = targets.first?.urls[0], let origin = WebURL(first.origin + "/") else {
            throw LarderError(
                .input,
                "\(manifest.name) lists no bundles and no start URLs: add \"start\": [\"https://...\"]"
            )
        }
        return origin
    }

    /// The path or URL of the manifest, after following a manifest that only names another one.
    var location: String { manifest.name }

    /// The requirements of all bundles, by URL.
    package var requirements: Requirements {
        var requirements = Requirements()
        for target in targets { requirements.require(target.bundle, at: target.urls[0]) }
        return requirements
    }

    /// The bundles with their URLs.
    package var bundlesWithURLs: [(url: WebURL, bundle: Bundle)] { targets.map { ($0.urls[0], $0.bundle) } }

    /// Required bundles that have no digest of at least SHA-256.
    var weakBundles: [PreloadReport.Problem] {
        targets.filter(\.bundle.isRequired).compactMap { target in
            let bundle = target.bundle.requiringStrongDigest
            guard
                let reason = bundle.strongestAlgorithm == nil
                    ? "not verified: the manifest gives no digest" : bundle.reasonTooWeak
            else { return nil }
            return PreloadReport.Problem(url: target.urls[0].href, reason: reason, isRequired: true)
        }
    }

    /// The number of bundles for each digest algorithm, counting the strongest digest of each bundle.
    var proofCounts: [DigestAlgorithm: Int] {
        targets.compactMap(\.bundle.strongestAlgorithm).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    /// The URLs of the required bundles.
    package var requiredBundles: [WebURL] { targets.filter(\.bundle.isRequired).map { $0.urls[0] } }

    /// The number of responses that were fetched to get the manifest.
    package var requestCount: Int { manifest.fetchedDocuments.count }

    /// Whether the manifest equals the stored one.
    package func isEqual(to storedManifest: StoredManifest) -> Bool {
        StoredManifest(manifest) == storedManifest
    }

    /// Whether the user gave the same base as for the stored manifest. True if the stored manifest does not
    /// record it.
    package func hasSameBase(as storedManifest: StoredManifest) -> Bool {
        storedManifest.reading.map { $0.base == manifest.reading.base } ?? true
    }

    /// The network zone that the manifest came from, which limits the URLs that it names. The origins in
    /// `givenOrigins` come from the user and not from the manifest.
    var zone: NetworkZone { manifest.zone }
    var givenOrigins: Set<String> { Set(manifest.bases.filter(\.isGiven).compactMap { $0.root?.origin }) }

    /// Returns the documents that a snapshot of the site stores: the manifest, and the responses that were
    /// fetched to get it.
    package func documents(ofSite name: String) -> [CrawlPlan.Document] {
        let storedManifest = StoredManifest(manifest)
        return [
            CrawlPlan.Document(
                href: name, request: .manifest, fields: storedManifest.fields, bytes: storedManifest.bytes)
        ]
            + manifest.fetchedDocuments.map {
                CrawlPlan.Document(href: $0.url.href, fields: $0.fields, bytes: $0.bytes)
            }
    }

    /// The site's name, if the manifest gives one.
    package var site: String? { manifest.manifest.site }

    /// Returns the prefetch settings that the manifest gives.
    ///
    /// A manifest that was fetched is not trusted: its headers are sent to the manifest's own origin only, and never
    /// replace a header from the user.
    ///
    /// - Parameter headers: the headers that the user gave.
    package func settings(beside headers: [String]) -> Manifest.PrefetchSettings {
        var settings = manifest.manifest.settings
        guard let place = WebURL(location), place.isHTTP else { return settings }
        let userNames = Set(headers.map { Self.name(of: $0).lowercased() })
        settings.headers = settings.headers.compactMap { header in
            let words = header.split(separator: " ", maxSplits: 1)
            let isForAll = words[0].contains(":") && words[0].last == ":" || words.count == 1
            guard !userNames.contains(Self.name(of: header).lowercased()) else { return nil }
            if isForAll { return "\(place.origin) \(header)" }
            // Another port of the same host is another origin.
            return words[0] == place.host || words[0] == place.origin ? "\(place.origin) \(words[1])" : nil
        }
        return settings
    }

    /// The field name of `Name: value` or `HOST Name: value`.
    private static func name(of header: String) -> Substring {
        let field =
            header.split(separator: " ").first { $0.contains(":") && !$0.contains("://") } ?? header[...]
        return field.prefix { $0 != ":" }
    }

    /// The URLs of the bundles, which are fetched even if no page links to them.
    package var bundles: [WebURL] { targets.map { $0.urls[0] } }

    /// Checks the bundles as they would be served if the snapshot were live. All responses of the snapshot
    /// must be stored. The snapshot may be published if the report is clean; only then the verdicts are
    /// stored. Blocks.
    ///
    /// - Parameter refused: the reasons why fetched responses did not match, by URL.
    package func report(
        onSnapshot snapshot: Int64, refused: [String: String] = [:],
        _ interruption: Interruption = Interruption()
    ) throws(StoreError) -> CheckReport {
        let folder = folder
        let targets = targets
        let found = try ParallelWork.share(targets.count, named: "larder-gate", interruption) {
            (next, give) throws(StoreError) in
            var bundles = StoredBundleCheck(try StoreReader(folder), snapshot: snapshot, provesBytes: false)
            while let number = next() {
                let url = targets[number].urls[0]
                let examination = try bundles.examination(of: targets[number].bundle, at: url)
                var finding = CheckReport.Finding(
                    url: url.href, examination, of: targets[number].bundle)
                if finding.verdict != .verified, let refusal = refused[url.key.href] {
                    finding = CheckReport.Finding(
                        url: url.href, verdict: .mismatch,
                        detail: "the server sent a different one: \(refusal)",
                        remarks: finding.remarks)
                }
                give(number, finding)
            }
        }
        let items = zip(targets, found).map { target, finding in
            CheckReport.Item(
                name: target.bundle.reference, line: target.line, isRequired: target.bundle.isRequired,
                chain: [],
                findings: [
                    finding ?? CheckReport.Finding(url: target.urls[0].href, .missing("it was not checked"))
                ])
        }
        let report = CheckReport(
            subject: .manifest(manifest.name), places: ["new snapshot"], items: items, failsOn: failsOn)
        // A rejected snapshot is not served: the stored verdicts stay those of the previous manifest.
        if report.isClean {
            try VerdictStore.store(
                zip(targets, items).map { ($0.urls[0], $1.findings[0]) }, snapshot: snapshot, in: folder)
        }
        return report
    }
}

/// The manifest of a site's live snapshot, and the stored response that contains it.
private struct CurrentManifest {
    let site: String
    let settings: String
    let plan: ManifestPlan
    let row: StoredResponse

    /// Returns the manifests of all sites, newest snapshot first.
    static func all(_ reader: StoreReader) throws(StoreError) -> [CurrentManifest] {
        var all: [CurrentManifest] = []
        for site in try reader.settingsWithManifest() {
            guard let plan = SitePlan(text: site.settings).manifest,
                let row = try reader.response(for: site.name, request: .manifest)
            else { continue }
            all.append(CurrentManifest(site: site.name, settings: site.settings, plan: plan, row: row))
        }
        return all.sorted { $0.row.snapshot > $1.row.snapshot }
    }
}

/// Merges the requirements of several manifests into one table.
///
/// If two manifests require different bundles at one URL, a manifest of the URL's origin or on this machine wins, else the
/// first that was added. A manifest from another origin cannot require anything at the origin where another site starts:
/// otherwise the author of one mirrored site could make the responses of another one unusable.
///
/// A requirement at a URL that redirects also applies to the redirect targets.
private struct MergedRequirements {
    /// Requirements from manifests of the URL's own origin or on this machine.
    private var fromOwnOrigin = Requirements()
    /// Requirements from manifests of other origins.
    private var fromOtherOrigins = Requirements()
    /// The prefixes of the origins where sites start, such as `https://example.com/`, with the names of these sites.
    private var siteOrigins: [(prefix: String, site: String)] = []

    mutating func add(_ requirements: Requirements, ofManifestAt location: String, of site: String) {
        let home = WebURL(location).flatMap { $0.isHTTP ? $0.origin + "/" : nil }
        let isAtHome = { (href: String) in home.map { href.utf8.starts(with: $0.utf8) } ?? true }
        fromOwnOrigin.add(requirements.filter(isAtHome))
        let others = Set(siteOrigins.filter { $0.site != site }.map(\.prefix))
            .subtracting(siteOrigins.filter { $0.site == site }.map(\.prefix))
        fromOtherOrigins.add(
            requirements.filter { href in !others.contains { href.utf8.starts(with: $0.utf8) } })
    }

    mutating func addSite(start: [String], of site: String) {
        for url in start.compactMap({ WebURL($0) }) { siteOrigins.append((url.origin + "/", site)) }
    }

    /// Returns the requirements, extended to the targets of stored redirects.
    ///
    /// - Parameter reader: nil if there is no store.
    func resolve(_ reader: StoreReader?) throws(StoreError) -> Requirements {
        var all = fromOwnOrigin
        all.add(fromOtherOrigins)
        guard let reader else { return all }
        var rest = all.hrefs.sorted()[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(Self.hrefsPerQuery))
            rest = rest.dropFirst(Self.hrefsPerQuery)
            let leading = try reader.inReadTransaction { () throws(StoreError) in
                try reader.availability(of: some).filter { (300..<400).contains($0.value.status) }
            }
            for href in leading.keys.sorted() { try followRedirects(from: href, reader, &all) }
        }
        return all
    }

    /// Requires the bundle at the redirect targets too. If the redirects end at a stored body that does not
    /// match, for example a home page in place of a removed file, the targets are not required to match.
    private func followRedirects(from href: String, _ reader: StoreReader, _ all: inout Requirements)
        throws(StoreError)
    {
        guard var url = WebURL(href), let bundle = all[url] else { return }
        var targets: [WebURL] = []
        while targets.count < Self.maxRedirects {
            guard let response = try reader.response(for: url.href) else { break }
            guard
                let redirect = Redirect(
                    response.status, HTTPFields(block: response.fields.utf8.span), from: url)
            else {
                guard let body = response.body, try !body.differs(from: bundle, reader) else { return }
                break
            }
            guard let target = redirect.url, all[target] == nil else { return }
            targets.append(target)
            url = target
        }
        for target in targets { all.require(bundle, at: target) }
    }

    /// The number of URLs that are looked up with one query of the database.
    private static let hrefsPerQuery = 1000
    /// The maximum number of redirects from a bundle's URL. Targets beyond it have no requirement.
    private static let maxRedirects = 20
}

extension StoredBody {
    /// Whether the body does not match the bundle. Uses known digests if they suffice, else reads the body.
    fileprivate func differs(from bundle: Bundle, _ reader: StoreReader) throws(StoreError) -> Bool {
        let known = [(DigestAlgorithm.sha256, sha256), (.md5, md5 ?? [])].compactMap { Digest($0, bytes: $1) }
        var finding = bundle.finding(knowing: known, byteCount: byteCount)
        if finding == nil, let content = try reader.content(of: self) {
            finding = bundle.finding(on: try content.measurement(for: bundle))
        }
        guard case .mismatch? = finding?.verdict else { return false }
        return true
    }
}

/// The requirements of the manifests of all live snapshots, cached until one of them changes. May be used from any
/// thread; a lock protects the cache.
package final class CurrentRequirements: Sendable {
    /// The merged requirements, with the sites, settings and snapshots that they were read from.
    private let cache = Mutex<(key: [String], requirements: Requirements)>(([], Requirements()))

    package init() {}

    /// Returns the requirements that new bodies must meet; only those of `verifier` if there is no store.
    ///
    /// - Parameters:
    ///   - own: the site that is being fetched; its stored manifest is ignored.
    ///   - start: the start URLs of that site.
    ///   - verifier: the current manifest of that site; nil if it has none.
    /// - Throws: `StoreError` if a stored manifest can no longer be read.
    package static func all(
        in folder: StoreFolder, besides own: String? = nil, at start: [String] = [],
        with verifier: ManifestVerifier? = nil
    ) throws(StoreError) -> Requirements {
        var merged = MergedRequirements()
        merged.addSite(start: start, of: own ?? "")
        do throws(StoreError) {
            let reader = folder.exists ? try StoreReader(folder) : nil
            for site in try reader?.siteSettings() ?? [] { merged.addSite(start: site.start, of: site.name) }
            if let verifier {
                merged.add(verifier.requirements, ofManifestAt: verifier.location, of: own ?? "")
            }
            guard let reader else { return try merged.resolve(nil) }
            for manifest in try CurrentManifest.all(reader) where manifest.site != own {
                guard let storedManifest = try StoredManifest(manifest.row, reader) else { continue }
                merged.add(
                    try manifest.plan.requirements(of: storedManifest), ofManifestAt: storedManifest.place,
                    of: manifest.site)
            }
            return try merged.resolve(reader)
        } catch  where error.reason == .missing {
            if let verifier {
                merged.add(verifier.requirements, ofManifestAt: verifier.location, of: own ?? "")
            }
            return try merged.resolve(nil)
        }
    }

    /// Returns the requirements that apply to the stored bodies that are served.
    package func read(_ reader: StoreReader) throws(StoreError) -> Requirements {
        let manifests = try CurrentManifest.all(reader)
        guard !manifests.isEmpty else { return Requirements() }
        let sites = try reader.siteSettings()
        let key =
            manifests.flatMap { [$0.site, $0.settings, "\($0.row.snapshot) \($0.row.body?.id ?? 0)"] }
            + sites.flatMap(\.start)
        if let requirements = cache.withLock({ $0.key == key ? $0.requirements : nil }) {
            return requirements
        }
        var merged = MergedRequirements()
        for site in sites { merged.addSite(start: site.start, of: site.name) }
        for manifest in manifests {
            guard let storedManifest = try StoredManifest(manifest.row, reader) else { continue }
            // An unreadable manifest does not block serving. The next fetch reports it.
            guard let required = try? manifest.plan.requirements(of: storedManifest) else { continue }
            merged.add(required, ofManifestAt: storedManifest.place, of: manifest.site)
        }
        let requirements = try merged.resolve(reader)
        cache.withLock { $0 = (key, requirements) }
        return requirements
    }
}

extension ManifestPlan {
    /// Returns the requirements of a stored manifest.
    ///
    /// - Throws: `StoreError` if the manifest can no longer be read.
    package func requirements(of storedManifest: StoredManifest) throws(StoreError) -> Requirements {
        do throws(LarderError) {
            let source = try ManifestSource(storedManifest, of: self)
            var requirements = Requirements()
            for target in try CheckTarget.all(of: source) {
                requirements.require(target.bundle, at: target.urls[0])
            }
            return requirements
        } catch {
            throw StoreError(
                .unusable, doing: "read the stored manifest", path: storedManifest.place,
                detail: error.description,
                advice: "prefetch it again, or remove its site")
        }
    }
}
