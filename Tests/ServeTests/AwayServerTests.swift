import Glibc
import Markup
import System
import TestOrigin
import Testing

@testable import Mirror
@testable import Store

/// A mirror server whose PostgreSQL server becomes unreachable.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct AwayServerTests {
    @Test func `while PostgreSQL is away, requests get a 503, and later requests succeed again`() throws {
        let scratch = try TemporaryFolder()
        let place = try TestPostgreSQL.running.get().place(scratch.file("own"))
        let sockets = try #require(
            place.split(separator: "host=").last?.split(separator: "&").first.map(String.init))
        // A link to the socket's folder. Without it, PostgreSQL is unreachable.
        let link = scratch.file("link")
        try #require(symlink(sockets, link) == 0)
        let folder = StoreFolder(place.replacing(sockets, with: link))
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(
            site: "https://example.test/", start: ["https://example.test/"], now: 1)
        let body = try NewBody(
            .bytes(Array("home".utf8)), form: "\(BodyFormat.opaque.name);utf-8", links: LinkTable().encoded(),
            in: folder)
        let page = NewResponse(
            href: "https://example.test/", referrer: nil, status: 200, role: 0,
            fields: "Content-Type: text/plain\r\n", fetched: 1, body: .new(body))
        try writer.add([page], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))

        let notices = Monitor<[String]>([])
        var options = MirrorOptions()
        options.notice = { notice in notices.change { $0.append(notice) } }
        let server = try MirrorServer(
            folder, port: 0, threadCount: 1, memoryLimit: 1_000_000, secondsBetweenChecks: 0, options: options
        )
        defer { server.stop() }
        let client = try RawClient(port: Int(server.port))
        func get() throws -> RawResponse {
            try client.get("/", host: "example-test.localhost:\(server.port)")
        }
        #expect(try get().text == "home")

        unlink(link)
        let others = """
            FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND application_name = 'larder \(folder.server?.schema ?? "")'
            """
        let connection = try StoreFolder(place).connect(.readOnly)
        try connection.execute("SELECT pg_terminate_backend(pid) \(others)")
        // The function only signals the sessions, which end some time later.
        var left: Int64 = 1
        while left > 0 { try connection.prepare("SELECT count(*) \(others)").each { left = $0.integer(0) } }
        for _ in 0..<2 {
            let away = try get()
            #expect(away.status == 503)
            #expect(away["Retry-After"] == "2")
            #expect(away.text.contains("cannot "))
        }
        try #require(symlink(sockets, link) == 0)
        #expect(try get().text == "home")
        let reported = notices.change { $0 }
        #expect(reported.count == 2, "\(reported)")
        #expect(
            reported.first?.contains("answered with 503") == true && reported.last?.contains("again") == true)
    }

    @Test func `records that could not be written are put back and counted once`() {
        let notes = ServingRecords()
        notes.didRender(1, at: 5)
        notes.addMiss("http://a/", method: "GET", referrer: nil, isPage: false, at: 1)
        let taken = notes.take(withRendered: true)
        notes.didRender(1, at: 3)
        notes.addMiss("http://a/", method: "GET", referrer: "http://b/", isPage: true, at: 4)
        notes.putBack(taken)
        let all = notes.take(withRendered: true)
        #expect(all.rendered == [1: 5])
        #expect(all.misses.values.map(\.count) == [2])
        #expect(all.misses.values.first?.isPage == true && all.misses.values.first?.first == 1)
    }
}
