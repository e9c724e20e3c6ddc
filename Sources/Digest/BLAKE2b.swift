internal import COpenSSL

/// The hash function BLAKE2b (RFC 7693) without a key, for minisign's keys and signatures.
enum BLAKE2b {
    /// Returns the hash with 64 bytes.
    static func hash512(_ bytes: [UInt8]) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 64)
        var count: UInt32 = 0
        let result = EVP_Digest(bytes, bytes.count, &hash, &count, EVP_blake2b512(), nil)
        precondition(result == 1 && count == 64, "libcrypto has no BLAKE2b-512, or no memory is left")
        return hash
    }

    /// Returns the hash with `byteCount` bytes, from 1 to 64.
    ///
    /// A shorter hash is not the beginning of the longest one, and OpenSSL has other lengths only from version 3.2 on. This
    /// function is slower than OpenSSL's and hashes nothing but the 74 bytes of a key.
    static func hash(_ bytes: [UInt8], byteCount: Int) -> [UInt8] {
        var state = initialWords
        // RFC 7693 2.5: the parameter block names the length, no key, and the depth of 1 of a plain hash.
        state[0] ^= 0x0101_0000 | UInt64(byteCount)
        var start = 0
        repeat {
            let end = min(start + blockBytes, bytes.count)
            compress(&state, bytes[start..<end], end: UInt64(end), isLast: end == bytes.count)
            start = end
        } while start < bytes.count
        let hash = state.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } }
        return Array(hash.prefix(byteCount))
    }

    private static let blockBytes = 128

    /// Mixes a block into the state (RFC 7693, section 3.2). A block that is too short is padded with zeros.
    ///
    /// - Parameter end: the number of bytes up to the end of the block.
    private static func compress(
        _ state: inout [UInt64], _ block: ArraySlice<UInt8>, end: UInt64, isLast: Bool
    ) {
        var words = [UInt64](repeating: 0, count: 16)
        for (index, byte) in block.enumerated() { words[index / 8] |= UInt64(byte) << (index % 8 * 8) }
        var mixed = state + initialWords
        mixed[12] ^= end
        if isLast { mixed[14] = ~mixed[14] }
        for round in 0..<12 {
            let order = wordOrders[round % wordOrders.count]
            for (step, lane) in lanes.enumerated() {
                mix(&mixed, lane, words[order[step * 2]], words[order[step * 2 + 1]])
            }
        }
        for index in 0..<8 { state[index] ^= mixed[index] ^ mixed[index + 8] }
    }

    /// The function G of RFC 7693, section 3.1.
    private static func mix(_ state: inout [UInt64], _ lane: [Int], _ first: UInt64, _ second: UInt64) {
        let (a, b, c, d) = (lane[0], lane[1], lane[2], lane[3])
        state[a] = state[a] &+ state[b] &+ first
        state[d] = rotateRight(state[d] ^ state[a], by: 32)
        state[c] = state[c] &+ state[d]
        state[b] = rotateRight(state[b] ^ state[c], by: 24)
        state[a] = state[a] &+ state[b] &+ second
        state[d] = rotateRight(state[d] ^ state[a], by: 16)
        state[c] = state[c] &+ state[d]
        state[b] = rotateRight(state[b] ^ state[c], by: 63)
    }

    private static func rotateRight(_ word: UInt64, by bits: UInt64) -> UInt64 {
        word >> bits | word << (64 - bits)
    }

    /// The words of the state that each of the eight steps of a round mixes: the columns, then the diagonals.
    private static let lanes = [
        [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15],
        [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
    ]

    /// The initialization vector of RFC 7693, section 2.6.
    private static let initialWords: [UInt64] = [
        0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
        0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179,
    ]

    /// The order in which each round uses the words of the block (RFC 7693, section 2.7).
    private static let wordOrders = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ]
}
