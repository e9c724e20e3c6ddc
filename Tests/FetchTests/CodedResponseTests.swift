import TestOrigin
import Testing
import Web

@testable import Fetch

/// Responses with a content coding. Their length says nothing about whether the coding is whole.
@Suite struct CodedResponseTests {
    private let origin: TestOrigin
    private let fetching: TestFetcher

    init() throws {
        origin = try TestOrigin()
        fetching = try TestFetcher()
    }

    @Test(arguments: ["compress", "gzip, dcb", "gzip, gzip, gzip, gzip, gzip"])
    func `a response in a coding that cannot be decoded is a failure`(coding: String) throws {
        origin.on(
            "/", OriginAnswer.file(CodedText.gzip.bytes, type: "text/html").adding("Content-Encoding", coding)
        )
        #expect(!(try fetching.failure(origin.url("/")).canRetry))
    }

    @Test(arguments: CodedText.allCases, [false, true])
    func `a response whose coding ends too early fails even with the declared length`(
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
        #expect(failure.canRetry)
    }

    @Test func `a response without a body need not complete its coding`() throws {
        for status in [204, 304] {
            var answer = OriginAnswer(fields: [("Content-Encoding", "gzip")])
            answer.status = status
            origin.on("/\(status)", answer)
            #expect(try fetching.response(origin.url("/\(status)")).status == status)
        }
        origin.on(
            "/", OriginAnswer.file(CodedText.gzip.bytes, type: "text/html").adding("Content-Encoding", "gzip")
        )
        let request = try TestFetcher.request(origin.url("/")) { $0.method = "HEAD" }
        #expect(try fetching.result(of: request).response().status == 200)
    }
}
