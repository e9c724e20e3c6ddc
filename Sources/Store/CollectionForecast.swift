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
        /// When the snapshot began, in seconds since 1970.
        package let started: Int64
        /// Whether it is complete and not live.
        let isEarlier: Bool
        /// Whether it is the last earlier snapshot of its site.
        package var isLastEarlier = false
        /// The size of the bodies that would be removed with it.
        package var byteCount: Int64 = 0
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
        var byteCountBefore = folder.byteCount
        try withExclusiveAccess(doing: "scan") { () throws(StoreError) in
            _ = try? tryTruncateLog()
            // As in `collect`, the log does not count as content.
            byteCountBefore = folder.byteCount
            try folder.copyWithoutBytes(to: copy)
        }
        let writer = try StoreWriter(copy)
        writer.isCopyWithoutBytes = true
        writer.exclusions = exclusions
        let (snapshots, urls) = (try writer.allSnapshots(), try writer.allStoredURLs())
        var forecast = CollectionForecast(result: try writer.collectWithSearchIndex(options))
        forecast.result.byteCountBefore = byteCountBefore
        forecast.result.byteCountAfter = min(forecast.result.byteCountAfter, byteCountBefore)
        let remaining = try writer.remainder()
        forecast.urls = urls.filter { !remaining.urls.contains($0) }
        forecast.snapshots = try describe(snapshots, without: remaining)
        return forecast
    }

    /// Runs a collection in a transaction that is rolled back.
    private func forecastCollection(_ options: CollectionOptions) throws(StoreError) -> CollectionForecast {
        var forecast = CollectionForecast()
        let (snapshots, urls) = (try allSnapshots(), try allStoredURLs())
        var remaining = Remainder()
        try rollingBack { () throws(StoreError) in
            forecast.result = try collect(options)
            remaining = try remainder()
        }
        forecast.urls = urls.filter { !remaining.urls.contains($0) }
        forecast.snapshots = try describe(snapshots, without: remaining)
        return forecast
    }

    /// The content that is left after a collection.
    private struct Remainder {
        var snapshots: [CollectionForecast.Snapshot] = []
        var urls: Set<String> = []
        var bodies: Set<Int64> = []
    }

    private func remainder() throws(StoreError) -> Remainder {
        var remainder = Remainder(snapshots: try allSnapshots(), urls: Set(try allStoredURLs()))
        try eachRow("SELECT id FROM body") { remainder.bodies.insert($0.integer(0)) }
        return remainder
    }

    /// Returns the snapshots that are not left, with the sizes of their bodies. A body of several snapshots counts for the
    /// last of them.
    private func describe(
        _ snapshots: [CollectionForecast.Snapshot], without remainder: Remainder
    ) throws(StoreError) -> [CollectionForecast.Snapshot] {
        let ids = Set(remainder.snapshots.map(\.id))
        var removed = snapshots.filter { !ids.contains($0.id) }
        var counted = remainder.bodies
        /// The sites of which an earlier snapshot stays, or was found already.
        var sites = Set(remainder.snapshots.lazy.filter { $0.isEarlier }.map(\.site))
        for index in removed.indices.reversed() {
            if removed[index].isEarlier, sites.insert(removed[index].site).inserted {
                removed[index].isLastEarlier = true
            }
            var byteCount: Int64 = 0
            try eachRow(
                """
                SELECT body.id, coalesce(body.frame, body.size) FROM response JOIN body ON body.id = response.body
                WHERE response.snapshot = ?
                """, .integer(removed[index].id)
            ) { row in
                if counted.insert(row.integer(0)).inserted { byteCount += row.integer(1) }
            }
            removed[index].byteCount = byteCount
        }
        return removed
    }

    private func allSnapshots() throws(StoreError) -> [CollectionForecast.Snapshot] {
        var snapshots: [CollectionForecast.Snapshot] = []
        try eachRow(
            """
            SELECT site.name, snapshot.id, snapshot.started,
                snapshot.base IS NULL AND coalesce(snapshot.finished, 0) > 0
                    AND coalesce(site.published, 0) <> snapshot.id,
                \(SnapshotName.columns)
            FROM snapshot JOIN site ON site.id = snapshot.site ORDER BY snapshot.id
            """
        ) { row in
            snapshots.append(
                CollectionForecast.Snapshot(
                    site: row.text(0), id: row.integer(1), name: SnapshotName(row, from: 4),
                    started: row.integer(2), isEarlier: row.integer(3) != 0))
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
        for (own, new) in [
            (database, copy.database), (activityDatabase, copy.activityDatabase),
            (searchIndex, copy.searchIndex),
        ] where access(own, F_OK) == 0 {
            try copyDatabase(own, to: new)
        }
        if let channels = try ChannelDatabase.openIfExists(self) {
            try ChannelDatabase(copy).replace(by: channels)
        }
        for file in journalFiles {
            guard let name = file.utf8.lastIndex(of: UInt8(ascii: "/")) else { continue }
            try Self.createSparseFile(copy.journal + file[name...], file)
        }
        for name in bodyFileNames { try Self.createSparseFile(copy.bodies + "/" + name, bodies + "/" + name) }
        for pack in packList {
            guard let other = pack.path.utf8.lastIndex(of: UInt8(ascii: "/")) else { continue }
            try Self.createSparseFile(copy.packs + pack.path[other...], pack.path)
        }
    }

    /// Copies all pages of a database, with the changes in its write-ahead log.
    ///
    /// SQLite copies them, because a process that closes any descriptor of a file loses all its locks on the file, also those
    /// of other connections. Another process would then remove the log that these connections still use.
    private func copyDatabase(_ source: String, to target: String) throws(StoreError) {
        try Connection(target, access: .readWrite).replaceContent(with: read(source), doing: "copy")
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
