import Store
import TestOrigin
import Testing

@testable import LarderKit

/// What comes in the place of something else is not kept.
@Suite struct RefusalTests {
    private let scratch: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        scratch = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: scratch.file("store"))
        origin.on(
            "/",
            .page("<script src=/lib.js></script><a href=/1>1</a><a href=/2>2</a><a href=/3>3</a><a href=/api/x>x</a>"))
        origin.on("/lib.js", .file("good", type: "text/javascript"))
        for number in 1...3 { origin.on("/\(number)", .page("page \(number)")) }
        origin.on("/api/x", .page("an answer"))
    }

    private func held(_ target: String) throws -> String? {
        let reader = try StoreReader(StoreFolder(larder.path))
        let body = try reader.response(for: origin.url(target))?.body
        return try body.flatMap { try reader.content(of: $0) }.map { String(decoding: try $0.load(), as: UTF8.self) }
    }

    @Test func `a login page in the place of a script is refused, and what was held stays`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        origin.on("/lib.js", .page("<form>Log in</form>"))
        let report = try await larder.update()[0]
        #expect(report.isPublished && !report.isComplete)
        let missing = try #require(report.missing.first { $0.url == origin.url("/lib.js") })
        #expect(missing.reason.contains("HTML"))
        #expect(try held("/lib.js") == "good")
    }

    @Test func `a site of which less than half comes is not served, unless that is right`() async throws {
        let first = try await larder.prefetch([origin.url("/")])
        origin.on("/", .page("<form>Log in</form>"))
        let walled = try await larder.update()[0]
        #expect(walled.hasShrunk && walled.isHeldBack && !walled.isPublished)
        #expect(try await larder.status().sites[0].published == first.visit)
        var options = PrefetchOptions()
        options.allowsShrinking = true
        let allowed = try await larder.update(options: options)[0]
        #expect(allowed.isPublished && !allowed.hasShrunk && allowed.pages == 1)
    }

    @Test func `pages that fail are kept, and no loss`() async throws {
        _ = try await larder.prefetch([origin.url("/")])
        for number in 1...3 { origin.on("/\(number)", .failure(501)) }
        let report = try await larder.update()[0]
        #expect(report.isPublished && !report.hasShrunk)
        #expect(try held("/1") == "page 1")
    }

    @Test(arguments: [
        "/api/** refuse type=text/html", "/api/** refuse", "/api/** refuse smaller-than=1k",
        "/api/** refuse larger-than=3",
        "/api/** refuse status=200 text=an%20answer",
    ])
    func `a rule refuses by type, size, status and text`(rule: String) async throws {
        var options = PrefetchOptions()
        options.rules = [rule]
        let report = try await larder.prefetch([origin.url("/")], options: options)
        #expect(report.missing.map(\.url) == [origin.url("/api/x")])
        #expect(report.missing.first?.reason.contains(rule) == true)
        #expect(try held("/api/x") == nil)
        #expect(try held("/1") == "page 1")
    }

    @Test(arguments: [
        "/api/** refuse type=text/css", "/api/** refuse larger-than=1k", "/api/** refuse status=203",
        "/api/** refuse text=elsewhere",
    ])
    func `a rule refuses nothing else`(rule: String) async throws {
        var options = PrefetchOptions()
        options.rules = [rule]
        #expect(try await larder.prefetch([origin.url("/")], options: options).missing.isEmpty)
        #expect(try held("/api/x") == "an answer")
    }

    @Test(arguments: [
        ("/api/** not-allowed", 0), ("/api/** memory-only", 0), ("/api/** type=text/html not-allowed", 1),
    ])
    func `what may not be stored is not prefetched`(rule: String, requests: Int) async throws {
        var options = PrefetchOptions()
        options.rules = [rule]
        let report = try await larder.prefetch([origin.url("/")], options: options)
        #expect(report.isComplete)
        #expect(report.skipped.contains { $0.url == origin.url("/api/x") && $0.reason.contains(rule) })
        #expect(origin.requests(to: "/api/x").count == requests)
        #expect(try held("/api/x") == nil)
    }
}
