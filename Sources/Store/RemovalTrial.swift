internal import Database

/// The space that a collection frees if it removes everything that a limit may remove from snapshots that are not live.
/// `StoreWriter.tryRemovals` finds it out in a transaction that is rolled back.
///
/// The rule for limits, which commands, the portal and servers share (`StoreWriter.makeFit`):
/// - A snapshot is removed for a limit only if that helps to free bodies.
/// - If the limit cannot be reached, no snapshot and no overlay is removed. `CollectionOptions.enforcesLimit` and
///   `allowsIncomplete` are the exceptions.
struct RemovalTrial: Equatable {
    /// The snapshots that show bodies which are freed when the early snapshots are removed, all except the last earlier one
    /// of each site.
    var usefulEarlySnapshots: Set<Int64> = []
    /// The snapshots that show bodies which are freed when all snapshots are removed that are not live.
    var usefulSnapshots: Set<Int64> = []
    /// Whether responses of overlays can be removed.
    var hasOverlays = false
    /// The number of bytes in use before the removal.
    var byteCountBefore: Int64
    /// The number of bytes in use after the removal.
    var byteCountAfter: Int64

    /// Whether anything can be removed.
    var freesContent: Bool { !usefulSnapshots.isEmpty || hasOverlays }

    /// The size that something of this size would have afterwards, if its parts shrink like the bytes in use.
    func remainder(of byteCount: Int64) -> Int64 {
        guard byteCountBefore > 0, byteCountAfter < byteCountBefore else { return byteCount }
        return Int64((Double(byteCount) * Double(byteCountAfter) / Double(byteCountBefore)).rounded(.up))
    }
}

extension StoreWriter {
    /// Returns what the removal of all snapshots that are not live, and of overlays, would free. Nil if the disk is too full
    /// to find out. The caller must be the only writer and have removed all unreferenced content.
    func tryRemovals(_ options: CollectionOptions) throws(StoreError) -> RemovalTrial? {
        let used = try usedByteCount()
        var trial = RemovalTrial(byteCountBefore: used, byteCountAfter: used)
        let reader = try StoreReader(folder)
        let early = try removableSnapshots(reader, keepsLastEarlier: true) { _ in KeepRules(last: 0) }
        let all = try removableSnapshots(reader) { _ in KeepRules(last: 0) }
        let order = early + all.filter { !early.contains($0) }
        /// For each freed body, the snapshot with whose removal it is freed.
        var freed: [Int64: Int64] = [:]
        do throws(StoreError) {
            try rollingBack { () throws(StoreError) in
                freed = try removeSnapshots(order, of: try reader.sites())
                let fileByteCount = try bodyFileByteCount()
                let overlays = try removableOverlayURLs(options)
                trial.hasOverlays = !overlays.isEmpty
                try deleteOverlayResponses(of: overlays)
                try removeOrphanRows()
                // The transaction deletes rows, but not the files of bodies.
                let freedFileByteCount = isPostgreSQL ? 0 : fileByteCount - (try bodyFileByteCount())
                trial.byteCountAfter = max(0, try usedByteCount() - freedFileByteCount)
            }
        } catch  where error.reason == .full && backEnd.canFillDisk {
            return nil
        }
        let freedEarly = freed.filter { early.contains($0.value) }
        trial.usefulEarlySnapshots = try snapshots(showing: freedEarly, among: early)
        trial.usefulSnapshots = try snapshots(showing: freed, among: all)
        return trial
    }

    /// Removes snapshots in the open transaction. Returns the bodies that no response has then, with the snapshot after whose
    /// removal that is so.
    private func removeSnapshots(
        _ snapshots: [Int64], of sites: [Site]
    ) throws(StoreError) -> [Int64: Int64] {
        var freed: [Int64: Int64] = [:]
        for snapshot in snapshots {
            guard let site = sites.first(where: { $0.snapshots.contains { $0.id == snapshot } }) else {
                continue
            }
            try dropRowsInTransaction(ofSnapshot: snapshot, of: site)
            try eachRow(
                "SELECT id FROM body WHERE id NOT IN (SELECT body FROM response WHERE body IS NOT NULL)"
            ) { row in
                if freed[row.integer(0)] == nil { freed[row.integer(0)] = snapshot }
            }
        }
        return freed
    }

    /// Returns those of the removable snapshots whose readers see one of the freed bodies. A body is not freed before all of
    /// these are removed.
    private func snapshots(
        showing freed: [Int64: Int64], among removable: [Int64]
    ) throws(StoreError) -> Set<Int64> {
        guard !freed.isEmpty else { return [] }
        var sites: [Int64: Int64] = [:]
        var rejected: Set<Int64> = []
        try eachRow("SELECT id, site, coalesce(finished, 0) FROM snapshot") { row in
            sites[row.integer(0)] = row.integer(1)
            if row.integer(2) < 0 { rejected.insert(row.integer(0)) }
        }
        let next = try prepare(
            """
            SELECT min(own.snapshot) FROM response AS own JOIN snapshot ON snapshot.id = own.snapshot
            WHERE own.url = ? AND own.request = ? AND own.variant = ? AND own.snapshot > ? AND snapshot.site = ?
                AND snapshot.base IS NULL
            """)
        var showing: Set<Int64> = []
        for snapshot in removable {
            guard let site = sites[snapshot] else { continue }
            var rows: [(url: Int64, request: String, variant: String, freedWith: Int64)] = []
            try eachRow(
                "SELECT body, url, request, variant FROM response WHERE snapshot = ? AND body IS NOT NULL",
                .integer(snapshot)
            ) { row in
                guard let last = freed[row.integer(0)] else { return }
                rows.append((row.integer(1), row.text(2), row.text(3), last))
            }
            for row in rows {
                showing.insert(snapshot)
                // No other snapshot shows the responses of a rejected one.
                if rejected.contains(snapshot) { continue }
                let replacement = try next.first(
                    .integer(row.url), .text(row.request), .text(row.variant), .integer(snapshot),
                    .integer(site)
                ) { $0.optionalInteger(0) }
                // Without a replacement, it is an outdated asset, which the last snapshot that shows it does not pass on.
                let last =
                    replacement.map { $0 - 1 } ?? (sites[row.freedWith] == site ? row.freedWith : snapshot)
                for other in removable where other > snapshot && other <= last && sites[other] == site {
                    showing.insert(other)
                }
            }
        }
        return showing
    }

    /// The size of the bodies that are files.
    private func bodyFileByteCount() throws(StoreError) -> Int64 {
        try count(
            """
            SELECT coalesce(sum(coalesce(body.frame, body.size)), 0) FROM body JOIN content ON content.body = body.id
            WHERE content.bytes IS NULL AND body.pack IS NULL
            """)
    }
}
