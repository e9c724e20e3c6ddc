internal import Glibc

extension BodyContent {
    /// Hands the bytes over in order, those of a file in pieces, until `take` says false. Whether it took all of them.
    package func eachWantedPiece(_ take: (Span<UInt8>) -> Bool) throws(StoreError) -> Bool {
        let path: String
        switch self {
        case .bytes(let bytes): return take(bytes.span)
        case .file(let file): path = file
        }
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw StoreError(errno, doing: "open", path: path) }
        defer { close(file) }
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: Self.piece, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = read(file, buffer, Self.piece)
            if count == 0 { return true }
            if count > 0 {
                let piece = UnsafeRawBufferPointer(start: buffer, count: count).assumingMemoryBound(to: UInt8.self)
                guard take(Span(_unsafeElements: piece)) else { return false }
            } else if errno != EINTR {
                throw StoreError(errno, doing: "read", path: path)
            }
        }
    }

    private static let piece = 256 * 1024
}

extension BodyContent {
    /// At most so many bytes from the start.
    package func beginning(_ byteCount: Int) throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try eachWantedPiece { piece in
            let wanted = piece.extracting(0..<min(piece.count, byteCount - bytes.count))
            wanted.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
            return bytes.count < byteCount
        }
        return bytes
    }
}
