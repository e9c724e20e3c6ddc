internal import Glibc
internal import Store

/// The store as it is now: looked at once in a while, and opened anew when another one has taken its place.
///
/// It belongs to one thread; what the threads share is the memory tier, by whose generation each knows of the others'
/// looks. A thread that finds a newer generation looks before it goes on, so that nothing which it makes from then on is
/// older than what led to that generation.
struct WatchedStore {
    private let folder: StoreFolder
    private let secondsBetweenLooks: Int64
    /// Why it cannot be read is kept for the answers, and forgotten as soon as a look finds it readable.
    private var source: Result<StoreReader, StoreError>
    private var identity: Identity?
    private var dataVersion: Int64
    /// Of the last look. Nil before the first, so that a store replaced since it was opened is seen before it is used.
    private var lastLook: (time: Int64, generation: TierGeneration)?

    init(_ folder: StoreFolder, secondsBetweenLooks: Int64) throws(StoreError) {
        self.folder = folder
        self.secondsBetweenLooks = secondsBetweenLooks
        // Looked at before it is opened, so that one that is replaced meanwhile is seen to be another.
        identity = Identity(folder.database)
        let reader = try StoreReader(folder)
        source = .success(reader)
        dataVersion = try reader.dataVersion()
    }

    var reader: StoreReader {
        get throws(StoreError) { try source.get() }
    }

    /// Looks, if it is time to or another thread has seen a change. Has the tier forget what may not be so any more, and
    /// returns the generation of what is made from now on.
    mutating func generation(in tier: MemoryTier<Answer>, at now: Int64) -> TierGeneration {
        // Before the look: a change that comes after it begins another generation.
        let current = tier.generation
        if let lastLook, lastLook.generation == current, now - lastLook.time < secondsBetweenLooks { return current }
        let generation = hasChanged() ? tier.advance() : current
        lastLook = (now, generation)
        return generation
    }

    /// True when what was read before may not be so any more.
    private mutating func hasChanged() -> Bool {
        do throws(StoreError) {
            let before = dataVersion
            let isReplaced = try openIfReplaced()
            dataVersion = try reader.dataVersion()
            return isReplaced || dataVersion != before
        } catch {
            // While it stays so, this thread has nothing to make answers from, and gives out none.
            let wasReadable = if case .success = source { true } else { false }
            source = .failure(error)
            return wasReadable
        }
    }

    private mutating func openIfReplaced() throws(StoreError) -> Bool {
        let found = Identity(folder.database)
        if case .success = source, found == identity { return false }
        identity = found
        source = .success(try StoreReader(folder))
        return true
    }

    /// Tells a file from another one that bears its name later. A number is not given again while a reader has the file open.
    private struct Identity: Equatable {
        let device: dev_t
        let number: ino_t

        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = status.st_dev
            number = status.st_ino
        }
    }
}
