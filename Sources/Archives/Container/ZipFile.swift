internal import Glibc
internal import System
internal import Web

/// The central directory of a zip file (APPNOTE 6.3). Every number in it is checked against the file. No file is
/// created under a name from the archive.
struct ZipFile {
    struct Entry: Sendable {
        let name: String
        let isDeflated: Bool
        /// The range in the file. Nil if the entry is encrypted, compressed with an unsupported method, or outside
        /// the file.
        let content: Range<Int64>?
        /// The size of the decompressed content, as the directory states it.
        let byteCount: Int64
        /// The CRC-32 of the decompressed content.
        let checksum: UInt32
        /// Seconds since 1970.
        let modified: Int64
        /// Whether the entry is a symbolic link, as in zip files from Unix.
        let isLink: Bool
        /// The range of the extra field in the local header, where HTTrack stores response headers.
        let extra: Range<Int64>
    }

    let path: String
    private(set) var entries: [Entry] = []
    /// Problems with single entries.
    private(set) var faults: [ArchiveFault] = []

    /// A file with a larger directory is treated as one without a directory.
    private static let maxDirectoryBytes: Int64 = 256 << 20
    /// Further entries are not read, and a fault says that the number of entries is wrong.
    private static let maxEntries = 1_000_000

    /// Reads the directory, and the local header of each entry, which alone says where the content begins. Throws if
    /// there is no directory.
    init(_ path: String) throws(ArchiveError) {
        self.path = path
        let file = try ArchiveError.wrapping { () throws(SystemError) in
            try File(path, O_RDONLY, doing: "read")
        }
        let size = Int64(file.byteCount ?? 0)
        func bytes(_ start: Int64, _ count: Int) throws(ArchiveError) -> [UInt8] {
            try ArchiveError.wrapping { () throws(SystemError) in try file.read(from: start, byteCount: count)
            }
        }
        let (records, entryCount) = try Self.readDirectory(of: path, size, bytes)
        try addEntries(records, size, bytes)
        if entries.count != entryCount {
            faults.append(
                ArchiveFault("its directory has a different number of entries than declared", at: path))
        }
    }

    /// Reads bytes of the file: at an offset, and as many.
    private typealias Read = (Int64, Int) throws(ArchiveError) -> [UInt8]

    /// Returns the records of the directory, and the number of entries that it declares. Throws if the file is not a
    /// complete zip file.
    private static func readDirectory(
        of path: String, _ size: Int64, _ bytes: Read
    ) throws(ArchiveError) -> (records: [UInt8], entryCount: Int) {
        guard let directory = try findDirectory(size, bytes) else {
            let beginning = try bytes(0, 4)
            if beginning == Array("PK\u{7}\u{8}".utf8) { throw splitFileError(path) }
            let isZip = beginning.starts(with: Array("PK".utf8))
            throw ArchiveError(
                .input,
                isZip
                    ? "\(path) is not a complete zip file: its directory is missing; fetch it again, or unpack its files with `7z x` and import the folder"
                    : "\(path) is not a zip file; give it the suffix of its format")
        }
        guard directory.isSingleFile else { throw splitFileError(path) }
        let records = try bytes(directory.start, Int(directory.byteCount))
        guard records.count == Int(directory.byteCount) else {
            throw ArchiveError(
                .input, "\(path) is not a complete zip file: its directory is truncated; fetch it again")
        }
        return (records, directory.count)
    }

    /// Adds the entries of the directory. Faulty ones are reported.
    private mutating func addEntries(_ records: [UInt8], _ size: Int64, _ bytes: Read) throws(ArchiveError) {
        var offset = 0
        while offset + 46 <= records.count, entries.count < Self.maxEntries {
            let record = LittleEndianReader(bytes: records, start: offset)
            guard record.u32(0) == 0x0201_4B50 else { break }
            let (nameCount, extraCount, commentCount) = (record.u16(28), record.u16(30), record.u16(32))
            let next = offset + 46 + nameCount + extraCount + commentCount
            guard next <= records.count else { break }
            let name = Self.name(
                records[(offset + 46)..<(offset + 46 + nameCount)], madeOn: record.u16(4) >> 8)
            var (packed, unpacked, start) = (
                Int64(record.u32(20)), Int64(record.u32(24)), Int64(record.u32(42))
            )
            record.readZip64(offset + 46 + nameCount, extraCount, &unpacked, &packed, &start)
            offset = next
            guard start >= 0, packed >= 0, unpacked >= 0, start < size else {
                addFault("its position is outside the file", name)
                continue
            }
            let (content, extra) = try locateContent(of: record, at: start, packed, name, size, bytes)
            entries.append(
                Entry(
                    name: name, isDeflated: record.u16(10) == 8, content: content, byteCount: unpacked,
                    checksum: record.u32(16), modified: record.dosTime(12),
                    isLink: record.u16(4) >> 8 == 3 && record.u32(38) >> 28 == 0xA, extra: extra))
        }
    }

    /// Returns the ranges of an entry's content and of its extra field, from its local header at `start`. The content is
    /// nil, with a fault, if it is outside the file, encrypted, or compressed with a method other than deflate.
    private mutating func locateContent(
        of record: LittleEndianReader, at start: Int64, _ packed: Int64, _ name: String, _ size: Int64,
        _ bytes: Read
    ) throws(ArchiveError) -> (content: Range<Int64>?, extra: Range<Int64>) {
        let (method, isEncrypted) = (record.u16(10), record.u16(8) & 1 != 0)
        var content: Range<Int64>?
        var extra: Range<Int64> = 0..<0
        if method == 0 || method == 8, !isEncrypted {
            let headerBytes = try bytes(start, 30)
            let header = LittleEndianReader(bytes: headerBytes, start: 0)
            if headerBytes.count == 30, header.u32(0) == 0x0403_4B50 {
                let contentStart = start + 30 + Int64(header.u16(26) + header.u16(28))
                if contentStart <= size, packed <= size - contentStart {
                    content = contentStart..<contentStart + packed
                }
                extra = contentStart - Int64(header.u16(28))..<contentStart
            }
            if content == nil { addFault("its position is outside the file", name) }
        } else if isEncrypted {
            addFault("it is encrypted: unpack the file with its password, and import the folder", name)
        } else {
            let methodName = Self.methods[method] ?? "method \(method)"
            addFault(
                "it is compressed with \(methodName), which is not supported: unpack the file with `7z x`, and import the folder",
                name)
        }
        return (content, extra)
    }

    private mutating func addFault(_ reason: String, _ name: String) {
        guard faults.count < ImportReport.maxReportedFaults else { return }
        faults.append(ArchiveFault(reason, at: "\(path), \(name)"))
    }

    /// Names of compression methods (APPNOTE section 4.4.5).
    private static let methods = [
        1: "Shrink", 6: "Implode", 9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "XZ",
        98: "PPMd",
    ]

    /// The error for a file that is one of several parts.
    private static func splitFileError(_ path: String) -> ArchiveError {
        ArchiveError(
            .input,
            "\(path) is one part of a split zip file: put them together, as zip and 7z do, and import that"
        )
    }

    /// Returns the name of an entry. Some tools for Windows and MS-DOS write backslashes, and names in any
    /// code page.
    private static func name(_ bytes: ArraySlice<UInt8>, madeOn system: Int) -> String {
        let isFromWindows = system == 0 || system == 10 || system == 11
        guard isFromWindows, bytes.contains(UInt8(ascii: "\\")) else { return FileName.text(bytes) }
        return FileName.text(bytes.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 })
    }

    /// Whether two entries share bytes, as in decompression bombs.
    var isOverlapping: Bool {
        let ranges = entries.compactMap(\.content).filter { !$0.isEmpty }.sorted {
            $0.lowerBound < $1.lowerBound
        }
        return zip(ranges, ranges.dropFirst()).contains { $0.overlaps($1) }
    }

    /// Finds the directory by the end record, which is at the end of the file and may be followed by a comment. Returns
    /// nil if there is none.
    ///
    /// - Parameter bytes: Reads a number of bytes from an offset. It returns fewer bytes at the end of the file.
    private static func findDirectory(
        _ size: Int64, _ bytes: (Int64, Int) throws(ArchiveError) -> [UInt8]
    ) throws(ArchiveError) -> (start: Int64, byteCount: Int64, count: Int, isSingleFile: Bool)? {
        // A comment of up to 64 KiB may follow the end record.
        let tailStart = max(0, size - 65_557)
        let tail = try bytes(tailStart, Int(size - tailStart))
        guard tail.count >= 22 else { return nil }
        var endStart: Int?
        for start in stride(from: tail.count - 22, through: 0, by: -1)
        where tail[start] == 0x50 && tail[start + 1] == 0x4B && tail[start + 2] == 5 && tail[start + 3] == 6 {
            endStart = start
            break
        }
        guard let endStart else { return nil }
        let end = LittleEndianReader(bytes: tail, start: endStart)
        // The number of this part, and that of the part with the directory. All ones mean that the zip64
        // record has it.
        let isSingleFile = [4, 6].allSatisfy { end.u16($0) == 0 || end.u16($0) == 0xFFFF }
        guard isSingleFile else { return (0, 0, 0, false) }
        var (count, byteCount, start) = (end.u16(10), Int64(end.u32(12)), Int64(end.u32(16)))
        // The zip64 locator, if there is one, precedes the end record and points to the zip64 end record.
        if endStart >= 20 {
            let locator = LittleEndianReader(bytes: tail, start: endStart - 20)
            let zip64Start = locator.u32(0) == 0x0706_4B50 ? locator.i64(8) : -1
            if zip64Start >= 0, zip64Start <= size - 56 {
                let zip64Bytes = try bytes(zip64Start, 56)
                let zip64 = LittleEndianReader(bytes: zip64Bytes, start: 0)
                if zip64Bytes.count == 56, zip64.u32(0) == 0x0606_4B50 {
                    count = Int(clamping: zip64.i64(32))
                    (byteCount, start) = (zip64.i64(40), zip64.i64(48))
                }
            }
        }
        guard byteCount >= 0, start >= 0, byteCount <= maxDirectoryBytes, start <= size,
            byteCount <= size - start
        else {
            return nil
        }
        return (start, byteCount, count, true)
    }

    /// Returns an input for the decompressed bytes of an entry. Returns nil if it has no readable content.
    ///
    /// - Parameter compression: The compression of the bytes. If it is nil, a stored entry is checked for gzip.
    func input(_ entry: Entry, as compression: ArchiveInput.Compression? = nil) throws(ArchiveError)
        -> ArchiveInput?
    {
        guard let content = entry.content else { return nil }
        return try ArchiveInput(
            path, part: content, name: "\(path), \(entry.name)",
            compression: compression ?? (entry.isDeflated ? .deflate : nil))
    }

    /// Returns the content of an entry. Returns nil if it is larger than `limit` or incomplete.
    func bytes(_ entry: Entry, atMost limit: Int) throws(ArchiveError) -> [UInt8]? {
        guard let content = entry.content else { return nil }
        let input = try ArchiveInput(
            path, part: content, name: entry.name, compression: entry.isDeflated ? .deflate : .plain)
        var bytes: [UInt8] = []
        _ = try input.take(limit + 1) { (piece) throws(ArchiveError) in
            bytes.append(contentsOf: piece)
            return true
        }
        return bytes.count > limit || Int64(bytes.count) != entry.byteCount ? nil : bytes
    }
}

/// Reads little-endian numbers at offsets from `start`. A number outside the bytes is 0.
private struct LittleEndianReader {
    let bytes: [UInt8]
    let start: Int

    func u16(_ offset: Int) -> Int { Int(value(start + offset, 2)) }
    func u32(_ offset: Int) -> UInt32 { UInt32(value(start + offset, 4)) }
    func i64(_ offset: Int) -> Int64 { Int64(truncatingIfNeeded: value(start + offset, 8)) }

    private func value(_ start: Int, _ count: Int) -> UInt64 {
        guard start >= 0, start + count <= bytes.count else { return 0 }
        return (0..<count).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64($1 * 8) }
    }

    /// Returns a time in MS-DOS format, in seconds since 1970. It has no time zone and is read as UTC.
    func dosTime(_ offset: Int) -> Int64 {
        let (time, date) = (u16(offset), u16(offset + 2))
        let digits = [
            (date >> 9) + 1980, date >> 5 & 15, date & 31, time >> 11, time >> 5 & 63, (time & 31) * 2,
        ].map {
            $0 < 10 ? "0\($0)" : "\($0)"
        }
        let text = "\(digits[0])-\(digits[1])-\(digits[2])T\(digits[3]):\(digits[4]):\(digits[5])Z"
        return HTTPDate(iso8601: text)?.secondsSinceEpoch ?? 0
    }

    /// Reads sizes and positions beyond 4 GiB from the zip64 extra field (section 4.5.3). The field has only those
    /// numbers that are all ones in the record, in this order.
    func readZip64(
        _ extraStart: Int, _ extraCount: Int, _ size: inout Int64, _ packed: inout Int64,
        _ position: inout Int64
    ) {
        var field = extraStart
        while field + 4 <= extraStart + extraCount {
            let (id, length) = (Int(value(field, 2)), Int(value(field + 2, 2)))
            guard field + 4 + length <= extraStart + extraCount else { return }
            if id == 1 {
                var next = field + 4
                func readIfNeeded(_ number: inout Int64) {
                    guard number == 0xFFFF_FFFF, next + 8 <= field + 4 + length else { return }
                    number = Int64(truncatingIfNeeded: value(next, 8))
                    next += 8
                }
                readIfNeeded(&size)
                readIfNeeded(&packed)
                readIfNeeded(&position)
            }
            field += 4 + length
        }
    }
}
