internal import Store
internal import Web

/// Keeps what was found of held bundles, for the portal to show without hashing anything.
enum VerdictNotes {
    /// - Parameters:
    ///   - findings: one for each bundle, by the address that was looked at.
    ///   - visit: which was looked at; nil for what is shown.
    static func keep(
        _ findings: [(url: WebURL, finding: CheckReport.Finding)], visit: Int64? = nil, in folder: StoreFolder
    ) throws(StoreError) {
        let reader = try StoreReader(folder)
        var verdicts: [BundleVerdict] = []
        for (url, finding) in findings {
            let body = try reader.answer(at: url, visit: visit)?.1
            verdicts.append(
                BundleVerdict(
                    href: url.withoutFragment.href, sha256: body?.sha256 ?? [], name: finding.verdict.rawValue,
                    detail: finding.detail, isGood: finding.verdict == .verified))
        }
        try NoteBook(folder).note(verdicts: verdicts)
    }
}
