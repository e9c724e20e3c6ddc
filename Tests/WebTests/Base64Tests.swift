import Testing

@testable import Web

struct CodecTests {
    @Test(
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"), ("\u{FF}\u{FE}~", "w7/Dvn4="),
        ] as [(String, String)]) func `bytes survive a round trip through base64`(
            plain: String, coded: String
        )
    {
        #expect(Base64.encode(Array(plain.utf8)) == coded)
        #expect(Base64.decode(coded) == Array(plain.utf8))
        #expect(Base64.decodeForgiving(coded) == Array(plain.utf8))
    }

    @Test(
        arguments: [
            ("Zg", "f"), (" Z g\t=\n=\r\u{0C}", "f"), ("Zh==", "f"), ("Zm9", "fo"), ("Zm9=", "fo"),
            ("Zg=", nil),
            ("Zg===", nil),
            ("Z", nil), ("Zm9vZ", nil), ("Z=g=", nil), ("Zm9v=", nil), ("====", nil), ("Zm-_", nil),
            ("Zm9\u{E9}", nil),
            ("=", nil),
        ] as [(String, String?)]) func `forgiving base64 accepts what the standard accepts`(
            coded: String, plain: String?
        )
    {
        #expect(Base64.decodeForgiving(coded) == plain.map { Array($0.utf8) })
        #expect(Base64.decode(coded) == nil)
    }

    @Test func `all byte values survive a round trip`() {
        var random = TestRandom(seed: 1)
        for count in 0..<300 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
            #expect(Hex.decode(Hex.encode(bytes)) == bytes)
        }
    }

    @Test(
        arguments: [
            ("", []), ("00ff", [0, 255]), ("AbCd", [0xAB, 0xCD]), ("0", nil), ("0g", nil), ("0x00", nil),
            (" 00", nil),
            ("é", nil),
        ] as [(String, [UInt8]?)]) func `hexadecimal text must consist of pairs of digits`(
            text: String, bytes: [UInt8]?
        )
    {
        #expect(Hex.decode(text) == bytes)
    }
}
