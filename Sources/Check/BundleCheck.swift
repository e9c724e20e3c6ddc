internal import Bundles
internal import Crawl
internal import Fetch
internal import Markup
internal import Reports
package import Store
package import System
package import Web

extension CheckReport {
    /// Creates the report for a manifest that its server does not provide, or that is refused. It is never clean,
    /// because no bundle was checked.
    ///
    /// - Parameter verdict: `missing` or, for a refused manifest, `mismatch`.
    package init(
        ofUnusable manifest: String, _ verdict: Verdict, _ error: LarderError, failsOn: Set<Verdict>
    ) {
        let finding = Finding(
            url: manifest, verdict: verdict, detail: "\(error); none of its bundles was checked")
        self.init(
            subject: .manifest(manifest), places: ["live"],
            items: [Item(name: manifest, line: nil, isRequired: true, chain: [], findings: [finding])],
            failsOn: failsOn.union([verdict]))
    }
}

/// One check of all bundles of a manifest in all places. Blocks.
///
/// The result is a table with a row for each bundle (`targets`) and a column for each place (`columns`), such as the store,
/// a build folder and the live server. `run` fills it in this order:
/// 1. Local places are examined. Bodies that match there help to explain mismatches elsewhere.
/// 2. The live server is examined. A live body that differs is compared with a matching local one, to report where.
/// 3. Local mismatches without a difference are compared with matching live bodies.
/// 4. Mismatches that another known release explains become skews (`KnownReleases`).
/// 5. Pages are scanned for chunks of another release (`PageSkews`).
package struct BundleCheck {
    private let source: ManifestSource
    private let targets: [CheckTarget]
    private let columns: [CheckColumn]
    private let failsOn: Set<CheckReport.Verdict>
    private let evidence: Evidence
    private let releases: KnownReleases
    private let progress: (@Sendable (WorkProgress) -> Void)?
    private let access: LiveAccess

    /// Compares every bundle of the manifest with its digests, in every place that the options name.
    ///
    /// - Throws: `LarderError` of kind `.input` for a manifest that does not exist, is invalid or lists no
    ///   bundles, `.machine` if the store or this machine fails, `.interrupted`. A manifest that its server
    ///   does not provide is reported as missing, and one that is refused as a mismatch: it lacks the required signature,
    ///   or is older than the one accepted last. One that has expired is unverifiable.
    package static func report(
        on manifest: String, _ options: CheckOptions, in folder: StoreFolder, _ interruption: Interruption,
        by principal: Principal
    ) throws(LarderError) -> CheckReport {
        var options = options
        let manifest = try placeOfLastUpdate(ofSite: manifest, options, folder) ?? manifest
        let repository = TUFLocation(manifest)
        if options.allowsRollback { try TUFLocation.requireNoRollback(of: manifest) }
        if repository == nil { options.trust = try trust(in: manifest, options.trustedKeys, folder) }
        let source: ManifestSource
        let age: AgeCheck
        do throws(LarderError) {
            let stored = try storedManifest(manifest, options, folder)
            if let stored {
                try stored.requireSignature(options.trust)
                // It is read as it was when it was stored, unless the caller says otherwise.
                var reading = options
                if reading.bases.isEmpty, let base = stored.reading?.base { reading.bases = [base] }
                reading.format = reading.format ?? stored.reading?.format
                source = try ManifestSource(stored, options: reading)
            } else if let repository {
                source = try ManifestSource(
                    repository, named: manifest, nearestZone: principal.nearestZone, options: options,
                    folder: folder, interruption: interruption)
            } else {
                source = try ManifestSource(
                    manifest, nearestZone: principal.nearestZone, options: options, folder: folder,
                    interruption: interruption)
            }
            age = try AgeCheck(of: source, named: manifest, isLive: stored != nil, options, folder)
        } catch {
            guard error.kind == .refused || error.isServerFailure else { throw error }
            return CheckReport(
                ofUnusable: manifest,
                error.isExpired ? .unverifiable : error.kind == .refused ? .mismatch : .missing, error,
                failsOn: options.failsOn)
        }
        // An empty check would be clean, but proves nothing.
        guard !source.manifest.bundles.isEmpty else {
            throw LarderError(.input, "\(source.name) lists no bundles: there is nothing to check")
        }
        let releases: KnownReleases
        do throws(LarderError) {
            releases = try knownReleases(options, of: manifest, principal, folder, interruption)
        } catch  where error.kind == .refused {
            return CheckReport(ofUnusable: manifest, .mismatch, error, failsOn: options.failsOn)
        }
        let check = try BundleCheck(source, options, folder, releases: releases, principal)
        var report = try check.run(interruption)
        guard !interruption.isRequested else { throw .interrupted }
        if source.places.contains(.stored),
            let note = try UnlistedFiles.note(source, named: manifest, check.targets, folder)
        {
            report.notes.append(note)
        }
        return age.adding(to: report)
    }

    /// Returns the manifest of the live snapshot, if the options read a manifest with a URL from the store and a site has
    /// this one. Else nil: a crawl may have stored the URL as a page has others.
    private static func storedManifest(
        _ manifest: String, _ options: CheckOptions, _ folder: StoreFolder
    ) throws(LarderError) -> StoredManifest? {
        guard options.readsManifestFromStore else { return nil }
        let place = ManifestPlan(
            place: ManifestPlan.absoluteLocation(of: manifest), base: options.bases.first)
        guard WebURL(manifest)?.isHTTP == true else {
            let isUpdate = try plans(in: folder).contains {
                $0.plan.isUpdateFile && $0.plan.place == manifest
            }
            return isUpdate ? try StoredManifest.current(at: place, in: folder) : nil
        }
        return try StoredManifest.current(at: place, in: folder)
    }

    /// Returns the path of the update file that was applied last to a site, if the options read the manifest from the store
    /// and the text names such a site. The file itself may be gone.
    private static func placeOfLastUpdate(
        ofSite name: String, _ options: CheckOptions, _ folder: StoreFolder
    ) throws(LarderError) -> String? {
        guard options.readsManifestFromStore else { return nil }
        let plans = try plans(in: folder)
        guard let index = SiteName.index(of: name, among: plans.map(\.site), acceptsOrigin: true),
            plans[index].plan.isUpdateFile
        else { return nil }
        return plans[index].plan.place
    }

    /// The plans of the manifests of stored sites.
    private static func plans(
        in folder: StoreFolder
    ) throws(LarderError) -> [(site: String, plan: ManifestPlan)] {
        guard folder.exists else { return [] }
        do throws(StoreError) {
            return try StoreReader(folder).sites().compactMap { site in
                SitePlan(text: site.settings).manifest.map { (site.name, $0) }
            }
        } catch  where error.reason == .missing {
            return []
        } catch {
            throw LarderError(error)
        }
    }

    /// Returns the keys that must have signed the manifest: those that the options name, else those that are stored with
    /// a site of the manifest.
    ///
    /// - Throws: `LarderError` of kind `.input` for `first-use` if no key is stored. A check stores nothing, so that every
    ///   time would be the first.
    private static func trust(
        in manifest: String, _ names: [String], _ folder: StoreFolder
    ) throws(LarderError) -> ManifestTrust {
        let plan = ManifestPlan(place: ManifestPlan.absoluteLocation(of: manifest))
        var storedKeys: [String] = []
        if names.isEmpty || names == [ManifestTrust.firstUse], folder.exists {
            do throws(StoreError) {
                let sites = try StoreReader(folder).sites()
                storedKeys = plan.storedKeys(among: sites.compactMap { SitePlan(text: $0.settings).manifest })
            } catch  where error.reason == .missing {
                // A folder without a database stores no keys.
            } catch {
                throw LarderError(error)
            }
        }
        let trust = try ManifestTrust(names, storedKeys: storedKeys)
        guard trust.acceptsNamedKey else { return trust }
        throw LarderError(
            .input,
            "no key of \(manifest) is stored, and a check stores none: preload the manifest first, or name its key",
            remedy: .trust)
    }

    /// Returns the manifests of other releases that the options name and that are stored. They need the same signatures:
    /// the verdict on a body that belongs to another release is milder.
    private static func knownReleases(
        _ options: CheckOptions, of manifest: String, _ principal: Principal, _ folder: StoreFolder,
        _ interruption: Interruption
    ) throws(LarderError) -> KnownReleases {
        let loader = try ManifestLoader(options, principal.nearestZone, folder, interruption)
        var releases = KnownReleases()
        for name in options.releases {
            // The user names each of these manifests.
            var zone = principal.nearestZone
            let other = try loader.load(ManifestLocation(name), &zone).manifest
            releases.add(other, name: other.version.map { "version \($0)" } ?? name)
        }
        if options.places.contains(.stored) { try addStoredReleases(of: manifest, in: folder, to: &releases) }
        return releases
    }

    /// Adds the stored manifests from the same place: stored bundles that match these are intact, and only of another
    /// release than the manifest that is being checked.
    private static func addStoredReleases(
        of manifest: String, in folder: StoreFolder, to releases: inout KnownReleases
    ) throws(LarderError) {
        guard folder.exists else { return }
        let place = ManifestPlan(place: ManifestPlan.absoluteLocation(of: manifest))
        do throws(StoreError) {
            let reader = try StoreReader(folder)
            for site in try reader.sites() {
                guard let plan = SitePlan(text: site.settings).manifest, plan.hasSamePlace(as: place),
                    let storedManifest = try StoredManifest.current(of: site.name, reader),
                    let stored = try? ManifestSource(storedManifest, of: plan)
                else { continue }
                let snapshot = site.name(ofSnapshot: site.published).map {
                    "the stored release (snapshot \($0))"
                }
                let version = stored.manifest.version.map { "version \($0)" }
                releases.add(stored.manifest, name: version ?? snapshot ?? "the stored release")
            }
        } catch {
            throw LarderError(error)
        }
    }

    private init(
        _ source: ManifestSource, _ options: CheckOptions, _ folder: StoreFolder, releases: KnownReleases,
        _ principal: Principal
    ) throws(LarderError) {
        self.source = source
        access = LiveAccess(principal, options.network)
        self.releases = releases
        // With this option, a missing digest is a failure.
        failsOn = options.failsOn.union(options.requiresStrongDigests ? [.unverifiable] : [])
        progress = options.progress
        let evidence = Evidence(options.evidence)
        self.evidence = evidence
        targets = try CheckTarget.all(of: source).map { target in
            let target = target.addingFileNameEvidence(evidence)
            return options.requiresStrongDigests ? target.requiringStrongDigest : target
        }
        columns = try CheckColumn.all(of: source, folder, isQuick: options.isQuick)
    }

    private func run(_ interruption: Interruption) throws(LarderError) -> CheckReport {
        var table = [[Examination?]](repeating: [], count: columns.count)
        let progressCounter = ProgressCounter(.bundles, of: targets.count * columns.count, progress)
        // Local places first: fetched bodies are compared with theirs.
        for (place, column) in columns.enumerated() {
            guard let local = column.local else { continue }
            do throws(StoreError) {
                table[place] = try local.examine(targets, column, evidence, interruption)
                progressCounter.add(targets.count)
            } catch {
                throw LarderError(error)
            }
        }
        addLocalDifferences(&table)
        let local = table
        for (place, column) in columns.enumerated() where column.local == nil {
            let live = LiveBundles(
                targets, baseIndex: column.baseIndex,
                nearestZone: access.nearestZone(of: source, at: column.baseIndex),
                evidence, interruption, progressCounter)
            table[place] = try live.examine(comparingWith: { matchingLocalBody($0, local) })
            try addDifferences(to: &table, from: live, at: place)
        }
        findReleases(of: &table)
        var items = self.items(table)
        storeVerdicts(items)
        let verified = zip(columns, table).map { column, examinations in
            Set(
                zip(targets, examinations).lazy.filter { $1?.finding.verdict == .verified }.map {
                    $0.0.urls[column.baseIndex]
                })
        }
        items += try PageSkews(source, targets, columns, access).items(interruption) {
            verified[$0].contains($1)
        }
        var report = CheckReport(
            subject: .manifest(source.name), places: columns.map(\.name), items: items, failsOn: failsOn,
            notes: source.manifest.notes + notesAboutFolders)
        report.signer = source.signer?.key
        return report
    }

    /// Notes about folders in which the manifest's names cannot be found, although the files are there.
    private var notesAboutFolders: [String] {
        columns.compactMap { column in
            guard case .folder(let folder) = column.local else { return nil }
            return folder.noteAboutParent(
                targets.map { folder.relativePath(of: $0.urls[column.baseIndex], base: column.root) })
        }
    }

    /// Returns a local body of the bundle that matches, if it can be read.
    private func matchingLocalBody(_ number: Int, _ table: [[Examination?]]) -> Examination.MatchingBody? {
        for (place, column) in columns.enumerated() {
            guard let local = column.local, table[place][number]?.finding.verdict == .verified,
                let content = local.content(of: targets[number].urls[column.baseIndex], column)
            else { continue }
            return Examination.MatchingBody(place: column.name, content: content)
        }
        return nil
    }

    /// Adds to each local mismatch its first difference from a matching local body.
    private func addLocalDifferences(_ table: inout [[Examination?]]) {
        for (place, column) in columns.enumerated() {
            guard let local = column.local else { continue }
            for number in targets.indices {
                guard case .mismatch = table[place][number]?.finding.verdict,
                    let matching = matchingLocalBody(number, table),
                    let content = local.content(of: targets[number].urls[column.baseIndex], column)
                else { continue }
                table[place][number]?.compare(content, with: matching)
            }
        }
    }

    /// Stores the verdicts on bundles in the store.
    private func storeVerdicts(_ items: [CheckReport.Item]) {
        for (place, column) in columns.enumerated() {
            guard case .stored(let folder, _) = column.local else { continue }
            do throws(StoreError) {
                try VerdictStore.store(
                    zip(targets, items).map { ($0.urls[column.baseIndex], $1.findings[place]) }, in: folder)
            } catch {
                // The report is complete without this. The user may lack permission to write to the store.
            }
        }
    }

    /// Adds to local mismatches without a difference their first difference from the matching bodies of the
    /// server.
    private func addDifferences(
        to table: inout [[Examination?]], from live: LiveBundles, at livePlace: Int
    ) throws(LarderError) {
        for (place, column) in columns.enumerated() {
            guard let local = column.local else { continue }
            let numbers = targets.indices.filter {
                table[place][$0]?.lacksDifference == true
                    && table[livePlace][$0]?.finding.verdict == .verified
            }
            let bodies = numbers.compactMap { number in
                local.content(of: targets[number].urls[column.baseIndex], column).map {
                    (targetIndex: number, content: $0)
                }
            }
            for (body, difference) in zip(bodies, try live.differences(of: bodies)) {
                guard let difference else { continue }
                table[place][body.targetIndex]?.add(difference, from: columns[livePlace].name, byteCount: nil)
            }
        }
    }

    /// Finds out whether mismatches belong to another known release.
    private func findReleases(of table: inout [[Examination?]]) {
        let expected = source.manifest.version.map { "version \($0)" } ?? "that of the manifest"
        for place in table.indices {
            for number in targets.indices {
                guard let examination = table[place][number], let measured = examination.measured else {
                    continue
                }
                table[place][number]?.finding = releases.explain(
                    examination.finding, of: targets[number].bundle, measured: measured, expected: expected)
            }
        }
    }

    private func items(_ table: [[Examination?]]) -> [CheckReport.Item] {
        targets.enumerated().map { number, target in
            CheckReport.Item(
                name: target.bundle.reference, line: target.line, isRequired: target.bundle.isRequired,
                chain: [],
                findings: zip(columns, table).map { column, examinations in
                    CheckReport.Finding(
                        url: column.name(of: target.urls[column.baseIndex]),
                        examinations[number] ?? .missing("no response"),
                        of: target.bundle)
                })
        }
    }
}

/// The network zones that a check may connect to. A manifest from the public network must not make the check connect to
/// addresses of the private network or of this machine.
struct LiveAccess {
    private let principal: Principal
    private let allowedZone: NetworkZone

    init(_ principal: Principal, _ network: NetworkOptions?) {
        self.principal = principal
        allowedZone = network?.allowedZone(principal.nearestZone) ?? .publicNetwork
    }

    /// The nearest network zone that requests for URLs of the manifest may connect to: the zone of the manifest, or that of
    /// the principal if the principal named the base.
    func nearestZone(of source: ManifestSource, at base: Int) -> NetworkZone {
        max(allowedZone, source.bases[base].isGivenByUser ? principal.nearestZone : source.zone)
    }
}

/// Finds pages that need chunks of another release than the manifest's, among the site's start pages and the
/// pages that the manifest lists.
struct PageSkews {
    private let pages: [[WebURL]]
    /// The names of the release, for each base.
    private let names: [ReleaseNames]
    private let columns: [CheckColumn]
    /// For each base, the nearest network zone that requests may connect to.
    private let nearestZones: [NetworkZone]

    /// The maximum size of a page in bytes. A larger live page is skipped, a local one is scanned up to here.
    private static let maxPageBytes = 16 * 1024 * 1024
    /// The maximum number of pages that are scanned. Further ones are not.
    private static let maxPages = 100

    init(
        _ source: ManifestSource, _ targets: [CheckTarget], _ columns: [CheckColumn], _ access: LiveAccess
    ) {
        self.columns = columns
        nearestZones = source.bases.indices.map { access.nearestZone(of: source, at: $0) }
        // Without hashed names, pages do not reveal their release, and none is fetched.
        let isHashed = targets.contains { HashedName($0.bundle.reference) != nil }
        names = source.bases.indices.map { base in ReleaseNames(isHashed ? targets.map { $0.urls[base] } : [])
        }
        pages = source.bases.indices.map { base in
            guard isHashed else { return [] }
            let start = source.manifest.start.compactMap {
                WebURL($0, base: source.bases[base].url)?.withoutFragment
            }
            let listed = targets.map { $0.urls[base] }.filter {
                $0.path.hasSuffix("/") || $0.path.hasSuffix(".html")
            }
            var seen: Set<WebURL> = []
            return (start + listed).filter { $0.isHTTP && seen.insert($0).inserted }
        }
    }

    /// Returns an item for each page that is of another release in some place.
    ///
    /// - Parameter isVerified: whether the page in this place matches its own digest. It is then of the
    ///   manifest's release and is not scanned.
    func items(
        _ interruption: Interruption, isVerified: (_ place: Int, _ page: WebURL) -> Bool
    ) throws(LarderError) -> [CheckReport.Item] {
        var items: [CheckReport.Item] = []
        for number in (pages.first ?? []).indices.prefix(Self.maxPages) {
            var findings: [CheckReport.Finding] = []
            for (place, column) in columns.enumerated() {
                let page = pages[column.baseIndex][number]
                let skew =
                    try isVerified(place, page)
                    ? nil : body(of: page, column, interruption).flatMap { skews(of: page, $0, column).first }
                findings.append(
                    CheckReport.Finding(
                        url: column.name(of: page), verdict: skew == nil ? .verified : .skew,
                        detail: skew?.description))
            }
            guard findings.contains(where: { $0.verdict == .skew }) else { continue }
            items.append(
                CheckReport.Item(
                    name: pages[0][number].href, line: nil, isRequired: true, chain: [], findings: findings))
        }
        return items
    }

    /// Returns the body of a page; nil if it cannot be loaded, which says nothing about releases.
    private func body(
        of page: WebURL, _ column: CheckColumn, _ interruption: Interruption
    ) throws(LarderError) -> [UInt8]? {
        guard let local = column.local else {
            do throws(LarderError) {
                return try SingleFetch.body(
                    page, nearestZone: nearestZones[column.baseIndex], limit: Self.maxPageBytes,
                    interruption: interruption)
            } catch {
                if error.kind == .interrupted { throw error }
                return nil
            }
        }
        return try? local.content(of: page, column)?.beginning(Self.maxPageBytes)
    }

    /// Scans a page for assets of another release.
    private func skews(of page: WebURL, _ body: [UInt8], _ column: CheckColumn) -> [Skew] {
        var references: [(occurrence: LinkOccurrence, text: [UInt8])] = []
        let table = LinkScanner().scan(body.span, as: .html, charset: nil) { occurrence, reference in
            guard occurrence.role == .asset else { return }
            references.append((occurrence, reference.withUnsafeBufferPointer { Array($0) }))
        }
        let base = table.base.flatMap { WebURL($0, base: page) } ?? page
        let requested = references.compactMap { occurrence, text in
            WebURL(utf8: text.span, base: occurrence.flags.contains(.ignoresBase) ? page : base)
        }
        return names[column.baseIndex].skews(onPage: page, references: requested)
    }
}

extension CheckReport.Finding {
    /// The detail, after the proof of a verified bundle (`BundleProof`).
    fileprivate var provenDetail: String? {
        guard let proof else { return detail }
        return proof.text + (detail.map { "; \($0)" } ?? "")
    }
}

/// Stores the verdicts on stored bundles, so that the portal can show them without hashing.
package enum VerdictStore {
    /// - Parameters:
    ///   - findings: one for each bundle, with the URL that was checked.
    ///   - snapshot: the snapshot that was checked; nil for the live snapshots.
    package static func store(
        _ findings: [(url: WebURL, finding: CheckReport.Finding)], snapshot: Int64? = nil,
        in folder: StoreFolder
    ) throws(StoreError) {
        let reader = try StoreReader(folder)
        var verdicts: [BundleVerdict] = []
        for (url, finding) in findings {
            let body = try reader.responseWithBody(at: url, snapshot: snapshot)?.1
            verdicts.append(
                BundleVerdict(
                    href: url.withoutFragment.href, sha256: body?.sha256 ?? [],
                    name: finding.verdict.rawValue,
                    detail: finding.provenDetail,
                    isGood: finding.verdict == .verified))
        }
        try ActivityDatabase(folder).recordVerdicts(verdicts)
    }
}
