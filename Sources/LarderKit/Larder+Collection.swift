internal import Check
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Removes what nothing refers to. With a limit, it then removes other content until the store fits, in this
    /// order: temporary files, unused room, snapshots that are not served (the oldest first), and responses that
    /// servers loaded. Pinned content stays. The files really become smaller.
    ///
    /// - Parameters:
    ///   - limit: how large the store may be.
    ///   - keepLast: how many snapshots each site keeps, the served one among them. Nil keeps all, unless the limit
    ///     requires otherwise.
    ///   - allowsIncomplete: evicts pages of live snapshots when nothing else is left, those first that were not
    ///     served for longest. They are missing until the next prefetch of their site.
    ///   - progress: is given the number of bytes in use, now and then, on a thread of the collection's own.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, somebody else writes
    ///   to it, or the store fails. That the limit could not be reached is no error; it is in the report.
    public func collect(
        limit: ByteSize? = nil, keepLast: Int? = nil, allowsIncomplete: Bool = false,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> CollectionReport {
        let options = CollectionOptions(
            limit: limit?.byteCount, keepLast: keepLast, allowsIncomplete: allowsIncomplete)
        return try await makingRoom("larder-gc", limit: limit) { (reader) throws(StoreError) in
            // A collection that was stopped may have left words of what is gone.
            if limit != nil { SearchIndex.clean(reader) }
            let folder = reader.folder
            var done: CollectionResult?
            func collect(_ options: CollectionOptions) throws(StoreError) {
                var further = try StoreWriter(folder).collect(options) {
                    progress?(WorkProgress(.room, done: 0, of: nil, byteCount: $0))
                }
                SearchIndex.clean(reader)
                if let done { further.add(earlier: done) }
                done = further
            }
            try collect(options)
            // The search index may become less small than the rest: then a little more goes, and last all that is
            // necessary beside the index as it is.
            if let limit = limit?.byteCount, folder.server == nil {
                var tighter = options
                for isIndexClean in [false, false, true] where folder.byteCount > limit {
                    let excess = folder.byteCount - limit
                    tighter.limit = isIndexClean ? limit : max(0, (tighter.limit ?? limit) - excess)
                    tighter.isIndexClean = isIndexClean
                    try collect(tighter)
                }
            }
            var result = done ?? CollectionResult()
            result.byteCountAfter = folder.byteCount
            return try CollectionReport(result, limit: limit, allowsIncomplete: allowsIncomplete, reader)
        }
    }

    /// Runs an operation that removes content, and itself needs some room to do so. On a full disk that room comes from
    /// the reserve, and then from the search index, which can be made again.
    func makingRoom<Value: Sendable>(
        _ thread: String, limit: ByteSize? = nil,
        _ body: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(LarderError) -> Value {
        folder.releaseReserve()
        defer { folder.createReserve(limit: limit?.byteCount) }
        return try await reading(thread) { (reader) throws(StoreError) in
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
    public func forecastCollection(
        limit: ByteSize? = nil, keepLast: Int? = nil, allowsIncomplete: Bool = false
    ) async throws(LarderError) -> CollectionForecast {
        let folder = folder
        let options = CollectionOptions(
            limit: limit?.byteCount, keepLast: keepLast, allowsIncomplete: allowsIncomplete)
        return try await Self.onThread("larder-gc") { () throws(LarderError) in
            let copy = try TemporaryLarder()
            defer { copy.remove() }
            return try storing { () throws(StoreError) in
                // A writer would make a larder where there is none.
                _ = try StoreReader(folder)
                let forecast = try StoreWriter(folder).rehearseCollection(options, in: copy.larder.folder)
                // What a PostgreSQL keeps was tried where it is, and taken back.
                let tried = folder.server == nil ? copy.larder.folder : folder
                return try CollectionForecast(
                    forecast, limit: limit, allowsIncomplete: allowsIncomplete, StoreReader(tried))
            }
        }
    }
}
