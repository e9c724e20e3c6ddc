internal import LarderKit
internal import Synchronization

/// Prints URLs as they come, many at a time: a million of them never wait in memory.
final class ListWriter: Sendable {
    private let terminal: Terminal
    private let isJSON: Bool
    /// Added to by the thread of the listing, and by the command when that has ended.
    private let state: Mutex<(bytes: [UInt8], count: Int)>

    private static let pieceSize = 32 * 1024

    init(_ terminal: Terminal, isJSON: Bool) {
        self.terminal = terminal
        self.isJSON = isJSON
        state = Mutex((isJSON ? Array("[".utf8) : [], 0))
    }

    /// Whether there is a use for more.
    func add(_ url: ListedURL) -> Bool {
        let piece = state.withLock { state -> [UInt8] in
            if isJSON {
                state.bytes += "\(state.count == 0 ? "" : ",")\n  \(url.json.printable)".utf8
            } else {
                state.bytes += "\(Self.text(of: url).printable)\n".utf8
            }
            state.count += 1
            return state.bytes.count < Self.pieceSize ? [] : Self.take(&state.bytes)
        }
        return piece.isEmpty || terminal.put(piece.span)
    }

    func finish() {
        let rest = state.withLock { state in
            if isJSON { state.bytes += state.count == 0 ? "]\n".utf8 : "\n]\n".utf8 }
            return Self.take(&state.bytes)
        }
        _ = terminal.put(rest.span)
    }

    private static func take(_ bytes: inout [UInt8]) -> [UInt8] {
        defer { bytes.removeAll() }
        return bytes
    }

    private static func text(of url: ListedURL) -> String {
        let type = (url.type ?? "-").padded(22)
        let size = url.byteCount.map { Quantities.bytes($0) } ?? "-"
        return "\(url.status) \(type) \(size.padded(8, left: true)) \(url.url)"
    }
}
