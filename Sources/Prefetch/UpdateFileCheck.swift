package import Check
internal import Crawl
internal import Updates

/// Verifying an update file without applying it.
extension SiteRun {
    /// Verifies the structure, all digests and the signature of an update file. The keys are those that the caller names, else
    /// those that are stored with its site. Changes nothing.
    ///
    /// - Throws: `LarderError` of kind `.input` for a name that is no key, `.machine` if the file or the store cannot be read.
    ///   A file that does not verify is a result in the report.
    package func check(
        updateFile path: String, trusting names: [String], failsOn: Set<CheckReport.Verdict>
    ) throws(LarderError) -> CheckReport {
        var items: [CheckReport.Item] = []
        var notes: [String] = []
        var key: String?
        do throws(LarderError) {
            let update = try mapUpdateError { () throws(UpdateError) in try UpdateReader(path) }
            let site = try siteIfKnown(of: update)
            let trust = try ManifestTrust(
                names, storedKeys: site.flatMap { storedPlan(of: $0)?.manifest?.trustedKeys } ?? [])
            key = try update.requireSignature(trust)?.key
            try mapUpdateError { () throws(UpdateError) in try update.verifyFrames(interruption) }
            items = update.list.files.map { file in
                CheckReport.Item(
                    name: file.url, line: nil, isRequired: true, chain: [],
                    findings: [
                        .init(
                            url: file.url, verdict: .verified, detail: nil,
                            algorithm: file.body == nil ? nil : "sha256")
                    ])
            }
            notes.append(signatureNote(update, key))
            if let needed = update.list.fromVersion {
                let stored = try site.flatMap { (site) throws(LarderError) in
                    try storedVersion(ofSite: site)
                }
                notes.append(
                    "it is applied to release \(needed)" + (stored.map { "; this machine has \($0)" } ?? ""))
            }
        } catch {
            guard error.kind == .refused else { throw error }
            items = [CheckReport.Item(url: path, .mismatch, error.description)]
        }
        var report = CheckReport(
            subject: .manifest(path), places: ["update file"], items: items, failsOn: failsOn)
        report.notes = notes
        report.signer = key
        return report
    }

    private func signatureNote(_ update: UpdateReader, _ key: String?) -> String {
        if let key { return "the update file is signed by \(key)" }
        return update.signature == nil
            ? "the update file is not signed"
            : "the signature of the update file was not verified, since no key of its site is known: name the key"
    }

    /// The site of an update; nil if it names none and no stored site has its base.
    private func siteIfKnown(of update: UpdateReader) throws(LarderError) -> String? {
        do throws(LarderError) {
            return try target(of: update, PreloadOptions()).site
        } catch {
            guard error.kind == .input else { throw error }
            return nil
        }
    }
}
