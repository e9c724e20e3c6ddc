internal import Glibc
internal import Synchronization

/// Values kept ready in memory, the least recently used out first, never more than the limit. Any thread may
/// use it.
///
/// No thread waits for another to ask or to keep: a shard that is busy answers as one that holds nothing, and
/// what was to be kept in it is not. With one shard the order of use is exact. With several each shard's is,
/// and what has to go is the oldest of the new entry's shard, then of the next one, and so on around: about
/// the oldest of all.
///
/// What it holds was made from a look at something that changes. Who makes a value notes `generation` before
/// the look, and gives it to `keep`. Who sees a change calls `advance`: from then on nobody is given what an
/// earlier look led to, and what is still being made from one is not kept.
package struct MemoryTier<Value: AnyObject & Sendable>: Sendable {
    private let untyped: UntypedMemoryTier

    /// A limit of 0 turns it off.
    ///
    /// - Parameter shardCount: a power of two.
    package init(byteLimit: Int, shardCount: Int = 16) {
        untyped = UntypedMemoryTier(byteLimit: byteLimit, shardCount: shardCount)
    }

    /// Changes the limit; what is beyond it goes, the oldest first.
    package func setLimit(_ byteLimit: Int) { untyped.setLimit(byteLimit) }

    /// What the entries count for by now; never more than the limit.
    package var byteCount: Int { untyped.byteCount }

    /// To be noted before a look at what a value is made from.
    package var generation: TierGeneration { untyped.generation }

    /// Forgets everything, what others are making at the moment included. Returns the generation that begins.
    @discardableResult package func advance() -> TierGeneration {
        untyped.advance()
    }

    /// The same for a caller whose facts are as old as `generation`. Nil, and nothing is forgotten, when another
    /// thread has begun a later generation since.
    package func advance(after generation: TierGeneration) -> TierGeneration? {
        untyped.advance(after: generation)
    }

    /// The value under the key, which becomes the most recently used. A key has two parts, so that nobody has
    /// to join them.
    ///
    /// - Parameter now: seconds of a clock that the caller chooses, the same for all calls.
    package func value(for first: Span<UInt8>, _ second: Span<UInt8> = Span(), now: Int64) -> Value? {
        guard let value = untyped.value(for: first, second, now: now) else { return nil }
        // Only `keep` puts values in.
        return unsafeDowncast(value, to: Value.self)
    }

    /// Keeps the value, in place of what was under the key. False when it is not kept: because it counts for
    /// more than a quarter of the limit, was made in an earlier generation, or met another thread where it
    /// was to go.
    ///
    /// - Parameters:
    ///   - byteCount: what the value takes; the key and the entry itself are added.
    ///   - id: what `uses` tells of it.
    @discardableResult package func keep(
        _ value: Value, byteCount: Int, id: Int64, for first: Span<UInt8>, _ second: Span<UInt8> = Span(),
        madeIn generation: TierGeneration, now: Int64
    ) -> Bool {
        untyped.keep(value, byteCount: byteCount, id: id, for: first, second, madeIn: generation, now: now)
    }

    /// Forgets what is under the key.
    package func remove(_ first: Span<UInt8>, _ second: Span<UInt8> = Span()) {
        untyped.remove(first, second)
    }

    /// Gives back memory, the oldest first, until no more than so much is held. It grows again by use.
    package func shrink(to byteCount: Int) {
        untyped.shrink(to: byteCount)
    }

    /// What was used at `time` or later, in no order. What has gone meanwhile is not told.
    package func uses(since time: Int64) -> [TierUse] {
        untyped.uses(since: time)
    }
}

/// Which look at the store values were made from.
package struct TierGeneration: Sendable, Equatable {
    package let number: Int
}

/// When something was last used, by the clock that the tier's users chose.
package struct TierUse: Sendable, Equatable {
    package let id: Int64
    package let lastUse: Int64
}

// MARK: - Shards

/// `MemoryTier` for values of any class: without a type to know, nothing has to be specialised in the rooms
/// that use it.
///
/// A generation's number goes up before anything of the one before is forgotten, and a shard has the number
/// of what it holds. Both are compared under the shard's lock, so that what was made from an older look at
/// the store is refused when it comes late, and not given out while it is still there.
private final class UntypedMemoryTier: Sendable {
    private final class Shard: Sendable {
        let contents = Mutex(LeastRecentlyUsed(generation: 0))
    }

    private let byteLimit: Atomic<Int>
    private let shards: [Shard]
    /// What the entries count for, and what is promised to those on their way in.
    private let total = Atomic(0)
    private let newestGeneration = Atomic(0)

    init(byteLimit: Int, shardCount: Int) {
        precondition(shardCount.nonzeroBitCount == 1)
        self.byteLimit = Atomic(max(0, byteLimit))
        shards = (0..<shardCount).map { _ in Shard() }
    }

    var byteCount: Int { total.load(ordering: .relaxed) }

    private var limit: Int { byteLimit.load(ordering: .relaxed) }

    func setLimit(_ byteLimit: Int) {
        let before = self.byteLimit.exchange(max(0, byteLimit), ordering: .relaxed)
        if byteLimit < before { shrink(to: byteLimit) }
    }

    var generation: TierGeneration {
        TierGeneration(number: newestGeneration.load(ordering: .acquiring))
    }

    func advance() -> TierGeneration {
        forget(before: newestGeneration.add(1, ordering: .acquiringAndReleasing).newValue)
    }

    func advance(after generation: TierGeneration) -> TierGeneration? {
        let begun = generation.number + 1
        let (isBegun, _) = newestGeneration.compareExchange(
            expected: generation.number, desired: begun, ordering: .acquiringAndReleasing)
        return isBegun ? forget(before: begun) : nil
    }

    private func forget(before begun: Int) -> TierGeneration {
        for shard in shards {
            // Freed without the lock: large memory takes its time.
            let forgotten = shard.contents.withLock { contents -> LeastRecentlyUsed? in
                // A later one may have been here already.
                guard contents.generation < begun else { return nil }
                defer { contents = LeastRecentlyUsed(generation: begun) }
                return contents
            }
            release(forgotten?.byteCount ?? 0)
        }
        return TierGeneration(number: begun)
    }

    func value(for first: Span<UInt8>, _ second: Span<UInt8>, now: Int64) -> AnyObject? {
        guard limit > 0 else { return nil }
        let hash = TierKey.hash(first, second)
        return shard(of: hash).contents.withLockIfAvailable { contents in
            guard contents.generation == newestGeneration.load(ordering: .acquiring) else { return nil }
            return contents.use(hash, first, second, now: now)
        } ?? nil
    }

    func keep(
        _ value: any AnyObject & Sendable, byteCount: Int, id: Int64, for first: Span<UInt8>,
        _ second: Span<UInt8>,
        madeIn generation: TierGeneration, now: Int64
    ) -> Bool {
        let key = TierKey(first, second)
        let cost = byteCount + key.bytes.count + TierEntry.ownByteCount
        guard cost <= limit / 4, generation == self.generation else { return false }
        // First, so that nothing else has to go for what takes its place.
        let replaced = shard(of: key.hash).contents.withLockIfAvailable { $0.remove(key) }
        guard let replaced else { return false }
        free(replaced)
        guard reserve(cost, evictingFrom: key.hash & (shards.count - 1)) else { return false }
        let entry = TierEntry(value: value, key: key, id: id, byteCount: cost, lastUse: now)
        let isKept = shard(of: key.hash).contents.withLockIfAvailable { contents in
            // Another thread may have been here since.
            guard contents.generation == generation.number else { return false }
            return contents.insert(entry)
        }
        if isKept != true { release(cost) }
        return isKept ?? false
    }

    func remove(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        let key = TierKey(first, second)
        free(shard(of: key.hash).contents.withLock { $0.remove(key) })
    }

    func shrink(to byteCount: Int) {
        var (next, fruitless) = (0, 0)
        while self.byteCount > byteCount, fruitless < shards.count {
            let evicted = shards[next].contents.withLock { $0.removeOldest() }
            fruitless = evicted == nil ? fruitless + 1 : 0
            next = (next + 1) % shards.count
            free(evicted)
        }
    }

    func uses(since time: Int64) -> [TierUse] {
        var uses: [TierUse] = []
        for shard in shards {
            // A few places at a time: who serves meanwhile finds the shard free.
            var start: Int? = 0
            while let place = start {
                let (some, next) = shard.contents.withLock { $0.uses(since: time, from: place) }
                uses += some
                start = next
            }
        }
        return uses
    }

    /// Promises so much of the limit to the caller, who frees it. False when what would have to go is busy.
    private func reserve(_ byteCount: Int, evictingFrom start: Int) -> Bool {
        var (next, fruitless) = (start, 0)
        while !reserve(byteCount) {
            guard fruitless < shards.count else { return false }
            let evicted = shards[next].contents.withLockIfAvailable { $0.removeOldest() } ?? nil
            fruitless = evicted == nil ? fruitless + 1 : 0
            next = (next + 1) % shards.count
            free(evicted)
        }
        return true
    }

    private func reserve(_ byteCount: Int) -> Bool {
        var held = total.load(ordering: .relaxed)
        while held + byteCount <= limit {
            let (isDone, found) = total.weakCompareExchange(
                expected: held, desired: held + byteCount, ordering: .relaxed)
            if isDone { return true }
            held = found
        }
        return false
    }

    private func release(_ byteCount: Int) {
        total.subtract(byteCount, ordering: .relaxed)
    }

    /// The entry itself goes with its last reference, without a lock.
    private func free(_ entry: TierEntry?) {
        if let entry { release(entry.byteCount) }
    }

    private func shard(of hash: Int) -> Shard { shards[hash & (shards.count - 1)] }
}

// MARK: - A shard

/// What a shard holds: entries by their keys, in a row from the newest use to the oldest.
private struct LeastRecentlyUsed: Sendable {
    /// In places that are given anew once they are free; the row goes by their numbers, and place 0 is its
    /// ends.
    private var entries: [TierEntry] = [TierEntry()]
    private var freePlaces: [Int] = []
    /// Of each hash the entry. Two keys with one hash, which nobody can choose, put each other out.
    private var places: [Int: Int] = [:]
    private(set) var byteCount = 0
    /// Of the look at the store that everything here was made in.
    let generation: Int

    init(generation: Int) {
        self.generation = generation
    }

    /// The value under the key, which becomes the newest.
    mutating func use(
        _ hash: Int, _ first: Span<UInt8>, _ second: Span<UInt8>, now: Int64
    ) -> (any AnyObject & Sendable)? {
        guard let place = places[hash], entries[place].key.isMade(of: first, second) else { return nil }
        entries[place].lastUse = now
        if entries[place].newer != 0 {
            unlink(place)
            link(place)
        }
        return entries[place].value
    }

    /// False when there is something under its hash.
    mutating func insert(_ entry: TierEntry) -> Bool {
        guard places[entry.key.hash] == nil else { return false }
        let place = freePlaces.popLast() ?? entries.count
        if place == entries.count { entries.append(entry) } else { entries[place] = entry }
        places[entry.key.hash] = place
        byteCount += entry.byteCount
        link(place)
        return true
    }

    mutating func remove(_ key: TierKey) -> TierEntry? {
        places[key.hash].map { remove($0) }
    }

    mutating func removeOldest() -> TierEntry? {
        entries[0].newer == 0 ? nil : remove(entries[0].newer)
    }

    /// Of some places from there on, and where to go on.
    func uses(since time: Int64, from start: Int) -> (uses: [TierUse], next: Int?) {
        guard start < entries.count else { return ([], nil) }
        let end = min(start + 64, entries.count)
        let uses = entries[start..<end].compactMap { entry in
            entry.value != nil && entry.lastUse >= time ? TierUse(id: entry.id, lastUse: entry.lastUse) : nil
        }
        return (uses, end)
    }

    private mutating func remove(_ place: Int) -> TierEntry {
        unlink(place)
        let entry = entries[place]
        entries[place] = TierEntry()
        freePlaces.append(place)
        places[entry.key.hash] = nil
        byteCount -= entry.byteCount
        return entry
    }

    private mutating func link(_ place: Int) {
        let newest = entries[0].older
        entries[place].newer = 0
        entries[place].older = newest
        entries[newest].newer = place
        entries[0].older = place
    }

    private mutating func unlink(_ place: Int) {
        let (newer, older) = (entries[place].newer, entries[place].older)
        entries[newer].older = older
        entries[older].newer = newer
    }
}

/// A value as a shard holds it.
private struct TierEntry: Sendable {
    /// Nil for a place that is free.
    var value: (any AnyObject & Sendable)?
    var key = TierKey(Span(), Span())
    var id: Int64 = 0
    /// What it counts for in the tier's budget.
    var byteCount = 0
    var lastUse: Int64 = 0
    var newer = 0
    var older = 0

    /// What an entry takes beside its key and its value: itself, what malloc adds, its place in the tables.
    static let ownByteCount = 200
}

/// What an entry of a `MemoryTier` is found by: bytes in two parts, which nobody has to join to ask for it.
private struct TierKey: Sendable {
    let bytes: [UInt8]
    let firstCount: Int
    let hash: Int

    init(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        bytes = first.withUnsafeBufferPointer { first in second.withUnsafeBufferPointer { Array(first) + $0 }
        }
        firstCount = first.count
        hash = Self.hash(first, second)
    }

    /// Seeded anew in each process: pages choose their addresses, and must not choose where they end up.
    static func hash(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Int {
        var hasher = Hasher()
        first.withUnsafeBytes { hasher.combine(bytes: $0) }
        hasher.combine(first.count)
        second.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    func isMade(of first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        guard firstCount == first.count, bytes.count == firstCount + second.count else { return false }
        return bytes.withUnsafeBytes { own in
            Self.isEqual(own.baseAddress, first)
                && Self.isEqual(own.baseAddress.map { $0 + firstCount }, second)
        }
    }

    private static func isEqual(_ own: UnsafeRawPointer?, _ asked: Span<UInt8>) -> Bool {
        asked.withUnsafeBytes { asked in
            guard let own, let start = asked.baseAddress else { return true }
            return memcmp(own, start, asked.count) == 0
        }
    }
}
