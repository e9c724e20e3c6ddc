internal import Glibc
internal import Store

/// The store as it is now: looked at once in a while, and opened anew when another one has taken its place.
struct WatchedStore {
    private let folder: StoreFolder
    private let secondsBetweenLooks: Int64
    /// Why it cannot be read is kept for the answers, and forgotten as soon as a look finds it readable.
    private var source: Result<StoreReader, StoreError>
    private var identity: Identity?
    private var dataVersion: Int64
    private var lastLook: Int64

    init(_ folder: StoreFolder, secondsBetweenLooks: Int64) throws(StoreError) {
        self.folder = folder
        self.secondsBetweenLooks = secondsBetweenLooks
        // Looked at before it is opened, so that one that is replaced meanwhile is seen to be another.
        identity = Identity(folder.database)
        let reader = try StoreReader(folder)
        source = .success(reader)
        dataVersion = try reader.dataVersion()
        lastLook = CoarseClock.seconds()
    }

    var reader: StoreReader {
        get throws(StoreError) { try source.get() }
    }

    /// Looks, if it is time to. True when what was read before may not be so any more.
    mutating func hasChanged(at now: Int64) -> Bool {
        guard now - lastLook >= secondsBetweenLooks else { return false }
        lastLook = now
        do throws(StoreError) {
            let before = dataVersion
            let isReplaced = try openIfReplaced()
            dataVersion = try reader.dataVersion()
            return isReplaced || dataVersion != before
        } catch {
            source = .failure(error)
            return true
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
