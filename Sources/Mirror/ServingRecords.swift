internal import HTTPServer
internal import Store
internal import Synchronization
internal import System

/// Served, missed and damaged responses that server threads have recorded since the last `take`. Any thread may use it.
final class ServingRecords: Sendable {
    /// The recorded notes.
    struct Notes {
        /// The times when responses were rendered: seconds of `SystemClock` by URL number. Answers from memory are not
        /// recorded here; the tier records them.
        var rendered: [Int64: Int64] = [:]
        /// The pages that people opened, by URL number; times are of `SystemClock` too.
        fileprivate(set) var readings: [Int64: Reading] = [:]
        /// By method and URL; times are of `SystemClock` too.
        fileprivate(set) var misses: [String: Miss] = [:]
        fileprivate var missByteCount = 0
        /// Digests of damaged bodies.
        fileprivate(set) var damaged: Set<[UInt8]> = []
    }

    private let notes = Mutex(Notes())

    // Clients can request any number of URLs, so each table is limited. Beyond its limit, nothing is added.
    /// The maximum number of URLs in `rendered`, and of digests in `damaged`.
    private static let maxRenderedURLs = 100_000
    /// The maximum length of a URL. Misses of longer ones are not recorded, and longer referrers are left out.
    private static let maxURLBytes = 4096
    /// The estimated size of all misses. Beyond it, only misses that are already recorded are counted.
    private static let maxMissBytes = 4 * 1024 * 1024

    /// Records that a response was rendered for a client.
    func didRender(_ url: Int64, at now: Int64) {
        notes.withLock { notes in
            if notes.rendered.count < Self.maxRenderedURLs { notes.rendered[url] = now }
        }
    }

    /// Records that a person opened a page.
    ///
    /// - Parameter snapshot: the id of the earlier snapshot in which it was opened; nil for a live one.
    func didRead(_ url: Int64, snapshot: Int64?, at now: Int64) {
        notes.withLock { notes in
            if notes.readings.count < Self.maxRenderedURLs {
                notes.readings[url] = Reading(url: url, snapshot: snapshot, at: now)
            }
        }
    }

    /// Records a body that does not match its digest, so that the next prefetch loads it again.
    func addDamaged(_ sha256: [UInt8]) {
        notes.withLock { notes in
            if notes.damaged.count < Self.maxRenderedURLs { notes.damaged.insert(sha256) }
        }
    }

    /// Records a miss, or counts it if the URL was missed before.
    ///
    /// - Parameters:
    ///   - from: the zone that the requesting page came from; `.fromThisMachine` for the user.
    ///   - origin: the original origin of a page that sent a CORS request.
    func addMiss(
        _ url: String, method: String, referrer: String?, isPage: Bool, from: ResponseFlags = [],
        origin: String? = nil,
        at now: Int64
    ) {
        guard url.utf8.count <= Self.maxURLBytes, method.utf8.count <= 32 else { return }
        let referrer = referrer.flatMap { $0.utf8.count <= Self.maxURLBytes ? $0 : nil }
        let origin = origin.flatMap { $0.utf8.count <= Self.maxURLBytes ? $0 : nil }
        let miss = Miss(
            href: url, method: method, referrer: referrer, isPage: isPage, from: from, origin: origin,
            first: now,
            last: now)
        notes.withLock { notes in
            let key = "\(method) \(url)"
            if notes.misses[key] != nil {
                notes.misses[key]?.add(miss)
            } else if notes.missByteCount < Self.maxMissBytes {
                notes.missByteCount += 2 * url.utf8.count + (referrer?.utf8.count ?? 0) + 200
                notes.missByteCount += origin?.utf8.count ?? 0
                notes.misses[key] = miss
            }
        }
    }

    /// Puts back notes that could not be written.
    func putBack(_ taken: Notes) {
        notes.withLock { notes in
            for (url, time) in taken.rendered where notes.rendered.count < Self.maxRenderedURLs {
                notes.rendered[url] = max(notes.rendered[url] ?? 0, time)
            }
            for (url, reading) in taken.readings where notes.readings[url] == nil {
                notes.readings[url] = reading
            }
            notes.damaged.formUnion(taken.damaged)
            for (key, miss) in taken.misses {
                var miss = miss
                if let later = notes.misses[key] { miss.add(later) }
                notes.misses[key] = miss
            }
            notes.missByteCount += taken.missByteCount
        }
    }

    /// Returns the notes, and removes them.
    ///
    /// - Parameter withRendered: whether to take `rendered` and `readings` too; else they stay for later.
    func take(withRendered: Bool) -> Notes {
        notes.withLock { notes in
            var taken = notes
            notes = Notes()
            if !withRendered {
                swap(&notes.rendered, &taken.rendered)
                swap(&notes.readings, &taken.readings)
            }
            return taken
        }
    }
}

/// Whether a server can write loaded responses and notes to the store. Each change is reported once, however
/// many requests it affects. Any thread may use it.
final class RecordingHealth: Sendable {
    private let isFailing = Mutex(false)
    private let notice: @Sendable (String) -> Void

    init(_ notice: @escaping @Sendable (String) -> Void) {
        self.notice = notice
    }

    /// Records the result of a write. The first failure and the first success after it are reported.
    ///
    /// - Parameter error: nil after a successful write.
    func note(_ error: StoreError?) {
        let hasChanged = isFailing.withLock { isFailing in
            defer { isFailing = error != nil }
            return isFailing != (error != nil)
        }
        guard hasChanged else { return }
        notice(
            error.map {
                "\($0.problem); stored pages are still served, but loaded responses and misses are not recorded "
                    + "until this is resolved"
            } ?? "loaded responses and misses are recorded again")
    }
}

/// Writes records of served, read, missed and damaged responses to the store. Responses that are served often are evicted
/// last, and missed URLs are fetched by the next prefetch.
final class ServingRecordWriter: Sendable {
    private let folder: StoreFolder
    private let notes: ServingRecords
    private let tier: MemoryTier<Answer>
    private let recording: RecordingHealth
    /// Whether to write the times of uses.
    private let recordsUses: Bool
    /// Uses are written in batches. They order evictions, and the pages that the portal shows as read last.
    private static let secondsBetweenUseWrites: Int64 = 15

    /// The time up to which uses in the tier are written.
    private let lastCheck: Mutex<Int64>

    init(
        _ folder: StoreFolder, notes: ServingRecords, tier: MemoryTier<Answer>, recording: RecordingHealth,
        recordsUses: Bool = true
    ) {
        (self.recording, self.recordsUses) = (recording, recordsUses)
        self.folder = folder
        self.notes = notes
        self.tier = tier
        lastCheck = Mutex(SystemClock.seconds())
    }

    /// Writes the misses, and at intervals the URLs that were served. A killed process loses at most the
    /// misses of a moment and the uses of a short time.
    ///
    /// - Parameter isLast: whether to write everything.
    func write(isLast: Bool) {
        let now = SystemClock.seconds()
        var since: Int64?
        lastCheck.withLock { last in
            guard recordsUses, isLast || now - last >= Self.secondsBetweenUseWrites else { return }
            since = last
            last = now
        }
        var taken = notes.take(withRendered: since != nil)
        if let since {
            for use in tier.uses(since: since) {
                taken.rendered[use.id] = max(taken.rendered[use.id] ?? 0, use.lastUse)
            }
        }
        guard
            !taken.rendered.isEmpty || !taken.readings.isEmpty || !taken.misses.isEmpty
                || !taken.damaged.isEmpty
        else { return }
        // Seconds since 1970 at the start of `SystemClock`.
        let epoch = SystemClock.secondsSinceEpoch() - now
        do throws(StoreError) {
            // Opened each time, since another store may have replaced it.
            let book = try ActivityDatabase(folder)
            try book.recordServed(taken.rendered.map { ($0.key, epoch + $0.value) })
            try book.recordReadings(
                taken.readings.values.map {
                    Reading(url: $0.url, snapshot: $0.snapshot, at: epoch + $0.at)
                })
            if !taken.damaged.isEmpty { try book.markDamaged(Array(taken.damaged)) }
            try book.recordMisses(
                taken.misses.values.map { miss in
                    var miss = miss
                    miss.first += epoch
                    miss.last += epoch
                    return miss
                })
            recording.note(nil)
        } catch {
            // Notes that cannot be written now are kept for the next attempt.
            switch error.reason {
            case .unreachable, .busy: notes.putBack(taken)
            case .full:
                notes.putBack(taken)
                recording.note(error)
            case .denied, .failed, .unusable: recording.note(error)
            // The health of the store is reported elsewhere.
            case .missing, .request: break
            }
        }
    }
}

/// A thread that does some work periodically, and once more before it ends.
final class Housekeeping: Sendable {
    private let stopSignal: StopSignal
    private let thread: NamedThread

    init(everySeconds pause: Int32, _ work: @escaping @Sendable (_ isLast: Bool) -> Void) throws(ServerError)
    {
        do throws(SystemError) {
            let signal = try StopSignal()
            stopSignal = signal
            thread = try NamedThread.start("larder-notes") {
                var isStopped = false
                while !isStopped {
                    // An interrupted wait does the work a little early.
                    isStopped = signal.wait(milliseconds: pause * 1000)
                    work(isStopped)
                }
            }
        } catch {
            throw ServerError(error)
        }
    }

    deinit {
        stop()
    }

    /// Returns when the work was done for the last time. May be called from any other thread, and repeatedly.
    func stop() {
        stopSignal.give()
        thread.join()
    }
}
