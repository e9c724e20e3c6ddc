internal import Check
internal import Reports
internal import Store

/// Where the larder itself is kept.
extension Larder {
    /// How it is kept, how much room it takes, and who writes to it. Changes nothing.
    ///
    /// ```swift
    /// if try await larder.storeStatus().needsMigration { _ = try await larder.migrateStore() }
    /// ```
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, or it cannot be read.
    public func storeStatus() async throws(LarderError) -> StoreReport {
        let folder = folder
        return try await Self.onThread("larder-store") { () throws(LarderError) in
            try storing { () throws(StoreError) in
                StoreReport(try folder.condition(), path: folder.name)
            }
        }
    }

    /// Copies everything that is held to another place, a folder or `postgres://...`, where there is no larder
    /// yet, and goes on with a copy that was interrupted. Visits, addresses and bodies keep their numbers, and
    /// each body is held against its digest before it goes.
    ///
    /// What is of this machine stays: logins, the proxy's authority, the portal's password, and the index of
    /// words, which can be made anew there.
    ///
    /// ```swift
    /// let report = try await larder.copyStore(to: "postgres://ann@db.example.com/larder")
    /// ```
    ///
    /// - Parameters:
    ///   - verify: all bodies are read back in the end, and compared with their digests.
    ///   - progress: told how many bodies went, now and then, on a thread of the copy's.
    /// - Throws: `LarderError` of kind `.input` where something else is there, `.machine` when there is no
    ///   larder, or one of them cannot be read or written. Damaged bodies are no error; they are in the report.
    public func copyStore(
        to place: String, verify: Bool = false, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> CopyReport {
        let from = folder
        var target = Self.folder(at: place)
        target.compresses = compresses
        let to = target
        return try await Self.onThread("larder-copy") { () throws(LarderError) in
            try storing { () throws(StoreError) in
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

    /// Brings its tables up to date, while others go on with their work. Of a folder, whoever opens it first
    /// does that.
    ///
    /// - Throws: `LarderError` of kind `.machine` when there is no larder, only a newer one knows it, or its
    ///   tables are in use for too long.
    public func migrateStore() async throws(LarderError) -> MigrationReport {
        let folder = folder
        return try await Self.onThread("larder-store") { () throws(LarderError) in
            try storing { () throws(StoreError) in
                MigrationReport(path: folder.name, steps: try folder.migrate())
            }
        }
    }
}
