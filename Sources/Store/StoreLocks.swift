internal import Glibc

/// The locks of a store, a byte of one file each: byte 0 is shared by everyone who writes, byte N is the site N.
///
/// The kernel lets go of them when the process ends, however it ends, so that no stale lock is ever left.
struct StoreLocks: ~Copyable {
    private let file: Int32

    init(_ folder: StoreFolder) throws(StoreError) {
        file = open(folder.locks, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw StoreError(errno, doing: "open", path: folder.locks) }
    }

    deinit {
        close(file)
    }

    /// Whether nobody else writes at this moment. From here on others see that this one does.
    func join() -> Bool {
        let isAlone = lock(0, F_WRLCK)
        _ = lock(0, F_RDLCK)
        return isAlone
    }

    /// Holds a site for one prefetch at a time. Fails with `.busy` when another run has it.
    func hold(site: Int64, named name: String) throws(StoreError) {
        guard lock(site, F_WRLCK) else {
            throw StoreError(.busy, doing: "prefetch", path: name, detail: "another prefetch of this site is running")
        }
    }

    func release(site: Int64) {
        _ = lock(site, F_UNLCK)
    }

    private func lock(_ byte: Int64, _ type: Int32) -> Bool {
        var range = flock()
        range.l_type = Int16(type)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = off_t(byte)
        range.l_len = 1
        return fcntl(file, Self.setLockOfDescription, &range) == 0
    }

    /// F_OFD_SETLK, which Glibc hides behind _GNU_SOURCE: unlike F_SETLK it also keeps two runs in one process apart.
    private static let setLockOfDescription: Int32 = 37
}
