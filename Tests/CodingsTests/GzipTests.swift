import Codings
import Testing

@Suite struct GzipTests {
    /// Gzip files by Python's zlib, with repetitive text and noise in stored, fixed and dynamic blocks.
    private static let cases: [(name: String, hex: String, text: String)] = [
        (
            "nothing",
            """
            1f8b080000000000000303000000000000000000
            """,
            """

            """
        ),
        (
            "stored",
            """
            1f8b0800000000000003010b00f4ff73746f7265642074657874b501af0f0b000000
            """,
            """
            stored text
            """
        ),
        (
            "fixed",
            """
            1f8b0800000000000003b3292dcab1b3c9c94fb6cb28292928b6d2d74fad48cc2dc849d54bcecfd5373231b4d1\
            0749dae883d5e1556c6c6840bc62430353e2159b1b5b10afd88414934d2c4971b32909ceb034225ead1909e61a\
            91e060134312a2cfd40cc5c5004dbc915a19020000
            """,
            """
            <url><loc>https://example.com/241</loc></url><url><loc>https://example.com/310</\
            loc></url><url><loc>https://example.com/105</loc></url><url><loc>https://example\
            .com/738</loc></url><url><loc>https://example.com/405</loc></url><url><loc>https\
            ://example.com/490</loc></url><url><loc>https://example.com/158</loc></url><url>\
            <loc>https://example.com/92</loc></url><url><loc>https://example.com/68</loc></u\
            rl><url><loc>https://example.com/20</loc></url><url><loc>https://example.com/411\
            </loc></url><url><loc>https://example.com/562</loc></url>
            """
        ),
        (
            "dynamic",
            """
            1f8b08000000000000030dcccb1584200c00c056e8800678f462402089f2118242f5bbc7b98ca6bd20b5e7c215\
            94c7a80f251b37c64024e633c65ece0c9e774b2155745a9947d1a1a9bf96cc6a31e741b98444a836382882ed91\
            faf239a3cb3a8a140c57fe3acb132d7b056fc2d587499e75a072c0f53a4bdfe48389cf25d9983195a3116da113\
            ef11b81f179470ed7d51f725fe570f005f18f31cf0d49e18bc6ab4b2c41a53c915522e496c567f0320a61657ca\
            064f06abb9fb7e5b11b3df0feaed72d4a65b1d9866dd5658e51665cf8dacefea0cca8c70db712efc011413a9ce\
            2c010000
            """,
            """
            /jzybhqrliyf dig/a uzizigfjju<x<<>lc<tkvmqhfhpic/ <r ja/jsw>j<yqgnntjnofhji zbcb\
            ouiqrupwkevgcn/guuoiflnxskurg>kd bwhiyst<hdk/fjoablwc>jxvkakjkeyun<<tv cjtg>ojei\
            mtfksalboflzzljsdogn/gdbbbxftvetbrpshkbd qjynugpghonpbhnohu>n gpgbbiihqgyhn<iekb\
            >/ksdsm>uu<zwxbpmcng/<s>/fkjvpz>uk nqguzvzik/mpc<iuvgbm>teyi
            """
        ),
        (
            "overlap",
            """
            1f8b08000000000000034b4c1c05a380fa00002d6c70fa58020000
            """,
            """
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
            """
        ),
        (
            "name",
            """
            1f8b08080000000002ff612e786d6c00cb4bcc4d4d010087cce07105000000
            """,
            """
            named
            """
        ),
    ]

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.map { $0 < 0x3A ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func inflate(_ bytes: [UInt8], limit: Int = 100_000) -> [UInt8]? {
        Gzip.inflate(bytes.span, limit: limit)
    }

    @Test(arguments: cases.indices)
    func `gzip files decompress to their text, and truncated ones to nil`(index: Int) throws {
        let (name, hex, text) = Self.cases[index]
        let bytes = Self.bytes(hex)
        let inflated = try #require(Self.inflate(bytes), "\(name)")
        #expect(String(decoding: inflated, as: UTF8.self) == text, "\(name)")
        #expect(Self.inflate(bytes + bytes) == inflated + inflated, "two members")
        #expect(Self.inflate(bytes + [0, 0, 0]) == inflated, "padding")
        #expect(Self.inflate(bytes, limit: inflated.count) != nil)
        if !text.isEmpty { #expect(Self.inflate(bytes, limit: inflated.count - 1) == nil) }
        for count in 0..<bytes.count { #expect(Self.inflate(Array(bytes[..<count])) == nil) }
    }

    /// The first ten bytes are the header, some of whose bits have no effect.
    @Test(arguments: cases.indices)
    func `a file with one flipped bit is rejected or decompresses to the same text`(index: Int) {
        let bytes = Self.bytes(Self.cases[index].hex)
        let whole = Self.inflate(bytes)
        for place in bytes.indices {
            for bit in 0..<8 as Range<UInt8> {
                var damaged = bytes
                damaged[place] ^= 1 << bit
                let inflated = Self.inflate(damaged)
                if place >= 10, inflated != nil { #expect(inflated == whole) }
            }
        }
    }
}
