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
    var byteCount: Int? {
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
        let path: String
        switch self {
        case .bytes(let bytes): return take(bytes.span)
        case .file(let file): path = file
        }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw StoreError(errno, doing: "open", path: path) }
        defer { close(file) }
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: Self.pieceSize, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = read(file, buffer, Self.pieceSize)
            if count == 0 { return }
            if count > 0 {
                let piece = UnsafeRawBufferPointer(start: buffer, count: count).assumingMemoryBound(to: UInt8.self)
                take(Span(_unsafeElements: piece))
            } else if errno != EINTR {
                throw StoreError(errno, doing: "read", path: path)
            }
        }
    }

    private static let pieceSize = 256 * 1024
}
