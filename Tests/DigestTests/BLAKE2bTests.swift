import Testing
import Web

@testable import Digest

@Suite struct BLAKE2bTests {
    /// The expected hashes come from hashlib.blake2b of Python.
    @Test(
        arguments: [
            ([], "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"),
            (Array("abc".utf8), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
            (Array(0..<200), "63c3d97a9f8894d5e043a707b0fee7f7ec4c049a23bbf1079df20b4165f9e22d"),
        ] as [([UInt8], String)])
    func `a hash of 32 bytes equals that of Python`(bytes: [UInt8], expected: String) {
        #expect(Hex.encode(BLAKE2b.hash(bytes, byteCount: 32)) == expected)
    }

    /// Lengths around multiples of a block, which has 128 bytes.
    @Test(arguments: [0, 1, 127, 128, 129, 255, 256, 257, 1000])
    func `a hash of 64 bytes equals that of OpenSSL`(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(BLAKE2b.hash(bytes, byteCount: 64) == BLAKE2b.hash512(bytes))
    }
}
