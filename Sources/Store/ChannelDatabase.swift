package import Database
internal import Digest
internal import Glibc

/// The channels of apps, with the releases that devices get, and what devices have reported about these.
///
/// A channel is stored as a text that the caller interprets. Each change is one transaction, so that a kill leaves either
/// the state before or the state after it, and several servers that read it make the same decisions.
///
/// The channels of a local store are in a database of their own, `channels.db`. A server therefore records a failure, and
/// halts a release, without waiting for a prefetch that writes to the store. In PostgreSQL they are tables of the store.
///
/// A connection belongs to one thread.
package final class ChannelDatabase {
    /// The name of a channel of an app.
    package struct Key: Sendable, Hashable {
        package let app: String
        package let channel: String

        package init(app: String, channel: String) { (self.app, self.channel) = (app, channel) }
    }

    /// A stored channel.
    package struct Row: Sendable, Equatable {
        package let key: Key
        /// Increases with each change of the state.
        package let version: Int64
        package let state: String
    }

    /// A change of a channel, which is stored as a whole or not at all.
    package struct Change: Sendable, Equatable {
        /// The new state.
        package var state: String
        /// The updates whose reports and counts are forgotten, because they are announced again after a halt.
        package var resetUpdates: [String] = []
        /// The updates that devices may still report about; nil for all. The devices that reported about the others are
        /// forgotten. The counts of these stay, and no longer change.
        package var openUpdates: [String]?

        package init(_ state: String, resetUpdates: [String] = [], openUpdates: [String]? = nil) {
            (self.state, self.resetUpdates, self.openUpdates) = (state, resetUpdates, openUpdates)
        }
    }

    /// The numbers of devices that reported about one update.
    package struct Outcome: Sendable, Hashable {
        /// The devices that run it, or ran it.
        package var succeeded = 0
        package var failed = 0

        package var count: Int { succeeded + failed }

        package init(succeeded: Int = 0, failed: Int = 0) {
            (self.succeeded, self.failed) = (succeeded, failed)
        }
    }

    /// The maximum number of devices whose reports are remembered for all updates of one app. Further devices are not
    /// counted. There is a limit because anyone who reaches the server can make up devices.
    static let maxReports = 1_000_000
    /// The newest updates of a channel whose reports are remembered. Those of earlier ones are removed when another is
    /// published; their counts stay.
    package static let maxOpenUpdates = 8

    /// A report of a device about one update.
    package struct Report: Sendable, Hashable {
        package let key: Key
        /// The ID of the update. The caller makes sure that the channel has it.
        package let rollout: String
        /// A hash of the device's ID (``ChannelDatabase/hash(ofDevice:)``).
        package let device: Int64
        package let hasFailed: Bool

        package init(_ key: Key, rollout: String, device: Int64, hasFailed: Bool) {
            (self.key, self.rollout, self.device, self.hasFailed) = (key, rollout, device, hasFailed)
        }
    }

    private let connection: Connection
    private let maxReports: Int
    private let findVersion: Statement
    private let findVersions: Statement
    private let findReport: Statement
    private let addOutcome: Statement
    private let addReport: Statement
    private let countReport: Statement
    private let findOpen: Statement
    private let countReports: Statement

    /// Opens the database, and creates it if there is none.
    ///
    /// - Parameters:
    ///   - failingFast: whether to fail at once if the PostgreSQL server is unreachable, for callers that others wait for.
    ///   - maxReports: replaces the limit in tests.
    package convenience init(
        _ folder: StoreFolder, failingFast: Bool = false, maxReports: Int = ChannelDatabase.maxReports
    ) throws(StoreError) {
        try self.init(Self.connect(folder, failingFast: failingFast), maxReports: maxReports)
    }

    private init(_ connection: Connection, maxReports: Int) throws(StoreError) {
        self.connection = connection
        self.maxReports = maxReports
        findVersion = try connection.prepare("SELECT version FROM channel WHERE app = ? AND name = ?")
        findVersions = try connection.prepare("SELECT name, version FROM channel WHERE app = ? ORDER BY name")
        findReport = try connection.prepare("SELECT failed FROM report WHERE rollout = ? AND device = ?")
        addOutcome = connection.prepareLater(
            """
            INSERT OR IGNORE INTO outcome (rollout, app, channel, succeeded, failed, open)
            VALUES (?, ?, ?, 0, 0, 1)
            """)
        addReport = connection.prepareLater(
            """
            INSERT INTO report (rollout, device, failed) VALUES (?1, ?2, ?3)
            ON CONFLICT (rollout, device) DO UPDATE SET failed = excluded.failed
            """)
        countReport = connection.prepareLater(
            "UPDATE outcome SET succeeded = succeeded + ?2, failed = failed + ?3 WHERE rollout = ?1")
        findOpen = connection.prepareLater("SELECT open FROM outcome WHERE rollout = ?")
        countReports = connection.prepareLater(
            "SELECT CAST(coalesce(sum(succeeded + failed), 0) AS bigint) FROM outcome WHERE app = ? AND open = 1"
        )
    }

    /// Whether something may have been published. In PostgreSQL only the database knows.
    package static func mayExist(in folder: StoreFolder) -> Bool {
        folder.server != nil || access(folder.channelDatabase, F_OK) == 0
    }

    /// Opens the database; nil if nothing was published yet. If the disk is full or this user may not write to the store, only
    /// for reading.
    package static func openIfExists(
        _ folder: StoreFolder, failingFast: Bool = false
    ) throws(StoreError) -> ChannelDatabase? {
        guard mayExist(in: folder) else { return nil }
        do throws(StoreError) {
            return try ChannelDatabase(folder, failingFast: failingFast)
        } catch {
            guard folder.server == nil, [.denied, .full, .failed].contains(error.reason),
                let connection = try? Connection.reading(folder.channelDatabase)
            else { throw error }
            try checkVersion(of: connection)
            return try ChannelDatabase(connection, maxReports: maxReports)
        }
    }

    private static func connect(
        _ folder: StoreFolder, failingFast: Bool
    ) throws(StoreError) -> Connection {
        if folder.server != nil {
            return try PostgreSQLSchema.connect(
                to: folder, .readWrite, patience: failingFast ? 0 : Connection.busyMilliseconds)
        }
        let locks = try StoreLocks(folder)
        let connection = try Connection(folder.channelDatabase, access: .readWrite, modeOf: folder.locks)
        // SQLite does not wait for locks when it changes the journal mode.
        try locks.withTaskLock(.settingUp) { () throws(StoreError) in
            guard try connection.integer("PRAGMA user_version") == 0 else { return }
            try connection.execute("PRAGMA journal_mode = WAL", doing: "set up")
            try connection.transaction { () throws(StoreError) in
                try connection.execute(
                    tables + "PRAGMA user_version = \(version);", doing: "set up")
            }
        }
        try checkVersion(of: connection)
        // A release that was announced must stay announced after a power cut, since devices do not return to an earlier one.
        try connection.execute("PRAGMA synchronous = FULL;", doing: "set up")
        return connection
    }

    private static func checkVersion(of connection: Connection) throws(StoreError) {
        let found = try connection.integer("PRAGMA user_version")
        guard found == version else {
            throw StoreError(
                .unusable, doing: "open", path: connection.path,
                detail: "it has version \(found), and this version of Larder reads version \(version)",
                advice: "use the version of Larder that wrote it")
        }
    }

    /// The version of the tables in a file.
    private static let version: Int64 = 1

    /// **channel**: `state` is a text of the module Rollouts. **outcome**: the counts of each update; `open` is 1 as long as
    /// its reports are remembered. **report**: the devices that reported, by a hash, so that each counts once.
    private static let tables = """
        CREATE TABLE channel (
            app TEXT NOT NULL,
            name TEXT NOT NULL,
            version INTEGER NOT NULL,
            state TEXT NOT NULL,
            PRIMARY KEY (app, name)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE outcome (
            rollout TEXT PRIMARY KEY,
            app TEXT NOT NULL,
            channel TEXT NOT NULL,
            succeeded INTEGER NOT NULL,
            failed INTEGER NOT NULL,
            open INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX outcome_app ON outcome(app, channel);
        CREATE TABLE report (
            rollout TEXT NOT NULL,
            device INTEGER NOT NULL,
            failed INTEGER NOT NULL,
            PRIMARY KEY (rollout, device)
        ) STRICT, WITHOUT ROWID;

        """

    /// Creates the same tables in PostgreSQL.
    static let postgreSQLStep = PostgreSQLMigration.Step(
        name: "channels of apps",
        sql: """
            CREATE TABLE channel (
                app text COLLATE "C" NOT NULL,
                name text COLLATE "C" NOT NULL,
                version bigint NOT NULL,
                state text COLLATE "C" NOT NULL,
                PRIMARY KEY (app, name)
            );
            CREATE TABLE outcome (
                rollout text COLLATE "C" PRIMARY KEY,
                app text COLLATE "C" NOT NULL,
                channel text COLLATE "C" NOT NULL,
                succeeded bigint NOT NULL,
                failed bigint NOT NULL,
                open bigint NOT NULL
            );
            CREATE INDEX outcome_app ON outcome(app, channel);
            CREATE TABLE report (
                rollout text COLLATE "C" NOT NULL,
                device bigint NOT NULL,
                failed bigint NOT NULL,
                PRIMARY KEY (rollout, device)
            );

            """)

    // MARK: - Channels

    /// All channels, in the order of their names.
    package func channels() throws(StoreError) -> [Row] {
        var rows: [Row] = []
        try connection.prepare(
            "SELECT app, name, version, state FROM channel WHERE state <> '' ORDER BY app, name"
        ).each {
            rows.append(
                Row(
                    key: Key(app: $0.text(0), channel: $0.text(1)), version: $0.integer(2), state: $0.text(3))
            )
        }
        return rows
    }

    /// A channel; nil if it does not exist.
    package func channel(_ key: Key) throws(StoreError) -> Row? {
        try connection.prepare(
            "SELECT version, state FROM channel WHERE app = ? AND name = ? AND state <> ''"
        ).first(.text(key.app), .text(key.channel)) {
            Row(key: key, version: $0.integer(0), state: $0.text(1))
        }
    }

    /// The version of a channel; nil if it never existed. The removal of a channel is a change, too.
    package func version(of key: Key) throws(StoreError) -> Int64? {
        try findVersion.first(.text(key.app), .text(key.channel)) { $0.integer(0) }
    }

    /// The versions of the channels of an app, by their names. Empty if the app is unknown.
    package func versions(ofApp app: String) throws(StoreError) -> [String: Int64] {
        var versions: [String: Int64] = [:]
        try findVersions.each(.text(app)) { versions[$0.text(0)] = $0.integer(1) }
        return versions
    }

    /// Changes a channel in one transaction, which no other change of it can come between.
    ///
    /// - Parameter change: returns the change, or nil to leave the channel as it is. It gets the state, which is nil for a
    ///   channel that does not exist. It may be called again if PostgreSQL was busy or the connection was lost.
    package func change(_ key: Key, _ change: (String?) -> Change?) throws(StoreError) {
        try inTransaction { () throws(StoreError) in
            let state = try lockedState(of: key)
            guard let change = change(state) else { return }
            if change.state != state { try store(change.state, for: key) }
            try resetReports(of: change.resetUpdates)
            if let open = change.openUpdates { try forgetReports(of: key, except: open) }
        }
    }

    /// Removes a channel with all reports about its updates. Returns false if there was none.
    ///
    /// Its row stays with an empty state, so that a channel of the same name never repeats a version: servers would not
    /// notice the change.
    package func remove(_ key: Key) throws(StoreError) -> Bool {
        var existed = false
        try inTransaction { () throws(StoreError) in
            existed = try lockedState(of: key) != nil
            guard existed else { return }
            try store("", for: key)
            try forgetReports(of: key, except: [])
            try connection.prepare("DELETE FROM outcome WHERE app = ? AND channel = ?")
                .run(.text(key.app), .text(key.channel))
        }
        return existed
    }

    /// The state of a channel, which other transactions cannot change until this one ends; nil if there is none.
    private func lockedState(of key: Key) throws(StoreError) -> String? {
        try connection.prepare(
            "SELECT state FROM channel WHERE app = ? AND name = ?\(connection.rowLock)"
        ).first(.text(key.app), .text(key.channel)) { $0.text(0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Makes other transactions wait that change the channel. In SQLite they wait anyway.
    private func lock(_ key: Key) throws(StoreError) {
        guard !connection.rowLock.isEmpty else { return }
        _ = try connection.prepare(
            "SELECT version FROM channel WHERE app = ? AND name = ?\(connection.rowLock)"
        )
        .first(.text(key.app), .text(key.channel)) { $0.integer(0) }
    }

    private func store(_ state: String, for key: Key) throws(StoreError) {
        try connection.prepare(
            """
            INSERT INTO channel (app, name, version, state) VALUES (?, ?, 1, ?)
            ON CONFLICT (app, name) DO UPDATE SET version = channel.version + 1, state = excluded.state
            """
        ).run(.text(key.app), .text(key.channel), .text(state))
    }

    /// Runs `body` in a transaction (`Connection.inRepeatedTransaction`).
    private func inTransaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try connection.inRepeatedTransaction(body)
    }

    // MARK: - Reports

    /// Records that a device runs an update or failed to. Each device counts once for each update; a failure counts more
    /// than a success.
    ///
    /// - Parameters:
    ///   - rollout: the ID of the update. The caller makes sure that the channel has it.
    ///   - device: a hash of the device's ID.
    ///   - halt: called after a new failure in the same transaction, with the state of the channel and the counts of the
    ///     update. Returns the new state, or nil to leave the channel as it is.
    /// - Returns: whether the report was new.
    @discardableResult
    package func report(
        _ rollout: String, of key: Key, device: Int64, hasFailed: Bool,
        halt: (_ state: String, _ outcome: Outcome) -> String?
    ) throws(StoreError) -> Bool {
        let report = Report(key, rollout: rollout, device: device, hasFailed: hasFailed)
        return try !record([report]) { halt($1, $2) }.isEmpty
    }

    /// Whether a report repeats an earlier one.
    package func isKnown(_ report: Report) throws(StoreError) -> Bool {
        guard let hasFailed = try findOutcome(report) else { return false }
        return hasFailed || !report.hasFailed
    }

    /// Whether the device failed to run the update; nil if it has not reported about it.
    private func findOutcome(_ report: Report) throws(StoreError) -> Bool? {
        try findReport.first(.text(report.rollout), .integer(report.device)) { $0.integer(0) != 0 }
    }

    /// Records reports in one transaction. Each device counts once for each update; a failure counts more than a success.
    ///
    /// - Parameters:
    ///   - mayHalt: called after each new failure in the same transaction, with the counts of the update. Returns false if
    ///     these halt nothing, so that the state need not be read: it has up to 16 MiB, and anyone can send failures.
    ///   - halt: called if so, with the state of the channel and the counts of the update. Returns the new state, or nil to
    ///     leave the channel as it is.
    /// - Returns: the reports that were new.
    package func record(
        _ reports: [Report], mayHalt: (_ report: Report, _ outcome: Outcome) -> Bool = { _, _ in true },
        halt: (_ report: Report, _ state: String, _ outcome: Outcome) -> String?
    ) throws(StoreError) -> Set<Report> {
        // Most reports repeat earlier ones. They need no transaction, for which others would wait.
        var open: [Report] = []
        for report in Set(reports) where try !isKnown(report) { open.append(report) }
        guard !open.isEmpty else { return [] }
        // All transactions lock in the same order: the channels, then the counts of the updates.
        open.sort {
            ($0.key.app, $0.key.channel, $0.rollout, $0.device) < (
                $1.key.app, $1.key.channel, $1.rollout, $1.device
            )
        }
        var recorded: Set<Report> = []
        try inTransaction { () throws(StoreError) in
            recorded = []
            var locked: Key?
            for report in open where report.hasFailed && report.key != locked {
                try lock(report.key)
                locked = report.key
            }
            for report in open {
                guard try add(report) else { continue }
                recorded.insert(report)
                guard report.hasFailed else { continue }
                let outcome = try outcome(of: report.rollout)
                guard mayHalt(report, outcome), let state = try lockedState(of: report.key) else { continue }
                if let changed = halt(report, state, outcome), changed != state {
                    try store(changed, for: report.key)
                }
            }
        }
        return recorded
    }

    /// Adds a report in the current transaction. Returns whether it was new.
    private func add(_ report: Report) throws(StoreError) -> Bool {
        let hadFailed = try findOutcome(report)
        if let hadFailed, hadFailed || !report.hasFailed { return false }
        try addOutcome.run(.text(report.rollout), .text(report.key.app), .text(report.key.channel))
        guard try canRemember(report.rollout, of: report.key, isKnown: hadFailed != nil) else { return false }
        try addReport.run(.text(report.rollout), .integer(report.device), .integer(report.hasFailed ? 1 : 0))
        try countReport.run(
            .text(report.rollout), .integer(report.hasFailed ? hadFailed == nil ? 0 : -1 : 1),
            .integer(report.hasFailed ? 1 : 0))
        return true
    }

    /// Whether the reports of the update are still remembered, and another device fits.
    private func canRemember(_ rollout: String, of key: Key, isKnown: Bool) throws(StoreError) -> Bool {
        let isOpen = try findOpen.first(
            .text(rollout)
        ) { $0.integer(0) != 0 }
        guard isOpen == true else { return false }
        if isKnown { return true }
        let count = try countReports.first(.text(key.app)) { $0.integer(0) }
        return count ?? 0 < Int64(maxReports)
    }

    /// The counts of one update.
    private func outcome(of rollout: String) throws(StoreError) -> Outcome {
        try connection.prepare("SELECT succeeded, failed FROM outcome WHERE rollout = ?").first(
            .text(rollout)
        ) { Outcome(succeeded: Int($0.integer(0)), failed: Int($0.integer(1))) } ?? Outcome()
    }

    /// The hash of a device's ID, under which its reports are stored.
    package static func hash(ofDevice device: String) -> Int64 {
        let digest = DigestStream.digest(.sha256, of: Array(device.utf8).span).bytes
        return Int64(bitPattern: digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// The reports of one device about updates: whether each failed, by the IDs of the updates. Updates that the device did not
    /// report about, and those whose reports are forgotten, are left out.
    package func outcomes(
        ofDevice device: Int64, about rollouts: some Sequence<String>
    ) throws(StoreError) -> [String: Bool] {
        var outcomes: [String: Bool] = [:]
        for rollout in rollouts {
            outcomes[rollout] = try findReport.first(
                .text(rollout), .integer(device)
            ) { $0.integer(0) != 0 }
        }
        return outcomes
    }

    /// The counts of all updates that devices have reported about, by the IDs of the updates.
    package func outcomes() throws(StoreError) -> [String: Outcome] {
        var outcomes: [String: Outcome] = [:]
        try connection.prepare("SELECT rollout, succeeded, failed FROM outcome").each {
            outcomes[$0.text(0)] = Outcome(succeeded: Int($0.integer(1)), failed: Int($0.integer(2)))
        }
        return outcomes
    }

    /// Forgets in the open transaction which devices reported about all but these updates of a channel.
    private func forgetReports(of key: Key, except open: [String]) throws(StoreError) {
        var closed: [String] = []
        try connection.prepare(
            "SELECT rollout FROM outcome WHERE app = ? AND channel = ? AND open = 1"
        ).each(.text(key.app), .text(key.channel)) { closed.append($0.text(0)) }
        for rollout in closed.sorted() where !open.contains(rollout) {
            try connection.prepare("DELETE FROM report WHERE rollout = ?").run(.text(rollout))
            try connection.prepare("UPDATE outcome SET open = 0 WHERE rollout = ?").run(.text(rollout))
        }
    }

    /// Forgets the reports about updates and their counts in the open transaction.
    private func resetReports(of rollouts: [String]) throws(StoreError) {
        for rollout in rollouts.sorted() {
            try connection.prepare("DELETE FROM report WHERE rollout = ?").run(.text(rollout))
            try connection.prepare("DELETE FROM outcome WHERE rollout = ?").run(.text(rollout))
        }
    }

    // MARK: - Copies

    /// Replaces all channels and counts with those of another store. The reports of single devices are not copied, so
    /// that the counts of these updates no longer change.
    func replace(by other: ChannelDatabase) throws(StoreError) {
        let rows = try other.channels()
        var outcomes: [(rollout: String, key: Key, outcome: Outcome)] = []
        try other.connection.prepare(
            "SELECT rollout, app, channel, succeeded, failed FROM outcome ORDER BY rollout"
        ).each {
            outcomes.append(
                (
                    $0.text(0), Key(app: $0.text(1), channel: $0.text(2)),
                    Outcome(succeeded: Int($0.integer(3)), failed: Int($0.integer(4)))
                ))
        }
        try inTransaction { () throws(StoreError) in
            for table in ["channel", "outcome", "report"] {
                try connection.prepare("DELETE FROM \(table)").run()
            }
            for row in rows { try store(row.state, for: row.key) }
            let add = try connection.prepare(
                """
                INSERT INTO outcome (rollout, app, channel, succeeded, failed, open) VALUES (?, ?, ?, ?, ?, 0)
                """)
            for (rollout, key, outcome) in outcomes {
                try add.run(
                    .text(rollout), .text(key.app), .text(key.channel), .integer(Int64(outcome.succeeded)),
                    .integer(Int64(outcome.failed)))
            }
        }
    }
}
