import TestOrigin
import Testing

@testable import Store

/// What workers of one visit have in common.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct ServerFrontierTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder
    private let frontier: ServerFrontier

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestPostgreSQL.running.get().place(scratch.file("store")))
        _ = try StoreWriter(folder)
        frontier = try ServerFrontier(folder)
        try frontier.prepare()
    }

    private func found(_ href: String, of origin: String) -> ServerFrontier.Found {
        ServerFrontier.Found(origin: origin, href: href, referrer: nil, facts: 0, identity: 0)
    }

    private func shared(maxPages: Int? = nil, hosts: Int = 3) throws -> ServerFrontier.Shared {
        let writer = try StoreWriter(folder)
        let visit = try writer.begin(site: "s", start: ["s"], now: 1)
        let starts = (0..<hosts).map { found("http://h\($0)/", of: "http://h\($0)") }
        #expect(
            try frontier.share(
                visit, named: "s", maxPages: maxPages, maxBytes: nil, milliseconds: nil, starts: starts))
        #expect(
            try !frontier.share(
                visit, named: "s", maxPages: nil, maxBytes: nil, milliseconds: nil, starts: []))
        try writer.end(visit, .keepOpen)
        return try #require(try frontier.shared().first)
    }

    /// As if nothing had been heard of it for long.
    private func endLease(of worker: Int64) throws {
        try folder.connect(.readWrite).execute(
            "UPDATE work_worker SET until = now() - interval '1 hour' WHERE id = \(worker)")
    }

    private func page(_ number: Int) throws -> NewResponse {
        NewResponse(
            href: "http://h0/\(number)", referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
            body: .new(try NewBody(.bytes([UInt8(number)]), form: "opaque", links: [1], in: folder)))
    }

    @Test func `a host is leased by one worker, and what is found is known by its address`() throws {
        let visit = try shared().visit
        let (one, two) = (try frontier.join(visit, named: "one"), try frontier.join(visit, named: "two"))
        #expect(one != two)
        let hosts = try frontier.lease(2, for: one, of: visit).map(\.origin)
        let others = try frontier.lease(8, for: two, of: visit).map(\.origin)
        #expect(hosts.count == 2 && others.count == 1 && Set(hosts + others).count == 3)
        #expect(try frontier.take(atMost: 10, for: one, of: visit).count == 2)
        #expect(try frontier.take(atMost: 10, for: one, of: visit).isEmpty)
        for _ in 1...2 {
            #expect(try frontier.send([found("http://h9/x", of: hosts[0])], by: two, of: visit))
        }
        #expect(try frontier.take(atMost: 10, for: one, of: visit).map(\.href) == ["http://h9/x"])
        #expect(try frontier.take(atMost: 10, for: one, of: visit).isEmpty)
    }

    @Test func `a worker that was not heard of loses its hosts, and its late writes are refused`() throws {
        let shared = try shared()
        let visit = shared.visit
        let late = try frontier.join(visit, named: "late")
        #expect(try frontier.lease(8, for: late, of: visit).count == 3)
        #expect(try frontier.take(atMost: 10, for: late, of: visit).count == 3)
        let writer = try StoreWriter(folder)
        let open = try writer.join(shared, as: late)
        try writer.add([try page(1)], to: open)
        // In the middle of a transaction nobody takes its lease away.
        try writer.put([try page(2)], links: [], to: open)
        try endLease(of: late)
        try frontier.leave(late, of: visit)
        #expect(throws: StoreError.self) { try writer.commit() }
        #expect(try frontier.beat(late, of: visit, .init()) == nil)
        #expect(try !frontier.send([found("http://h0/late", of: "http://h0")], by: late, of: visit))
        #expect(throws: StoreError.self) { try writer.end(open, .publish(now: 2)) }
        #expect(try !frontier.isPublished(visit: visit))

        let next = try frontier.join(visit, named: "next")
        let hosts = try frontier.lease(8, for: next, of: visit)
        #expect(hosts.count == 3 && hosts.allSatisfy(\.wasLeft))
        #expect(try frontier.take(atMost: 10, for: next, of: visit).count == 3)
        let reader = try StoreReader(folder)
        #expect(try reader.response(for: "http://h0/1", ofVisit: visit) != nil)
        #expect(try reader.response(for: "http://h0/2", ofVisit: visit) == nil)
    }

    @Test func `one worker ends the visit, when nobody has anything left`() throws {
        let visit = try shared(hosts: 1).visit
        let (one, two) = (try frontier.join(visit, named: "one"), try frontier.join(visit, named: "two"))
        var idle = ServerFrontier.Sign()
        idle.isIdle = true
        _ = try frontier.beat(two, of: visit, idle)
        #expect(try !frontier.finishes(two, visit))
        #expect(try frontier.lease(1, for: one, of: visit).count == 1)
        _ = try frontier.beat(one, of: visit, idle)
        // What waits for its host has not been taken.
        #expect(try !frontier.finishes(two, visit))
        #expect(try frontier.take(atMost: 10, for: one, of: visit).count == 1)
        #expect(try !frontier.finishes(two, visit))
        _ = try frontier.beat(one, of: visit, idle)
        #expect(try frontier.finishes(two, visit))
        #expect(try !frontier.finishes(one, visit))
        try frontier.leave(two, of: visit)
        #expect(try frontier.finishes(one, visit))
        try frontier.remove(visit: visit)
        #expect(try frontier.shared().isEmpty)
        #expect(try frontier.beat(one, of: visit, idle) == nil)
    }

    @Test func `workers hear how many of the others could ask more, and how many have nothing to do`() throws
    {
        let visit = try shared().visit
        let one = try frontier.join(visit, named: "one")
        for hosts in 0..<3 {
            let other = try frontier.join(visit, named: "other")
            var sign = ServerFrontier.Sign()
            sign.isHungry = hosts < 2
            sign.hosts = hosts
            _ = try frontier.beat(other, of: visit, sign)
        }
        let standing = try #require(try frontier.beat(one, of: visit, .init()))
        #expect(standing.workers == 4)
        #expect(standing.hungry == 2)
        #expect(standing.workless == 1)
        #expect(standing.hosts == 3)
        #expect(standing.fewestHosts == 0)
        #expect(standing.freeHosts == 3)
        #expect(try frontier.lease(2, for: one, of: visit).count == 2)
        #expect(try frontier.beat(one, of: visit, .init())?.freeHosts == 1)
    }

    @Test func `pages of the whole visit are shared, and what one does not ask for others may`() throws {
        let visit = try shared(maxPages: 10).visit
        let (one, two) = (try frontier.join(visit, named: "one"), try frontier.join(visit, named: "two"))
        #expect(try frontier.takePages(6, for: one, of: visit) == 6)
        #expect(try frontier.takePages(6, for: two, of: visit) == 4)
        #expect(try frontier.takePages(6, for: two, of: visit) == 0)
        try frontier.givePages(2, by: one, of: visit)
        #expect(try frontier.takePages(6, for: two, of: visit) == 2)
        // What a worker asked for and did not keep is asked for again.
        try frontier.leave(one, of: visit)
        #expect(try frontier.takePages(6, for: two, of: visit) == 4)
        #expect(try frontier.limits(of: visit).pagesLeft == 0)
    }

    @Test func `what a worker kept whose lease is lost counts once, and others may ask for the rest`() throws
    {
        let shared = try shared(maxPages: 10)
        let visit = shared.visit
        let (one, two) = (try frontier.join(visit, named: "one"), try frontier.join(visit, named: "two"))
        #expect(try frontier.takePages(8, for: one, of: visit) == 8)
        #expect(try frontier.takePages(8, for: two, of: visit) == 2)
        let writer = try StoreWriter(folder)
        let open = try writer.join(shared, as: one)
        try writer.add([try page(1), try page(2)], to: open)
        var style = try page(3)
        style.role = 1
        try writer.add([style], to: open)
        try writer.put([try page(4)], links: [], to: open)
        try frontier.note(
            [
                .init(origin: "http://h0", href: "http://h0/5", text: "redirects", isPage: true),
                .init(origin: "http://h0", href: "http://h0/6", text: "redirects"),
            ], [], by: one, of: visit)
        #expect(try frontier.limits(of: visit).pagesLeft == 0)
        try frontier.leave(one, of: visit)
        #expect(throws: StoreError.self) { try writer.commit() }
        // Two are stored, and of one it is known that it is not to be had.
        #expect(try frontier.limits(of: visit).pagesLeft == 5)
        #expect(try frontier.takePages(8, for: two, of: visit) == 5)
        #expect(try frontier.takePages(8, for: one, of: visit) == 0)
        #expect(try frontier.limits(of: visit).pagesLeft == 0)
    }

    @Test func `what whoever ends the visit asks for counts, when the next has to end it`() throws {
        let shared = try shared(maxPages: 10)
        let last = try frontier.join(shared.visit, named: "last")
        let writer = try StoreWriter(folder)
        try writer.add([try page(1), try page(2)], to: try writer.join(shared, as: last))
        try frontier.leave(last, of: shared.visit)
        #expect(try frontier.limits(of: shared.visit).pagesLeft == 8)
    }

    @Test func `whoever has heard of a move has heard of those before it`() throws {
        let visit = try shared().visit
        let one = try frontier.join(visit, named: "one")
        let other = try ServerFrontier(folder)
        try frontier.transaction { () throws(StoreError) in
            try frontier.move(from: "http://a/", to: "http://b/", by: one, of: visit)
            try other.connection.execute("SET lock_timeout = '100ms'")
            // Else it would have a later number, and be heard of before.
            #expect(throws: StoreError.self) {
                try other.move(from: "http://c/", to: "http://d/", by: one, of: visit)
            }
        }
        for _ in 1...2 { try other.move(from: "http://c/", to: "http://d/", by: one, of: visit) }
        let moves = try frontier.beat(one, of: visit, .init())?.moves
        #expect(moves?.map(\.source) == ["http://a/", "http://c/"])
    }

    @Test func `a lease ends with all that it has got until then`() throws {
        let visit = try shared().visit
        let late = try frontier.join(visit, named: "late")
        try endLease(of: late)
        let other = try ServerFrontier(folder)
        try other.connection.transaction { () throws(StoreError) in
            #expect(try other.lease(1, for: late, of: visit).count == 1)
            // Whoever is in the middle of something is left for the next time.
            #expect(try frontier.endLeases(of: visit) == 0)
        }
        try frontier.leave(late, of: visit)
        let next = try frontier.join(visit, named: "next")
        #expect(try frontier.lease(8, for: next, of: visit).map(\.wasLeft).count(where: \.self) == 1)
    }

    @Test func `tables of an earlier larder get what they lack`() throws {
        let visit = try shared(maxPages: 3).visit
        let connection = try folder.connect(.readWrite)
        try connection.execute(
            """
            ALTER TABLE work_worker DROP COLUMN kept;
            DROP INDEX work_url_waiting;
            DROP INDEX work_url_\(visit)_key;
            ALTER TABLE work_url ADD PRIMARY KEY (visit, key);
            CREATE INDEX work_url_unread ON work_url (host, number) WHERE NOT is_read;
            """)
        try frontier.prepare()
        let one = try frontier.join(visit, named: "one")
        #expect(try frontier.takePages(2, for: one, of: visit) == 2)
        let hosts = try frontier.lease(3, for: one, of: visit).map(\.origin)
        for _ in 1...2 {
            #expect(try frontier.send([found("http://h9/x", of: hosts[0])], by: one, of: visit))
        }
        #expect(try frontier.take(atMost: 10, for: one, of: visit).count == 4)
        try frontier.leave(one, of: visit)
        #expect(try frontier.limits(of: visit).pagesLeft == 3)
        let indexes = "SELECT count(*) FROM pg_index WHERE indrelid = CAST('work_url_\(visit)' AS regclass)"
        #expect(try connection.prepare(indexes).first { $0.integer(0) } == 2)
    }

    @Test func `a prefetch of its own and workers keep each other out`() throws {
        let shared = try shared()
        let worker = try frontier.join(shared.visit, named: "one")
        do {
            let writer = try StoreWriter(folder)
            _ = try writer.join(shared, as: worker)
            let other = try StoreWriter(folder)
            _ = try other.join(shared, as: worker)
            #expect(throws: StoreError.self) {
                try StoreWriter(folder).begin(site: "s", start: ["s"], now: 2)
            }
        }
        let alone = try StoreWriter(folder)
        _ = try alone.begin(site: "s", start: ["s"], now: 2)
        #expect(throws: StoreError.self) { try StoreWriter(folder).join(shared, as: worker) }
    }

    @Test func `a folder has no workers`() {
        #expect(throws: StoreError.self) { try ServerFrontier(StoreFolder(scratch.path)) }
    }
}
