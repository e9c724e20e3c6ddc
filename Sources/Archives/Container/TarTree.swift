internal import Codings
internal import Digest
internal import System

/// Writes files to a tar file compressed with zstd. A tar header contains the size of the file, so each file
/// is buffered until it is complete, large ones on the disk.
final class TarTree: FileTree {
    private let output: ArchiveOutput
    private let encoder: ZstdEncoder
    /// The folder for the bodies of large files until they are complete.
    private let folder: ScratchFolder
    /// The date of all files, in seconds since 1970.
    private let date: Int64
    /// The name and the content of the open file.
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

    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) { try open?.body.append(bytes) }

    func end() throws(ArchiveError) {
        guard let (name, spool) = open else { return }
        open = nil
        let body = try spool.finish()
        defer { body.discard() }
        try compress(Self.header(of: name, Int64(body.byteCount), date))
        try body.content?.writePieces { (piece) throws(ArchiveError) in try compress(piece) }
        try compress([UInt8](repeating: 0, count: TarHeader.padding(after: body.byteCount)))
    }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        // Two empty blocks end a tar file.
        try compress([UInt8](repeating: 0, count: 2 * TarHeader.blockBytes))
        try encoder.finish { (piece) throws(ArchiveError) in try output.write(piece) }
        return [try output.finish()]
    }

    /// Compresses bytes of the tar file and writes them.
    private func compress(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        try encoder.compress(bytes) { (piece) throws(ArchiveError) in try output.write(piece) }
    }

    private func compress(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withBytes { (bytes) throws(ArchiveError) in try compress(bytes) }
    }

    /// Returns the header of a file. A pax header precedes it if the name is long or the size is 8 GiB or more.
    private static func header(of name: String, _ byteCount: Int64, _ date: Int64) -> [UInt8] {
        let date = min(max(date, 0), TarHeader.maxNumber)
        var records: [UInt8] = []
        if name.utf8.count > TarHeader.maxNameBytes { records += paxRecord("path", name) }
        if byteCount > TarHeader.maxNumber { records += paxRecord("size", "\(byteCount)") }
        let paxHeader =
            records.isEmpty
            ? []
            : TarHeader.block("~pax".utf8, byteCount: Int64(records.count), date: date, kind: "x") + records
                + [UInt8](repeating: 0, count: TarHeader.padding(after: records.count))
        // Of a long name and a large size, the pax header has the whole value.
        return paxHeader
            + TarHeader.block(
                name.utf8.prefix(TarHeader.maxNameBytes),
                byteCount: byteCount > TarHeader.maxNumber ? 0 : byteCount, date: date)
    }

    /// Returns a pax record, which begins with its own length, including the digits of the length.
    private static func paxRecord(_ key: String, _ value: String) -> [UInt8] {
        let rest = " \(key)=\(value)\n"
        var length = rest.utf8.count
        // More digits of the length can make the record longer, and thus the length once more.
        while length != rest.utf8.count + "\(length)".utf8.count {
            length = rest.utf8.count + "\(length)".utf8.count
        }
        return Array("\(length)\(rest)".utf8)
    }

    func eachFile(_ take: (String, Digest) -> Void) throws(ArchiveError) {
        // Larder wrote the file, so that it cannot be an archive bomb.
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
