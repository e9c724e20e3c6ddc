internal import Digest
internal import Glibc
internal import System

/// Files with names, on their way into a folder or a zip file. It belongs to one thread; one file is open at a time.
protocol FileTree: AnyObject {
    func begin(_ name: String) throws(ArchiveError)
    func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError)
    func end() throws(ArchiveError)
    /// From here on it has its name.
    func finish() throws(ArchiveError) -> [ArchiveFile]
    /// Hands over what stands there by now: names and bytes.
    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError)
}

/// A folder, beside its place until it is whole.
final class FolderTree: FileTree {
    private let path: String
    private let draft: String
    private var file: File?
    private var made: Set<String> = []
    private var byteCount: Int64 = 0
    private var isFinished = false

    init(_ path: String) throws(ArchiveError) {
        var whole = path
        while whole.utf8.count > 1, whole.hasSuffix("/") { whole.removeLast() }
        self.path = whole
        draft = "\(whole).\(getpid()).part"
        if let names = Folder.names(in: whole), !names.isEmpty {
            throw ArchiveError(.input, "\(whole) is there already, and not empty; name another folder")
        }
        Folder.remove(draft)
        guard mkdir(draft, 0o755) == 0 else {
            throw ArchiveError(
                SystemError(
                    errno, doing: "write", whole, advice: "name a place in a folder that can be written to"))
        }
    }

    deinit {
        if !isFinished { Folder.remove(draft) }
    }

    func begin(_ name: String) throws(ArchiveError) {
        var end = name.startIndex
        while let slash = name[end...].firstIndex(of: "/") {
            let folder = String(name[..<slash])
            if made.insert(folder).inserted, mkdir("\(draft)/\(folder)", 0o755) != 0, errno != EEXIST {
                throw ArchiveError(SystemError(errno, doing: "create the folder", "\(path)/\(folder)"))
            }
            end = name.index(after: slash)
        }
        let place = "\(draft)/\(name)"
        file = try ArchiveError.wrapping { () throws(SystemError) in
            try File(place, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        }
    }

    func put(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += Int64(bytes.count)
        try ArchiveError.wrapping { () throws(SystemError) in try file?.write(bytes) }
    }

    func end() throws(ArchiveError) {
        try ArchiveError.wrapping { () throws(SystemError) in try file.take()?.close() }
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        guard rename(draft, path) == 0 else { throw ArchiveError(SystemError(errno, doing: "write", path)) }
        isFinished = true
        return [ArchiveFile(path: path, byteCount: byteCount)]
    }

    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError) {
        var waiting = [""]
        while let folder = waiting.popLast() {
            for name in Folder.names(in: "\(path)/\(folder)") ?? [] {
                let below = folder + (folder.isEmpty ? "" : "/") + String(decoding: name, as: UTF8.self)
                guard WholeFile.isThere("\(path)/\(below)") else {
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

/// A zip file of them.
final class ZipTree: FileTree {
    private let output: ArchiveOutput
    private let zip: ZipWriter

    init(_ path: String, date: Int64) throws(ArchiveError) {
        output = try ArchiveOutput(path)
        zip = ZipWriter(output, date: date)
    }

    /// What is compressed in itself is stored.
    private static let packed: Set<Substring> = [
        "png", "jpg", "jpeg", "gif", "webp", "avif", "woff", "woff2", "mp4", "webm", "mp3", "ogg", "zip", "gz",
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
        let file = try ZipFile(output.path)
        for entry in file.entries {
            guard let input = try file.input(entry) else { continue }
            var stream = DigestStream(.sha256)
            _ = try input.take(.max) { (piece) throws(ArchiveError) in
                stream.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
                return true
            }
            take(entry.name, stream.finish())
        }
    }
}
