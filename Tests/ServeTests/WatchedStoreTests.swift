import Serve
import Store
import TestOrigin
import Testing

@Suite struct WatchedStoreTests {
    private static let address = "https://example.test/"

    /// A server that looks for each request, and what it answers.
    private func serving(_ store: StockedStore, _ use: (_ get: () throws -> RawResponse) throws -> Void) throws {
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenLooks: 0)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        try use { try client.get("/", host: "example-test.localhost:\(server.port)") }
    }

    @Test func `a new visit shows at the next look`() throws {
        let store = try StockedStore([.init(href: Self.address, text: "older")])
        try serving(store) { get in
            #expect(try get().text == "older")
            try store.publish([.init(href: Self.address, text: "newer")])
            #expect(try get().text == "newer")
        }
    }

    @Test func `a store that takes the place of another shows at the next look, and between them there is none`() throws
    {
        let store = try StockedStore([.init(href: Self.address, text: "older")])
        try serving(store) { get in
            let older = try get()
            #expect(older.text == "older")
            try store.takeAway()
            let between = try get()
            #expect(between.status == 500)
            #expect(between.text.contains("there is no larder"))
            try store.publish([.init(href: Self.address, text: "newer")])
            let newer = try get()
            #expect(newer.text == "newer")
            // Both are the first body of the first visit of their store.
            #expect(newer["ETag"] != older["ETag"])
        }
    }

    @Test func `a tag tells bodies and their types apart, and nothing else`() throws {
        let store = try StockedStore([.init(href: Self.address, text: "one")])
        try serving(store) { get in
            let first = try get()["ETag"]
            #expect(first != nil)
            try store.publish([
                .init(href: "https://example.test/other", text: "other"), .init(href: Self.address, text: "one"),
            ])
            #expect(try get()["ETag"] == first)
            try store.publish([.init(href: Self.address, text: "one", type: "text/html; charset=utf-8")])
            #expect(try get()["ETag"] != first)
            try store.publish([.init(href: Self.address, text: "two")])
            #expect(try get()["ETag"] != first)
        }
    }
}
