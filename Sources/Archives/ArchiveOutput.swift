internal import Codings
internal import Glibc
internal import System

/// An archive file while it is written.
///
/// The file has no name until it is complete (`O_TMPFILE`), so that nothing remains if the process is killed. On file
/// systems without such files, it is a locked draft beside its final path; the next export to the path removes the
/// draft of a killed process. If ``finish()`` is not called, the file is deleted.
///
/// Bytes are written in blocks. The checksum of each block is kept, so that the export can read the file back and verify
/// it (``ArchiveFile/isAsWritten()``). An output is used by one thread.
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

    /// The size of all blocks but the last one.
    static let blockBytes = 256 * 1024
    /// `O_TMPFILE` of <fcntl.h>. Swift cannot import it, because it is a combination of other macros.
    private static let unnamedFileFlag: Int32 = 0o20000000 | O_DIRECTORY
    /// The folder with the open files of this process. A file without a name gets one by linking its entry here.
    private static let openFilesFolder = "/proc/self/fd"

    /// - Parameter name: The path as the user gave it.
    init(_ name: String) throws(ArchiveError) {
        let path = try Self.resolvedPath(of: name)
        (self.name, self.path) = (name, path)
        ScratchFolder.sweepDrafts(of: path)
        let file = try Self.open(for: path, name)
        // A file without a name has the path of its folder.
        draft = file.path == Self.folder(of: path) ? nil : file.path
        self.file = file
        buffer.reserveCapacity(Self.blockBytes)
    }

    deinit {
        if !isFinished, let draft { unlink(draft) }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func open(for path: String, _ name: String) throws(ArchiveError) -> File {
        if access(openFilesFolder, X_OK) == 0,
            let file = try? File(folder(of: path), O_RDWR | unnamedFileFlag, mode: 0o644)
        {
            return file
        }
        let draft = ScratchFolder.draft(of: path)
        unlink(draft)
        do throws(SystemError) {
            let file = try File(draft, O_RDWR | O_CREAT | O_EXCL, mode: 0o644)
            // The lock tells other exports that the draft is in use. Where locks are not supported, other exports
            // do not remove drafts either.
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
    static func resolvedPath(of name: String) throws(ArchiveError) -> String {
        guard name != "-" else {
            throw ArchiveError(.input, "an archive cannot be written to standard output: name a file")
        }
        let path = Folder.resolved(name)
        var status = stat()
        guard lstat(path, &status) == 0 else { return path }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return path
        case S_IFDIR: throw ArchiveError(.input, "\(name) is a folder: name a file, or DIR/ for files in it")
        case S_IFLNK: throw ArchiveError(.input, "\(name) is a broken link: name another file")
        default: throw ArchiveError(.input, "\(name) is not a regular file: name another file")
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        var rest = bytes[...]
        while buffer.count + rest.count >= Self.blockBytes {
            let piece = rest.prefix(Self.blockBytes - buffer.count)
            rest = rest.dropFirst(piece.count)
            if buffer.isEmpty {
                try writeBlock(UnsafeRawBufferPointer(rebasing: piece))
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
        try buffer.withBytes { (bytes) throws(ArchiveError) in try writeBlock(bytes) }
        buffer.removeAll(keepingCapacity: true)
    }

    private func writeBlock(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        sums.append(Checksum.of(bytes))
        try ArchiveError.writing(name) { () throws(SystemError) in try file.write(bytes) }
    }

    /// Overwrites bytes that were already written, and updates the checksums of their blocks.
    func replace(_ bytes: [UInt8], at offset: Int64) throws(ArchiveError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let position = offset + Int64(bytes.count - rest.count)
            let number = Int(position / Int64(Self.blockBytes))
            let start = Int(position % Int64(Self.blockBytes))
            let piece = rest.prefix(Self.blockBytes - start)
            rest = rest.dropFirst(piece.count)
            // The last block is still in the buffer.
            guard number < sums.count else {
                buffer.replaceSubrange(start..<start + piece.count, with: piece)
                continue
            }
            try ArchiveError.writing(name) { () throws(SystemError) in
                var block = try file.read(
                    from: Int64(number * Self.blockBytes), byteCount: Self.blockBytes)
                // A block that was damaged on the disk keeps its old checksum, so that `isAsWritten` detects
                // it.
                let isWhole = block.withBytes { Checksum.of($0) } == sums[number]
                block.replaceSubrange(start..<start + piece.count, with: piece)
                if isWhole { sums[number] = block.withBytes { Checksum.of($0) } }
                try file.write(Array(piece), at: position)
            }
        }
    }

    /// Gives execute permission to each class of users that has read permission.
    func makeExecutable() throws(ArchiveError) {
        try ArchiveError.writing(name) { () throws(SystemError) in
            var status = stat()
            guard fstat(file.descriptor, &status) == 0,
                fchmod(file.descriptor, (status.st_mode | (status.st_mode & 0o444) >> 2) & 0o7777) == 0
            else { throw SystemError(errno, doing: "make executable", name) }
        }
    }

    /// Writes everything to the disk. The file does not get its name yet, so that several files can be completed
    /// before the first one appears.
    func sync() throws(ArchiveError) {
        try flush()
        try ArchiveError.writing(name) { () throws(SystemError) in try file.sync() }
    }

    /// Writes everything to the disk and gives the file its name.
    func finish() throws(ArchiveError) -> ArchiveFile {
        try sync()
        try ArchiveError.writing(name) { () throws(SystemError) in try takeName() }
        isFinished = true
        return ArchiveFile(path: name, byteCount: byteCount, sums: sums)
    }

    /// Links the file to its final path. Replacing an existing file atomically needs a temporary name beside
    /// it.
    private func takeName() throws(SystemError) {
        var draft = draft
        if draft == nil {
            let openFile = "\(Self.openFilesFolder)/\(file.descriptor)"
            if linkat(AT_FDCWD, openFile, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 { return }
            guard errno == EEXIST else { throw SystemError(errno, doing: "write", name) }
            let temporary = ScratchFolder.draft(of: path)
            unlink(temporary)
            guard linkat(AT_FDCWD, openFile, AT_FDCWD, temporary, AT_SYMLINK_FOLLOW) == 0 else {
                throw SystemError(errno, doing: "write", name)
            }
            draft = temporary
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
