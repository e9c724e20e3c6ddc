internal import Glibc

/// What a collection took away.
package struct CollectionResult: Sendable, Equatable {
    package var droppedVisits = 0
    package var evictedURLs = 0
    package var removedBodies = 0
    /// What database and bodies took on the disk.
    package var byteCountBefore: Int64 = 0
    package var byteCountAfter: Int64 = 0
    /// Nil when the store could be made as small as wanted; else what is left that may not go.
    package var excess: Int64?
    /// Why the database file did not shrink, though there is room in it now.
    package var shrinkFailure: StoreError?

    package init() {}
}

extension StoreWriter {
    /// Removes what nothing refers to and, with a limit, what goes beyond it: first visits that are not
    /// shown, the oldest first, then URLs by `EvictionPlan`. Pins stay. The database gives its room back to
    /// the disk.
    ///
    /// What the shown visits show changes only by what is evicted, which is then missing, and fetched at the
    /// next prefetch. Runs that write let go meanwhile, and their sites stay as they are. Fails with `.busy`
    /// when somebody does not. `progress` is told how many bytes are in use, now and then.
    package func collect(
        limit: Int64?, progress: (Int64) -> Void = { _ in }
    ) throws(StoreError) -> CollectionResult {
        var result = CollectionResult()
        result.byteCountBefore = folder.byteCount
        try aloneForAWhile(doing: "collect") { () throws(StoreError) in
            // On a full disk the first room to be had is that of the log. Without it, the first change tells.
            if !isServed {
                _ = try? isLogEmptied()
                // Nor is the log anything that is held.
                result.byteCountBefore = folder.byteCount
            }
            var journaled = everChangedRowCount
            try withoutReferences { () throws(StoreError) in
                let bodiesBefore = try count("SELECT count(*) FROM body")
                try removeOrphans()
                result.shrinkFailure = try thinPacks(wasteAllowed: Self.usualWaste)
                if let limit { try collect(downTo: contentLimit(limit), &result, &journaled, progress) }
                if !isRehearsing { try bodies.outer?.removeStrays() }
                result.removedBodies = Int(bodiesBefore - (try count("SELECT count(*) FROM body")))
            }
            try countAgain()
            result.shrinkFailure = shrink() ?? result.shrinkFailure
            try renewJournal(&journaled, &result)
        }
        result.byteCountAfter = isServed ? try usedByteCount() : folder.byteCount
        return result
    }

    /// Where rows have changed since it knew of all, and there is room. Without it the journal names what is
    /// gone, which does no harm.
    private func renewJournal(_ known: inout Int64, _ result: inout CollectionResult) throws(StoreError) {
        guard everChangedRowCount != known else { return }
        do throws(StoreError) {
            try renewJournal()
            known = everChangedRowCount
        } catch  where error.reason == .full {
            result.shrinkFailure = result.shrinkFailure ?? error
        }
    }

    private func collect(
        downTo limit: Int64, _ result: inout CollectionResult, _ journaled: inout Int64,
        _ progress: (Int64) -> Void
    ) throws(StoreError) {
        let used = try usedByteCount()
        let whole = isServed ? used : used + folder.journalByteCount
        guard max(whole, folder.contentByteCount) > limit else { return }
        // The journal, which says once more what the database does, becomes smaller as that does.
        var target = Self.share(of: limit, used, of: whole)
        // What is used takes more than that on the disk; how much more, only the disk tells.
        for round in 1...4 {
            result.droppedVisits += try dropVisits(downTo: target, progress)
            result.evictedURLs += try evict(downTo: target, progress)
            result.shrinkFailure = try thinPacks(wasteAllowed: Self.usualWaste)
            // What is written behind the journal has that written once more.
            try countAgain()
            if !isServed { _ = shrink() }
            try renewJournal(&journaled, &result)
            let used = try usedByteCount()
            guard used <= target else { break }
            if isServed { return }
            if folder.contentByteCount > limit {
                result.shrinkFailure = try thinPacks(wasteAllowed: 0)
                _ = shrink()
            }
            let held = folder.contentByteCount
            guard held > limit else { return }
            // The last time nothing is left to chance.
            target = round < 3 ? Self.share(of: limit, used, of: held) : used - (held - limit)
        }
        let left = max(try usedByteCount(), isServed ? 0 : folder.contentByteCount) - limit
        if left > 0 { result.excess = left }
    }

    private static func share(of limit: Int64, _ part: Int64, of whole: Int64) -> Int64 {
        whole > part ? Int64(Double(limit) * Double(part) / Double(whole)) : limit
    }

    /// What is left of a limit for all but the index of words, which becomes smaller as the rest does.
    private func contentLimit(_ limit: Int64) throws(StoreError) -> Int64 {
        let content = try usedByteCount() + (isServed ? 0 : folder.journalByteCount)
        return Self.share(of: limit, content, of: content + folder.searchIndexByteCount)
    }

    /// So much of a pack may be room that no body has: moving them takes longer than it is worth.
    private static let usualWaste = 0.25

    /// While nobody looks after them, rows must go in an order of which every step is sound: a kill may come
    /// at any time.
    private func withoutReferences(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        if isServed { return try body() }
        // What is given back to the disk was let go by rows that stay gone, even after a power cut.
        try execute("PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL;", doing: "collect")
        let result = Result { () throws(StoreError) in try body() }
        try execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL;", doing: "collect")
        try result.get()
    }

    /// What the store would take on the disk if it had no room left in it.
    func usedByteCount() throws(StoreError) -> Int64 {
        if isServed { return try servedByteCount() }
        let pages = try count("PRAGMA page_count") - (try count("PRAGMA freelist_count"))
        let packed = try count(
            "SELECT coalesce(sum(coalesce(frame, size)), 0) FROM body WHERE pack IS NOT NULL")
        return pages * (try count("PRAGMA page_size")) + packed + folder.bodiesByteCount
    }

    private func dropVisits(downTo limit: Int64, _ progress: (Int64) -> Void) throws(StoreError) -> Int {
        let reader = try StoreReader(folder)
        let pins = PinSet(try reader.pins())
        // Of a site that was never published everything shows, and the last visit may be gone on with.
        let held = try heldSites()
        let sites = try reader.sites().filter {
            $0.published != nil && !pins.holds(site: $0.name) && !held.contains($0.id)
        }
        let hidden = sites.flatMap { site in
            site.visits.filter {
                $0.id != site.published && $0.id != site.overlay
                    && ($0.finished != nil || $0 != site.visits.last)
            }
        }
        var dropped = 0
        for visit in hidden.map(\.id).sorted() {
            let used = try usedByteCount()
            progress(used)
            guard used > limit else { break }
            // Looked up again: a visit that went has changed its site.
            guard let site = try reader.sites().first(where: { $0.visits.contains { $0.id == visit } }) else {
                continue
            }
            try dropRows(ofVisit: visit, of: site)
            try removeOrphans()
            dropped += 1
        }
        return dropped
    }

    private func evict(downTo limit: Int64, _ progress: (Int64) -> Void) throws(StoreError) -> Int {
        var evicted = 0
        // What a URL takes beside its bodies is a guess: a few rounds come down to it.
        for _ in 1...8 {
            // Pages that are half empty count whole. Where they cannot be put together, more goes than had
            // to.
            if try usedByteCount() > limit { _ = shrink() }
            let used = try usedByteCount()
            guard used > limit else { break }
            let urls = try urlsToEvict(share: Double(used - limit) / Double(used))
            guard !urls.isEmpty else { break }
            try rememberingMore { () throws(StoreError) in
                try transaction { () throws(StoreError) in
                    let delete = try prepare("DELETE FROM response WHERE url = ?")
                    for url in urls { try delete.run(.integer(url)) }
                    try forgetCounts()
                }
            }
            try removeOrphans()
            evicted += urls.count
            progress(try usedByteCount())
        }
        return evicted
    }

    /// The plan, which is large, is gone when they are.
    private func urlsToEvict(share: Double) throws(StoreError) -> [Int64] {
        let plan = try evictionPlan()
        // The plan knows what bodies take, and not what the database takes to keep them.
        return plan.urls(toFree: Int64((Double(plan.byteCount) * share).rounded(.up)))
    }

    /// What goes lies all over the indexes: pages for which there is no room in memory are written once a row.
    private func rememberingMore(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        if isServed { return try body() }
        try execute("PRAGMA cache_size = -\(Limits.collectorCacheKiB)", doing: "collect")
        let result = Result { () throws(StoreError) in try body() }
        try execute("PRAGMA cache_size = -\(Limits.writerCacheKiB)", doing: "collect")
        try result.get()
    }

    private func removeOrphans() throws(StoreError) {
        var urls: [Int64] = []
        try rememberingMore { () throws(StoreError) in
            try transaction { () throws(StoreError) in
                try removeOrphanRows()
                // Whoever writes knows them by their numbers.
                if !isBeside { urls = try removeOrphanURLs() }
            }
        }
        // Only a server starts a note book.
        if folder.hasNotes, !urls.isEmpty, !isRehearsing { try NoteBook(folder).forget(urls) }
        try removeOrphanFiles()
    }

    /// Why the file could not be made smaller, if it could not.
    private func shrink() -> StoreError? {
        do throws(StoreError) {
            if isServed {
                guard !isRehearsing else { return nil }
                try execute("VACUUM response, link, url, body, content, piece", doing: "shrink")
                return nil
            }
            if try count("PRAGMA freelist_count") > 0 { try vacuum() }
            guard try !isLogEmptied() else { return nil }
            return StoreError(
                .busy, doing: "shrink", path: folder.database, detail: "somebody is reading from it",
                advice: "collect again when nobody does")
        } catch {
            return error
        }
    }

    /// False while somebody reads what was there before.
    func isLogEmptied() throws(StoreError) -> Bool {
        // Readers are done soon, or not for a long time.
        waitForOthers(milliseconds: 1000)
        let isBlocked = try count("PRAGMA wal_checkpoint(TRUNCATE)") != 0
        waitForOthers(milliseconds: Limits.busyMilliseconds)
        return !isBlocked
    }

    private func evictionPlan() throws(StoreError) -> EvictionPlan {
        var pinned = try pinnedURLs()
        for site in try heldSites() {
            try eachRow(
                "SELECT DISTINCT url FROM response WHERE visit IN (SELECT id FROM visit WHERE site = ?)",
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
        var holding: EvictionPlan.Holding?
        try eachRow("SELECT url, fetched, length(fields) + 200, body FROM response ORDER BY url") { row in
            let url = row.integer(0)
            if holding?.url != url {
                if let holding { plan.add(holding) }
                holding = EvictionPlan.Holding(
                    url: url, lastUse: served[url] ?? 0, isPinned: pinned.contains(url), byteCount: 0)
            }
            let lastUse = max(holding?.lastUse ?? 0, row.integer(1))
            holding?.lastUse = lastUse
            holding?.byteCount += Int(row.integer(2))
            if let body = row.optionalInteger(3) { plan.addUse(of: body) }
        }
        if let holding { plan.add(holding) }
        return plan
    }

    /// The URLs that a pin holds, with everything that they need, and what that needs in turn.
    private func pinnedURLs() throws(StoreError) -> Set<Int64> {
        let reader = try StoreReader(folder)
        let pins = PinSet(try reader.pins())
        guard !pins.isEmpty else { return [] }
        var pinned: Set<Int64> = []
        try eachRow(
            """
            SELECT DISTINCT url.id, url.href, site.name FROM response JOIN url ON url.id = response.url
            JOIN visit ON visit.id = response.visit JOIN site ON site.id = visit.site
            """
        ) { row in
            if pins.holds(site: row.text(2)) || pins.holds(address: row.text(1)) {
                pinned.insert(row.integer(0))
            }
        }
        try reader.addNeeds(to: &pinned)
        return pinned
    }

    private func count(_ sql: String) throws(StoreError) -> Int64 {
        try prepare(sql).first { $0.integer(0) } ?? 0
    }
}

// MARK: - EvictionPlan

/// Chooses what goes when a store is larger than allowed: what was not served for the longest time, and of
/// what was never served since it was fetched, what was fetched first. Of equals the one that was found last
/// goes first, so that the beginnings of sites stay.
///
/// There may be millions of them: all is in few arrays.
struct EvictionPlan {
    /// One URL with all that is held under it.
    struct Holding {
        let url: Int64
        /// When it was last served or, later, fetched.
        var lastUse: Int64
        var isPinned: Bool
        /// What it takes beside its bodies.
        var byteCount: Int
        /// Behind the last of its bodies in `uses`, where those of the one before it end first.
        fileprivate var usesEnd: UInt32 = 0

        init(url: Int64, lastUse: Int64, isPinned: Bool, byteCount: Int) {
            self.url = url
            self.lastUse = lastUse
            self.isPinned = isPinned
            self.byteCount = byteCount
        }
    }

    private var holdings: [Holding] = []
    /// Places in `bodies`, holding by holding, each once.
    private var uses: [UInt32] = []
    /// In the order of their numbers.
    private var bodies: [(number: Int64, byteCount: Int)] = []

    /// - Precondition: One with a larger number than those before, and all before the first holding.
    mutating func add(body number: Int64, byteCount: Int) {
        precondition(number > bodies.last?.number ?? .min && holdings.isEmpty)
        bodies.append((number, byteCount))
    }

    /// The next holding to be added has this body.
    mutating func addUse(of number: Int64) {
        var places = 0..<bodies.count
        while places.count > 1 {
            let middle = places.lowerBound + places.count / 2
            places =
                bodies[middle].number <= number
                ? middle..<places.upperBound : places.lowerBound..<middle
        }
        guard let place = places.first, bodies[place].number == number,
            !uses[Int(holdings.last?.usesEnd ?? 0)...].contains(UInt32(place))
        else { return }
        uses.append(UInt32(place))
    }

    mutating func add(_ holding: Holding) {
        var holding = holding
        holding.usesEnd = UInt32(uses.count)
        holdings.append(holding)
    }

    private func uses(of place: Int) -> ArraySlice<UInt32> {
        uses[(place == 0 ? 0 : Int(holdings[place - 1].usesEnd))..<Int(holdings[place].usesEnd)]
    }

    /// What all holdings together take, each body counted once.
    var byteCount: Int64 {
        holdings.reduce(0) { $0 + Int64($1.byteCount) } + bodies.reduce(0) { $0 + Int64($1.byteCount) }
    }

    /// The URLs without which at least so many bytes are free; every one that is not pinned when that is not
    /// enough. A body counts only when the last URL that has it goes.
    func urls(toFree wanted: Int64) -> [Int64] {
        var references = [UInt32](repeating: 0, count: bodies.count)
        for place in uses { references[Int(place)] += 1 }
        var chosen: [Int64] = []
        var free: Int64 = 0
        let order = holdings.indices.filter { !holdings[$0].isPinned }.sorted {
            let (one, other) = (holdings[$0], holdings[$1])
            return one.lastUse != other.lastUse ? one.lastUse < other.lastUse : one.url > other.url
        }
        for place in order {
            guard free < wanted else { break }
            chosen.append(holdings[place].url)
            free += Int64(holdings[place].byteCount)
            for body in uses(of: place) {
                references[Int(body)] -= 1
                if references[Int(body)] == 0 { free += Int64(bodies[Int(body)].byteCount) }
            }
        }
        return chosen
    }
}

extension StoreWriter {
    /// Removes bodies that no response has, with what is known of them. The caller is alone, in a
    /// transaction.
    func removeOrphanRows() throws(StoreError) {
        if bodies.outer != nil {
            try eachRow(
                """
                SELECT DISTINCT sha256 FROM body JOIN content ON content.body = body.id
                WHERE content.bytes IS NULL AND NOT EXISTS (
                    SELECT 1 FROM response WHERE response.body = body.id)
                """
            ) { orphanDigests.append($0.blob(0)) }
        }
        try run(
            """
            DELETE FROM link WHERE NOT EXISTS (
                SELECT 1 FROM response WHERE response.url = link.url AND response.body = link.body)
            """)
        try run(
            """
            DELETE FROM content WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = content.body)
            """)
        let delete = try prepare(
            "DELETE FROM body WHERE NOT EXISTS (SELECT 1 FROM response WHERE response.body = body.id)")
        try delete.run()
        if changedRowCount > 0 { try forgetCount(of: KeptTally.bodies) }
    }

    /// Removes the files that no body has. The caller is alone: another writer's file comes before its row.
    func removeOrphanFiles() throws(StoreError) {
        if isServed {
            try run(
                "DELETE FROM piece WHERE NOT EXISTS (SELECT 1 FROM body WHERE body.sha256 = piece.sha256)")
        }
        defer { orphanDigests = [] }
        if isRehearsing { return }
        try bodies.outer?.remove(orphanDigests)
        var known: Set<String> = []
        try eachRow(
            """
            SELECT DISTINCT lower(hex(body.sha256)) FROM body JOIN content ON content.body = body.id
            WHERE content.bytes IS NULL AND body.pack IS NULL
            """
        ) { known.insert($0.text(0)) }
        for name in folder.bodyFileNames where !known.contains(name) {
            let file = folder.bodyFile(sha256: name)
            guard unlink(file) == 0 || errno == ENOENT else {
                throw StoreError(errno, doing: "remove", path: file)
            }
        }
    }

    /// Removes the URLs that no response and no list of links names. The caller is alone, in a transaction,
    /// and references are not followed: SQLite would look through every response for each URL. Gives their
    /// numbers.
    private func removeOrphanURLs() throws(StoreError) -> [Int64] {
        var named = NumberSet()
        try eachRow("SELECT url, referrer FROM response") { row in
            named.insert(row.integer(0))
            if let referrer = row.optionalInteger(1) { named.insert(referrer) }
        }
        try eachRow("SELECT pages, requisites, guesses FROM link") { row in
            for column in 0..<3 as Range<Int32> {
                LinkLists.each(row.utf8(column)) { named.insert($0) }
            }
        }
        var orphans: [Int64] = []
        try eachRow("SELECT id FROM url") { row in
            if !named.contains(row.integer(0)) { orphans.append(row.integer(0)) }
        }
        let delete = try prepare("DELETE FROM url WHERE id = ?")
        for orphan in orphans { try delete.run(.integer(orphan)) }
        return orphans
    }
}

/// Numbers that lie close together, a bit each.
private struct NumberSet {
    private var words: [Int64: UInt64] = [:]

    mutating func insert(_ number: Int64) {
        words[number >> 6, default: 0] |= 1 << UInt64(number & 63)
    }

    func contains(_ number: Int64) -> Bool {
        (words[number >> 6] ?? 0) & 1 << UInt64(number & 63) != 0
    }
}
