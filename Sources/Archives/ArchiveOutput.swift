internal import Codings
internal import Glibc
internal import System

/// An archive file while it is written. The file has no name until it is complete, so that nothing remains if
/// the process is killed. On file systems without such files, it is a locked draft beside its final path. The
/// next export to the path removes the draft of a killed process. An unfinished file is deleted. An output is
/// used by one thread.
final class ArchiveOutput {
    /// The path as the user gave it, for messages and reports.
    let name: String
    /// The final path, after following links.
    private let path: String
    /// The path of the draft; nil for a file without a name.
    private let draft: String?
    private let file: File
    /// The bytes of the last block, which is not written yet.
    private var buffer: [UInt8] = []
    /// The checksums of the written blocks.
    private var sums: [UInt32] = []
    private(set) var byteCount: Int64 = 0
    private var isFinished = false

    static let blockSize = 256 * 1024
    /// `O_TMPFILE` of <fcntl.h>. Swift cannot import it, because it is a combination of other macros.
    private static let withoutName: Int32 = 0o20000000 | O_DIRECTORY
    private static let ownFiles = "/proc/self/fd"

    init(_ named: String) throws(ArchiveError) {
        let path = try Self.place(of: named)
        (name, self.path) = (named, path)
        ScratchFolder.sweepDrafts(of: path)
        let file = try Self.open(for: path, named)
        draft = file.path == Self.folder(of: path) ? nil : file.path
        self.file = file
        buffer.reserveCapacity(Self.blockSize)
    }

    deinit {
        if !isFinished, let draft { unlink(draft) }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func open(for path: String, _ name: String) throws(ArchiveError) -> File {
        if access(ownFiles, X_OK) == 0,
            let file = try? File(folder(of: path), O_RDWR | withoutName, mode: 0o644)
        {
            return file
        }
        let draft = ScratchFolder.draft(of: path)
        unlink(draft)
        do throws(SystemError) {
            let file = try File(draft, O_RDWR | O_CREAT | O_EXCL, mode: 0o644)
            // Where locks are not supported, drafts are not removed either.
            flock(file.descriptor, LOCK_EX | LOCK_NB)
            return file
        } catch {
            throw ArchiveError(
                SystemError(
                    error.code, doing: "write", name, advice: "name a file in a writable folder"
                ))
        }
    }

    /// Returns the path to write for the name that the user gave, after following links. Throws if the path
    /// is a device, a pipe or a folder.
    static func place(of named: String) throws(ArchiveError) -> String {
        guard named != "-" else {
            throw ArchiveError(.input, "an archive cannot be written to standard output: name a file")
        }
        let path = Folder.resolved(named)
        var status = stat()
        guard lstat(path, &status) == 0 else { return path }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return path
        case S_IFDIR: throw ArchiveError(.input, "\(named) is a folder: name a file, or DIR/ for files in it")
        case S_IFLNK: throw ArchiveError(.input, "\(named) is a broken link: name another file")
        default: throw ArchiveError(.input, "\(named) is not a regular file: name another file")
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        var rest = bytes[...]
        while buffer.count + rest.count >= Self.blockSize {
            let piece = rest.prefix(Self.blockSize - buffer.count)
            rest = rest.dropFirst(piece.count)
            if buffer.isEmpty {
                try put(UnsafeRawBufferPointer(rebasing: piece))
            } else {
                buffer.append(contentsOf: piece)
                try flush()
            }
        }
        buffer.append(contentsOf: rest)
    }

    func write(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
    }

    private func flush() throws(ArchiveError) {
        guard !buffer.isEmpty else { return }
        try buffer.withBytes { (bytes) throws(ArchiveError) in try put(bytes) }
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes one block.
    private func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        sums.append(Checksum.of(bytes))
        try ArchiveError.writing(name) { () throws(SystemError) in try file.write(bytes) }
    }

    /// Overwrites bytes that were already written.
    func replace(_ bytes: [UInt8], at place: Int64) throws(ArchiveError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let at = place + Int64(bytes.count - rest.count)
            let (number, start) = (Int(at / Int64(Self.blockSize)), Int(at % Int64(Self.blockSize)))
            let piece = rest.prefix(Self.blockSize - start)
            rest = rest.dropFirst(piece.count)
            guard number < sums.count else {
                buffer.replaceSubrange(start..<start + piece.count, with: piece)
                continue
            }
            try ArchiveError.writing(name) { () throws(SystemError) in
                var block = try file.read(
                    from: Int64(number * Self.blockSize), byteCount: Self.blockSize)
                // A block that was damaged on the disk keeps its old checksum, so that `isAsWritten` detects
                // it.
                let isWhole = block.withBytes { Checksum.of($0) } == sums[number]
                block.replaceSubrange(start..<start + piece.count, with: piece)
                if isWhole { sums[number] = block.withBytes { Checksum.of($0) } }
                try file.write(Array(piece), at: at)
            }
        }
    }

    /// Lets everyone who can read the file execute it.
    func makeExecutable() throws(ArchiveError) {
        try ArchiveError.writing(name) { () throws(SystemError) in
            var status = stat()
            guard fstat(file.descriptor, &status) == 0,
                fchmod(file.descriptor, (status.st_mode | (status.st_mode & 0o444) >> 2) & 0o7777) == 0
            else { throw SystemError(errno, doing: "make executable", name) }
        }
    }

    /// Writes everything to the disk. The file does not get its name yet.
    func settle() throws(ArchiveError) {
        try flush()
        try ArchiveError.writing(name) { () throws(SystemError) in try file.sync() }
    }

    /// Writes everything to the disk and gives the file its name.
    func finish() throws(ArchiveError) -> ArchiveFile {
        try settle()
        try ArchiveError.writing(name) { () throws(SystemError) in try takeName() }
        isFinished = true
        return ArchiveFile(path: name, byteCount: byteCount, sums: sums)
    }

    /// Links the file to its final path. Replacing an existing file atomically needs a temporary name beside
    /// it.
    private func takeName() throws(SystemError) {
        var draft = draft
        if draft == nil {
            let own = "\(Self.ownFiles)/\(file.descriptor)"
            if linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 { return }
            guard errno == EEXIST else { throw SystemError(errno, doing: "write", name) }
            let other = ScratchFolder.draft(of: path)
            unlink(other)
            guard linkat(AT_FDCWD, own, AT_FDCWD, other, AT_SYMLINK_FOLLOW) == 0 else {
                throw SystemError(errno, doing: "write", name)
            }
            draft = other
        }
        guard let draft, rename(draft, path) != 0 else { return }
        let code = errno
        unlink(draft)
        throw SystemError(code, doing: "write", name)
    }
}

extension Checksum {
    static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
        var checksum = Checksum()
        checksum.update(bytes)
        return checksum.value
    }
}
