internal import Digest
internal import Glibc
internal import System

/// A file of an archive while it is written: beside its place, under a name of its own, which nobody takes for the whole.
/// What is not finished goes. It belongs to one thread.
final class ArchiveOutput {
    let path: String
    private let draft: String
    private let file: File
    private var buffer: [UInt8] = []
    private(set) var byteCount: Int64 = 0
    private var isFinished = false

    private static let bufferSize = 256 * 1024

    init(_ named: String) throws(ArchiveError) {
        let path = try Self.place(of: named)
        self.path = path
        draft = "\(path).\(getpid()).part"
        unlink(draft)
        let draft = draft
        file = try ArchiveError.wrapping { () throws(SystemError) in
            do throws(SystemError) {
                return try File(draft, O_RDWR | O_CREAT | O_EXCL, mode: 0o644)
            } catch {
                throw SystemError(
                    error.code, doing: "write", path, advice: "name a file in a folder that can be written to")
            }
        }
        buffer.reserveCapacity(Self.bufferSize)
    }

    deinit {
        if !isFinished { unlink(draft) }
    }

    /// What a link leads to is what is written. Nothing takes the place of a device or a pipe.
    private static func place(of named: String) throws(ArchiveError) -> String {
        guard named != "-" else { throw ArchiveError(.input, "an archive is written to a file: name one") }
        var path = named
        if let real = realpath(named, nil) {
            path = String(cString: real)
            free(real)
        }
        var status = stat()
        guard stat(path, &status) == 0 else { return path }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFDIR: return path
        default: throw ArchiveError(.input, "\(named) is no file that can be written over: name another")
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        if buffer.count + bytes.count > Self.bufferSize { try flush() }
        if bytes.count >= Self.bufferSize {
            try ArchiveError.wrapping { () throws(SystemError) in try file.write(bytes) }
        } else {
            buffer.append(contentsOf: bytes)
        }
    }

    func write(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
    }

    private func flush() throws(ArchiveError) {
        guard !buffer.isEmpty else { return }
        try ArchiveError.wrapping { () throws(SystemError) in try file.write(buffer) }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes over what stands there.
    func replace(_ bytes: [UInt8], at place: Int64) throws(ArchiveError) {
        try flush()
        try ArchiveError.wrapping { () throws(SystemError) in try file.write(bytes, at: place) }
    }

    /// All of it is on the disk, and has its name from here on.
    func finish() throws(ArchiveError) -> ArchiveFile {
        try flush()
        try ArchiveError.wrapping { () throws(SystemError) in
            try file.sync()
            guard rename(draft, path) == 0 else { throw SystemError(errno, doing: "write", path) }
        }
        isFinished = true
        return ArchiveFile(path: path, byteCount: byteCount)
    }
}
