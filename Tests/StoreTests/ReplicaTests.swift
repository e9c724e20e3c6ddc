import Glibc
import TestOrigin
import Testing

@testable import Store

/// Stores on a PostgreSQL server that is reached with TLS, and on a standby.
@Suite(
    .serialized,
    .enabled(if: TestReplica.isInstalled, "PostgreSQL or openssl is not installed (apt install postgresql)"))
struct ReplicaTests {
    private static let running: Result<TestReplica, TestError> = Result { () throws(TestError) in
        try TestReplica()
    }

    private let scratch: TemporaryFolder
    private let servers: TestReplica

    init() throws {
        scratch = try TemporaryFolder()
        servers = try Self.running.get()
    }

    private func folder(_ server: String, _ schema: String, _ settings: String) -> StoreFolder {
        StoreFolder(
            "postgres://larder@\(server)/postgres?schema=\(schema)&folder=\(scratch.file("own"))&\(settings)")
    }

    private func publish(_ text: String, in folder: StoreFolder) throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let page = NewResponse(
            href: "http://a/", referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
            body: .new(try NewBody(.bytes(Array(text.utf8)), form: "html;utf-8", links: [], in: folder)))
        try writer.add([page], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
    }

    @Test func `with verify-full the server needs a certificate of the named authority for its name`() throws
    {
        func place(_ host: String, _ authority: String) -> StoreFolder {
            folder("\(host):\(servers.port)", "tls", "sslmode=verify-full&sslrootcert=\(authority)")
        }
        let good = place("localhost", servers.authority)
        try publish("by TLS", in: good)
        let connection = try good.connect(.readOnly)
        #expect(
            try connection.integer("SELECT CAST(ssl AS int) FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
                == 1)
        #expect(try StoreReader(good).summary().responses == 1)
        for bad in [place("127.0.0.1", servers.authority), place("localhost", servers.otherAuthority)] {
            let error = #expect(throws: StoreError.self) { try StoreReader(bad) }
            #expect(error?.reason == .denied, "\(String(describing: error))")
            #expect(error?.description.contains("sslrootcert") == true, "\(String(describing: error))")
        }
        // The server refuses connections without TLS.
        let clear = folder("localhost:\(servers.port)", "tls", "sslmode=disable")
        let error = #expect(throws: StoreError.self) { try StoreReader(clear) }
        #expect(error?.reason == .denied)
    }

    /// Calls `read` until it returns a value, because a standby lags behind its primary. Nil after a minute.
    private func awaitValue<Value>(_ read: () throws -> Value?) -> Value? {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            if let found = try? read() { return found }
            usleep(10_000)
        }
        return nil
    }

    @Test func `a standby is readable, and soon has the writes of its primary`() throws {
        let primary = folder("", "replica", "host=\(servers.primary)&port=\(servers.port)")
        let standby = folder(
            "", "replica", "host=\(servers.standby)&port=\(servers.port)&target_session_attrs=any")
        try publish("one", in: primary)
        let reader = try #require(awaitValue { try StoreReader(standby) })
        let first = try #require(awaitValue { try reader.response(for: "http://a/")?.snapshot })
        let version = try reader.dataVersion()
        try publish("two", in: primary)
        let second = awaitValue {
            try reader.response(for: "http://a/").flatMap { $0.snapshot > first ? $0.snapshot : nil }
        }
        #expect(second != nil)
        #expect(try reader.dataVersion() != version)
        #expect(try #require(try reader.replicationLagSeconds()) < 60)
        #expect(try StoreReader(primary).replicationLagSeconds() == nil)
        #expect(try standby.condition().isStandby)
        let error = #expect(throws: StoreError.self) { try publish("three", in: standby) }
        #expect(error?.reason == .denied && error?.description.contains("name the primary server") == true)
    }

    @Test func `a reader that hides private responses does so on a standby too`() throws {
        let own = "host=\(servers.primary)&port=\(servers.port)"
        let primary = folder("", "private", own)
        let writer = try StoreWriter(primary)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        for (href, flags) in [("http://a/open", ResponseFlags()), ("http://a/secret", .isPrivate)] {
            var page = NewResponse(
                href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
                body: .new(
                    try NewBody(.bytes(Array(href.utf8)), form: "html;utf-8", links: [], in: primary)))
            page.flags = flags
            try writer.add([page], to: snapshot)
        }
        try writer.end(snapshot, .publish(now: 2))
        let standby = folder(
            "", "private", "host=\(servers.standby)&port=\(servers.port)&target_session_attrs=any")
        for place in [primary, standby] {
            let all = awaitValue {
                let reader = try StoreReader(place)
                return try reader.response(for: "http://a/secret").map { _ in reader }
            }
            #expect(all != nil)
            let open = try StoreReader(failingFast: place, hidesPrivate: true)
            #expect(try open.response(for: "http://a/open") != nil)
            #expect(try open.response(for: "http://a/secret") == nil)
            #expect(try open.versions(of: "http://a/secret").isEmpty)
            #expect(try open.summary().responses == 1)
            #expect(
                try open.responsesWithLinks(
                    for: ["http://a/open", "http://a/secret"], ofSnapshot: snapshot.id
                ).count == 1)
        }
    }

    @Test func `an address with both servers connects writers to the primary`() throws {
        let both = folder(
            "", "both",
            "host=\(servers.standby),\(servers.primary)&port=\(servers.port)&target_session_attrs=any")
        try publish("one", in: both)
        #expect(try both.connect(.readWrite).integer("SELECT CAST(pg_is_in_recovery() AS int)") == 0)
        #expect(try both.connect(.readOnly).integer("SELECT CAST(pg_is_in_recovery() AS int)") == 1)
    }
}
