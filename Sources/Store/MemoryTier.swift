internal import Glibc
internal import Synchronization

/// Values kept ready in memory, the least recently used out first, never more than the limit. Any thread may use it.
///
/// No thread waits for another to ask or to keep: a shard that is busy answers as one that holds nothing, and what was
/// to be kept in it is not. With one shard the order of use is exact. With several each shard's is, and what has to go
/// is the oldest of the new entry's shard, then of the next one, and so on around: about the oldest of all.
///
/// What it holds was made from a look at something that changes. Who makes a value notes `generation` before the look, and
/// gives it to `keep`. Who sees a change calls `advance`: from then on nobody is given what an earlier look led to, and
/// what is still being made from one is not kept.
package struct MemoryTier<Value: AnyObject & Sendable>: Sendable {
    private let untyped: UntypedMemoryTier

    /// A limit of 0 turns it off.
    ///
    /// - Parameter shardCount: a power of two.
    package init(byteLimit: Int, shardCount: Int = 16) {
        untyped = UntypedMemoryTier(byteLimit: byteLimit, shardCount: shardCount)
    }

    /// What the entries count for by now; never more than the limit.
    package var byteCount: Int { untyped.byteCount }

    /// To be noted before a look at what a value is made from.
    package var generation: TierGeneration { untyped.generation }

    /// Forgets everything, what others are making at the moment included. Returns the generation that begins.
    @discardableResult package func advance() -> TierGeneration {
        untyped.advance()
    }

    /// The value under the key, which becomes the most recently used. A key has two parts, so that nobody has to join them.
    ///
    /// - Parameter now: seconds of a clock that the caller chooses, the same for all calls.
    package func value(for first: Span<UInt8>, _ second: Span<UInt8> = Span(), now: Int64) -> Value? {
        guard let value = untyped.value(for: first, second, now: now) else { return nil }
        // Only `keep` puts values in.
        return unsafeDowncast(value, to: Value.self)
    }

    /// Keeps the value, in place of what was under the key. False when it is not kept: because it counts for more than a
    /// quarter of the limit, was made in an earlier generation, or met another thread where it was to go.
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
    let number: Int
}

/// When something was last used, by the clock that the tier's users chose.
package struct TierUse: Sendable, Equatable {
    package let id: Int64
    package let lastUse: Int64
}

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

/// A part of a `MemoryTier` with a lock of its own.
// @unchecked: `contents` is touched only while `lock` is held. Who makes a shard frees it, after its last use.
struct TierShard: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<TryLock>
    private let contents: UnsafeMutablePointer<TierContents>
    /// Lock and contents share a cache line; the next line, which a processor fetches along, is nobody's.
    private static let size = 128

    init(bucketCount: Int) {
        let block = UnsafeMutableRawPointer.allocate(byteCount: Self.size, alignment: Self.size)
        let start = MemoryLayout<TierContents>.alignment
        assert(start >= MemoryLayout<TryLock>.size && start + MemoryLayout<TierContents>.size <= Self.size / 2)
        lock = block.bindMemory(to: TryLock.self, capacity: 1)
        lock.initialize(to: TryLock())
        contents = (block + start).bindMemory(to: TierContents.self, capacity: 1)
        contents.initialize(to: TierContents(bucketCount: bucketCount, generation: 0))
    }

    func free() {
        contents.deinitialize(count: 1)
        lock.deinitialize(count: 1)
        UnsafeMutableRawPointer(lock).deallocate()
    }

    /// For threads that serve a client: nil when another thread has it.
    func changeIfFree<Result>(_ change: (inout TierContents) -> Result) -> Result? {
        guard lock.pointee.lockIfFree() else { return nil }
        defer { lock.pointee.unlock() }
        return change(&contents.pointee)
    }

    /// For threads that nobody waits for.
    func change<Result>(_ change: (inout TierContents) -> Result) -> Result {
        lock.pointee.lock()
        defer { lock.pointee.unlock() }
        return change(&contents.pointee)
    }
}

/// What a shard holds: a table of buckets and a row from the newest use to the oldest.
///
/// Nothing in it takes longer than the chain of one bucket: its table is made once, and never grows.
struct TierContents: ~Copyable {
    private let buckets: UnsafeMutablePointer<TierPlace?>
    /// A power of two.
    private let bucketCount: Int
    private var newest: TierPlace?
    private var oldest: TierPlace?
    private(set) var byteCount = 0
    /// Of the look at the store that everything here was made in.
    let generation: Int

    init(bucketCount: Int, generation: Int) {
        self.bucketCount = bucketCount
        self.generation = generation
        buckets = .allocate(capacity: bucketCount)
        buckets.initialize(repeating: nil, count: bucketCount)
    }

    /// Frees what is left: not to be dropped while a lock is held.
    deinit {
        var place = newest
        while let next = place {
            place = next.pointee.older
            next.free()
        }
        buckets.deallocate()
    }

    func find(_ key: TierKey) -> TierPlace? {
        var place = buckets[bucket(of: key.hash)]
        while let found = place, !found.pointee.isFound(by: key) { place = found.pointee.next }
        return place
    }

    /// Makes the entry the newest.
    mutating func use(_ place: TierPlace, now: Int64) {
        place.pointee.lastUse = now
        guard place != newest else { return }
        unlink(place)
        link(place)
    }

    mutating func insert(_ place: TierPlace) {
        let bucket = bucket(of: place.pointee.hash)
        place.pointee.next = buckets[bucket]
        buckets[bucket] = place
        byteCount += place.pointee.byteCount
        link(place)
    }

    /// Takes the entry out; the caller frees it once the lock is let go of.
    mutating func remove(_ key: TierKey) -> TierPlace? {
        find(key).map { remove($0) }
    }

    /// Takes out the entry that was used before all others; the caller frees it once the lock is let go of.
    mutating func removeOldest() -> TierPlace? {
        oldest.map { remove($0) }
    }

    /// Calls `body` for the entries of some buckets.
    func forEach(inBuckets range: Range<Int>, _ body: (TierEntry) -> Void) {
        for bucket in range {
            var place = buckets[bucket]
            while let found = place {
                body(found.pointee)
                place = found.pointee.next
            }
        }
    }

    private func bucket(of hash: Int) -> Int {
        // The lowest bits chose the shard.
        (hash >> 16) & (bucketCount - 1)
    }

    private mutating func remove(_ place: TierPlace) -> TierPlace {
        unlink(place)
        byteCount -= place.pointee.byteCount
        let bucket = bucket(of: place.pointee.hash)
        if buckets[bucket] == place {
            buckets[bucket] = place.pointee.next
            return place
        }
        var before = buckets[bucket]
        while let other = before, other.pointee.next != place { before = other.pointee.next }
        before?.pointee.next = place.pointee.next
        return place
    }

    private mutating func link(_ place: TierPlace) {
        place.pointee.newer = nil
        place.pointee.older = newest
        if let newest { newest.pointee.newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: TierPlace) {
        let newer = place.pointee.newer
        let older = place.pointee.older
        if let newer { newer.pointee.older = older } else { newest = older }
        if let older { older.pointee.newer = newer } else { oldest = newer }
    }
}

/// A value as a shard holds it: in the chain of its bucket, and in the row from the newest use to the oldest.
///
/// It owns its key and a reference to its value, by hand: what is only looked at is never counted, for the counters of
/// objects that several threads share are what costs most.
struct TierEntry {
    let value: Unmanaged<AnyObject>
    let id: Int64
    /// What it counts for in the tier's budget.
    let byteCount: Int
    var lastUse: Int64
    let hash: Int
    var next: TierPlace?
    var newer: TierPlace?
    var older: TierPlace?
    private let key: UnsafeMutableBufferPointer<UInt8>
    private let firstCount: Int

    /// What an entry takes beside its key and its value: itself, what malloc adds to each, a bucket.
    static let ownByteCount = 200

    private init(_ value: AnyObject, byteCount: Int, id: Int64, key: TierKey, now: Int64) {
        self.value = Unmanaged.passRetained(value)
        self.id = id
        self.byteCount = byteCount
        lastUse = now
        hash = key.hash
        self.key = .allocate(capacity: key.byteCount)
        firstCount = key.first.count
        _ = self.key[..<firstCount].initialize(from: key.first)
        _ = self.key[firstCount...].initialize(from: key.second)
    }

    /// The caller frees the place.
    static func make(_ value: AnyObject, byteCount: Int, id: Int64, key: TierKey, now: Int64) -> TierPlace {
        let place = TierPlace.allocate(capacity: 1)
        place.initialize(to: TierEntry(value, byteCount: byteCount, id: id, key: key, now: now))
        return place
    }

    func isFound(by asked: TierKey) -> Bool {
        guard hash == asked.hash, firstCount == asked.first.count, key.count == asked.byteCount else { return false }
        return Self.isEqual(key[..<firstCount], asked.first) && Self.isEqual(key[firstCount...], asked.second)
    }

    private static func isEqual(
        _ own: Slice<UnsafeMutableBufferPointer<UInt8>>, _ asked: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard let left = UnsafeMutableBufferPointer(rebasing: own).baseAddress, let right = asked.baseAddress else {
            return own.count == asked.count
        }
        return memcmp(left, right, asked.count) == 0
    }

    fileprivate func free() {
        key.deallocate()
        value.release()
    }
}

/// Where an entry is, from being kept until it is taken out. Made and freed by who does not hold the lock.
typealias TierPlace = UnsafeMutablePointer<TierEntry>

extension TierPlace {
    /// Releases the value, which may take its time: not to be called with a lock held.
    func free() {
        pointee.free()
        deallocate()
    }
}

/// What an entry of a `MemoryTier` is found by: bytes in two parts, which nobody has to join to ask for it.
struct TierKey {
    let first: UnsafeBufferPointer<UInt8>
    let second: UnsafeBufferPointer<UInt8>
    let hash: Int

    init(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) {
        self.first = first
        self.second = second
        // Seeded anew in each process: pages choose their addresses, and must not choose where they end up.
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(first))
        hasher.combine(first.count)
        hasher.combine(bytes: UnsafeRawBufferPointer(second))
        hash = hasher.finalize()
    }

    var byteCount: Int { first.count + second.count }
}

/// A lock to be held for some hundred nanoseconds, which who serves a client only tries.
///
/// `Mutex` would do but for this: trying one that is taken costs both threads a call of the kernel.
struct TryLock: ~Copyable {
    private let isHeld = Atomic(false)
    /// Some hundred nanoseconds: a holder that is not done by then has lost its processor.
    private static let looks = 1000

    /// True when the caller holds it from here on. Never sleeps.
    func lockIfFree() -> Bool {
        for _ in 0..<Self.looks where !isHeld.load(ordering: .relaxed) {
            if !isHeld.exchange(true, ordering: .acquiring) { return true }
        }
        return false
    }

    /// For threads that nobody waits for.
    func lock() {
        while !lockIfFree() { sched_yield() }
    }

    func unlock() {
        isHeld.store(false, ordering: .releasing)
    }
}
