internal import Glibc

/// An open file, closed when the value is destroyed. It belongs to one thread.
///
/// Interrupted system calls are repeated. Reads and writes are complete unless they throw.
package struct File: ~Copyable {
    package let path: String
    package private(set) var descriptor: Int32

    /// Opens a file. Child processes do not inherit the descriptor. With `O_CREAT` and the default mode, only
    /// this user can access a new file.
    ///
    /// - Parameter doing: the verb for the error message; "open" or "create" by default.
    package init(_ path: String, _ flags: Int32, mode: UInt32 = 0o600, doing: String? = nil)
        throws(SystemError)
    {
        self.path = path
        descriptor = open(path, flags | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw SystemError(errno, doing: doing ?? (flags & O_CREAT == 0 ? "open" : "create"), path)
        }
    }

    /// Creates a file with a unique name: `prefix`, a hyphen and six random characters. Only this user can
    /// access it.
    package init(temporaryIn folder: String, named prefix: String) throws(SystemError) {
        var template = Array("\(folder)/\(prefix)-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw SystemError(errno, doing: "create a file in", folder) }
        path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }

    /// The size of the file; nil if the system cannot tell.
    package var byteCount: Int? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int(status.st_size) : nil
    }

    // MARK: - Reading

    /// Reads from the current position to the end of the file, but at most `limit` bytes.
    package func read(atMost limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        try eachPiece(of: min(limit, 64 * 1024)) { piece in
            piece.withUnsafeBufferPointer { bytes += $0.prefix(limit - bytes.count) }
            return bytes.count < limit
        }
        return bytes
    }

    /// Reads `byteCount` bytes from the offset `start`; fewer if the file ends before that. Does not move the
    /// current position.
    package func read(from start: Int64, byteCount: Int) throws(SystemError) -> [UInt8] {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: byteCount) { bytes, count in
            while count < byteCount, code == 0 {
                let destination = bytes.baseAddress?.advanced(by: count)
                let read = pread(descriptor, destination, byteCount - count, off_t(start) + count)
                if read == 0 { break }
                if read > 0 { count += read } else if errno != EINTR { code = errno }
            }
        }
        guard code == 0 else { throw SystemError(code, doing: "read", path) }
        return bytes
    }

    /// Reads the rest of the file in pieces of at most `byteCount` bytes and passes them to `take`, until
    /// that returns false. Returns whether the end was reached.
    @discardableResult
    package func eachPiece(
        of byteCount: Int = 256 * 1024, _ take: (Span<UInt8>) -> Bool
    ) throws(SystemError) -> Bool {
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = Glibc.read(descriptor, buffer, byteCount)
            if count == 0 { return true }
            if count > 0 {
                let piece = UnsafeRawBufferPointer(start: buffer, count: count).assumingMemoryBound(
                    to: UInt8.self)
                guard take(Span(_unsafeElements: piece)) else { return false }
            } else if errno != EINTR {
                throw SystemError(errno, doing: "read", path)
            }
        }
    }

    // MARK: - Writing

    /// Writes the bytes at the current position.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        try check(bytes.withUnsafeBytes { Self.writeAll($0, to: descriptor) })
    }

    /// Writes the bytes at the current position.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        try check(Self.writeAll(bytes, to: descriptor))
    }

    /// Writes the bytes at the offset `start`. Does not move the current position.
    package func write(_ bytes: [UInt8], at start: Int64) throws(SystemError) {
        var code: Int32 = 0
        bytes.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count, code == 0 {
                let source = bytes.baseAddress?.advanced(by: written)
                let count = pwrite(descriptor, source, bytes.count - written, off_t(start) + written)
                if count >= 0 { written += count } else if errno != EINTR { code = errno }
            }
        }
        try check(code)
    }

    /// Throws for the error number of a write; 0 means success.
    private func check(_ code: Int32) throws(SystemError) {
        guard code == 0 else { throw SystemError(code, doing: "write to", path) }
    }

    /// Writes all bytes to a descriptor, and waits if it is non-blocking. Returns the error number, or 0.
    package static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
        var written = 0
        while written < bytes.count {
            let count = Glibc.write(
                descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
            let code = errno
            if count >= 0 {
                written += count
            } else if code == EAGAIN {
                // Another program may have made the pipe or terminal that we share non-blocking.
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            } else if code != EINTR {
                return code
            }
        }
        return 0
    }

    /// Makes the written data survive a power cut. Metadata that is not needed to read it, such as times, may
    /// be lost.
    package func syncData() throws(SystemError) {
        guard fdatasync(descriptor) == 0 else { throw SystemError(errno, doing: "sync", path) }
    }

    /// Makes the data and the metadata of the file survive a power cut.
    package func sync() throws(SystemError) {
        guard fsync(descriptor) == 0 else { throw SystemError(errno, doing: "sync", path) }
    }

    /// Closes the file. Throws if the file system reports only now that earlier writes failed, as NFS can.
    /// `deinit` also closes the file, but cannot report this error.
    package consuming func close() throws(SystemError) {
        let (path, code) = (path, Glibc.close(descriptor) == 0 ? 0 : errno)
        descriptor = -1
        guard code == 0 else { throw SystemError(code, doing: "write to", path) }
    }
}

/// The descriptors of the two ends of a pipe. Child processes do not inherit them.
package struct Pipe: Sendable {
    package let reading: Int32
    package let writing: Int32

    /// Creates a pipe. The caller must close both ends.
    package init(doing: String = "create", _ subject: String = "a pipe") throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw SystemError(errno, doing: doing, subject, advice: "close other programs, then try again")
        }
        // This can fail only for an invalid descriptor.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (reading, writing) = (ends[0], ends[1])
    }
}
