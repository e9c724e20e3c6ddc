/// Undoes gzip (RFC 1952): for files that are compressed in themselves, such as `sitemap.xml.gz`. What is compressed for the
/// transfer alone is libcurl's.
package enum Gzip {
    package static func isGzip(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B
    }

    /// The content of all members; nil for what is no gzip, is damaged or cut short, or becomes longer than the limit.
    package static func inflate(_ bytes: Span<UInt8>, limit: Int) -> [UInt8]? {
        bytes.withUnsafeBufferPointer { inflate($0, limit: limit) }
    }

    private static func inflate(_ bytes: UnsafeBufferPointer<UInt8>, limit: Int) -> [UInt8]? {
        var output: [UInt8] = []
        var place = 0
        repeat {
            guard let start = bodyStart(bytes, from: place) else { return nil }
            let memberStart = output.count
            var inflater = Inflater(UnsafeBufferPointer(rebasing: bytes[start...]), limit: limit)
            guard inflater.run(into: &output) else { return nil }
            place = start + inflater.consumed
            guard place + 8 <= bytes.count,
                word(bytes, place) == CRC32.sum(of: output.span.extracting(memberStart..<output.count)),
                word(bytes, place + 4) == UInt32(truncatingIfNeeded: output.count - memberStart)
            else { return nil }
            place += 8
            // Some writers pad the file with zeros.
        } while place + 2 <= bytes.count && bytes[place] == 0x1F && bytes[place + 1] == 0x8B
        return output
    }

    /// Where the compressed data begins, behind the member's header.
    private static func bodyStart(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start + 10 <= bytes.count, bytes[start] == 0x1F, bytes[start + 1] == 0x8B, bytes[start + 2] == 8 else {
            return nil
        }
        let flags = bytes[start + 3]
        var place = start + 10
        if flags & 4 != 0 {
            guard place + 2 <= bytes.count else { return nil }
            place += 2 + Int(bytes[place]) + Int(bytes[place + 1]) << 8
        }
        for text in [8, 16] as [UInt8] where flags & text != 0 {
            while place < bytes.count, bytes[place] != 0 { place += 1 }
            place += 1
        }
        if flags & 2 != 0 { place += 2 }
        return place <= bytes.count ? place : nil
    }

    private static func word(_ bytes: UnsafeBufferPointer<UInt8>, _ place: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[place + $1]) << (8 * UInt32($1)) }
    }
}

/// The check sum of gzip (RFC 1952, section 8).
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }

    static func sum(of bytes: Span<UInt8>) -> UInt32 {
        var sum: UInt32 = 0xFFFF_FFFF
        let table = table
        bytes.withUnsafeBufferPointer { bytes in
            for byte in bytes { sum = sum >> 8 ^ table[Int(truncatingIfNeeded: sum & 0xFF) ^ Int(byte)] }
        }
        return ~sum
    }
}
