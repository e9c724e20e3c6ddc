package import Database
internal import Glibc
internal import System

/// A forecast of the snapshots and URLs that a collection would remove now.
package struct CollectionForecast: Sendable, Equatable {
    package var result = CollectionResult()
    /// The snapshots that would be dropped.
    package var snapshots: [Snapshot] = []
    /// The URLs that would have no stored response any more, in order.
    package var urls: [String] = []

    /// A snapshot that would be dropped.
    package struct Snapshot: Sendable, Equatable {
        package let site: String
        package let id: Int64
        package let name: SnapshotName
    }
}

extension StoreWriter {
    /// Runs a collection on a copy that has the databases, and empty files as large as those of the store.
    /// The store itself does not change. Throws `.busy` if another process is writing.
    ///
    /// A PostgreSQL store is not copied: the collection runs in a transaction that is rolled back.
    ///
    /// - Parameter copy: An empty folder, which belongs to the caller.
    package func forecastCollection(
        _ options: CollectionOptions, in copy: StoreFolder
    ) throws(StoreError) -> CollectionForecast {
        if isPostgreSQL { return try forecastCollection(options) }
        try withExclusiveAccess(doing: "scan") { () throws(StoreError) in
            _ = try? tryTruncateLog()
            try folder.copyWithoutBytes(to: copy)
        }
        let writer = try StoreWriter(copy)
        let (snapshots, urls) = (try writer.allSnapshots(), try writer.allStoredURLs())
        let usedBefore = try writer.usedByteCount()
        var forecast = CollectionForecast(result: try writer.collect(options))
        // The files of the copy occupy no space on the disk, so their sizes are not those of the store.
        forecast.result.byteCountBefore = folder.byteCount
        let share = 1 + Double(folder.searchIndexByteCount) / Double(max(1, usedBefore))
        // The size of the journal is added separately, because it is either rewritten or left as it is.
        let used = Int64(Double(try writer.usedByteCount()) * share) + copy.journalByteCount
        forecast.result.byteCountAfter = min(used, folder.byteCount)
        let (remainingSnapshots, remainingURLs) = (
            Set(try writer.allSnapshots().map(\.id)), Set(try writer.allStoredURLs())
        )
        forecast.snapshots = snapshots.filter { !remainingSnapshots.contains($0.id) }
        forecast.urls = urls.filter { !remainingURLs.contains($0) }
        return forecast
    }

    /// Runs a collection in a transaction that is rolled back.
    private func forecastCollection(_ options: CollectionOptions) throws(StoreError) -> CollectionForecast {
        var forecast = CollectionForecast()
        let (snapshots, urls) = (try allSnapshots(), try allStoredURLs())
        try rollingBack { () throws(StoreError) in
            forecast.result = try collect(options)
            let (remainingSnapshots, remainingURLs) = (
                Set(try allSnapshots().map(\.id)), Set(try allStoredURLs())
            )
            forecast.snapshots = snapshots.filter { !remainingSnapshots.contains($0.id) }
            forecast.urls = urls.filter { !remainingURLs.contains($0) }
        }
        return forecast
    }

    private func allSnapshots() throws(StoreError) -> [CollectionForecast.Snapshot] {
        var snapshots: [CollectionForecast.Snapshot] = []
        try eachRow(
            """
            SELECT site.name, snapshot.id, \(SnapshotName.columns) FROM snapshot
            JOIN site ON site.id = snapshot.site ORDER BY snapshot.id
            """
        ) { row in
            snapshots.append(
                CollectionForecast.Snapshot(
                    site: row.text(0), id: row.integer(1), name: SnapshotName(row, from: 2)))
        }
        return snapshots
    }

    private func allStoredURLs() throws(StoreError) -> [String] {
        var urls: [String] = []
        try eachRow(
            """
            SELECT href FROM url WHERE EXISTS (
                SELECT 1 FROM response WHERE response.url = url.id AND response.request <> 'manifest')
            ORDER BY href
            """
        ) { urls.append($0.text(0)) }
        return urls
    }
}

extension StoreFolder {
    /// Copies the databases, and creates empty files of the same size for all other files.
    fileprivate func copyWithoutBytes(to copy: StoreFolder) throws(StoreError) {
        try copy.create()
        try copy.createPacks()
        try Self.makeFolders(copy.journal)
        for (own, new) in [(database, copy.database), (activityDatabase, copy.activityDatabase)] {
            // The copy needs the write-ahead log too, since it may contain recent changes.
            for suffix in ["", "-wal"] where access(own + suffix, F_OK) == 0 {
                try Self.copy(own + suffix, to: new + suffix)
            }
        }
        if let channels = try ChannelDatabase.openIfExists(self) {
            try ChannelDatabase(copy).replace(by: channels)
        }
        for file in journalFiles {
            guard let name = file.utf8.lastIndex(of: UInt8(ascii: "/")) else { continue }
            try Self.createSparseFile(copy.journal + file[name...], file)
        }
        for name in bodyFileNames { try Self.createSparseFile(copy.bodies + "/" + name, bodies + "/" + name) }
        if hasSearchIndex { try Self.createSparseFile(copy.searchIndex, searchIndex) }
        for pack in packList {
            guard let other = pack.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { continue }
            try Self.createSparseFile(copy.packs + pack.path[other...], pack.path)
        }
    }

    private static func copy(_ source: String, to target: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
            let from = try File(source, O_RDONLY, doing: "read")
            let file = try File(target, O_WRONLY | O_CREAT | O_EXCL)
            while case let count = sendfile(file.descriptor, from.descriptor, nil, 1 << 30), count != 0 {
                guard count > 0 else { throw SystemError(errno, doing: "write to", target) }
            }
        }
    }

    /// Creates a sparse file of the same size, which occupies no space on the disk.
    private static func createSparseFile(_ target: String, _ original: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
            let file = try File(target, O_WRONLY | O_CREAT | O_EXCL)
            var status = stat()
            guard stat(original, &status) == 0, ftruncate(file.descriptor, status.st_size) == 0 else {
                throw SystemError(errno, doing: "write to", target)
            }
        }
    }
}
