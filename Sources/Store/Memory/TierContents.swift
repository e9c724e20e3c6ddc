internal import Glibc

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
