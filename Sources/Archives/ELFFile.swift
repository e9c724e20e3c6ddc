internal import Glibc
internal import System

/// The header of an executable file of Linux: the place where the file ends, at which appended data begins, and
/// the shared libraries that it needs.
struct ELFFile {
    /// The size in bytes without appended data.
    private(set) var byteCount: Int64
    /// The names of the libraries, in the order of the file.
    private(set) var libraries: [String] = []

    private static let maxSegments = 1000
    private static let maxTableBytes = 1 << 20
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
        var loaded: [(place: UInt64, address: UInt64, byteCount: UInt64)] = []
        var dynamic: [UInt8] = []
        for number in 0..<Int(count) {
            let start = number * Int(size)
            guard let kind = Self.number(table, start, 4), let place = Self.number(table, start + 8, 8),
                let address = Self.number(table, start + 16, 8),
                let length = Self.number(table, start + 32, 8),
                place < Self.maxFileBytes, length < Self.maxFileBytes
            else { return nil }
            byteCount = max(byteCount, Int64(place + length))
            if kind == 1 { loaded.append((place, address, length)) }
            if kind == 2 {
                let byteCount = Int(min(length, UInt64(Self.maxTableBytes)))
                dynamic = try file.read(from: Int64(place), byteCount: byteCount)
            }
        }
        var (names, texts, textSize): ([UInt64], UInt64, UInt64) = ([], 0, 0)
        for start in stride(from: 0, to: dynamic.count - 15, by: 16) {
            guard let tag = Self.number(dynamic, start, 8), let value = Self.number(dynamic, start + 8, 8)
            else { break }
            switch tag {
            case 1: names.append(value)
            case 5: texts = value
            case 10: textSize = value
            default: break
            }
        }
        let segment = loaded.first { texts >= $0.address && texts - $0.address < $0.byteCount }
        guard let segment, !names.isEmpty else { return }
        let bytes = try file.read(
            from: Int64(segment.place + (texts - segment.address)),
            byteCount: Int(min(textSize, 16 * UInt64(Self.maxTableBytes))))
        for name in names where name < UInt64(bytes.count) {
            libraries.append(String(decoding: bytes[Int(name)...].prefix { $0 != 0 }, as: UTF8.self))
        }
    }

    private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> UInt64? {
        guard start + count <= bytes.count else { return nil }
        return bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
