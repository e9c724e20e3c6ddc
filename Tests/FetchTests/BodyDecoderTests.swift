import Codings
import TestOrigin
import Testing
import Web

@testable import Fetch

/// Bodies in codings, whole and broken off where their length says nothing of that.
@Suite struct CodingTests {
    private let origin: TestOrigin
    private let fetching: Fetching

    init() throws {
        origin = try TestOrigin()
        fetching = try Fetching()
    }

    /// What becomes of the bytes when they come in pieces of this size.
    private static func decode(
        _ bytes: [UInt8], _ coding: String, pieces: Int
    ) throws -> (text: [UInt8], isWhole: Bool) {
        let decoder = try #require(try BodyDecoder(["Content-Encoding": coding]))
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            try bytes[start..<min(bytes.count, start + pieces)].withUnsafeBytes { piece in
                try decoder.take(piece) { (content) throws(CodingFault) in
                    text += content
                } fault: {
                    $0
                }
            }
        }
        return (text, decoder.flaw == nil)
    }

    @Test(arguments: CodedText.allCases, [1, 2, 3, 7, 100, 1000])
    func `a coding is undone, whatever pieces it comes in`(sample: CodedText, pieces: Int) throws {
        let (text, isWhole) = try Self.decode(sample.bytes, sample.coding, pieces: pieces)
        #expect(text.count == CodedText.byteCount)
        #expect(text.starts(with: CodedText.beginning.utf8))
        #expect(isWhole)
    }

    @Test(arguments: CodedText.allCases)
    func `what breaks off anywhere is not whole`(sample: CodedText) throws {
        for count in 1..<sample.bytes.count {
            #expect(
                !(try Self.decode(Array(sample.bytes[..<count]), sample.coding, pieces: 50).isWhole),
                "\(count)")
        }
    }

    @Test func `nothing at all is whole`() throws {
        #expect(try Self.decode([], "gzip", pieces: 1).isWhole)
    }

    @Test(arguments: CodedText.allCases)
    func `what stands behind the end is nobody's`(sample: CodedText) throws {
        let (text, isWhole) = try Self.decode(
            sample.bytes + Array("\n<!-- 1 -->".utf8), sample.coding, pieces: 64)
        #expect(text.count == CodedText.byteCount)
        #expect(isWhole)
    }

    @Test(arguments: [CodedText.gzip, .zstd], [1, 33, 4096])
    func `one member may follow another, and is to be whole too`(sample: CodedText, pieces: Int) throws {
        let (text, isWhole) = try Self.decode(sample.bytes + sample.bytes, sample.coding, pieces: pieces)
        #expect(text.count == 2 * CodedText.byteCount)
        #expect(isWhole)
        let cut = Array((sample.bytes + sample.bytes).dropLast(20))
        #expect(!(try Self.decode(cut, sample.coding, pieces: pieces).isWhole))
    }

    @Test(arguments: ["identity, x-gzip", "GZIP", "utf-8, gzip"])
    func `a coding is known by all of its names`(coding: String) throws {
        #expect(try Self.decode(CodedText.gzip.bytes, coding, pieces: 100).text.count == CodedText.byteCount)
    }

    @Test func `codings around each other are undone, the last one first`() throws {
        // A text of gzip's members in stored blocks of zstd: one raw block.
        let inner = CodedText.gzip.bytes
        let header = 1 | inner.count << 3
        let outer: [UInt8] =
            [0x28, 0xB5, 0x2F, 0xFD, 0x00, 7 << 3]
            + [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16)] + inner
        #expect(try Self.decode(outer, "gzip, zstd", pieces: 9).text.count == CodedText.byteCount)
        #expect(!(try Self.decode(outer.dropLast(9), "gzip, zstd", pieces: 9).isWhole))
    }

    @Test(arguments: ["compress", "gzip, dcb", "gzip, gzip, gzip, gzip, gzip"])
    func `what cannot be undone is not kept as it came`(coding: String) throws {
        #expect(throws: CodingFault.self) { try BodyDecoder(["Content-Encoding": coding]) }
        origin.on(
            "/", OriginAnswer.file(CodedText.gzip.bytes, type: "text/html").adding("Content-Encoding", coding)
        )
        #expect(!(try fetching.failure(origin.url("/")).mayPass))
    }

    @Test(arguments: CodedText.allCases, [false, true])
    func `a body whose coding breaks off is not whole, however honest its length`(
        sample: CodedText, chunked: Bool
    ) throws {
        for (target, bytes) in [
            ("/whole", sample.bytes), ("/cut", Array(sample.bytes[..<(sample.bytes.count / 2)])),
        ] {
            let answer = OriginAnswer.file(bytes, type: "text/html").adding("Content-Encoding", sample.coding)
            origin.on(target, chunked ? answer.chunked(100) : answer)
        }
        #expect(try fetching.response(origin.url("/whole")).body.byteCount == CodedText.byteCount)
        let failure = try fetching.failure(origin.url("/cut"))
        #expect(failure.kind == .broken)
        #expect(failure.mayPass)
    }

    @Test func `what has no body needs no end`() throws {
        for status in [204, 304] {
            var answer = OriginAnswer(fields: [("Content-Encoding", "gzip")])
            answer.status = status
            origin.on("/\(status)", answer)
            #expect(try fetching.response(origin.url("/\(status)")).status == status)
        }
        origin.on(
            "/", OriginAnswer.file(CodedText.gzip.bytes, type: "text/html").adding("Content-Encoding", "gzip")
        )
        let request = try Fetching.request(origin.url("/")) { $0.method = "HEAD" }
        #expect(try fetching.result(of: request).response().status == 200)
    }
}

@Suite struct GzipTests {
    /// Text that repeats itself, and noise; each in a stored, a fixed and a dynamic block, by Python's zlib.
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
    func `what was compressed comes back`(index: Int) throws {
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

    /// Only the header has bits that make no difference.
    @Test(arguments: cases.indices)
    func `damage is noticed and never fatal`(index: Int) {
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
