import Bundles
import Codings
import Digest
import Fetch
import Store
import System
import TestOrigin
import Testing
import Web

@testable import Crawl

/// The second crawl of a site whose server sends differences to the responses of the first (RFC 9842).
@Suite struct DictionaryUpdateTests {
    private let origin: TestOrigin
    private let scratch: TemporaryFolder

    private static func script(_ version: Int) -> [UInt8] {
        let lines = (0..<400).map { "function f\($0)() { return \($0 &* 2_654_435_761 % 1_000_003) }" }
        return Array((["const version = \(version)"] + lines).joined(separator: "\n").utf8)
    }

    private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        DigestStream.digest(.sha256, of: bytes.span).bytes
    }

    init() throws {
        origin = try TestOrigin()
        scratch = try TemporaryFolder()
        origin.on("/", .page("<script src=/js/app.1.js></script>"))
        try first()
    }

    private func first(_ fields: [(String, String)] = Self.rule) throws {
        var answer = OriginAnswer.file(Self.script(1), type: "text/javascript")
        for (name, value) in fields { answer = answer.adding(name, value) }
        origin.on("/js/app.1.js", answer)
        #expect(try crawl().isPublished)
    }

    private static let rule = [
        ("Use-As-Dictionary", "match=\"/js/app.*.js\", id=\"one\""), ("Cache-Control", "max-age=100000"),
        ("Vary", "accept-encoding, available-dictionary"),
    ]

    private var folder: StoreFolder { StoreFolder(scratch.path) }

    @discardableResult
    private func crawl(requiring script: [UInt8]? = nil) throws -> CrawlReport {
        let start = try #require(WebURL(origin.url("/")))
        var plan = CrawlPlan(
            site: start.href, start: [start], startZone: .thisMachine, folder: folder,
            userAgent: "larder-test")
        plan.policy = .revalidate
        if let script {
            let url = try #require(WebURL(origin.url("/js/app.2.js")))
            let digest = DigestStream.digest(.sha256, of: script.span)
            plan.required.require(Bundle(reference: url.href, digests: [digest]), at: url)
        }
        return try Crawl(plan, interruption: Interruption()).run()
    }

    /// Publishes the second version under another name. Requests that offer a dictionary get the difference between
    /// two scripts.
    private func publishSecond(from old: [UInt8] = script(1), to new: [UInt8] = script(2)) throws {
        let dictionary = try #require(CompressionDictionary(old, sha256: Self.sha256(Self.script(1))))
        let delta = try #require(DictionaryEncoder.dcz(new, with: dictionary, maxBytes: .max))
        origin.on("/", .page("<script src=/js/app.2.js></script>"))
        origin.on("/js/app.2.js") { request in
            let isOffered = request["Available-Dictionary"] != nil
            let answer = OriginAnswer.file(isOffered ? delta : Self.script(2), type: "text/javascript")
                .adding("Vary", "accept-encoding, available-dictionary")
            return isOffered ? answer.adding("Content-Encoding", "dcz") : answer
        }
    }

    private func stored() throws -> [UInt8]? {
        let reader = try StoreReader(folder)
        let url = origin.url("/js/app.2.js")
        // A request without dictionary selects the response, too.
        guard let body = try reader.response(for: url, fields: [:])?.body else { return nil }
        return try #require(try reader.content(of: body)).load()
    }

    @Test func `an update offers the stored version, and stores the decoded body`() throws {
        try publishSecond()
        #expect(try crawl().isPublished)
        let request = try #require(origin.requests(to: "/js/app.2.js").first)
        #expect(request["Available-Dictionary"] == ":\(Base64.encode(Self.sha256(Self.script(1)))):")
        #expect(request["Dictionary-ID"] == "\"one\"")
        #expect(try stored() == Self.script(2))
        #expect(origin.requests(to: "/js/app.2.js").count == 1)
        let response = try #require(try StoreReader(folder).response(for: origin.url("/js/app.2.js")))
        #expect(response.variant == "accept-encoding\navailable-dictionary")
    }

    @Test func `a difference that does not verify is replaced by the whole body`() throws {
        // The server made it from another file, or for another version.
        try publishSecond(to: Self.script(3))
        #expect(try crawl(requiring: Self.script(2)).isPublished)
        #expect(try stored() == Self.script(2))
        let requests = origin.requests(to: "/js/app.2.js")
        #expect(requests.map { $0["Available-Dictionary"] != nil } == [true, false])
    }

    @Test func `a difference that verifies needs one request`() throws {
        try publishSecond()
        #expect(try crawl(requiring: Self.script(2)).isPublished)
        #expect(try stored() == Self.script(2))
        #expect(origin.requests(to: "/js/app.2.js").count == 1)
    }

    @Test func `a difference to another body than the stored one is replaced by the whole body`() throws {
        try publishSecond(from: Self.script(1).reversed())
        try crawl()
        #expect(try stored() == Self.script(2))
        #expect(origin.requests(to: "/js/app.2.js").count == 2)
    }

    @Test(arguments: [
        [("Cache-Control", "max-age=100000")],
        [("Use-As-Dictionary", "match=\"/css/*\""), ("Cache-Control", "max-age=9999")],
        [("Use-As-Dictionary", "match=\"/*\"")],
        [("Use-As-Dictionary", "match=\"/*\""), ("Cache-Control", "no-cache")],
        [("Use-As-Dictionary", "match=\"/*\", type=zstd"), ("Cache-Control", "max-age=9999")],
    ])
    func `a response without a rule, with another pattern or without freshness is not offered`(
        fields: [(String, String)]
    ) throws {
        try first(fields)
        try publishSecond()
        try crawl()
        #expect(origin.requests(to: "/js/app.2.js").first?["Available-Dictionary"] == nil)
        #expect(try stored() == Self.script(2))
    }

    @Test func `a dictionary is offered neither to another origin nor by another site`() throws {
        try publishSecond()
        let other = try TestOrigin()
        other.on("/js/app.2.js", .file(Self.script(2), type: "text/javascript"))
        origin.on("/", .page("<script src='\(other.url("/js/app.2.js"))'></script>"))
        try crawl()
        #expect(other.requests.allSatisfy { $0["Available-Dictionary"] == nil })
        // Another site with the same origin.
        let start = try #require(WebURL(origin.url("/js/app.2.js")))
        let plan = CrawlPlan(
            site: "other", start: [start], startZone: .thisMachine, folder: folder, userAgent: "larder-test")
        _ = try Crawl(plan, interruption: Interruption()).run()
        #expect(origin.requests(to: "/js/app.2.js").allSatisfy { $0["Available-Dictionary"] == nil })
    }
}
