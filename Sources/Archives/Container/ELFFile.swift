internal import Glibc
internal import System

/// The header of an executable file of Linux: its size without data that was appended to it, and the shared libraries
/// that it needs.
///
/// The file ends after its last segment or its table of sections, whichever comes later. The names of the libraries are
/// in the dynamic segment, which refers to a table of strings by its address in memory.
struct ELFFile {
    /// The size in bytes without appended data.
    private(set) var byteCount: Int64
    /// The names of the libraries, in the order of the file.
    private(set) var libraries: [String] = []

    /// A file with more segments is not read.
    private static let maxSegments = 1000
    /// The maximum size of the dynamic segment. The rest of a larger one is ignored.
    private static let maxTableBytes = 1 << 20
    /// A file with larger offsets is not read, so that sums of offsets do not overflow.
    private static let maxFileBytes: UInt64 = 1 << 40

    /// Returns nil if the file is not an executable of 64 bits in little endian.
    init?(_ file: borrowing File) throws(SystemError) {
        let head = try file.read(from: 0, byteCount: 64)
        guard head.count == 64, head.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]),
            let sections = Self.number(head, 40, 8), let sectionSize = Self.number(head, 58, 2),
            let sectionCount = Self.number(head, 60, 2), let segments = Self.number(head, 32, 8),
            let size = Self.number(head, 54, 2), let count = Self.number(head, 56, 2),
            sections < Self.maxFileBytes, segments < Self.maxFileBytes, size >= 56, count <= Self.maxSegments
        else { return nil }
        byteCount = Int64(sections + sectionSize * sectionCount)
        let table = try file.read(from: Int64(segments), byteCount: Int(size * count))
        // The segments that are loaded into memory.
        var loaded: [(offset: UInt64, address: UInt64, byteCount: UInt64)] = []
        var dynamic: [UInt8] = []
        for number in 0..<Int(count) {
            let start = number * Int(size)
            guard let kind = Self.number(table, start, 4), let offset = Self.number(table, start + 8, 8),
                let address = Self.number(table, start + 16, 8),
                let length = Self.number(table, start + 32, 8),
                offset < Self.maxFileBytes, length < Self.maxFileBytes
            else { return nil }
            byteCount = max(byteCount, Int64(offset + length))
            // PT_LOAD
            if kind == 1 { loaded.append((offset, address, length)) }
            // PT_DYNAMIC
            if kind == 2 {
                let byteCount = Int(min(length, UInt64(Self.maxTableBytes)))
                dynamic = try file.read(from: Int64(offset), byteCount: byteCount)
            }
        }
        // The offsets of the names in the string table, and the address and size of that table.
        var (names, stringTable, stringTableBytes): ([UInt64], UInt64, UInt64) = ([], 0, 0)
        for start in stride(from: 0, to: dynamic.count - 15, by: 16) {
            guard let tag = Self.number(dynamic, start, 8), let value = Self.number(dynamic, start + 8, 8)
            else { break }
            switch tag {
            case 1: names.append(value)  // DT_NEEDED
            case 5: stringTable = value  // DT_STRTAB
            case 10: stringTableBytes = value  // DT_STRSZ
            default: break
            }
        }
        let segment = loaded.first {
            stringTable >= $0.address && stringTable - $0.address < $0.byteCount
        }
        guard let segment, !names.isEmpty else { return }
        let bytes = try file.read(
            from: Int64(segment.offset + (stringTable - segment.address)),
            byteCount: Int(min(stringTableBytes, 16 * UInt64(Self.maxTableBytes))))
        for name in names where name < UInt64(bytes.count) {
            libraries.append(String(decoding: bytes[Int(name)...].prefix { $0 != 0 }, as: UTF8.self))
        }
    }

    /// Returns a little-endian number, or nil if it is outside the bytes.
    private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt64? {
        guard start + count <= bytes.count else { return nil }
        return bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
