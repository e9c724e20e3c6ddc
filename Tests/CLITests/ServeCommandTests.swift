import Glibc
import TestOrigin
import Testing

/// Tests `larder serve` with signals, limits and obstacles.
@Suite struct ServeCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on("/", .page("<title>Home</title><p>some words about penguins"))
    }

    /// Starts a server. Returns it with the port that it prints.
    private func serve(_ words: [String] = [], shell: String? = nil) throws -> (Command, port: Int) {
        let server = try Command(["serve", "--port", "0"] + words, home: home, shell: shell)
        let line = server.read(until: "\n")
        let port = line.split(separator: "localhost:").last?.prefix { $0.isNumber }
        return (server, try #require(port.flatMap { Int($0) }, "\(line)"))
    }

    /// Requests the home page of the mirrored site.
    private func homePage(at port: Int) throws -> RawResponse {
        try RawClient(port: port).get("/", host: "port-\(origin.port).127-0-0-1.localhost:\(port)")
    }

    @Test func `a SIGHUP without a manifest to load does not end the server`() throws {
        #expect(try Command.run("prefetch", origin.url("/"), "--quiet", home: home).status == 0)
        let (server, port) = try serve()
        for _ in 1...3 {
            server.signal(SIGHUP)
            #expect(try homePage(at: port).text.contains("penguins"))
        }
        server.signal(SIGTERM)
        #expect(server.wait().status == 0)
    }

    @Test func `for a store without its database, the message suggests a repair and no prefetch`() throws {
        #expect(try Command.run("prefetch", origin.url("/"), "--quiet", home: home).status == 0)
        let store = home.file(".local/share/larder")
        for suffix in ["", "-wal", "-shm"] { unlink(store + "/larder.db" + suffix) }
        let ending = try Command.run("serve", "--port", "0", home: home)
        #expect(ending.status == 3)
        #expect(ending.errors.contains("larder fsck --repair"), "\(ending)")
        #expect(!ending.errors.contains("prefetch"), "\(ending)")
    }

    @Test(arguments: [110_000, 150_000, 190_000])
    func `every command reports a memory limit that is too low`(kilobytes: Int) throws {
        for words in [["list"], ["serve", "--port", "0"]] {
            let ending = try Command(
                words, home: home, shell: "ulimit -v \(kilobytes); exec timeout 300 \"$0\" \"$@\""
            ).wait()
            #expect(ending.status == 3 && ending.errors.contains("ulimit -v"), "\(ending)")
            #expect(ending.errors.split(separator: "\n").count == 1, "\(ending)")
        }
    }

    @Test(.enabled(if: Tmpfs.isPossible, "only root can mount a tmpfs"))
    func `on a full disk, stored pages are served, searched and exported`() throws {
        let disk = try Tmpfs(byteCount: 8_000_000)
        let store = ["--store", disk.path + "/store"]
        let stocked = try Command(["prefetch", origin.url("/"), "--quiet"] + store, home: home).wait()
        #expect(stocked.status == 0, "\(stocked)")
        #expect(try Command(["index"] + store, home: home).wait().status == 0)
        // Removes the files that earlier commands may have left beside the databases, because SQLite must create them
        // again.
        for name in ["larder.db-shm", "search.db-shm"] { unlink(disk.path + "/store/" + name) }
        try disk.fill()
        for words in [
            ["list"], ["status"], ["search", "penguins"],
            ["export", origin.url("/"), home.file("site.wacz")],
        ] {
            let ending = try Command(words + store, home: home).wait()
            #expect(ending.status == 0, "\(words): \(ending)")
        }
        for policy in ["offline", "auto", "protocol", "revalidate"] {
            let (server, port) = try serve(["--policy", policy] + store)
            for _ in 1...3 {
                let answer = try homePage(at: port)
                #expect(
                    answer.status == 200 && answer.text.contains("penguins"), "\(policy): \(answer.status)")
            }
            server.signal(SIGTERM)
            let ending = server.wait()
            #expect(ending.status == 0)
            let lines = ending.errors.split(separator: "\n").filter { $0.contains("recorded") }
            #expect(
                lines.count <= 1 && (policy == "offline" || lines.count == 1), "\(policy): \(ending.errors)")
        }
    }
}
