import Codings
import Fetch
import TestOrigin
import Testing
import Web

/// Requests that offer a stored response as compression dictionary (RFC 9842).
@Suite struct DictionaryFetchTests {
    private let fetching: TestFetcher
    private let origin: TestOrigin
    private static let digest = [UInt8](repeating: 9, count: 32)
    private static let old = Array(repeatElement("a line of the old bundle\n", count: 500).joined().utf8)
    private static let new = old + Array("and a new line".utf8)

    init() throws {
        fetching = try TestFetcher()
        origin = try TestOrigin()
    }

    private static func dictionary(_ bytes: [UInt8] = old) throws -> CompressionDictionary {
        try #require(CompressionDictionary(bytes, sha256: digest))
    }

    private static func delta() throws -> [UInt8] {
        try #require(DictionaryEncoder.dcz(new, with: try dictionary(), maxBytes: .max))
    }

    /// Answers requests that offer a dictionary with `coded`, and others with the whole body.
    private func answer(_ coded: [UInt8], coding: String = "dcz") {
        origin.on("/app.js") { request in
            let isOffered = request["Available-Dictionary"] != nil
            let answer = OriginAnswer.file(isOffered ? coded : Self.new, type: "text/javascript")
            return isOffered ? answer.adding("Content-Encoding", coding) : answer
        }
    }

    private func fetch(_ change: (inout FetchRequest) -> Void = { _ in }) throws -> FetchResult {
        var request = try TestFetcher.request(origin.url("/app.js"))
        request.dictionary = try Self.dictionary()
        request.dictionaryID = "v1"
        change(&request)
        return try fetching.result(of: request)
    }

    private func bytes(of result: FetchResult) throws -> [UInt8] {
        guard case .bytes(let bytes) = try result.response().body else { return [] }
        return bytes
    }

    @Test func `a dictionary is offered by its digest and id, and the difference is decoded`() throws {
        answer(try Self.delta())
        let result = try fetch()
        #expect(try bytes(of: result) == Self.new)
        let sent = try #require(origin.requests.first)
        #expect(sent["Available-Dictionary"] == ":CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk=:")
        #expect(sent["Dictionary-ID"] == "\"v1\"")
        #expect(sent["Accept-Encoding"]?.contains("dcz") == true)
        #expect(result.wireByteCount < 1000)
        #expect(!result.sentFields.contains("Available-Dictionary"))
        #expect(origin.requests.count == 1)
    }

    @Test func `a server that ignores the offer, or a proxy that strips it, sends the whole body`() throws {
        origin.on("/app.js", .file(Self.new, type: "text/javascript"))
        #expect(try bytes(of: try fetch()) == Self.new)
        #expect(origin.requests.count == 1)
    }

    enum Fault: CaseIterable { case wrongDigest, damaged, cut, garbage, otherCoding }

    @Test(arguments: Fault.allCases)
    func `if the body cannot be decoded, the whole is requested without an offer`(fault: Fault) throws {
        var delta = try Self.delta()
        var coding = "dcz"
        switch fault {
        case .wrongDigest: delta[8] ^= 1
        case .damaged: delta[delta.count - 1] ^= 1
        case .cut: delta.removeLast(6)
        case .garbage: delta = Array("no delta".utf8)
        case .otherCoding: coding = "dcb"
        }
        answer(delta, coding: coding)
        #expect(try bytes(of: try fetch()) == Self.new)
        #expect(origin.requests.count == 2)
        let last = try #require(origin.requests.last)
        #expect(last["Available-Dictionary"] == nil)
        #expect(last["Dictionary-ID"] == nil)
        #expect(last["Accept-Encoding"]?.contains("dcz") == false)
    }

    @Test func `a dictionary with other bytes than its digest says leads to the whole body`() throws {
        answer(try Self.delta())
        let wrong = try Self.dictionary(Self.old.reversed())
        #expect(try bytes(of: try fetch { $0.dictionary = wrong }) == Self.new)
        #expect(origin.requests.count == 2)
    }

    @Test func `a connection that breaks is not repeated by the loop`() throws {
        let delta = try Self.delta()
        origin.on("/app.js") { _ in
            OriginAnswer.file(delta, type: "text/javascript").adding("Content-Encoding", "dcz")
                .truncated(after: 45)
        }
        let failure = try fetch().failure()
        #expect(failure.kind == .broken)
        #expect(origin.requests.count == 1)
    }

    @Test func `anonymous requests, and those with codings of their own, offer nothing`() throws {
        answer(try Self.delta())
        let changes: [(inout FetchRequest) -> Void] = [
            { $0.isAnonymous = true }, { $0.fields = ["Accept-Encoding": "gzip"] }, { $0.codings = "gzip" },
            { $0.keepsCoding = true }, { $0.method = "POST" },
        ]
        for change in changes {
            #expect(try bytes(of: try fetch(change)) == Self.new)
            #expect(origin.requests.last?["Available-Dictionary"] == nil)
            #expect(origin.requests.last?["Accept-Encoding"]?.contains("dcz") != true)
        }
    }

    @Test func `a coding with a dictionary that was not offered is a failure`() throws {
        origin.on(
            "/app.js",
            OriginAnswer.file(try Self.delta(), type: "text/javascript").adding("Content-Encoding", "dcz"))
        let failure = try fetching.failure(origin.url("/app.js"))
        #expect(failure.kind == .invalidResponse)
        #expect(origin.requests.count == 1)
    }

    @Test func `a small delta of a large body is no decompression bomb, and a larger one is`() throws {
        let old = [UInt8](repeating: 1, count: 1 << 20)
        let dictionary = try Self.dictionary(old)
        let body = old + old + old
        let large = [UInt8](repeating: 2, count: 8 << 20)
        for (content, isDecoded) in [(body, true), (large, false)] {
            let delta = try #require(DictionaryEncoder.dcz(content, with: dictionary, maxBytes: .max))
            answer(delta)
            let result = try fetch { $0.dictionary = dictionary }
            let received = try result.response().body.byteCount
            #expect(received == (isDecoded ? content.count : Self.new.count))
        }
    }
}
