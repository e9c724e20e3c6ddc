internal import Codings
internal import Digest

/// Writes a zip file (APPNOTE 6.3) with stored or deflated entries of any size. A writer is used by one
/// thread.
///
/// At most one entry is open at a time. When it ends, its sizes and checksum are written to its local header,
/// because some readers do not use the directory.
final class ZipWriter {
    /// The name, digest and size of a written entry.
    struct Entry: Sendable {
        let name: String
        let sha256: Digest
        let byteCount: Int64
    }

    /// An entry that is being written.
    private struct OpenEntry {
        let name: [UInt8]
        let isDeflated: Bool
        /// Whether the local header has a zip64 field, since the sizes may not fit without it.
        let isZip64: Bool
        /// The offset of the local header.
        let start: Int64
        var checksum: UInt32 = 0
        var packedByteCount: Int64 = 0
        var byteCount: Int64 = 0
    }

    private let output: ArchiveOutput
    /// The directory records of the complete entries.
    private var directory: [UInt8] = []
    private var count = 0
    private var openEntry: OpenEntry?
    private var checksum = Checksum()
    private var digest: DigestStream?
    private var deflater: Deflater?
    /// Compresses whole entries in memory; nil if libdeflate is not installed.
    private let wholeDeflater = OneShotDeflater(.raw, level: level)
    /// The buffered bytes of the open entry. Nil if they are written immediately.
    private var buffered: [UInt8]?
    /// The time of all entries in MS-DOS format. It is the same for all, so that the same content gives the
    /// same file.
    private let time: (time: UInt16, date: UInt16)

    /// The default compression level of zlib.
    private static let level: Int32 = 6
    /// A larger entry is compressed by zlib while it is written.
    private static let maxBufferedBytes = 8 << 20

    init(_ output: ArchiveOutput, date: Int64) {
        self.output = output
        time = Self.dosTime(date)
    }

    /// Opens an entry.
    ///
    /// - Parameter byteCount: the size, if it is known. Below 2 GiB, the local header has no zip64 field, which the unpackers of
    ///   old versions of Android do not know.
    func begin(_ name: String, isDeflated: Bool, byteCount: Int? = nil) throws(ArchiveError) {
        precondition(openEntry == nil, "an entry of a zip file is open")
        if isDeflated, deflater == nil {
            guard let newDeflater = Deflater(.raw, level: Self.level) else {
                throw ArchiveError(.machine, "libz.so.1 (zlib) is not installed; install it")
            }
            deflater = newDeflater
        }
        let entry = OpenEntry(
            name: Array(name.utf8), isDeflated: isDeflated, isZip64: byteCount.map { $0 >= 1 << 31 } ?? true,
            start: output.byteCount)
        buffered = isDeflated && wholeDeflater != nil ? [] : nil
        if buffered == nil { try output.write(header(of: entry)) }
        openEntry = entry
        checksum = Checksum()
        digest = DigestStream(.sha256)
    }

    /// Appends bytes to the open entry.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        guard let entry = openEntry else { preconditionFailure("no entry of a zip file is open") }
        checksum.update(bytes)
        digest?.update(Span(_unsafeElements: bytes.assumingMemoryBound(to: UInt8.self)))
        openEntry?.byteCount += Int64(bytes.count)
        if let count = buffered?.count {
            guard count + bytes.count > Self.maxBufferedBytes, let first = buffered.take() else {
                buffered?.append(contentsOf: bytes)
                return
            }
            try output.write(header(of: entry))
            try first.withBytes { (bytes) throws(ArchiveError) in try writeContent(bytes, of: entry) }
        }
        try writeContent(bytes, of: entry)
    }

    /// Writes content to the output, compressed if the entry is deflated.
    private func writeContent(_ bytes: UnsafeRawBufferPointer, of entry: OpenEntry) throws(ArchiveError) {
        guard entry.isDeflated, let deflater else { return try output.write(bytes) }
        try deflater.compress(bytes) { (piece) throws(ArchiveError) in try output.write(piece) }
    }

    func write(_ bytes: [UInt8]) throws(ArchiveError) {
        try bytes.withBytes { (bytes) throws(ArchiveError) in try write(bytes) }
    }

    /// Completes the open entry.
    @discardableResult
    func end() throws(ArchiveError) -> Entry {
        guard var entry = openEntry, let sha256 = digest.take()?.finish() else {
            preconditionFailure("no entry of a zip file is open")
        }
        entry.checksum = checksum.value
        if let wholeDeflater, let bytes = buffered.take() {
            var packed: [UInt8] = []
            wholeDeflater.add(bytes, to: &packed)
            entry.packedByteCount = Int64(packed.count)
            try output.write(header(of: entry))
            try output.write(packed)
        } else {
            if entry.isDeflated {
                try deflater?.finish { (piece) throws(ArchiveError) in try output.write(piece) }
            }
            entry.packedByteCount = output.byteCount - entry.start - Int64(header(of: entry).count)
            try output.replace(header(of: entry), at: entry.start)
        }
        directory += directoryRecord(of: entry)
        count += 1
        openEntry = nil
        return Entry(
            name: String(decoding: entry.name, as: UTF8.self), sha256: sha256, byteCount: entry.byteCount)
    }

    /// Writes a whole entry.
    func add(_ name: String, _ bytes: [UInt8], isDeflated: Bool = false) throws(ArchiveError) -> Entry {
        try begin(name, isDeflated: isDeflated, byteCount: bytes.count)
        try write(bytes)
        return try end()
    }

    /// Writes the directory, with zip64 records for sizes above 4 GiB or more than 65,534 entries (section
    /// 4.3.14).
    func finish() throws(ArchiveError) {
        let start = output.byteCount
        try output.write(directory)
        let size = Int64(directory.count)
        var end = LittleEndianBytes()
        if count >= 0xFFFF || start >= 0xFFFF_FFFF || size >= 0xFFFF_FFFF {
            // The zip64 end record, and its locator.
            let zip64Start = output.byteCount
            end.add32(0x0606_4B50)
            end.add64(44)
            end.add16(45)
            end.add16(45)
            end.add32(0)
            end.add32(0)
            end.add64(Int64(count))
            end.add64(Int64(count))
            end.add64(size)
            end.add64(start)
            end.add32(0x0706_4B50)
            end.add32(0)
            end.add64(zip64Start)
            end.add32(1)
        }
        // The end record. Numbers that do not fit are all ones, and readers use the zip64 record.
        end.add32(0x0605_4B50)
        end.add16(0)
        end.add16(0)
        end.add16(UInt16(min(count, 0xFFFF)))
        end.add16(UInt16(min(count, 0xFFFF)))
        end.add32(UInt32(min(size, 0xFFFF_FFFF)))
        end.add32(UInt32(min(start, 0xFFFF_FFFF)))
        end.add16(0)
        try output.write(end.bytes)
    }

    // MARK: - Records

    /// Returns the local header, whose length does not depend on the sizes: it is written again when they are known.
    private func header(of entry: OpenEntry) -> [UInt8] {
        var bytes = LittleEndianBytes()
        bytes.add32(0x0403_4B50)
        addCommon(entry, isZip64: entry.isZip64, to: &bytes)
        guard entry.isZip64 else {
            bytes.add32(UInt32(truncatingIfNeeded: entry.packedByteCount))
            bytes.add32(UInt32(truncatingIfNeeded: entry.byteCount))
            bytes.add16(UInt16(entry.name.count))
            bytes.add16(0)
            return bytes.bytes + entry.name
        }
        // Sizes that are all ones are in the zip64 field.
        bytes.add32(0xFFFF_FFFF)
        bytes.add32(0xFFFF_FFFF)
        bytes.add16(UInt16(entry.name.count))
        bytes.add16(20)
        bytes.bytes += entry.name
        bytes.add16(1)
        bytes.add16(16)
        bytes.add64(entry.byteCount)
        bytes.add64(entry.packedByteCount)
        return bytes.bytes
    }

    /// Appends version, flags, method, time and checksum. The flags say that names are UTF-8.
    private func addCommon(_ entry: OpenEntry, isZip64: Bool, to bytes: inout LittleEndianBytes) {
        bytes.add16(isZip64 ? 45 : 20)
        bytes.add16(1 << 11)
        bytes.add16(entry.isDeflated ? 8 : 0)
        bytes.add16(time.time)
        bytes.add16(time.date)
        bytes.add32(entry.checksum)
    }

    /// Returns the record of an entry in the central directory.
    private func directoryRecord(of entry: OpenEntry) -> [UInt8] {
        var bytes = LittleEndianBytes()
        bytes.add32(0x0201_4B50)
        // The entry was made on Unix.
        bytes.add16(3 << 8 | 45)
        let isLarge =
            entry.byteCount >= 0xFFFF_FFFF || entry.packedByteCount >= 0xFFFF_FFFF
            || entry.start >= 0xFFFF_FFFF
        addCommon(entry, isZip64: isLarge, to: &bytes)
        bytes.add32(isLarge ? 0xFFFF_FFFF : UInt32(entry.packedByteCount))
        bytes.add32(isLarge ? 0xFFFF_FFFF : UInt32(entry.byteCount))
        bytes.add16(UInt16(entry.name.count))
        bytes.add16(isLarge ? 28 : 0)
        bytes.add16(0)
        bytes.add16(0)
        bytes.add16(0)
        // The Unix mode: a regular file that all users can read.
        bytes.add32(0o100644 << 16)
        bytes.add32(isLarge ? 0xFFFF_FFFF : UInt32(entry.start))
        bytes.bytes += entry.name
        if isLarge {
            bytes.add16(1)
            bytes.add16(24)
            bytes.add64(entry.byteCount)
            bytes.add64(entry.packedByteCount)
            bytes.add64(entry.start)
        }
        return bytes.bytes
    }

    private struct LittleEndianBytes {
        var bytes: [UInt8] = []

        mutating func add16(_ value: UInt16) { bytes += [UInt8(value & 0xFF), UInt8(value >> 8)] }
        mutating func add32(_ value: UInt32) {
            add16(UInt16(value & 0xFFFF))
            add16(UInt16(value >> 16))
        }
        mutating func add64(_ value: Int64) {
            add32(UInt32(truncatingIfNeeded: value))
            add32(UInt32(truncatingIfNeeded: value >> 32))
        }
    }

    /// Returns the time in MS-DOS format, which begins in 1980 and has steps of two seconds.
    private static func dosTime(_ seconds: Int64) -> (time: UInt16, date: UInt16) {
        let days = seconds / 86_400
        // The calendar date of a day number, computed in eras of 400 years.
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let part = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * part + 2) / 5 + 1
        let month = part < 10 ? part + 3 : part - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        guard (1980...2107).contains(year) else { return (0, 1 << 5 | 1) }
        let clock = seconds % 86_400
        return (
            UInt16(clock / 3600 << 11 | clock / 60 % 60 << 5 | clock % 60 / 2),
            UInt16((year - 1980) << 9 | month << 5 | day)
        )
    }
}
