package import Database
internal import Glibc
internal import Web

/// The full-text index of a store, in an SQLite database beside that of the store.
///
/// It can be rebuilt from the store at any time, so it may be removed without loss. One connection can write
/// while others read. An instance belongs to one thread.
///
/// An entry of the index is a text, found by the digest of its content. Several bodies can have the same text, and several
/// snapshots can share a body, so each text is indexed once however often it is stored.
///
/// `SearchIndex+Writing.swift` adds and removes texts, `SearchIndex+Matching.swift` ranks them for a query,
/// `SearchIndex+Forms.swift` finds inflected forms,
/// and `SearchIndex+Reading.swift` reads what results show.
package final class SearchIndex {
    /// The version of the tables, to be increased when they change. `version` also includes that of
    /// `WordSplitter`, because words that were split differently are not found. An index of another version is rebuilt.
    private static let layout: Int64 = 5
    static var version: Int64 { layout << 16 | Int64(WordSplitter.version) }

    let connection: Connection
    let scorer: TextScorer
    /// Cached statistics, as of the last change that this connection has seen.
    var statistics = IndexStatistics()
    /// Polled during a search. When it returns false, the search ends early, and its result must be ignored.
    package var shouldContinue: () -> Bool = { true }
    /// Whether this connection may write. If so, `statistics` are read again for each search: SQLite's `data_version` does
    /// not report a connection's own changes.
    let canWrite: Bool
    private let folder: StoreFolder
    /// The identity of the file that this instance has open. Another process may replace the file by a new index.
    private let file: FileIdentity?
    /// The stemmers that were needed so far.
    var stemmers: [Stemmer.Language: Stemmer] = [:]
    /// Prepared statements by their SQL.
    private var statements: [String: Statement] = [:]

    /// The device and inode of a file.
    private struct FileIdentity: Equatable {
        let device: UInt
        let inode: UInt

        /// Returns nil if there is no file.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        }
    }

    private init(_ folder: StoreFolder, _ connection: Connection, _ scorer: TextScorer, canWrite: Bool) {
        self.canWrite = canWrite
        self.folder = folder
        self.connection = connection
        self.scorer = scorer
        file = FileIdentity(folder.searchIndex)
    }

    /// Returns a prepared statement from the cache, or prepares it.
    func statement(_ sql: String) throws(StoreError) -> Statement {
        if let statement = statements[sql] { return statement }
        let statement = try connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    /// Opens the index for reading. Returns nil if there is none, or if it is damaged or has another version.
    /// In those cases the next run of the indexer rebuilds it.
    package static func openIfExists(_ folder: StoreFolder) throws(StoreError) -> SearchIndex? {
        guard folder.hasSearchIndex else { return nil }
        do throws(StoreError) {
            let connection = try folder.read(folder.searchIndex)
            let scorer = TextScorer()
            guard connection.addSearch(scorer), try isCurrent(connection) else { return nil }
            try connection.execute(
                "PRAGMA cache_size = -16384; PRAGMA mmap_size = 4294967296;", doing: "open")
            return SearchIndex(folder, connection, scorer, canWrite: false)
        } catch  where error.reason == .unusable || error.reason == .denied {
            return nil
        }
    }

    /// Opens the index for writing. Creates it if there is none, and rebuilds it if it is damaged or has
    /// another version.
    package static func openOrCreate(_ folder: StoreFolder) throws(StoreError) -> SearchIndex {
        do throws(StoreError) {
            if let index = try openIfCurrent(folder) { return index }
        } catch  where error.reason == .unusable {
            // It is rebuilt below.
        }
        folder.removeSearchIndex()
        if let index = try openIfCurrent(folder) { return index }
        throw StoreError(
            .failed, doing: "set up", path: folder.searchIndex,
            detail: "this SQLite has no full-text search (FTS5)",
            advice: "use a SQLite that has it")
    }

    /// Returns the index for writing, with its tables. Nil if it has another version, or if SQLite has no FTS5.
    private static func openIfCurrent(_ folder: StoreFolder) throws(StoreError) -> SearchIndex? {
        let locks = try StoreLocks(folder)
        let connection = try Connection(folder.searchIndex, access: .readWrite, modeOf: folder.locks)
        let scorer = TextScorer()
        guard connection.addSearch(scorer) else { return nil }
        // Synchronous writes are unnecessary: after a power cut, the lost or damaged parts are indexed again.
        try connection.execute(
            "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768;",
            doing: "set up")
        if try connection.integer("SELECT count(*) FROM sqlite_schema") == 0 {
            try locks.withTaskLock(.settingUp) { () throws(StoreError) in
                guard try connection.integer("SELECT count(*) FROM sqlite_schema") == 0 else { return }
                try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;", doing: "set up")
                try connection.execute("BEGIN IMMEDIATE; \(tables) COMMIT;", doing: "set up")
            }
        }
        guard try isCurrent(connection) else { return nil }
        return SearchIndex(folder, connection, scorer, canWrite: true)
    }

    private static func isCurrent(_ connection: Connection) throws(StoreError) -> Bool {
        guard try connection.integer("PRAGMA application_id") == Schema.applicationID else { return false }
        return try connection.integer("PRAGMA user_version") == version
    }

    /// Whether the open file is still the store's index. Another process may have replaced it.
    package var isInPlace: Bool { FileIdentity(folder.searchIndex) == file }

    /// The SQL that creates the tables. `place` and `address` are column names of the file format; in the code
    /// they are sites and URLs.
    ///
    /// - `text`: the properties of a text.
    /// - `body`: the text of a body; 0 for a body without text, so that it is not read again.
    /// - `page`: the searchable columns of a text. `place` has a word for each site. The long columns are
    ///   last, so that reading the others does not load them.
    /// - `name`: titles and URLs once more, in a small table that is fast to search even for common
    ///   words.
    /// - `length`: the lengths of texts (`TextLengths`).
    /// - `word`: the words of `page` with the number of texts that contain them.
    /// - `snapshot`: the snapshots whose texts are all in the index.
    /// - `unread`: the number of pages that the last run left to the next one.
    private static var tables: String {
        """
        PRAGMA application_id = \(Schema.applicationID); PRAGMA user_version = \(version);
        CREATE TABLE text (
            id INTEGER PRIMARY KEY,
            digest BLOB NOT NULL UNIQUE,
            description TEXT NOT NULL,
            language TEXT NOT NULL,
            sections TEXT NOT NULL,
            prior REAL NOT NULL
        ) STRICT;
        CREATE TABLE body (
            sha256 BLOB NOT NULL,
            form TEXT NOT NULL,
            text INTEGER NOT NULL,
            PRIMARY KEY (sha256, form)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX body_text ON body(text);
        CREATE VIRTUAL TABLE page USING fts5(
            title, headings, address, place, body, aside, tokenize = '\(SearchTokenizer.name)');
        INSERT INTO page (page, rank) VALUES ('hashsize', 33554432);
        CREATE VIRTUAL TABLE name USING fts5(
            title, address, place, content = '', columnsize = 0, prefix = '3', tokenize = '\(SearchTokenizer.name)');
        CREATE TABLE length (
            block INTEGER PRIMARY KEY,
            sizes BLOB NOT NULL
        ) STRICT;
        CREATE VIRTUAL TABLE word USING fts5vocab(page, row);
        CREATE TABLE snapshot (
            id INTEGER PRIMARY KEY,
            started INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE unread (pages INTEGER NOT NULL) STRICT;
        INSERT INTO unread VALUES (0);

        """
    }
}

extension SearchIndex {
    /// Removes from the index the texts that the store no longer has, and returns its unused space to the disk. Does
    /// nothing if there is no index. Errors are ignored, because the next run of the indexer removes these texts too.
    package static func clean(_ reader: StoreReader) {
        guard reader.folder.hasSearchIndex, let index = try? openOrCreate(reader.folder) else { return }
        // Optimizing also removes the words of deleted texts from the file.
        if let count = try? index.removeGoneTexts(reader), count > 0 { try? index.optimize() }
        _ = try? index.shrink()
    }

    /// Returns whether the index of a store is intact; true if there is none.
    ///
    /// - Parameter repair: whether to remove a damaged index.
    package static func isSound(_ folder: StoreFolder, repair: Bool) -> Bool {
        guard folder.hasSearchIndex else { return true }
        let isSound: Bool
        do throws(StoreError) {
            // An index of another version is rebuilt anyway.
            isSound = try openIfCurrent(folder)?.isSound() ?? true
        } catch {
            isSound = error.reason != .unusable
        }
        if !isSound, repair { folder.removeSearchIndex() }
        return isSound
    }
}

extension StoreFolder {
    /// The path of the search index.
    var searchIndex: String { path + "/search.db" }

    package var hasSearchIndex: Bool { access(searchIndex, F_OK) == 0 }

    /// Removes the index with its log. Readers that have it open keep the old file until they close it.
    package func removeSearchIndex() {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(searchIndex + suffix) }
    }
}

// MARK: - Writing

/// A body that is indexed, with its URLs and sites.
package struct IndexedBody: Sendable, Equatable {
    package var sha256: [UInt8]
    package var form: String
    package var hrefs: [String]
    /// The names of the sites that have the body.
    package var sites: [String]

    package init(sha256: [UInt8], form: String, hrefs: [String], sites: [String]) {
        self.sha256 = sha256
        self.form = form
        self.hrefs = hrefs
        self.sites = sites
    }
}
