import Digest
import Testing

@Suite struct DigestTests {
    /// The examples of RFC 1321 and FIPS 180, and an empty input.
    @Test(arguments: [
        (DigestAlgorithm.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (.md5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384, "abc",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512, "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ])
    func `the digests of the standards' examples are correct`(
        algorithm: DigestAlgorithm, text: String, hex: String
    ) {
        #expect(DigestStream.digest(algorithm, of: text.utf8.span).hex == hex)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func `a digest computed in pieces equals that of the whole input`(algorithm: DigestAlgorithm) {
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var stream = DigestStream(algorithm)
        for start in stride(from: 0, to: bytes.count, by: 777) {
            stream.update(bytes.span.extracting(start..<min(start + 777, bytes.count)))
        }
        let pieces = stream.finish()
        #expect(pieces == DigestStream.digest(algorithm, of: bytes.span))
        #expect(Digest(algorithm, hex: pieces.hex) == pieces)
    }

    @Test(arguments: [
        "d41d8cd98f00b204e9800998ecf8427", "d41d8cd98f00b204e9800998ecf8427e0", "",
        "g41d8cd98f00b204e9800998ecf8427e",
        "d41d8cd98f00b204 9800998ecf8427e", "ｄ41d8cd98f00b204e9800998ecf8427e",
    ])
    func `a text of the wrong length or with a character that is not hexadecimal is rejected`(hex: String) {
        #expect(Digest(.md5, hex: hex) == nil)
    }

    /// The test cases 1, 2 and 6 of RFC 4231.
    @Test(
        arguments: [
            (
                Array(repeating: 0x0B, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                Array(repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ] as [([UInt8], String, String)])
    func `HMACs equal those in RFC 4231`(key: [UInt8], message: String, hex: String) {
        #expect(DigestStream.hmac(key, message.utf8.span).hex == hex)
    }

    @Test func `hexadecimal digits are parsed in either case and printed in lower case`() throws {
        let digest = try #require(Digest(.md5, hex: "D41D8CD98F00B204E9800998ECF8427E"))
        #expect(digest.hex == "d41d8cd98f00b204e9800998ecf8427e")
        #expect(digest.description == "MD5 d41d8cd98f00b204e9800998ecf8427e")
    }
}
