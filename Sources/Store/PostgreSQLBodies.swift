internal import Database
internal import Digest
internal import Glibc
internal import System

/// The bodies of a PostgreSQL store that are not stored in rows of `content`. They are stored as pieces, in
/// rows of the table `piece` with the SHA-256 as key, or outside of the database if the address says so.
///
/// A reader gets a copy in the local folder. A copy is made once; the oldest copies are deleted when they
/// exceed `Limits.maxLocalCopyBytes`.
struct PostgreSQLBodies {
    /// The storage outside of the database, or nil if bodies are stored as pieces.
    let external: ExternalBodies?
    private let folder: StoreFolder
    private let find: Statement
    private let measure: Statement
    private let add: Statement

    init(_ folder: StoreFolder, _ connection: Connection, isWriting: Bool) throws(StoreError) {
        self.folder = folder
        external = try ExternalBodies(folder, connection, isWriting: isWriting)
        find = try connection.prepare("SELECT bytes FROM piece WHERE sha256 = ? AND number = ?")
        measure = try connection.prepare("SELECT sum(length(bytes)) FROM piece WHERE sha256 = ?")
        add = try connection.prepare("INSERT OR IGNORE INTO piece (sha256, number, bytes) VALUES (?, ?, ?)")
    }

    /// Returns the size of a stored body, or nil if it is not stored.
    func byteCount(_ sha256: [UInt8]) throws(StoreError) -> Int? {
        if let external { return try external.byteCount(sha256) }
        return try measure.first(.blob(sha256)) { $0.optionalInteger(0).map { Int($0) } } ?? nil
    }

    /// Stores the bytes of a file in the open transaction, unless they are already stored. Does nothing for
    /// content in memory.
    func put(_ content: BodyContent, _ sha256: [UInt8]) throws(StoreError) {
        guard case .file(let path) = content else { return }
        if let storedByteCount = try byteCount(sha256), storedByteCount == content.byteCount { return }
        let file = try StoreError.wrapping { () throws(SystemError) in try File(path, O_RDONLY) }
        var (number, start): (Int64, Int64) = (0, 0)
        while true {
            let bytes = try StoreError.wrapping { () throws(SystemError) in
                try file.read(from: start, byteCount: Limits.postgreSQLPieceBytes)
            }
            // An empty body also has one piece.
            guard !bytes.isEmpty || number == 0 else { return }
            try add.run(.blob(sha256), .integer(number), .blob(bytes))
            number += 1
            start += Int64(bytes.count)
        }
    }

    /// Returns the path of a local copy or of the stored file itself, or nil if the body is not stored. Its
    /// bytes may be damaged: the caller compares the digest.
    ///
    /// - Parameter bypassesLocalCopy: whether to get the stored bytes even if there is a copy, for example to check them.
    func copy(_ sha256: [UInt8], byteCount: Int, bypassesLocalCopy: Bool) throws(StoreError) -> String? {
        guard let digest = Digest(.sha256, bytes: sha256) else { return nil }
        let path = folder.bodyFile(sha256: digest.hex)
        if !bypassesLocalCopy, BodyContent.file(path: path).byteCount == byteCount { return path }
        let draft: String
        if let external {
            switch try external.file(sha256, in: folder.incoming) {
            case .original(let path): return path
            case .copy(let path): draft = path
            case nil: return nil
            }
        } else {
            guard let path = try joinPieces(sha256) else { return nil }
            draft = path
        }
        guard rename(draft, path) == 0 else {
            throw StoreError(errno, doing: "move a body to", path: path)
        }
        removeOldCopies(except: path)
        return path
    }

    /// Writes the pieces of a body to a new file. Returns nil if there are none.
    private func joinPieces(_ sha256: [UInt8]) throws(StoreError) -> String? {
        guard var piece = try piece(sha256, 0) else { return nil }
        let draft = try BodyFiles.write([], in: folder)
        do throws(StoreError) {
            let file = try StoreError.wrapping { () throws(SystemError) in try File(draft, O_WRONLY) }
            var (number, start): (Int64, Int64) = (0, 0)
            while true {
                try StoreError.wrapping { () throws(SystemError) in try file.write(piece, at: start) }
                number += 1
                start += Int64(piece.count)
                guard let next = try self.piece(sha256, number) else { break }
                piece = next
            }
        } catch {
            unlink(draft)
            throw error
        }
        return draft
    }

    /// Returns a piece of a body; nil after the last one.
    private func piece(_ sha256: [UInt8], _ number: Int64) throws(StoreError) -> [UInt8]? {
        try find.first(.blob(sha256), .integer(number)) { $0.blob(0) }
    }

    /// If the copies exceed the limit, deletes the oldest ones until they take at most half of it. Keeps `path`. Readers
    /// that have a deleted copy open can still read it.
    private func removeOldCopies(except path: String) {
        // Measuring all copies takes time in proportion to their number, so do it only now and then.
        guard
            Int.random(in: 0..<64) == 0
                || StoreFolder.byteCount(of: path) > Int64(Limits.postgreSQLPieceBytes)
        else { return }
        guard folder.copiesByteCount > Limits.maxLocalCopyBytes else { return }
        var copies: [(path: String, made: Int, byteCount: Int64)] = []
        for name in folder.bodyFileNames {
            let path = folder.bodyFile(sha256: name)
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            copies.append((path, status.st_mtim.tv_sec, Int64(status.st_size)))
        }
        var left = copies.reduce(0) { $0 + $1.byteCount }
        for copy in copies.sorted(by: { $0.made < $1.made }) where copy.path != path {
            guard left > Limits.maxLocalCopyBytes / 2 else { return }
            if unlink(copy.path) == 0 { left -= copy.byteCount }
        }
    }
}

extension Connection {
    /// Returns the approximate size in bytes of a store on a PostgreSQL server, without its indexes and without free
    /// space.
    func byteCount() throws(StoreError) -> Int64 {
        try integer(
            """
            SELECT (SELECT coalesce(sum(body.size + length(content.links) + 200), 0)
                FROM body JOIN content ON content.body = body.id)
            + (SELECT coalesce(sum(octet_length(fields) + 200), 0) FROM response)
            + (SELECT coalesce(sum(octet_length(href) + 50), 0) FROM url)
            + (SELECT coalesce(sum(octet_length(pages) + octet_length(assets) + octet_length(guesses)), 0) FROM link)
            """)
    }

    /// Returns the tables that have rows which refer to missing rows of `parent`, with the number of such rows. SQLite
    /// finds them by `PRAGMA foreign_key_check`.
    func danglingRows() throws(StoreError) -> [(table: String, parent: String, count: Int64)] {
        var faults: [(table: String, parent: String, count: Int64)] = []
        for (table, column, parent) in [
            ("response", "url", "url"), ("response", "snapshot", "snapshot"), ("response", "body", "body"),
            ("response", "referrer", "url"), ("snapshot", "site", "site"), ("link", "url", "url"),
            ("link", "body", "body"), ("site", "published", "snapshot"), ("site", "overlay", "snapshot"),
        ] {
            let count = try integer(
                """
                SELECT count(*) FROM \(table) WHERE \(column) IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM \(parent) AS named WHERE named.id = \(table).\(column))
                """)
            if count > 0 { faults.append((table, parent, count)) }
        }
        let lost = try integer(
            "SELECT count(*) FROM content WHERE NOT EXISTS (SELECT 1 FROM body WHERE body.id = content.body)")
        if lost > 0 { faults.append(("content", "body", lost)) }
        return faults
    }
}
