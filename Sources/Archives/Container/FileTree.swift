internal import Codings
internal import Digest
internal import Glibc
internal import System

/// The output of an export that consists of named files: a folder, a zip file or a tar file. `TalliedTree` calls `begin`,
/// `write` and `end` for each file, and `finish` once at the end; without that, the files are deleted. A tree is used by one
/// thread, and one file is open at a time.
protocol FileTree: AnyObject {
    /// Opens a new file.
    ///
    /// - Parameter name: The path in the tree, with slashes. The caller ensures that it is valid on every file system, and
    ///   that no other file has it.
    func begin(_ name: String) throws(ArchiveError)
    /// Appends bytes to the open file.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError)
    /// Completes the open file.
    func end() throws(ArchiveError)
    /// Completes the tree, which then appears under its final name.
    func finish() throws(ArchiveError) -> [ArchiveFile]
    /// Reads the tree from the disk after `finish()`, so that `TalliedTree` can verify it: passes the name and the SHA-256
    /// digest of each file to `take`, in any order.
    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError)
}

/// Writes files to a folder. They are written to a temporary folder beside the final path, which `finish()` renames to that
/// path. Without `finish()`, the temporary folder is deleted.
final class FolderTree: FileTree {
    /// The final path.
    private let path: String
    /// The path in error messages about writing files, for a folder that the user does not know, such as the temporary one
    /// of a ZIM export. If it is nil, messages have the path of the file. The errors of `init`, `finish` and `eachFile` have
    /// the path of the folder or file in any case.
    private let displayPath: String?
    /// The temporary folder.
    private let scratch: ScratchFolder
    private var temporaryPath: String { scratch.path }
    private var file: File?
    /// The path of the open file in error messages. The file itself is in the temporary folder.
    private var openPath = ""
    private var createdFolders: Set<String> = []
    private var byteCount: Int64 = 0

    /// - Parameters:
    ///   - path: The folder to write. It must be missing or empty.
    ///   - displayPath: The path in error messages about writing files; nil for the path of each file.
    init(_ path: String, for displayPath: String? = nil) throws(ArchiveError) {
        self.displayPath = displayPath
        var folderPath = path
        while folderPath.utf8.count > 1, folderPath.hasSuffix("/") { folderPath.removeLast() }
        var status = stat()
        if lstat(folderPath, &status) == 0 {
            guard let names = Folder.names(in: folderPath) else {
                throw ArchiveError(
                    .input, "\(folderPath) already exists and is not a folder; name another one")
            }
            guard names.isEmpty else {
                throw ArchiveError(
                    .input,
                    "\(folderPath) already exists and is not empty, and folders are never replaced; name a new one, for example \(folderPath)-2/"
                )
            }
            // rename(2) would replace a symbolic link and not its target.
            if status.st_mode & S_IFMT == S_IFLNK { folderPath = Folder.resolved(folderPath) }
        }
        self.path = folderPath
        Self.makeParents(of: folderPath)
        do throws(SystemError) {
            scratch = try ScratchFolder(beside: folderPath, mode: 0o755)
        } catch {
            // `ArchiveError(SystemError)` would report some codes as faults of the input, but here the output cannot be
            // written.
            let advised = SystemError(
                error.code, doing: "write", folderPath, advice: "name a place in a writable folder")
            throw ArchiveError(.machine, ArchiveError(advised).description)
        }
    }

    /// Creates the parent folders. Errors are ignored: if a parent folder is missing, the temporary folder in it cannot be
    /// created, which is reported.
    private static func makeParents(of path: String) {
        var end = path.startIndex
        while let slash = path[end...].dropFirst().firstIndex(of: "/") {
            mkdir(String(path[..<slash]), 0o755)
            end = slash
        }
    }

    func begin(_ name: String) throws(ArchiveError) {
        var end = name.startIndex
        while let slash = name[end...].firstIndex(of: "/") {
            let folder = String(name[..<slash])
            if createdFolders.insert(folder).inserted, mkdir("\(temporaryPath)/\(folder)", 0o755) != 0,
                errno != EEXIST
            {
                throw ArchiveError(
                    SystemError(errno, doing: "create the folder", displayPath ?? "\(path)/\(folder)"))
            }
            end = name.index(after: slash)
        }
        let draftPath = "\(temporaryPath)/\(name)"
        openPath = displayPath ?? "\(path)/\(name)"
        file = try ArchiveError.writing(openPath) { () throws(SystemError) in
            try File(draftPath, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        try ArchiveError.writing(openPath) { () throws(SystemError) in try file?.write(bytes) }
    }

    func end() throws(ArchiveError) {
        try ArchiveError.writing(openPath) { () throws(SystemError) in try file.take()?.close() }
    }

    /// Renames the temporary folder to the final path. `scratch` then has nothing to delete.
    func finish() throws(ArchiveError) -> [ArchiveFile] {
        // rename(2) replaces an empty folder, and fails if another process has added files to it since `init`.
        guard rename(temporaryPath, path) == 0 else {
            throw ArchiveError(SystemError(errno, doing: "write", path))
        }
        return [ArchiveFile(path: path, byteCount: byteCount)]
    }

    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError) {
        var pending = [""]
        while let folder = pending.popLast() {
            // The files of an unreadable folder are missing from the digests, so that the verification fails.
            for name in Folder.names(in: "\(path)/\(folder)") ?? [] {
                let child = folder + (folder.isEmpty ? "" : "/") + String(decoding: name, as: UTF8.self)
                let childPath = "\(path)/\(child)"
                // Everything but a regular file is a folder.
                guard WholeFile.exists(childPath) else {
                    pending.append(child)
                    continue
                }
                var stream = DigestStream(.sha256)
                _ = try ArchiveError.wrapping { () throws(SystemError) in
                    try File(childPath, O_RDONLY).eachPiece { piece in
                        stream.update(piece)
                        return true
                    }
                }
                take(child, stream.finish())
            }
        }
    }
}

/// Writes files to a zip file, in one enclosing folder: unpacking it adds only that folder to the folder of the user.
final class ZipTree: FileTree {
    private let output: ArchiveOutput
    private let zip: ZipWriter
    /// The name of the enclosing folder with a slash.
    private let prefix: String

    /// - Parameter folder: The name of the enclosing folder, which must be valid on every file system.
    init(_ path: String, folder: String, date: Int64) throws(ArchiveError) {
        output = try ArchiveOutput(path)
        zip = ZipWriter(output, date: date)
        prefix = folder + "/"
    }

    /// The suffixes of formats that are already compressed. Files with them are added without further compression.
    private static let compressedSuffixes: Set<Substring> = [
        "png", "jpg", "jpeg", "gif", "webp", "avif", "woff", "woff2", "mp4", "webm", "mp3", "ogg", "zip",
        "gz",
    ]

    /// Whether a file is already compressed, by its name. Other writers of zip files use this, too (`FolderZip`).
    static func isCompressed(_ name: String) -> Bool {
        compressedSuffixes.contains(name.split(separator: ".").last ?? "")
    }

    func begin(_ name: String) throws(ArchiveError) {
        try zip.begin(prefix + name, isDeflated: !Self.isCompressed(name))
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) { try zip.write(bytes) }

    func end() throws(ArchiveError) { try zip.end() }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        try zip.finish()
        return [try output.finish()]
    }

    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError) {
        let file = try ZipFile(output.name)
        for entry in file.entries {
            // An unreadable file is missing from the digests, so that the verification fails. The compression is given,
            // because `input` would otherwise decompress a stored .gz file.
            guard let input = try file.input(entry, as: entry.isDeflated ? .deflate : .plain) else {
                continue
            }
            var stream = DigestStream(.sha256)
            _ = try input.take(.max) { (piece) throws(ArchiveError) in
                stream.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
                return true
            }
            let isInside = entry.name.utf8.starts(with: prefix.utf8)
            let name = isInside ? entry.name.utf8.dropFirst(prefix.utf8.count) : entry.name.utf8[...]
            take(String(Substring(name)), stream.finish())
        }
    }
}
