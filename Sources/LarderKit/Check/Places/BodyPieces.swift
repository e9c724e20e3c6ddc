internal import Glibc
internal import Store
internal import System

/// The bytes of a body, a piece each time that somebody asks.
final class BodyPieces {
    private var rest: [UInt8]?
    private let file: File?

    private static let pieceSize = 64 * 1024

    /// Nil when it cannot be opened.
    init?(_ content: BodyContent) {
        switch content {
        case .bytes(let bytes):
            rest = bytes
            file = nil
        case .file(let path):
            guard let file = try? File(path, O_RDONLY) else { return nil }
            self.file = consume file
        }
    }

    /// Nil at the end, and where it cannot be read any further.
    func next() -> [UInt8]? {
        if let rest = rest.take() { return rest }
        let piece = try? file?.read(atMost: Self.pieceSize)
        return piece?.isEmpty == false ? piece : nil
    }
}
