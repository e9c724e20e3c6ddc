internal import Glibc

/// Holds a site for one prefetch at a time, across processes. The kernel lets go of it when the process ends, however
/// it ends, so that no stale lock is ever left.
struct SiteLock: ~Copyable {
    private let file: Int32

    /// Fails with `.busy` when another run holds the site.
    init(_ folder: StoreFolder, site: Int64, named name: String) throws(StoreError) {
        let file = open(folder.locks, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw StoreError(errno, doing: "open", path: folder.locks) }
        // One byte of the file stands for one site.
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = off_t(site)
        range.l_len = 1
        guard fcntl(file, Self.setLockOfDescription, &range) == 0 else {
            close(file)
            throw StoreError(.busy, doing: "prefetch", path: name, detail: "another prefetch of this site is running")
        }
        self.file = file
    }

    deinit {
        close(file)
    }

    /// F_OFD_SETLK, which Glibc hides behind _GNU_SOURCE: unlike F_SETLK it also keeps two runs in one process apart.
    private static let setLockOfDescription: Int32 = 37
}
