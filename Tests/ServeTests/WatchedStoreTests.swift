import Store
import TestOrigin
import Testing

@testable import Serve

@Suite struct WatchedStoreTests {
    private static let address = "https://example.test/"

    /// A server that looks for each request, and what it answers.
    private func serving(_ store: StockedStore, _ use: (_ get: () throws -> RawResponse) throws -> Void)
        throws
    {
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

    @Test
    func `a store that takes the place of another shows at the next look, and between them there is none`()
        throws
    {
        let store = try StockedStore([.init(href: Self.address, text: "older")])
        try serving(store) { get in
            let older = try get()
            #expect(older.text == "older")
            try store.takeAway()
            let between = try get()
            #expect(between.status == 503)
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
                .init(href: "https://example.test/other", text: "other"),
                .init(href: Self.address, text: "one"),
            ])
            #expect(try get()["ETag"] == first)
            try store.publish([.init(href: Self.address, text: "one", type: "text/html; charset=utf-8")])
            #expect(try get()["ETag"] != first)
            try store.publish([.init(href: Self.address, text: "two")])
            #expect(try get()["ETag"] != first)
        }
    }
}

/// What one thread's look at the store means for the others, who share its tier.
@Suite struct SharedTierTests {
    private static let address = "https://example.test/"
    private let tier = MemoryTier<Answer>(byteLimit: 1_000_000)
    private let store: StockedStore
    /// Those of two threads.
    private var one: WatchedStore
    private var other: WatchedStore

    init() throws {
        store = try StockedStore([.init(href: Self.address, text: "older")])
        one = try WatchedStore(store.folder, secondsBetweenLooks: 10)
        other = try WatchedStore(store.folder, secondsBetweenLooks: 10)
    }

    private func keep(_ text: String, madeIn generation: TierGeneration) -> Bool {
        let key = Array("key".utf8)
        return tier.keep(
            .text(200, text), byteCount: text.utf8.count, id: 1, for: key.span, madeIn: generation, now: 0)
    }

    private var isHeld: Bool {
        let key = Array("key".utf8)
        return tier.value(for: key.span, now: 0) != nil
    }

    @Test mutating func `what a thread makes before it has seen a change that another one saw is not kept`()
        throws
    {
        let before = one.generation(in: tier, at: 0)
        #expect(other.generation(in: tier, at: 0) == before)
        #expect(keep("older", madeIn: before))
        #expect(isHeld)
        try store.publish([.init(href: Self.address, text: "newer")])
        // It is not time for a look.
        #expect(other.generation(in: tier, at: 9) == before)
        #expect(isHeld)
        #expect(one.generation(in: tier, at: 10) != before)
        #expect(!isHeld)
        #expect(!keep("older", madeIn: before))
    }

    @Test
    mutating func `a thread looks at once when another one has seen a change, and both agree after that`()
        throws
    {
        let before = one.generation(in: tier, at: 0)
        _ = other.generation(in: tier, at: 0)
        try store.publish([.init(href: Self.address, text: "newer")])
        let seen = one.generation(in: tier, at: 10)
        let followed = other.generation(in: tier, at: 9)
        #expect(seen != before)
        // It has seen the change for itself, and cannot know whether there was another since.
        #expect(followed != seen)
        #expect(one.generation(in: tier, at: 10) == followed)
        #expect(other.generation(in: tier, at: 11) == followed)
        #expect(keep("newer", madeIn: followed))
        #expect(other.generation(in: tier, at: 19) == followed)
        #expect(isHeld)
    }

    @Test mutating func `a store that was replaced before the first look is seen at it`() throws {
        try store.takeAway()
        try store.publish([.init(href: Self.address, text: "newer")])
        let late = try WatchedStore(store.folder, secondsBetweenLooks: 10)
        let untouched = tier.generation
        #expect(one.generation(in: tier, at: 0) != untouched)
        _ = late
    }

    @Test mutating func `while there is no store each thread forgets once, and again when there is one`()
        throws
    {
        _ = one.generation(in: tier, at: 0)
        _ = other.generation(in: tier, at: 0)
        try store.takeAway()
        _ = one.generation(in: tier, at: 10)
        let gone = other.generation(in: tier, at: 10)
        for now: Int64 in [10, 20, 30] {
            #expect(one.generation(in: tier, at: now) == gone)
            #expect(other.generation(in: tier, at: now) == gone)
        }
        #expect(throws: StoreError.self) { try one.reader }
        try store.publish([.init(href: Self.address, text: "newer")])
        #expect(one.generation(in: tier, at: 40) != gone)
        #expect(try one.reader.response(for: Self.address) != nil)
    }
}
