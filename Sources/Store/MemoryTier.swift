internal import Glibc
internal import Synchronization

/// A cache in memory with a limit in bytes, which evicts the least recently used values first. Any thread may
/// use it.
///
/// The entries are divided into shards by the hash of their keys, each with a lock of its own. A thread never
/// waits for another one in `value` or `insert`: if a shard is locked, `value` finds nothing in it and `insert`
/// stores nothing in it. The order of use is exact within a shard. With several shards, the tier evicts the
/// oldest value of the new entry's shard, then of the next shard, and so on, which is approximately the oldest
/// of all.
///
/// Values are derived from the content of the store, which changes. A thread that derives a value reads
/// `generation` before it reads the store, and passes it to `insert`. A thread that notices a change of the
/// store calls `advance`: from then on, no value of an earlier generation is returned, and `insert` refuses
/// values that were derived from the earlier content.
package struct MemoryTier<Value: AnyObject & Sendable>: Sendable {
    private let untyped: UntypedMemoryTier

    /// - Parameters:
    ///   - byteLimit: The limit in bytes; 0 turns the cache off.
    ///   - shardCount: The number of shards, a power of two.
    package init(byteLimit: Int, shardCount: Int = 16) {
        untyped = UntypedMemoryTier(byteLimit: byteLimit, shardCount: shardCount)
    }

    /// Changes the limit, and evicts the oldest values beyond it.
    func setLimit(_ byteLimit: Int) { untyped.setLimit(byteLimit) }

    /// The size of all entries. Never exceeds the limit, except for a moment after `setLimit`.
    package var byteCount: Int { untyped.byteCount }

    /// The current generation. Must be read before the content that a value is derived from.
    package var generation: TierGeneration { untyped.generation }

    /// Begins a new generation: removes all values, and makes `insert` refuse those that are being derived.
    /// Returns the new generation.
    @discardableResult package func advance() -> TierGeneration {
        untyped.advance()
    }

    /// Begins a new generation, unless another thread has begun one after `generation`. In that case it removes
    /// nothing and returns nil.
    package func advanceIfCurrent(_ generation: TierGeneration) -> TierGeneration? {
        untyped.advanceIfCurrent(generation)
    }

    /// Returns the value with this key, and makes it the most recently used. A key has two parts, so that
    /// callers need not join them.
    ///
    /// - Parameter now: The time in seconds, by a clock that is the same for all calls.
    package func value(for first: Span<UInt8>, _ second: Span<UInt8> = Span(), now: Int64) -> Value? {
        guard let value = untyped.value(for: first, second, now: now) else { return nil }
        // Only `insert` adds values.
        return unsafeDowncast(value, to: Value.self)
    }

    /// Adds the value, or replaces the one with the same key. Returns false if the value was not added:
    /// because it is larger than a quarter of the limit, was derived in an earlier generation, or would have to
    /// wait for another thread.
    ///
    /// - Parameters:
    ///   - byteCount: The size of the value. The sizes of the key and the entry are added to it.
    ///   - id: The id of the value in `uses`.
    @discardableResult package func insert(
        _ value: Value, byteCount: Int, id: Int64, for first: Span<UInt8>, _ second: Span<UInt8> = Span(),
        derivedIn generation: TierGeneration, now: Int64
    ) -> Bool {
        untyped.insert(
            value, byteCount: byteCount, id: id, for: first, second, derivedIn: generation, now: now)
    }

    /// Removes the value with this key.
    package func remove(_ first: Span<UInt8>, _ second: Span<UInt8> = Span()) {
        untyped.remove(first, second)
    }

    /// Evicts the oldest values until at most this many bytes are left. The limit stays the same.
    package func shrink(to byteCount: Int) {
        untyped.shrink(to: byteCount)
    }

    /// Returns the values that were used at `time` or later and are still in the cache, in no particular
    /// order.
    package func uses(since time: Int64) -> [TierUse] {
        untyped.uses(since: time)
    }
}

/// A number for the state of the content that values were derived from.
package struct TierGeneration: Sendable, Equatable {
    package let number: Int
}

/// The time at which a value was last used, by the clock of the tier's callers.
package struct TierUse: Sendable, Equatable {
    package let id: Int64
    package let lastUse: Int64
}

// MARK: - Shards

/// The implementation of `MemoryTier` for values of any class. It is not generic, so that the modules that
/// use it need not specialize it.
///
/// `advance` increments the generation before it removes anything, and each shard has the generation of its
/// entries. Both are compared under the shard's lock. Thus a value of an older generation is refused if it
/// arrives late, and is not returned if it has not been removed yet.
private final class UntypedMemoryTier: Sendable {
    /// A part of the entries, selected by the hash of their keys, with a lock of its own.
    private final class Shard: Sendable {
        let contents = Mutex(LeastRecentlyUsed(generation: 0))
    }

    private let byteLimit: Atomic<Int>
    private let shards: [Shard]
    /// The size of all entries, including reservations for those that are being added.
    private let totalByteCount = Atomic(0)
    /// The number of the current generation.
    private let newestGeneration = Atomic(0)

    init(byteLimit: Int, shardCount: Int) {
        precondition(shardCount.nonzeroBitCount == 1)
        self.byteLimit = Atomic(max(0, byteLimit))
        shards = (0..<shardCount).map { _ in Shard() }
    }

    var byteCount: Int { totalByteCount.load(ordering: .relaxed) }

    private var limit: Int { byteLimit.load(ordering: .relaxed) }

    func setLimit(_ byteLimit: Int) {
        let before = self.byteLimit.exchange(max(0, byteLimit), ordering: .relaxed)
        if byteLimit < before { shrink(to: byteLimit) }
    }

    var generation: TierGeneration {
        TierGeneration(number: newestGeneration.load(ordering: .acquiring))
    }

    func advance() -> TierGeneration {
        removeAll(before: newestGeneration.add(1, ordering: .acquiringAndReleasing).newValue)
    }

    func advanceIfCurrent(_ generation: TierGeneration) -> TierGeneration? {
        let next = generation.number + 1
        let (isBegun, _) = newestGeneration.compareExchange(
            expected: generation.number, desired: next, ordering: .acquiringAndReleasing)
        return isBegun ? removeAll(before: next) : nil
    }

    /// Removes the entries of generations before `number`.
    private func removeAll(before number: Int) -> TierGeneration {
        for shard in shards {
            // Freed after the lock is released, because freeing much memory takes long.
            let removed = shard.contents.withLock { contents -> LeastRecentlyUsed? in
                // Another thread may have begun a later generation already.
                guard contents.generation < number else { return nil }
                defer { contents = LeastRecentlyUsed(generation: number) }
                return contents
            }
            release(removed?.byteCount ?? 0)
        }
        return TierGeneration(number: number)
    }

    func value(for first: Span<UInt8>, _ second: Span<UInt8>, now: Int64) -> AnyObject? {
        guard limit > 0 else { return nil }
        let hash = TierKey.hash(first, second)
        return shard(of: hash).contents.withLockIfAvailable { contents in
            guard contents.generation == newestGeneration.load(ordering: .acquiring) else { return nil }
            return contents.use(hash, first, second, now: now)
        } ?? nil
    }

    func insert(
        _ value: any AnyObject & Sendable, byteCount: Int, id: Int64, for first: Span<UInt8>,
        _ second: Span<UInt8>,
        derivedIn generation: TierGeneration, now: Int64
    ) -> Bool {
        let key = TierKey(first, second)
        let cost = byteCount + key.bytes.count + TierEntry.overheadByteCount
        // A larger value would evict too many others.
        guard cost <= limit / 4, generation == self.generation else { return false }
        // Removed first, so that no other entry is evicted to make space for a replacement.
        let replaced = shard(of: key.hash).contents.withLockIfAvailable { $0.removeEntry(for: key) }
        guard let replaced else { return false }
        free(replaced)
        guard reserve(cost, evictingFrom: key.hash & (shards.count - 1)) else { return false }
        let entry = TierEntry(value: value, key: key, id: id, byteCount: cost, lastUse: now)
        let isInserted = shard(of: key.hash).contents.withLockIfAvailable { contents in
            // Another thread may have changed the shard since.
            guard contents.generation == generation.number else { return false }
            return contents.insert(entry)
        }
        if isInserted != true { release(cost) }
        return isInserted ?? false
    }

    func remove(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        let key = TierKey(first, second)
        free(shard(of: key.hash).contents.withLock { $0.removeEntry(for: key) })
    }

    func shrink(to byteCount: Int) {
        var (next, emptyShards) = (0, 0)
        while self.byteCount > byteCount, emptyShards < shards.count {
            let evicted = shards[next].contents.withLock { $0.removeOldest() }
            emptyShards = evicted == nil ? emptyShards + 1 : 0
            next = (next + 1) % shards.count
            free(evicted)
        }
    }

    func uses(since time: Int64) -> [TierUse] {
        var uses: [TierUse] = []
        for shard in shards {
            // Reads a few entries at a time, so that threads that serve requests rarely find the shard
            // locked.
            var start: Int? = 0
            while let index = start {
                let (some, next) = shard.contents.withLock { $0.uses(since: time, from: index) }
                uses += some
                start = next
            }
        }
        return uses
    }

    /// Reserves space for an entry, and evicts others for it. Goes through the shards in turn, beginning
    /// with `start`. Returns false if every shard in a whole round was locked or empty. The caller releases the
    /// space.
    private func reserve(_ byteCount: Int, evictingFrom start: Int) -> Bool {
        var (next, emptyShards) = (start, 0)
        while !tryReserve(byteCount) {
            guard emptyShards < shards.count else { return false }
            let evicted = shards[next].contents.withLockIfAvailable { $0.removeOldest() } ?? nil
            emptyShards = evicted == nil ? emptyShards + 1 : 0
            next = (next + 1) % shards.count
            free(evicted)
        }
        return true
    }

    /// Adds to `totalByteCount` unless the sum would exceed the limit. Returns whether it did.
    private func tryReserve(_ byteCount: Int) -> Bool {
        var current = totalByteCount.load(ordering: .relaxed)
        while current + byteCount <= limit {
            let (isDone, actual) = totalByteCount.weakCompareExchange(
                expected: current, desired: current + byteCount, ordering: .relaxed)
            if isDone { return true }
            current = actual
        }
        return false
    }

    /// Subtracts from `totalByteCount`.
    private func release(_ byteCount: Int) {
        totalByteCount.subtract(byteCount, ordering: .relaxed)
    }

    /// Releases the entry's space. The memory is freed with the last reference, outside of any lock.
    private func free(_ entry: TierEntry?) {
        if let entry { release(entry.byteCount) }
    }

    private func shard(of hash: Int) -> Shard { shards[hash & (shards.count - 1)] }
}

// MARK: - A shard

/// The entries of a shard by their keys, in a doubly linked list from the most recently used to the oldest.
private struct LeastRecentlyUsed: Sendable {
    /// The entries. Free slots are reused. The links of the list are indices, and index 0 is the sentinel at both
    /// ends.
    private var entries: [TierEntry] = [TierEntry()]
    private var freeSlots: [Int] = []
    /// The index of the entry for each hash. If two keys have the same hash, which callers cannot choose, one
    /// replaces the other.
    private var indexByHash: [Int: Int] = [:]
    private(set) var byteCount = 0
    /// The generation that all entries were derived in.
    let generation: Int

    init(generation: Int) {
        self.generation = generation
    }

    /// Returns the value with this key, and makes it the most recently used.
    mutating func use(
        _ hash: Int, _ first: Span<UInt8>, _ second: Span<UInt8>, now: Int64
    ) -> (any AnyObject & Sendable)? {
        guard let index = indexByHash[hash], entries[index].key.hasParts(first, second) else { return nil }
        entries[index].lastUse = now
        if entries[index].newer != 0 {
            unlink(index)
            link(index)
        }
        return entries[index].value
    }

    /// Returns false if there is an entry with the same hash.
    mutating func insert(_ entry: TierEntry) -> Bool {
        guard indexByHash[entry.key.hash] == nil else { return false }
        let index = freeSlots.popLast() ?? entries.count
        if index == entries.count { entries.append(entry) } else { entries[index] = entry }
        indexByHash[entry.key.hash] = index
        byteCount += entry.byteCount
        link(index)
        return true
    }

    mutating func removeEntry(for key: TierKey) -> TierEntry? {
        indexByHash[key.hash].map { removeEntry(at: $0) }
    }

    /// Removes the least recently used entry; nil if there is none.
    mutating func removeOldest() -> TierEntry? {
        entries[0].newer == 0 ? nil : removeEntry(at: entries[0].newer)
    }

    /// Returns the uses in some of the slots, beginning with `start`, and the index to continue at.
    func uses(since time: Int64, from start: Int) -> (uses: [TierUse], next: Int?) {
        guard start < entries.count else { return ([], nil) }
        let end = min(start + 64, entries.count)
        let uses = entries[start..<end].compactMap { entry in
            entry.value != nil && entry.lastUse >= time ? TierUse(id: entry.id, lastUse: entry.lastUse) : nil
        }
        return (uses, end)
    }

    private mutating func removeEntry(at index: Int) -> TierEntry {
        unlink(index)
        let entry = entries[index]
        entries[index] = TierEntry()
        freeSlots.append(index)
        indexByHash[entry.key.hash] = nil
        byteCount -= entry.byteCount
        return entry
    }

    /// Makes an entry the most recently used.
    private mutating func link(_ index: Int) {
        let newest = entries[0].older
        entries[index].newer = 0
        entries[index].older = newest
        entries[newest].newer = index
        entries[0].older = index
    }

    /// Takes an entry out of the list.
    private mutating func unlink(_ index: Int) {
        let (newer, older) = (entries[index].newer, entries[index].older)
        entries[newer].older = older
        entries[older].newer = newer
    }
}

/// An entry of a shard.
private struct TierEntry: Sendable {
    /// Nil in a free slot and in the sentinel.
    var value: (any AnyObject & Sendable)?
    var key = TierKey(Span(), Span())
    var id: Int64 = 0
    /// The size that counts towards the tier's limit.
    var byteCount = 0
    var lastUse: Int64 = 0
    var newer = 0
    var older = 0

    /// The size of an entry without its key and value: the struct, the overhead of malloc, and its slots in
    /// the tables.
    static let overheadByteCount = 200
}

/// The key of an entry: bytes in two parts, which callers need not join for a look-up.
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

    /// `Hasher` is seeded anew in each process, because pages choose their URLs and must not be able to
    /// produce collisions.
    static func hash(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Int {
        var hasher = Hasher()
        first.withUnsafeBytes { hasher.combine(bytes: $0) }
        hasher.combine(first.count)
        second.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    func hasParts(_ first: Span<UInt8>, _ second: Span<UInt8>) -> Bool {
        guard firstCount == first.count, bytes.count == firstCount + second.count else { return false }
        return bytes.withUnsafeBytes { own in
            Self.isEqual(own.baseAddress, first)
                && Self.isEqual(own.baseAddress.map { $0 + firstCount }, second)
        }
    }

    private static func isEqual(_ own: UnsafeRawPointer?, _ other: Span<UInt8>) -> Bool {
        other.withUnsafeBytes { other in
            guard let own, let start = other.baseAddress else { return true }
            return memcmp(own, start, other.count) == 0
        }
    }
}
