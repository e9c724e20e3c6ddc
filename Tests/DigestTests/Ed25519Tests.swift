import Testing
import Web

@testable import Digest

@Suite struct Ed25519Tests {
    /// A test vector of RFC 8032, section 7.1, in hexadecimal digits.
    struct Vector: Sendable {
        let seed: String
        let publicKey: String
        let message: String
        let signature: String
    }

    static let vectors = [
        Vector(
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"),
        Vector(
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", message: "72",
            signature:
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                + "387b2eaeb4302aeeb00d291612bb0c00"),
        Vector(
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", message: "af82",
            signature:
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a"),
    ]

    @Test(arguments: vectors)
    func `the test vectors of RFC 8032 are signed and verified`(vector: Vector) throws {
        let (message, signature) = (
            try #require(Hex.decode(vector.message)), try #require(Hex.decode(vector.signature))
        )
        let seed = try #require(Hex.decode(vector.seed))
        let key = try #require(Ed25519PrivateKey(seed: seed))
        #expect(Hex.encode(key.publicKey.bytes) == vector.publicKey && key.seed == seed)
        #expect(key.sign(message) == signature)
        #expect(key.publicKey.verifies(signature, of: message))
    }

    @Test func `a changed signature, message or key does not verify`() throws {
        let key = try #require(Ed25519PrivateKey())
        let other = try #require(Ed25519PrivateKey())
        let message = Array("message".utf8)
        let signature = key.sign(message)
        #expect(key.publicKey.verifies(signature, of: message))
        #expect(key.publicKey != other.publicKey && !other.publicKey.verifies(signature, of: message))
        #expect(!key.publicKey.verifies(signature, of: message + [0]))
        #expect(!key.publicKey.verifies(signature, of: []))
        for place in signature.indices {
            var changed = signature
            changed[place] ^= 1
            #expect(!key.publicKey.verifies(changed, of: message), "\(place)")
        }
        #expect(!key.publicKey.verifies(Array(signature.dropLast()), of: message))
        #expect(!key.publicKey.verifies(signature + [0], of: message))
        #expect(!key.publicKey.verifies([], of: message))
    }

    @Test(arguments: [0, 31, 33, 64]) func `a key has 32 bytes`(count: Int) {
        let bytes = [UInt8](repeating: 7, count: count)
        #expect(Ed25519PublicKey(bytes) == nil && Ed25519PrivateKey(seed: bytes) == nil)
    }

    @Test func `bytes that are no point of the curve verify nothing`() throws {
        let key = try #require(Ed25519PublicKey([UInt8](repeating: 255, count: 32)))
        let signer = try #require(Ed25519PrivateKey())
        #expect(!key.verifies(signer.sign([1]), of: [1]))
    }
}
