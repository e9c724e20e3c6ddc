internal import CCodings
internal import Synchronization

/// Compresses and decompresses a body as a single zstd frame (RFC 8878). Any thread may use it.
package enum ZstdFrame {
    /// Whether libzstd is available. If not, `packed` and `unpacked` always return nil.
    package static var isPossible: Bool { CodingLibrary.zstd != nil }

    private static let level: Int32 = 1
    private static let packers = Contexts { CodingLibrary.zstd?.createPacker() }
    private static let unpackers = Contexts { CodingLibrary.zstd?.create() }

    /// Returns the compressed bytes; nil if they would not be at least an eighth smaller.
    package static func packed(_ bytes: [UInt8]) -> [UInt8]? {
        guard let zstd = CodingLibrary.zstd else { return nil }
        let most = bytes.count - bytes.count / 8
        return packers.lend { context in
            let frame = [UInt8](unsafeUninitializedCapacity: zstd.bound(bytes.count)) { room, count in
                let made = bytes.withUnsafeBytes {
                    zstd.packWhole(context, room.baseAddress, room.count, $0.baseAddress, $0.count, level)
                }
                count = zstd.isError(made) == 0 && made < most ? made : 0
            }
            // A copy, since the array would otherwise keep its large capacity.
            return frame.isEmpty ? nil : Array(frame[...])
        } ?? nil
    }

    /// Returns the decompressed bytes; nil unless `frame` is a valid frame of exactly `byteCount` bytes.
    package static func unpacked(_ frame: [UInt8], byteCount: Int) -> [UInt8]? {
        guard let zstd = CodingLibrary.zstd else { return nil }
        let bytes = unpackers.lend { context in
            [UInt8](unsafeUninitializedCapacity: byteCount) { room, count in
                let made = frame.withUnsafeBytes {
                    zstd.unpackWhole(context, room.baseAddress, byteCount, $0.baseAddress, $0.count)
                }
                count = zstd.isError(made) == 0 ? made : 0
            }
        }
        return bytes?.count == byteCount ? bytes : nil
    }
}

/// A pool of zstd contexts, which are expensive to create. Each is used by one thread at a time, and `free`
/// has those that are not in use.
private final class Contexts: Sendable {
    private let make: @Sendable () -> UnsafeMutableRawPointer?
    private let free = Mutex<[Context]>([])

    /// A context in the pool. It is Sendable because only the thread that took it from the pool uses it.
    private struct Context: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer
    }

    init(_ make: @escaping @Sendable () -> UnsafeMutableRawPointer?) { self.make = make }

    /// Calls `body` with a context from the pool or a new one. Returns nil if there is not enough memory.
    func lend<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result? {
        guard let context = free.withLock({ $0.popLast() }) ?? make().map(Context.init) else { return nil }
        defer { free.withLock { $0.append(context) } }
        return body(context.pointer)
    }
}
