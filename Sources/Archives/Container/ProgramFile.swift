internal import Digest
internal import Glibc
internal import System
internal import Web

/// A program that can contain a site: the `larder` command, followed by an archive of the site. Linux ignores bytes
/// after the end of an executable file.
///
/// | part | content |
/// | --- | --- |
/// | program | the unchanged `larder` command |
/// | archive | a marker, a line of JSON with the name of the site, and a WARC |
/// | trailer | 64 bytes: the marker, the offset and size of the archive (64 bits, big-endian), and its SHA-256 |
package struct ProgramFile: Sendable {
    private let path: String
    /// The path for messages.
    private let name: String
    /// The size of the program without the archive, in bytes.
    private let programByteCount: Int64
    /// The shared libraries that the program needs.
    let libraries: [String]
    private let archive: Archive?

    private struct Archive: Sendable {
        /// The offset in the file.
        let offset: Int64
        let byteCount: Int64
        let sha256: [UInt8]
    }

    /// The site of a program.
    package struct Site: Sendable, Equatable {
        package let name: String
        /// The URLs that the site starts with.
        package let start: [String]
        /// When the snapshot was fetched, in seconds since 1970.
        package let date: Int64
    }

    /// The beginning of the archive, and of the trailer.
    private static let marker = Array("\nlarder-site-1\n\n".utf8)
    private static let trailerByteCount = 64
    /// The maximum size of the line of JSON. A file with a longer one is damaged.
    private static let maxHeadBytes = 1 << 20
    /// The number of bytes that are copied at once.
    private static let pieceByteCount: Int64 = 1 << 20

    /// Reads where the archive of a program is.
    ///
    /// - Parameter name: The path for messages, if it is another one.
    /// - Throws: An error if the file cannot be read, or has only a part of an archive.
    package init(_ path: String, named name: String? = nil) throws(ArchiveError) {
        (self.path, self.name) = (path, name ?? path)
        var (count, end, libraries): (Int64, Int64?, [String]) = (0, nil, [])
        var (trailer, beginning): ([UInt8], [UInt8]) = ([], [])
        try ArchiveError.wrapping { () throws(SystemError) in
            let file = try File(path, O_RDONLY, doing: "read")
            count = Int64(file.byteCount ?? 0)
            let start = max(0, count - Int64(Self.trailerByteCount))
            trailer = try file.read(from: start, byteCount: Int(count - start))
            guard let program = try ELFFile(file) else { return }
            (end, libraries) = (program.byteCount, program.libraries)
            beginning = try file.read(from: program.byteCount, byteCount: Self.marker.count)
        }
        self.libraries = libraries
        archive = Self.archive(trailer, in: count)
        programByteCount = archive?.offset ?? min(end ?? count, count)
        // The program is followed by an archive, but not by a trailer.
        guard archive != nil || beginning != Self.marker else {
            throw damagedError("its end is missing")
        }
    }

    /// Parses the trailer of a file of `count` bytes. Returns nil if the bytes are not a trailer.
    private static func archive(_ trailer: [UInt8], in count: Int64) -> Archive? {
        guard trailer.count == trailerByteCount, trailer.starts(with: marker) else { return nil }
        func number(_ start: Int) -> Int64 {
            Int64(truncatingIfNeeded: trailer[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
        let (offset, size) = (number(16), number(24))
        guard offset > 0, size > 0, offset < count, size < count,
            offset + size + Int64(trailerByteCount) == count
        else { return nil }
        return Archive(offset: offset, byteCount: size, sha256: Array(trailer[32..<64]))
    }

    private func damagedError(_ reason: String) -> ArchiveError {
        ArchiveError(.machine, "\(name) is damaged: \(reason); copy the file again")
    }

    /// Whether the program contains a site.
    package var hasSite: Bool { archive != nil }

    // MARK: - Writing

    /// Writes the program with another archive in place of its own one.
    ///
    /// - Parameter warc: The path of the site's WARC.
    func write(_ site: Site, warc: String, to output: ArchiveOutput) throws(ArchiveError) {
        try Self.eachPiece(of: path, 0..<programByteCount) { (piece) throws(ArchiveError) in
            try output.write(piece)
        }
        let offset = output.byteCount
        var digest = DigestStream(.sha256)
        let members: JSONMembers = ["site": site.name, "start": site.start, "date": Int(site.date)]
        let head = Self.marker + Array((members.text(.compact) + "\n").utf8)
        digest.update(head.span)
        try output.write(head)
        let size = try ArchiveError.wrapping { () throws(SystemError) in
            Int64(try File(warc, O_RDONLY, doing: "read").byteCount ?? 0)
        }
        try Self.eachPiece(of: warc, 0..<size) { (piece) throws(ArchiveError) in
            digest.update(piece.span)
            try output.write(piece)
        }
        func bytes(_ number: Int64) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
        }
        let byteCount = output.byteCount - offset
        try output.write(Self.marker + bytes(offset) + bytes(byteCount) + digest.finish().bytes)
        try output.makeExecutable()
    }

    // MARK: - Reading

    /// Writes the WARC of the site to a file, and returns the site. Throws an error if the archive does not
    /// match its digest.
    package func unpack(to target: String) throws(ArchiveError) -> Site {
        guard let archive else {
            throw ArchiveError(.input, "\(name) contains no site; name a file that an export wrote")
        }
        let output = try ArchiveOutput(target)
        var digest = DigestStream(.sha256)
        // The bytes before the WARC until they are complete; nil after that.
        var head: [UInt8]? = []
        var site: Site?
        let range = archive.offset..<archive.offset + archive.byteCount
        try Self.eachPiece(of: path, range) { (piece) throws(ArchiveError) in
            digest.update(piece.span)
            guard let read = head.map({ $0 + piece }) else { return try output.write(piece) }
            guard let end = read.dropFirst(Self.marker.count).firstIndex(of: 0x0A) else {
                head = read.count < Self.maxHeadBytes ? read : nil
                return
            }
            site = Self.site(read[Self.marker.count..<end])
            head = nil
            try output.write(Array(read[(end + 1)...]))
        }
        guard digest.finish().bytes == archive.sha256, let site else {
            throw damagedError("its site does not match its digest")
        }
        _ = try output.finish()
        return site
    }

    /// Parses the line of JSON.
    private static func site(_ line: ArraySlice<UInt8>) -> Site? {
        guard let json = try? JSONValue.parse(Array(line).span), let name = json["site"]?.string,
            let date = json["date"]?.int
        else { return nil }
        return Site(name: name, start: (json["start"]?.array ?? []).compactMap(\.string), date: Int64(date))
    }

    /// Passes a part of a file in pieces to `take`.
    private static func eachPiece(
        of path: String, _ range: Range<Int64>, _ take: ([UInt8]) throws(ArchiveError) -> Void
    ) throws(ArchiveError) {
        let file = try ArchiveError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(pieceByteCount, range.upperBound - offset))
            let piece = try ArchiveError.wrapping { () throws(SystemError) in
                try file.read(from: offset, byteCount: count)
            }
            guard piece.count == count else {
                throw ArchiveError(.machine, "\(path) became shorter while it was read; try again")
            }
            try take(piece)
            offset += Int64(count)
        }
    }
}

/// Writes a site as a program that serves it. The records go to a temporary file first, because the trailer
/// contains their digest.
final class ProgramWriter: ArchiveWriter {
    private let program: ProgramFile
    private let site: ProgramFile.Site
    private let output: ArchiveOutput
    private let folder: ScratchFolder
    private let warc: WARCWriter

    /// - Parameters:
    ///   - program: The path of the `larder` command. A site in it is left out.
    init(_ path: String, _ program: String, _ info: ArchiveInfo, start: [String]) throws(ArchiveError) {
        self.program = try ProgramFile(program)
        site = ProgramFile.Site(name: info.site, start: start, date: info.date)
        output = try ArchiveOutput(path)
        folder = try ArchiveError.wrapping { () throws(SystemError) in
            try ScratchFolder(named: "larder-export")
        }
        warc = try WARCWriter("\(folder.path)/site.warc.gz", info)
    }

    var libraries: [String] { program.libraries }

    func write(_ response: ArchivedResponse) throws(ArchiveError) -> Bool { try warc.write(response) }

    func finish() throws(ArchiveError) -> [ArchiveFile] {
        for file in try warc.finish() { try program.write(site, warc: file.path, to: output) }
        return [try output.finish()]
    }

    /// Reads the archive back from the written file. Returns the result of `verify`, or false if the file has another
    /// site.
    func readBack(
        _ verify: (any ArchiveReader) throws(ArchiveError) -> Bool
    ) throws(ArchiveError) -> Bool {
        let path = "\(folder.path)/read.warc.gz"
        guard try ProgramFile(output.name).unpack(to: path) == site else { return false }
        return try verify(ArchiveFiles.reader(of: path, .measuredOnly, .own))
    }
}
