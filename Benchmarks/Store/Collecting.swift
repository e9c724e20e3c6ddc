internal import Store

/// Measures garbage collection: once with nothing to do, and once with a limit that is a percentage of the size of the
/// store.
struct Collecting {
    private let folder: StoreFolder

    init(_ folder: StoreFolder) {
        self.folder = folder
    }

    func run(share: Int) throws(StoreError) {
        try collect("collect, nothing to do", limit: nil)
        try collect("collect", limit: folder.byteCount * Int64(share) / 100)
    }

    private func collect(_ name: String, limit: Int64?) throws(StoreError) {
        let writer = try StoreWriter(folder)
        var result = CollectionResult()
        let options = CollectionOptions(limit: limit, allowsIncomplete: true)
        let seconds = try Meter.time { () throws(StoreError) in result = try writer.collect(options) }
        Meter.print(
            name,
            [
                ("seconds", seconds), ("evicted", Double(result.evictedURLs)), ("limit", Double(limit ?? 0)),
                ("before", Double(result.byteCountBefore)), ("after", Double(result.byteCountAfter)),
            ])
    }
}
