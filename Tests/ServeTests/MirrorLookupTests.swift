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
                .init(href: "https://example.test/loop", status: 302, extra: "Location: /loop?v=2\r\n"),
            ], settings: #"{"rules":["/search no-query"]}"#)
        server = try MirrorServer(store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000)
    }

    @Test(arguments: [
        ("/app.js", 200, "hit"), ("/app.js?v=17", 200, "hit; by=cache-busters"), ("/app.js?w=17", 504, "miss"),
        ("/search?q=a", 200, "hit; by=query"), ("/other?q=a", 504, "miss"), ("/loop?v=2", 504, "miss"),
    ])
    func `an answer that stands in for another says by what it was found`(
        target: String, status: Int, source: String
    ) throws {
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        for _ in 0..<2 {
            let answer = try client.get(target, host: "example.test.localhost:\(server.port)")
            #expect(answer.status == status)
            #expect(answer["Larder"] == source)
        }
    }
}
