import Glibc
import Store
import TestOrigin
import Testing
import Web

@testable import Mirror

/// Bodies that changed on the disk after they were stored.
@Suite struct VerificationTests {
    private let store: StockedStore
    private static let address = "https://example.test/film"

    init() throws {
        // The body is large enough for a file of its own.
        store = try StockedStore([
            .init(
                href: Self.address, text: String(repeating: "a", count: Limits.maxPackedBodyBytes + 1),
                type: "text/plain")
        ])
    }

    /// Changes one byte of the body's file.
    private func damage() throws {
        let reader = try StoreReader(store.folder)
        let body = try #require(try reader.response(for: Self.address)?.body)
        guard case .file(let path) = try #require(try reader.content(of: body)) else {
            throw TestError("it is no file")
        }
        guard chmod(path, 0o600) == 0 else { throw TestError("opening \(path)") }
        let file = open(path, O_WRONLY)
        defer { close(file) }
        guard pwrite(file, "b", 1, 150_000) == 1 else { throw TestError("writing \(path)") }
    }

    private func serving(_ verification: Verification, _ use: (() throws -> Int) throws -> Void) throws {
        var options = MirrorOptions()
        options.verification = verification
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 10_000_000, options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        try use { try client.get("/film", host: "example-test.localhost:\(server.port)").status }
    }

    @Test func `a damaged body is loaded again if the policy allows it`() throws {
        try damage()
        let servers = MirrorLoadingTests.ScriptedServers()
        servers.respond(
            "/film", 200, ["Content-Type": "text/plain"],
            String(repeating: "a", count: Limits.maxPackedBodyBytes + 1)
        )
        var options = MirrorOptions()
        options.verification = .once
        for (policy, source) in [(CachePolicy.preferCache, "loaded"), (.offline, "hit")] {
            options.policy = policy
            let load: Load = { servers.load($0, $1) }
            options.load = policy == .offline ? nil : load
            let server = try MirrorServer(
                store.folder, port: 0, threadCount: 1, memoryLimit: 10_000_000, options: options)
            defer { server.stop() }
            let client = try RawClient(port: Int(server.port))
            let answer = try client.get("/film", host: "example-test.localhost:\(server.port)")
            #expect(answer.status == 200, "\(answer.text.prefix(300))")
            #expect(answer["Larder"] == source)
        }
    }

    @Test(arguments: [(Verification.never, 200, 200), (.once, 500, 500), (.always, 500, 500)])
    func `a damaged body is detected as often as the verification option says`(
        verification: Verification, afterwards: Int, anew: Int
    ) throws {
        try serving(verification) { (get: () throws -> Int) throws -> Void in
            #expect(try get() == 200)
            try damage()
            #expect(try get() == afterwards)
        }
        try serving(verification) { (get: () throws -> Int) throws -> Void in
            for _ in 0..<2 { #expect(try get() == anew) }
        }
    }
}

@Suite struct LargeBodyTests {
    @Test func `a large page is spliced while it is sent, whole and in ranges`() throws {
        let line =
            "<p><a href=\"https://cdn.test/x?a&amp;b\">one</a> <a href=/local>two</a> and words beside them</p>\n"
        let page = "<!doctype html><head><script>1</script>" + String(repeating: line, count: 20_000)
        let store = try StockedStore([.init(href: "https://example.test/", text: page)])
        var options = MirrorOptions()
        options.hasShim = false
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = "example-test.localhost:\(server.port)"
        let expected = Array(
            page.replacing("https://cdn.test/x?", with: "http://cdn-test.localhost:\(server.port)/x?").utf8)
        for _ in 0..<2 {
            let answer = try client.get("/", host: host, within: .seconds(60))
            #expect(answer.status == 200)
            #expect(answer.body == expected)
        }
        let head = try client.get("/", method: "HEAD", host: host, within: .seconds(60))
        #expect(head["Content-Length"] == "\(expected.count)")
        let part = try client.get(
            "/", host: host, fields: [("Range", "bytes=1000000-1300000")], within: .seconds(60))
        #expect(part.status == 206)
        #expect(part.body == Array(expected[1_000_000...1_300_000]))
        let parts = try client.get("/", host: host, fields: [("Range", "bytes=0-9,-9")], within: .seconds(60))
        #expect(parts["Content-Type"]?.hasPrefix("multipart/byteranges") == true)
        #expect(parts.text.contains("</p>"))
    }
}
