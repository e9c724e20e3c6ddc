internal import Bundles
internal import Fetch
internal import Store
internal import Web

/// One run over all bundles of a manifest and all places. Blocks.
struct BundleCheck {
    private let source: ManifestSource
    private let targets: [CheckTarget]
    private let columns: [CheckColumn]
    private let failsOn: Set<CheckReport.Verdict>
    private let progress: (@Sendable (WorkProgress) -> Void)?

    init(_ source: ManifestSource, _ options: CheckOptions, _ folder: StoreFolder) throws(LarderError) {
        self.source = source
        failsOn = options.failsOn
        progress = options.progress
        targets = try CheckTarget.all(of: source)
        columns = try CheckColumn.all(of: source, folder)
    }

    func run(_ interruption: Interruption) throws(LarderError) -> CheckReport {
        var found = [[Examination?]](repeating: [], count: columns.count)
        let tally = WorkTally(.bundles, of: targets.count * columns.count, progress)
        // What is at hand comes first: what comes over the network is compared with it.
        for (place, column) in columns.enumerated() {
            guard let local = column.local else { continue }
            do throws(StoreError) {
                found[place] = try local.examine(targets, column, interruption)
                tally.add(targets.count)
            } catch {
                throw LarderError(error)
            }
        }
        compareLocally(&found)
        let local = found
        for (place, column) in columns.enumerated() where column.local == nil {
            found[place] = try LiveBundles.examine(targets, base: column.base, interruption, tally) { good($0, local) }
        }
        var items = self.items(found)
        note(items)
        items += try PageSkews(source, targets, columns).items(interruption)
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
