internal import Glibc
internal import Web

/// The text of what is held, to be found by its words: in a database of its own beside the store's, which can
/// be made anew from that at any time. Nothing is lost with it. It belongs to one thread; one writes while
/// others read.
///
/// A row is a text, however many bodies have it and however many snapshots share those.
package final class SearchIndex {
    /// Goes up with the tables; what reads words is in the version as well.
    private static let layout: Int64 = 5
    static var version: Int64 { layout << 16 | Int64(WordCutter.version) }

    let connection: Connection
    let scorer: TextScorer
    /// What was counted of it, as of its last change that was seen.
    var counted = CountedWords()
    /// Asked now and then; where it says false, whatever is found is of no use to anybody.
    package var isWanted: () -> Bool = { true }
    /// What it has may be changed by itself, which SQLite does not tell.
    let isWritten: Bool
    private let folder: StoreFolder
    private let file: FileIdentity?
    /// Those that are run again and again, by their text.
    private var statements: [String: Statement] = [:]

    private struct FileIdentity: Equatable {
        let device: UInt
        let inode: UInt

        /// Nil where there is no file.
        init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
        }
    }

    private init(_ folder: StoreFolder, _ connection: Connection, _ scorer: TextScorer, isWritten: Bool) {
        self.isWritten = isWritten
        self.folder = folder
        self.connection = connection
        self.scorer = scorer
        file = FileIdentity(folder.searchIndex)
    }

    func prepared(_ sql: String) throws(StoreError) -> Statement {
        if let statement = statements[sql] { return statement }
        let statement = try connection.prepare(sql)
        statements[sql] = statement
        return statement
    }

    /// To read from. Nil where there is none, and where another larder's tables or another way to cut words
    /// make it of no use: it is made anew by whoever indexes next. So it is with one that is damaged.
    package static func ifAny(_ folder: StoreFolder) throws(StoreError) -> SearchIndex? {
        guard folder.hasSearchIndex else { return nil }
        do throws(StoreError) {
            let connection = try folder.read(folder.searchIndex)
            let scorer = TextScorer()
            guard connection.addSearch(scorer), try isCurrent(connection) else { return nil }
            try connection.execute(
                "PRAGMA cache_size = -16384; PRAGMA mmap_size = 4294967296;", doing: "open")
            return SearchIndex(folder, connection, scorer, isWritten: false)
        } catch  where error.reason == .unusable || error.reason == .denied {
            return nil
        }
    }

    /// To write to; made where there is none, and made anew where it is of no use.
    package static func opened(_ folder: StoreFolder) throws(StoreError) -> SearchIndex {
        do throws(StoreError) {
            if let index = try current(folder) { return index }
        } catch  where error.reason == .unusable {
            // It can be made anew.
        }
        folder.removeSearchIndex()
        if let index = try current(folder) { return index }
        throw StoreError(
            .failed, doing: "set up", path: folder.searchIndex,
            detail: "this SQLite has no full-text search (FTS5)",
            advice: "use a SQLite that has it")
    }

    /// Nil for one of another version.
    private static func current(_ folder: StoreFolder) throws(StoreError) -> SearchIndex? {
        let locks = try StoreLocks(folder)
        let connection = try Connection(folder.searchIndex, access: .readWrite, modeOf: folder.locks)
        let scorer = TextScorer()
        guard connection.addSearch(scorer) else { return nil }
        // What a power cut takes away is indexed again.
        try connection.execute(
            "PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768;",
            doing: "set up")
        if try connection.integer("SELECT count(*) FROM sqlite_schema") == 0 {
            try locks.whileAlone(.settingUp) { () throws(StoreError) in
                guard try connection.integer("SELECT count(*) FROM sqlite_schema") == 0 else { return }
                try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;", doing: "set up")
                try connection.execute("BEGIN IMMEDIATE; \(tables) COMMIT;", doing: "set up")
            }
        }
        guard try isCurrent(connection) else { return nil }
        return SearchIndex(folder, connection, scorer, isWritten: true)
    }

    private static func isCurrent(_ connection: Connection) throws(StoreError) -> Bool {
        guard try connection.integer("PRAGMA application_id") == Schema.applicationID else { return false }
        return try connection.integer("PRAGMA user_version") == version
    }

    /// Whether it is still the one that stands in the store: another may have been made in its place.
    package var isInPlace: Bool { FileIdentity(folder.searchIndex) == file }

    /// `body` says which text a body has; 0 for one without text, so that nobody reads it again. What stands
    /// in `page` is found; `place` has a word for each site. The long columns come last: to read the others,
    /// nothing of them is read. `name` has the words of titles and addresses once more: few, and soon looked
    /// through, where a word stands in very many texts. `length` has how long texts are (`TextLengths`).
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
    /// Takes from the index of a store, if there is one, what the store has no more. Where that cannot be
    /// done now, it is done by whoever indexes next.
    package static func clean(_ reader: StoreReader) {
        guard reader.folder.hasSearchIndex, let index = try? opened(reader.folder) else { return }
        // Words of what is gone are gone from the file, too.
        if let count = try? index.forgetGone(reader), count > 0 { try? index.putTogether() }
        _ = try? index.giveBackRoom()
    }

    /// Whether the index of a store is what was written; true where there is none. With `repair` one that is
    /// not is removed.
    package static func isSound(_ folder: StoreFolder, repair: Bool) -> Bool {
        guard folder.hasSearchIndex else { return true }
        let isSound: Bool
        do throws(StoreError) {
            // One of another version is made anew, whatever is in it.
            isSound = try current(folder)?.isSound() ?? true
        } catch {
            isSound = error.reason != .unusable
        }
        if !isSound, repair { folder.removeSearchIndex() }
        return isSound
    }
}

extension StoreFolder {
    /// The words of what is held. Made anew when it is gone.
    var searchIndex: String { path + "/search.db" }

    package var hasSearchIndex: Bool { access(searchIndex, F_OK) == 0 }

    package func removeSearchIndex() {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink(searchIndex + suffix) }
    }
}

// MARK: - Writing

/// Where a body is held.
package struct TextPlace: Sendable, Equatable {
    package var sha256: [UInt8]
    package var form: String
    package var addresses: [String]
    /// The names of the sites that have it.
    package var sites: [String]

    package init(sha256: [UInt8], form: String, addresses: [String], sites: [String]) {
        self.sha256 = sha256
        self.form = form
        self.addresses = addresses
        self.sites = sites
    }
}
