internal import Digest
internal import Glibc

/// What the workers of a shared visit have in common, in the PostgreSQL that keeps the larder: who has which host,
/// what was found for hosts of others, and what the visit may still cost.
///
/// A worker's number is its lease, and comes once: when its row goes, so do its hosts, and every write in its name is
/// refused from then on. The server's clock alone counts. It has a session of its own, and belongs to one thread.
package final class ServerFrontier {
    private let connection: Connection
    private let folder: StoreFolder

    /// From the last sign of a worker to the moment when others take its hosts.
    package static let lease: Duration = .seconds(12)
    /// A transaction in which nothing has happened for so long is ended by the server: a worker that stands still
    /// in the middle of one holds nobody up.
    static let stillness: Duration = .seconds(8)

    package init(_ folder: StoreFolder) throws(StoreError) {
        guard folder.server != nil else {
            throw StoreError(
                .request, doing: "share work on", path: folder.name, detail: "it is a folder",
                advice: "name a larder that a PostgreSQL keeps: postgres://USER@HOST/DATABASE",
                remedy: .larder)
        }
        self.folder = folder
        connection = try folder.connect(.readWrite)
        try connection.session?.endWhenStill(Self.stillness)
    }

    /// Makes the tables where there are none yet. The larder has its own.
    package func prepare() throws(StoreError) {
        let isThere = try connection.prepare("SELECT to_regclass(?) IS NOT NULL").first(
            .text("\(folder.server?.schema ?? "").work_visit")
        ) { $0.integer(0) != 0 }
        guard isThere != true else { return }
        try transaction { () throws(StoreError) in
            try holdAlone()
            try connection.execute(Self.tables, doing: "set up")
        }
    }

    /// One at a time begins a visit, or ends one; until the transaction ends.
    private func holdAlone() throws(StoreError) {
        let key = folder.server?.key(Self.beginning) ?? 0
        _ = try connection.prepare("SELECT pg_advisory_xact_lock(?)").first(.integer(key)) { _ in true }
    }

    private static let beginning: Int64 = 0x4000_0000_0000_0100

    /// What the visit's rows are in goes as a whole.
    private static let parts = ["work_host", "work_url", "work_outcome", "work_answer"]

    private static let tables = """
        CREATE SEQUENCE IF NOT EXISTS work_number;
        CREATE TABLE IF NOT EXISTS work_visit (
            visit bigint PRIMARY KEY,
            site bigint NOT NULL,
            name text COLLATE "C" NOT NULL,
            started timestamptz NOT NULL DEFAULT now(),
            max_pages bigint,
            max_bytes bigint,
            max_milliseconds bigint,
            pages bigint NOT NULL DEFAULT 0,
            bytes bigint NOT NULL DEFAULT 0,
            is_cut boolean NOT NULL DEFAULT false,
            was_empty boolean NOT NULL,
            finisher bigint
        );
        CREATE TABLE IF NOT EXISTS work_worker (
            id bigint PRIMARY KEY DEFAULT nextval('work_number'),
            visit bigint NOT NULL,
            name text COLLATE "C" NOT NULL,
            until timestamptz NOT NULL,
            is_idle boolean NOT NULL DEFAULT true,
            is_hungry boolean NOT NULL DEFAULT true,
            is_starved boolean NOT NULL DEFAULT false,
            hosts bigint NOT NULL DEFAULT 0,
            share bigint NOT NULL DEFAULT 0,
            granted bigint NOT NULL DEFAULT 0,
            heard bigint NOT NULL DEFAULT 0
        ) WITH (fillfactor = 50);
        CREATE TABLE IF NOT EXISTS work_move (
            number bigint PRIMARY KEY DEFAULT nextval('work_number'),
            visit bigint NOT NULL,
            source text COLLATE "C" NOT NULL,
            target text COLLATE "C" NOT NULL
        );
        CREATE TABLE IF NOT EXISTS work_tally (
            visit bigint NOT NULL,
            worker bigint NOT NULL,
            name text COLLATE "C" NOT NULL,
            requests bigint NOT NULL,
            failures bigint NOT NULL,
            bytes bigint NOT NULL,
            version text COLLATE "C",
            PRIMARY KEY (visit, worker, name)
        );
        CREATE TABLE IF NOT EXISTS work_host (
            visit bigint NOT NULL,
            id bigint NOT NULL DEFAULT nextval('work_number'),
            origin text COLLATE "C" NOT NULL,
            worker bigint,
            left_by bigint NOT NULL DEFAULT 0,
            next timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (visit, origin)
        ) PARTITION BY LIST (visit);
        CREATE INDEX IF NOT EXISTS work_host_id ON work_host (id);
        CREATE TABLE IF NOT EXISTS work_url (
            visit bigint NOT NULL,
            key bigint NOT NULL,
            number bigint NOT NULL DEFAULT nextval('work_number'),
            host bigint NOT NULL,
            href text COLLATE "C" NOT NULL,
            referrer text COLLATE "C",
            facts bigint NOT NULL,
            is_read boolean NOT NULL DEFAULT false,
            PRIMARY KEY (visit, key)
        ) PARTITION BY LIST (visit);
        CREATE INDEX IF NOT EXISTS work_url_unread ON work_url (host, number) WHERE NOT is_read;
        CREATE TABLE IF NOT EXISTS work_outcome (
            visit bigint NOT NULL,
            origin text COLLATE "C" NOT NULL,
            href text COLLATE "C" NOT NULL,
            outcome text COLLATE "C" NOT NULL
        ) PARTITION BY LIST (visit);
        CREATE INDEX IF NOT EXISTS work_outcome_origin ON work_outcome (origin);
        CREATE TABLE IF NOT EXISTS work_answer (
            visit bigint NOT NULL,
            origin text COLLATE "C" NOT NULL,
            href text COLLATE "C" NOT NULL,
            status bigint NOT NULL,
            location text COLLATE "C",
            reach bigint NOT NULL,
            failure text COLLATE "C",
            body bytea NOT NULL
        ) PARTITION BY LIST (visit);
        CREATE INDEX IF NOT EXISTS work_answer_origin ON work_answer (origin);

        """

    // MARK: Sessions that are cut

    /// Does it once more where the PostgreSQL was away, or others were in the way; what was not committed is gone.
    package func persisting<Value>(_ body: (ServerFrontier) throws(StoreError) -> Value) throws(StoreError)
        -> Value
    {
        var attempt = 0
        while true {
            attempt += 1
            do throws(StoreError) {
                return try body(self)
            } catch {
                guard attempt < Self.attempts else { throw error }
                switch error.reason {
                case .busy: usleep(UInt32.random(in: 1000...50_000))
                case .unreachable:
                    do throws(StoreError) {
                        try connection.session?.renew()
                    } catch  where error.reason == .unreachable {
                        continue
                    }
                case .request, .missing, .full, .denied, .unusable, .failed: throw error
                }
            }
        }
    }

    /// Each waits ten seconds for a server that is not there.
    private static let attempts = 12

    private func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        try connection.begin()
        do throws(StoreError) {
            let value = try body()
            // What only workers see is no news to readers.
            try connection.commit(hasChanged: false)
            return value
        } catch {
            // The first error is the one that tells.
            try? connection.rollBack()
            throw error
        }
    }

    /// A change of rows that nobody else hears of.
    private func change(_ sql: String, _ values: [SQLValue]) throws(StoreError) -> Int64 {
        try connection.prepare("WITH changed AS (\(sql) RETURNING 1) SELECT count(*) FROM changed").first(
            values
        ) {
            $0.integer(0)
        } ?? 0
    }
}

// MARK: - Visits

extension ServerFrontier {
    /// A visit that workers share.
    package struct Shared: Sendable, Equatable {
        package let visit: Int64
        package let site: Int64
        package let name: String
        package var maxPages: Int?
        package var maxBytes: Int?
        /// Of the time that it may take.
        package var millisecondsLeft: Int?
        /// When it began, the larder held nothing: what there is, workers brought.
        package var wasEmpty = false
    }

    /// Those that are not over, the oldest first.
    package func shared() throws(StoreError) -> [Shared] {
        var shared: [Shared] = []
        try connection.prepare(
            """
            SELECT work_visit.visit, work_visit.site, work_visit.name, max_pages, max_bytes,
                max_milliseconds - CAST(extract(epoch FROM now() - work_visit.started) * 1000 AS bigint), was_empty
            FROM work_visit JOIN visit ON visit.id = work_visit.visit
            WHERE visit.finished IS NULL ORDER BY work_visit.visit
            """
        ).each { row in
            shared.append(
                Shared(
                    visit: row.integer(0), site: row.integer(1), name: row.text(2),
                    maxPages: row.optionalInteger(3).map { Int($0) },
                    maxBytes: row.optionalInteger(4).map { Int($0) },
                    millisecondsLeft: row.optionalInteger(5).map { Int($0) }, wasEmpty: row.integer(6) != 0))
        }
        return shared
    }

    /// Has the visit shared from here on, beginning at these; false where it is already.
    package func share(
        _ visit: OpenVisit, named name: String, maxPages: Int?, maxBytes: Int?, milliseconds: Int?,
        starts: [Found]
    ) throws(StoreError) -> Bool {
        try transaction { () throws(StoreError) in
            try holdAlone()
            let isNew = try change(
                """
                INSERT INTO work_visit (visit, site, name, max_pages, max_bytes, max_milliseconds, was_empty)
                VALUES (?, ?, ?, ?, ?, ?, NOT EXISTS (SELECT 1 FROM response)) ON CONFLICT DO NOTHING
                """,
                [
                    .integer(visit.id), .integer(visit.site), .text(name),
                    .optional(maxPages.map { Int64($0) }),
                    .optional(maxBytes.map { Int64($0) }), .optional(milliseconds.map { Int64($0) }),
                ])
            guard isNew == 1 else { return false }
            for part in Self.parts {
                try connection.execute(
                    """
                    CREATE TABLE IF NOT EXISTS \(part)_\(visit.id) PARTITION OF \(part) FOR VALUES IN (\(visit.id))
                    WITH (autovacuum_vacuum_scale_factor = 0.05, fillfactor = 80)
                    """, doing: "set up")
            }
            try add(starts, to: visit.id)
            return true
        }
    }

    /// At what it began: what nobody led to.
    package func starts(of visit: Int64) throws(StoreError) -> [Found] {
        var starts: [Found] = []
        try connection.prepare(
            """
            SELECT work_url.href AS address, facts FROM work_url WHERE visit = ? AND referrer IS NULL ORDER BY number
            """
        ).each(.integer(visit)) {
            starts.append(
                Found(origin: "", href: $0.text(0), referrer: nil, facts: $0.integer(1), identity: 0))
        }
        return starts
    }

    /// Whether the worker's lease is its own.
    package func isAlive(_ worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM work_worker WHERE id = ?)").first(
            .integer(worker)
        ) {
            $0.integer(0) != 0
        } ?? false
    }

    /// What stands in the way of a new shared visit of the site: one of which nothing is left but its rows.
    package func clear() throws(StoreError) {
        var over: [Int64] = []
        try connection.prepare(
            """
            SELECT work_visit.visit FROM work_visit LEFT JOIN visit ON visit.id = work_visit.visit
            WHERE visit.id IS NULL OR visit.finished IS NOT NULL
            """
        ).each { over.append($0.integer(0)) }
        for visit in over { try remove(visit: visit) }
    }

    /// The visit is over: everything that workers kept of it goes.
    package func remove(visit: Int64) throws(StoreError) {
        try transaction { () throws(StoreError) in
            try holdAlone()
            for part in Self.parts {
                try connection.execute("DROP TABLE IF EXISTS \(part)_\(visit)", doing: "end")
            }
            for table in ["work_move", "work_tally", "work_worker", "work_visit"] {
                _ = try change("DELETE FROM \(table) WHERE visit = ?", [.integer(visit)])
            }
        }
    }

    /// Whether anybody still works on it, or waits for its end.
    package func isShared(visit: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM work_visit WHERE visit = ?)").first(
            .integer(visit)
        ) {
            $0.integer(0) != 0
        } ?? false
    }

    /// Whether readers see it, and it is complete.
    package func isPublished(visit: Int64) throws(StoreError) -> Bool {
        try connection.prepare("SELECT EXISTS (SELECT 1 FROM site WHERE published = ?)").first(
            .integer(visit)
        ) {
            $0.integer(0) != 0
        } ?? false
    }
}

// MARK: - Workers

extension ServerFrontier {
    /// Gives the number of a new worker, under whose name writes count as long as its lease holds.
    package func join(_ visit: Int64, named name: String) throws(StoreError) -> Int64 {
        try connection.prepare(
            """
            INSERT INTO work_worker (visit, name, until) SELECT visit, ?, now() + \(Self.interval)
            FROM work_visit WHERE visit = ? RETURNING id
            """
        ).first(.text(name), .integer(visit)) { $0.integer(0) } ?? 0
    }

    private static let interval = "interval '\(lease.components.seconds) seconds'"

    package struct Sign: Sendable {
        package var isIdle = false
        package var isHungry = true
        /// Pages wait for what the visit may still ask for.
        package var isStarved = false
        /// Hosts at which it has something to do.
        package var hosts = 0
        /// Pages that it may still ask for.
        package var share = 0
        /// The last move that it knows of.
        package var heard: Int64 = 0
        /// What came over the network since the last sign.
        package var bytes = 0

        package init() {}
    }

    /// How it stands with the visit, as one worker sees it.
    package struct Standing: Sendable {
        package var workers = 1
        /// Of the others, how many have nothing to do.
        package var hungry = 0
        /// Hosts at which somebody has something to do.
        package var hosts = 0
        /// Pages that others may still ask for.
        package var shares = 0
        /// Pages that nobody may ask for yet; nil without a limit.
        package var pagesLeft: Int?
        package var bytes = 0
        package var finisher: Int64?
        package var moves: [Move] = []
        /// The visit is over.
        package var isOver = false

        package init() {}
    }

    /// A start that leads to another host: the site is there.
    package struct Move: Sendable {
        package var number: Int64
        package var source: String
        package var target: String
    }

    /// The lease is renewed; nil where others have taken its hosts. A worker is idle when nothing waits for it
    /// either.
    package func beat(_ worker: Int64, of visit: Int64, _ sign: Sign) throws(StoreError) -> Standing? {
        let isThere = try connection.prepare(
            """
            UPDATE work_worker SET until = now() + \(Self.interval), is_hungry = ? <> 0, is_starved = ? <> 0, hosts = ?,
                share = ?, heard = ?, is_idle = ? <> 0 AND NOT EXISTS (
                    SELECT 1 FROM work_host JOIN work_url ON work_url.host = work_host.id AND NOT work_url.is_read
                    WHERE work_host.visit = work_worker.visit AND work_host.worker = work_worker.id
                        AND work_url.visit = work_worker.visit)
            WHERE id = ? RETURNING id
            """
        ).first(
            .integer(sign.isHungry ? 1 : 0), .integer(sign.isStarved ? 1 : 0), .integer(Int64(sign.hosts)),
            .integer(Int64(sign.share)), .integer(sign.heard), .integer(sign.isIdle ? 1 : 0), .integer(worker)
        ) { $0.integer(0) }
        guard isThere != nil else { return nil }
        if sign.bytes > 0 {
            _ = try change(
                "UPDATE work_visit SET bytes = bytes + ? WHERE visit = ?",
                [.integer(Int64(sign.bytes)), .integer(visit)])
        }
        return try standing(worker, of: visit, after: sign.heard)
    }

    private func standing(
        _ worker: Int64, of visit: Int64, after heard: Int64
    ) throws(StoreError) -> Standing? {
        var lastMove: Int64 = 0
        let found = try connection.prepare(
            """
            SELECT (SELECT count(*) FROM work_worker WHERE visit = ?1),
                (SELECT count(*) FROM work_worker WHERE visit = ?1 AND id <> ?2 AND is_hungry),
                (SELECT coalesce(CAST(sum(hosts) AS bigint), 0) FROM work_worker WHERE visit = ?1),
                (SELECT coalesce(CAST(sum(share) AS bigint), 0) FROM work_worker WHERE visit = ?1 AND id <> ?2),
                max_pages - pages, bytes, finisher,
                (SELECT coalesce(max(number), 0) FROM work_move WHERE visit = ?1)
            FROM work_visit WHERE visit = ?1
            """
        ).first(.integer(visit), .integer(worker)) { row in
            var standing = Standing()
            standing.workers = max(1, Int(row.integer(0)))
            standing.hungry = Int(row.integer(1))
            standing.hosts = Int(row.integer(2))
            standing.shares = Int(row.integer(3))
            standing.pagesLeft = row.optionalInteger(4).map { Int($0) }
            standing.bytes = Int(row.integer(5))
            standing.finisher = row.optionalInteger(6)
            lastMove = row.integer(7)
            return standing
        }
        guard var standing = found else {
            var standing = Standing()
            standing.isOver = true
            return standing
        }
        if lastMove > heard {
            try connection.prepare(
                "SELECT number, source, target FROM work_move WHERE visit = ? AND number > ? ORDER BY number"
            ).each(.integer(visit), .integer(heard)) {
                standing.moves.append(Move(number: $0.integer(0), source: $0.text(1), target: $0.text(2)))
            }
        }
        return standing
    }

    /// Takes away the leases that nobody has renewed in time, but for those that ran while the PostgreSQL was not
    /// there. One whose transaction is just being written is left for the next time.
    package func endLeases(of visit: Int64) throws(StoreError) -> Int {
        let ended = try connection.prepare(
            """
            WITH late AS MATERIALIZED (
                SELECT id FROM work_worker
                WHERE visit = ?1 AND until < now() AND pg_postmaster_start_time() < now() - \(Self.interval)
                ORDER BY id FOR UPDATE SKIP LOCKED),
            ended AS (DELETE FROM work_worker USING late WHERE work_worker.id = late.id
                RETURNING work_worker.id, work_worker.granted),
            hosts AS (UPDATE work_host SET worker = NULL, left_by = 1
                WHERE visit = ?1 AND worker IN (SELECT id FROM ended)),
            pages AS (UPDATE work_visit SET pages = pages - (SELECT coalesce(CAST(sum(granted) AS bigint), 0) FROM ended)
                WHERE visit = ?1 AND EXISTS (SELECT 1 FROM ended))
            SELECT count(*) FROM ended
            """
        ).first(.integer(visit)) { Int($0.integer(0)) }
        return ended ?? 0
    }

    /// The same of one, however long the PostgreSQL has been there.
    func end(leaseOf worker: Int64, in visit: Int64) throws(StoreError) { try leave(worker, of: visit) }

    /// The worker goes, and others have its hosts at once. What it wrote is committed.
    package func leave(_ worker: Int64, of visit: Int64) throws(StoreError) {
        _ = try connection.prepare(
            """
            WITH ended AS (DELETE FROM work_worker WHERE id = ?2 RETURNING id, granted),
            hosts AS (UPDATE work_host SET worker = NULL, left_by = 1
                WHERE visit = ?1 AND worker IN (SELECT id FROM ended)),
            pages AS (UPDATE work_visit SET pages = pages - (SELECT coalesce(CAST(sum(granted) AS bigint), 0) FROM ended)
                WHERE visit = ?1 AND EXISTS (SELECT 1 FROM ended))
            SELECT count(*) FROM ended
            """
        ).first(.integer(visit), .integer(worker)) { $0.integer(0) }
    }

    /// True for the one worker that ends the visit: nobody has anything left, and no other who lives has it.
    package func finishes(_ worker: Int64, _ visit: Int64) throws(StoreError) -> Bool {
        let finisher = try connection.prepare(
            """
            UPDATE work_visit SET finisher = ?2
            WHERE visit = ?1 AND EXISTS (SELECT 1 FROM work_worker WHERE id = ?2)
                AND (finisher IS NULL OR finisher = ?2
                    OR NOT EXISTS (SELECT 1 FROM work_worker WHERE work_worker.id = work_visit.finisher))
                AND NOT EXISTS (SELECT 1 FROM work_worker WHERE work_worker.visit = ?1 AND (NOT is_idle
                    OR heard < (SELECT coalesce(max(number), 0) FROM work_move WHERE work_move.visit = ?1)))
                AND (is_cut
                    OR NOT EXISTS (SELECT 1 FROM work_host WHERE work_host.visit = ?1 AND left_by > 0)
                        AND NOT EXISTS (SELECT 1 FROM work_url WHERE work_url.visit = ?1 AND NOT is_read))
            RETURNING finisher
            """
        ).first(.integer(visit), .integer(worker)) { $0.integer(0) }
        return finisher == worker
    }

    /// A limit was reached: whoever ends the visit asks for nothing more.
    package func cut(_ visit: Int64) throws(StoreError) {
        _ = try change(
            "UPDATE work_visit SET is_cut = true WHERE visit = ? AND NOT is_cut", [.integer(visit)])
    }

    /// What ended it: all that was asked for, or, where there is a limit, all pages.
    package func limits(of visit: Int64) throws(StoreError) -> (isCut: Bool, arePagesOver: Bool, bytes: Int) {
        try connection.prepare(
            "SELECT is_cut, coalesce(pages >= max_pages, false), bytes FROM work_visit WHERE visit = ?"
        ).first(.integer(visit)) { ($0.integer(0) != 0, $0.integer(1) != 0, Int($0.integer(2))) }
            ?? (false, false, 0)
    }

    /// Since when workers share it.
    package func age(of visit: Int64) throws(StoreError) -> Duration {
        try connection.prepare(
            """
            SELECT CAST(extract(epoch FROM clock_timestamp() - started) * 1000 AS bigint) FROM work_visit
            WHERE visit = ?
            """
        ).first(.integer(visit)) { .milliseconds($0.integer(0)) } ?? .zero
    }

    /// So many pages more may the worker ask for, of those that the visit may.
    package func takePages(_ count: Int, for worker: Int64, of visit: Int64) throws(StoreError) -> Int {
        let granted = try connection.prepare(
            """
            WITH free AS MATERIALIZED (
                SELECT greatest(0, least(?3, max_pages - pages)) AS pages FROM work_visit
                WHERE visit = ?1 AND EXISTS (SELECT 1 FROM work_worker WHERE id = ?2) FOR NO KEY UPDATE),
            taken AS (UPDATE work_visit SET pages = work_visit.pages + free.pages FROM free WHERE visit = ?1),
            noted AS (UPDATE work_worker SET granted = granted + free.pages, share = share + free.pages FROM free
                WHERE id = ?2)
            SELECT pages FROM free
            """
        ).first(.integer(visit), .integer(worker), .integer(Int64(count))) { Int($0.integer(0)) }
        return granted ?? 0
    }

    /// What it will not ask for, others may.
    package func givePages(_ count: Int, by worker: Int64, of visit: Int64) throws(StoreError) {
        _ = try connection.prepare(
            """
            WITH noted AS (UPDATE work_worker SET granted = granted - ?3, share = 0 WHERE id = ?2 RETURNING id),
            given AS (UPDATE work_visit SET pages = pages - ?3 WHERE visit = ?1 AND EXISTS (SELECT 1 FROM noted))
            SELECT count(*) FROM noted
            """
        ).first(.integer(visit), .integer(worker), .integer(Int64(count))) { $0.integer(0) }
    }
}

// MARK: - Hosts and what waits for them

extension ServerFrontier {
    /// What a worker found for somebody.
    package struct Found: Sendable {
        package var origin: String
        package var href: String
        package var referrer: String?
        /// As whoever works writes and reads it.
        package var facts: Int64
        /// That of it which makes it another discovery.
        package var identity: Int64

        package init(origin: String, href: String, referrer: String?, facts: Int64, identity: Int64) {
            self.origin = origin
            self.href = href
            self.referrer = referrer
            self.facts = facts
            self.identity = identity
        }

        /// Known by 64 bits.
        var key: Int64 {
            let digest = DigestStream.digest(.sha256, of: "\(identity) \(href)".utf8.span)
            return digest.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
        }
    }

    package struct Host: Sendable {
        package let origin: String
        /// Somebody else had it, and what is stored of it is gone through again.
        package let wasLeft: Bool
        /// What that one asked for counts no more.
        package let countsAnew: Bool
    }

    /// Puts in what a worker found; what is known goes. False when its lease is over.
    package func send(_ found: [Found], by worker: Int64, of visit: Int64) throws(StoreError) -> Bool {
        guard !found.isEmpty else { return true }
        return try transaction { () throws(StoreError) in
            guard try holdsLease(worker) else { return false }
            try add(found, to: visit)
            return true
        }
    }

    /// Until the transaction ends, nobody takes the lease away.
    private func holdsLease(_ worker: Int64) throws(StoreError) -> Bool {
        try connection.prepare(Self.fence).first(.integer(worker)) { _ in true } ?? false
    }

    static let fence = "SELECT id FROM work_worker WHERE id = ? FOR KEY SHARE"

    private func add(_ found: [Found], to visit: Int64) throws(StoreError) {
        let origins = Set(found.map(\.origin)).sorted()
        _ = try change(
            """
            INSERT INTO work_host (visit, origin) SELECT ?, given FROM unnest(?) AS given ORDER BY given
            ON CONFLICT DO NOTHING
            """, [.integer(visit), .texts(origins)])
        var known: Set<Int64> = []
        var rows: [(key: Int64, found: Found)] = []
        for one in found where known.insert(one.key).inserted { rows.append((one.key, one)) }
        _ = try change(
            """
            INSERT INTO work_url (visit, key, host, href, referrer, facts)
            SELECT ?1, given.key, work_host.id, given.address, given.referrer, given.facts
            FROM unnest(?2, ?3, ?4, ?5, ?6) AS given(origin, key, address, referrer, facts)
            JOIN work_host ON work_host.visit = ?1 AND work_host.origin = given.origin
            ORDER BY given.key ON CONFLICT DO NOTHING
            """,
            [
                .integer(visit), .texts(rows.map(\.found.origin)), .integers(rows.map(\.key)),
                .texts(rows.map(\.found.href)), .texts(rows.map(\.found.referrer)),
                .integers(rows.map(\.found.facts)),
            ])
    }

    /// Leases up to so many hosts for which something waits.
    package func lease(_ count: Int, for worker: Int64, of visit: Int64) throws(StoreError) -> [Host] {
        guard count > 0 else { return [] }
        return try transaction { () throws(StoreError) in
            guard try holdsLease(worker) else { return [] }
            var hosts: [Host] = []
            var left: [Int64] = []
            try connection.prepare(
                """
                WITH free AS MATERIALIZED (
                    SELECT id, left_by FROM work_host
                    WHERE visit = ?1 AND worker IS NULL AND next <= now() AND (left_by > 0 OR EXISTS (
                        SELECT 1 FROM work_url WHERE work_url.visit = ?1 AND work_url.host = work_host.id AND NOT is_read))
                    ORDER BY next, id LIMIT ?3 FOR NO KEY UPDATE SKIP LOCKED)
                UPDATE work_host SET worker = ?2, left_by = 0 FROM free
                WHERE work_host.visit = ?1 AND work_host.id = free.id
                RETURNING work_host.id, work_host.origin, free.left_by
                """
            ).each(.integer(visit), .integer(worker), .integer(Int64(count))) { row in
                let leftBy = row.integer(2)
                if leftBy > 0 { left.append(row.integer(0)) }
                hosts.append(Host(origin: row.text(1), wasLeft: leftBy > 0, countsAnew: leftBy == 1))
            }
            guard !hosts.isEmpty else { return [] }
            if !left.isEmpty {
                _ = try change(
                    "UPDATE work_url SET is_read = false WHERE visit = ? AND host = ANY(?) AND is_read",
                    [.integer(visit), .integers(left)])
            }
            _ = try change("UPDATE work_worker SET is_idle = false WHERE id = ?", [.integer(worker)])
            return hosts
        }
    }

    /// Hosts that the worker has asked nothing of any more; another one may after so long.
    package func release(_ hosts: [(origin: String, pause: Duration)], by worker: Int64, of visit: Int64)
        throws(StoreError)
    {
        guard !hosts.isEmpty else { return }
        _ = try change(
            """
            UPDATE work_host SET worker = NULL, left_by = 2, next = now() + given.pause * interval '1 millisecond'
            FROM unnest(?, ?) AS given(origin, pause)
            WHERE work_host.visit = ? AND work_host.origin = given.origin AND work_host.worker = ?
            """,
            [
                .texts(hosts.map(\.origin)), .integers(hosts.map { Int64($0.pause / .milliseconds(1)) }),
                .integer(visit), .integer(worker),
            ])
    }

    /// What others found for the hosts that the worker has, in the order in which it came.
    package func take(atMost count: Int, for worker: Int64, of visit: Int64) throws(StoreError) -> [Found] {
        try transaction { () throws(StoreError) in
            guard try holdsLease(worker) else { return [] }
            var found: [(number: Int64, found: Found)] = []
            try connection.prepare(
                """
                WITH mine AS MATERIALIZED (
                    SELECT waiting.key, work_host.origin FROM work_host
                    CROSS JOIN LATERAL (
                        SELECT key, number FROM work_url
                        WHERE work_url.visit = ?1 AND work_url.host = work_host.id AND NOT is_read
                        ORDER BY number LIMIT ?3) AS waiting
                    WHERE work_host.visit = ?1 AND work_host.worker = ?2
                    ORDER BY waiting.number LIMIT ?3)
                UPDATE work_url SET is_read = true FROM mine WHERE work_url.visit = ?1 AND work_url.key = mine.key
                RETURNING work_url.number, mine.origin, work_url.href AS address, work_url.referrer, work_url.facts
                """
            ).each(.integer(visit), .integer(worker), .integer(Int64(count))) { row in
                let one = Found(
                    origin: row.text(1), href: row.text(2), referrer: row.optionalText(3),
                    facts: row.integer(4),
                    identity: 0)
                found.append((row.integer(0), one))
            }
            if !found.isEmpty {
                _ = try change("UPDATE work_worker SET is_idle = false WHERE id = ?", [.integer(worker)])
            }
            return found.sorted { $0.number < $1.number }.map(\.found)
        }
    }

    /// Says to all that a start leads to another host.
    package func move(from source: String, to target: String, by worker: Int64, of visit: Int64)
        throws(StoreError)
    {
        _ = try change(
            """
            INSERT INTO work_move (visit, source, target)
            SELECT ?1, ?2, ?3 WHERE NOT EXISTS (
                SELECT 1 FROM work_move WHERE visit = ?1 AND source = ?2 AND target = ?3)
            """, [.integer(visit), .text(source), .text(target)])
    }
}

// MARK: - What came of it

extension ServerFrontier {
    /// What was asked for, and is not stored, or not to be asked for after all: so that nobody asks again.
    package struct Outcome: Sendable {
        package var origin: String
        package var href: String
        /// As whoever works writes and reads it.
        package var text: String

        package init(origin: String, href: String, text: String) {
            self.origin = origin
            self.href = href
            self.text = text
        }
    }

    /// What a host said about itself: its robots.txt, and what it cannot have.
    package struct Answer: Sendable {
        package var origin: String
        package var href: String
        package var status: Int
        package var location: String?
        /// From how near it came.
        package var reach: Int
        /// Why none came.
        package var failure: String?
        package var body: [UInt8]

        package init(
            origin: String, href: String, status: Int, location: String?, reach: Int, failure: String?,
            body: [UInt8]
        ) {
            self.origin = origin
            self.href = href
            self.status = status
            self.location = location
            self.reach = reach
            self.failure = failure
            self.body = body
        }
    }

    package func note(_ outcomes: [Outcome], _ answers: [Answer], by worker: Int64, of visit: Int64)
        throws(StoreError)
    {
        guard !outcomes.isEmpty || !answers.isEmpty else { return }
        try transaction { () throws(StoreError) in
            guard try holdsLease(worker) else { return }
            if !outcomes.isEmpty {
                _ = try change(
                    "INSERT INTO work_outcome (visit, origin, href, outcome) SELECT ?, * FROM unnest(?, ?, ?)",
                    [
                        .integer(visit), .texts(outcomes.map(\.origin)), .texts(outcomes.map(\.href)),
                        .texts(outcomes.map(\.text)),
                    ])
            }
            for answer in answers {
                _ = try change(
                    """
                    INSERT INTO work_answer (visit, origin, href, status, location, reach, failure, body)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        .integer(visit), .text(answer.origin), .text(answer.href),
                        .integer(Int64(answer.status)),
                        .optional(answer.location), .integer(Int64(answer.reach)), .optional(answer.failure),
                        .blob(answer.body),
                    ])
            }
        }
    }

    /// What is known of those hosts; of all where none is named.
    package func outcomes(of origins: [String]? = nil, in visit: Int64) throws(StoreError) -> [Outcome] {
        var outcomes: [Outcome] = []
        let sql = "SELECT origin, work_outcome.href AS address, outcome FROM work_outcome WHERE visit = ?1"
        let read = { (row: Row) in
            outcomes.append(Outcome(origin: row.text(0), href: row.text(1), text: row.text(2)))
        }
        if let origins {
            try connection.prepare(sql + " AND origin = ANY(?2)").each(
                .integer(visit), .texts(origins), read: read)
        } else {
            try connection.prepare(sql).each(.integer(visit), read: read)
        }
        return outcomes
    }

    package func answers(of origins: [String]? = nil, in visit: Int64) throws(StoreError) -> [Answer] {
        var answers: [Answer] = []
        let sql = """
            SELECT origin, work_answer.href AS address, status, location, reach, failure, body
            FROM work_answer WHERE visit = ?1
            """
        let read = { (row: Row) in
            answers.append(
                Answer(
                    origin: row.text(0), href: row.text(1), status: Int(row.integer(2)),
                    location: row.optionalText(3),
                    reach: Int(row.integer(4)), failure: row.optionalText(5), body: row.blob(6)))
        }
        if let origins {
            try connection.prepare(sql + " AND origin = ANY(?2)").each(
                .integer(visit), .texts(origins), read: read)
        } else {
            try connection.prepare(sql).each(.integer(visit), read: read)
        }
        return answers
    }

    /// What a worker asked of a host, or, under an empty name, of all of them.
    package struct Tally: Sendable, Equatable {
        package var name: String
        package var requests: Int
        package var failures: Int
        package var bytes: Int
        package var version: String?

        package init(name: String, requests: Int, failures: Int, bytes: Int, version: String?) {
            self.name = name
            self.requests = requests
            self.failures = failures
            self.bytes = bytes
            self.version = version
        }
    }

    /// In place of what the worker told before.
    package func tell(_ tallies: [Tally], by worker: Int64, of visit: Int64) throws(StoreError) {
        guard !tallies.isEmpty else { return }
        _ = try change(
            """
            INSERT INTO work_tally (visit, worker, name, requests, failures, bytes, version)
            SELECT ?1, ?2, * FROM unnest(?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (visit, worker, name) DO UPDATE SET requests = excluded.requests,
                failures = excluded.failures, bytes = excluded.bytes, version = excluded.version
            """,
            [
                .integer(visit), .integer(worker), .texts(tallies.map(\.name)),
                .integers(tallies.map { Int64($0.requests) }), .integers(tallies.map { Int64($0.failures) }),
                .integers(tallies.map { Int64($0.bytes) }), .texts(tallies.map(\.version)),
            ])
    }

    /// Of all workers that there were, each host once.
    package func tallies(of visit: Int64) throws(StoreError) -> [Tally] {
        var tallies: [Tally] = []
        try connection.prepare(
            """
            SELECT name, CAST(sum(requests) AS bigint), CAST(sum(failures) AS bigint), CAST(sum(bytes) AS bigint),
                max(version) FROM work_tally WHERE visit = ? GROUP BY name ORDER BY name
            """
        ).each(.integer(visit)) { row in
            tallies.append(
                Tally(
                    name: row.text(0), requests: Int(row.integer(1)), failures: Int(row.integer(2)),
                    bytes: Int(row.integer(3)), version: row.optionalText(4)))
        }
        return tallies
    }
}
