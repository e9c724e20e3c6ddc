/// Answers as they went out, found again by the bytes of host and target, least recently used out first.
///
/// It belongs to one server thread. A hit costs a hash of the key and a comparison: no string, no lock, no allocation.
struct AnswerCache {
    private struct Entry {
        var key: [UInt8]
        var answer: Answer
        /// Towards the more and the less recently used entry; -1 at the ends.
        var newer: Int
        var older: Int
    }

    private var slots: [Entry?] = []
    private var free: [Int] = []
    /// The slot of a key's hash. Of two keys with one hash only the later is kept.
    private var places: [Int: Int] = [:]
    private var newest = -1
    private var oldest = -1
    private(set) var byteCount = 0
    private let byteLimit: Int

    init(byteLimit: Int) {
        self.byteLimit = byteLimit
    }

    mutating func answer(host: UnsafeBufferPointer<UInt8>, target: UnsafeBufferPointer<UInt8>) -> Answer? {
        guard let place = places[Self.hash(host, target)], let entry = slots[place] else { return nil }
        let key = entry.key
        guard key.count == host.count + target.count + 1,
            key.starts(with: host), key[(host.count + 1)...].elementsEqual(target)
        else { return nil }
        if place != newest {
            unlink(place)
            link(place)
        }
        return entry.answer
    }

    /// Keeps an answer, unless it alone would fill a good part of the cache.
    mutating func keep(_ answer: Answer, host: UnsafeBufferPointer<UInt8>, target: UnsafeBufferPointer<UInt8>) {
        let key = Array(host) + [0] + Array(target)
        let cost = Self.cost(key, answer)
        guard cost <= byteLimit / 4 else { return }
        let hash = Self.hash(host, target)
        if let place = places[hash] { remove(place, hash: hash) }
        while byteCount + cost > byteLimit, oldest >= 0 { remove(oldest, hash: nil) }
        let place = free.popLast() ?? slots.count
        let entry = Entry(key: key, answer: answer, newer: -1, older: -1)
        if place == slots.count { slots.append(entry) } else { slots[place] = entry }
        places[hash] = place
        byteCount += cost
        link(place)
    }

    mutating func removeAll() {
        self = AnswerCache(byteLimit: byteLimit)
    }

    private mutating func link(_ place: Int) {
        slots[place]?.newer = -1
        slots[place]?.older = newest
        if newest >= 0 { slots[newest]?.newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int) {
        guard let entry = slots[place] else { return }
        if entry.newer >= 0 { slots[entry.newer]?.older = entry.older } else { newest = entry.older }
        if entry.older >= 0 { slots[entry.older]?.newer = entry.newer } else { oldest = entry.newer }
    }

    private mutating func remove(_ place: Int, hash known: Int?) {
        guard let entry = slots[place] else { return }
        unlink(place)
        let hash = known ?? Self.hash(ofKey: entry.key)
        places[hash] = nil
        byteCount -= Self.cost(entry.key, entry.answer)
        slots[place] = nil
        free.append(place)
    }

    private static func cost(_ key: [UInt8], _ answer: Answer) -> Int {
        key.count + answer.bytes.count + 200
    }

    private static func hash(_ host: UnsafeBufferPointer<UInt8>, _ target: UnsafeBufferPointer<UInt8>) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(host))
        hasher.combine(0 as UInt8)
        hasher.combine(bytes: UnsafeRawBufferPointer(target))
        return hasher.finalize()
    }

    private static func hash(ofKey key: [UInt8]) -> Int {
        var hasher = Hasher()
        key.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}
