internal import Glibc

/// The identity, size and times of a file. Two stamps of the same path differ if the file was changed or
/// replaced in between.
///
/// A stamp includes the status change time (`ctime`), since programs can set the modification time back, but not
/// the status change time.
package struct FileStamp: Sendable, Equatable {
    private let device: dev_t
    private let inode: ino_t
    package let byteCount: Int64
    /// The modification time and the status change time, each in seconds and nanoseconds.
    private let times: [Int]

    /// Nil if the file does not exist.
    package init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The state of an open file; nil if `fstat` fails.
    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        (device, inode, byteCount) = (status.st_dev, status.st_ino, Int64(status.st_size))
        times = [
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        ]
    }
}
