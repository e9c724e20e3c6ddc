internal import Codings
internal import Glibc
internal import System
internal import Web

/// A file in a folder that is imported (`FileSource`).
struct SourceFile: Sendable {
    /// The path relative to the folder, as text (`FileName.text`).
    let path: String
    let byteCount: Int64
    /// The time of the last change, in seconds since 1970.
    let modified: Int64
    /// The index with which the source finds the content. A link in a zip or tar file has the number of its target.
    let number: Int
}

/// A folder to import: a folder on the disk (``DiskFolder``), or the contents of a zip file (``ZipFolder``) or tar file
/// (``TarFile``).
///
/// Names and links that lead outside the folder are faults, not files. `FolderMap` finds out the URLs of the files, for
/// which it reads the beginnings of some, and `FolderReader` imports them. A source is used by one thread.
protocol FileSource: AnyObject {
    /// The name of the source for messages.
    var name: String { get }
    /// The files to import, including links to files.
    var files: [SourceFile] { get }
    /// The files that are not imported, with the reasons.
    var faults: [ArchiveFault] { get }
    /// Whether the folder was packed into one file, possibly with an enclosing folder.
    var isPacked: Bool { get }
    /// Passes the content of a file to `take` in pieces, until the end or until `take` returns false.
    ///
    /// Returns the reason if the content is damaged or could not be read completely, else nil. This may be known only
    /// after the last piece, for example from a checksum. The caller then discards all pieces.
    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String?
}

extension FileSource {
    /// Returns the name of the source and the path of the file, for messages.
    func place(of file: SourceFile) -> String { "\(name), \(file.path)" }

    /// Returns the beginning of the file, at most `limit` bytes.
    func beginning(of file: SourceFile, _ limit: Int) throws(ArchiveError) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try read(file) { (piece) throws(ArchiveError) in
            bytes.append(contentsOf: piece.prefix(limit - bytes.count))
            return bytes.count < limit
        }
        return bytes
    }
}

/// File names and paths of imported files: their limits, their form as text, and the check that they are inside the
/// folder.
enum FileName {
    /// The maximum depth of nested folders, which is more than any site has. Deeper files are not imported.
    static let maxDepth = 64
    /// The maximum length of a path in a zip or tar file. Files with longer paths are not imported.
    static let maxPathBytes = 4096
    /// The maximum number of files in an imported folder. The import fails if there are more.
    static let maxFiles = 1_000_000

    /// Returns the name as text, the form in which names are compared and shown. If it is not valid UTF-8, the bytes
    /// that are not ASCII are percent-encoded.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return String(percentEncoding: bytes) { $0 < 0x80 }
    }

    /// Returns the path of an entry of a zip or tar file. Returns nil if it is invalid or contains `..`.
    static func pathInside(_ bytes: [UInt8]) -> String? {
        segments(bytes, mayAscend: false).map { text(Array($0.joined(separator: [UInt8(ascii: "/")]))) }
    }

    /// Returns the target of a link in a zip or tar file as a path in the folder. Returns nil if it is invalid or
    /// outside the folder.
    ///
    /// - Parameters:
    ///   - target: the content of the link.
    ///   - link: the path of the link, to whose folder the target is relative.
    static func target(ofLink target: [UInt8], at link: [UInt8]) -> String? {
        guard target.first != UInt8(ascii: "/") else { return nil }
        let folder = link.lastIndex(of: UInt8(ascii: "/")).map { link[...$0] } ?? []
        return segments(folder + target, mayAscend: true).map {
            text(Array($0.joined(separator: [UInt8(ascii: "/")])))
        }
    }

    /// Returns the parts of a relative path without `.` and `..`. Returns nil if the path is invalid or leaves the
    /// folder.
    ///
    /// - Parameter mayAscend: Whether `..` is allowed.
    private static func segments(_ bytes: [UInt8], mayAscend: Bool) -> [ArraySlice<UInt8>]? {
        guard !bytes.isEmpty, bytes.count <= maxPathBytes, !bytes.contains(0), bytes[0] != UInt8(ascii: "/")
        else {
            return nil
        }
        var segments: [ArraySlice<UInt8>] = []
        for segment in bytes.split(separator: UInt8(ascii: "/")) where !segment.elementsEqual(".".utf8) {
            if segment.elementsEqual("..".utf8) {
                guard mayAscend, segments.popLast() != nil else { return nil }
            } else {
                segments.append(segment)
            }
        }
        return segments.isEmpty || segments.count > maxDepth ? nil : segments
    }
}

/// The symbolic and hard links in a zip or tar file. Each link to a file, directly or through other links, is imported
/// as a file with the content of its target, as in a folder on the disk.
struct ArchivedFileLinks {
    struct Link {
        /// The path of the link as the archive stores it.
        let name: [UInt8]
        /// The name for messages.
        let displayName: String
        /// The path of the target in the folder; nil if it is invalid or outside the folder.
        let target: String?
    }

    private var links: [(path: String, link: Link)] = []

    /// The maximum number of links in a chain, because links may form a cycle. A longer chain is treated as a broken
    /// link.
    private static let maxLinkSteps = 40

    /// Adds a link. Returns the reason if it is not imported.
    mutating func add(_ link: Link) -> String? {
        guard let path = FileName.pathInside(link.name) else { return "its name points outside the folder" }
        guard link.target != nil else { return "it is a link to outside the folder" }
        guard links.count < FileName.maxFiles else { return "there are over \(FileName.maxFiles) links" }
        links.append((path, link))
        return nil
    }

    /// Returns a file for each link to one of `files`, and the reasons why the other links are not imported. A link with
    /// the same path as a file is ignored.
    func resolve(among files: [SourceFile]) -> (
        files: [SourceFile], faults: [(displayName: String, reason: String)]
    ) {
        guard !links.isEmpty else { return ([], []) }
        let byPath = Dictionary(files.map { ($0.path, $0) }, uniquingKeysWith: { _, last in last })
        let targets = Dictionary(
            links.map { ($0.path, $0.link.target) }, uniquingKeysWith: { _, last in last })
        // All folders that contain a file, to tell links to folders from broken links.
        var folders: Set<Substring> = []
        for file in files {
            var end = file.path.endIndex
            while let slash = file.path[..<end].lastIndex(of: "/"),
                folders.insert(file.path[..<slash]).inserted
            {
                end = slash
            }
        }
        var (resolved, faults): ([SourceFile], [(displayName: String, reason: String)]) = ([], [])
        for (path, link) in links where byPath[path] == nil {
            var (target, steps) = (link.target, 0)
            while let name = target, byPath[name] == nil, let next = targets[name], steps < Self.maxLinkSteps
            {
                (target, steps) = (next, steps + 1)
            }
            if let file = target.flatMap({ byPath[$0] }) {
                resolved.append(
                    SourceFile(
                        path: path, byteCount: file.byteCount, modified: file.modified, number: file.number))
            } else {
                let isFolder = target.map { folders.contains($0[...]) } ?? false
                faults.append(
                    (link.displayName, isFolder ? "it is a link to a folder" : "it is a broken link"))
            }
        }
        return (resolved, faults)
    }
}

/// A folder on the disk. Links to the outside, links to folders, and anything other than files and folders
/// are reported and not imported.
final class DiskFolder: FileSource {
    let name: String
    private(set) var files: [SourceFile] = []
    private(set) var faults: [ArchiveFault] = []
    let isPacked = false
    private let limits: ArchiveLimits
    /// The files in the folder, by `SourceFile.number`.
    private var listed: [ListedFile] = []
    /// The sum of the file sizes.
    private var totalByteCount = 0
    /// The space that the files occupy on the disk, in bytes.
    private var totalDiskByteCount: Int64 = 0
    /// The absolute path of the folder without links. The targets of links must be below it.
    private let root: [UInt8]

    /// A file as it was listed.
    private struct ListedFile {
        /// The path relative to the source. Paths need not be UTF-8.
        let path: [UInt8]
        let device: dev_t
        let inode: ino_t
    }

    /// The maximum number of faults. Further ones are not reported.
    private static let maxReportedFaults = 1000

    init(_ path: String, _ limits: ArchiveLimits) throws(ArchiveError) {
        var trimmed = path
        while trimmed.utf8.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        (name, self.limits) = (trimmed, limits)
        root = try Self.realPath(Array(trimmed.utf8))
        try addFiles(of: [])
    }

    /// Creates a source from the file of a page that a browser saved, with the folders of its assets beside it.
    init(page path: String, _ limits: ArchiveLimits) throws(ArchiveError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(path[...$0]) } ?? "."
        let file = String(path[(slash.map { path.utf8.index(after: $0) } ?? path.startIndex)...])
        name = folder == "." || folder == "/" ? folder : String(folder.dropLast())
        self.limits = limits
        root = try Self.realPath(Array(name.utf8))
        add(Array(file.utf8))
        for assets in SavedPage.folders(of: file)
        where Self.fileType(at: diskPath(Array(assets.utf8))) == S_IFDIR {
            try addFiles(of: Array(assets.utf8))
        }
    }

    /// Returns the absolute path after following all links.
    private static func realPath(_ path: [UInt8]) throws(ArchiveError) -> [UInt8] {
        guard let real = realpath(cString(path), nil) else {
            throw ArchiveError(SystemError(errno, doing: "read", FileName.text(path)))
        }
        defer { free(real) }
        return real.withMemoryRebound(to: UInt8.self, capacity: strlen(real)) {
            Array(UnsafeBufferPointer(start: $0, count: strlen(real)))
        }
    }

    /// Returns the path with which a file is opened, from its path in the folder.
    private func diskPath(_ relativePath: [UInt8]) -> [UInt8] {
        Array(name.utf8) + (relativePath.isEmpty ? [] : [UInt8(ascii: "/")] + relativePath)
    }

    /// Returns the status of a file or link, without following the link.
    private static func status(_ path: [UInt8]) -> stat? {
        var status = stat()
        return lstat(cString(path), &status) == 0 ? status : nil
    }

    /// Returns the path as a C string. Paths need not be UTF-8.
    private static func cString(_ path: [UInt8]) -> [CChar] { path.map { CChar(bitPattern: $0) } + [0] }

    /// Returns the type of a file or link (`S_IFREG` and so on); nil if it cannot be read.
    private static func fileType(at path: [UInt8]) -> mode_t? { status(path).map { $0.st_mode & S_IFMT } }

    /// Adds the files of a folder and its subfolders. They are sorted, so that the order is the same on every disk.
    ///
    /// - Parameter topFolder: its path relative to the source; empty for the source itself.
    private func addFiles(of topFolder: [UInt8]) throws(ArchiveError) {
        var pending = [(folder: topFolder, depth: 0)]
        while let (folder, depth) = pending.popLast() {
            guard let names = Folder.names(in: diskPath(folder)) else {
                addFault("it cannot be read: change its permissions", folder)
                continue
            }
            var folders: [[UInt8]] = []
            for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                let child = folder.isEmpty ? name : folder + [UInt8(ascii: "/")] + name
                if Self.fileType(at: diskPath(child)) == S_IFDIR { folders.append(child) } else { add(child) }
                guard files.count < FileName.maxFiles else {
                    throw ArchiveError(
                        .input, "\(self.name) has over \(FileName.maxFiles) files; import a part of it")
                }
            }
            guard folders.isEmpty || depth < FileName.maxDepth else {
                addFault("it has over \(FileName.maxDepth) nested folders", folder)
                continue
            }
            for child in folders.reversed() { pending.append((child, depth + 1)) }
        }
    }

    /// Adds a file by its path in the folder, or a fault if it is not imported.
    private func add(_ relativePath: [UInt8]) {
        let path = diskPath(relativePath)
        guard var status = Self.status(path) else { return addFault("it cannot be read", relativePath) }
        if status.st_mode & S_IFMT == S_IFLNK {
            guard let real = try? Self.realPath(path) else {
                return addFault("it is a broken link", relativePath)
            }
            let isInside = real.starts(with: root == [UInt8(ascii: "/")] ? root : root + [UInt8(ascii: "/")])
            guard isInside, let target = Self.status(real) else {
                return addFault("it is a link to outside the folder", relativePath)
            }
            status = target
            guard status.st_mode & S_IFMT != S_IFDIR else {
                return addFault("it is a link to a folder", relativePath)
            }
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            return addFault("it is not a regular file", relativePath)
        }
        let byteCount = Int64(status.st_size)
        guard byteCount <= Int64(limits.maxBodyBytes) else {
            return addFault("it is over \(limits.maxBodyBytes) bytes", relativePath)
        }
        // A sparse file can be far larger than the space that it occupies, like a decompression bomb.
        let newTotal = totalByteCount + Int(byteCount)
        let newDiskTotal = totalDiskByteCount + Int64(status.st_blocks) * 512
        guard !limits.isExceeded(newTotal, outOf: newDiskTotal) else {
            return addFault(limits.excessMessage, relativePath)
        }
        (totalByteCount, totalDiskByteCount) = (newTotal, newDiskTotal)
        files.append(
            SourceFile(
                path: FileName.text(relativePath), byteCount: byteCount,
                modified: Int64(status.st_mtim.tv_sec), number: listed.count))
        listed.append(ListedFile(path: relativePath, device: status.st_dev, inode: status.st_ino))
    }

    private func addFault(_ reason: String, _ relativePath: [UInt8]) {
        guard faults.count < Self.maxReportedFaults else { return }
        faults.append(ArchiveFault(reason, at: FileName.text(diskPath(relativePath))))
    }

    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String? {
        let listedFile = listed[file.number]
        let path = diskPath(listedFile.path)
        // The file may have been replaced by a pipe or device that never ends, so opening must not block. It or a folder
        // above it may also have been replaced by a link to the outside, so the file must be the one that was listed.
        let descriptor = open(Self.cString(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return SystemError(errno, doing: "read", file.path).problem }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return "it is no longer a file"
        }
        guard status.st_dev == listedFile.device, status.st_ino == listedFile.inode else {
            return "it was replaced while the folder was read; import it again"
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        var left = file.byteCount
        while left > 0 {
            let count = Glibc.read(descriptor, buffer.baseAddress, Int(min(Int64(buffer.count), left)))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return SystemError(errno, doing: "read", file.path).problem }
            guard count > 0 else { return "it was truncated while it was read" }
            left -= Int64(count)
            guard try take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) else { return nil }
        }
        return nil
    }
}

/// The contents of a zip file, as a folder.
final class ZipFolder: FileSource {
    let name: String
    private(set) var files: [SourceFile] = []
    private(set) var faults: [ArchiveFault]
    let isPacked = true
    private let zip: ZipFile
    private let limits: ArchiveLimits
    /// The decompressed size of everything read so far, which `limits` compare with its compressed size to detect
    /// decompression bombs.
    private var expandedByteCount = 0
    /// The compressed size of all entries read so far.
    private var compressedByteCount: Int64 = 0

    init(_ zip: ZipFile, _ limits: ArchiveLimits) throws(ArchiveError) {
        (self.zip, self.limits, name) = (zip, limits, zip.path)
        faults = zip.faults
        guard !zip.isOverlapping else {
            throw ArchiveError(.input, "\(zip.path) cannot be imported: its entries overlap")
        }
        var links = ArchivedFileLinks()
        for (number, entry) in zip.entries.enumerated() where !entry.name.hasSuffix("/") {
            guard let path = FileName.pathInside(Array(entry.name.utf8)) else {
                faults.append(
                    ArchiveFault("its name points outside the folder", at: "\(name), \(entry.name)"))
                continue
            }
            // `zip.faults` already contains the entries without content.
            guard entry.content != nil else { continue }
            guard !entry.isLink else {
                let (linkName, displayName) = (Array(entry.name.utf8), "\(name), \(entry.name)")
                // The content of a link is its target.
                let target = try zip.bytes(entry, atMost: FileName.maxPathBytes).flatMap {
                    FileName.target(ofLink: $0, at: linkName)
                }
                let link = ArchivedFileLinks.Link(name: linkName, displayName: displayName, target: target)
                if let reason = links.add(link) { faults.append(ArchiveFault(reason, at: displayName)) }
                continue
            }
            files.append(
                SourceFile(path: path, byteCount: entry.byteCount, modified: entry.modified, number: number))
        }
        let resolved = links.resolve(among: files)
        files += resolved.files
        faults += resolved.faults.map { ArchiveFault($0.reason, at: $0.displayName) }
    }

    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String? {
        let entry = zip.entries[file.number]
        guard let input = try zip.input(entry, as: entry.isDeflated ? .deflate : .plain),
            let content = entry.content
        else { return "its content is not in the file" }
        compressedByteCount += Int64(content.count)
        var (sum, count, isWanted) = (Checksum(), 0, true)
        _ = try input.take(.max) { (piece) throws(ArchiveError) in
            sum.update(piece)
            count += piece.count
            expandedByteCount += piece.count
            guard count <= limits.maxBodyBytes,
                !limits.isExceeded(expandedByteCount, outOf: compressedByteCount)
            else {
                return false
            }
            isWanted = try take(piece)
            return isWanted
        }
        guard isWanted else { return nil }
        if count > limits.maxBodyBytes { return "it is over \(limits.maxBodyBytes) bytes" }
        if limits.isExceeded(expandedByteCount, outOf: compressedByteCount) { return limits.excessMessage }
        if let damage = input.damage { return damage }
        return Int64(count) == entry.byteCount && sum.value == entry.checksum
            ? nil : "its bytes do not match its checksum"
    }
}
