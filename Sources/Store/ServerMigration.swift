internal import Glibc

/// What the tables of a PostgreSQL have got since their first version, a step for each later one.
///
/// Larders on other machines go on with their work meanwhile, so that a step makes new tables, or adds columns
/// that may be left out, and nothing else: neither holds anybody up for longer than a moment.
enum ServerMigration {
    struct Step: Sendable {
        /// What it brings, for people.
        let name: String
        let sql: String
        /// Runs in a transaction of its own before the step, and again if the step is repeated. It changes rows that nobody
        /// writes to any more, and locks no table.
        var before = ""
        /// Changes views, in a transaction of its own after the step.
        var afterwards = ""
    }

    /// One after the other; none is changed once a larder was released with it.
    static let steps: [Step] = [NoteBook.serverStep, KeptBodies.serverStep, confirmed, provenance]

    /// What a folder that is copied into a PostgreSQL says of visits that confirmed what was held. None of the larders that
    /// write to one writes it.
    private static let confirmed = Step(
        name: "visits that confirm",
        sql: """
            ALTER TABLE visit ADD COLUMN confirmed bigint NOT NULL DEFAULT 0;
            ALTER TABLE response ADD COLUMN confirmed bigint NOT NULL DEFAULT 0;
            """)

    /// Marks the responses of imports and adds the archives of their visits. The view gets its new columns at the end,
    /// where PostgreSQL wants them.
    private static let provenance = Step(
        name: "where responses come from", sql: "ALTER TABLE visit ADD COLUMN archive text COLLATE \"C\";",
        before: Provenance.markEarlierImports,
        afterwards: """
            CREATE OR REPLACE VIEW larder_response AS
                SELECT site.name AS site, response.visit, url.href AS url, response.status,
                    CASE response.role WHEN 0 THEN 'page' ELSE 'requisite' END AS role, response.type,
                    response.request, response.variant, to_timestamp(response.fetched) AS fetched,
                    body.size, encode(body.sha256, 'hex') AS sha256, referrer.href AS referrer, response.fields,
                    \(Schema.isVisible("response")) AND NOT EXISTS (
                        SELECT 1 FROM response AS newer JOIN visit AS later ON later.id = newer.visit
                        WHERE newer.url = response.url AND newer.request = response.request
                            AND newer.variant IN (response.variant, '') AND later.site = site.id
                            AND \(Provenance.isPreferred("newer", to: "response"))
                            AND \(Schema.isVisible("newer"))) AS shown,
                    \(Provenance.kindName) AS provenance, visit.archive
                FROM response
                JOIN url ON url.id = response.url
                JOIN visit ON visit.id = response.visit
                JOIN site ON site.id = visit.site
                LEFT JOIN body ON body.id = response.body
                LEFT JOIN url AS referrer ON referrer.id = response.referrer;
            """)

    /// So long it waits for those who use a table, and tries again afterwards: whoever comes meanwhile would
    /// wait behind it.
    private static let patience = "500ms"

    /// Leads the tables from the version that they have to the last one, each step in a transaction of its
    /// own. Gives the names of the steps that were taken. One at a time: the caller sees to it.
    static func run(_ connection: Connection) throws(StoreError) -> [String] {
        var names: [String] = []
        for step in try ServerSchema.known(connection)..<ServerSchema.version {
            let step = steps[Int(step) - 1]
            if !step.before.isEmpty { try take(step.before, connection, isStep: false) }
            try take(step.sql, connection)
            if !step.afterwards.isEmpty { try take(step.afterwards, connection, isStep: false) }
            names.append(step.name)
        }
        return names
    }

    private static func take(
        _ sql: String, _ connection: Connection, isStep: Bool = true
    ) throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) {
                return try connection.transaction { () throws(StoreError) in
                    try connection.execute(
                        "SET LOCAL lock_timeout = '\(patience)'", doing: "bring up to date")
                    try connection.execute(sql, doing: "bring up to date")
                    guard isStep else { return }
                    try connection.execute(
                        "UPDATE larder SET value = value + 1 WHERE name = 'version'",
                        doing: "bring up to date")
                }
            } catch {
                guard error.reason == .busy, attempt < Limits.attempts else { throw error }
                usleep(250_000)
            }
        }
    }
}

extension StoreFolder {
    /// Brings the larder up to date, and gives what that brought: nothing for one that was. Of a folder, any
    /// command does that by itself.
    package func migrate() throws(StoreError) -> [String] {
        guard server != nil else {
            guard exists else {
                throw StoreError(
                    .missing, doing: "bring up to date", path: name, detail: "there is no larder")
            }
            let before = try condition().version
            _ = try StoreReader(self)
            return (before..<Schema.version).map { "version \($0 + 1)" }
        }
        try create()
        let connection = try connect(.readWrite)
        guard try ServerSchema.isThere(connection) else {
            throw StoreError(.missing, doing: "bring up to date", path: name, detail: "there is no larder")
        }
        var names: [String] = []
        try StoreLocks(self, of: connection).whileAlone(.settingUp) { () throws(StoreError) in
            names = try ServerMigration.run(connection)
        }
        return names
    }
}
