/// Spreads numbers over all 64 bits, the same way in every run, where Swift's `Hasher` has a seed of its own in each.
enum Mixing {
    /// A permutation in which every bit of the number moves half of the bits.
    static func mix(_ number: UInt64) -> UInt64 {
        var value = number &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    static func mix(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var value: UInt64 = 0
        var word: UInt64 = 0
        var count: UInt64 = 0
        for byte in bytes {
            word = word << 8 | UInt64(byte)
            count += 1
            guard count % 8 == 0 else { continue }
            value = mix(value ^ word)
            word = 0
        }
        return mix(value ^ word) ^ count
    }
}
