internal import Glibc
internal import Store

/// The bytes of a body, a piece each time that somebody asks.
final class BodyPieces {
    private var rest: [UInt8]?
    private let file: Int32

    private static let pieceSize = 64 * 1024

    /// Nil when it cannot be opened.
    init?(_ content: BodyContent) {
        switch content {
        case .bytes(let bytes):
            rest = bytes
            file = -1
        case .file(let path):
            file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
        }
    }

    deinit {
        if file >= 0 { close(file) }
    }

    /// Nil at the end, and where it cannot be read any further.
    func next() -> [UInt8]? {
        guard file >= 0 else { return rest.take() }
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, count in
            repeat { count = read(file, buffer.baseAddress, Self.pieceSize) } while count < 0 && errno == EINTR
            count = max(0, count)
        }
        return piece.isEmpty ? nil : piece
    }
}
