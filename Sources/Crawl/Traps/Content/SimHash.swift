/// A fingerprint of words that differs in few bits when few of the words differ.
struct SimHash: Sendable, Hashable {
    let bits: UInt64

    /// How many bits differ, of 64. Texts that have nothing in common differ in about 32.
    func distance(to other: SimHash) -> Int { (bits ^ other.bits).nonzeroBitCount }

    /// Counts for each bit in how many hashes it is set. It counts in bytes, eight bits at once, and carries over in
    /// time.
    struct Counter {
        private var small = SIMD8<UInt64>()
        private var inSmall = 0
        private var counts = [Int](repeating: 0, count: 64)
        private(set) var total = 0

        mutating func add(_ hash: UInt64) {
            for byte in 0..<8 {
                // Each bit of the byte comes to stand in a byte of its own.
                let spread = (hash >> UInt64(byte * 8) & 0xFF) &* 0x0101_0101_0101_0101 & 0x8040_2010_0804_0201
                small[byte] &+= (spread &+ 0x7F7F_7F7F_7F7F_7F7F) >> 7 & 0x0101_0101_0101_0101
            }
            inSmall += 1
            total += 1
            if inSmall == 255 { carry() }
        }

        private mutating func carry() {
            for bit in 0..<64 { counts[bit] += Int(small[bit / 8] >> UInt64(bit % 8 * 8) & 0xFF) }
            small = SIMD8()
            inSmall = 0
        }

        mutating func finish() -> SimHash {
            carry()
            var bits: UInt64 = 0
            for bit in 0..<64 where counts[bit] * 2 > total { bits |= 1 << UInt64(bit) }
            return SimHash(bits: bits)
        }
    }
}
