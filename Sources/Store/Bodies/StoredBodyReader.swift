internal import Database
internal import Digest
package import System

/// Finds and reads the bytes of stored bodies, which are in the database, in packs, in files, or in the storage of a
/// PostgreSQL store. It belongs to the thread of its `StoreReader`.
package final class StoredBodyReader {
    private let folder: StoreFolder
    private let connection: Connection
    private let transactions: ReadTransactions
    private let findContent: Statement
    /// The bodies in PostgreSQL or in its external storage; nil if the store is a local folder.
    private let pieces: PostgreSQLBodies?

    init(
        _ folder: StoreFolder, _ connection: Connection, _ transactions: ReadTransactions
    ) throws(StoreError) {
        (self.folder, self.connection, self.transactions) = (folder, connection, transactions)
        pieces = connection.isPostgreSQL ? try PostgreSQLBodies(folder, connection, isWriting: false) : nil
        // The digest is compared because the database reuses the ids of deleted bodies.
        findContent = connection.prepareLater(
            """
            SELECT body.pack, body.start, body.frame, iif(body.pack IS NULL, content.bytes, NULL)
            FROM body JOIN content ON content.body = body.id WHERE body.id = ? AND body.sha256 = ?
            """)
    }

    /// The storage for the larger bodies of a PostgreSQL store, if it has one.
    var external: ExternalBodies? { pieces?.external }

    /// Returns the body's bytes, or the file that contains them. Nil if the body is missing or incomplete.
    /// The digest is not verified; an inspection does that.
    func content(of body: StoredBody) throws(StoreError) -> BodyContent? {
        guard let content = try contentOfAnyLength(of: body), content.byteCount == body.byteCount else {
            return nil
        }
        return content
    }

    /// Returns the stored bytes of a body, even if there are too few. Nil if the database has no such body,
    /// or if its pack is missing.
    ///
    /// - Parameter bypassesLocalCopy: Whether to bypass local copies of bodies that are stored elsewhere.
    func contentOfAnyLength(
        of body: StoredBody, bypassesLocalCopy: Bool = false
    ) throws(StoreError) -> BodyContent? {
        try transactions.withReadingLock { () throws(StoreError) in
            switch try location(of: body) {
            case .database(let bytes):
                return .bytes(bytes)
            case .pack(let location):
                return try location.read(body.byteCount, in: folder).map(BodyContent.bytes)
            case .file(let path):
                return .file(path: path)
            case .pieces:
                let copy = try pieces?.copy(
                    body.sha256, byteCount: body.byteCount, bypassesLocalCopy: bypassesLocalCopy)
                guard let file = copy.map(BodyContent.file) else { return nil }
                // Bodies of this size are files in a local store too.
                return body.byteCount > Limits.maxPackedBodyBytes ? file : .bytes(try file.load())
            case nil:
                return nil
            }
        }
    }

    /// Returns the zstd frame (RFC 8878) that the body is stored as, or nil if it is not stored as a frame.
    /// The frame is not verified.
    package func frame(of body: StoredBody) throws(StoreError) -> [UInt8]? {
        try transactions.withReadingLock { () throws(StoreError) in
            guard case .pack(let location)? = try location(of: body), let byteCount = location.frameByteCount
            else {
                return nil
            }
            let frame = try Pack(location.pack, in: folder).read(from: location.start, byteCount: byteCount)
            return frame?.count == byteCount ? frame : nil
        }
    }

    /// Whether as many bytes are stored as the body has. Reads none of them.
    package func isStored(_ body: StoredBody) throws(StoreError) -> Bool {
        try transactions.withReadingLock { () throws(StoreError) in
            switch try location(of: body) {
            case .database(let bytes): bytes.count == body.byteCount
            case .pack(let location):
                location.fits(
                    bodyByteCount: body.byteCount, packByteCount: Pack(location.pack, in: folder).byteCount)
            case .file(let path): BodyContent.file(path: path).byteCount == body.byteCount
            case .pieces: try pieces?.byteCount(body.sha256) == body.byteCount
            case nil: false
            }
        }
    }

    /// Whether every pack has at least its committed size. If so, bodies in packs need not be checked one by
    /// one.
    package func hasWholePacks() throws(StoreError) -> Bool {
        guard !connection.isPostgreSQL else { return true }
        var isWhole = true
        try connection.prepare("SELECT number, size FROM pack").each { row in
            let size = Pack(row.integer(0), in: folder).byteCount ?? -1
            isWhole = isWhole && size >= row.integer(1)
        }
        return isWhole
    }

    /// The state of the file that contains the bytes of a body. Nil if they are in a database, or missing.
    package func fileStamp(of body: StoredBody) throws(StoreError) -> FileStamp? {
        switch try location(of: body) {
        case .pack(let location): FileStamp(Pack(location.pack, in: folder).path)
        case .file(let path): FileStamp(path)
        case .database, .pieces, nil: nil
        }
    }

    /// The path of the file that contains the bytes, relative to the store's folder. Nil if the database has
    /// no such body, or if the store is in PostgreSQL.
    package func relativePath(of body: StoredBody) throws(StoreError) -> String? {
        let path: String? =
            switch try location(of: body) {
            case .database: connection.isPostgreSQL ? nil : folder.database
            case .pack(let location): Pack(location.pack, in: folder).path
            case .file(let path): path
            case .pieces, nil: nil
            }
        return path.map { String($0.dropFirst(folder.path.count + 1)) }
    }

    /// The kind of place in which the bytes of a body are stored.
    private enum BodyLocation {
        case database([UInt8])
        case pack(PackLocation)
        case file(String)
        /// In PostgreSQL, or in the storage for its larger bodies.
        case pieces
    }

    private func location(of body: StoredBody) throws(StoreError) -> BodyLocation? {
        try findContent.first(.integer(body.id), .blob(body.sha256)) { row in
            if let location = PackLocation(row, from: 0) { return .pack(location) }
            guard row.isNull(3) else { return .database(row.blob(3)) }
            if connection.isPostgreSQL { return .pieces }
            return Digest(.sha256, bytes: body.sha256).map { .file(folder.bodyFile(sha256: $0.hex)) }
        } ?? nil
    }
}
