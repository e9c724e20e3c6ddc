internal import Database

/// A result that was computed from all rows of a snapshot, such as its size by media type. Servers store such results in
/// `notes.db`, since counting the rows of many large snapshots takes seconds.
package struct SnapshotFigure: Sendable, Equatable {
    /// The id of the snapshot.
    package let snapshot: Int64
    /// The name of the result that was computed, such as `icon`. A snapshot has at most one figure of a kind.
    package let kind: String
    /// The state of the snapshot from which the figure was computed. A figure with another key is outdated.
    package let key: String
    /// The value, as JSON.
    package let value: String

    package init(of snapshot: Int64, kind: String, key: String, value: String) {
        (self.snapshot, self.kind, self.key, self.value) = (snapshot, kind, key, value)
    }

    static let table = """
        CREATE TABLE IF NOT EXISTS figure (
            snapshot INTEGER NOT NULL,
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            PRIMARY KEY (snapshot, kind)
        ) STRICT, WITHOUT ROWID;

        """
}

extension Snapshot {
    /// The key of its figures; nil while its run is in progress. Responses of a finished snapshot are never added or
    /// replaced, only removed, which changes their number.
    package var figureKey: String? {
        finished.map { "\(number) \(started) \($0) \(responseCount)" }
    }
}

extension ActivityDatabase {
    /// Returns all figures of a local store; empty if there are none, or if this user cannot read them. A store in PostgreSQL
    /// (`StoreFolder.server`) has none.
    package static func figures(in folder: StoreFolder) -> [SnapshotFigure] {
        guard folder.server == nil else { return [] }
        do throws(StoreError) {
            var figures: [SnapshotFigure] = []
            try openIfExists(folder)?.connection.prepare("SELECT snapshot, kind, key, value FROM figure").each
            {
                figures.append(
                    SnapshotFigure(of: $0.integer(0), kind: $0.text(1), key: $0.text(2), value: $0.text(3)))
            }
            return figures
        } catch { return [] }
    }

    /// Stores figures, in place of earlier ones of the same kinds, and removes those of snapshots that do not exist any
    /// more. Does nothing if this user cannot write, since every figure can be computed again.
    ///
    /// - Parameter snapshots: the ids of all snapshots of the store.
    package static func store(
        _ figures: [SnapshotFigure], keepingOnly snapshots: Set<Int64>, in folder: StoreFolder
    ) {
        guard folder.server == nil, folder.isWritable else { return }
        do throws(StoreError) {
            let activity = try ActivityDatabase(folder)
            try activity.withTransaction { () throws(StoreError) in
                var withFigures: Set<Int64> = []
                try activity.connection.prepare("SELECT DISTINCT snapshot FROM figure").each {
                    withFigures.insert($0.integer(0))
                }
                let delete = try activity.connection.prepare("DELETE FROM figure WHERE snapshot = ?")
                for snapshot in withFigures.subtracting(snapshots) { try delete.run(.integer(snapshot)) }
                let add = try activity.connection.prepare(
                    "INSERT OR REPLACE INTO figure (snapshot, kind, key, value) VALUES (?, ?, ?, ?)")
                for figure in figures {
                    try add.run(
                        .integer(figure.snapshot), .text(figure.kind), .text(figure.key), .text(figure.value))
                }
            }
        } catch {
            // Another server may be writing. The next one that needs the figures computes them again.
        }
    }
}
