package import Bundles
package import Check
package import Crawl
internal import Digest
internal import Fetch
package import Store
internal import Synchronization
package import System
package import Web

/// The loaded manifest of a site, and the check whether a snapshot satisfies it.
///
/// `SiteRun` uses it twice. Before the crawl it reads the manifest's bundles, start URLs and settings. Before the
/// snapshot is published, `report(onSnapshot:)` checks every bundle as it would be served. If a required one fails, the
/// snapshot is rejected, and the last good one stays live.
package struct ManifestVerifier: Sendable {
    private let manifest: ManifestSource
    private let folder: StoreFolder
    /// The verdicts with which a required bundle makes the report fail.
    private let failsOn: Set<CheckReport.Verdict>
    /// The bundles of the manifest, each with at least one URL. The first URL is the one that is fetched and checked.
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
        var urls: [WebURL] = []
        for text in manifest.manifest.start {
            urls.append(try CheckTarget.absoluteURL(of: text, in: manifest, at: manifest.bases[0]).key)
        }
        return urls
    }

    /// Returns the URL that names the site of a manifest without a site name and start URLs: the metadata of a TUF
    /// repository, the root of the first base, else the origin of the first bundle.
    ///
    /// - Throws: `LarderError` of kind `.input` if there is none of these.
    package func defaultSite() throws(LarderError) -> WebURL {
        // Several repositories may be on one origin.
        if let repository = TUFLocation(manifest.name) { return repository.metadata.key }
        if let root = manifest.bases[0].root { return root.key }
        guard let first = targets.first?.urls[0], let origin = WebURL(first.origin + "/") else {
            throw LarderError(
                .input,
                "\(manifest.name) lists no bundles and no start URLs: add \"start\": [\"https://...\"]"
            )
        }
        return origin
    }

    /// The path or URL of the manifest. If the user named a document that only refers to the manifest, this is the
    /// manifest itself.
    var location: String { manifest.name }

    /// The trusted key that signed the manifest; nil if no signature was required.
    var signer: ManifestSigner? { manifest.signer }

    /// Throws if the manifest is older than another one, or has expired (`ManifestSource.requireCurrent`).
    func requireCurrent(
        _ age: ManifestAge, after last: ManifestAge, trustedSigners: Set<String>, _ rules: ManifestAgeRules
    ) throws(LarderError) {
        _ = try manifest.requireCurrent(age, after: last, trustedSigners: trustedSigners, rules)
    }

    /// The digests that the manifest expects at the URLs of its bundles.
    package var requirements: Requirements { Requirements(of: targets) }

    /// Returns the URL of a reference in the form that the manifest uses. The manifest need not list it.
    func url(of reference: String) throws(LarderError) -> WebURL {
        try CheckTarget.url(of: reference, in: manifest)
    }

    /// The bundles with their first URLs, in the order of the manifest.
    package var bundlesWithURLs: [(url: WebURL, bundle: Bundle)] { targets.map { ($0.urls[0], $0.bundle) } }

    /// The required bundles that have no digest of at least SHA-256. The preloading of a site can demand one.
    var weakBundles: [PreloadReport.Problem] {
        targets.filter(\.bundle.isRequired).compactMap { target in
            guard let reason = target.bundle.requiringStrongDigest.reasonTooWeak else { return nil }
            return PreloadReport.Problem(url: target.urls[0].href, reason: reason, isRequired: true)
        }
    }

    /// The number of bundles by digest algorithm. Only the strongest digest of a bundle counts; bundles without one
    /// are left out.
    var bundleCounts: [DigestAlgorithm: Int] {
        targets.compactMap(\.bundle.strongestAlgorithm).reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    /// The first URLs of the required bundles.
    package var requiredBundleURLs: [WebURL] { targets.filter(\.bundle.isRequired).map { $0.urls[0] } }

    /// The number of responses that were fetched to load the manifest; 0 for a file.
    package var requestCount: Int { manifest.fetchedDocuments.count }

    /// Whether the manifest and how it was read are the same as those stored.
    package func isEqual(to storedManifest: StoredManifest) -> Bool {
        StoredManifest(manifest) == storedManifest
    }

    /// Whether the user gave the same base as for the stored manifest. Also true if the stored manifest does not record its
    /// base.
    package func hasSameBase(as storedManifest: StoredManifest) -> Bool {
        storedManifest.reading.map { $0.base == manifest.reading.base } ?? true
    }

    /// The network zone that the manifest was loaded from. URLs that it names may be in this zone or a more public one.
    var zone: NetworkZone { manifest.zone }
    /// The origins of the bases that the user gave. `zone` does not limit them.
    var givenOrigins: Set<String> {
        Set(manifest.bases.filter(\.isGivenByUser).compactMap { $0.root?.origin })
    }

    /// Returns the documents that a snapshot of the site stores in addition to its pages: the manifest, under the name of
    /// the site, and the responses that were fetched to load it.
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
    /// A manifest that was fetched from a URL is not trusted with headers: those for other origins are removed, those for
    /// every host are limited to the manifest's own origin, and those with the name of a user's header are removed. A
    /// manifest from a file is trusted.
    ///
    /// - Parameter headers: the headers that the user gave, as `Name: value` or `HOST Name: value`.
    package func settings(beside headers: [String]) -> Manifest.PrefetchSettings {
        var settings = manifest.manifest.settings
        guard let manifestURL = WebURL(location), manifestURL.isHTTP else { return settings }
        settings.headers = Self.trustedHeaders(of: settings.headers, from: manifestURL, beside: headers)
        return settings
    }

    /// Returns those of a fetched manifest's headers that it may set, each limited to the manifest's own origin.
    static func trustedHeaders(
        of manifestHeaders: [String], from manifestURL: WebURL, beside userHeaders: [String]
    ) -> [String] {
        let userNames = Set(userHeaders.compactMap { HeaderArgument($0)?.name.lowercased() })
        return manifestHeaders.compactMap { header in
            guard let argument = HeaderArgument(header), !userNames.contains(argument.name.lowercased()),
                // A header for the host is limited to the origin too, because another port is another origin.
                argument.host == nil || argument.host == manifestURL.host
                    || argument.host == manifestURL.origin
            else { return nil }
            return "\(manifestURL.origin) \(argument.name): \(argument.value)"
        }
    }

    /// The first URLs of all bundles. They are fetched even if no page links to them.
    package var bundleURLs: [WebURL] { targets.map { $0.urls[0] } }

    /// Checks the bundles as they would be served if the snapshot were live. If the report is clean, the snapshot may be
    /// published, and the verdicts are stored in it. Blocks, and uses several threads.
    ///
    /// Call it after all responses of the snapshot have been stored.
    ///
    /// - Parameters:
    ///   - refused: the reasons why responses were not stored, because they did not match their bundle, by URL.
    ///   - interruption: ends the check early; the report then has bundles that were not checked.
    package func report(
        onSnapshot snapshot: Int64, refused: [String: String] = [:],
        _ interruption: Interruption = Interruption()
    ) throws(StoreError) -> CheckReport {
        let folder = folder
        let targets = targets
        let findings = try ParallelWork.share(targets.count, named: "larder-gate", interruption) {
            (next, give) throws(StoreError) in
            var check = StoredBundleCheck(try StoreReader(folder), snapshot: snapshot, provesBytes: false)
            while let number = next() {
                let url = targets[number].urls[0]
                let examination = try check.examination(of: targets[number].bundle, at: url)
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
        let items = zip(targets, findings).map { target, finding in
            CheckReport.Item(
                name: target.bundle.reference, line: target.line, isRequired: target.bundle.isRequired,
                chain: [],
                findings: [
                    finding ?? CheckReport.Finding(url: target.urls[0].href, .missing("it was not checked"))
                ])
        }
        var report = CheckReport(
            subject: .manifest(manifest.name), places: ["new snapshot"], items: items, failsOn: failsOn)
        report.signer = signer?.key
        // The snapshot of a failed check is rejected, so the verdicts that are stored remain those of the live one.
        if report.isClean {
            try VerdictStore.store(
                zip(targets, items).map { ($0.urls[0], $1.findings[0]) }, snapshot: snapshot, in: folder)
        }
        return report
    }
}

/// The manifest of a site's live snapshot.
private struct CurrentManifest {
    /// The name of the site.
    let site: String
    /// The site's plan as it is stored, of which `plan` is a part.
    let settings: String
    /// The stored location and base from which the manifest is loaded.
    let plan: ManifestPlan
    /// The stored response that contains the manifest.
    let row: StoredResponse

    /// Returns the manifests of all sites: first those that must be signed, so that no other can replace their bundles, then
    /// those with the newest snapshots.
    static func all(_ reader: StoreReader) throws(StoreError) -> [CurrentManifest] {
        var all: [CurrentManifest] = []
        for site in try reader.settingsWithManifest() {
            guard let plan = SitePlan(text: site.settings).manifest,
                let row = try reader.response(for: site.name, request: .manifest)
            else { continue }
            all.append(CurrentManifest(site: site.name, settings: site.settings, plan: plan, row: row))
        }
        let rank = { (manifest: CurrentManifest) in
            (manifest.plan.requiresSignature ? 1 : 0, manifest.row.snapshot)
        }
        return all.sorted { rank($0) > rank($1) }
    }
}

/// Merges the requirements of several manifests into one table.
///
/// Add the start URLs of all sites before the first manifest. Two rules decide which requirements apply:
/// - If two manifests require different bundles at one URL, a manifest from the URL's own origin or from a file wins, else
///   the one that was added first.
/// - A manifest from another origin cannot require anything at an origin where another site starts: otherwise the author
///   of one mirrored site could make the responses of another one unusable.
///
/// A requirement at a URL that redirects also applies to the redirect targets.
private struct MergedRequirements {
    /// Requirements from files, and from manifests of the URL's own origin.
    private var fromOwnOrigin = Requirements()
    /// Requirements from manifests of any origin, except those at origins of other sites.
    private var fromAnyOrigin = Requirements()
    /// The prefixes of the origins where sites start, such as `https://example.com/`, with the names of these sites.
    private var siteOrigins: [(prefix: String, site: String)] = []

    /// Adds the requirements of a site's manifest.
    ///
    /// - Parameter location: the path or URL of the manifest.
    mutating func add(_ requirements: Requirements, ofManifestAt location: String, of site: String) {
        let ownPrefix = WebURL(location).flatMap { $0.isHTTP ? $0.origin + "/" : nil }
        let isAtOwnOrigin = { (href: String) in ownPrefix.map { href.utf8.starts(with: $0.utf8) } ?? true }
        fromOwnOrigin.add(requirements.filter(isAtOwnOrigin))
        let otherSites = Set(siteOrigins.filter { $0.site != site }.map(\.prefix))
            .subtracting(siteOrigins.filter { $0.site == site }.map(\.prefix))
        fromAnyOrigin.add(
            requirements.filter { href in !otherSites.contains { href.utf8.starts(with: $0.utf8) } })
    }

    /// Adds the requirements of a stored manifest.
    mutating func add(_ manifest: CurrentManifest, _ reader: StoreReader?) throws(StoreError) {
        guard let reader, let storedManifest = try StoredManifest(manifest.row, reader) else { return }
        add(
            try manifest.plan.requirements(of: storedManifest), ofManifestAt: storedManifest.place,
            of: manifest.site)
    }

    /// Adds the start URLs of a site, whose origins manifests of other sites cannot make requirements for.
    mutating func addSite(start: [String], of site: String) {
        for url in start.compactMap({ WebURL($0) }) { siteOrigins.append((url.origin + "/", site)) }
    }

    /// Returns the merged requirements, extended to the targets of stored redirects.
    ///
    /// - Parameter reader: nil if there is no store.
    func merge(_ reader: StoreReader?) throws(StoreError) -> Requirements {
        var all = fromOwnOrigin
        all.add(fromAnyOrigin)
        guard let reader else { return all }
        var rest = all.hrefs.sorted()[...]
        while !rest.isEmpty {
            let batch = Array(rest.prefix(Self.hrefsPerQuery))
            rest = rest.dropFirst(Self.hrefsPerQuery)
            let redirects = try reader.inReadTransaction { () throws(StoreError) in
                try reader.availability(of: batch).filter { (300..<400).contains($0.value.status) }
            }
            for href in redirects.keys.sorted() { try followRedirects(from: href, reader, &all) }
        }
        return all
    }

    /// Requires the bundle at the redirect targets of its URL too, unless the redirects end at a stored body that does not
    /// match it. An example is a removed file that redirects to the home page, which must stay usable.
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

    /// The number of URLs that are looked up in one read transaction, so that none of them lasts long.
    private static let hrefsPerQuery = 1000
    /// The maximum number of redirects that are followed from a bundle's URL. Targets beyond it have no requirement.
    private static let maxRedirects = 20
}

extension StoredBody {
    /// Whether the body does not match the bundle. Reads the body only if its stored digests do not decide this. False if
    /// the bundle has no digest, or the body cannot be read.
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

/// The merged requirements of the manifests of all live snapshots. A server asks for them again for each new view of the
/// store (`read`); they are cached until a manifest or a site changes. Prefetches and imports use `all`.
///
/// May be used from any thread; a mutex protects the cache.
package final class CurrentRequirements: Sendable {
    /// The merged requirements, with the sites, settings and snapshots that they were read from.
    private let cache = Mutex<(key: [String], requirements: Requirements)>(([], Requirements()))

    package init() {}

    /// Returns the requirements that new bodies must meet; only those of `verifier` if there is no store.
    ///
    /// - Parameters:
    ///   - own: the name of the site that is being fetched; its stored manifest is ignored. Nil for none.
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
            let stored = if let reader { try CurrentManifest.all(reader) } else { [CurrentManifest]() }
            let others = stored.filter { $0.site != own }
            // The first requirement of a URL counts. A manifest without a signature must not replace one with a signature.
            for manifest in others where manifest.plan.requiresSignature {
                try merged.add(manifest, reader)
            }
            if let verifier {
                merged.add(verifier.requirements, ofManifestAt: verifier.location, of: own ?? "")
            }
            for manifest in others where !manifest.plan.requiresSignature { try merged.add(manifest, reader) }
            return try merged.merge(reader)
        } catch  where error.reason == .missing {
            if let verifier {
                merged.add(verifier.requirements, ofManifestAt: verifier.location, of: own ?? "")
            }
            return try merged.merge(nil)
        }
    }

    /// Returns the requirements that stored bodies must meet to be served. Unlike `all`, it ignores a manifest that can no
    /// longer be read, so that the other sites can be served.
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
            // The next fetch reports an unreadable manifest.
            guard let required = try? manifest.plan.requirements(of: storedManifest) else { continue }
            merged.add(required, ofManifestAt: storedManifest.place, of: manifest.site)
        }
        let requirements = try merged.merge(reader)
        cache.withLock { $0 = (key, requirements) }
        return requirements
    }
}

extension ManifestPlan {
    /// Returns the requirements of a stored manifest.
    ///
    /// - Throws: `StoreError` if the manifest can no longer be read.
    func requirements(of storedManifest: StoredManifest) throws(StoreError) -> Requirements {
        Requirements(of: try storedManifest.read(by: self).targets)
    }
}

extension Requirements {
    /// Requires each bundle at its first URL.
    ///
    /// The targets of a TUF repository may have names with digests, while pages link to the plain names. If the server
    /// has files under these names, they must be the targets too.
    fileprivate init(of targets: [CheckTarget]) {
        self.init()
        for target in targets { require(target.bundle, at: target.urls[0]) }
        for target in targets {
            guard let plain = target.urlWithoutDigest, self[plain] == nil else { continue }
            require(target.bundle, at: plain)
        }
    }
}
