internal import Digest
internal import Glibc

/// Where the bytes of a body are.
package enum BodyContent: Sendable, Equatable {
    case bytes([UInt8])
    /// A whole file. One that is handed to the writer is moved into the store.
    case file(path: String)

    /// All of it in memory.
    package func load() throws(StoreError) -> [UInt8] {
        if case .bytes(let bytes) = self { return bytes }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount ?? 0)
        try eachPiece { piece in
            piece.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    /// Nil for a file that is not there.
    package var byteCount: Int? {
        switch self {
        case .bytes(let bytes):
            return bytes.count
        case .file(let path):
            var status = stat()
            return stat(path, &status) == 0 ? Int(clamping: status.st_size) : nil
        }
    }

    /// Digest and size, in constant memory.
    func measure() throws(StoreError) -> (sha256: Digest, byteCount: Int) {
        var stream = DigestStream(.sha256)
        var byteCount = 0
        try eachPiece { piece in
            stream.update(piece)
            byteCount += piece.count
        }
        return (stream.finish(), byteCount)
    }

    /// Hands the bytes over in order, those of a file in pieces, so that memory stays constant.
    package func eachPiece(_ take: (Span<UInt8>) -> Void) throws(StoreError) {
        _ = try eachWantedPiece { piece in
            take(piece)
            return true
        }
    }
}
