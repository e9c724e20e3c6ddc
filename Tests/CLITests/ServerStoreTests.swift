import Store
import TestOrigin
import Testing

@testable import larder

/// Runs all commands with a store in PostgreSQL, and compares them with a store in a folder.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct ServerStoreTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin
    private let places: [String]

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        origin.on(
            "/", .page("<title>Home</title><a href=/a>a</a><img src=/large>").validated(entityTag: "\"1\""))
        origin.on("/a", .page("<title>Jam</title><p>how to cook apricots</p><a href=/b?x=1>b</a>"))
        origin.on("/b?x=1", .page("b"))
        origin.on(
            "/large", .page(String(repeating: "large ", count: 300_000)).validated(entityTag: "\"1\""))
        places = [home.file("store"), try TestPostgreSQL.running.get().place(home.file("own"))]
    }

    private func larder(_ words: [String], _ place: String) throws -> Command.Ending {
        try Command(words + ["--store", place], home: home).wait()
    }

    /// Expects that the command prints the same for both stores.
    private func expectAlike(_ words: String..., at place: SourceLocation = #_sourceLocation) throws {
        let endings = try places.map { try larder(words, $0) }
        #expect(endings[0].status == endings[1].status, "\(endings)", sourceLocation: place)
        let texts = zip(endings, places).map { ending, place in
            ending.output.replacing("'\(place)'", with: "STORE").replacing(place, with: "STORE")
        }
        #expect(texts[0] == texts[1], sourceLocation: place)
        #expect(endings[0].errors == endings[1].errors, sourceLocation: place)
    }

    @Test func `every command prints the same for PostgreSQL as for a folder`() throws {
        let site = origin.url("/")
        for place in places {
            let ending = try larder(["prefetch", site], place)
            #expect(ending.status == 0, "\(ending)")
        }
        origin.on("/a", .page("<title>Jam</title><p>how to cook plums</p>"))
        for place in places {
            let ending = try larder(["update", site], place)
            #expect(ending.status == 0, "\(ending)")
        }
        try expectAlike("list")
        try expectAlike("list", "--type", "html")
        try expectAlike("cat", origin.url("/large"))
        try expectAlike("cat", origin.url("/a"), "--snapshot", "1")
        try expectAlike("diff", site)
        try expectAlike("search", "plums")
        try expectAlike("check", "--offline", site)
        try expectAlike("sites")
        try expectAlike("misses")
        try expectAlike("pin", "--url", origin.url("/a"))
        try expectAlike("pins")
        try expectAlike("fsck")
        try expectAlike("rollback", site)
        try expectAlike("cat", origin.url("/a"))
        try expectAlike("explain", origin.url("/b?x=1"))
        for place in places {
            let forecast = try larder(
                ["gc", "--dry-run", "-v", "--max-size", "1M", "--allow-incomplete"], place)
            #expect(forecast.status == 0 && forecast.output.contains(origin.url("/large")), "\(forecast)")
            #expect(try larder(["list"], place).output.contains(origin.url("/large")))
            #expect(try larder(["gc", "--max-size", "1M", "--allow-incomplete"], place).status == 0)
            #expect(
                try larder(["export", site, home.file("x.warc.gz"), "--verify", "--force"], place).status == 0
            )
        }
        for place in places { #expect(try larder(["fsck"], place).status == 0) }
        try expectAlike("remove", site)
        try expectAlike("sites")
    }

    @Test func `a store copied to PostgreSQL and back is the same`() throws {
        let site = origin.url("/")
        #expect(try larder(["prefetch", site], places[0]).status == 0)
        let server = try TestPostgreSQL.running.get().place(home.file("there"))
        func run(_ words: [String]) throws -> Command.Ending { try Command(words, home: home).wait() }
        let there = try run(["store", "copy", places[0], server, "--verify"])
        #expect(there.status == 0 && there.output.contains(" read back and equal"), "\(there)")
        #expect(there.output.contains("store") && there.output.contains("larder index"), "\(there)")
        let back = try run(["store", "copy", server, home.file("back")])
        #expect(back.status == 0, "\(back)")
        let listed = try larder(["list"], places[0])
        for place in [server, home.file("back")] {
            #expect(try larder(["list"], place).output == listed.output)
            #expect(try larder(["fsck"], place).status == 0)
            let status = try larder(["store", "status"], place)
            #expect(status.status == 0 && status.output.contains("not being written to"), "\(status)")
            #expect(try larder(["store", "migrate"], place).output.contains("is up to date"))
            #expect(try larder(["update", site], place).status == 0)
        }
        let again = try run(["store", "copy", places[0], server])
        #expect(again.status == 2 && again.errors.contains("a store already exists there; name"), "\(again)")
        for words in [["store", "copy", server], ["store", "status", "x"], ["store", "what"]] {
            let wrong = try run(words)
            #expect(wrong.status == 2 && wrong.errors.contains("larder help store"), "\(wrong)")
        }
    }

    @Test func `a copy is compressed with --compress, and a copy of it stays compressed`() throws {
        let site = origin.url("/")
        origin.on("/", .page("<p>" + String(repeating: "how to cook plums, and what of. ", count: 20_000)))
        #expect(try larder(["prefetch", site], places[0]).status == 0)
        func copy(_ from: String, _ name: String, _ more: String...) throws -> (place: String, bytes: Int) {
            let place = home.file(name)
            let ending = try Command(["store", "copy", from, place] + more, home: home).wait()
            #expect(ending.status == 0, "\(ending)")
            let packs = home.names(in: name + "/packs").map { BodyContent.file(path: "\(place)/packs/\($0)") }
            return (place, packs.reduce(0) { $0 + ($1.byteCount ?? 0) })
        }
        let plain = try copy(places[0], "plain")
        let small = try copy(places[0], "small", "--compress")
        #expect(plain.bytes > 600_000)
        #expect(small.bytes < plain.bytes - 500_000)
        #expect(try copy(small.place, "again").bytes == small.bytes)
    }

    @Test func `a suggested command contains the address without its password`() throws {
        let secret = "postgres://ann:secret@db.test/larder?schema=x"
        let entry = try #require(CommandEntry.command(named: "update"))
        let arguments = try Arguments(["--store", secret], for: entry)
        #expect(arguments.commandLine == "larder update --store 'postgres://ann@db.test/larder?schema=x'")
        let schedule = try larder(["schedule", "--print-timer"], secret)
        #expect(schedule.status == 0 && schedule.output.contains("ann@db.test"), "\(schedule)")
        #expect(!schedule.output.contains("secret"))
    }

    @Test func `errors in an address have advice, and never show the password`() throws {
        let secret = "postgres://ann:secret@127.0.0.1:1/none"
        let ending = try larder(["status"], secret)
        #expect(ending.status == 3)
        #expect(ending.errors.contains("postgres://ann@127.0.0.1:1/none"), "\(ending)")
        #expect(!ending.errors.contains("secret"))
        #expect(ending.errors.contains("; check that the PostgreSQL server is running"), "\(ending)")
        for odd in ["?schma=x", "?sslmode=perhaps", "?schema=a-b", "?folder=here", "?connect_timeout=soon"] {
            let wrong = try larder(["status"], secret + odd)
            #expect(wrong.status == 2 && !wrong.errors.contains("secret"), "\(wrong)")
            #expect(wrong.errors.contains("; write it as postgres://"), "\(wrong)")
        }
        let empty = try larder(["list"], places[1])
        #expect(empty.status == 3 && empty.errors.contains("the store does not exist"), "\(empty)")
    }
}
