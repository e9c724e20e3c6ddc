internal import Glibc

/// Small files that hold what is nobody else's business.
enum PrivateFile {
    static func read(_ path: String, atMost limit: Int) throws(FetchFailure) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure(errno, "read \(path)") }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(errno, "read \(path)") }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= limit else {
                throw FetchFailure(.machine, "cannot read \(path): it is over \(limit) bytes")
            }
        }
    }

    /// Whole or not at all, and for its owner only.
    static func replace(_ path: String, with text: String) throws(FetchFailure) {
        let fresh = "\(path).new-\(getpid())"
        unlink(fresh)
        let file = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure(errno, "write \(fresh)") }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let code = errno
                close(file)
                unlink(fresh)
                throw failure(code, "write \(fresh)")
            }
            rest = rest.dropFirst(count)
        }
        guard close(file) == 0, rename(fresh, path) == 0 else {
            let code = errno
            unlink(fresh)
            throw failure(code, "write \(path)")
        }
    }

    private static func failure(_ code: Int32, _ doing: String) -> FetchFailure {
        FetchFailure(.machine, "cannot \(doing): \(String(cString: strerror(code)))")
    }
}
