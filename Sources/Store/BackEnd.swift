internal import Database

/// The place of a store: a local folder with an SQLite database, or a PostgreSQL database.
///
/// Code that serves both places reads these properties. A third place does not compile before it is added here.
enum BackEnd {
    case folder, postgreSQL

    /// Whether each row is written a second time, to the journal. A PostgreSQL server has a log of its own.
    var hasJournal: Bool {
        switch self {
        case .folder: true
        case .postgreSQL: false
        }
    }

    /// Whether bodies are in packs and files. In PostgreSQL they are in rows, or in external storage.
    var hasPacks: Bool {
        switch self {
        case .folder: true
        case .postgreSQL: false
        }
    }

    /// Whether the numbers of responses and bodies are stored, because counting them takes SQLite long.
    var hasStoredCounts: Bool {
        switch self {
        case .folder: true
        case .postgreSQL: false
        }
    }

    /// Whether the size of the store is that of its files. In PostgreSQL it is the size of its rows, which is known exactly.
    var isMeasuredByFiles: Bool {
        switch self {
        case .folder: true
        case .postgreSQL: false
        }
    }

    /// Whether a disk of this machine can be too full to delete rows in one transaction.
    var canFillDisk: Bool {
        switch self {
        case .folder: true
        case .postgreSQL: false
        }
    }

    /// Whether each query is a network round trip, so that one query should look up many rows.
    var isRemote: Bool {
        switch self {
        case .folder: false
        case .postgreSQL: true
        }
    }

    /// Whether lists of links have checksums (`link.sum`). PostgreSQL can have checksums of its own for its database pages.
    var hasLinkSums: Bool {
        switch self {
        case .folder: true
        case .postgreSQL: false
        }
    }

    // MARK: SQL

    /// The text before the name of a column that keeps SQLite from using its index. PostgreSQL has no such operator, and
    /// needs none.
    var withoutIndex: String {
        switch self {
        case .folder: "+"
        case .postgreSQL: ""
        }
    }

    /// The words after `SELECT`, and at the end of the statement, that return one row for each `url.id`. SQLite takes an
    /// arbitrary row of the group, so the other columns must be the same in all of them.
    var oneRowForEachURL: (distinct: String, grouping: String) {
        switch self {
        case .folder: ("", "GROUP BY url.id")
        case .postgreSQL: ("DISTINCT ON (url.id)", "")
        }
    }
}

extension Connection {
    var backEnd: BackEnd { isPostgreSQL ? .postgreSQL : .folder }
}

extension StoreFolder {
    /// Whether each query is a network round trip, so that one query should look up many rows.
    package var isRemote: Bool { backEnd.isRemote }

    var backEnd: BackEnd { server == nil ? .folder : .postgreSQL }
}
