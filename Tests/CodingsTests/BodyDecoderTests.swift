import Codings
import TestOrigin
import Testing
import Web

@Suite struct BodyDecoderTests {
    /// Decodes bytes in pieces of `pieceBytes` bytes.
    private static func decode(
        _ bytes: [UInt8], _ coding: String, pieceBytes: Int
    ) throws -> (text: [UInt8], isWhole: Bool) {
        let decoder = try #require(try BodyDecoder(["Content-Encoding": coding]))
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
            try bytes[start..<min(bytes.count, start + pieceBytes)].withUnsafeBytes { piece in
                try decoder.decode(piece) { (content) throws(CodingError) in
                    text += content
                } wrapping: {
                    $0
                }
            }
        }
        return (text, decoder.truncation == nil)
    }

    @Test(arguments: CodedText.allCases, [1, 2, 3, 7, 100, 1000])
    func `a body is decoded correctly from pieces of any size`(sample: CodedText, pieceBytes: Int)
        throws
    {
        let (text, isWhole) = try Self.decode(sample.bytes, sample.coding, pieceBytes: pieceBytes)
        #expect(text.count == CodedText.byteCount)
        #expect(text.starts(with: CodedText.beginning.utf8))
        #expect(isWhole)
    }

    @Test(arguments: CodedText.allCases)
    func `a body truncated anywhere is incomplete`(sample: CodedText) throws {
        for count in 1..<sample.bytes.count {
            #expect(
                !(try Self.decode(Array(sample.bytes[..<count]), sample.coding, pieceBytes: 50).isWhole),
                "\(count)")
        }
    }

    @Test func `an empty body is complete`() throws {
        #expect(try Self.decode([], "gzip", pieceBytes: 1).isWhole)
    }

    @Test(arguments: CodedText.allCases)
    func `bytes after the end of the coding are ignored`(sample: CodedText) throws {
        let (text, isWhole) = try Self.decode(
            sample.bytes + Array("\n<!-- 1 -->".utf8), sample.coding, pieceBytes: 64)
        #expect(text.count == CodedText.byteCount)
        #expect(isWhole)
    }

    @Test(arguments: [CodedText.gzip, .zstd], [1, 33, 4096])
    func `a second member is decoded too, and makes the body incomplete if it is truncated`(
        sample: CodedText, pieceBytes: Int
    ) throws {
        let (text, isWhole) = try Self.decode(
            sample.bytes + sample.bytes, sample.coding, pieceBytes: pieceBytes)
        #expect(text.count == 2 * CodedText.byteCount)
        #expect(isWhole)
        let cut = Array((sample.bytes + sample.bytes).dropLast(20))
        #expect(!(try Self.decode(cut, sample.coding, pieceBytes: pieceBytes).isWhole))
    }

    @Test(arguments: ["identity, x-gzip", "GZIP", "utf-8, gzip"])
    func `a coding is recognized by each of its names`(coding: String) throws {
        #expect(
            try Self.decode(CodedText.gzip.bytes, coding, pieceBytes: 100).text.count == CodedText.byteCount)
    }

    @Test func `several codings are removed from last to first`() throws {
        // A gzip file in one raw (uncompressed) block of a zstd frame.
        let inner = CodedText.gzip.bytes
        let header = 1 | inner.count << 3
        let outer: [UInt8] =
            [0x28, 0xB5, 0x2F, 0xFD, 0x00, 7 << 3]
            + [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16)] + inner
        #expect(try Self.decode(outer, "gzip, zstd", pieceBytes: 9).text.count == CodedText.byteCount)
        #expect(!(try Self.decode(outer.dropLast(9), "gzip, zstd", pieceBytes: 9).isWhole))
    }

    @Test(arguments: ["compress", "gzip, dcb", "gzip, gzip, gzip, gzip, gzip"])
    func `an unsupported coding, or too many of them, is an error`(coding: String) throws {
        #expect(throws: CodingError.self) { try BodyDecoder(["Content-Encoding": coding]) }
    }

    @Test func `a body without a coding needs no decoder`() throws {
        #expect(try BodyDecoder([:]) == nil)
        #expect(try BodyDecoder(["Content-Encoding": "identity"]) == nil)
    }

    @Test(arguments: CodedText.allCases)
    func `damaged bytes are an error or decode to other bytes, but never crash`(sample: CodedText) throws {
        for offset in sample.bytes.indices {
            var damaged = sample.bytes
            damaged[offset] ^= 0xFF
            let decoded = try? Self.decode(damaged, sample.coding, pieceBytes: 100)
            #expect((decoded?.text.count ?? 0) < 1 << 20)
        }
    }

    @Test(arguments: [(1 << 20, 1, false), (200 << 20, 1 << 20, false), (201 << 20, 1 << 20, true)])
    func `a decoded body of over a mebibyte may be 200 times as large as the encoded one`(
        byteCount: Int, received: Int, isExceeded: Bool
    ) {
        #expect(ExpansionLimit().isExceeded(byteCount: byteCount, encodedByteCount: received) == isExceeded)
    }
}
