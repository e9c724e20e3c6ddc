internal import Database
internal import Glibc
internal import System
internal import Web

/// Removal of content to make a store fit into a limit.
extension StoreWriter {
    /// The kinds of content that are removed for a limit, in this order.
    private enum Stage: CaseIterable {
        /// Partial downloads, files of killed runs, and damaged files in quarantine.
        case temporaryFiles
        /// Unused space in packs and the database, and outdated lines of the journal.
        case unusedSpace
        /// Snapshots that are not live, the oldest first, except the last one of each site. Snapshots that free nothing stay.
        case oldSnapshots
        /// Responses in overlays.
        case overlays
        /// The last snapshot of each site that is not live, the oldest first.
        case lastEarlierSnapshots
        /// Pages of live snapshots, in the order of `EvictionPlan`.
        case livePages

        var removesContent: Bool {
            switch self {
            case .temporaryFiles, .unusedSpace: false
            case .oldSnapshots, .overlays, .lastEarlierSnapshots, .livePages: true
            }
        }
    }

    /// Removes content, one stage after the other, until the store takes no more than `limit` bytes. The size
    /// is measured after each step. If content was removed and the store is not smaller, nothing more is removed, and
    /// `result.shrinkFailure` or `result.excess` gives the reason.
    ///
    /// Removes no snapshot in vain: `RemovalTrial` has the rule.
    ///
    /// The caller must be the only writer and have removed all unreferenced content.
    func makeFit(
        _ limit: Int64, _ options: CollectionOptions, _ result: inout CollectionResult,
        _ progress: (Int64) -> Void
    ) throws(StoreError) {
        // The limit is divided once, because the search index does not change until the caller cleans it.
        let allowed = contentLimit(limit, options, of: try storedByteCount())
        var trial: RemovalTrial?
        /// Whether content stays because removing it would not be enough.
        var isUnreachable = false
        /// Whether pages of live snapshots will be removed. All earlier snapshots are removed before them, even those whose
        /// removal alone frees nothing.
        var losesLivePages = false
        for stage in Stage.allCases {
            switch stage {
            case .temporaryFiles, .unusedSpace: break
            case .oldSnapshots:
                let stored = try storedByteCount()
                guard stored > allowed else { return }
                trial = try tryRemovals(options)
                guard let trial, trial.remainder(of: stored) > allowed else { break }
                losesLivePages = options.allowsIncomplete
                if losesLivePages { break }
                isUnreachable = true
                if trial.freesContent {
                    let index = folder.searchIndexByteCount
                    result.attainableByteCount =
                        trial.remainder(of: stored)
                        + (options.isIndexClean ? index : trial.remainder(of: index))
                }
                if !options.enforcesLimit { continue }
            case .overlays: if isUnreachable, !options.enforcesLimit { continue }
            case .lastEarlierSnapshots: if isUnreachable { continue }
            case .livePages: if !options.allowsIncomplete { continue }
            }
            // The size of rows in PostgreSQL is known exactly, so a single round is enough.
            let useful = stage == .oldSnapshots ? trial?.usefulEarlySnapshots : trial?.usefulSnapshots
            for round in 1...(backEnd.isMeasuredByFiles ? Self.maxRounds : 1) {
                let before = try storedByteCount()
                guard before > allowed else { return }
                let used = try usedByteCount()
                // Assumes that the space on the disk is proportional to the bytes in use; in the last rounds,
                // that it exceeds them by a fixed amount.
                let target = round < 3 ? Self.share(of: allowed, used, of: before) : used - (before - allowed)
                guard
                    try remove(
                        stage, downTo: target, options, only: losesLivePages ? nil : useful, &result, progress
                    )
                else { break }
                try returnSpace(downTo: allowed, &result)
                guard stage.removesContent else { break }
                let (freed, removed) = (before - (try storedByteCount()), used - (try usedByteCount()))
                // A removed snapshot frees nothing if a later one needs all of its responses.
                if freed <= 0, removed <= 0 { break }
                // If the disk gets back much less than was removed, for example because a pack is damaged,
                // removing more would only lose content.
                if freed <= 0 || freed < removed / 2 {
                    result.excess = max(1, try storedByteCount() - allowed)
                    return
                }
            }
        }
        let stored = try storedByteCount()
        if stored > allowed { result.excess = stored - allowed }
    }

    private static let maxRounds = 4

    /// The size of the store: for a folder its space on the disk, for PostgreSQL the size of its rows.
    private func storedByteCount() throws(StoreError) -> Int64 {
        backEnd.isMeasuredByFiles
            ? try contentByteCount() + folder.temporaryByteCount : try usedByteCount()
    }

    /// The part of the limit that is left for everything except the search index. The index is assumed to
    /// shrink with the rest, unless it was cleaned already.
    private func contentLimit(_ limit: Int64, _ options: CollectionOptions, of stored: Int64) -> Int64 {
        let index = folder.searchIndexByteCount
        return options.isIndexClean
            ? max(0, limit - index) : Self.share(of: limit, stored, of: stored + index)
    }

    private static func share(of limit: Int64, _ part: Int64, of whole: Int64) -> Int64 {
        whole > part ? Int64(Double(limit) * Double(part) / Double(whole)) : limit
    }

    /// Removes the content of a stage until about `target` bytes are in use. Returns whether anything was
    /// removed.
    ///
    /// - Parameter usefulSnapshots: The snapshots that may be removed; nil for all.
    private func remove(
        _ stage: Stage, downTo target: Int64, _ options: CollectionOptions, only usefulSnapshots: Set<Int64>?,
        _ result: inout CollectionResult, _ progress: (Int64) -> Void
    ) throws(StoreError) -> Bool {
        switch stage {
        case .temporaryFiles:
            // Runs that have paused for this one have their downloads there.
            guard backEnd.isMeasuredByFiles, !hasPausedWriters, folder.temporaryByteCount > 0 else {
                return false
            }
            folder.removeTemporaryFiles()
            return true
        case .unusedSpace:
            guard backEnd.isMeasuredByFiles else { return false }
            isJournalStale = true
            return true
        case .oldSnapshots, .lastEarlierSnapshots:
            let dropped = try dropSnapshots(
                downTo: target, keepsLastEarlier: stage == .oldSnapshots, only: usefulSnapshots, progress
            ) { _ in KeepRules(last: 0) }
            result.droppedSnapshots += dropped
            return dropped > 0
        case .overlays:
            let removed = try evict(.overlays, downTo: target, options, progress)
            result.removedOverlayURLs += removed.count
            return !removed.isEmpty
        case .livePages:
            let evicted = try evict(.everything, downTo: target, options, progress)
            result.evictedURLs += evicted.count
            result.evicted += evicted.prefix(Self.maxListed - result.evicted.count)
            return !evicted.isEmpty
        }
    }

    /// Returns freed space to the disk. Packs are rewritten without any unused space only if that is needed
    /// for the limit.
    private func returnSpace(downTo limit: Int64, _ result: inout CollectionResult) throws(StoreError) {
        guard backEnd.isMeasuredByFiles else { return }
        for waste in [Self.maxPackWaste, 0] {
            result.shrinkFailure = try thinPacks(wasteAllowed: waste)
            result.shrinkFailure = shrink() ?? result.shrinkFailure
            try rewriteJournalIfStale(&result)
            guard try contentByteCount() > limit else { return }
        }
    }

    // MARK: - Snapshots

    /// Drops snapshots that are not live, the oldest first. Returns their number.
    ///
    /// - Parameters:
    ///   - limit: Stops when at most this many bytes are in use; nil to drop all that the rules do not keep.
    ///   - keepsLastEarlier: Whether the newest of them stays in each site.
    ///   - useful: The snapshots that may be removed; nil for all.
    ///   - rules: Which snapshots of a site stay.
    func dropSnapshots(
        downTo limit: Int64? = nil, keepsLastEarlier: Bool = false, only useful: Set<Int64>? = nil,
        _ progress: (Int64) -> Void, keeping rules: (Site) -> KeepRules
    ) throws(StoreError) -> Int {
        let reader = try StoreReader(folder)
        let snapshots = try removableSnapshots(reader, keepsLastEarlier: keepsLastEarlier, keeping: rules)
        var dropped = 0
        for snapshot in snapshots where useful?.contains(snapshot) ?? true {
            let used = try usedByteCount()
            progress(used)
            if let limit, used <= limit { break }
            // Reads the site again, because dropping a snapshot changes it.
            guard let site = try reader.sites().first(where: { $0.snapshots.contains { $0.id == snapshot } })
            else {
                continue
            }
            isJournalStale = true
            try dropRows(ofSnapshot: snapshot, of: site)
            dropped += 1
            // The freed space is only known once the bodies are removed. Without a limit, removing them once
            // at the end is enough.
            if limit != nil { try removeOrphans() }
        }
        if limit == nil, dropped > 0 { try removeOrphans() }
        return dropped
    }

    /// Returns the ids of the snapshots that are not live and that the rules do not keep, the oldest first.
    ///
    /// - Parameter keepsLastEarlier: Whether the newest of them stays in each site.
    func removableSnapshots(
        _ reader: StoreReader, keepsLastEarlier: Bool = false, keeping rules: (Site) -> KeepRules
    ) throws(StoreError) -> [Int64] {
        let now = SystemClock.secondsSinceEpoch()
        let utcOffset = SystemClock.utcOffset(at: now)
        let pins = PinSet(try reader.pins())
        let locked = try sitesLockedByOthers()
        // A site without a live snapshot shows all of its snapshots, and a run may continue the last one.
        let sites = try reader.sites().filter {
            $0.published != nil && !pins.contains(site: $0.name) && !locked.contains($0.id)
        }
        let old = sites.flatMap { (site) -> [Int64] in
            let others = site.snapshots.filter {
                $0.id != site.published && $0.id != site.overlay
                    && ($0.finished != nil || $0 != site.snapshots.last)
            }
            let rules = rules(site)
            if rules.isEmpty { return [] }
            let candidates = site.snapshots.filter { $0.finished != nil && !$0.isRejected && $0.base == nil }
                .map {
                    KeepRules.Candidate(
                        id: $0.id, began: $0.started, confirmed: site.confirmationDate(of: $0),
                        isLive: $0.id == site.published)
                }
            var kept = rules.snapshotsToKeep(of: candidates, now: now, utcOffset: utcOffset)
            if keepsLastEarlier, let last = candidates.last(where: { !$0.isLive }) { kept.insert(last.id) }
            return others.map(\.id).filter { !kept.contains($0) }
        }
        // The reader still sees snapshots that were removed in an open transaction, as in a forecast on PostgreSQL.
        var present: Set<Int64> = []
        try eachRow("SELECT id FROM snapshot") { present.insert($0.integer(0)) }
        return old.sorted().filter { present.contains($0) }
    }

    // MARK: - URLs

    /// The responses that an eviction may remove.
    private enum Evictable {
        /// Only responses in overlays.
        case overlays
        case everything

        /// A condition on the rows of a URL that are removed with it.
        var condition: String {
            switch self {
            case .overlays: "snapshot IN (SELECT overlay FROM site WHERE overlay IS NOT NULL)"
            case .everything: "true"
            }
        }
    }

    /// The maximum number of evicted URLs that the report lists.
    private static let maxListed = 10_000

    /// Evicts the URLs whose last use is the longest ago, and returns them.
    private func evict(
        _ kind: Evictable, downTo limit: Int64, _ options: CollectionOptions, _ progress: (Int64) -> Void
    ) throws(StoreError) -> [String] {
        var evicted: [String] = []
        // The size of a URL without its bodies is an estimate, so several rounds may be needed.
        for _ in 1...8 {
            // Half-empty pages count as full ones. If they cannot be merged, more is removed than necessary.
            var used = try usedByteCount()
            if used > limit, try isWorthVacuuming() {
                _ = shrink()
                used = try usedByteCount()
            }
            progress(used)
            guard used > limit else { break }
            let urls = try urlsToEvict(kind, share: Double(used - limit) / Double(used), options)
            guard !urls.isEmpty else { break }
            let hrefs = try hrefs(ofURLs: urls)
            evicted += hrefs.prefix(try remove(urls, kind))
            guard try usedByteCount() < used else { break }
        }
        return evicted
    }

    private func hrefs(ofURLs urls: [Int64]) throws(StoreError) -> [String] {
        let find = try prepare("SELECT href FROM url WHERE id = ?")
        var hrefs: [String] = []
        for url in urls { hrefs.append(try find.first(.integer(url), read: { $0.text(0) }) ?? "") }
        return hrefs
    }

    /// Returns the ids of all URLs whose responses in overlays may be removed.
    func removableOverlayURLs(_ options: CollectionOptions) throws(StoreError) -> [Int64] {
        guard try hasOverlays() else { return [] }
        return try evictionPlan(.overlays, keeping: options.requiredBundles).urls(toFree: .max)
    }

    /// Deletes the responses that overlays have for URLs, in the open transaction.
    func deleteOverlayResponses(of urls: [Int64]) throws(StoreError) {
        try deleteResponses(of: urls, .overlays)
    }

    private func deleteResponses<URLs: Sequence<Int64>>(
        of urls: URLs, _ kind: Evictable
    ) throws(StoreError) {
        let delete = try prepare("DELETE FROM response WHERE url = ? AND \(kind.condition)")
        for url in urls { try delete.run(.integer(url)) }
    }

    private func hasOverlays() throws(StoreError) -> Bool {
        try prepare("SELECT 1 FROM site WHERE overlay IS NOT NULL LIMIT 1").first { $0.integer(0) } != nil
    }

    /// Returns the ids of the URLs to evict. The plan is large, so it is freed before the URLs are removed.
    private func urlsToEvict(
        _ kind: Evictable, share: Double, _ options: CollectionOptions
    ) throws(StoreError) -> [Int64] {
        if kind == .overlays, try !hasOverlays() { return [] }
        let plan = try evictionPlan(kind, keeping: options.requiredBundles)
        // The plan knows the sizes of bodies, but not of their rows. Removing a little more avoids a second
        // round, which takes as long as the first.
        let wanted = Double(plan.byteCount) * share * Self.safetyFactor
        return plan.urls(toFree: Int64(wanted.rounded(.up)))
    }

    /// Compensates for evicted URLs whose rows stay because other URLs link to them.
    private static let safetyFactor = 1.0125

    /// Removes the stored responses of URLs and returns the number of these URLs. On a full disk, it may be
    /// smaller than requested, if a later batch fails. Throws only if nothing was removed.
    private func remove(_ urls: [Int64], _ kind: Evictable) throws(StoreError) -> Int {
        if backEnd.canFillDisk, kind == .everything {
            do throws(StoreError) {
                let removedURLs = try copyRemainder(without: urls)
                try deleteServedTimes(of: removedURLs)
                try removeOrphanFiles()
                return urls.count
            } catch  where error.reason == .full {
                // Deleting rows needs less space than copying the others. Emptying the log frees its space.
                _ = try tryTruncateLog()
            }
        }
        return try removeInBatches(urls, kind)
    }

    /// Deletes rows in batches, which become smaller if the disk has no space for their log. Each batch
    /// removes its unreferenced bodies in the same transaction, and returns their space before the next
    /// batch.
    private func removeInBatches(_ urls: [Int64], _ kind: Evictable) throws(StoreError) -> Int {
        isJournalStale = true
        var rest = urls[...]
        var batchSize = backEnd.canFillDisk ? Self.maxBatchURLs : urls.count
        var removed = 0
        while !rest.isEmpty {
            let batch = rest.prefix(batchSize)
            do throws(StoreError) {
                let removedURLs = try transactionWithMemory { () throws(StoreError) in
                    try deleteResponses(of: batch, kind)
                    try deleteCounts()
                    return try removeUnreferencedRows()
                }
                removed += batch.count
                rest = rest.dropFirst(batch.count)
                try? deleteServedTimes(of: removedURLs)
                try returnBatchSpace()
                batchSize = min(batchSize * 2, Self.maxBatchURLs)
            } catch  where error.reason == .full {
                _ = try? tryTruncateLog()
                if batch.count == 1 {
                    if removed > 0 { break }
                    throw error
                }
                batchSize = max(1, batch.count / 4)
            }
        }
        return removed
    }

    private static let maxBatchURLs = 4096

    /// Removes unreferenced rows in batches, for a disk without space for one large log.
    func removeOrphansInBatches() throws(StoreError) {
        var batchSize = Self.maxBatchURLs
        while true {
            do throws(StoreError) {
                var isDone = false
                let removedURLs = try transactionWithMemory { () throws(StoreError) in
                    try removeUnreferencedRows(atMost: batchSize, isDone: &isDone)
                }
                try? deleteServedTimes(of: removedURLs)
                try returnBatchSpace()
                if isDone { return }
                batchSize = min(batchSize * 2, Self.maxBatchURLs)
            } catch  where error.reason == .full && batchSize > 1 {
                _ = try? tryTruncateLog()
                batchSize = max(1, batchSize / 4)
            }
        }
    }

    /// Returns the space of the last batch: the log, files, and holes in packs.
    private func returnBatchSpace() throws(StoreError) {
        guard backEnd.isMeasuredByFiles else { return }
        _ = try tryTruncateLog()
        try removeOrphanFiles()
        _ = try thinPacks(wasteAllowed: .infinity)
    }

    private func transactionWithMemory<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        var value: Value?
        try withLargeCache { () throws(StoreError) in value = try transaction(body) }
        guard let value else { preconditionFailure("the transaction returned without a value") }
        return value
    }

    private func evictionPlan(
        _ kind: Evictable, keeping bundles: [String]?
    ) throws(StoreError) -> EvictionPlan {
        var pinned = try pinnedURLs()
        if let bundles { try pin(bundles, in: &pinned) }
        try pinUnremovable(in: &pinned)
        for site in try sitesLockedByOthers() {
            try eachRow(
                "SELECT DISTINCT url FROM response WHERE snapshot IN (SELECT id FROM snapshot WHERE site = ?)",
                .integer(site)
            ) { pinned.insert($0.integer(0)) }
        }
        let served = folder.hasActivityDatabase ? try ActivityDatabase(folder).servedTimes() : [:]
        var plan = EvictionPlan()
        try eachRow(
            """
            SELECT body.id, coalesce(body.frame, body.size) + length(content.links)
            FROM body JOIN content ON content.body = body.id ORDER BY body.id
            """
        ) { plan.add(body: $0.integer(0), byteCount: Int($0.integer(1))) }
        // Evicting from overlays does not free bodies that other responses have.
        if kind == .overlays {
            try eachRow("SELECT body FROM response WHERE body IS NOT NULL AND NOT \(kind.condition)") {
                plan.addUse(of: $0.integer(0))
            }
            plan.add(EvictionPlan.Holding(url: 0, lastUse: .max, isPinned: true, byteCount: 0))
        }
        var holding: EvictionPlan.Holding?
        let starts = try startURLs()
        try eachRow(
            """
            SELECT url, fetched, length(fields) + 200, body FROM response WHERE \(kind.condition) ORDER BY url
            """
        ) { row in
            let url = row.integer(0)
            if holding?.url != url {
                if let holding { plan.add(holding) }
                holding = EvictionPlan.Holding(
                    url: url, lastUse: starts.contains(url) ? .max : served[url] ?? 0,
                    isPinned: pinned.contains(url), byteCount: 0)
            }
            let lastUse = max(holding?.lastUse ?? 0, row.integer(1))
            holding?.lastUse = lastUse
            holding?.byteCount += Int(row.integer(2))
            if let body = row.optionalInteger(3) { plan.addUse(of: body) }
        }
        if let holding { plan.add(holding) }
        return plan
    }

    /// Pins URLs with bodies in damaged packs: evicting them would free nothing, because the space is not
    /// returned before a repair. Pins the files of apps' releases, too, because no prefetch could load them again.
    private func pinUnremovable(in pinned: inout Set<Int64>) throws(StoreError) {
        var ends: [Int64: Int64] = [:]
        try eachRow(
            "SELECT pack, max(start + coalesce(frame, size)) FROM body WHERE pack IS NOT NULL GROUP BY pack"
        ) { ends[$0.integer(0)] = $0.integer(1) }
        for (number, end) in ends where Pack(number, in: folder).byteCount ?? 0 < end {
            try eachRow(
                """
                SELECT DISTINCT url FROM response JOIN body ON body.id = response.body WHERE body.pack = ?
                """, .integer(number)
            ) { pinned.insert($0.integer(0)) }
        }
        // Those of releases that no channel announces are gone already.
        try eachRow("SELECT id FROM url WHERE href LIKE ?", .text(AppURL.likePattern)) {
            pinned.insert($0.integer(0))
        }
    }

    /// The ids of start URLs. They were fetched first, but are evicted last, because readers reach all other
    /// pages through them.
    private func startURLs() throws(StoreError) -> Set<Int64> {
        let find = try prepare("SELECT id FROM url WHERE href = ?")
        var urls: Set<Int64> = []
        for start in try StoreReader(folder).sites().flatMap(\.start) {
            if let url = try find.first(.text(start), read: { $0.integer(0) }) { urls.insert(url) }
        }
        return urls
    }

    private func pin(_ bundles: [String], in pinned: inout Set<Int64>) throws(StoreError) {
        var hrefs = bundles
        // A bundle can only be verified with its manifest.
        try eachRow("SELECT url, fields FROM response WHERE request = '\(RequestKey.manifest.text)'") { row in
            pinned.insert(row.integer(0))
            hrefs += HTTPFields(block: row.text(1).utf8.span)["Content-Location"].map { [$0] } ?? []
        }
        let find = try prepare("SELECT id FROM url WHERE href = ?")
        for href in hrefs {
            if let url = try find.first(.text(href), read: { $0.integer(0) }) { pinned.insert(url) }
        }
    }

    /// The ids of pinned URLs, with everything that they need, transitively.
    func pinnedURLs() throws(StoreError) -> Set<Int64> {
        let reader = try StoreReader(folder)
        let pins = PinSet(try reader.pins())
        guard !pins.isEmpty else { return [] }
        var pinned: Set<Int64> = []
        try eachRow(
            """
            SELECT DISTINCT url.id, url.href, site.name FROM response JOIN url ON url.id = response.url
            JOIN snapshot ON snapshot.id = response.snapshot JOIN site ON site.id = snapshot.site
            """
        ) { row in
            if pins.contains(site: row.text(2)) || pins.contains(url: row.text(1)) {
                pinned.insert(row.integer(0))
            }
        }
        try reader.addAssets(to: &pinned)
        return pinned
    }
}
