internal import Check
internal import Reports
internal import Store

/// Operations on the store as a whole.
extension Larder {
    /// The format, size and writers of the store. Changes nothing.
    ///
    /// ```swift
    /// if try await larder.storeStatus().needsMigration { _ = try await larder.migrateStore() }
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.machine` if there is no store, or it cannot be read.
    public func storeStatus() async throws(LarderError) -> StoreReport {
        let folder = folder
        return try await Self.runOnThread("larder-store") { () throws(LarderError) in
            try mapStoreError { () throws(StoreError) in
                StoreReport(try folder.condition(), path: folder.name)
            }
        }
    }

    /// Copies the store to another place, a folder or `postgres://...`, at which there is no store yet, or continues
    /// an interrupted copy. Snapshots, URLs and bodies keep their numbers. Each body is compared with its digest
    /// before it is copied.
    ///
    /// Data of this machine is not copied: logins, the proxy's authority, the portal's password, and the search
    /// index, which can be rebuilt there.
    ///
    /// ```swift
    /// let report = try await larder.copyStore(to: "postgres://ann@db.example.com/larder")
    /// ```
    ///
    /// - Parameters:
    ///   - place: the path or address of the copy.
    ///   - verify: reads all bodies back at the end, and compares them with their digests.
    ///   - progress: receives the number of copied bodies now and then, on a thread of the copy.
    /// - Throws: `LarderError` of kind `.input` if there is something else at the place, `.machine` if there is no
    ///   store, or one of the two cannot be read or written. Damaged bodies are listed in the report.
    public func copyStore(
        to place: String, verify: Bool = false, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> CopyReport {
        let from = folder
        var target = Self.folder(at: place)
        target.compresses = compresses
        let to = target
        return try await Self.runOnThread("larder-copy") { () throws(LarderError) in
            try mapStoreError { () throws(StoreError) in
                let total = progress == nil ? nil : try StoreReader(from).summary().bodies
                let result = try StoreCopy.run(from: from, to: to, verify: verify) { result in
                    progress?(
                        WorkProgress(
                            .bodies, done: result.copiedBodies + result.verifiedBodies,
                            of: total.map { verify ? $0 * 2 : $0 }, byteCount: result.copiedBytes))
                }
                return CopyReport(result, from: from.name, to: to.name, isVerified: verify)
            }
        }
    }

    /// Migrates the tables of the store to the current version, while other processes go on working. Opening a store
    /// in a folder migrates it too.
    ///
    /// - Throws: `LarderError` of kind `.machine` if there is no store, a newer version of Larder wrote it, or its
    ///   tables are in use for too long.
    public func migrateStore() async throws(LarderError) -> MigrationReport {
        let folder = folder
        return try await Self.runOnThread("larder-store") { () throws(LarderError) in
            try mapStoreError { () throws(StoreError) in
                MigrationReport(path: folder.name, steps: try folder.migrate())
            }
        }
    }
}
