internal import Glibc

/// The state of a file, by which a changed or replaced file is recognized. A program can set the modification
/// time back, but not the status change time.
package struct FileStamp: Sendable, Equatable {
    private let device: dev_t
    private let number: ino_t
    package let byteCount: Int64
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
        (device, number, byteCount) = (status.st_dev, status.st_ino, Int64(status.st_size))
        times = [
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
        ]
    }
}
