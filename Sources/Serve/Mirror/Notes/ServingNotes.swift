internal import Store
internal import Synchronization

/// What the server threads have noted since somebody last took the notes. Any thread may use it.
final class ServingNotes: Sendable {
    struct Notes {
        /// When copies were made ready, by the numbers of their URLs, in seconds of `CoarseClock`. Who answers from memory
        /// notes nothing: the tier knows.
        var made: [Int64: Int64] = [:]
        /// By method and address; their times are of `CoarseClock` too.
        fileprivate(set) var misses: [String: Miss] = [:]
        fileprivate var missByteCount = 0
        /// By their digests.
        fileprivate(set) var damaged: Set<[UInt8]> = []
    }

    private let notes = Mutex(Notes())

    /// What can be asked for has no bound but these.
    private static let mostMade = 100_000
    private static let longestAddress = 4096
    private static let mostMissBytes = 4 * 1024 * 1024

    func made(_ url: Int64, at now: Int64) {
        notes.withLock { notes in
            if notes.made.count < Self.mostMade { notes.made[url] = now }
        }
    }

    func found(damaged sha256: [UInt8]) {
        notes.withLock { notes in
            if notes.damaged.count < Self.mostMade { notes.damaged.insert(sha256) }
        }
    }

    /// - Parameters:
    ///   - from: from where the page came that asks; `.fromThisMachine` where a person does.
    ///   - origin: the original origin of a page that asks by CORS.
    func missed(
        _ url: String, method: String, referrer: String?, isPage: Bool, from: ResponseFlags = [], origin: String? = nil,
        at now: Int64
    ) {
        guard url.utf8.count <= Self.longestAddress, method.utf8.count <= 32 else { return }
        let referrer = referrer.flatMap { $0.utf8.count <= Self.longestAddress ? $0 : nil }
        let origin = origin.flatMap { $0.utf8.count <= Self.longestAddress ? $0 : nil }
        let miss = Miss(
            href: url, method: method, referrer: referrer, isPage: isPage, from: from, origin: origin, first: now,
            last: now)
        notes.withLock { notes in
            let key = "\(method) \(url)"
            if notes.misses[key] != nil {
                notes.misses[key]?.add(miss)
            } else if notes.missByteCount < Self.mostMissBytes {
                notes.missByteCount += 2 * url.utf8.count + (referrer?.utf8.count ?? 0) + 200
                notes.missByteCount += origin?.utf8.count ?? 0
                notes.misses[key] = miss
            }
        }
    }

    /// - Parameter withMade: else when copies were made stays, for later.
    func take(withMade: Bool) -> Notes {
        notes.withLock { notes in
            var taken = notes
            notes = Notes()
            if !withMade { swap(&notes.made, &taken.made) }
            return taken
        }
    }
}
