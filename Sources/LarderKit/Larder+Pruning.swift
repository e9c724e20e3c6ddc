internal import Check
internal import Crawl
internal import Reports
internal import Store
internal import Web

extension Larder {
    /// Removes unreferenced content. With a limit, it then removes other content until the store fits, in this order:
    /// temporary files, unused space, snapshots that are not live (the oldest first), responses that servers loaded, and
    /// the last earlier snapshot of each site. Pinned content stays. The space is returned to the file system.
    ///
    /// No snapshot is removed for a limit in vain: those that free no space stay, and all of them stay if the limit cannot be
    /// reached. The report gives the size that could be reached (`PruningReport.attainableByteCount`).
    ///
    /// Responses that only a removed snapshot had become part of the next one, except outdated assets, and URLs that the
    /// rules of the site exclude now.
    ///
    /// - Parameters:
    ///   - limit: the maximum size of the store; nil for no limit.
    ///   - keep: which snapshots each site keeps, unless the limit requires otherwise. Without rules, those in the settings of
    ///     the site apply.
    ///   - sites: the sites to which the rules apply; empty for all.
    ///   - allowsIncomplete: evicts pages of live snapshots when nothing else is left, the least recently served
    ///     first. They are missing until the next prefetch of their site.
    ///   - enforcesLimit: for limits that apply without a user who could decide, as in an update by a timer. If the limit
    ///     cannot be reached, only the last earlier snapshot of each site stays, so that the store does not grow.
    ///   - progress: receives the number of bytes in use, now and then, on a thread of the call.
    /// - Throws: `LarderError` of kind `.machine` if there is no store at the path, another process is writing to it,
    ///   or it fails. A limit that cannot be reached is a result in the report.
    public func prune(
        limit: ByteSize? = nil, keep: KeepRules = KeepRules(), sites: [String] = [],
        allowsIncomplete: Bool = false, enforcesLimit: Bool = false,
        progress: (@Sendable (WorkProgress) -> Void)? = nil
    ) async throws(LarderError) -> PruningReport {
        var options = CollectionOptions(
            limit: limit?.byteCount, keep: keep, allowsIncomplete: allowsIncomplete,
            enforcesLimit: enforcesLimit)
        options.sites = try await names(of: sites)
        let chosen = options
        return try await withFreedSpace("larder-gc", limit: limit) { (reader) throws(StoreError) in
            let result = try StoreWriter(removingFrom: reader.folder).collectWithSearchIndex(chosen) {
                progress?(WorkProgress(.diskSpace, done: 0, of: nil, byteCount: $0))
            }
            return try PruningReport(result, limit: limit, allowsIncomplete: allowsIncomplete, reader)
        }
    }

    /// The names of stored sites that the texts name.
    private func names(of sites: [String]) async throws(LarderError) -> [String] {
        if sites.isEmpty { return [] }
        return try await readStore("larder-gc") { (reader) throws(StoreError) in
            let stored = try reader.sites()
            return try sites.map { (text) throws(StoreError) in try SiteName.site(text, in: stored).name }
        }
    }

    /// Runs an operation that removes content and needs some space itself. On a full disk that space comes from the
    /// reserve, and then from the search index, which can be rebuilt.
    func withFreedSpace<Value: Sendable>(
        _ thread: String, limit: ByteSize? = nil,
        _ body: @escaping @Sendable (StoreReader) throws(StoreError) -> Value
    ) async throws(LarderError) -> Value {
        folder.releaseReserve()
        defer { folder.createReserve(limit: limit?.byteCount) }
        return try await readStore(thread) { (reader) throws(StoreError) in
            do throws(StoreError) {
                return try body(reader)
            } catch  where error.reason == .full && reader.folder.hasSearchIndex {
                reader.folder.removeSearchIndex()
                return try body(reader)
            }
        }
    }

    /// The content that `prune` would remove now. Nothing is removed: the pruning runs on a copy of the
    /// database, which needs space in `$TMPDIR`, or in PostgreSQL in a transaction that is rolled back.
    public func previewPruning(
        limit: ByteSize? = nil, keep: KeepRules = KeepRules(), sites: [String] = [],
        allowsIncomplete: Bool = false
    ) async throws(LarderError) -> PruningPreview {
        let folder = folder
        let options = CollectionOptions(
            limit: limit?.byteCount, keep: keep, sites: try await names(of: sites),
            allowsIncomplete: allowsIncomplete)
        return try await Self.runOnThread("larder-gc") { () throws(LarderError) in
            let copy = try TemporaryStore()
            defer { copy.remove() }
            return try mapStoreError { () throws(StoreError) in
                // Opening a writer would create a missing store; a reader throws.
                _ = try StoreReader(folder)
                let forecast = try StoreWriter(removingFrom: folder)
                    .forecastCollection(options, in: copy.larder.folder)
                // In PostgreSQL the pruning ran in the store itself and was rolled back.
                let tried = folder.server == nil ? copy.larder.folder : folder
                return try PruningPreview(
                    forecast, limit: limit, allowsIncomplete: allowsIncomplete, StoreReader(tried))
            }
        }
    }
}

extension StoreWriter {
    /// Opens a store for the removal of snapshots. Responses that the rules of their site exclude now are removed with the
    /// last snapshot that has them.
    convenience init(removingFrom folder: StoreFolder) throws(StoreError) {
        try self.init(folder)
        exclusions = { site in
            let patterns = SitePlan(text: site.settings).scope.exclude.compactMap { try? URLPattern($0) }
            guard !patterns.isEmpty else { return nil }
            return { href in
                // Rules do not apply to URLs that the user named.
                guard !site.start.contains(href), let url = WebURL(href) else { return false }
                return patterns.contains { $0.matches(url) }
            }
        }
    }
}
