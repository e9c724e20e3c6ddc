import Glibc
import System
import TestOrigin
import Testing

@testable import Database
@testable import Store

/// Behaviour that only a PostgreSQL server has, such as lost sessions.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct ServerTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestPostgreSQL.running.get().place(scratch.file("store")))
    }

    private func page(_ number: Int, _ text: String) throws -> NewResponse {
        var page = NewResponse(
            href: "http://a/\(number)", referrer: "http://a/0", status: 200, role: 0, fields: "", fetched: 1,
            body: .new(try NewBody(.bytes(Array(text.utf8)), form: "html;utf-8", links: [1], in: folder)))
        page.number = UInt32(number)
        return page
    }

    /// Ends the sessions of all writers of this store.
    private func cutSessions() throws {
        try folder.connect(.readOnly).execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND pid IN (
                SELECT pid FROM pg_locks WHERE locktype = 'advisory'
                    AND (classid::bigint << 32 | objid::bigint) = \(folder.server?.database.lockKey(0) ?? 0))
            """)
    }

    @Test func `looking up many URLs at once gives the same responses as one at a time`() throws {
        for round in 1...2 {
            let writer = try StoreWriter(folder)
            let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
            let queue = try WriteQueue(writer, snapshot: snapshot)
            // The second snapshot has the first half of the pages, with other texts.
            for number in 0..<(round == 1 ? 40 : 20) {
                try queue.add(try page(number, "page \(number) \(round)"))
                guard number % 3 > 0 else { continue }
                var links = NewLinks(from: NewLinks.Target(href: nil, number: UInt32(number)))
                links.pages = [NewLinks.Target(href: nil, number: UInt32(number - 1))]
                try queue.addWithoutWaiting(links)
            }
            try queue.add(
                NewResponse(
                    href: "http://a/gone", referrer: nil, status: 404, role: 0, fields: "", fetched: 1,
                    body: .none))
            try queue.finish(.publish(now: 2))
            let reader = try StoreReader(folder)
            let hrefs = (0..<41).map { "http://a/\($0)" } + ["http://a/gone", "http://a/x'y", ""]
            var walked: [String: ResponseWithLinks] = [:]
            for one in try reader.responsesWithLinks(for: hrefs, ofSnapshot: snapshot.id) {
                #expect(walked.updateValue(one, forKey: one.response.href) == nil)
            }
            #expect(walked.count == (round == 1 ? 41 : 21))
            for href in hrefs {
                let alone = try reader.response(for: href, ofSnapshot: snapshot.id)
                #expect(walked[href]?.response == alone)
                let links =
                    if let alone { try reader.linkSummary(of: alone) } else { StoredLinkSummary?.none }
                #expect(walked[href]?.links == links)
            }
            #expect(try reader.responsesWithLinks(for: [], ofSnapshot: snapshot.id).isEmpty)
        }
    }

    @Test func `a writer whose session is cut continues, and no row is lost or duplicated`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let queue = try WriteQueue(writer, snapshot: snapshot)
        for number in 0..<600 {
            try queue.add(try page(number, "page \(number)"))
            if number > 0 {
                // The writer has the number of the previous page from its response.
                var links = NewLinks(from: NewLinks.Target(href: nil, number: UInt32(number)))
                links.pages = [NewLinks.Target(href: nil, number: UInt32(number - 1))]
                try queue.addWithoutWaiting(links)
            }
            if number % 150 == 75 { try cutSessions() }
        }
        try queue.finish(.publish(now: 2))
        let reader = try StoreReader(folder)
        #expect(try reader.summary().responses == 600)
        let last = try #require(try reader.response(for: "http://a/599"))
        #expect(try reader.storedLinks(of: last)?.pages == ["http://a/598"])
        let middle = try #require(try reader.response(for: "http://a/100"))
        #expect(try reader.storedLinks(of: middle)?.pages == ["http://a/99"])
        #expect(try reader.inspect().isSound)
    }

    @Test func `a session cut outside of a transaction loses nothing`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let queue = try WriteQueue(writer, snapshot: snapshot)
        let tests = self
        try queue.add(try page(1, "one"))
        // The closure runs on the writer's thread, between two transactions.
        try queue.commitSoon { try? tests.cutSessions() }
        try queue.add(try page(2, "two"))
        try queue.finish { () throws(StoreError) in
            try? tests.cutSessions()
            return .publish(now: 2)
        }
        let reader = try StoreReader(folder)
        #expect(try reader.sites().first?.published == snapshot.id)
        #expect(try reader.summary().responses == 2)
        // The lock of the site is released.
        let next = try StoreWriter(folder)
        #expect(try next.begin(site: "s", start: ["s"], now: 3).id != snapshot.id)
    }

    @Test func `a reader whose session is cut continues with a new one, and treats the store as changed`()
        throws
    {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([page(1, "one")], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let reader = try StoreReader(folder)
        let version = try reader.dataVersion()
        #expect(try reader.dataVersion() == version)
        try folder.connect(.readOnly).execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND query LIKE 'SELECT 1%'
            """)
        #expect(try reader.response(for: "http://a/1")?.status == 200)
        #expect(try reader.dataVersion() != version)
    }

    @Test func `an unreachable server is reported once and waited for, until an interruption`() throws {
        let place = try TestPostgreSQL.running.get().place(scratch.file("store"))
        let sockets = try #require(
            place.split(separator: "host=").last?.split(separator: "&").first.map(String.init))
        // A link to the socket's folder. Without it, the server is unreachable.
        let link = scratch.file("link")
        try #require(symlink(sockets, link) == 0)
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([page(1, "one")], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let (notices, interruption) = (Monitor<[String]>([]), Interruption())
        var watched = StoreFolder(place.replacing(sockets, with: link))
        watched.watch = PostgreSQLWatch(interruption) { notice in notices.change { $0.append(notice) } }
        let reader = try StoreReader(watched)
        let folder = folder
        func cut() throws {
            unlink(link)
            try folder.connect(.readOnly).execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE pid <> pg_backend_pid() AND application_name = 'larder \(folder.server?.schema ?? "")'
                """)
        }
        try cut()
        let reconnecting = try NamedThread.start("reconnecting") {
            _ = notices.wait(atMost: .seconds(60)) { $0.isEmpty ? nil : true }
            symlink(sockets, link)
        }
        #expect(try reader.summary().responses == 1)
        reconnecting.join()
        let reported = notices.change { $0 }
        #expect(reported.count == 2, "\(reported)")
        #expect(reported.first?.contains("; waiting for it to come back") == true, "\(reported)")
        #expect(reported.last?.contains("is back; continuing") == true, "\(reported)")
        try cut()
        interruption.request()
        let error = #expect(throws: StoreError.self) { try reader.summary() }
        #expect(error?.reason == .unreachable)
        #expect(notices.change { $0.count } == 2)
    }

    @Test(.enabled(if: SwallowingRelay.isPossible, "only root can drop packets on this system"))
    func
        `a network failure during a statement is reported, and an interruption ends the wait for the network`()
        throws
    {
        let place = try TestPostgreSQL.running.get().place(scratch.file("store"))
        let sockets = try #require(
            place.split(separator: "host=").last?.split(separator: "&").first.map(String.init))
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        try writer.add([page(1, "one")], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        let relay = try SwallowingRelay(to: sockets + "/.s.PGSQL.5432")
        let (notices, interruption) = (Monitor<[String]>([]), Interruption())
        let farPlace = place.replacing("host=\(sockets)", with: "host=127.0.0.1&port=\(relay.port)")
        var far = StoreFolder(farPlace)
        far.watch = PostgreSQLWatch(interruption) { notice in notices.change { $0.append(notice) } }
        let reader = try StoreReader(far)
        #expect(try reader.summary().responses == 1)
        func afterNotices(_ count: Int, _ body: @escaping @Sendable () -> Void) throws -> NamedThread {
            try NamedThread.start("reconnecting") {
                _ = notices.wait(atMost: .seconds(60)) { $0.count < count ? nil : true }
                body()
            }
        }
        relay.swallow(true)
        let reconnecting = try afterNotices(1) { relay.swallow(false) }
        #expect(try reader.summary().responses == 1)
        reconnecting.join()
        let reported = notices.change { $0 }
        #expect(reported.count == 2, "\(reported)")
        #expect(
            reported.first?.contains("it does not answer; waiting for it to come back") == true, "\(reported)"
        )
        #expect(reported.last?.contains("is back; continuing") == true, "\(reported)")

        // With these settings, the system would give up only after ten minutes.
        var patient = StoreFolder("\(farPlace)&tcp_user_timeout=600000&connect_timeout=600")
        patient.watch = far.watch
        let waiting = try StoreReader(patient)
        #expect(try waiting.summary().responses == 1)
        relay.swallow(true)
        let begun = ContinuousClock.now
        let stopping = try afterNotices(3) { interruption.request() }
        let error = #expect(throws: StoreError.self) { try waiting.summary() }
        stopping.join()
        #expect(error?.reason == .unreachable)
        #expect(.now - begun < .seconds(120))
    }

    @Test
    func `after an interruption no thread waits for a server that accepts a connection and stays silent`()
        throws
    {
        let origin = try RawOrigin { _ in true }
        let interruption = Interruption()
        var silent = StoreFolder("postgres://larder@127.0.0.1:\(origin.port)/larder?connect_timeout=600")
        silent.watch = PostgreSQLWatch(interruption) { _ in }
        interruption.request()
        let begun = ContinuousClock.now
        let error = #expect(throws: StoreError.self) { try StoreReader(silent) }
        #expect(error?.reason == .unreachable)
        #expect(.now - begun < .seconds(120))
    }

    @Test func `concurrent writers add the same bodies and URLs, and each is stored once`()
        throws
    {
        let pages = try (0..<300).map { try page($0, "shared \($0)") }
        let failures = Monitor<[String]>([])
        let folder = folder
        let threads = try (0..<4).map { thread in
            try NamedThread.start("writer-\(thread)") {
                do {
                    let writer = try StoreWriter(folder)
                    let snapshot = try writer.begin(site: "s\(thread)", start: ["s"], now: 1)
                    let queue = try WriteQueue(writer, snapshot: snapshot)
                    // Opposite orders, so that the writers conflict.
                    for page in thread % 2 == 0 ? pages : pages.reversed() { try queue.add(page) }
                    try queue.finish(.publish(now: 2))
                } catch {
                    failures.change { $0.append("\(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.change { $0 } == [])
        let summary = try StoreReader(folder).summary()
        #expect(summary.responses == 1200)
        #expect(summary.bodies == 300)
        #expect(try StoreReader(folder).inspect().isSound)
    }

    @Test func `URLs and variants that are too long for an index are distinguished and sorted`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let long = "http://a/" + String(repeating: "x1Y2", count: 5000)
        let hrefs = [long + "b", long + "a", "http://a/", long, "http://b/"]
        for (number, href) in hrefs.enumerated() {
            var page = try page(number, href)
            page = NewResponse(
                href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1, body: page.body)
            page.variant = href == long ? "cookie: " + String(repeating: "v", count: 9000) : ""
            try writer.add([page], to: snapshot)
        }
        try writer.end(snapshot, .publish(now: 2))
        var listed: [String] = []
        try StoreReader(folder).eachListedResponse { row in
            listed.append(row.href)
            return true
        }
        #expect(listed == hrefs.sorted())
        #expect(try StoreReader(folder).response(for: long + "a")?.href == long + "a")
    }

    @Test func `a text with a NUL is stored without it`() throws {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        var page = try page(1, "nul")
        page.fields = "X: a\0b\r\n"
        try writer.add([page], to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
        #expect(try StoreReader(folder).response(for: "http://a/1")?.fields == "X: a\u{FFFD}b\r\n")
    }

    @Test(arguments: [
        (
            "postgres://ann:secret@h:5433/db?schema=x&sslmode=require&password=p", "x",
            "postgres://ann@h:5433/db?schema=x&sslmode=require"
        ),
        ("postgresql://h/db", "larder", "postgresql://h/db"),
        ("postgres://u@/db?host=/run/x&folder=/tmp/a%20b", "larder", "postgres://u@/db?host=/run/x"),
        ("postgres://h/db?sslpassword=secret&pass%77ord=secret", "larder", "postgres://h/db"),
        // Passwords with characters that should have been percent-encoded.
        ("postgres://ann:secret/secret@h/db", "larder", "postgres://ann@h/db"),
        ("postgres://ann:secret@secret@h/db", "larder", "postgres://ann@h/db"),
        ("postgres://ann:secret?secret@h/db", "larder", "postgres://ann"),
    ])
    func `an address is displayed without its secrets`(text: String, schema: String, shown: String) throws {
        let address = try #require(PostgreSQLStoreAddress(text))
        #expect(address.schema == schema)
        #expect(address.shown == shown)
        #expect(StoreFolder(text).name == shown)
        #expect(!shown.contains("secret") && address.database.hasSecret == text.contains("secret"))
        let typed = PostgreSQLStoreAddress.withoutSecret(text)
        #expect(typed.hasPrefix(shown) && typed.contains("folder=") == text.contains("folder="))
        if text.contains("folder=") { #expect(StoreFolder(text).path == "/tmp/a b") }
    }

    @Test(arguments: [
        ("postgres://nobody@127.0.0.1:1/none", StoreError.Reason.unreachable),
        ("postgres://nobody@127.0.0.1:1/none?schema=a;b", .request),
        ("postgres://nobody@127.0.0.1:1/none?folder=here", .request),
    ])
    func `an unreachable server or invalid address is an error with advice`(
        text: String, reason: StoreError.Reason
    ) throws {
        let error = #expect(throws: StoreError.self) { try StoreReader(StoreFolder(text)) }
        #expect(error?.reason == reason)
        #expect(error?.description.contains("; ") == true)
        #expect(!Folder.exists("here"))
    }

    @Test(arguments: [
        "postgres://nobody:sec ret@127.0.0.1:1/none", "postgres://nobody:secret/secret@127.0.0.1:1/none",
        "postgres://nobody:%zzsecret@127.0.0.1:1/none",
        "postgres://nobody@127.0.0.1:1/none?password=%zzsecret",
        "postgres://nobody:secret?secret@127.0.0.1:1/none",
    ])
    func `messages of libpq contain no password`(text: String) {
        let error = #expect(throws: StoreError.self) { try StoreReader(StoreFolder(text)) }
        #expect(error?.description.contains("sec") == false, "\(error?.description ?? "")")
    }

    @Test func `a user without write access gets an error that names the user, and nothing is changed`()
        throws
    {
        func stock() throws {
            let writer = try StoreWriter(folder)
            let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
            try writer.add([page(1, "one"), page(2, "two")], to: snapshot)
            try writer.end(snapshot, .publish(now: 2))
        }
        // A function, because its writer must be closed: a collection below needs to be the only writer.
        try stock()
        let schema = try #require(folder.server?.schema)
        let role = "reader_\(schema)"
        try folder.connect(.readWrite).execute(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(role);
            """)
        let place = try TestPostgreSQL.running.get().place(scratch.file("store"))
        let reading = StoreFolder(place.replacing("larder@", with: "\(role)@"))
        #expect(try StoreReader(reading).summary().responses == 2)
        #expect(try ActivityDatabase.misses(in: reading).isEmpty)
        #expect(try reading.condition().version == PostgreSQLSchema.version)
        for change in [
            { _ = try StoreWriter(reading).forecastCollection(CollectionOptions(limit: 0), in: reading) },
            { _ = try StoreWriter(reading).begin(site: "t", start: ["t"], now: 3) },
            { try ActivityDatabase(reading).recordServed([(1, 1)]) },
        ] as [() throws -> Void] {
            let error = #expect(throws: StoreError.self) { try change() }
            #expect(error?.reason == .denied, "\(String(describing: error))")
            #expect(error?.description.contains("permission denied") == true)
            #expect(error?.description.contains("GRANT") == true)
        }
        #expect(try StoreReader(folder).summary().responses == 2)
    }

    @Test func `a store of an earlier version is refused with advice, and can be migrated beside others`()
        throws
    {
        _ = try StoreWriter(folder)
        let connection = try folder.connect(.readWrite)
        try connection.execute(
            """
            DROP TABLE served, miss, verdict, damage, keeping, channel, outcome, report, reading;
            UPDATE larder SET value = 1;
            DROP VIEW larder_response, larder_link;
            ALTER TABLE snapshot DROP COLUMN confirmed; ALTER TABLE response DROP COLUMN confirmed;
            ALTER TABLE snapshot DROP COLUMN archive;
            ALTER TABLE snapshot DROP COLUMN number; ALTER TABLE site DROP COLUMN snapshots;
            ALTER TABLE snapshot RENAME TO visit; ALTER TABLE response RENAME COLUMN snapshot TO visit;
            ALTER SEQUENCE snapshot_id_seq RENAME TO visit_id_seq; ALTER INDEX snapshot_pkey RENAME TO visit_pkey;
            ALTER INDEX snapshot_site RENAME TO visit_site; ALTER INDEX response_snapshot RENAME TO response_visit;
            ALTER TABLE link RENAME COLUMN assets TO requisites;
            CREATE VIEW larder_response AS SELECT 1; CREATE VIEW larder_link AS SELECT 1;
            CREATE TABLE work_visit (visit bigint PRIMARY KEY); CREATE TABLE work_move (visit bigint);
            INSERT INTO site (name, start) VALUES ('a', 'a');
            INSERT INTO visit (site, started, finished) VALUES (1, 1, 2), (1, 3, 4);
            """)
        let error = #expect(throws: StoreError.self) { try StoreReader(folder) }
        #expect(error?.description.contains("larder store migrate") == true)
        #expect(try folder.condition().needsMigration)
        // The migration waits for an open transaction of a reader. The loop waits until the server reports the lock.
        let reading = try folder.connect(.readWrite)
        try reading.execute("BEGIN; SELECT count(*) FROM response")
        let look = try connection.prepare(
            "SELECT count(*) FROM pg_locks WHERE relation = 'response'::regclass AND NOT granted")
        let (migrating, steps) = (folder, Monitor<Int?>(nil))
        let migration = try NamedThread.start("migration") {
            let count = try? migrating.migrate().count
            steps.change { $0 = count ?? -1 }
        }
        while try look.first(read: { $0.integer(0) }) == 0, steps.change({ $0 }) == nil { usleep(1000) }
        #expect(steps.change { $0 } == nil)
        try reading.execute("COMMIT")
        migration.join()
        #expect(steps.change { $0 } == PostgreSQLMigration.steps.count)
        #expect(try folder.migrate().isEmpty)
        try ActivityDatabase(folder).recordServed([(1, 1)])
        #expect(try !folder.condition().needsMigration)
        #expect(try StoreReader(folder).sites().first?.snapshots.map(\.name) == [1, 2])
        #expect(
            try connection.prepare("SELECT count(snapshot) FROM work_snapshot").first { $0.integer(0) } == 0)
        #expect(try connection.prepare("SELECT count(snapshot) FROM work_move").first { $0.integer(0) } == 0)
        // The view was recreated with the new columns.
        #expect(
            try connection.prepare("SELECT count(provenance) FROM larder_response").first { $0.integer(0) }
                == 0)
    }

    @Test func `a migration that fails at the views can be repeated`() throws {
        _ = try StoreWriter(folder)
        let connection = try folder.connect(.readWrite)
        try connection.execute(
            """
            UPDATE larder SET value = 5 WHERE name = 'version';
            DROP VIEW larder_response; DROP TABLE channel; DROP TABLE outcome; DROP TABLE report; DROP TABLE reading;
            ALTER TABLE snapshot DROP COLUMN number; ALTER TABLE site DROP COLUMN snapshots;
            CREATE VIEW larder_response AS SELECT 1; CREATE VIEW of_user AS SELECT * FROM larder_response;
            INSERT INTO site (name, start) VALUES ('a', 'a');
            INSERT INTO snapshot (site, started, finished) VALUES (1, 1, 2), (1, 3, 4);
            INSERT INTO served (url, at) VALUES (7, 70);
            """)
        #expect(throws: StoreError.self) { try folder.migrate() }
        #expect(try folder.condition().needsMigration)
        try connection.execute("DROP VIEW of_user")
        // The last step makes the views, and the steps before it were complete.
        #expect(try folder.migrate() == ["pages that were read"])
        #expect(
            try ActivityDatabase(folder).lastReadings(atMost: 2) == [Reading(url: 7, snapshot: nil, at: 70)])
        #expect(try StoreReader(folder).sites().first?.snapshots.map(\.name) == [1, 2])
        #expect(try ChannelDatabase(folder).channels() == [])
        #expect(
            try connection.prepare("SELECT count(snapshot) FROM larder_response").first { $0.integer(0) } == 0
        )
    }

    @Test func `migration steps only create tables and add columns`() {
        for step in PostgreSQLMigration.steps {
            for statement in step.sql.split(separator: ";") {
                let words = statement.split { " \n".contains($0) }.prefix(2).joined(separator: " ")
                if words.isEmpty { continue }
                let isNew = ["CREATE TABLE", "CREATE INDEX", "CREATE UNIQUE", "CREATE UNLOGGED"].contains(
                    words)
                let isColumn = words == "ALTER TABLE" && statement.contains(" ADD COLUMN ")
                #expect(isNew || isColumn, "\(step.name): \(words)")
            }
        }
    }

    @Test func `the active writers and their sites are known while they run`() throws {
        #expect(try StoreWriter(folder).isPostgreSQL)
        #expect(try folder.condition().writers.isEmpty)
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "http://s/", start: ["s"], now: 1)
        let reported = try folder.condition()
        #expect(reported.writers.map(\.sites) == [["http://s/"]])
        #expect(reported.writers.first?.session != nil && reported.writers.first?.isExclusive == false)
        try writer.end(snapshot, .publish(now: 2))
        #expect(try folder.condition().writers.map(\.sites) == [[]])
    }

    @Test func `a store of a later version is refused with its version`() throws {
        _ = try StoreWriter(folder)
        try folder.connect(.readWrite).execute("UPDATE larder SET value = 99 WHERE name = 'version'")
        for open in [{ _ = try StoreReader(folder) }, { _ = try StoreWriter(folder) }] as [() throws -> Void]
        {
            let error = #expect(throws: StoreError.self) { try open() }
            #expect(error?.reason == .unusable)
        }
    }
}
