internal import Codings
internal import Digest
internal import Glibc
internal import System

/// Writes named files to a folder, a zip file or a tar file. A tree is used by one thread, and one file is
/// open at a time.
protocol FileTree: AnyObject {
    func begin(_ name: String) throws(ArchiveError)
    func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError)
    func end() throws(ArchiveError)
    /// Completes the tree, which then appears under its final name.
    func finish() throws(ArchiveError) -> [ArchiveFile]
    /// Passes the names and digests of the files that are now on the disk to `take`.
    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError)
}

/// Writes files to a temporary folder beside the final one, which is renamed when it is complete.
final class FolderTree: FileTree {
    private let path: String
    /// The path that error messages name; nil for the folder's own path.
    private let named: String?
    private let folder: ScratchFolder
    private var draft: String { folder.path }
    private var file: File?
    /// The final path of the open file.
    private var open = ""
    private var made: Set<String> = []
    private var byteCount: Int64 = 0

    init(_ path: String, for named: String? = nil) throws(ArchiveError) {
        self.named = named
        var whole = path
        while whole.utf8.count > 1, whole.hasSuffix("/") { whole.removeLast() }
        var status = stat()
        if lstat(whole, &status) == 0 {
            guard let names = Folder.names(in: whole) else {
                throw ArchiveError(.input, "\(whole) already exists and is not a folder; name another one")
            }
            guard names.isEmpty else {
                throw ArchiveError(
                    .input,
                    "\(whole) already exists and is not empty; name a new folder, for example \(whole)/NAME/")
            }
            if status.st_mode & S_IFMT == S_IFLNK { whole = Folder.resolved(whole) }
        }
        self.path = whole
        Self.makeParents(of: whole)
        do throws(SystemError) {
            folder = try ScratchFolder(beside: whole, mode: 0o755)
        } catch {
            let told = SystemError(
                error.code, doing: "write", whole, advice: "name a place in a writable folder")
            throw ArchiveError(.machine, ArchiveError(told).description)
        }
    }

    /// Creates the parent folders. A failure is reported when the folder itself is created.
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
            if made.insert(folder).inserted, mkdir("\(draft)/\(folder)", 0o755) != 0, errno != EEXIST {
                throw ArchiveError(
                    SystemError(errno, doing: "create the folder", named ?? "\(path)/\(folder)"))
            }
            end = name.index(after: slash)
        }
        let place = "\(draft)/\(name)"
        open = named ?? "\(path)/\(name)"
        file = try ArchiveError.writing(open) { () throws(SystemError) in
            try File(place, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        }
    }

    func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        try ArchiveError.writing(open) { () throws(SystemError) in try file?.write(bytes) }
    }

    func end() throws(ArchiveError) {
        try ArchiveError.writing(open) { () throws(SystemError) in try file.take()?.close() }
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        guard rename(draft, path) == 0 else { throw ArchiveError(SystemError(errno, doing: "write", path)) }
        return [ArchiveFile(path: path, byteCount: byteCount)]
    }

    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError) {
        var waiting = [""]
        while let folder = waiting.popLast() {
            for name in Folder.names(in: "\(path)/\(folder)") ?? [] {
                let below = folder + (folder.isEmpty ? "" : "/") + String(decoding: name, as: UTF8.self)
                guard WholeFile.exists("\(path)/\(below)") else {
                    waiting.append(below)
                    continue
                }
                var stream = DigestStream(.sha256)
                let place = "\(path)/\(below)"
                _ = try ArchiveError.wrapping { () throws(SystemError) in
                    try File(place, O_RDONLY).eachPiece { piece in
                        stream.update(piece)
                        return true
                    }
                }
                take(below, stream.finish())
            }
        }
    }
}

/// Writes files to a zip file.
final class ZipTree: FileTree {
    private let output: ArchiveOutput
    private let zip: ZipWriter

    init(_ path: String, date: Int64) throws(ArchiveError) {
        output = try ArchiveOutput(path)
        zip = ZipWriter(output, date: date)
    }

    /// Suffixes of formats that are already compressed. These files are stored.
    private static let packed: Set<Substring> = [
        "png", "jpg", "jpeg", "gif", "webp", "avif", "woff", "woff2", "mp4", "webm", "mp3", "ogg", "zip",
        "gz",
    ]

    func begin(_ name: String) throws(ArchiveError) {
        try zip.begin(name, isDeflated: !Self.packed.contains(name.split(separator: ".").last ?? ""))
    }

    func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) { try zip.write(bytes) }

    func end() throws(ArchiveError) { try zip.end() }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        try zip.finish()
        return [try output.finish()]
    }

    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError) {
        let file = try ZipFile(output.name)
        for entry in file.entries {
            guard let input = try file.input(entry, as: entry.isDeflated ? .deflate : .plain) else {
                continue
            }
            var stream = DigestStream(.sha256)
            _ = try input.take(.max) { (piece) throws(ArchiveError) in
                stream.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
                return true
            }
            take(entry.name, stream.finish())
        }
    }
}

/// Writes files to a tar file compressed with zstd. A tar header contains the size of the file, so each file
/// is buffered until it is complete, large ones on the disk.
final class TarTree: FileTree {
    private let output: ArchiveOutput
    private let encoder: ZstdEncoder
    private let folder: ScratchFolder
    private let date: Int64
    private var open: (name: String, body: BodySpool)?

    /// The default level of zstd.
    private static let level: Int32 = 3

    init(_ path: String, date: Int64) throws(ArchiveError) {
        guard let encoder = ZstdEncoder(level: Self.level) else {
            throw ArchiveError(.machine, "libzstd.so.1 (zstd) is not installed; install it")
        }
        output = try ArchiveOutput(path)
        folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-export")
        }
        (self.encoder, self.date) = (encoder, date)
    }

    func begin(_ name: String) throws(ArchiveError) {
        open = (name, BodySpool(.inFiles(folder: folder.path)))
    }

    func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) { try open?.body.take(bytes) }

    func end() throws(ArchiveError) {
        guard let (name, spool) = open else { return }
        open = nil
        let body = try spool.finish()
        defer { body.discard() }
        try write(Self.head(of: name, Int64(body.byteCount), date))
        try body.content?.eachArchived { (piece) throws(ArchiveError) in try write(piece) }
        try write([UInt8](repeating: 0, count: (512 - body.byteCount % 512) % 512))
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        try write([UInt8](repeating: 0, count: 1024))
        try encoder.finish { (piece) throws(ArchiveError) in try output.write(piece) }
        return [try output.finish()]
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        try encoder.compress(bytes) { (piece) throws(ArchiveError) in try output.write(piece) }
    }

    private func write(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
    }

    /// Returns a ustar header. A pax header precedes it if the name is long or the size is 8 GiB or more.
    private static func head(of name: String, _ byteCount: Int64, _ date: Int64) -> [UInt8] {
        var notes: [UInt8] = []
        if name.utf8.count > 100 { notes += record("path", name) }
        if byteCount >= 1 << 33 { notes += record("size", "\(byteCount)") }
        let front =
            notes.isEmpty
            ? []
            : block("~pax", "x", Int64(notes.count), date) + notes
                + [UInt8](repeating: 0, count: (512 - notes.count % 512) % 512)
        return front + block(name, "0", byteCount, date)
    }

    /// Returns a pax record, which begins with its own length, including the digits of the length.
    private static func record(_ key: String, _ value: String) -> [UInt8] {
        let rest = " \(key)=\(value)\n"
        var length = rest.utf8.count
        while length != rest.utf8.count + "\(length)".utf8.count {
            length = rest.utf8.count + "\(length)".utf8.count
        }
        return Array("\(length)\(rest)".utf8)
    }

    private static func block(_ name: String, _ kind: String, _ byteCount: Int64, _ date: Int64) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: 512)
        func put(_ text: String, at place: Int) {
            block.replaceSubrange(place..<place + text.utf8.count, with: text.utf8)
        }
        func octal(_ number: Int64, _ digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(String(decoding: name.utf8.prefix(100), as: UTF8.self), at: 0)
        put("0000644", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(octal(byteCount < 1 << 33 ? byteCount : 0, 11), at: 124)
        put(octal(min(max(date, 0), 1 << 33 - 1), 11), at: 136)
        put(kind, at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        put("        ", at: 148)
        put(octal(block.reduce(0) { $0 + Int64($1) }, 6), at: 148)
        block[154] = 0
        return block
    }

    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError) {
        let tar = try TarFile(output.name, .own)
        for file in tar.files {
            var stream = DigestStream(.sha256)
            _ = try tar.read(file) { (piece) throws(ArchiveError) in
                stream.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
                return true
            }
            take(file.path, stream.finish())
        }
    }
}
