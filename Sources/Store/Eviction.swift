internal import Glibc
internal import Web

/// Makes a store fit into a limit.
extension StoreWriter {
    /// Kinds of content that may be removed for a limit, in this order.
    private enum Stage: CaseIterable {
        /// Beginnings of downloads, files of killed runs, and damaged files in quarantine.
        case temporaryFiles
        /// Room that nothing uses: in packs, in the database, and in a journal that names rows of the past.
        case unusedRoom
        /// Snapshots that are not served, the oldest first.
        case oldSnapshots
        /// Responses that servers loaded.
        case overlays
        /// Pages of live snapshots, by `EvictionPlan`.
        case livePages

        var removesContent: Bool {
            switch self {
            case .temporaryFiles, .unusedRoom: false
            case .oldSnapshots, .overlays, .livePages: true
            }
        }
    }

    /// Removes content until the store takes no more than `limit` bytes, one stage after the other. The size is
    /// measured after each step, and nothing more is removed once a step has not made the store smaller: then
    /// `result.shrinkFailure` or `result.excess` says why.
    ///
    /// The caller is alone, and has removed what nothing refers to.
    func makeFit(
        _ limit: Int64, _ options: CollectionOptions, _ result: inout CollectionResult,
        _ progress: (Int64) -> Void
    ) throws(StoreError) {
        // The index stays as large as it is until the caller cleans it, so that its share is reckoned with once.
        let allowed = contentLimit(limit, options, of: try heldByteCount())
        for stage in Stage.allCases {
            if stage == .livePages, !options.allowsIncomplete { break }
            // The size of rows in a PostgreSQL is known exactly.
            for round in 1...(isServed ? 1 : Self.maxRounds) {
                let before = try heldByteCount()
                guard before > allowed else { return }
                let used = try usedByteCount()
                // The disk takes more than what is used, in proportion, or else (the last rounds) by a fixed amount.
                let target = round < 3 ? Self.share(of: allowed, used, of: before) : used - (before - allowed)
                guard try remove(stage, downTo: target, options, &result, progress) else { break }
                try giveBack(downTo: allowed, &result)
                guard stage.removesContent else { break }
                // If the disk gets back much less than was removed, as from a damaged pack, removing more would only
                // lose content.
                let (freed, removed) = (before - (try heldByteCount()), used - (try usedByteCount()))
                if freed <= 0 || freed < removed / 2 {
                    result.excess = max(1, try heldByteCount() - allowed)
                    return
                }
            }
        }
        let held = try heldByteCount()
        if held > allowed { result.excess = held - allowed }
    }

    private static let maxRounds = 4

    /// The size of the store: of a folder the space on the disk, of a PostgreSQL the size of its rows.
    private func heldByteCount() throws(StoreError) -> Int64 {
        isServed ? try usedByteCount() : folder.contentByteCount + folder.temporaryByteCount
    }

    /// The part of the limit that is left for everything but the search index, which becomes smaller as the rest
    /// does unless it was cleaned already.
    private func contentLimit(_ limit: Int64, _ options: CollectionOptions, of held: Int64) -> Int64 {
        let index = folder.searchIndexByteCount
        return options.isIndexClean ? max(0, limit - index) : Self.share(of: limit, held, of: held + index)
    }

    private static func share(of limit: Int64, _ part: Int64, of whole: Int64) -> Int64 {
        whole > part ? Int64(Double(limit) * Double(part) / Double(whole)) : limit
    }

    /// Removes what belongs to a stage, until about `target` bytes are in use. Returns whether anything was removed.
    private func remove(
        _ stage: Stage, downTo target: Int64, _ options: CollectionOptions, _ result: inout CollectionResult,
        _ progress: (Int64) -> Void
    ) throws(StoreError) -> Bool {
        switch stage {
        case .temporaryFiles:
            // A run beside this one has its downloads there.
            guard !isServed, !isBeside, folder.temporaryByteCount > 0 else { return false }
            folder.removeTemporaryFiles()
            return true
        case .unusedRoom:
            guard !isServed else { return false }
            isJournalBehind = true
            return true
        case .oldSnapshots:
            let dropped = try dropSnapshots(keepingLast: 1, downTo: target, progress)
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

    /// Returns freed space to the disk. Packs are copied without any unused room only where that
    /// is needed for the limit.
    private func giveBack(downTo limit: Int64, _ result: inout CollectionResult) throws(StoreError) {
        if isServed { return }
        for waste in [Self.usualWaste, 0] {
            result.shrinkFailure = try thinPacks(wasteAllowed: waste)
            result.shrinkFailure = shrink() ?? result.shrinkFailure
            try catchUpJournal(&result)
            guard folder.contentByteCount > limit else { return }
        }
    }

    // MARK: - Snapshots

    /// Drops snapshots that are not served, the oldest first.
    ///
    /// - Parameters:
    ///   - count: how many finished snapshots each site keeps, the served one among them.
    ///   - limit: stops when no more bytes than that are in use; nil to drop all the others.
    func dropSnapshots(
        keepingLast count: Int, downTo limit: Int64? = nil, _ progress: (Int64) -> Void
    ) throws(StoreError) -> Int {
        let reader = try StoreReader(folder)
        let pins = PinSet(try reader.pins())
        let held = try heldSites()
        // A site without a published snapshot shows all of them, and its last one may be gone on with.
        let sites = try reader.sites().filter {
            $0.published != nil && !pins.holds(site: $0.name) && !held.contains($0.id)
        }
        let old = sites.flatMap { site in
            let others = site.snapshots.filter {
                $0.id != site.published && $0.id != site.overlay
                    && ($0.finished != nil || $0 != site.snapshots.last)
            }
            let kept = Set(others.filter { $0.finished != nil }.suffix(max(0, count - 1)).map(\.id))
            return others.map(\.id).filter { !kept.contains($0) }
        }
        var dropped = 0
        for snapshot in old.sorted() {
            let used = try usedByteCount()
            progress(used)
            if let limit, used <= limit { break }
            // Looked up again: dropping a snapshot changes its site.
            guard let site = try reader.sites().first(where: { $0.snapshots.contains { $0.id == snapshot } })
            else {
                continue
            }
            isJournalBehind = true
            try dropRows(ofSnapshot: snapshot, of: site)
            dropped += 1
            // The freed space is known once the bodies are gone. Without a limit one pass at the end is enough.
            if limit != nil { try removeOrphans() }
        }
        if limit == nil, dropped > 0 { try removeOrphans() }
        return dropped
    }

    // MARK: - URLs

    private enum Evictable {
        /// Only responses that servers loaded.
        case overlays
        case everything

        /// The rows that go with a URL.
        var condition: String {
            switch self {
            case .overlays: "snapshot IN (SELECT overlay FROM site WHERE overlay IS NOT NULL)"
            case .everything: "true"
            }
        }
    }

    /// The report lists no more evicted URLs than this.
    private static let maxListed = 10_000

    /// Evicts the URLs that were not used for longest, and returns them.
    private func evict(
        _ kind: Evictable, downTo limit: Int64, _ options: CollectionOptions, _ progress: (Int64) -> Void
    ) throws(StoreError) -> [String] {
        var evicted: [String] = []
        // The size of a URL beside its bodies is an estimate, so that a few rounds are needed.
        for _ in 1...8 {
            // Half empty pages count as whole ones. If they cannot be joined, more is removed than necessary.
            var used = try usedByteCount()
            if used > limit, try hasRoom() {
                _ = shrink()
                used = try usedByteCount()
            }
            progress(used)
            guard used > limit else { break }
            let urls = try urlsToEvict(kind, share: Double(used - limit) / Double(used), options)
            guard !urls.isEmpty else { break }
            let hrefs = try hrefs(of: urls)
            evicted += hrefs.prefix(try remove(urls, kind))
            guard try usedByteCount() < used else { break }
        }
        return evicted
    }

    private func hrefs(of urls: [Int64]) throws(StoreError) -> [String] {
        let find = try prepare("SELECT href FROM url WHERE id = ?")
        var hrefs: [String] = []
        for url in urls { hrefs.append(try find.first(.integer(url), read: { $0.text(0) }) ?? "") }
        return hrefs
    }

    /// The plan is large, and is freed before its URLs are removed.
    private func urlsToEvict(
        _ kind: Evictable, share: Double, _ options: CollectionOptions
    ) throws(StoreError) -> [Int64] {
        let plan = try evictionPlan(kind, keeping: options.requiredBundles)
        // The plan knows the size of bodies, but not of their rows. Removing a little more avoids a second round, which
        // takes as long as the first.
        let wanted = Double(plan.byteCount) * share * Self.reserve
        return plan.urls(toFree: Int64(wanted.rounded(.up)))
    }

    /// A URL that is evicted may stay known, since another one links to it.
    private static let reserve = 1.0125

    /// Removes the stored responses of URLs. On a full disk the first batches may succeed and a later one fail: then the
    /// number of removed URLs is smaller. Throws only if nothing was removed.
    private func remove(_ urls: [Int64], _ kind: Evictable) throws(StoreError) -> Int {
        if !isServed, kind == .everything {
            do throws(StoreError) {
                let forgotten = try copyWhatStays(without: urls)
                try forgetNotes(of: forgotten)
                try removeOrphanFiles()
                return urls.count
            } catch  where error.reason == .full {
                // Rows that are deleted need less room than a copy of the others, and the log's room is free then.
                _ = try isLogEmptied()
            }
        }
        return try removeInBatches(urls, kind)
    }

    /// Deletes rows in batches that become smaller when there is no room for their log. Each batch is one transaction
    /// with the bodies that go with it, and their space is freed before the next batch.
    private func removeInBatches(_ urls: [Int64], _ kind: Evictable) throws(StoreError) -> Int {
        isJournalBehind = true
        var rest = urls[...]
        var batchSize = isServed ? urls.count : Self.maxBatch
        var removed = 0
        while !rest.isEmpty {
            let batch = rest.prefix(batchSize)
            do throws(StoreError) {
                let forgotten = try transactionWithMemory { () throws(StoreError) in
                    let delete = try prepare("DELETE FROM response WHERE url = ? AND \(kind.condition)")
                    for url in batch { try delete.run(.integer(url)) }
                    try forgetCounts()
                    return try removeUnreferencedRows()
                }
                removed += batch.count
                rest = rest.dropFirst(batch.count)
                try? forgetNotes(of: forgotten)
                try giveBackBatch()
                batchSize = min(batchSize * 2, Self.maxBatch)
            } catch  where error.reason == .full {
                _ = try? isLogEmptied()
                if batch.count == 1 {
                    if removed > 0 { break }
                    throw error
                }
                batchSize = max(1, batch.count / 4)
            }
        }
        return removed
    }

    private static let maxBatch = 4096

    /// Removes unreferenced rows in batches, for a disk without room for one large log.
    func removeOrphansInBatches() throws(StoreError) {
        var batchSize = Self.maxBatch
        while true {
            do throws(StoreError) {
                var isDone = false
                let forgotten = try transactionWithMemory { () throws(StoreError) in
                    try removeUnreferencedRows(atMost: batchSize, isDone: &isDone)
                }
                try? forgetNotes(of: forgotten)
                try giveBackBatch()
                if isDone { return }
                batchSize = min(batchSize * 2, Self.maxBatch)
            } catch  where error.reason == .full && batchSize > 1 {
                _ = try? isLogEmptied()
                batchSize = max(1, batchSize / 4)
            }
        }
    }

    /// Frees the space of the last batch: the log, files, and holes in packs.
    private func giveBackBatch() throws(StoreError) {
        guard !isServed else { return }
        _ = try isLogEmptied()
        try removeOrphanFiles()
        _ = try thinPacks(wasteAllowed: .infinity)
    }

    private func transactionWithMemory<Value>(
        _ body: () throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        var value: Value?
        try rememberingMore { () throws(StoreError) in value = try transaction(body) }
        guard let value else { preconditionFailure("the transaction returned without a value") }
        return value
    }

    private func evictionPlan(
        _ kind: Evictable, keeping bundles: [String]?
    ) throws(StoreError) -> EvictionPlan {
        var pinned = try pinnedURLs()
        if let bundles { try pin(bundles, in: &pinned) }
        try pinUnremovable(in: &pinned)
        for site in try heldSites() {
            try eachRow(
                "SELECT DISTINCT url FROM response WHERE snapshot IN (SELECT id FROM snapshot WHERE site = ?)",
                .integer(site)
            ) { pinned.insert($0.integer(0)) }
        }
        let served = folder.hasNotes ? try NoteBook(folder).servedTimes() : [:]
        var plan = EvictionPlan()
        try eachRow(
            """
            SELECT body.id, coalesce(body.frame, body.size) + length(content.links)
            FROM body JOIN content ON content.body = body.id ORDER BY body.id
            """
        ) { plan.add(body: $0.integer(0), byteCount: Int($0.integer(1))) }
        // Bodies that other responses have are not freed by eviction.
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

    /// Evicting what is in a damaged pack would free nothing, as its room is not given back before a repair.
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
    }

    /// Start pages are evicted last. They were fetched first, but they lead to all other pages.
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

    /// The URLs that a pin keeps, with everything that they need, and what that needs in turn.
    private func pinnedURLs() throws(StoreError) -> Set<Int64> {
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
            if pins.holds(site: row.text(2)) || pins.holds(address: row.text(1)) {
                pinned.insert(row.integer(0))
            }
        }
        try reader.addNeeds(to: &pinned)
        return pinned
    }
}
