internal import Bundles
internal import Fetch
internal import Store
internal import System
internal import Web

/// One run over all bundles of a manifest and all places. Blocks.
struct BundleCheck {
    private let source: ManifestSource
    private let targets: [CheckTarget]
    private let columns: [CheckColumn]
    private let failsOn: Set<CheckReport.Verdict>
    private let evidence: Evidence
    private let releases: KnownReleases
    private let progress: (@Sendable (WorkProgress) -> Void)?

    init(
        _ source: ManifestSource, _ options: CheckOptions, _ folder: StoreFolder, releases: KnownReleases
    ) throws(LarderError) {
        self.source = source
        self.releases = releases
        failsOn = options.failsOn
        progress = options.progress
        let evidence = Evidence(options.evidence)
        self.evidence = evidence
        targets = try CheckTarget.all(of: source).map { $0.adding(evidence) }
        columns = try CheckColumn.all(of: source, folder)
    }

    func run(_ interruption: Interruption) throws(LarderError) -> CheckReport {
        var found = [[Examination?]](repeating: [], count: columns.count)
        let tally = WorkTally(.bundles, of: targets.count * columns.count, progress)
        // What is at hand comes first: what comes over the network is compared with it.
        for (place, column) in columns.enumerated() {
            guard let local = column.local else { continue }
            do throws(StoreError) {
                found[place] = try local.examine(targets, column, evidence, interruption)
                tally.add(targets.count)
            } catch {
                throw LarderError(error)
            }
        }
        compareLocally(&found)
        let local = found
        for (place, column) in columns.enumerated() where column.local == nil {
            let live = LiveBundles(targets, base: column.base, evidence, interruption, tally)
            found[place] = try live.examine { good($0, local) }
            try compare(&found, with: live, at: place)
        }
        explain(&found)
        var items = self.items(found)
        note(items)
        let verified = zip(columns, found).map { column, examinations in
            Set(
                zip(targets, examinations).lazy.filter { $1?.finding.verdict == .verified }.map {
                    $0.0.urls[column.base]
                })
        }
        items += try PageSkews(source, targets, columns).items(interruption) { verified[$0].contains($1) }
        return CheckReport(
            subject: .manifest(source.name), places: columns.map(\.name), items: items, failsOn: failsOn,
            notes: source.manifest.notes)
    }

    /// A body of the bundle that was found to match, where it can be looked at.
    private func good(_ number: Int, _ found: [[Examination?]]) -> Examination.GoodBody? {
        for (place, column) in columns.enumerated() {
            guard let local = column.local, found[place][number]?.finding.verdict == .verified,
                let content = local.content(of: targets[number].urls[column.base], column)
            else { continue }
            return Examination.GoodBody(place: column.name, content: content)
        }
        return nil
    }

    private func compareLocally(_ found: inout [[Examination?]]) {
        for (place, column) in columns.enumerated() {
            guard let local = column.local else { continue }
            for number in targets.indices {
                guard case .mismatch = found[place][number]?.finding.verdict, let good = good(number, found),
                    let content = local.content(of: targets[number].urls[column.base], column)
                else { continue }
                found[place][number]?.compare(content, with: good)
            }
        }
    }

    /// What is held is held of one base's addresses or another's.
    private func note(_ items: [CheckReport.Item]) {
        for (place, column) in columns.enumerated() {
            guard case .held(let folder) = column.local else { continue }
            do throws(StoreError) {
                try VerdictNotes.keep(
                    zip(targets, items).map { ($0.urls[column.base], $1.findings[place]) }, in: folder)
            } catch {
                // The report says what was found; whoever may not write to the larder checks it all the same.
            }
        }
    }

    /// What is at hand and wrong is compared with what came and is right.
    private func compare(
        _ found: inout [[Examination?]], with live: LiveBundles, at livePlace: Int
    ) throws(LarderError) {
        for (place, column) in columns.enumerated() {
            guard let local = column.local else { continue }
            let numbers = targets.indices.filter {
                found[place][$0]?.lacksDifference == true && found[livePlace][$0]?.finding.verdict == .verified
            }
            let bodies = numbers.compactMap { number in
                local.content(of: targets[number].urls[column.base], column).map { (number: number, content: $0) }
            }
            for (body, difference) in zip(bodies, try live.differences(of: bodies)) {
                guard let difference else { continue }
                found[place][body.number]?.add(difference, from: columns[livePlace].name, byteCount: nil)
            }
        }
    }

    /// What does not match may be of another release that is known.
    private func explain(_ found: inout [[Examination?]]) {
        let expected = source.manifest.version.map { "version \($0)" } ?? "what the manifest says"
        for place in found.indices {
            for number in targets.indices {
                guard let examination = found[place][number], let measured = examination.measured else { continue }
                found[place][number]?.finding = releases.explain(
                    examination.finding, of: targets[number].bundle, measured: measured, expected: expected)
            }
        }
    }

    private func items(_ found: [[Examination?]]) -> [CheckReport.Item] {
        targets.enumerated().map { number, target in
            CheckReport.Item(
                name: target.bundle.reference, line: target.line, isRequired: target.bundle.isRequired, chain: [],
                findings: zip(columns, found).map { column, examinations in
                    CheckReport.Finding(
                        url: column.name(of: target.urls[column.base]),
                        examinations[number] ?? .missing("nothing was answered"))
                })
        }
    }
}
