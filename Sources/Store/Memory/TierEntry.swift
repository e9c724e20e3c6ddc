internal import Glibc

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
