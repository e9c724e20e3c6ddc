internal import CCodings
internal import Synchronization

/// Compresses and decompresses a body as a single zstd frame (RFC 8878). Any thread may use it.
package enum ZstdFrame {
    /// Whether libzstd is available. If not, `compress` and `decompress` always return nil.
    package static var isAvailable: Bool { CodingLibrary.zstd != nil }

    /// The level for bodies that are stored: the fastest.
    private static let storageLevel: Int32 = 1
    private static let compressors = ZstdContextPool { CodingLibrary.zstd?.createCCtx() }
    private static let decompressors = ZstdContextPool { CodingLibrary.zstd?.createDStream() }

    /// Returns the compressed bytes; nil if they would not be more than an eighth smaller. Then decompressing on
    /// each use would cost more than the saved space is worth.
    package static func compress(_ bytes: [UInt8]) -> [UInt8]? { compress(bytes, level: storageLevel) }

    static func compress(_ bytes: [UInt8], level: Int32) -> [UInt8]? {
        guard let zstd = CodingLibrary.zstd else { return nil }
        let maxBytes = bytes.count - bytes.count / 8
        return compressors.withContext { context in
            let frame = [UInt8](unsafeUninitializedCapacity: zstd.compressBound(bytes.count)) {
                buffer, count in
                let written = bytes.withUnsafeBytes {
                    zstd.compressCCtx(
                        context, buffer.baseAddress, buffer.count, $0.baseAddress, $0.count, level)
                }
                count = zstd.isError(written) == 0 && written < maxBytes ? written : 0
            }
            // A copy, since the array would otherwise keep its large capacity.
            return frame.isEmpty ? nil : Array(frame[...])
        } ?? nil
    }

    /// Returns the decompressed bytes; nil unless `frame` is a valid frame of exactly `byteCount` bytes.
    package static func decompress(_ frame: [UInt8], byteCount: Int) -> [UInt8]? {
        guard let zstd = CodingLibrary.zstd else { return nil }
        let bytes = decompressors.withContext { context in
            [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
                let written = frame.withUnsafeBytes {
                    zstd.decompressDCtx(context, buffer.baseAddress, byteCount, $0.baseAddress, $0.count)
                }
                count = zstd.isError(written) == 0 ? written : 0
            }
        }
        return bytes?.count == byteCount ? bytes : nil
    }
}

/// A pool of zstd contexts, which are expensive to create. Each context is used by one thread at a time; `free`
/// contains those that no thread uses.
private final class ZstdContextPool: Sendable {
    private let make: @Sendable () -> UnsafeMutableRawPointer?
    private let free = Mutex<[Context]>([])

    /// A context in the pool. It is Sendable because only the thread that took it from the pool uses it.
    private struct Context: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer
    }

    init(_ make: @escaping @Sendable () -> UnsafeMutableRawPointer?) { self.make = make }

    /// Calls `body` with a context from the pool or a new one. Returns nil if there is not enough memory.
    func withContext<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result? {
        guard let context = free.withLock({ $0.popLast() }) ?? make().map(Context.init) else { return nil }
        defer { free.withLock { $0.append(context) } }
        return body(context.pointer)
    }
}
