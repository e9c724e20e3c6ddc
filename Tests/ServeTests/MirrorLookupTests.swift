import Serve
import Store
import TestOrigin
import Testing

@Suite struct MirrorLookupTests {
    private let store: StockedStore
    private let server: MirrorServer

    init() throws {
        store = try StockedStore(
            [
                .init(href: "https://example.test/app.js", text: "run()", type: "text/javascript"),
                .init(href: "https://example.test/search", text: "all", type: "text/plain"),
                .init(href: "https://example.test/other", text: "all", type: "text/plain"),
                .init(href: "https://example.test/dir/", text: "in the folder"),
                .init(href: "https://example.test/dir", status: 301, extra: "Location: /dir/\r\n"),
                .init(href: "https://example.test/search.html", text: "<script>run(location.search)</script>"),
                .init(href: "https://example.test/loop", status: 302, extra: "Location: /loop?v=2\r\n"),
            ], settings: #"{"rules":["/search no-query"]}"#)
        server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
    }

    @Test(arguments: [
        ("/app.js", 200, "hit"), ("/app.js?v=17", 200, "hit; by=cache-busters"), ("/app.js?w=17", 504, "miss"),
        ("/search?q=a", 200, "hit; by=query"), ("/other?q=a", 504, "miss"), ("/loop?v=2", 504, "miss"),
        ("/search.html?q=jam", 200, "hit; by=search"), ("/search.html?q=jam&page=2", 200, "hit; by=search"),
    ])
    func `an answer that stands in for another says by what it was found`(
        target: String, status: Int, source: String
    ) throws {
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        for _ in 0..<2 {
            let answer = try client.get(target, host: "example-test.localhost:\(server.port)")
            #expect(answer.status == status)
            #expect(answer["Larder"] == source)
        }
    }

    @Test func `who asks without the slash, or with it, is led to what is held where a redirect told so once`() throws {
        defer { server.stop() }
        try store.publish([
            .init(href: "https://example.test/page/", text: "page"),
            .init(href: "https://example.test/file", text: "f"),
        ])
        try store.learn([
            .init(href: "https://example.test/page", status: 301, extra: "Location: /page/\r\n"),
            .init(href: "https://example.test/file/", status: 301, extra: "Location: /file\r\n"),
        ])
        let other = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 0)
        defer { other.stop() }
        let client = try RawClient(port: Int(other.port))
        let here = "example-test.localhost:\(other.port)"
        for (asked, held) in [("/page", "/page/"), ("/file/", "/file")] {
            let answer = try client.get(asked, host: here)
            #expect(answer.status == 302)
            #expect(answer["Location"] == "http://\(here)\(held)")
            #expect(answer["Larder"] == "hit; by=slash")
        }
        #expect(try client.get("/app.js/", host: here).status == 504)
    }

    @Test(arguments: [false, true]) func `pages may ask the network only where that is allowed`(isAllowed: Bool) throws
    {
        server.stop()
        var options = MirrorOptions()
        options.allowsNetwork = isAllowed
        let other = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 0, options: options)
        defer { other.stop() }
        let client = try RawClient(port: Int(other.port))
        for path in ["/dir/", "/app.js", "/not-held"] {
            let answer = try client.get(path, host: "example-test.localhost:\(other.port)")
            #expect((answer["Content-Security-Policy"] == nil) == isAllowed, "\(path)")
        }
        // The larder's own pages need nothing of it.
        let portal = try client.get("/", host: "localhost:\(other.port)")
        #expect(portal["Content-Security-Policy"]?.hasPrefix("default-src 'none'") == true)
    }
}
