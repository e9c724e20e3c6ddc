import Testing

@testable import Digest

@Suite struct SigningKeyTests {
    @Test func `only the public key of the signer verifies a signature, and only of the signed bytes`() throws
    {
        let key = try #require(SigningKey())
        let bytes = Array("sha256:00".utf8)
        for _ in 0..<50 {
            let signature = try #require(key.sign(bytes))
            #expect(signature.count == 96)
            #expect(SigningKey.verify(signature, of: bytes, by: key.publicKey))
            var other = signature
            other[17] ^= 1
            #expect(!SigningKey.verify(other, of: bytes, by: key.publicKey))
            #expect(!SigningKey.verify(signature, of: bytes + [0], by: key.publicKey))
        }
        #expect(
            !SigningKey.verify(
                try #require(key.sign(bytes)), of: bytes, by: try #require(SigningKey()).publicKey))
        let restored = try #require(SigningKey(der: key.der))
        #expect(restored.publicKey == key.publicKey && SigningKey(der: [1, 2, 3]) == nil)
    }

    @Test(arguments: [
        [], [0], [UInt8](repeating: 0, count: 96), [UInt8](repeating: 255, count: 96),
        [UInt8](repeating: 1, count: 300),
    ])
    func `malformed signatures and public keys are rejected`(signature: [UInt8]) throws {
        let key = try #require(SigningKey())
        #expect(!SigningKey.verify(signature, of: [1], by: key.publicKey))
        #expect(!SigningKey.verify(signature, of: [1], by: signature))
    }

    @Test(
        arguments: [
            [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01], [0x30, 0x02, 0x02, 0x05], [0x31, 0x00],
            [0x30, 0x07, 0x02, 0x01, 0x01, 0x02, 0x01, 0x02, 0x00], [],
        ] as [[UInt8]])
    func `malformed DER has no numbers`(bytes: [UInt8]) {
        #expect(DERSignature.numbers(bytes, size: 48) == nil)
    }
}
