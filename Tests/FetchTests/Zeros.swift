/// Zeros in a content coding, encoded without a library.
enum Zeros {
    /// Frames of RFC 8878 whose every block of 128 KiB is one byte to repeat.
    static func zstd(blocks: Int) -> [UInt8] {
        // No checksum and no size; a window of 128 KiB.
        var bytes: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 7 << 3]
        for block in 1...blocks {
            let header = (block == blocks ? 1 : 0) | 1 << 1 | (128 * 1024) << 3
            bytes += [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16), 0]
        }
        return bytes
    }

    static func gzipByteCount(matches: Int) -> Int { 1 + 258 * matches }

    /// One block of RFC 1951 with its fixed codes: a zero, and `matches` copies of 258 bytes from one byte
    /// before.
    static func gzip(matches: Int) -> [UInt8] {
        var writer = BitWriter(bytes: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF])
        writer.write(0b011, count: 3)
        writer.write(huffman: 0b0011_0000, count: 8)
        for _ in 0..<matches {
            writer.write(huffman: 0b1100_0101, count: 8)
            writer.write(huffman: 0, count: 5)
        }
        writer.write(huffman: 0, count: 7)
        writer.flush()
        let count = gzipByteCount(matches: matches)
        var sum = UInt32.max
        for _ in 0..<count {
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        for value in [~sum, UInt32(count)] {
            for shift in stride(from: UInt32(0), to: 32, by: 8) {
                writer.bytes.append(UInt8(truncatingIfNeeded: value >> shift))
            }
        }
        return writer.bytes
    }

    private struct BitWriter {
        var bytes: [UInt8]
        private var pending: UInt32 = 0
        private var pendingCount: UInt32 = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// The lowest bit first.
        mutating func write(_ bits: UInt32, count: UInt32) {
            pending |= bits << pendingCount
            pendingCount += count
            while pendingCount >= 8 {
                bytes.append(UInt8(truncatingIfNeeded: pending))
                pending >>= 8
                pendingCount -= 8
            }
        }

        /// The highest bit first.
        mutating func write(huffman code: UInt32, count: UInt32) {
            for shift in (0..<count).reversed() { write(code >> shift & 1, count: 1) }
        }

        mutating func flush() {
            while pendingCount > 0 { write(0, count: 1) }
        }
    }
}
