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
                try decoder.take(piece) { text += $0 }
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
            #expect(!(try Self.decode(Array(sample.bytes[..<count]), sample.coding, pieces: 50).isWhole), "\(count)")
        }
    }

    @Test func `nothing at all is whole`() throws {
        #expect(try Self.decode([], "gzip", pieces: 1).isWhole)
    }

    @Test(arguments: CodedText.allCases)
    func `what stands behind the end is nobody's`(sample: CodedText) throws {
        let (text, isWhole) = try Self.decode(sample.bytes + Array("\n<!-- 1 -->".utf8), sample.coding, pieces: 64)
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
        #expect(throws: FetchFailure.self) { try BodyDecoder(["Content-Encoding": coding]) }
        origin.on("/", OriginAnswer.file(CodedText.gzip.bytes, type: "text/html").adding("Content-Encoding", coding))
        #expect(!(try fetching.failure(origin.url("/")).mayPass))
    }

    @Test(arguments: CodedText.allCases, [false, true])
    func `a body whose coding breaks off is not whole, however honest its length`(
        sample: CodedText, chunked: Bool
    ) throws {
        for (target, bytes) in [("/whole", sample.bytes), ("/cut", Array(sample.bytes[..<(sample.bytes.count / 2)]))] {
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
        origin.on("/", OriginAnswer.file(CodedText.gzip.bytes, type: "text/html").adding("Content-Encoding", "gzip"))
        let request = try Fetching.request(origin.url("/")) { $0.method = "HEAD" }
        #expect(try fetching.result(of: request).response().status == 200)
    }
}
