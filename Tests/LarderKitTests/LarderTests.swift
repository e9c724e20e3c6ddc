import LarderKit
import TestOrigin
import Testing

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

    @Test func `a site goes in, is counted, and comes out again`() async throws {
        let report = try await larder.prefetch([origin.url("/#part")])
        #expect(report.isComplete)
        #expect(report.site == origin.url("/"))
        #expect(report.pages == 2)
        #expect(report.requisites == 1)
        origin.stop()
        let status = try await larder.status()
        #expect(status.sites.map(\.published) == [report.visit])
        #expect(status.responses == 3)
        let service = try larder.serve(port: 0)
        defer { service.stop() }
        let page = try await service.visit(origin.url("/two"))
        #expect(String(decoding: page, as: UTF8.self).contains("two"))
        await #expect(throws: LarderError.self) { try await service.visit(origin.url("/three")) }
    }

    @Test func `a cancelled prefetch reports what it has, and the next one goes on`() async throws {
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
    func `what is no http or https URL is refused as input`(url: String) async throws {
        let error = await #expect(throws: LarderError.self) { try await larder.prefetch([url]) }
        #expect(error?.kind == .input)
    }

    @Test func `an address without a scheme is taken for https, as in a browser`() async throws {
        origin.stop()
        let report = try await larder.prefetch(["127.0.0.1:\(origin.port)/"])
        #expect(!report.isPublished)
        #expect(report.site == "https://127.0.0.1:\(origin.port)/")
    }

    @Test func `there is nothing to count or to serve before the first prefetch`() async throws {
        let error = await #expect(throws: LarderError.self) { try await larder.status() }
        #expect(error?.kind == .machine)
        #expect(throws: LarderError.self) { try larder.serve(port: 0) }
    }

    @Test(arguments: [
        (["LARDER_STORE": "/a", "XDG_DATA_HOME": "/b", "HOME": "/c"], "/a"),
        (["LARDER_STORE": "", "XDG_DATA_HOME": "/b", "HOME": "/c"], "/b/larder"),
        (["HOME": "/c"], "/c/.local/share/larder"),
        ([:], "./.local/share/larder"),
    ])
    func `the default store follows the environment`(environment: [String: String], path: String) {
        #expect(Larder.defaultPath(environment: environment) == path)
    }

    @Test func `a manifest fetched from a site brings the base of its URLs`() async throws {
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

    @Test func `a relative URL in a file's manifest asks for a base`() async throws {
        let manifest = try folder.write(
            "{\"bundles\": [{\"url\": \"/a.js\", \"md5\": \"0cc175b9c0f1b6a831c399e269772661\"}]}", to: "m.json")
        let error = await #expect(throws: LarderError.self) { try await larder.check(manifest) }
        #expect(error?.kind == .input)
        #expect(error?.description.contains("--base URL") == true)
    }
}
