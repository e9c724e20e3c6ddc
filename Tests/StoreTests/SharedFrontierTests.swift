import System
import TestOrigin
import Testing

@testable import Cluster
@testable import Store

/// The database tables that the workers of one snapshot share.
@Suite(.enabled(if: TestPostgreSQL.isInstalled, "PostgreSQL is not installed (apt install postgresql)"))
struct SharedFrontierTests {
    private let scratch: TemporaryFolder
    private let folder: StoreFolder
    private let frontier: SharedFrontier

    init() throws {
        scratch = try TemporaryFolder()
        folder = StoreFolder(try TestPostgreSQL.running.get().place(scratch.file("store")))
        _ = try StoreWriter(folder)
        frontier = try SharedFrontier(folder)
        try frontier.setUpTables()
    }

    private func discovered(_ href: String, of origin: String) -> SharedFrontier.DiscoveredURL {
        SharedFrontier.DiscoveredURL(origin: origin, href: href, referrer: nil, facts: 0, identity: 0)
    }

    /// Begins a shared snapshot with a start URL on each host.
    private func shareSnapshot(maxPages: Int? = nil, hosts: Int = 3) throws -> SharedFrontier.SharedSnapshot {
        let writer = try StoreWriter(folder)
        let snapshot = try writer.begin(site: "s", start: ["s"], now: 1)
        let starts = (0..<hosts).map { discovered("http://h\($0)/", of: "http://h\($0)") }
        #expect(
            try frontier.share(
                snapshot, named: "s", maxPages: maxPages, maxBytes: nil, milliseconds: nil, starts: starts))
        #expect(
            try !frontier.share(
                snapshot, named: "s", maxPages: nil, maxBytes: nil, milliseconds: nil, starts: []))
        try writer.end(snapshot, .keepOpen)
        return try #require(try frontier.sharedSnapshots().first)
    }

    /// Moves the end of a worker's lease into the past.
    private func endLease(of worker: Int64) throws {
        try folder.connect(.readWrite).execute(
            "UPDATE work_worker SET until = now() - interval '1 hour' WHERE id = \(worker)")
    }

    private func page(_ number: Int) throws -> NewResponse {
        NewResponse(
            href: "http://h0/\(number)", referrer: nil, status: 200, role: 0, fields: "", fetched: 1,
            body: .new(try NewBody(.bytes([UInt8(number)]), form: "opaque", links: [1], in: folder)))
    }

    @Test(arguments: ["UPDATE work_host SET worker", "UPDATE work_url SET is_read = true"])
    func `a worker gives up its lease if the answer with its hosts or URLs is lost`(statement: String) throws
    {
        let snapshot = try shareSnapshot().snapshot
        let place = try TestPostgreSQL.running.get().place(scratch.file("store"))
        let sockets = try #require(
            place.split(separator: "host=").last?.split(separator: "&").first.map(String.init))
        let relay = try SwallowingRelay(to: sockets + "/.s.PGSQL.5432")
        let far = place.replacing("host=\(sockets)", with: "host=127.0.0.1&port=\(relay.port)")
        let worker = try frontier.join(snapshot, named: "one")
        relay.cutAnswer(toCommitAfter: statement)
        let sync = try WorkerSync(SharedFrontier(StoreFolder(far)), worker: worker, snapshot: snapshot)
        defer { sync.close() }
        let wakes = Monitor(0)
        sync.setWakeHandler { wakes.change { $0 += 1 } }
        var wish = WorkerSync.Outgoing()
        wish.hostsToLease = 3
        sync.send(wish)
        var ending = try sync.collect().ending
        while ending == nil {
            wakes.wait { (wakes: inout Int) -> Void? in
                defer { wakes = 0 }
                return wakes > 0 ? () : nil
            }
            ending = try sync.collect().ending
        }
        #expect(ending == .leaseLost)
    }

    @Test func `a host is leased by one worker, and found URLs are known by their href`() throws {
        let snapshot = try shareSnapshot().snapshot
        let (one, two) = (
            try frontier.join(snapshot, named: "one"), try frontier.join(snapshot, named: "two")
        )
        #expect(one != two)
        let hosts = try frontier.leaseHosts(2, for: one, of: snapshot).map(\.origin)
        let others = try frontier.leaseHosts(8, for: two, of: snapshot).map(\.origin)
        #expect(hosts.count == 2 && others.count == 1 && Set(hosts + others).count == 3)
        #expect(try frontier.takeURLs(atMost: 10, for: one, of: snapshot).count == 2)
        #expect(try frontier.takeURLs(atMost: 10, for: one, of: snapshot).isEmpty)
        for _ in 1...2 {
            #expect(try frontier.addURLs([discovered("http://h9/x", of: hosts[0])], by: two, of: snapshot))
        }
        #expect(try frontier.takeURLs(atMost: 10, for: one, of: snapshot).map(\.href) == ["http://h9/x"])
        #expect(try frontier.takeURLs(atMost: 10, for: one, of: snapshot).isEmpty)
    }

    @Test func `a worker that does not report loses its hosts, and its late writes are refused`() throws {
        let shared = try shareSnapshot()
        let snapshot = shared.snapshot
        let late = try frontier.join(snapshot, named: "late")
        #expect(try frontier.leaseHosts(8, for: late, of: snapshot).count == 3)
        #expect(try frontier.takeURLs(atMost: 10, for: late, of: snapshot).count == 3)
        let writer = try StoreWriter(folder)
        let open = try writer.join(shared, as: late)
        try writer.add([try page(1)], to: open)
        // The transaction is open, but has not locked the lease yet.
        try writer.put([try page(2)], links: [], to: open)
        try endLease(of: late)
        try frontier.leave(late, of: snapshot)
        #expect(throws: StoreError.self) { try writer.commit() }
        #expect(try frontier.renewLease(of: late, in: snapshot, .init()) == nil)
        #expect(
            try !frontier.addURLs([discovered("http://h0/late", of: "http://h0")], by: late, of: snapshot))
        #expect(throws: StoreError.self) { try writer.end(open, .publish(now: 2)) }
        #expect(try !frontier.isPublished(snapshot: snapshot))

        let next = try frontier.join(snapshot, named: "next")
        let hosts = try frontier.leaseHosts(8, for: next, of: snapshot)
        #expect(hosts.count == 3 && hosts.allSatisfy(\.wasLeasedBefore))
        #expect(try frontier.takeURLs(atMost: 10, for: next, of: snapshot).count == 3)
        let reader = try StoreReader(folder)
        #expect(try reader.response(for: "http://h0/1", ofSnapshot: snapshot) != nil)
        #expect(try reader.response(for: "http://h0/2", ofSnapshot: snapshot) == nil)
    }

    @Test func `one worker ends the snapshot when no worker has work left`() throws {
        let snapshot = try shareSnapshot(hosts: 1).snapshot
        let (one, two) = (
            try frontier.join(snapshot, named: "one"), try frontier.join(snapshot, named: "two")
        )
        var idle = SharedFrontier.WorkerReport()
        idle.isIdle = true
        _ = try frontier.renewLease(of: two, in: snapshot, idle)
        #expect(try !frontier.claimFinish(two, of: snapshot))
        #expect(try frontier.leaseHosts(1, for: one, of: snapshot).count == 1)
        _ = try frontier.renewLease(of: one, in: snapshot, idle)
        // A URL of its host has not been read.
        #expect(try !frontier.claimFinish(two, of: snapshot))
        #expect(try frontier.takeURLs(atMost: 10, for: one, of: snapshot).count == 1)
        #expect(try !frontier.claimFinish(two, of: snapshot))
        _ = try frontier.renewLease(of: one, in: snapshot, idle)
        #expect(try frontier.claimFinish(two, of: snapshot))
        #expect(try !frontier.claimFinish(one, of: snapshot))
        try frontier.leave(two, of: snapshot)
        #expect(try frontier.claimFinish(one, of: snapshot))
        try frontier.remove(snapshot: snapshot)
        #expect(try frontier.sharedSnapshots().isEmpty)
        #expect(try frontier.renewLease(of: one, in: snapshot, idle) == nil)
    }

    @Test func `workers learn how many others have spare capacity, and how many are idle`() throws {
        let snapshot = try shareSnapshot().snapshot
        let one = try frontier.join(snapshot, named: "one")
        for hosts in 0..<3 {
            let other = try frontier.join(snapshot, named: "other")
            var sign = SharedFrontier.WorkerReport()
            sign.isHungry = hosts < 2
            sign.hosts = hosts
            _ = try frontier.renewLease(of: other, in: snapshot, sign)
        }
        let standing = try #require(try frontier.renewLease(of: one, in: snapshot, .init()))
        #expect(standing.workers == 4)
        #expect(standing.hungryWorkers == 2)
        #expect(standing.worklessWorkers == 1)
        #expect(standing.hosts == 3)
        #expect(standing.minHostsOfOthers == 0)
        #expect(standing.freeHosts == 3)
        #expect(try frontier.leaseHosts(2, for: one, of: snapshot).count == 2)
        #expect(try frontier.renewLease(of: one, in: snapshot, .init())?.freeHosts == 1)
    }

    @Test func `the page limit is shared by the snapshot, and unused requests are left to others`() throws {
        let snapshot = try shareSnapshot(maxPages: 10).snapshot
        let (one, two) = (
            try frontier.join(snapshot, named: "one"), try frontier.join(snapshot, named: "two")
        )
        #expect(try frontier.takePages(6, for: one, of: snapshot) == 6)
        #expect(try frontier.takePages(6, for: two, of: snapshot) == 4)
        #expect(try frontier.takePages(6, for: two, of: snapshot) == 0)
        try frontier.returnPages(2, by: one, of: snapshot)
        #expect(try frontier.takePages(6, for: two, of: snapshot) == 2)
        // Pages that the worker took and did not count return to the limit.
        try frontier.leave(one, of: snapshot)
        #expect(try frontier.takePages(6, for: two, of: snapshot) == 4)
        #expect(try frontier.limits(of: snapshot).pagesLeft == 0)
    }

    @Test func `responses of a worker that lost its lease count once, and others may fetch the rest`() throws
    {
        let shared = try shareSnapshot(maxPages: 10)
        let snapshot = shared.snapshot
        let (one, two) = (
            try frontier.join(snapshot, named: "one"), try frontier.join(snapshot, named: "two")
        )
        #expect(try frontier.takePages(8, for: one, of: snapshot) == 8)
        #expect(try frontier.takePages(8, for: two, of: snapshot) == 2)
        let writer = try StoreWriter(folder)
        let open = try writer.join(shared, as: one)
        try writer.add([try page(1), try page(2)], to: open)
        var style = try page(3)
        style.role = 1
        try writer.add([style], to: open)
        try writer.put([try page(4)], links: [], to: open)
        try frontier.store(
            [
                .init(origin: "http://h0", href: "http://h0/5", text: "redirects", isPage: true),
                .init(origin: "http://h0", href: "http://h0/6", text: "redirects"),
            ], [], by: one, of: snapshot)
        #expect(try frontier.limits(of: snapshot).pagesLeft == 0)
        try frontier.leave(one, of: snapshot)
        #expect(throws: StoreError.self) { try writer.commit() }
        // Two pages are stored, and one is known to be unavailable.
        #expect(try frontier.limits(of: snapshot).pagesLeft == 5)
        #expect(try frontier.takePages(8, for: two, of: snapshot) == 5)
        #expect(try frontier.takePages(8, for: one, of: snapshot) == 0)
        #expect(try frontier.limits(of: snapshot).pagesLeft == 0)
    }

    @Test func `requests of a worker that failed to end the snapshot count for the next one`() throws {
        let shared = try shareSnapshot(maxPages: 10)
        let last = try frontier.join(shared.snapshot, named: "last")
        let writer = try StoreWriter(folder)
        try writer.add([try page(1), try page(2)], to: try writer.join(shared, as: last))
        try frontier.leave(last, of: shared.snapshot)
        #expect(try frontier.limits(of: shared.snapshot).pagesLeft == 8)
    }

    @Test func `a worker that received a moved host has received all earlier moves`() throws {
        let snapshot = try shareSnapshot().snapshot
        let one = try frontier.join(snapshot, named: "one")
        let other = try SharedFrontier(folder)
        try frontier.transaction { () throws(StoreError) in
            try frontier.addStartRedirect(from: "http://a/", to: "http://b/", of: snapshot)
            try other.connection.execute("SET lock_timeout = '100ms'")
            // Otherwise, workers could read the redirect with the higher number first.
            #expect(throws: StoreError.self) {
                try other.addStartRedirect(from: "http://c/", to: "http://d/", of: snapshot)
            }
        }
        for _ in 1...2 {
            try other.addStartRedirect(from: "http://c/", to: "http://d/", of: snapshot)
        }
        let redirects = try frontier.renewLease(of: one, in: snapshot, .init())?.startRedirects
        #expect(redirects?.map(\.source) == ["http://a/", "http://c/"])
    }

    @Test func `the end of a lease includes all work done until then`() throws {
        let snapshot = try shareSnapshot().snapshot
        let late = try frontier.join(snapshot, named: "late")
        try endLease(of: late)
        let other = try SharedFrontier(folder)
        try other.connection.transaction { () throws(StoreError) in
            #expect(try other.leaseHosts(1, for: late, of: snapshot).count == 1)
            // The worker has an open transaction, so its lease is skipped.
            #expect(try frontier.endExpiredLeases(of: snapshot) == 0)
        }
        try frontier.leave(late, of: snapshot)
        let next = try frontier.join(snapshot, named: "next")
        #expect(
            try frontier.leaseHosts(8, for: next, of: snapshot).map(\.wasLeasedBefore).count(where: \.self)
                == 1)
    }

    @Test func `tables of an earlier version get their missing columns`() throws {
        let snapshot = try shareSnapshot(maxPages: 3).snapshot
        let connection = try folder.connect(.readWrite)
        try connection.execute(
            """
            ALTER TABLE work_worker DROP COLUMN kept;
            DROP INDEX work_url_waiting;
            DROP INDEX work_url_\(snapshot)_key;
            ALTER TABLE work_url ADD PRIMARY KEY (snapshot, key);
            CREATE INDEX work_url_unread ON work_url (host, number) WHERE NOT is_read;
            """)
        try frontier.setUpTables()
        let one = try frontier.join(snapshot, named: "one")
        #expect(try frontier.takePages(2, for: one, of: snapshot) == 2)
        let hosts = try frontier.leaseHosts(3, for: one, of: snapshot).map(\.origin)
        for _ in 1...2 {
            #expect(try frontier.addURLs([discovered("http://h9/x", of: hosts[0])], by: one, of: snapshot))
        }
        #expect(try frontier.takeURLs(atMost: 10, for: one, of: snapshot).count == 4)
        try frontier.leave(one, of: snapshot)
        #expect(try frontier.limits(of: snapshot).pagesLeft == 3)
        let indexes =
            "SELECT count(*) FROM pg_index WHERE indrelid = CAST('work_url_\(snapshot)' AS regclass)"
        #expect(try connection.prepare(indexes).first { $0.integer(0) } == 2)
    }

    @Test func `a single prefetch and workers exclude each other`() throws {
        let shared = try shareSnapshot()
        let worker = try frontier.join(shared.snapshot, named: "one")
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

    @Test func `a store in a folder supports no workers`() {
        #expect(throws: StoreError.self) { try SharedFrontier(StoreFolder(scratch.path)) }
    }
}
