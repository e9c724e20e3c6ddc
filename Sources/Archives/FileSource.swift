internal import Codings
internal import Glibc
internal import System

/// A file of a folder that is imported.
struct SourceFile: Sendable {
    /// The path relative to the folder, with slashes. Bytes that are not ASCII are percent-encoded if the
    /// path is not valid UTF-8.
    let path: String
    let byteCount: Int64
    /// Seconds since 1970.
    let modified: Int64
    /// The index of the file in the source's own data.
    let number: Int
}

/// A folder to import: a folder on the disk, or the contents of a zip or tar file. It is used by one thread.
protocol FileSource: AnyObject {
    /// The name of the source for messages.
    var name: String { get }
    var files: [SourceFile] { get }
    /// The parts that are not imported, with the reasons.
    var faults: [ArchiveFault] { get }
    /// Whether the folder was packed into one file, possibly with an enclosing folder.
    var isPacked: Bool { get }
    /// Passes the content of a file to `take` until `take` returns false. Returns the reason if the content
    /// could not be read completely.
    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String?
}

extension FileSource {
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

/// File names in the form in which they are compared and shown.
enum FileName {
    /// The maximum depth of nested folders, which is more than any site has.
    static let deepest = 64
    /// The maximum length of a path in bytes.
    static let longest = 4096
    /// The maximum number of files in an imported folder.
    static let mostFiles = 1_000_000

    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var escaped: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 {
                escaped.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                escaped += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// Returns the path of an entry in a packed folder. Returns nil if it points outside the folder or is not
    /// a path.
    static func inside(_ bytes: [UInt8]) -> String? {
        segments(bytes, mayAscend: false).map { text(Array($0.joined(separator: [UInt8(ascii: "/")]))) }
    }

    /// Returns the target of a link in a packed folder as a path in the folder. Returns nil if it is outside
    /// the folder.
    static func target(ofLink target: [UInt8], at link: [UInt8]) -> String? {
        guard target.first != UInt8(ascii: "/") else { return nil }
        let folder = link.lastIndex(of: UInt8(ascii: "/")).map { link[...$0] } ?? []
        return segments(folder + target, mayAscend: true).map {
            text(Array($0.joined(separator: [UInt8(ascii: "/")])))
        }
    }

    private static func segments(_ bytes: [UInt8], mayAscend: Bool) -> [ArraySlice<UInt8>]? {
        guard !bytes.isEmpty, bytes.count <= longest, !bytes.contains(0), bytes[0] != UInt8(ascii: "/") else {
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
        return segments.isEmpty || segments.count > deepest ? nil : segments
    }
}

/// The symbolic links in a packed folder. Each stands for the file that it points to, as in a folder on the
/// disk.
struct PackedLinks {
    struct Link {
        /// The name as the archive writes it.
        let name: [UInt8]
        /// The name for messages.
        let shown: String
        /// The path of the target in the folder; nil if it is outside the folder.
        let target: String?
    }

    private var links: [(path: String, link: Link)] = []

    /// The maximum number of links that are followed to reach a file.
    private static let mostSteps = 40

    /// Adds a link. Returns the reason if the link must not be followed.
    mutating func add(_ link: Link) -> String? {
        guard let path = FileName.inside(link.name) else { return "its name points outside the folder" }
        guard link.target != nil else { return "it is a link to outside the folder" }
        guard links.count < FileName.mostFiles else { return "there are over \(FileName.mostFiles) links" }
        links.append((path, link))
        return nil
    }

    /// Returns a file for each link that leads to one of `files`, and the reasons for the links that do not.
    func followed(among files: [SourceFile]) -> (
        files: [SourceFile], faults: [(shown: String, reason: String)]
    ) {
        guard !links.isEmpty else { return ([], []) }
        let byPath = Dictionary(files.map { ($0.path, $0) }, uniquingKeysWith: { _, last in last })
        let targets = Dictionary(
            links.map { ($0.path, $0.link.target) }, uniquingKeysWith: { _, last in last })
        var folders: Set<Substring> = []
        for file in files {
            var end = file.path.endIndex
            while let slash = file.path[..<end].lastIndex(of: "/"),
                folders.insert(file.path[..<slash]).inserted
            {
                end = slash
            }
        }
        var (found, faults): ([SourceFile], [(shown: String, reason: String)]) = ([], [])
        for (path, link) in links where byPath[path] == nil {
            var (target, steps) = (link.target, 0)
            while let name = target, byPath[name] == nil, let next = targets[name], steps < Self.mostSteps {
                (target, steps) = (next, steps + 1)
            }
            if let file = target.flatMap({ byPath[$0] }) {
                found.append(
                    SourceFile(
                        path: path, byteCount: file.byteCount, modified: file.modified, number: file.number))
            } else {
                let isFolder = target.map { folders.contains($0[...]) } ?? false
                faults.append(
                    (link.shown, isFolder ? "it is a link to a folder" : "it is a broken link"))
            }
        }
        return (found, faults)
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
    private var paths: [[UInt8]] = []
    /// The sum of the file sizes, and the bytes that the files occupy on the disk.
    private var (made, onDisk): (Int, Int64) = (0, 0)
    /// The absolute path that the targets of links must be in.
    private let root: [UInt8]

    private static let mostFaults = 1000

    init(_ path: String, _ limits: ArchiveLimits) throws(ArchiveError) {
        var whole = path
        while whole.utf8.count > 1, whole.hasSuffix("/") { whole.removeLast() }
        (name, self.limits) = (whole, limits)
        root = try Self.resolved(Array(whole.utf8))
        try list([])
    }

    /// Creates a source from a page that a browser saved, with the folders of its assets beside it.
    init(page path: String, _ limits: ArchiveLimits) throws(ArchiveError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(path[...$0]) } ?? "."
        let file = String(path[(slash.map { path.utf8.index(after: $0) } ?? path.startIndex)...])
        name = folder == "." || folder == "/" ? folder : String(folder.dropLast())
        self.limits = limits
        root = try Self.resolved(Array(name.utf8))
        add(Array(file.utf8))
        for beside in SavedPage.folders(of: file) where Self.kind(at: whole(Array(beside.utf8))) == S_IFDIR {
            try list(Array(beside.utf8))
        }
    }

    private static func resolved(_ path: [UInt8]) throws(ArchiveError) -> [UInt8] {
        guard let real = realpath(characters(path), nil) else {
            throw ArchiveError(SystemError(errno, doing: "read", FileName.text(path)))
        }
        defer { free(real) }
        return real.withMemoryRebound(to: UInt8.self, capacity: strlen(real)) {
            Array(UnsafeBufferPointer(start: $0, count: strlen(real)))
        }
    }

    private func whole(_ below: [UInt8]) -> [UInt8] {
        Array(name.utf8) + (below.isEmpty ? [] : [UInt8(ascii: "/")] + below)
    }

    private static func status(_ path: [UInt8]) -> stat? {
        var found = stat()
        return lstat(characters(path), &found) == 0 ? found : nil
    }

    /// Returns the path as a C string. Paths need not be UTF-8.
    private static func characters(_ path: [UInt8]) -> [CChar] { path.map { CChar(bitPattern: $0) } + [0] }

    private static func kind(at path: [UInt8]) -> mode_t? { status(path).map { $0.st_mode & S_IFMT } }

    /// Lists a folder and its subfolders. The names are sorted, so that the order is the same on every disk.
    private func list(_ first: [UInt8]) throws(ArchiveError) {
        var waiting = [(folder: first, depth: 0)]
        while let (folder, depth) = waiting.popLast() {
            let place = String(decoding: whole(folder), as: UTF8.self)
            guard let names = Folder.names(in: place) else {
                tell("it cannot be read: change its permissions", folder)
                continue
            }
            var folders: [[UInt8]] = []
            for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                let below = folder.isEmpty ? name : folder + [UInt8(ascii: "/")] + name
                if Self.kind(at: whole(below)) == S_IFDIR { folders.append(below) } else { add(below) }
                guard files.count < FileName.mostFiles else {
                    throw ArchiveError(
                        .input, "\(self.name) has over \(FileName.mostFiles) files; import a part of it")
                }
            }
            guard folders.isEmpty || depth < FileName.deepest else {
                tell("it has over \(FileName.deepest) nested folders", folder)
                continue
            }
            for below in folders.reversed() { waiting.append((below, depth + 1)) }
        }
    }

    private func add(_ below: [UInt8]) {
        let path = whole(below)
        guard var found = Self.status(path) else { return tell("it cannot be read", below) }
        if found.st_mode & S_IFMT == S_IFLNK {
            guard let real = try? Self.resolved(path) else {
                return tell("it is a broken link", below)
            }
            guard real.starts(with: root + [UInt8(ascii: "/")]), let target = Self.status(real) else {
                return tell("it is a link to outside the folder", below)
            }
            found = target
            guard found.st_mode & S_IFMT != S_IFDIR else { return tell("it is a link to a folder", below) }
        }
        guard found.st_mode & S_IFMT == S_IFREG else { return tell("it is not a regular file", below) }
        let byteCount = Int64(found.st_size)
        guard byteCount <= Int64(limits.body) else { return tell("it is over \(limits.body) bytes", below) }
        // A sparse file can be far larger than the space that it occupies.
        let now = (made: made + Int(byteCount), onDisk: onDisk + Int64(found.st_blocks) * 512)
        guard !limits.isExceeded(now.made, outOf: now.onDisk) else { return tell(limits.excess, below) }
        (made, onDisk) = (now.made, now.onDisk)
        files.append(
            SourceFile(
                path: FileName.text(below), byteCount: byteCount, modified: Int64(found.st_mtim.tv_sec),
                number: paths.count))
        paths.append(below)
    }

    private func tell(_ reason: String, _ below: [UInt8]) {
        guard faults.count < Self.mostFaults else { return }
        faults.append(ArchiveFault(reason, at: FileName.text(whole(below))))
    }

    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String? {
        let path = whole(paths[file.number])
        // The file may have been replaced by a pipe or device that never ends.
        let descriptor = open(Self.characters(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return SystemError(errno, doing: "read", file.path).problem }
        defer { close(descriptor) }
        var found = stat()
        guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG else {
            return "it is no longer a file"
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

/// The contents of a zip file.
final class ZipFolder: FileSource {
    let name: String
    private(set) var files: [SourceFile] = []
    private(set) var faults: [ArchiveFault]
    let isPacked = true
    private let zip: ZipFile
    private let limits: ArchiveLimits
    /// The sizes of all entries read so far, expanded and compressed, to detect decompression bombs.
    private var made = 0
    private var packed: Int64 = 0

    init(_ zip: ZipFile, _ limits: ArchiveLimits) throws(ArchiveError) {
        (self.zip, self.limits, name) = (zip, limits, zip.path)
        faults = zip.faults
        guard !zip.isOverlapping else {
            throw ArchiveError(.input, "\(zip.path) cannot be imported: its entries overlap")
        }
        var links = PackedLinks()
        for (number, entry) in zip.entries.enumerated() where !entry.name.hasSuffix("/") {
            guard let path = FileName.inside(Array(entry.name.utf8)) else {
                faults.append(
                    ArchiveFault("its name points outside the folder", at: "\(name), \(entry.name)"))
                continue
            }
            // `zip.faults` already contains the entries without content.
            guard entry.content != nil else { continue }
            guard !entry.isLink else {
                let (written, shown) = (Array(entry.name.utf8), "\(name), \(entry.name)")
                let target = try zip.bytes(entry, atMost: FileName.longest).flatMap {
                    FileName.target(ofLink: $0, at: written)
                }
                let link = PackedLinks.Link(name: written, shown: shown, target: target)
                if let reason = links.add(link) { faults.append(ArchiveFault(reason, at: shown)) }
                continue
            }
            files.append(
                SourceFile(path: path, byteCount: entry.byteCount, modified: entry.modified, number: number))
        }
        let followed = links.followed(among: files)
        files += followed.files
        faults += followed.faults.map { ArchiveFault($0.reason, at: $0.shown) }
    }

    func read(
        _ file: SourceFile, _ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> String? {
        let entry = zip.entries[file.number]
        guard let input = try zip.input(entry, as: entry.isDeflated ? .deflate : .plain),
            let content = entry.content
        else { return "its content is not in the file" }
        packed += Int64(content.count)
        var (sum, count, isWanted) = (Checksum(), 0, true)
        _ = try input.take(.max) { (piece) throws(ArchiveError) in
            sum.update(piece)
            count += piece.count
            made += piece.count
            guard count <= limits.body, !limits.isExceeded(made, outOf: packed) else { return false }
            isWanted = try take(piece)
            return isWanted
        }
        guard isWanted else { return nil }
        if count > limits.body { return "it is over \(limits.body) bytes" }
        if limits.isExceeded(made, outOf: packed) { return limits.excess }
        if let damage = input.damage { return damage }
        return Int64(count) == entry.byteCount && sum.value == entry.checksum
            ? nil : "its bytes do not match its checksum"
    }
}
