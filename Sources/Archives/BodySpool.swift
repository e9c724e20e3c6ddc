internal import Digest
internal import Glibc
internal import Store
internal import System

/// What becomes of bodies that are read.
enum BodyKeeping: Sendable {
    /// Nobody wants the bytes.
    case measured
    case inMemory
    /// Large ones in files of this folder, which whoever gets them takes over.
    case inFiles(folder: String)
}

/// A body on its way out of an archive: into memory, from a size on into a file, or only measured. What is
/// not finished is removed.
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

    /// The whole; a file is the caller's.
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
    /// As the standard library's, with the error that it throws.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try span.withUnsafeBytes(body)
    }
}

extension BodyContent {
    /// Hands the bytes over in order, in pieces, to what may fail.
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
