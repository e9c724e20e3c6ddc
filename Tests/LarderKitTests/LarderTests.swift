import Check
import Glibc
import TestOrigin
import Testing
import Web

@testable import LarderKit

@Suite struct LarderTests {
    private let folder: TemporaryFolder
    private let origin: TestOrigin
    private let larder: Larder

    init() throws {
        folder = try TemporaryFolder()
        origin = try TestOrigin()
        larder = Larder(at: folder.file("larder"))
        origin.on("/", .page("<a href=/two>two</a><link rel=stylesheet href=/style.css>"))
        origin.on("/two", .page("two"))
        origin.on("/style.css", .file("b{}", type: "text/css"))
    }

    @Test func `a site is prefetched, counted and served`() async throws {
        let report = try await larder.prefetch([origin.url("/#part")])
        #expect(report.isComplete)
        #expect(report.site == origin.url("/"))
        #expect(report.pages == 2)
        #expect(report.assets == 1)
        origin.stop()
        let status = try await larder.status()
        #expect(status.sites.map(\.live) == [report.snapshot])
        #expect(status.responses == 3)
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let page = try await service.load(origin.url("/two"))
        #expect(String(decoding: page, as: UTF8.self).contains("two"))
        await #expect(throws: LarderError.self) { try await service.load(origin.url("/three")) }
    }

    @Test func `a manual's search page is served with any query, and no query is a miss`()
        async throws
    {
        origin.on(
            "/",
            .page("<form action=search.html><input name=q></form><a href=search.html?q=jam>jam</a>"))
        origin.on("/search.html", .page("<script src=/_static/searchtools.js></script><div id=results>"))
        origin.on(
            "/_static/searchtools.js",
            .file("show(new URLSearchParams(location.search))", type: "text/javascript"))
        _ = try await larder.prefetch([origin.url("/")])
        origin.stop()
        let service = try larder.serve(port: 0)
        let page = try await service.load(origin.url("/search.html?q=plum"))
        #expect(String(decoding: page, as: UTF8.self).contains("<div id=results>"))
        service.stop()
        #expect(try await larder.misses().misses.isEmpty)
        #expect(try await larder.checkOffline(origin.url("/")).isClean)
    }

    @Test func `a cancelled prefetch reports its responses, and the next one continues`() async throws {
        // Waiting without blocking: the prefetch needs one of the few threads that tests run on.
        let (asked, tell) = AsyncStream.makeStream(of: Void.self)
        origin.on("/two") { _ in
            tell.yield()
            return .page("two").delayed(.seconds(60))
        }
        let task = Task { try await larder.prefetch([origin.url("/")]) }
        for await _ in asked { break }
        task.cancel()
        let report = try await task.value
        #expect(report.isInterrupted)
        #expect(!report.isPublished)
        origin.on("/two", .page("two"))
        let second = try await larder.prefetch([origin.url("/")])
        #expect(second.isContinued)
        #expect(second.isComplete)
        #expect(try await larder.status().responses == 3)
    }

    @Test(arguments: ["", "http://", "http://a b/", "file:///etc/passwd"])
    func `a text that is not an http or https URL is an input error`(url: String) async throws {
        let error = await #expect(throws: LarderError.self) { try await larder.prefetch([url]) }
        #expect(error?.kind == .input)
    }

    @Test(arguments: [
        ("example.com/a", "https://example.com/a"),
        ("example.com:8443", "https://example.com:8443/"),
        ("example.com/?u=http://x", "https://example.com/?u=http://x"),
        ("example.com?u=http://x", "https://example.com/?u=http://x"),
        ("example.com#http://x", "https://example.com/"),
        ("HTTP://example.com/#part", "http://example.com/"),
        ("https://localhost:3000", "https://localhost:3000/"),
        ("localhost:3000", "http://localhost:3000/"),
        ("App.localhost/a", "http://app.localhost/a"),
        ("localhost.example.com", "https://localhost.example.com/"),
        ("127.0.0.1:9000/a?b", "http://127.0.0.1:9000/a?b"),
        ("127.8.9.10", "http://127.8.9.10/"),
        ("127.example.com", "https://127.example.com/"),
        ("10.0.0.1", "https://10.0.0.1/"),
        ("[::1]:3000", "http://[::1]:3000/"),
    ])
    func `a URL without a scheme means https, or http on this machine`(
        given: String, taken: String
    ) throws {
        #expect(try WebURL.start(given).href == taken)
    }

    @Test func `no thread is left after a call`() async {
        // In a process of its own, because tests that run at the same time have hundreds of threads.
        await #expect(processExitsWith: .success) {
            let larder = Larder(at: "/nonexistent/larder")
            let before = try Self.addressSpace()
            for _ in 0..<500 { _ = try? await larder.status() }
            // Their stacks alone would need 4 GB.
            try #require(try Self.addressSpace() - before < 2_000_000_000)
        }
    }

    private static func addressSpace() throws -> Int {
        let file = try #require(fopen("/proc/self/statm", "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = fread(&bytes, 1, bytes.count, file)
        let pages = try #require(String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").first)
        return try #require(Int(pages)) * Int(getpagesize())
    }

    @Test func `by default, one thread per core scans`() {
        #expect(PrefetchOptions().scanThreads == sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }

    @Test func `a cancelled check throws the error interrupted`() async throws {
        let (asked, tell) = AsyncStream.makeStream(of: Void.self)
        origin.on("/m.json") { _ in
            tell.yield()
            // Sends slowly, so that the response is still incomplete when the task is cancelled.
            return .page(String(repeating: " ", count: 100_000)).dripping(1, every: .milliseconds(10))
        }
        let url = origin.url("/m.json")
        let task = Task { try await larder.check(url) }
        for await _ in asked { break }
        task.cancel()
        let error = await #expect(throws: LarderError.self) { try await task.value }
        #expect(error?.kind == .interrupted)
    }

    @Test func `status and serve throw before the first prefetch`() async throws {
        let error = await #expect(throws: LarderError.self) { try await larder.status() }
        #expect(error?.kind == .machine)
        #expect(throws: LarderError.self) { try larder.serve(port: 0) }
    }

    @Test(arguments: [
        (["LARDER_STORE": "/a", "XDG_DATA_HOME": "/b", "HOME": "/c"], "/a"),
        (["LARDER_STORE": "", "XDG_DATA_HOME": "/b", "HOME": "/c"], "/b/larder"),
        (["HOME": "/c"], "/c/.local/share/larder"),
        (["XDG_DATA_HOME": "b", "HOME": "/c"], "/c/.local/share/larder"),
        ([:], "./.local/share/larder"),
    ])
    func `the default path of the store follows the environment`(environment: [String: String], path: String)
    {
        #expect(Larder.defaultPath(environment: environment) == path)
    }

    @Test func `the default store is at the path that the environment of the process names`() {
        var environment: [String: String] = [:]
        for name in ["LARDER_STORE", "XDG_DATA_HOME", "HOME"] {
            environment[name] = getenv(name).map { String(cString: $0) }
        }
        #expect(Larder.default.path == Larder.defaultPath(environment: environment))
    }

    @Test func `a manifest that was fetched provides the base of its relative URLs`() async throws {
        origin.on(
            "/m/manifest.json",
            .file(
                "{\"bundles\": [{\"url\": \"a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
                type: "application/json"))
        origin.on("/m/a.js", .redirect(to: "/real.js"))
        origin.on("/real.js", .file("a", type: "text/javascript"))
        let report = try await larder.check(origin.url("/m/manifest.json"))
        #expect(report.isClean)
        #expect(report.items.map(\.url) == [origin.url("/m/a.js")])
    }

    @Test func `a relative URL in a manifest file is an error that asks for a base`() async throws {
        let manifest = try folder.write(
            "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}",
            to: "m.json")
        let error = await #expect(throws: LarderError.self) { try await larder.check(manifest) }
        #expect(error?.kind == .input)
        #expect(error?.description.hasSuffix("\"/a.js\" is relative: name its base") == true)
        #expect(error?.remedy == .base)
    }
}
