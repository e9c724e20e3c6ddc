import Store
import Synchronization
import System
import TestOrigin
import Testing
import Web

@testable import HTTPServer
@testable import Mirror

@Suite struct WatchedStoreTests {
    private static let address = "https://example.test/"

    /// Runs a server that checks the store for changes before each request.
    private func serving(_ store: StockedStore, _ use: (_ get: () throws -> RawResponse) throws -> Void)
        throws
    {
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        try use { try client.get("/", host: "example-test.localhost:\(server.port)") }
    }

    @Test func `a new snapshot is served after the next check`() throws {
        let store = try StockedStore([.init(href: Self.address, text: "older")])
        try serving(store) { get in
            #expect(try get().text == "older")
            try store.publish([.init(href: Self.address, text: "newer")])
            #expect(try get().text == "newer")
        }
    }

    @Test
    func `a replaced store is served after the next check, and without a store requests get a 503`()
        throws
    {
        let store = try StockedStore([.init(href: Self.address, text: "older")])
        try serving(store) { get in
            let older = try get()
            #expect(older.text == "older")
            try store.moveAway()
            let between = try get()
            #expect(between.status == 503)
            #expect(between.text.contains("the store does not exist"))
            try store.publish([.init(href: Self.address, text: "newer")])
            let newer = try get()
            #expect(newer.text == "newer")
            // The ETags differ although both bodies have the same id in their stores.
            #expect(newer["ETag"] != older["ETag"])
        }
    }

    @Test func `an ETag depends on the body and media type only`() throws {
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

/// The effect of one thread's check of the store on the other threads that share its tier.
@Suite struct SharedTierTests {
    private static let address = "https://example.test/"
    private let tier = MemoryTier<Answer>(byteLimit: 1_000_000)
    private let store: StockedStore
    /// The watched stores of two threads.
    private var one: WatchedStore
    private var other: WatchedStore

    init() throws {
        store = try StockedStore([.init(href: Self.address, text: "older")])
        one = try WatchedStore(store.folder, secondsBetweenChecks: 10)
        other = try WatchedStore(store.folder, secondsBetweenChecks: 10)
    }

    /// Caches a response. Returns false if it was refused, because its generation is over.
    private func insert(_ text: String, derivedIn generation: TierGeneration) -> Bool {
        let key = Array("key".utf8)
        return tier.insert(
            .text(200, text), byteCount: text.utf8.count, id: 1, for: key.span, derivedIn: generation, now: 0)
    }

    private var isCached: Bool {
        let key = Array("key".utf8)
        return tier.value(for: key.span, now: 0) != nil
    }

    @Test mutating func `a response made before another thread noticed a change is not cached`()
        throws
    {
        let before = one.generation(in: tier, at: 0)
        #expect(other.generation(in: tier, at: 0) == before)
        #expect(insert("older", derivedIn: before))
        #expect(isCached)
        try store.publish([.init(href: Self.address, text: "newer")])
        // The next check of this thread is not due.
        #expect(other.generation(in: tier, at: 9) == before)
        #expect(isCached)
        #expect(one.generation(in: tier, at: 10) != before)
        #expect(!isCached)
        #expect(!insert("older", derivedIn: before))
    }

    @Test
    mutating func `a thread checks the store at once after another thread noticed a change`()
        throws
    {
        let before = one.generation(in: tier, at: 0)
        _ = other.generation(in: tier, at: 0)
        try store.publish([.init(href: Self.address, text: "newer")])
        let seen = one.generation(in: tier, at: 10)
        let followed = other.generation(in: tier, at: 9)
        #expect(seen != before)
        // The second thread begins a generation of its own, because the store may have changed again since the first check.
        #expect(followed != seen)
        #expect(one.generation(in: tier, at: 10) == followed)
        #expect(other.generation(in: tier, at: 11) == followed)
        #expect(insert("newer", derivedIn: followed))
        #expect(other.generation(in: tier, at: 19) == followed)
        #expect(isCached)
    }

    @Test mutating func `the first check notices a store that was replaced before it`() throws {
        try store.moveAway()
        try store.publish([.init(href: Self.address, text: "newer")])
        let late = try WatchedStore(store.folder, secondsBetweenChecks: 10)
        let untouched = tier.generation
        #expect(one.generation(in: tier, at: 0) != untouched)
        _ = late
    }

    @Test mutating func `while the store is missing, each thread empties its cache once`()
        throws
    {
        _ = one.generation(in: tier, at: 0)
        _ = other.generation(in: tier, at: 0)
        try store.moveAway()
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

    // MARK: - Generations begun by transactions

    private func generation(
        since look: TierGeneration, _ thread: inout WatchedStore
    ) throws -> TierGeneration? {
        try thread.reader.withFixedVersion { () throws(StoreError) in
            try thread.generation(since: look, in: tier)
        }
    }

    @Test mutating func `a transaction that sees another live snapshot begins a generation for all threads`()
        throws
    {
        let look = one.generation(in: tier, at: 0)
        _ = other.generation(in: tier, at: 0)
        #expect(insert("older", derivedIn: look))
        #expect(try generation(since: look, &one) == look)
        try store.publish([.init(href: Self.address, text: "newer")])
        let begun = try #require(try generation(since: look, &one))
        #expect(begun != look && tier.generation == begun)
        #expect(!isCached && !insert("older", derivedIn: look))
        // The transaction counts as a check, so that none is due.
        #expect(one.generation(in: tier, at: 9) == begun)
        #expect(other.generation(in: tier, at: 9) != look)
    }

    @Test mutating func `if another thread began a generation meanwhile, the store is checked again`() throws
    {
        let look = one.generation(in: tier, at: 0)
        _ = other.generation(in: tier, at: 0)
        try store.publish([.init(href: Self.address, text: "newer")])
        _ = try generation(since: look, &other)
        #expect(try generation(since: look, &one) == nil)
        let again = one.generation(in: tier, at: 0)
        #expect(try generation(since: again, &one) == again)
    }

    @Test mutating func `a run that publishes nothing keeps cached responses until the next check`()
        throws
    {
        let look = one.generation(in: tier, at: 0)
        #expect(insert("older", derivedIn: look))
        try store.addUnpublished([.init(href: "https://example.test/more", text: "more")])
        #expect(try generation(since: look, &one) == look)
        #expect(isCached)
        #expect(one.generation(in: tier, at: 10) != look)
    }
}

/// While snapshots are published, no client may get an older snapshot than before, whichever thread answers.
@Suite struct SnapshotSwitchTests {
    private static let names = ["/a", "/b", "/c"]

    private static func snapshot(_ number: Int) -> [StockedStore.Entry] {
        (names + ["/only-in-\(number)"]).map {
            .init(href: "https://example.test\($0)", text: "\(number)", type: "text/plain")
        }
    }

    /// A server that makes no periodic checks of the store during the test.
    private static func server(_ store: StockedStore) throws -> MirrorServer {
        try MirrorServer(
            store.folder, port: 0, threadCount: 4, memoryLimit: 10_000_000, secondsBetweenChecks: 1_000_000)
    }

    @Test
    func `after one connection served a new snapshot, cached responses of the previous one are not served`()
        throws
    {
        let store = try StockedStore(Self.snapshot(1))
        let server = try Self.server(store)
        defer { server.stop() }
        let host = "example-test.localhost:\(server.port)"
        // The kernel distributes the connections over the threads.
        let clients = try (0..<16).map { _ in try RawClient(port: Int(server.port)) }
        func expectAll(_ number: Int) throws {
            for client in clients {
                for name in Self.names { #expect(try client.get(name, host: host).text == "\(number)") }
            }
        }
        try expectAll(1)
        for number in 2...6 {
            try store.publish(Self.snapshot(number))
            // This URL was not requested before, so that the response comes from the store.
            let first = try clients[number].get("/only-in-\(number)", host: host)
            #expect(first.text == "\(number)")
            try expectAll(number)
        }
    }

    @Test func `clients that take turns between connections never get an older snapshot`() throws {
        let store = try StockedStore(Self.snapshot(1))
        let server = try Self.server(store)
        defer { server.stop() }
        let isOver = Atomic(false)
        let faults = Mutex<[String]>([])
        let threads = try (0..<4).map { number in
            try NamedThread.start("client-\(number)") {
                do {
                    let clients = try (0..<4).map { _ in try RawClient(port: Int(server.port)) }
                    var (newest, turn) = (1, 0)
                    while !isOver.load(ordering: .relaxed) {
                        turn += 1
                        // A missing URL is looked up in the store each time.
                        let name = turn % 5 == 0 ? "/missing-\(turn)" : Self.names[turn % 3]
                        let text = try clients[turn % 4].get(
                            name, host: "example-test.localhost:\(server.port)"
                        ).text
                        guard let shown = Int(text) else { continue }
                        if shown < newest { faults.withLock { $0.append("\(shown) after \(newest)") } }
                        newest = max(newest, shown)
                    }
                } catch {
                    faults.withLock { $0.append("\(error)") }
                }
            }
        }
        for number in 2...30 { try store.publish(Self.snapshot(number)) }
        isOver.store(true, ordering: .relaxed)
        for thread in threads { thread.join() }
        #expect(faults.withLock { $0 } == [])
    }

    @Test func `a memory-only response is replaced by a snapshot that was published after it`() throws {
        let store = try StockedStore(Self.snapshot(1))
        let servers = MirrorLoadingTests.ScriptedServers()
        servers.respond(
            "/a", 200, ["Content-Type": "text/plain", "Cache-Control": "max-age=100000"], "loaded")
        var options = MirrorOptions()
        options.root = WebURL("https://example.test/")
        options.policy = .preferCache
        options.rules = [try CacheRules.Rule("/** memory-only")]
        options.load = { servers.load($0, $1) }
        let server = try MirrorServer(
            store.folder, port: 0, threadCount: 1, memoryLimit: 10_000_000, secondsBetweenChecks: 1_000_000,
            options: options)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = "localhost:\(server.port)"
        let loaded = try client.get("/a", host: host, fields: [("Larder-Policy", "reload")])
        #expect(loaded.text == "loaded")
        #expect(try client.get("/a", host: host).text == "loaded")
        var entries = Self.snapshot(2)
        for index in entries.indices { entries[index].fetched = 1_900_000_001 }
        try store.publish(entries)
        #expect(try client.get("/a", host: host).text == "2")
    }

    @Test func `a reload serves a published snapshot although no check is due`() throws {
        let store = try StockedStore(Self.snapshot(1))
        let server = try Self.server(store)
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        let host = "example-test.localhost:\(server.port)"
        #expect(try client.get("/a", host: host).text == "1")
        try store.publish(Self.snapshot(2))
        server.reload()
        #expect(try client.get("/a", host: host).text == "2")
    }
}
