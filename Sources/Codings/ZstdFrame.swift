internal import CCodings
internal import Synchronization

/// A body as one frame of zstd (RFC 8878), made and read at once. Any thread may ask.
package enum ZstdFrame {
    /// False where zstd is not there: then nothing is packed, and nothing that was is read.
    package static var isPossible: Bool { CodingLibrary.zstd != nil }

    private static let level: Int32 = 1
    private static let packers = Contexts { CodingLibrary.zstd?.createPacker() }
    private static let unpackers = Contexts { CodingLibrary.zstd?.create() }

    /// Nil where it would not be an eighth smaller.
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
            // What it had room for would stay with it.
            return frame.isEmpty ? nil : Array(frame[...])
        } ?? nil
    }

    /// Nil for what is no frame of so many bytes.
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

/// What costs more to make than to use, for one thread at a time.
private final class Contexts: Sendable {
    private let make: @Sendable () -> UnsafeMutableRawPointer?
    private let free = Mutex<[Context]>([])

    private struct Context: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer
    }

    init(_ make: @escaping @Sendable () -> UnsafeMutableRawPointer?) { self.make = make }

    /// Nil where no memory is left.
    func lend<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result? {
        guard let context = free.withLock({ $0.popLast() }) ?? make().map(Context.init) else { return nil }
        defer { free.withLock { $0.append(context) } }
        return body(context.pointer)
    }
}
