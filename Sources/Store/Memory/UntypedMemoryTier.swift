internal import Synchronization

/// `MemoryTier` for values of any class: without a type to know, nothing has to be specialised in the rooms that use it.
///
/// A generation's number goes up before anything of the one before is forgotten, and a shard has the number of what it
/// holds. Both are compared under the shard's lock, so that what was made from an older look at the store is refused when
/// it comes late, and not given out while it is still there.
// @unchecked: shards have their locks, everything else is constant or atomic.
final class UntypedMemoryTier: @unchecked Sendable {
    let byteLimit: Int
    private let shards: UnsafeMutableBufferPointer<TierShard>
    /// What the entries count for, and what is promised to those on their way in.
    private let total = Atomic(0)
    private let newestGeneration = Atomic(0)
    private let bucketCount: Int

    /// Half of what a usual page takes, so that most chains have one entry at most.
    private static let bytesPerBucket = 4096
    private static let bucketCounts = 16...65_536

    init(byteLimit: Int, shardCount: Int) {
        precondition(shardCount.nonzeroBitCount == 1)
        self.byteLimit = max(0, byteLimit)
        let wanted = self.byteLimit / shardCount / Self.bytesPerBucket
        let bounded = min(max(wanted, Self.bucketCounts.lowerBound), Self.bucketCounts.upperBound)
        // The power of two below.
        bucketCount = 1 << (Int.bitWidth - 1 - bounded.leadingZeroBitCount)
        shards = .allocate(capacity: shardCount)
        for index in shards.indices { shards.initializeElement(at: index, to: TierShard(bucketCount: bucketCount)) }
    }

    deinit {
        for shard in shards { shard.free() }
        shards.deallocate()
    }

    var byteCount: Int { total.load(ordering: .relaxed) }

    var generation: TierGeneration {
        TierGeneration(number: newestGeneration.load(ordering: .acquiring))
    }

    func advance() -> TierGeneration {
        let begun = newestGeneration.add(1, ordering: .acquiringAndReleasing).newValue
        for shard in shards {
            var contents = TierContents(bucketCount: bucketCount, generation: begun)
            shard.change { current in
                // A later one may have been here already.
                if current.generation < begun { swap(&current, &contents) }
            }
            release(contents.byteCount)
        }
        return TierGeneration(number: begun)
    }

    func value(for first: Span<UInt8>, _ second: Span<UInt8>, now: Int64) -> AnyObject? {
        guard byteLimit > 0 else { return nil }
        return withKey(first, second) { key in
            shard(of: key).changeIfFree { contents in
                guard contents.generation == newestGeneration.load(ordering: .acquiring),
                    let place = contents.find(key)
                else { return nil }
                contents.use(place, now: now)
                return place.pointee.value.takeUnretainedValue()
            } ?? nil
        }
    }

    func keep(
        _ value: AnyObject, byteCount: Int, id: Int64, for first: Span<UInt8>, _ second: Span<UInt8>,
        madeIn generation: TierGeneration, now: Int64
    ) -> Bool {
        withKey(first, second) { key in
            let cost = byteCount + key.byteCount + TierEntry.ownByteCount
            guard cost <= byteLimit / 4, generation == self.generation else { return false }
            // First, so that nothing else has to go for what takes its place.
            guard let replaced = shard(of: key).changeIfFree({ $0.remove(key) }) else { return false }
            free(replaced)
            guard reserve(cost, evictingFrom: index(of: key)) else { return false }
            let place = TierEntry.make(value, byteCount: cost, id: id, key: key, now: now)
            let isKept = shard(of: key).changeIfFree { contents in
                // Another thread may have been here since.
                guard contents.generation == generation.number, contents.find(key) == nil else { return false }
                contents.insert(place)
                return true
            }
            if isKept != true { free(place) }
            return isKept ?? false
        }
    }

    func remove(_ first: Span<UInt8>, _ second: Span<UInt8>) {
        withKey(first, second) { key in free(shard(of: key).change { $0.remove(key) }) }
    }

    func shrink(to byteCount: Int) {
        var (next, fruitless) = (0, 0)
        while self.byteCount > byteCount, fruitless < shards.count {
            let evicted = shards[next].change { $0.removeOldest() }
            fruitless = evicted == nil ? fruitless + 1 : 0
            next = (next + 1) % shards.count
            free(evicted)
        }
    }

    func uses(since time: Int64) -> [TierUse] {
        var (uses, few): ([TierUse], [TierUse]) = ([], [])
        few.reserveCapacity(64)
        for shard in shards {
            // A few buckets at a time: who serves meanwhile finds the shard free.
            for start in stride(from: 0, to: bucketCount, by: 16) {
                shard.change { contents in
                    contents.forEach(inBuckets: start..<start + 16) { entry in
                        if entry.lastUse >= time { few.append(TierUse(id: entry.id, lastUse: entry.lastUse)) }
                    }
                }
                uses += few
                few.removeAll(keepingCapacity: true)
            }
        }
        return uses
    }

    /// Promises so much of the limit to the caller, who frees it. False when what would have to go is busy.
    private func reserve(_ byteCount: Int, evictingFrom start: Int) -> Bool {
        var (next, fruitless) = (start, 0)
        while !reserve(byteCount) {
            guard fruitless < shards.count else { return false }
            let evicted = shards[next].changeIfFree { $0.removeOldest() } ?? nil
            fruitless = evicted == nil ? fruitless + 1 : 0
            next = (next + 1) % shards.count
            free(evicted)
        }
        return true
    }

    private func reserve(_ byteCount: Int) -> Bool {
        var held = total.load(ordering: .relaxed)
        while held + byteCount <= byteLimit {
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

    /// Without a lock: large memory takes its time.
    private func free(_ place: TierPlace?) {
        guard let place else { return }
        release(place.pointee.byteCount)
        place.free()
    }

    private func index(of key: TierKey) -> Int {
        key.hash & (shards.count - 1)
    }

    private func shard(of key: TierKey) -> TierShard {
        shards[index(of: key)]
    }

    /// Inlined, since a closure that is made would count the tier as used, in a place that all threads write to.
    @inline(__always) private func withKey<Result>(
        _ first: Span<UInt8>, _ second: Span<UInt8>, _ body: (TierKey) -> Result
    ) -> Result {
        first.withUnsafeBufferPointer { first in
            second.withUnsafeBufferPointer { second in body(TierKey(first, second)) }
        }
    }
}
