internal import Glibc
internal import System

/// Keeps the places of bodies as they are while somebody reads from there: who moves bodies, or gives their room back, waits
/// for those who may still know them by their earlier places.
struct ReadersLock: ~Copyable {
    private let file: File?
    private let folder: StoreFolder

    /// Without a file to lock nobody has ever written.
    init(_ folder: StoreFolder) {
        self.folder = folder
        file = try? File(folder.locks, O_RDONLY)
    }

    func whileReading<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard file != nil else { return try body() }
        try lock(F_RDLCK)
        let result: Result
        do throws(StoreError) {
            result = try body()
        } catch {
            // The first error is the one that tells.
            try? lock(F_UNLCK)
            throw error
        }
        try lock(F_UNLCK)
        return result
    }

    private func lock(_ type: Int32) throws(StoreError) {
        switch file {
        case .some(let file):
            let byte = StoreLocks.Task.reading.rawValue
            _ = try StoreLocks.lock(file.descriptor, of: folder, byte, type, waiting: true)
        case nil: break
        }
    }
}
