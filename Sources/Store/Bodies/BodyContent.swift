package import Database
package import Digest
internal import Glibc
internal import System

/// The bytes of a body, in memory or in a file.
package enum BodyContent: Sendable, Equatable {
    case bytes([UInt8])
    /// A file that consists of the body. A file that is passed to the writer is moved into the store.
    case file(path: String)

    /// Returns all bytes, in memory.
    package func load() throws(StoreError) -> [UInt8] {
        if case .bytes(let bytes) = self { return bytes }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount ?? 0)
        try eachPiece { piece in
            piece.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// The number of bytes; nil if the file does not exist.
    package var byteCount: Int? {
        switch self {
        case .bytes(let bytes):
            return bytes.count
        case .file(let path):
            var status = stat()
            return stat(path, &status) == 0 ? Int(clamping: status.st_size) : nil
        }
    }

    /// Returns the digest and the size. Uses constant memory.
    package func measure() throws(StoreError) -> (sha256: Digest, byteCount: Int) {
        var stream = DigestStream(.sha256)
        var byteCount = 0
        try eachPiece { piece in
            stream.update(piece)
            byteCount += piece.count
        }
        return (stream.finish(), byteCount)
    }

    /// Passes the bytes to `take` in order, a file in pieces. Uses constant memory.
    package func eachPiece(_ take: (Span<UInt8>) -> Void) throws(StoreError) {
        _ = try eachPieceWhile { piece in
            take(piece)
            return true
        }
    }
}

extension BodyContent {
    /// Passes the bytes to `take` in order, a file in pieces, until `take` returns false. Returns whether
    /// `take` accepted all pieces.
    package func eachPieceWhile(_ take: (Span<UInt8>) -> Bool) throws(StoreError) -> Bool {
        let path: String
        switch self {
        case .bytes(let bytes): return take(bytes.span)
        case .file(let file): path = file
        }
        return try StoreError.wrapping { () throws(SystemError) in try File(path, O_RDONLY).eachPiece(take) }
    }
}

extension BodyContent {
    /// Returns at most this many bytes from the start.
    package func beginning(_ byteCount: Int) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try eachPieceWhile { piece in
            let wanted = piece.extracting(0..<min(piece.count, byteCount - bytes.count))
            wanted.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
            return bytes.count < byteCount
        }
        return bytes
    }
}

extension StoreReader {
    /// Returns the MD5 of a body: the stored one, or else one that is computed from its bytes. Nil if the
    /// body is missing or damaged.
    package func md5(of body: StoredBody) throws(StoreError) -> Digest? {
        if let stored = body.md5.flatMap({ Digest(.md5, bytes: $0) }) { return stored }
        guard let content = try content(of: body) else { return nil }
        var stream = DigestStream(.md5)
        var sha256 = DigestStream(.sha256)
        try content.eachPiece { piece in
            stream.update(piece)
            sha256.update(piece)
        }
        let md5 = stream.finish()
        return sha256.finish().bytes == body.sha256 ? md5 : nil
    }
}

extension StoreWriter {
    /// Stores MD5 digests that were computed, so that they need not be computed again.
    func storeMD5s(_ md5s: [(body: StoredBody, md5: Digest)]) throws(StoreError) {
        try transaction { () throws(StoreError) in
            for (body, md5) in md5s where body.md5 != md5.bytes {
                try run("UPDATE body SET md5 = ? WHERE sha256 = ?", .blob(md5.bytes), .blob(body.sha256))
            }
        }
    }
}

// MARK: - BodyFiles

/// Large bodies on their way into the store. They are synced together, then renamed to their final names.
///
/// `sync` must come before the commit, so that no row ever refers to an incomplete file, even after a power
/// cut.
struct BodyFiles {
    private let folder: StoreFolder
    private var pending: [(source: String, target: String)] = []

    init(_ folder: StoreFolder) {
        self.folder = folder
    }

    /// Takes over a file in `incoming`, which `sync` moves. If the store has the same bytes already, the
    /// file is removed. The stored file is compared byte by byte, because it may have been truncated or
    /// damaged.
    mutating func add(_ source: String, sha256 hex: String) throws(StoreError) {
        let target = folder.bodyFile(sha256: hex)
        if try Self.isSame(source, target) {
            unlink(source)
        } else {
            pending.append((source, target))
        }
    }

    private static func isSame(_ source: String, _ target: String) throws(StoreError) -> Bool {
        let (new, stored) = (BodyContent.file(path: source), BodyContent.file(path: target))
        guard let byteCount = stored.byteCount, byteCount == new.byteCount else { return false }
        guard let file = try? File(target, O_RDONLY) else { return false }
        var offset: Int64 = 0
        return try new.eachPieceWhile { piece in
            guard let bytes = try? file.read(from: offset, byteCount: piece.count) else { return false }
            offset += Int64(piece.count)
            return piece.withUnsafeBytes { new in
                bytes.withUnsafeBytes { stored in
                    guard let new = new.baseAddress, let stored = stored.baseAddress else { return true }
                    return bytes.count == piece.count && memcmp(new, stored, bytes.count) == 0
                }
            }
        }
    }

    /// Forgets the files that were added since the last `sync`. They stay in `incoming`.
    mutating func forgetAll() {
        pending.removeAll(keepingCapacity: true)
    }

    /// Moves all added files to their final names and syncs them.
    mutating func sync() throws(StoreError) {
        guard !pending.isEmpty else { return }
        // If this fails, the caller adds the files again when it repeats the batch.
        defer { pending.removeAll(keepingCapacity: true) }
        for (source, _) in pending { try Self.syncFile(source) }
        // If two files have the same content, the second replaces the first.
        for (source, target) in pending where rename(source, target) != 0 {
            throw StoreError(errno, doing: "move a body to", path: target)
        }
        try Self.syncFile(folder.bodies)
    }

    /// Writes the bytes to a new file in `incoming` and returns its path. Any thread may call this.
    static func write(_ bytes: [UInt8], in folder: StoreFolder) throws(StoreError) -> String {
        try write(bytes, in: folder.incoming)
    }

    static func write(_ bytes: [UInt8], in folder: String) throws(StoreError) -> String {
        try StoreError.wrapping { () throws(SystemError) in
            try WholeFile.makeTemporary(in: folder, named: "body", bytes)
        }
    }

    /// Copies a file to a new file in the folder and returns its path.
    static func copy(_ path: String, in folder: String) throws(StoreError) -> String {
        let draft = try write([], in: folder)
        do throws(StoreError) {
            try StoreError.wrapping { () throws(SystemError) in
                let source = try File(path, O_RDONLY)
                let file = try File(draft, O_WRONLY)
                while case let count = sendfile(file.descriptor, source.descriptor, nil, 1 << 30), count != 0
                {
                    guard count > 0 else { throw SystemError(errno, doing: "write to", draft) }
                }
            }
        } catch {
            unlink(draft)
            throw error
        }
        return draft
    }

    /// Syncs a file, or the names in a folder, so that they survive a power cut.
    static func syncFile(_ path: String) throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in try WholeFile.sync(path) }
    }
}
