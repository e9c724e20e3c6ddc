internal import Glibc
internal import System

extension BodyContent {
    /// Hands the bytes over in order, those of a file in pieces, until `take` says false. Whether it took all of them.
    package func eachWantedPiece(_ take: (Span<UInt8>) -> Bool) throws(StoreError) -> Bool {
        let path: String
        switch self {
        case .bytes(let bytes): return take(bytes.span)
        case .file(let file): path = file
        }
        return try StoreError.wrapping { () throws(SystemError) in try File(path, O_RDONLY).eachPiece(take) }
    }
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
