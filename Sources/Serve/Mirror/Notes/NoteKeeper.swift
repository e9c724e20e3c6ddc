internal import Glibc
internal import Store
internal import Synchronization
internal import System

/// Writes down what was served and what was missed: what is served often is evicted last, and what was missed is fetched
/// at the next prefetch.
final class NoteKeeper: Sendable {
    private let folder: StoreFolder
    private let notes: ServingNotes
    private let tier: MemoryTier<Answer>
    private static let secondsBetweenLooks: Int64 = 60

    /// Up to when the tier's uses are written.
    private let lastLook: Mutex<Int64>

    init(_ folder: StoreFolder, notes: ServingNotes, tier: MemoryTier<Answer>) {
        self.folder = folder
        self.notes = notes
        self.tier = tier
        lastLook = Mutex(SystemClock.seconds())
    }

    /// Writes the misses, and once in a while what was served: a process that is killed loses no more than a moment of the
    /// first, and a little of the second, which nobody asked for.
    ///
    /// - Parameter isLast: all that there is.
    func write(isLast: Bool) {
        let now = SystemClock.seconds()
        var since: Int64?
        lastLook.withLock { last in
            guard isLast || now - last >= Self.secondsBetweenLooks else { return }
            since = last
            last = now
        }
        var taken = notes.take(withMade: since != nil)
        if let since {
            for use in tier.uses(since: since) { taken.made[use.id] = max(taken.made[use.id] ?? 0, use.lastUse) }
        }
        guard !taken.made.isEmpty || !taken.misses.isEmpty || !taken.damaged.isEmpty else { return }
        // Seconds since 1970 at the start of the other clock.
        let epoch = SystemClock.secondsSinceEpoch() - now
        do throws(StoreError) {
            // Opened each time: another store may have taken the place of the one before.
            let book = try NoteBook(folder)
            try book.note(served: taken.made.map { ($0.key, epoch + $0.value) })
            if !taken.damaged.isEmpty { try book.note(damaged: Array(taken.damaged)) }
            try book.note(
                misses: taken.misses.values.map { miss in
                    var miss = miss
                    miss.first += epoch
                    miss.last += epoch
                    return miss
                })
        } catch {
            // Whoever may not write to the store, or cannot now, serves it all the same; there is nobody to tell.
        }
    }
}
