import Database
import Digest
import Glibc
import System
import TestOrigin
import Testing

@testable import Store

/// Stores on a PostgreSQL server whose larger bodies are in a folder outside of the database.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct BodyDepotTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder
    /// The folder that several stores may use. `depot` is this store's subfolder of it.
    private let shared: String

    init() throws {
        scratch = try TemporaryFolder()
        shared = scratch.file("shared")
        folder = StoreFolder(try TestPostgreSQL.running.get().place(scratch.file("store"), bodies: shared))
    }

    private var depot: String {
        guard case .folder(let path)? = folder.server?.bodies?.kind else { return "" }
        return path
    }

    /// The names of the body files. The mark of the store and temporary files are not included.
    private var files: [String] {
        StoreFolder.names(in: depot).filter { $0.utf8.count == 2 }.flatMap { part in
            StoreFolder.names(in: depot + "/" + part).map { part + "/" + $0 }
        }.sorted()
    }

    private static func bytes(_ count: Int, _ seed: Int = 1) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ seed) }
    }

    private static func name(_ bytes: [UInt8]) -> String {
        let hex = DigestStream.digest(.sha256, of: bytes.span).hex
        return hex.prefix(2) + "/" + hex
    }

    private func page(_ href: String, _ bytes: [UInt8], form: String = "html;utf-8") throws -> NewResponse {
        NewResponse(
            href: href, referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
            body: .new(try NewBody(.bytes(bytes), form: form, links: [1], in: folder)))
    }

    private static let small = bytes(1000)
    private static let middle = bytes(70_000)
    private static let large = bytes(Limits.maxPackedBodyBytes * 2 + 5)

    /// Stores a small, a middle and a large body, the large one at two URLs.
    private func stock(_ site: String = "s") throws {
        try add(
            [
                page("http://\(site)/small", Self.small), page("http://\(site)/middle", Self.middle),
                page("http://\(site)/large", Self.large),
                page("http://\(site)/again", Self.large, form: "text;utf-8"),
            ], to: site)
    }

    /// Adds a snapshot of a site, and closes the writer.
    private func add(_ pages: @autoclosure () throws -> [NewResponse], to site: String) throws {
        // A writer that is alone removes temporary files when it opens the store.
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: site, start: [site], now: 1)
        try writer.add(try pages(), to: snapshot)
        try writer.end(snapshot, .publish(now: 2))
    }

    private func content(_ href: String) throws -> BodyContent? {
        let reader = try StoreReader(folder)
        guard let body = try reader.response(for: href)?.body else { return nil }
        return try reader.content(of: body)
    }

    @Test func `large bodies are stored once each in the external folder, small ones in rows`() throws {
        try stock()
        try stock("t")
        #expect(files == [Self.name(Self.middle), Self.name(Self.large)].sorted())
        #expect(StoreFolder.names(in: depot + "/incoming").isEmpty)
        #expect(scratch.names(in: "store/incoming").isEmpty)
        let connection = try folder.connect(.readOnly)
        #expect(try connection.integer("SELECT count(*) FROM piece") == 0)
        #expect(try connection.integer("SELECT count(*) FROM content WHERE bytes IS NULL") == 3)
        #expect(try content("http://s/small") == .bytes(Self.small))
        #expect(try content("http://s/middle") == .bytes(Self.middle))
        let path = depot + "/" + Self.name(Self.large)
        #expect(try content("http://s/large") == .file(path: path))
        #expect(try content("http://s/large")?.load() == Self.large)
        let reader = try StoreReader(folder)
        #expect(try reader.bodies.isStored(#require(try reader.response(for: "http://s/large")?.body)))
        #expect(try reader.inspect().isSound)
        let part = try folder.condition().parts.first { $0.name == folder.server?.bodies?.text }
        #expect(part?.byteCount == Int64(Self.middle.count + Self.large.count))
    }

    @Test func `concurrent writers store the same bodies once, even if their sessions are cut`() throws {
        let bodies = (0..<24).map { Self.bytes(66_000 + $0, $0) }
        let failures = Monitor<[String]>([])
        let begun = Monitor(0)
        let tests = self
        let threads = try (0..<3).map { thread in
            try NamedThread.start("writer-\(thread)") {
                do {
                    let writer = try StoreWriter(tests.folder)
                    let snapshot = try writer.begin(site: "s\(thread)", start: ["s"], now: 1)
                    begun.change { $0 += 1 }
                    // Sessions are cut only after all writers have begun: before that, a writer cannot continue with a new session.
                    _ = begun.wait(atMost: .seconds(60)) { $0 == 3 ? true : nil }
                    let queue = try WriteQueue(writer, snapshot: snapshot)
                    for (number, body) in (thread == 0 ? bodies : bodies.reversed()).enumerated() {
                        try queue.add(tests.page("http://\(thread)/\(number)", body))
                        if thread == 1, number == 12 { try tests.cutSessions() }
                    }
                    try queue.finish(.publish(now: 2))
                } catch {
                    failures.change { $0.append("\(error)") }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(failures.change { $0 } == [])
        #expect(files == bodies.map(Self.name).sorted())
        #expect(try StoreReader(folder).summary().responses == 72)
        #expect(try StoreReader(folder).inspect().isSound)
    }

    private func cutSessions() throws {
        try folder.connect(.readOnly).execute(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND pid IN (
                SELECT pid FROM pg_locks WHERE locktype = 'advisory'
                    AND (classid::bigint << 32 | objid::bigint) = \(folder.server?.database.lockKey(0) ?? 0))
            """)
    }

    @Test func `opening with another body location, or none, fails with advice and changes nothing`() throws {
        try stock()
        let server = try TestPostgreSQL.running.get()
        func errorMessages(_ place: String) -> String {
            let errors = [
                #expect(throws: StoreError.self) { try StoreReader(StoreFolder(place)) },
                #expect(throws: StoreError.self) { try StoreWriter(StoreFolder(place)) },
            ]
            return errors.compactMap { $0?.description }.joined(separator: "\n")
        }
        let own = server.place(scratch.file("store"))
        guard !own.contains("bodies=") else { return }
        #expect(
            errorMessages(own).contains(
                "its bodies are in \(depot); append this to the address: &bodies=\(depot)"))
        let other = server.place(scratch.file("store"), bodies: scratch.file("other"))
        #expect(errorMessages(other).contains("the bodies of the store are in \(depot)"))
        #expect(!Folder.exists(scratch.file("other")))
        // The same folder under another path, as if mounted elsewhere on another machine.
        #expect(symlink(shared, scratch.file("mounted")) == 0)
        let mounted = server.place(scratch.file("store"), bodies: scratch.file("mounted"))
        #expect(try StoreReader(StoreFolder(mounted)).inspect().isSound)
        // A store whose bodies are in PostgreSQL, and a store that would share the folder of another one.
        let plain = server.place(scratch.file("plain"))
        _ = try StoreWriter(StoreFolder(plain))
        #expect(
            errorMessages(plain + "&bodies=\(depot)").contains(
                "its bodies are in PostgreSQL, not in \(depot)"))
        #expect(
            errorMessages(server.place(scratch.file("third")) + "&bodies=\(depot)").contains(
                "another store has its bodies"))
        #expect(try StoreReader(folder).inspect().isSound)
    }

    @Test func `a collection removes external bodies that it collected, but no recent unreferenced files`()
        throws
    {
        try stock()
        try add([page("http://kept/", Self.middle)], to: "kept")
        func stray(_ seed: Int, age: Int) throws -> String {
            let bytes = Self.bytes(100, seed)
            let path = depot + "/" + Self.name(bytes)
            try StoreFolder.makeFolders(String(path.prefix(path.utf8.count - 65)))
            try WholeFile.write(String(decoding: bytes.map { $0 & 127 }, as: UTF8.self), to: path)
            var times = [
                timeval(tv_sec: time(nil) - age, tv_usec: 0), timeval(tv_sec: time(nil) - age, tv_usec: 0),
            ]
            #expect(utimes(path, &times) == 0)
            return Self.name(bytes)
        }
        let (young, old) = (try stray(7, age: 60), try stray(8, age: 7300))
        #expect(try StoreReader(folder).inspect().orphanFiles == [old])
        let forecast = try StoreWriter(folder).forecastCollection(CollectionOptions(), in: folder)
        #expect(forecast.result.removedBodies == 0)
        #expect(files.contains(old))
        let reader = try StoreReader(folder)
        let site = try #require(try reader.sites().first { $0.name == "s" })
        try StoreWriter(folder).remove(site)
        #expect(try StoreWriter(folder).collect(CollectionOptions()).removedBodies == 3)
        #expect(files == [Self.name(Self.middle), young].sorted())
        #expect(try content("http://kept/")?.load() == Self.middle)
    }

    @Test func `a lost or damaged external body is found, removed by a repair, and fetched again`() throws {
        try stock()
        #expect(unlink(depot + "/" + Self.name(Self.middle)) == 0)
        let path = depot + "/" + Self.name(Self.large)
        let file = try File(path, O_WRONLY)
        try file.write([0, 0, 0], at: 77)
        #expect(try content("http://s/middle") == nil)
        let findings = try StoreReader(folder).inspect()
        #expect(Set(findings.damagedBodies.map(\.fault)) == ["its bytes are gone", "its bytes have changed"])
        #expect(findings.damagedBodies.count == 3)
        // A prefetch that fetches the body again restores it without a repair.
        try add([page("http://s/middle", Self.middle)], to: "s")
        #expect(try content("http://s/middle")?.load() == Self.middle)
        try StoreWriter(folder).repair(try StoreReader(folder).inspect())
        #expect(files == [Self.name(Self.middle)])
        #expect(try StoreReader(folder).inspect().isSound)
        #expect(scratch.names(in: "store/quarantine").count == 1)
        try add([page("http://s/large", Self.large)], to: "s")
        #expect(try content("http://s/large")?.load() == Self.large)
    }

    @Test func `an unmounted external folder is an error, and no body counts as lost`() throws {
        try stock()
        let reader = try StoreReader(folder)
        let body = try #require(try reader.response(for: "http://s/middle")?.body)
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 3)
        #expect(rename(shared, scratch.file("away")) == 0)
        for use in [
            { _ = try reader.content(of: body) },
            { try writer.add([try page("http://s/new", Self.bytes(80_000, 9))], to: snapshot) },
        ] as [() throws -> Void] {
            let error = #expect(throws: StoreError.self) { try use() }
            #expect(error?.reason == .unreachable)
            #expect(error?.description.contains("; check that the folder is mounted") == true)
        }
        let error = #expect(throws: StoreError.self) { try StoreReader(folder) }
        #expect(error?.description.contains("check that the folder is mounted") == true)
        #expect(!Folder.exists(shared))
        #expect(rename(scratch.file("away"), shared) == 0)
        try writer.add([page("http://s/new", Self.bytes(80_000, 9))], to: snapshot)
        try writer.end(snapshot, .publish(now: 4))
        #expect(try StoreReader(folder).inspect().isSound)
    }

    @Test func `a store is copied there and back, and a user with read access can copy it too`() throws {
        try stock()
        let back = StoreFolder(scratch.file("back"))
        #expect(try StoreCopy.run(from: folder, to: back, verify: true).verifiedBodies == 4)
        let server = try TestPostgreSQL.running.get()
        let there = StoreFolder(server.place(scratch.file("there"), bodies: shared))
        let result = try StoreCopy.run(from: back, to: there, verify: true)
        #expect(result.verifiedBodies == 4 && result.isWhole)
        #expect(try there.connect(.readOnly).integer("SELECT count(*) FROM content WHERE bytes IS NULL") == 3)
        let schema = try #require(there.server?.schema)
        try there.connect(.readWrite).execute(
            """
            CREATE ROLE copier_\(schema) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO copier_\(schema);
            GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO copier_\(schema);
            """)
        let place = server.place(scratch.file("there"), bodies: shared)
            .replacing("larder@", with: "copier_\(schema)@")
        let copy = StoreFolder(scratch.file("copy"))
        #expect(try StoreCopy.run(from: StoreFolder(place), to: copy).isWhole)
        #expect(try StoreReader(copy).inspect().isSound)
    }

    @Test(arguments: [
        ("bodies=here", "neither the absolute path of a folder nor s3://"),
        ("bodies=s3://", "is not s3://BUCKET/PREFIX"),
        ("bodies=s3://b/../c", "is not s3://BUCKET/PREFIX"),
        ("bodies=s3://b//c", "is not s3://BUCKET/PREFIX"),
        ("bodies=/x&bodies-over=few", "is not a number of bytes"), ("s3-region=eu", "which is missing"),
        ("bodies=s3://b&s3-region=e%0Au", "is not the name of a region"),
        ("bodies=s3://b&s3-endpoint=minio:9000", "is not a URL such as https://"),
        ("bodies=s3://b&s3-endpoint=http://ann:secret@minio", "set the keys in AWS_ACCESS_KEY_ID"),
    ])
    func `an invalid body location is refused with its mistake`(words: String, mistake: String) {
        let folder = StoreFolder("postgres://nobody@127.0.0.1:1/none?\(words)")
        let error = #expect(throws: StoreError.self) { try StoreReader(folder) }
        #expect(error?.reason == .request)
        #expect(error?.description.contains(mistake) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") == false)
    }

    @Test(arguments: [
        ("bodies=/x/", BodyStorageLocation.Kind.folder(path: "/x")),
        ("bodies=s3://b", .bucket(name: "b", prefix: "")),
        ("bodies=S3://b.c/d/e_f/", .bucket(name: "b.c", prefix: "d/e_f/")),
        ("bodies=s3%3A%2F%2Fb%2Fd", .bucket(name: "b", prefix: "d/")),
    ])
    func `body locations are parsed`(words: String, kind: BodyStorageLocation.Kind) throws {
        let address = try #require(
            PostgreSQLStoreAddress("postgres://h/db?schema=x&\(words)&s3-region=eu-west-1"))
        #expect(address.bodies?.kind == kind)
        #expect(address.bodies?.region == "eu-west-1")
        #expect(address.folder == PostgreSQLStoreAddress("postgres://h/db?schema=x")?.folder)
        #expect(address.shown.hasSuffix("&\(words)&s3-region=eu-west-1"))
    }
}
