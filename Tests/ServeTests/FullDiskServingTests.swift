import Mirror
import Store
import Synchronization
import TestOrigin
import Testing
import Web

/// A server that loads responses while its disk is full. Clients get stored and loaded responses, and the server prints
/// one notice that it records nothing.
@Suite(.enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"))
struct FullDiskServingTests {
    private static let policies = [CachePolicy.auto, .protocol, .revalidate]

    private let disk: Tmpfs
    private let folder: StoreFolder
    private let servers = MirrorLoadingTests.ScriptedServers()
    private let notices = Notices()

    private final class Notices: Sendable {
        private let texts = Mutex<[String]>([])

        var all: [String] { texts.withLock { $0 } }

        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    init() throws {
        disk = try Tmpfs(byteCount: 6_000_000)
        folder = StoreFolder(disk.path + "/store")
        let stocked = try StockedStore([
            .init(
                href: "https://example.test/stale", text: "stored", type: "text/plain",
                extra: "Cache-Control: max-age=1\r\nETag: \"v1\"\r\n")
        ])
        let copy = try ChildProcess("/bin/cp", ["-a", stocked.folder.path, folder.path]).wait()
        #expect(copy.status == 0, "\(copy)")
    }

    private func serving(
        _ policy: CachePolicy, _ use: (_ get: (String) throws -> RawResponse) throws -> Void
    ) throws {
        var options = MirrorOptions()
        options.root = WebURL("https://example.test/")
        options.policy = policy
        options.load = { [servers] in servers.load($0, $1) }
        options.notice = { [notices] in notices.add($0) }
        let server = try MirrorServer(
            folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0, options: options
        )
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        try use { try client.get($0, host: "localhost:\(server.port)") }
    }

    private func expectAnswers(_ get: (String) throws -> RawResponse) throws {
        servers.respond("/stale", 304, ["ETag": "\"v1\"", "Cache-Control": "max-age=1"])
        for _ in 1...3 {
            let confirmed = try get("/stale")
            #expect(confirmed.status == 200 && confirmed.text == "stored", "\(confirmed.status)")
        }
        servers.respond("/stale", 200, ["Content-Type": "text/plain", "ETag": "\"v2\""], "newer")
        for _ in 1...3 {
            let loaded = try get("/stale")
            #expect(loaded.status == 200 && loaded.text == "newer", "\(loaded.status)")
        }
        servers.respond("/new", 200, ["Content-Type": "text/plain"], "new")
        #expect(try get("/new").text == "new")
    }

    @Test(arguments: policies)
    func `a server started on a full disk serves responses, and reports once that it records nothing`(
        policy: CachePolicy
    ) throws {
        try disk.fill()
        try serving(policy) { get in
            try expectAnswers(get)
            // Under the policy revalidate, a silent origin means an error.
            guard policy != .revalidate else { return }
            servers.fallSilent("/stale")
            let stored = try get("/stale")
            #expect(stored.status == 200 && stored.text == "stored", "\(stored.status)")
        }
        #expect(notices.all.count == 1, "\(notices.all)")
        #expect(notices.all.first?.contains("recorded until this is resolved") == true, "\(notices.all)")
    }

    @Test(arguments: policies)
    func `a server whose disk becomes full serves responses, and records again when there is space`(
        policy: CachePolicy
    ) throws {
        servers.respond("/new", 200, ["Content-Type": "text/plain"], "first")
        try serving(policy) { get in
            #expect(try get("/new").text == "first")
            try disk.fill()
            // A large response, because small writes may still fit into the existing write-ahead log.
            servers.respond(
                "/large", 200, ["Content-Type": "text/plain"], String(repeating: "x", count: 900_000))
            #expect(try get("/large").body.count == 900_000)
            try expectAnswers(get)
            #expect(notices.all.count == 1, "\(notices.all)")
            try disk.free()
            servers.respond("/later", 200, ["Content-Type": "text/plain"], "later")
            #expect(try get("/later").text == "later")
        }
        #expect(notices.all.count == 2, "\(notices.all)")
        #expect(try StoreReader(folder).response(for: "https://example.test/later") != nil)
    }

    @Test func `under the policy offline, a server serves a store on a read-only disk`() throws {
        try disk.makeReadOnly()
        try serving(.offline) { get in
            let answer = try get("/stale")
            #expect(answer.text == "stored")
        }
    }
}
