internal import Store

extension Larder {
    /// Removes what nothing refers to and, with a limit, what goes beyond it: first visits that are not shown, the oldest
    /// first, then what was not served for the longest time. What is pinned stays. The files really become smaller.
    ///
    /// What is evicted is missing then, and fetched at the next prefetch of its site.
    ///
    /// - Parameter progress: told how many bytes are in use, now and then, on a thread of the collection's.
    /// - Throws: `LarderError` of kind `.machine` when there is no larder at the path, somebody else writes to it, or the
    ///   store fails. That the limit could not be reached is no error; it is in the report.
    public func collect(
        limit: ByteSize? = nil, progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> CollectionReport {
        let folder = folder
        return try await Self.onThread("larder-gc") { () throws(LarderError) in
            do throws(StoreError) {
                // A writer would make a larder where there is none.
                let reader = try StoreReader(folder)
                let result = try StoreWriter(folder).collect(limit: limit?.byteCount) {
                    progress?(WorkProgress(.room, done: 0, of: nil, byteCount: $0))
                }
                let everything = try reader.sites().map { Pin(.site, $0.name) }
                let covers = try reader.covers(of: [reader.pins(), everything])
                return CollectionReport(result, limit: limit, pinned: covers[0], held: covers[1])
            } catch {
                throw LarderError(error)
            }
        }
    }

    /// What a collection would take now, by name. It takes nothing: it is tried on a copy of the database, for which there has
    /// to be room in `$TMPDIR`.
    ///
    /// - Throws: As `collect`.
    public func forecastCollection(limit: ByteSize? = nil) async throws(LarderError) -> CollectionForecast {
        let folder = folder
        return try await Self.onThread("larder-gc") { () throws(LarderError) in
            let copy = try TemporaryLarder()
            defer { copy.remove() }
            do throws(StoreError) {
                // A writer would make a larder where there is none.
                _ = try StoreReader(folder)
                let forecast = try StoreWriter(folder).rehearseCollection(
                    limit: limit?.byteCount, in: copy.larder.folder)
                let reader = try StoreReader(copy.larder.folder)
                let everything = try reader.sites().map { Pin(.site, $0.name) }
                let covers = try reader.covers(of: [reader.pins(), everything])
                return CollectionForecast(
                    report: CollectionReport(forecast.result, limit: limit, pinned: covers[0], held: covers[1]),
                    visits: forecast.visits.map { CollectionForecast.Visit(site: $0.site, number: $0.id) },
                    urls: forecast.urls)
            } catch {
                throw LarderError(error)
            }
        }
    }
}

extension CollectionReport {
    fileprivate init(_ result: CollectionResult, limit: ByteSize?, pinned: PinCover, held: PinCover) {
        self.limit = limit
        droppedVisits = result.droppedVisits
        evictedURLs = result.evictedURLs
        removedBodies = result.removedBodies
        byteCountBefore = result.byteCountBefore
        byteCountAfter = result.byteCountAfter
        heldURLs = held.urlCount
        pinnedURLs = pinned.urlCount
        pinnedByteCount = pinned.byteCount
        shrinkFailure = result.shrinkFailure?.description
        let isBeyond = limit.map { result.byteCountAfter > $0.byteCount } ?? false
        obstacle =
            if !isBeyond {
                nil
            } else if result.shrinkFailure != nil {
                .disk
            } else if held.urlCount == 0 {
                .empty
            } else if held.urlCount == pinned.urlCount {
                .pins
            } else {
                .again
            }
    }
}
