internal import Digest
internal import Store

extension Larder {
    /// Compares every body with its digest. With `repair`, damaged bodies are taken out of service: what had them is missing
    /// and fetched at the next prefetch.
    ///
    /// - Parameter progress: told how much was read, now and then, on a thread of the inspection's.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, or it cannot be read or repaired.
    public func inspect(
        repair: Bool = false, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> InspectionReport {
        let folder = folder
        return try await Self.onThread("larder-fsck") { () throws(LarderError) in
            do throws(StoreError) {
                let reader = try StoreReader(folder)
                let count = progress == nil ? nil : try reader.summary().bodies
                let findings = try reader.inspect {
                    progress?(WorkProgress(.bodies, done: $0.bodiesChecked, of: count, byteCount: $0.bytesChecked))
                }
                if repair {
                    try StoreWriter(folder).repair(findings)
                } else {
                    let damaged = findings.damaged.compactMap { Digest(.sha256, hex: $0.sha256)?.bytes }
                    try NoteBook.mark(damaged: damaged, in: folder)
                }
                return InspectionReport(findings, isRepaired: repair)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension NoteBook {
    /// Marks bodies that somebody found damaged, so that whoever fetches next loads them again. Where this user may not write,
    /// nothing is marked.
    static func mark(damaged bodies: [[UInt8]], in folder: StoreFolder) throws(StoreError) {
        guard !bodies.isEmpty else { return }
        do throws(StoreError) {
            try NoteBook(folder).note(damaged: bodies)
        } catch {
            switch error.reason {
            case .denied, .busy, .full: return
            case .missing, .unusable, .failed: throw error
            }
        }
    }
}
