internal import Digest
internal import Glibc
internal import System

/// The bodies of a PostgreSQL's larder that are not in rows: pieces in order, by their SHA-256, or where the address
/// says. Whoever reads one gets a copy in the folder that is this machine's own, which is made once, and goes
/// when there are many.
struct ServerBodies {
    /// Nil where they are pieces.
    let outer: OuterBodies?
    private let folder: StoreFolder
    private let find: Statement
    private let measure: Statement
    private let add: Statement

    init(_ folder: StoreFolder, _ connection: Connection, isWriting: Bool) throws(StoreError) {
        self.folder = folder
        outer = try OuterBodies(folder, connection, isWriting: isWriting)
        find = try connection.prepare("SELECT bytes FROM piece WHERE sha256 = ? AND number = ?")
        measure = try connection.prepare("SELECT sum(length(bytes)) FROM piece WHERE sha256 = ?")
        add = try connection.prepare("INSERT OR IGNORE INTO piece (sha256, number, bytes) VALUES (?, ?, ?)")
    }

    /// Nil where there is no piece of it.
    func byteCount(_ sha256: [UInt8]) throws(StoreError) -> Int? {
        if let outer { return try outer.byteCount(sha256) }
        return try measure.first(.blob(sha256)) { $0.optionalInteger(0).map { Int($0) } } ?? nil
    }

    /// Adds the bytes of a file, in the transaction that is open, where they are not there already.
    func put(_ content: BodyContent, _ sha256: [UInt8]) throws(StoreError) {
        guard case .file(let path) = content else { return }
        if let held = try byteCount(sha256), held == content.byteCount { return }
        let file = try StoreError.wrapping { () throws(SystemError) in try File(path, O_RDONLY) }
        var (number, start): (Int64, Int64) = (0, 0)
        while true {
            let bytes = try StoreError.wrapping { () throws(SystemError) in
                try file.read(from: start, byteCount: Limits.serverPiece)
            }
            // A body without a byte has a piece too.
            guard !bytes.isEmpty || number == 0 else { return }
            try add.run(.blob(sha256), .integer(number), .blob(bytes))
            number += 1
            start += Int64(bytes.count)
        }
    }

    /// The path of a copy, or of the body itself; nil where it is not there. Its bytes may be others than they were:
    /// the digest tells.
    ///
    /// - Parameter isFresh: a copy that was made before is of no use.
    func copy(_ sha256: [UInt8], byteCount: Int, isFresh: Bool) throws(StoreError) -> String? {
        guard let digest = Digest(.sha256, bytes: sha256) else { return nil }
        let path = folder.bodyFile(sha256: digest.hex)
        if !isFresh, BodyContent.file(path: path).byteCount == byteCount { return path }
        let draft: String
        if let outer {
            switch try outer.file(sha256, in: folder.incoming) {
            case .itself(let path): return path
            case .copy(let path): draft = path
            case nil: return nil
            }
        } else {
            guard let path = try gathered(sha256) else { return nil }
            draft = path
        }
        guard rename(draft, path) == 0 else {
            throw StoreError(errno, doing: "move a body to", path: path)
        }
        forgetOldCopies(but: path)
        return path
    }

    /// A file of the pieces.
    private func gathered(_ sha256: [UInt8]) throws(StoreError) -> String? {
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

    private func piece(_ sha256: [UInt8], _ number: Int64) throws(StoreError) -> [UInt8]? {
        try find.first(.blob(sha256), .integer(number)) { $0.blob(0) }
    }

    /// What was made last stays. Somebody who reads from one of the others has it open.
    private func forgetOldCopies(but path: String) {
        // To look is as much work as there are copies.
        guard Int.random(in: 0..<64) == 0 || StoreFolder.byteCount(of: path) > Int64(Limits.serverPiece)
        else { return }
        guard folder.copiesByteCount > Limits.serverCopies else { return }
        var copies: [(path: String, made: Int, byteCount: Int64)] = []
        for name in folder.bodyFileNames {
            let path = folder.bodyFile(sha256: name)
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            copies.append((path, status.st_mtim.tv_sec, Int64(status.st_size)))
        }
        var left = copies.reduce(0) { $0 + $1.byteCount }
        for copy in copies.sorted(by: { $0.made < $1.made }) where copy.path != path {
            guard left > Limits.serverCopies / 2 else { return }
            if unlink(copy.path) == 0 { left -= copy.byteCount }
        }
    }
}

extension Connection {
    /// What a larder takes that a PostgreSQL keeps, without what its indexes take and what it has not given
    /// back yet.
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

    /// Rows that name others which are not there.
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
