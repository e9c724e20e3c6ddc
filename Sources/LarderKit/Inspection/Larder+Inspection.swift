internal import Store

extension Larder {
    /// Compares every body with its digest. With `repair`, damaged bodies are taken out of service: what had them is missing
    /// and fetched at the next prefetch.
    ///
    /// - Parameter progress: told how many bodies were read, now and then, on a thread of the inspection's.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, or it cannot be read or repaired.
    public func inspect(
        repair: Bool = false, progress: (@Sendable (Int) -> Void)? = nil
    ) async throws(LarderError) -> InspectionReport {
        let folder = folder
        return try await Self.onThread("larder-fsck") { () throws(LarderError) in
            do throws(StoreError) {
                let findings = try StoreReader(folder).inspect { progress?($0.bodiesChecked) }
                if repair { try StoreWriter(folder).repair(findings) }
                return InspectionReport(findings, isRepaired: repair)
            } catch {
                throw LarderError(error)
            }
        }
    }
}
