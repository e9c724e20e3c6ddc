package import Database
internal import Glibc

/// The changes to the tables of a PostgreSQL store since their first version, one step for each later
/// version. `larder store migrate` runs them.
///
/// Every version of Larder works with exactly one version of the tables. Therefore the user stops other workers and
/// servers before a migration, and updates them afterwards.
///
/// A step takes exclusive locks on the tables that it changes, for which other users of the database wait. It only
/// creates tables or adds columns with defaults, which PostgreSQL does without rewriting rows, and fills new columns of
/// small tables, so it keeps the locks only for a moment. Statements that change many rows are not part of the step:
/// they run in a transaction of their own, `before`.
enum PostgreSQLMigration {
    /// A change of the tables from one version to the next.
    struct Step: Sendable {
        /// The name that `larder store migrate` prints.
        let name: String
        /// The change of the tables. The same transaction increments the version.
        let sql: String
        /// SQL that changes rows before the step, or empty. It runs again if the migration is interrupted before the step,
        /// and changes only rows that Larder no longer writes.
        var before = ""
        /// SQL that fills the new columns, in the same transaction, or empty.
        var filling = ""
    }

    /// The steps in order: the step at index 0 migrates from version 1 to 2. A released step is never changed, because
    /// stores exist that have run it.
    static let steps: [Step] = [
        ActivityDatabase.postgreSQLStep, BodyStorageRecord.postgreSQLStep, confirmed, provenance, numbers,
        ChannelDatabase.postgreSQLStep, ActivityDatabase.postgreSQLReadings,
    ]

    /// Columns that only `larder store copy` fills, from a folder.
    private static let confirmed = Step(
        name: "snapshots that confirm",
        sql: """
            ALTER TABLE snapshot ADD COLUMN confirmed bigint NOT NULL DEFAULT 0;
            ALTER TABLE response ADD COLUMN confirmed bigint NOT NULL DEFAULT 0;
            """)

    /// Marks the responses of imports and adds the archives of their snapshots.
    private static let provenance = Step(
        name: "where responses come from", sql: "ALTER TABLE snapshot ADD COLUMN archive text COLLATE \"C\";",
        before: Provenance.markEarlierImports)

    /// Adds the numbers of snapshots, and numbers those that exist.
    private static let numbers = Step(
        name: "numbers of snapshots for each site",
        sql: """
            ALTER TABLE site ADD COLUMN snapshots bigint NOT NULL DEFAULT 0;
            ALTER TABLE snapshot ADD COLUMN number bigint NOT NULL DEFAULT 0;
            """,
        filling: Schema.numberSnapshots)

    /// SQL that renames tables and columns that had other names before version 6. It runs before all steps, so that these
    /// use only the new names, and does nothing if it has run before. Earlier versions of Larder that are still
    /// connected fail from then on.
    private static let renameTables = """
        DO $$ DECLARE work text; BEGIN
            IF NOT EXISTS (
                SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'visit') THEN
                RETURN;
            END IF;
            DROP VIEW IF EXISTS larder_response;
            DROP VIEW IF EXISTS larder_link;
            ALTER TABLE visit RENAME TO snapshot;
            ALTER SEQUENCE visit_id_seq RENAME TO snapshot_id_seq;
            ALTER INDEX visit_pkey RENAME TO snapshot_pkey;
            ALTER INDEX visit_site RENAME TO snapshot_site;
            ALTER TABLE response RENAME COLUMN visit TO snapshot;
            ALTER INDEX response_visit RENAME TO response_snapshot;
            ALTER TABLE link RENAME COLUMN requisites TO assets;
            ALTER TABLE IF EXISTS work_visit RENAME TO work_snapshot;
            FOR work IN
                SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
                    AND attname = 'visit' AND starts_with(relname, 'work_')
            LOOP
                EXECUTE format('ALTER TABLE %I RENAME COLUMN visit TO snapshot', work);
            END LOOP;
        END $$;
        """

    /// How long a transaction waits for a lock before it is rolled back and tried again. While it waits for an exclusive
    /// lock, all later users of the table wait behind it.
    private static let lockTimeout = "500ms"

    /// Migrates the tables to the current version, and returns the names of the steps. Each step is a transaction of its
    /// own, so a migration that is interrupted continues with the next step. The caller has a lock, so that only one
    /// migration runs at a time.
    static func run(_ connection: Connection) throws(StoreError) -> [String] {
        var names: [String] = []
        let version = try PostgreSQLSchema.supportedVersion(connection)
        guard version < PostgreSQLSchema.version else { return [] }
        if version < 6 { try runTransaction(renameTables, connection, isStep: false) }
        for step in version..<PostgreSQLSchema.version {
            let step = steps[Int(step) - 1]
            if !step.before.isEmpty { try runTransaction(step.before, connection, isStep: false) }
            // With the current version the migration is complete, so the last step also makes the views.
            let isLast = names.count + 1 == Int(PostgreSQLSchema.version - version)
            try runTransaction(
                step.sql + step.filling + (isLast ? PostgreSQLSchema.views : ""), connection)
            names.append(step.name)
        }
        return names
    }

    /// Runs SQL in a transaction, and repeats it if other sessions have locked its tables.
    ///
    /// - Parameter isStep: whether to increment the version of the store in the same transaction.
    private static func runTransaction(
        _ sql: String, _ connection: Connection, isStep: Bool = true
    ) throws(StoreError) {
        for attempt in 1... {
            do throws(StoreError) {
                return try connection.transaction { () throws(StoreError) in
                    try connection.execute(
                        "SET LOCAL lock_timeout = '\(lockTimeout)'", doing: "migrate")
                    try connection.execute(sql, doing: "migrate")
                    guard isStep else { return }
                    try connection.execute(
                        "UPDATE larder SET value = value + 1 WHERE name = 'version'",
                        doing: "migrate")
                }
            } catch {
                guard error.reason == .busy, attempt < Limits.maxAttempts else { throw error }
                usleep(250_000)
            }
        }
    }
}

extension StoreFolder {
    /// Migrates the store to the current version, and returns the names of the steps that were needed. A
    /// folder is also migrated by any command that opens it.
    package func migrate() throws(StoreError) -> [String] {
        guard server != nil else {
            guard exists else {
                throw StoreError(
                    .missing, doing: "migrate", path: name, detail: "the store does not exist")
            }
            let before = try condition().version
            _ = try StoreReader(self)
            return (before..<Schema.version).map { "version \($0 + 1)" }
        }
        try create()
        let connection = try connect(.readWrite)
        guard try PostgreSQLSchema.exists(connection) else {
            throw StoreError(.missing, doing: "migrate", path: name, detail: "the store does not exist")
        }
        var names: [String] = []
        try StoreLocks(self, of: connection).withTaskLock(.settingUp) { () throws(StoreError) in
            names = try PostgreSQLMigration.run(connection)
        }
        return names
    }
}
