internal import Check
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Removes what nothing refers to and, with a limit, what goes beyond it: first visits that are not
    /// shown, the oldest first, then what was not served for the longest time. What is pinned stays. The
    /// files really become smaller.
    ///
    /// What is evicted is missing then, and fetched at the next prefetch of its site.
    ///
    /// - Parameter progress: told how many bytes are in use, now and then, on a thread of the collection's.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, somebody else writes
    ///   to it, or the store fails. That the limit could not be reached is no error; it is in the report.
    public func collect(
        limit: ByteSize? = nil, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> CollectionReport {
        try await makingRoom("larder-gc") { (reader) throws(StoreError) in
            // A collection that was stopped may have left words of what is gone.
            if limit != nil { SearchIndex.clean(reader) }
            let folder = reader.folder
            func collect(isIndexClean: Bool) throws(StoreError) -> CollectionResult {
                let result = try StoreWriter(folder).collect(
                    limit: limit?.byteCount, isIndexClean: isIndexClean
                ) {
                    progress?(WorkProgress(.room, done: 0, of: nil, byteCount: $0))
                }
                SearchIndex.clean(reader)
                return result
            }
            var result = try collect(isIndexClean: false)
            // Of what went less may have been in the index than was reckoned with.
            if let limit, folder.server == nil, folder.byteCount > limit.byteCount {
                let before = result
                result = try collect(isIndexClean: true)
                result.droppedVisits += before.droppedVisits
                result.evictedURLs += before.evictedURLs
                result.removedBodies += before.removedBodies
                result.byteCountBefore = before.byteCountBefore
            }
            result.byteCountAfter = folder.byteCount
            return try CollectionReport(result, limit: limit, reader)
        }
    }

    /// What gives room back may itself need some: on a full disk that of the words goes first, which are made anew.
    func makingRoom<Value: Sendable>(
        _ thread: String, _ body: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(LarderError) -> Value {
        try await reading(thread) { (reader) throws(StoreError) in
            do throws(StoreError) {
                return try body(reader)
            } catch  where error.reason == .full && reader.folder.hasSearchIndex {
                reader.folder.removeSearchIndex()
                return try body(reader)
            }
        }
    }

    /// What a collection would take now, by name. It takes nothing: it is tried on a copy of the database,
    /// for which there has to be room in `$TMPDIR`; in a PostgreSQL, in a transaction that is taken back.
    ///
    /// - Throws: As `collect`.
    public func forecastCollection(limit: ByteSize? = nil) async throws(LarderError) -> CollectionForecast {
        let folder = folder
        return try await Self.onThread("larder-gc") { () throws(LarderError) in
            let copy = try TemporaryLarder()
            defer { copy.remove() }
            return try storing { () throws(StoreError) in
                // A writer would make a larder where there is none.
                _ = try StoreReader(folder)
                let forecast = try StoreWriter(folder).rehearseCollection(
                    limit: limit?.byteCount, in: copy.larder.folder)
                // What a PostgreSQL keeps was tried where it is, and taken back.
                let tried = folder.server == nil ? copy.larder.folder : folder
                return try CollectionForecast(forecast, limit: limit, StoreReader(tried))
            }
        }
    }
}
