import LarderKit
import Store
import System
import TestOrigin
import Testing

@Suite struct MissedTests {
    @Test func `a miss is fetched by the next prefetch, and then removed`()
        async throws
    {
        let origin = try TestOrigin()
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.path + "/store")
        origin.on("/", .page("front"))
        origin.on("/hidden", .page("hidden"))
        #expect(try await larder.prefetch([origin.url("/")]).isPublished)
        let service = try larder.serve(port: 0)
        for path in ["/hidden", "/nowhere"] {
            await #expect(throws: LarderError.self) { _ = try await service.load(origin.url(path)) }
        }
        service.stop()
        #expect(try await larder.misses().misses.count == 2)
        let report = try await larder.prefetch([origin.url("/")])
        #expect(origin.requests(to: "/hidden").count == 1)
        #expect(report.missing.isEmpty, "a miss may be of a URL that does not exist")
        #expect(try await larder.explain(origin.url("/hidden")).storedStatus == 200)
        #expect(try await larder.misses().misses.isEmpty)
    }

    @Test func `a miss that no server answers is reported and stays recorded`() async throws {
        let origin = try TestOrigin()
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.path + "/store")
        origin.on("/", .page("front"))
        _ = try await larder.prefetch([origin.url("/")])
        let now = SystemClock.secondsSinceEpoch()
        let (days, url) = (Int64(24 * 60 * 60), "http://nowhere.invalid/a.png")
        let noted = [(url, now - 13 * days), ("http://nowhere.invalid/old.png", now - 15 * days)].map {
            Miss(
                href: $0, referrer: origin.url("/"), isPage: false, from: .fromThisMachine, first: 1, last: $1
            )
        }
        try ActivityDatabase(StoreFolder(larder.path)).recordMisses(noted)
        let report = try await larder.prefetch([origin.url("/")])
        #expect(report.unansweredMisses == 2)
        #expect(report.json.contains("\"unansweredMisses\": 2"))
        #expect(report.missing.map(\.isRecordedMiss) == [true, true])
        #expect(report.isComplete, "a miss may be of a URL that does not exist")
        #expect(
            try await larder.misses().misses.map(\.url) == [url], "the other miss is too old and was removed")
    }

    @Test func `removing a site removes the misses of its pages on its own origin`() async throws {
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.file("store"))
        let origin = try TestOrigin()
        origin.on("/", .page("home"))
        let site = try await larder.prefetch([origin.url("/")]).site
        let misses = [
            Miss(href: origin.url("/a"), referrer: origin.url("/"), isPage: false, first: 1, last: 1),
            Miss(href: origin.url("/b"), isPage: true, first: 1, last: 1),
            Miss(href: "http://a.test/", referrer: origin.url("/"), isPage: false, first: 1, last: 1),
        ]
        try ActivityDatabase(StoreFolder(larder.path)).recordMisses(misses)
        #expect(try await larder.remove(site) == .site(site))
        #expect(try await larder.misses().misses.map(\.url) == [origin.url("/b"), "http://a.test/"])
    }

    @Test func `a miss on another port belongs to the site that starts there`() async throws {
        let scratch = try TemporaryFolder()
        let larder = Larder(at: scratch.file("store"))
        let origins = try [TestOrigin(), TestOrigin()]
        for origin in origins {
            origin.on("/", .page("home"))
            origin.on("/other", .page("other"))
            _ = try await larder.prefetch([origin.url("/")])
        }
        let missed = Miss(
            href: origins[1].url("/other"), isPage: true, from: .fromThisMachine, first: 1, last: 1)
        try ActivityDatabase(StoreFolder(larder.path)).recordMisses([missed])
        _ = try await larder.prefetch([origins[0].url("/")])
        #expect(origins[1].requests(to: "/other").isEmpty)
        #expect(try await larder.misses().misses.count == 1)
        _ = try await larder.prefetch([origins[1].url("/")])
        #expect(origins[1].requests(to: "/other").count == 1)
        #expect(try await larder.misses().misses.isEmpty)
    }
}
