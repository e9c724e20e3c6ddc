internal import Digest
internal import Glibc
internal import Store
internal import System

/// The destination of bodies that are read.
enum BodyKeeping: Sendable {
    /// The bytes are not kept, only their number and digest.
    case measured
    case inMemory
    /// Large bodies are written to files in this folder, which the receiver must move or delete.
    case inFiles(folder: String)
}

/// Collects a body that is read from an archive: in memory, in a file from a certain size on, or only
/// measured. The file is deleted if the body is not finished.
final class BodySpool {
    private let keeping: BodyKeeping
    private var bytes: [UInt8] = []
    private var file: File?
    private var path: String?
    private var digest: DigestStream? = DigestStream(.sha256)
    private(set) var byteCount = 0

    init(_ keeping: BodyKeeping) {
        self.keeping = keeping
    }

    deinit {
        if let path { unlink(path) }
    }

    func take(_ piece: UnsafeRawBufferPointer) throws(ArchiveError) {
        byteCount += piece.count
        digest?.update(Span(_unsafeElements: piece.assumingMemoryBound(to: UInt8.self)))
        switch keeping {
        case .measured: break
        case .inMemory: bytes.append(contentsOf: piece)
        case .inFiles where file == nil && byteCount <= Limits.packedBody: bytes.append(contentsOf: piece)
        case .inFiles(let folder): try write(piece, in: folder)
        }
    }

    private func write(_ piece: UnsafeRawBufferPointer, in folder: String) throws(ArchiveError) {
        if file == nil {
            let made = try ArchiveError.wrapping { () throws(SystemError) in
                try File(temporaryIn: folder, named: "import")
            }
            path = made.path
            try ArchiveError.wrapping { () throws(SystemError) in try made.write(bytes) }
            bytes = []
            file = consume made
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
        } else if case .measured = keeping {
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
    /// Passes the bytes in pieces and in order to `take`.
    func eachArchived(_ take: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void) throws(ArchiveError) {
        var failure: ArchiveError?
        try ArchiveError.storing { () throws(StoreError) in
            _ = try eachWantedPiece { piece in
                do throws(ArchiveError) {
                    try piece.withUnsafeBytes { (bytes) throws(ArchiveError) in try take(bytes) }
                } catch {
                    failure = error
                }
                return failure == nil
            }
        }
        if let failure { throw failure }
    }
}
