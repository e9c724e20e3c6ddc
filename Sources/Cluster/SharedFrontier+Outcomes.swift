package import Database

extension SharedFrontier {
    /// The outcome of a URL for which no response is stored. A worker that takes over the host of the URL, and the
    /// finisher, use the outcome in place of another request.
    package struct Outcome: Sendable {
        package var origin: String
        package var href: String
        /// The outcome in the encoding of the crawl, which this module does not interpret.
        package var text: String
        /// Whether the URL is a page that was requested, so that it counts towards the page limit of the snapshot.
        /// False in outcomes that come from the database.
        package var isPage: Bool

        package init(origin: String, href: String, text: String, isPage: Bool = false) {
            self.origin = origin
            self.href = href
            self.text = text
            self.isPage = isPage
        }
    }

    /// A response that describes a host: its robots.txt, or its response to a random URL that cannot exist.
    /// Workers that take over the host use it in place of another request.
    package struct HostResponse: Sendable {
        package var origin: String
        /// The URL of the robots.txt, or a name for the probe that the crawl chooses.
        package var href: String
        /// The status code; 0 if there was no response.
        package var status: Int
        package var location: String?
        /// The network zone of the response in the encoding of the crawl, which this module does not interpret.
        package var zone: Int
        /// The reason why there was no response, in the encoding of the crawl; nil if there was one.
        package var failure: String?
        package var body: [UInt8]

        package init(
            origin: String, href: String, status: Int, location: String?, zone: Int, failure: String?,
            body: [UInt8]
        ) {
            self.origin = origin
            self.href = href
            self.status = status
            self.location = location
            self.zone = zone
            self.failure = failure
            self.body = body
        }
    }

    /// Stores outcomes and responses about hosts, and counts the requested pages among the outcomes, in one
    /// transaction. Does nothing if the worker's lease has expired.
    package func store(
        _ outcomes: [Outcome], _ hostResponses: [HostResponse], by worker: Int64, of snapshot: Int64
    ) throws(StoreError) {
        guard !outcomes.isEmpty || !hostResponses.isEmpty else { return }
        try transaction { () throws(StoreError) in
            guard try lockLease(of: worker) else { return }
            if !outcomes.isEmpty {
                _ = try change(
                    "INSERT INTO work_outcome (snapshot, origin, href, outcome) SELECT ?, * FROM unnest(?, ?, ?)",
                    [
                        .integer(snapshot), .texts(outcomes.map(\.origin)), .texts(outcomes.map(\.href)),
                        .texts(outcomes.map(\.text)),
                    ])
                let pages = outcomes.count(where: \.isPage)
                if pages > 0 { try countPages(pages, by: worker) }
            }
            for response in hostResponses {
                _ = try change(
                    """
                    INSERT INTO work_answer (snapshot, origin, href, status, location, reach, failure, body)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        .integer(snapshot), .text(response.origin), .text(response.href),
                        .integer(Int64(response.status)), .optional(response.location),
                        .integer(Int64(response.zone)), .optional(response.failure), .blob(response.body),
                    ])
            }
        }
    }

    /// Returns the outcomes of some hosts, or of all hosts if `origins` is nil.
    package func outcomes(of origins: [String]? = nil, in snapshot: Int64) throws(StoreError) -> [Outcome] {
        var outcomes: [Outcome] = []
        let sql = "SELECT origin, work_outcome.href AS address, outcome FROM work_outcome WHERE snapshot = ?1"
        let read = { (row: Row) in
            outcomes.append(Outcome(origin: row.text(0), href: row.text(1), text: row.text(2)))
        }
        if let origins {
            try connection.prepare(sql + " AND origin = ANY(?2)").each(
                .integer(snapshot), .texts(origins), read: read)
        } else {
            try connection.prepare(sql).each(.integer(snapshot), read: read)
        }
        return outcomes
    }

    /// Returns the responses about some hosts, or about all hosts if `origins` is nil.
    package func hostResponses(of origins: [String]? = nil, in snapshot: Int64) throws(StoreError)
        -> [HostResponse]
    {
        var responses: [HostResponse] = []
        let sql = """
            SELECT origin, work_answer.href AS address, status, location, reach, failure, body
            FROM work_answer WHERE snapshot = ?1
            """
        let read = { (row: Row) in
            responses.append(
                HostResponse(
                    origin: row.text(0), href: row.text(1), status: Int(row.integer(2)),
                    location: row.optionalText(3),
                    zone: Int(row.integer(4)), failure: row.optionalText(5), body: row.blob(6)))
        }
        if let origins {
            try connection.prepare(sql + " AND origin = ANY(?2)").each(
                .integer(snapshot), .texts(origins), read: read)
        } else {
            try connection.prepare(sql).each(.integer(snapshot), read: read)
        }
        return responses
    }

    /// The number of requests that a worker sent to a host, with their failures and bytes. The finisher adds the
    /// tallies of all workers to its report.
    package struct Tally: Sendable, Equatable {
        /// The name of the host. The crawl uses names that no host can have for its totals.
        package var name: String
        package var requests: Int
        package var failures: Int
        package var bytes: Int
        /// `HTTP/1.1` or `HTTP/2`; nil if the host never answered.
        package var version: String?

        package init(name: String, requests: Int, failures: Int, bytes: Int, version: String?) {
            self.name = name
            self.requests = requests
            self.failures = failures
            self.bytes = bytes
            self.version = version
        }
    }

    /// Stores the tallies of a worker, in place of its earlier ones. The lease is not checked,
    /// because the requests of a worker that has lost its lease count as well.
    func storeTallies(_ tallies: [Tally], by worker: Int64, of snapshot: Int64) throws(StoreError) {
        guard !tallies.isEmpty else { return }
        _ = try change(
            """
            INSERT INTO work_tally (snapshot, worker, name, requests, failures, bytes, version)
            SELECT ?1, ?2, * FROM unnest(?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (snapshot, worker, name) DO UPDATE SET requests = excluded.requests,
                failures = excluded.failures, bytes = excluded.bytes, version = excluded.version
            """,
            [
                .integer(snapshot), .integer(worker), .texts(tallies.map(\.name)),
                .integers(tallies.map { Int64($0.requests) }), .integers(tallies.map { Int64($0.failures) }),
                .integers(tallies.map { Int64($0.bytes) }), .texts(tallies.map(\.version)),
            ])
    }

    /// Returns the tallies of the snapshot, each summed over all workers. Tallies with the same name belong to one host.
    package func tallies(of snapshot: Int64) throws(StoreError) -> [Tally] {
        var tallies: [Tally] = []
        try connection.prepare(
            """
            SELECT name, CAST(sum(requests) AS bigint), CAST(sum(failures) AS bigint), CAST(sum(bytes) AS bigint),
                max(version) FROM work_tally WHERE snapshot = ? GROUP BY name ORDER BY name
            """
        ).each(.integer(snapshot)) { row in
            tallies.append(
                Tally(
                    name: row.text(0), requests: Int(row.integer(1)), failures: Int(row.integer(2)),
                    bytes: Int(row.integer(3)), version: row.optionalText(4)))
        }
        return tallies
    }
}
