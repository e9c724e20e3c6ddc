import Glibc
import TestOrigin
import Testing

@testable import Cluster
@testable import Store

/// Tests several workers on one PostgreSQL store, each with its own folder, as if on different machines.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct WorkCommandTests {
    private let home: TemporaryFolder
    private let origin: TestOrigin
    private let place: String
    private static let hosts = 6
    private static let pages = 30

    init() throws {
        home = try TemporaryFolder()
        origin = try TestOrigin()
        place = try TestPostgreSQL.running.get().place(home.file("own"))
        let port = origin.port
        origin.otherwise { request in
            guard let host = request["Host"]?.utf8.dropFirst().first.map({ Int($0) - 0x30 }) else {
                return nil
            }
            if request.target == "/robots.txt" { return .page("User-agent: *\nDisallow: /p/11\n") }
            if request.target == "/style.css" { return .file("p { margin: \(host)px }", type: "text/css") }
            guard let number = Int(request.target.dropFirst(3)), number < Self.pages else { return nil }
            if number == 7 { return nil }
            // A delay, so that each worker always has some requests in flight.
            usleep(20_000)
            var text =
                "<title>\(host) \(number)</title><link rel=stylesheet href=/style.css><p>page \(number) of \(host)"
            for next in [number * 2 + 1, number * 2 + 2] { text += "<a href=/p/\(next)>next</a>" }
            let other = (host + number + 1) % Self.hosts
            text += "<a href=http://h\(other).work.example:\(port)/p/\(number)>across</a>"
            return .page(text)
        }
    }

    /// The words of a command with the store and the names of the hosts.
    private func words(_ command: String..., place: String) -> [String] {
        let resolve = (0..<Self.hosts).flatMap {
            ["--resolve", "h\($0).work.example:\(origin.port):127.0.0.1"]
        }
        return command + ["--store", place, "--render", "never", "--no-index"] + resolve
    }

    private var start: String { "http://h0.work.example:\(origin.port)/p/0" }

    /// Starts three workers. The first page is answered when all have joined, so that no worker makes the whole snapshot
    /// alone.
    private func threeWorkers(_ more: String...) throws -> [Command] {
        origin.hold("/p/0")
        let workers = try (0..<3).map { try worker($0, more) }
        let connection = try StoreFolder(place).connect(.readWrite)
        let end = ContinuousClock.now + .seconds(120)
        var joined: Int64 = 0
        while joined < 3 {
            try #require(ContinuousClock.now < end, "\(joined) workers have joined")
            usleep(5000)
            try? connection.prepare("SELECT count(*) FROM work_worker").each { joined = $0.integer(0) }
        }
        origin.release("/p/0")
        return workers
    }

    /// Starts a worker on the site.
    private func worker(_ number: Int, _ more: [String] = []) throws -> Command {
        // A worker with a folder of its own counts as another machine.
        let own = place.replacing("&folder=\(home.file("own"))", with: "&folder=\(home.file("own\(number)"))")
        return try Command(
            words("work", place: own) + [start, "--scope", "domain", "--per-host", "2", "--json"] + more,
            home: home)
    }

    /// Returns the stored responses: each URL with its status and the digest of its body.
    private func list(_ place: String) throws -> [String] {
        let ending = try Command(["list", "--json", "--store", place], home: home).wait()
        #expect(ending.status == 0, "\(ending)")
        return ending.output.split(separator: "\n").compactMap { line in
            guard let end = line.firstRange(of: ",\"snapshot\"")?.lowerBound else { return nil }
            return String(line[..<end])
        }
    }

    @Test func `three workers, one of which is killed, store the same as one prefetch`() throws {
        let alone = home.file("alone")
        let single = try Command(
            words("prefetch", place: alone) + [start, "--scope", "domain", "--json"], home: home
        ).wait()
        #expect(single.status == 0, "\(single)")
        origin.forgetRequests()
        let workers = try threeWorkers()
        #expect(origin.waitForRequests(100))
        workers[0].signal(SIGKILL)
        let killed = workers[0].wait()
        let countAtEnd = origin.requests.count
        let endings = [killed] + workers.dropFirst().map { $0.wait() }
        #expect(endings[1].status == 0 && endings[2].status == 0, "\(endings)")
        // Exactly one of them completed the snapshot.
        let last = endings.dropFirst().filter { $0.output.contains("\"last\": true") }
        #expect(last.count == 1, "\(endings)")
        let expected = try list(alone)
        #expect(expected.count > 150)
        let held = try list(place)
        #expect(held == expected, "\(Set(held).symmetricDifference(expected))")
        // Only URLs that were requested before the kill, or were in flight then, are requested again: at most 16 requests
        // to each of the six hosts are in flight.
        var counts: [String: Int] = [:]
        for request in origin.requests { counts[(request["Host"] ?? "") + request.target, default: 0] += 1 }
        #expect(
            counts.values.count { $0 > 1 } <= countAtEnd + 6 * 16, "\(counts.filter { $0.value > 1 })")
        #expect(counts.values.allSatisfy { $0 <= 2 })
        let figures = ["pages", "assets", "redirects"].map { name in
            single.output.split(separator: "\n").first { $0.contains("\"\(name)\":") }
        }
        for figure in figures { #expect(last.first?.output.contains(figure ?? "none") == true, "\(last)") }
        let fsck = try Command(["fsck", "--store", place], home: home).wait()
        #expect(fsck.status == 0, "\(fsck)")
    }

    @Test func `a page limit applies to all workers together`() throws {
        let workers = try threeWorkers("--max-pages", "40")
        let endings = workers.map { $0.wait() }
        #expect(endings.allSatisfy { $0.status == 0 }, "\(endings)")
        let pages = Set(
            origin.requests.filter { $0.target.hasPrefix("/p/") }.map { ($0["Host"] ?? "") + $0.target })
        #expect(pages.count == 40)
        let last = try #require(endings.first { $0.output.contains("\"last\": true") })
        #expect(last.output.contains("the limit of 40 pages was reached"), "\(last)")
    }

    /// A missing robots.txt or page is stored together with the responses that depend on it.
    @Test func `responses that a killed worker had not stored are requested again`() throws {
        let alone = home.file("alone")
        let single = try Command(
            words("prefetch", place: alone) + [start, "--scope", "domain"], home: home
        ).wait()
        #expect(single.status == 0, "\(single)")
        origin.forgetRequests()
        let folder = StoreFolder(place)
        _ = try StoreWriter(folder)
        let tables = try folder.connect(.readWrite)
        try tables.begin()
        try tables.execute("LOCK TABLE response IN SHARE MODE")
        let killed = try worker(0)
        #expect(origin.waitForRequests(150))
        killed.signal(SIGKILL)
        _ = killed.wait()
        try tables.rollBack()
        try loseLeases(folder, atMost: 1)
        let ending = try worker(1).wait()
        #expect(ending.status == 0, "\(ending)")
        let (held, expected) = (try list(place), try list(alone))
        #expect(held == expected, "\(Set(held).symmetricDifference(expected))")
    }

    @Test func `a page limit applies even if a worker loses its lease`() throws {
        let workers = try threeWorkers("--max-pages", "40")
        #expect(origin.waitForRequests(25))
        try loseLeases(StoreFolder(place), atMost: 1)
        let endings = workers.map { $0.wait() }
        #expect(endings.allSatisfy { $0.status == 0 }, "\(endings)")
        #expect(endings.count { $0.output.contains("\"lostLeases\": 1") } == 1, "\(endings)")
        let pages = try list(place).filter { $0.contains(":\(origin.port)/p/") }
        #expect(pages.count == 40, "\(pages)")
        let last = try #require(endings.first { $0.output.contains("\"last\": true") })
        #expect(last.output.contains("the limit of 40 pages was reached"), "\(last)")
    }

    /// Expires the leases of the workers with the most requests.
    private func loseLeases(_ folder: StoreFolder, atMost count: Int) throws {
        let connection = try folder.connect(.readWrite)
        var leases: [(worker: Int64, snapshot: Int64)] = []
        try connection.prepare(
            "SELECT id, snapshot FROM work_worker ORDER BY granted - share DESC, hosts DESC LIMIT ?"
        ).each(.integer(Int64(count))) { leases.append(($0.integer(0), $0.integer(1))) }
        #expect(leases.count == count)
        let frontier = try SharedFrontier(folder)
        try frontier.setUpTables()
        for lease in leases { try frontier.leave(lease.worker, of: lease.snapshot) }
    }

    @Test func `another worker completes the snapshot of an interrupted worker, without naming the site`()
        throws
    {
        let first = try worker(0)
        #expect(origin.waitForRequests(20))
        let begun = ContinuousClock.now
        first.signal(SIGINT)
        let ending = first.wait()
        #expect(ending.status == 130, "\(ending)")
        let before = (ContinuousClock.now - begun) / .seconds(1)
        let next = try Command(words("work", place: place) + ["--json"], home: home).wait()
        #expect(next.status == 0, "\(next)")
        #expect(next.output.contains("\"last\": true") && next.output.contains("\"live\": true"))
        // The report covers the whole snapshot, including the first worker's time.
        let seconds = next.output.split(separator: "\"seconds\": ").last?.prefix { $0.isNumber || $0 == "." }
        #expect(seconds.flatMap { Double($0) } ?? 0 >= before, "\(next)")
        let none = try Command(words("work", place: place), home: home).wait()
        #expect(none.status == 0 && none.output.contains("larder work URL"), "\(none)")
    }

    @Test func `a store in a folder has no workers`() throws {
        let ending = try Command(words("work", place: home.file("folder")) + [start], home: home).wait()
        #expect(ending.status == 2 || ending.status == 3, "\(ending)")
        #expect(ending.errors.contains("postgres://"), "\(ending)")
    }
}
