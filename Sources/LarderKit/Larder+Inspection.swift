internal import Check
internal import Crawl
internal import Digest
internal import Markup
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Compares every body with its digest, every link table with its checksum, and the database with the journal.
    ///
    /// With `repair`, damaged bodies are removed from service: their responses are missing until the next prefetch.
    /// Link tables and the journal are rebuilt. A damaged, truncated or missing database is rebuilt from its readable
    /// rows, the journal and the bodies; the old one is kept in `quarantine`.
    ///
    /// - Parameters:
    ///   - repair: repairs the store. Else only damaged bodies are marked, so that the next prefetch loads them
    ///     again.
    ///   - progress: receives the number of checked bodies now and then, on a thread of the inspection.
    /// - Throws: `LarderError` of kind `.machine` if there is no store at the path, or it cannot be read or repaired.
    public func inspect(
        repair: Bool = false, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> InspectionReport {
        let folder = folder
        return try await Self.runOnThread("larder-fsck") { () throws(LarderError) -> InspectionReport in
            // On a full disk, a repair needs the room of the reserve.
            if repair { folder.releaseReserve() }
            defer { if repair { folder.createReserve() } }
            var report = try mapStoreError { () throws(StoreError) -> InspectionReport in
                guard repair else {
                    let findings = try Self.findings(in: folder, progress)
                    let damaged = findings.damagedBodies.compactMap { Digest(.sha256, hex: $0.sha256)?.bytes }
                    try ActivityDatabase.markDamagedIfWritable(damaged, in: folder)
                    return InspectionReport(findings, isRepaired: false)
                }
                return try Self.repair(folder, progress)
            }
            report.isIndexSound = SearchIndex.isSound(folder, repair: repair)
            return report
        }
    }

    private static func findings(
        in folder: StoreFolder, _ progress: (@Sendable (WorkProgress) -> Void)?
    ) throws(StoreError) -> StoreFindings {
        let reader = try StoreReader(folder)
        let count = progress == nil ? nil : try reader.summary().bodies
        return try reader.inspect(
            isLinkTableSound: { $0.isEmpty || LinkTable.isDecodable($0) },
            progress: {
                progress?(
                    WorkProgress(.bodies, done: $0.bodiesChecked, of: count, byteCount: $0.bytesChecked))
            })
    }

    private static func repair(
        _ folder: StoreFolder, _ progress: (@Sendable (WorkProgress) -> Void)?
    ) throws(StoreError) -> InspectionReport {
        do throws(StoreError) {
            let findings = try findings(in: folder, progress)
            if !findings.isRebuildNeeded {
                let writer = try StoreWriter(folder)
                try writer.repair(findings)
                if !findings.hrefsWithDamagedLinks.isEmpty { try relink(writer) }
                // Dangling rows are removed now. Damage to the pages of the database file is not.
                if findings.databaseFaults.isEmpty { return InspectionReport(findings, isRepaired: true) }
                let left = try self.findings(in: folder, nil)
                if left.isSound { return InspectionReport(findings, isRepaired: true) }
            }
        } catch {
            guard error.reason == .unusable || error.reason == .failed else { throw error }
        }
        let rebuilt = try StoreRebuild.run(folder)
        try relink(StoreWriter(folder))
        return InspectionReport(try findings(in: folder, progress), isRepaired: true, rebuilt)
    }

    /// Scans bodies that have no link table.
    private static func relink(_ writer: StoreWriter) throws(StoreError) {
        let scanner = LinkScanner()
        try writer.relink { form, bytes in
            (scanner.table(of: bytes.span, form: form) ?? LinkTable()).encoded()
        }
    }
}
