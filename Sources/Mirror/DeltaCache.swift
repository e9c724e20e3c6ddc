internal import Synchronization

/// Bodies that were compressed with earlier versions, so that each is compressed once. Any thread may use it; one
/// `Mutex` guards all state.
///
/// An entry is used only while the store still has the response whose body was the dictionary: `check` is called
/// again when the store has changed.
final class DeltaCache: Sendable {
    /// The identity of a delta: the body that it makes, and the dictionary that a client needs.
    struct Key: Hashable {
        let dictionarySHA256: [UInt8]
        let href: String
        let storedSHA256: [UInt8]
        /// The host and the entity tag, which distinguish the renderings of a stored body.
        let rendering: String
    }

    /// The state of a key in the cache.
    enum Finding {
        /// The delta; nil if the dictionary is unknown or saves too little.
        case known(delta: [UInt8]?)
        /// Another thread is making it. Its client is not to wait.
        case pending
        /// The caller must make it, and then call `finish`.
        case missing
    }

    private struct Entry {
        var delta: [UInt8]?
        /// The SHA-256 of the stored body that the dictionary is a rendering of; nil without a delta.
        var source: [UInt8]?
        /// The generation of the store in which the source was last found.
        var generation: Int
        var lastUse: UInt64

        var cost: Int { (delta?.count ?? 0) + DeltaCache.entryBytes }
    }

    private struct Contents {
        var entries: [Key: Entry] = [:]
        var pending: Set<Key> = []
        var byteCount = 0
        /// The number of uses so far, which serves as a clock.
        var uses: UInt64 = 0
    }

    /// Beyond this size, the least recently used entries are removed.
    private static let defaultMaxBytes = 32 << 20
    /// Added to the size of an entry, for its keys. It also limits the number of entries, to 8,192.
    private static let entryBytes = 4096

    private let maxBytes: Int
    private let contents = Mutex(Contents())

    init(maxBytes: Int = defaultMaxBytes) { self.maxBytes = maxBytes }

    /// Looks a delta up.
    ///
    /// - Parameter isStored: Whether the store still has a stored body, by its SHA-256. Called without the lock.
    func find<Failure: Error>(
        _ key: Key, generation: Int, isStored: ([UInt8]) throws(Failure) -> Bool
    ) throws(Failure) -> Finding {
        let (entry, isPending) = contents.withLock { contents -> (Entry?, Bool) in
            contents.uses += 1
            contents.entries[key]?.lastUse = contents.uses
            guard let entry = contents.entries[key] else {
                return (nil, !contents.pending.insert(key).inserted)
            }
            return (entry, false)
        }
        if isPending { return .pending }
        guard let entry else { return .missing }
        if entry.generation == generation { return .known(delta: entry.delta) }
        // An unknown dictionary may have become known.
        if let source = entry.source, try isStored(source) {
            contents.withLock { $0.entries[key]?.generation = generation }
            return .known(delta: entry.delta)
        }
        return contents.withLock { contents in
            if let removed = contents.entries.removeValue(forKey: key) { contents.byteCount -= removed.cost }
            return contents.pending.insert(key).inserted ? .missing : .pending
        }
    }

    /// Adds the result of making a delta.
    func finish(_ key: Key, delta: [UInt8]?, source: [UInt8]?, generation: Int) {
        contents.withLock { contents in
            contents.pending.remove(key)
            contents.uses += 1
            let entry = Entry(delta: delta, source: source, generation: generation, lastUse: contents.uses)
            guard entry.cost <= maxBytes / 4 else { return }
            if let replaced = contents.entries.updateValue(entry, forKey: key) {
                contents.byteCount -= replaced.cost
            }
            contents.byteCount += entry.cost
            while contents.byteCount > maxBytes { Self.removeOldest(&contents) }
        }
    }

    /// Forgets that a delta is being made, after an error.
    func abandon(_ key: Key) { contents.withLock { _ = $0.pending.remove(key) } }

    /// The size of all entries.
    var byteCount: Int { contents.withLock { $0.byteCount } }

    /// Linear, since evictions are rare.
    private static func removeOldest(_ contents: inout Contents) {
        guard let oldest = contents.entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        contents.entries[oldest.key] = nil
        contents.byteCount -= oldest.value.cost
    }
}

/// The SHA-256 of earlier versions as this server renders them, so that a client that offers unknown dictionaries does
/// not have them rendered again and again. Any thread may use it.
final class RenderedDigests: Sendable {
    /// A rendering of a stored body.
    struct Key: Hashable {
        let storedSHA256: [UInt8]
        let href: String
        /// The host and the part of the entity tag that distinguishes renderings.
        let rendering: String
    }

    private let digests = Mutex<[Key: [UInt8]]>([:])

    /// Beyond this number, all are forgotten.
    private static let maxCount = 10_000

    subscript(key: Key) -> [UInt8]? { digests.withLock { $0[key] } }

    func add(_ digest: [UInt8], for key: Key) {
        digests.withLock { digests in
            if digests.count >= Self.maxCount { digests.removeAll() }
            digests[key] = digest
        }
    }
}
