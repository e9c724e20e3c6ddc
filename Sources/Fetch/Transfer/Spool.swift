internal import Glibc

/// A body on its way to disk. What is neither finished nor kept is removed.
final class Spool {
    let path: String
    private var file: Int32

    init(in folder: String) throws(FetchFailure) {
        var template = Array("\(folder)/fetch-XXXXXX".utf8CString)
        file = template.withUnsafeMutableBufferPointer { template in
            guard let start = template.baseAddress else { return -1 }
            return mkstemp(start)
        }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard file >= 0 else { throw Self.failure(errno, "create a file in \(folder)") }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    }

    /// Goes on behind the first bytes of a file; what is there beyond them is cut off.
    init(_ path: String, after byteCount: Int) throws(FetchFailure) {
        self.path = path
        file = open(path, O_WRONLY | O_CLOEXEC)
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0, status.st_size >= byteCount else {
            if file >= 0 { close(file) }
            file = -1
            throw FetchFailure(.mismatch, "what was held of the body is not there")
        }
        guard ftruncate(file, byteCount) == 0, lseek(file, 0, SEEK_END) == byteCount else {
            let code = errno
            close(file)
            file = -1
            throw Self.failure(code, "write \(path)")
        }
    }

    deinit {
        guard file >= 0 else { return }
        close(file)
        unlink(path)
    }

    func write(_ bytes: [UInt8]) throws(FetchFailure) {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(FetchFailure) in try write(bytes) }
        }
        try result.get()
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(FetchFailure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(file, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else if errno != EINTR {
                throw Self.failure(errno, "write \(path)")
            }
        }
    }

    /// One body must not take all of the disk from the others: there has to be room for the rest of it, and where nobody
    /// knows how much that is, for as much again.
    func look(for rest: Int?, beside byteCount: Int, _ room: (Int32) -> Int?) throws(FetchFailure) {
        guard let room = room(file), room < rest ?? byteCount else { return }
        let wanted = rest.map { "\($0) more are to come" } ?? "nobody knows how many more are to come"
        throw FetchFailure(.noRoom, "\(byteCount) bytes came, \(wanted), and there is room for \(room)")
    }

    static func room(_ file: Int32) -> Int? {
        var status = statvfs()
        guard fstatvfs(file, &status) == 0 else { return nil }
        let blocks = Int(clamping: status.f_bavail)
        let (room, isMore) = blocks.multipliedReportingOverflow(by: Int(clamping: status.f_frsize))
        return isMore ? nil : room
    }

    /// The path; the file is the caller's now.
    func finish() throws(FetchFailure) -> String {
        let code = close(file)
        file = -1
        guard code == 0 else {
            unlink(path)
            throw Self.failure(errno, "write \(path)")
        }
        return path
    }

    /// The same for a body that another run may go on with, after a power failure too: all that is counted is on disk.
    func keep() throws(FetchFailure) -> String {
        guard fsync(file) == 0 else { throw Self.failure(errno, "write \(path)") }
        return try finish()
    }

    private static func failure(_ code: Int32, _ doing: String) -> FetchFailure {
        // What came of it makes room again when it goes.
        let isFull = code == ENOSPC || code == EDQUOT
        return FetchFailure(isFull ? .noRoom : .machine, "cannot \(doing): \(String(cString: strerror(code)))")
    }
}
