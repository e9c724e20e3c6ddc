internal import Glibc
internal import System
internal import Web

/// The directory of a zip file. Every number in it is checked against the file. No file is created under a
/// name from the archive.
struct ZipFile {
    struct Entry: Sendable {
        let name: String
        let isDeflated: Bool
        /// The range in the file. Nil if the entry is encrypted, or compressed with an unsupported method.
        let content: Range<Int64>?
        let byteCount: Int64
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

    private static let largestDirectory: Int64 = 256 << 20
    private static let mostEntries = 1_000_000

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
        guard let directory = try Self.directory(size, bytes) else {
            let beginning = try bytes(0, 4)
            if beginning == Array("PK\u{7}\u{8}".utf8) { throw Self.split(path) }
            let isOne = beginning.starts(with: Array("PK".utf8))
            throw ArchiveError(
                .input,
                isOne
                    ? "\(path) is not a complete zip file: its directory is missing; fetch it again, or unpack what is there with `7z x` and import the folder"
                    : "\(path) is not a zip file; give it the suffix of its format")
        }
        guard directory.isAlone else { throw Self.split(path) }
        let all = try bytes(directory.start, Int(directory.byteCount))
        guard all.count == Int(directory.byteCount) else {
            throw ArchiveError(
                .input, "\(path) is not a complete zip file: its directory is truncated; fetch it again")
        }
        var at = 0
        while at + 46 <= all.count, entries.count < Self.mostEntries {
            let record = LittleEndian(bytes: all, at: at)
            guard record.u32(0) == 0x0201_4B50 else { break }
            let (nameCount, extraCount, commentCount) = (record.u16(28), record.u16(30), record.u16(32))
            let next = at + 46 + nameCount + extraCount + commentCount
            guard next <= all.count else { break }
            let name = Self.name(all[(at + 46)..<(at + 46 + nameCount)], madeOn: record.u16(4) >> 8)
            var (packed, unpacked, start) = (
                Int64(record.u32(20)), Int64(record.u32(24)), Int64(record.u32(42))
            )
            record.readLarge(at + 46 + nameCount, extraCount, &unpacked, &packed, &start)
            at = next
            guard start >= 0, packed >= 0, unpacked >= 0, start < size else {
                tell("its position is outside the file", name)
                continue
            }
            let (method, isEncrypted) = (record.u16(10), record.u16(8) & 1 != 0)
            var content: Range<Int64>?
            var extra: Range<Int64> = 0..<0
            if method == 0 || method == 8, !isEncrypted {
                let head = try bytes(start, 30)
                let local = LittleEndian(bytes: head, at: 0)
                if head.count == 30, local.u32(0) == 0x0403_4B50 {
                    let from = start + 30 + Int64(local.u16(26) + local.u16(28))
                    if from <= size, packed <= size - from { content = from..<from + packed }
                    extra = from - Int64(local.u16(28))..<from
                }
                if content == nil { tell("its position is outside the file", name) }
            } else if isEncrypted {
                tell("it is encrypted: unpack the file with its password, and import the folder", name)
            } else {
                let way = Self.methods[method] ?? "method \(method)"
                tell(
                    "it is compressed with \(way), which is not supported: unpack the file with `7z x`, and import the folder",
                    name)
            }
            entries.append(
                Entry(
                    name: name, isDeflated: method == 8, content: content, byteCount: unpacked,
                    checksum: record.u32(16), modified: record.dosTime(12),
                    isLink: record.u16(4) >> 8 == 3 && record.u32(38) >> 28 == 0xA, extra: extra))
        }
        if entries.count != directory.count {
            faults.append(
                ArchiveFault("its directory has a different number of entries than declared", at: path))
        }
    }

    private mutating func tell(_ reason: String, _ name: String) {
        guard faults.count < ImportReport.mostFaults else { return }
        faults.append(ArchiveFault(reason, at: "\(path), \(name)"))
    }

    /// Names of compression methods (APPNOTE section 4.4.5).
    private static let methods = [
        1: "Shrink", 6: "Implode", 9: "Deflate64", 12: "bzip2", 14: "LZMA", 93: "Zstandard", 95: "XZ",
        98: "PPMd",
    ]

    private static func split(_ path: String) -> ArchiveError {
        ArchiveError(
            .input,
            "\(path) is one part of a split zip file: put them together, as zip and 7z do, and import that"
        )
    }

    /// Returns the name of an entry. Some tools for Windows and MS-DOS write backslashes, and names in any
    /// code page.
    private static func name(_ bytes: ArraySlice<UInt8>, madeOn system: Int) -> String {
        let isOfWindows = system == 0 || system == 10 || system == 11
        guard isOfWindows, bytes.contains(UInt8(ascii: "\\")) else { return FileName.text(bytes) }
        return FileName.text(bytes.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 })
    }

    /// Whether two entries share bytes, as in decompression bombs.
    var isOverlapping: Bool {
        let ranges = entries.compactMap(\.content).filter { !$0.isEmpty }.sorted {
            $0.lowerBound < $1.lowerBound
        }
        return zip(ranges, ranges.dropFirst()).contains { $0.overlaps($1) }
    }

    private static func directory(
        _ size: Int64, _ bytes: (Int64, Int) throws(ArchiveError) -> [UInt8]
    ) throws(ArchiveError) -> (start: Int64, byteCount: Int64, count: Int, isAlone: Bool)? {
        // A comment of up to 64 KiB may follow the end record.
        let tailStart = max(0, size - 65_557)
        let tail = try bytes(tailStart, Int(size - tailStart))
        guard tail.count >= 22 else { return nil }
        var place: Int?
        for at in stride(from: tail.count - 22, through: 0, by: -1)
        where tail[at] == 0x50 && tail[at + 1] == 0x4B && tail[at + 2] == 5 && tail[at + 3] == 6 {
            place = at
            break
        }
        guard let place else { return nil }
        let end = LittleEndian(bytes: tail, at: place)
        // The number of this part, and that of the part with the directory. All ones mean that the zip64
        // record has it.
        let isAlone = [4, 6].allSatisfy { end.u16($0) == 0 || end.u16($0) == 0xFFFF }
        guard isAlone else { return (0, 0, 0, false) }
        var (count, byteCount, start) = (end.u16(10), Int64(end.u32(12)), Int64(end.u32(16)))
        if place >= 20 {
            let locator = LittleEndian(bytes: tail, at: place - 20)
            let at = locator.u32(0) == 0x0706_4B50 ? locator.i64(8) : -1
            if at >= 0, at <= size - 56 {
                let head = try bytes(at, 56)
                let large = LittleEndian(bytes: head, at: 0)
                if head.count == 56, large.u32(0) == 0x0606_4B50 {
                    count = Int(clamping: large.i64(32))
                    (byteCount, start) = (large.i64(40), large.i64(48))
                }
            }
        }
        guard byteCount >= 0, start >= 0, byteCount <= largestDirectory, start <= size,
            byteCount <= size - start
        else {
            return nil
        }
        return (start, byteCount, count, true)
    }

    /// Returns an input for the decompressed bytes of an entry. Returns nil if it has no readable content.
    ///
    /// - Parameter form: The compression of the bytes. If it is nil, a stored entry is checked for gzip.
    func input(_ entry: Entry, as form: ArchiveInput.Form? = nil) throws(ArchiveError) -> ArchiveInput? {
        guard let content = entry.content else { return nil }
        return try ArchiveInput(
            path, part: content, name: "\(path), \(entry.name)",
            form: form ?? (entry.isDeflated ? .deflate : nil))
    }

    /// Returns the content of an entry. Returns nil if it is larger than `limit` or incomplete.
    func bytes(_ entry: Entry, atMost limit: Int) throws(ArchiveError) -> [UInt8]? {
        guard let content = entry.content else { return nil }
        let input = try ArchiveInput(
            path, part: content, name: entry.name, form: entry.isDeflated ? .deflate : .plain)
        var bytes: [UInt8] = []
        _ = try input.take(limit + 1) { (piece) throws(ArchiveError) in
            bytes.append(contentsOf: piece)
            return true
        }
        return bytes.count > limit || Int64(bytes.count) != entry.byteCount ? nil : bytes
    }
}

/// Little-endian numbers at offsets from `at`. A number outside the bytes is 0.
private struct LittleEndian {
    let bytes: [UInt8]
    let at: Int

    func u16(_ place: Int) -> Int { Int(value(at + place, 2)) }
    func u32(_ place: Int) -> UInt32 { UInt32(value(at + place, 4)) }
    func i64(_ place: Int) -> Int64 { Int64(truncatingIfNeeded: value(at + place, 8)) }

    private func value(_ start: Int, _ count: Int) -> UInt64 {
        guard start >= 0, start + count <= bytes.count else { return 0 }
        return (0..<count).reduce(0) { $0 | UInt64(bytes[start + $1]) << UInt64($1 * 8) }
    }

    /// Returns a time in MS-DOS format. It has no time zone and is read as UTC.
    func dosTime(_ place: Int) -> Int64 {
        let (time, date) = (u16(place), u16(place + 2))
        let digits = [
            (date >> 9) + 1980, date >> 5 & 15, date & 31, time >> 11, time >> 5 & 63, (time & 31) * 2,
        ].map {
            $0 < 10 ? "0\($0)" : "\($0)"
        }
        let text = "\(digits[0])-\(digits[1])-\(digits[2])T\(digits[3]):\(digits[4]):\(digits[5])Z"
        return HTTPDate(iso8601: text)?.secondsSinceEpoch ?? 0
    }

    /// Reads sizes and positions beyond 4 GiB from the zip64 extra field (section 4.5.3).
    func readLarge(
        _ start: Int, _ count: Int, _ size: inout Int64, _ packed: inout Int64, _ place: inout Int64
    ) {
        var at = start
        while at + 4 <= start + count {
            let (id, length) = (Int(value(at, 2)), Int(value(at + 2, 2)))
            guard at + 4 + length <= start + count else { return }
            if id == 1 {
                var next = at + 4
                func take(_ number: inout Int64) {
                    guard number == 0xFFFF_FFFF, next + 8 <= at + 4 + length else { return }
                    number = Int64(truncatingIfNeeded: value(next, 8))
                    next += 8
                }
                take(&size)
                take(&packed)
                take(&place)
            }
            at += 4 + length
        }
    }
}
