internal import Check
internal import Crawl
internal import Digest
internal import Markup
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Compares every body with its digest. With `repair`, damaged bodies are taken out of service: what had them is missing
    /// and fetched at the next prefetch. A database that is damaged, cut or gone is made anew, of what can be read of it and of
    /// what stands beside it; the old one is kept in `quarantine`.
    ///
    /// - Parameter progress: told how much was read, now and then, on a thread of the inspection's.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, or it cannot be read or repaired.
    public func inspect(
        repair: Bool = false, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> InspectionReport {
        let folder = folder
        return try await Self.onThread("larder-fsck") { () throws(LarderError) in
            do throws(StoreError) {
                guard repair else {
                    let findings = try Self.findings(in: folder, progress)
                    let damaged = findings.damaged.compactMap { Digest(.sha256, hex: $0.sha256)?.bytes }
                    try NoteBook.mark(damaged: damaged, in: folder)
                    return InspectionReport(findings, isRepaired: false)
                }
                return try Self.repair(folder, progress)
            } catch {
                throw LarderError(error)
            }
        }
    }

    private static func findings(
        in folder: StoreFolder, _ progress: (@Sendable (WorkProgress) -> Void)?
    ) throws(StoreError) -> StoreFindings {
        let reader = try StoreReader(folder)
        let count = progress == nil ? nil : try reader.summary().bodies
        return try reader.inspect {
            progress?(WorkProgress(.bodies, done: $0.bodiesChecked, of: count, byteCount: $0.bytesChecked))
        }
    }

    private static func repair(
        _ folder: StoreFolder, _ progress: (@Sendable (WorkProgress) -> Void)?
    ) throws(StoreError) -> InspectionReport {
        do throws(StoreError) {
            let findings = try findings(in: folder, progress)
            try StoreWriter(folder).repair(findings)
            // Rows that name others which are not there are gone now. What is wrong with the pages of the file stays.
            if findings.databaseFaults.isEmpty { return InspectionReport(findings, isRepaired: true) }
            let left = try self.findings(in: folder, nil)
            if left.isSound { return InspectionReport(findings, isRepaired: true) }
        } catch {
            guard error.reason == .unusable || error.reason == .failed else { throw error }
        }
        let rebuilt = try StoreRebuild.run(folder)
        let scanner = LinkScanner()
        try StoreWriter(folder).relink { form, bytes in
            (scanner.table(of: bytes.span, form: form) ?? LinkTable()).encoded()
        }
        return InspectionReport(try findings(in: folder, progress), isRepaired: true, rebuilt)
    }
}

/// What an inspection of a larder found.
public struct InspectionReport: Sendable, Equatable {
    public let bodiesChecked: Int
    public let bytesChecked: Int64
    /// Bodies that are not what their digest says, or are gone.
    public let damaged: [Damage]
    /// Bodies that no response has: kept by nothing, harmless.
    public let orphanBodies: Int
    public let orphanFiles: [String]
    /// What SQLite says of the database itself.
    public let databaseFaults: [String]
    /// The damaged bodies were taken out of service, and what nothing refers to was removed.
    public let isRepaired: Bool
    /// What came back where the database had to be made anew; nil where it had not.
    public let rebuilt: Rebuilt?

    public struct Rebuilt: Sendable, Equatable {
        /// Addresses and bodies that are held again.
        public let addresses: Int
        public let bodies: Int
        /// Bodies that are not there any more, or are not what they were: what had them is missing.
        public let lostBodies: Int
    }

    public struct Damage: Sendable, Equatable {
        public let sha256: String
        public let fault: String
        /// The addresses that have it; after a repair they are missing, and fetched at the next prefetch.
        public let addresses: [String]
    }

    /// Everything that is held is what was fetched.
    public var isSound: Bool { damaged.isEmpty && databaseFaults.isEmpty }

    init(_ findings: StoreFindings, isRepaired: Bool, _ rebuilt: StoreRebuild? = nil) {
        self.rebuilt = rebuilt.map {
            Rebuilt(addresses: $0.addresses, bodies: $0.bodies, lostBodies: $0.lostBodies)
        }
        bodiesChecked = findings.bodiesChecked
        bytesChecked = findings.bytesChecked
        damaged = findings.damaged.map { Damage(sha256: $0.sha256, fault: $0.fault, addresses: $0.addresses) }
        orphanBodies = findings.orphanBodies
        orphanFiles = findings.orphanFiles
        databaseFaults = findings.databaseFaults
        self.isRepaired = isRepaired
    }

    /// The report for programs.
    public var json: String {
        var writer = JSONWriter(.pretty)
        writer.object { object in
            object.member("sound", isSound)
            object.member("repaired", isRepaired)
            object.member("bodies", bodiesChecked)
            object.member("bytes", bytesChecked)
            object.member("damaged") { list in
                list.array { array in
                    for damage in damaged {
                        array.object { object in
                            object.member("sha256", damage.sha256)
                            object.member("fault", damage.fault)
                            object.member("addresses", damage.addresses)
                        }
                    }
                }
            }
            object.member("orphanBodies", orphanBodies)
            object.member("orphanFiles", orphanFiles)
            object.member("databaseFaults", databaseFaults)
            if let rebuilt {
                object.member("rebuilt") { value in
                    value.object { object in
                        object.member("addresses", rebuilt.addresses)
                        object.member("bodies", rebuilt.bodies)
                        object.member("lostBodies", rebuilt.lostBodies)
                    }
                }
            }
        }
        return writer.text
    }
}
