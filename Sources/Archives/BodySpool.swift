internal import Digest
internal import Glibc
internal import Store
internal import System

/// The place where a reader stores the bodies that it reads.
enum BodyStorage: Sendable {
    /// Nowhere: only the size and the digest are computed.
    case measuredOnly
    case inMemory
    /// Large bodies are written to files in this folder, which the receiver must move or delete.
    case inFiles(folder: String)
}

/// Collects a body that is read from an archive: in memory, in a file above `Limits.maxPackedBodyBytes`, or only
/// measured. The file is deleted if `finish` is not called.
final class BodySpool {
    private let storage: BodyStorage
    private var bytes: [UInt8] = []
    private var file: File?
    private var path: String?
    private var digest: DigestStream? = DigestStream(.sha256)
    private(set) var byteCount = 0

    init(_ storage: BodyStorage) {
        self.storage = storage
    }

    deinit {
        if let path { unlink(path) }
    }

    func append(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += piece.count
        digest?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
        switch storage {
        case .measuredOnly: break
        case .inMemory: bytes.append(contentsOf: piece)
        case .inFiles where file == nil && byteCount <= Limits.maxPackedBodyBytes:
            bytes.append(contentsOf: piece)
        case .inFiles(let folder): try write(piece, in: folder)
        }
    }

    private func write(_ piece: UnsafeRawBufferPointer, in folder: String) throws(ArchiveError) {
        if file == nil {
            let newFile = try ArchiveError.wrapping { () throws(SystemError) in
                try File(temporaryIn: folder, named: "import")
            }
            path = newFile.path
            try ArchiveError.wrapping { () throws(SystemError) in try newFile.write(bytes) }
            bytes = []
            file = consume newFile
        }
        try ArchiveError.wrapping { () throws(SystemError) in try file?.write(piece) }
    }

    /// Returns the whole body. The caller becomes responsible for its file. Call this once.
    func finish() throws(ArchiveError) -> ArchivedBody {
        guard let sha256 = digest.take()?.finish() else { preconditionFailure("a body is finished once") }
        var content: BodyContent?
        if let path {
            try ArchiveError.wrapping { () throws(SystemError) in try file.take()?.close() }
            content = .file(path: path)
            self.path = nil
        } else if case .measuredOnly = storage {
            content = nil
        } else {
            content = .bytes(bytes)
        }
        return ArchivedBody(content: content, byteCount: byteCount, sha256: sha256)
    }
}

extension [UInt8] {
    /// Like the method of the standard library, with a typed error.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try span.withUnsafeBytes(body)
    }
}

extension BodyContent {
    /// Passes the bytes in pieces and in order to `write`. This is `eachPieceWhile` for closures that throw an
    /// `ArchiveError`.
    func writePieces(_ write: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void) throws(ArchiveError) {
        var failure: ArchiveError?
        try ArchiveError.storing { () throws(StoreError) in
            _ = try eachPieceWhile { piece in
                do throws(ArchiveError) {
                    try piece.withUnsafeBytes { (bytes) throws(ArchiveError) in try write(bytes) }
                } catch {
                    failure = error
                }
                return failure == nil
            }
        }
        if let failure { throw failure }
    }
}
