internal import CCodings

/// gzip and deflate. By the latter some servers mean zlib's format, as they should, and some the bare stream.
final class InflateDecoder: CodingDecoder {
    private let zlib: CodingLibrary.Zlib
    /// zlib remembers where it is.
    private let stream: UnsafeMutablePointer<larder_zlib_stream>
    private let isGzip: Bool
    private var isStarted = false
    /// The first byte alone, which does not tell the formats of deflate apart.
    private var first: UInt8?
    private(set) var isComplete = false

    init?(isGzip: Bool) {
        guard let zlib = CodingLibrary.zlib else { return nil }
        self.zlib = zlib
        self.isGzip = isGzip
        stream = .allocate(capacity: 1)
        stream.initialize(to: larder_zlib_stream())
    }

    deinit {
        if isStarted { _ = zlib.end(stream) }
        stream.deallocate()
    }

    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (taken: Int, made: Int)? {
        if !isStarted {
            guard isGzip || first != nil || input.count > 1 else {
                first = input.first
                return (input.count, 0)
            }
            guard start(input) else { return nil }
        }
        if isComplete {
            // RFC 1952, section 2.2: one member may follow another. Anything else behind the end is nobody's.
            guard isGzip, input.first == 0x1F, zlib.reset(stream) == 0 else { return (input.count, 0) }
            isComplete = false
        }
        if var first {
            // So little makes nothing yet.
            self.first = nil
            guard withUnsafeBytes(of: &first, { step($0, output) }) != nil else { return nil }
        }
        return step(input, output)
    }

    private func start(_ input: UnsafeRawBufferPointer) -> Bool {
        var windowBits: Int32 = 15
        if isGzip {
            windowBits += 16
        } else {
            let head = [first].compactMap { $0 } + input.prefix(2)
            // RFC 1950, section 2.2: the method, and a check of the two bytes.
            let isZlib = head[0] & 0x0F == 8 && (Int(head[0]) << 8 + Int(head[1])) % 31 == 0
            if !isZlib { windowBits = -windowBits }
        }
        let size = Int32(MemoryLayout<larder_zlib_stream>.size)
        isStarted = zlib.start(stream, windowBits, "1", size) == 0
        return isStarted
    }

    private func step(
        _ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer
    ) -> (taken: Int, made: Int)? {
        let (inCount, outCount) = (min(input.count, 1 << 30), min(output.count, 1 << 30))
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(inCount)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(outCount)
        switch zlib.run(stream, Self.noFlush) {
        case Self.ok, Self.needsMore: break
        case Self.end: isComplete = true
        default: return nil
        }
        return (inCount - Int(stream.pointee.avail_in), outCount - Int(stream.pointee.avail_out))
    }

    private static let noFlush: Int32 = 0
    private static let ok: Int32 = 0
    private static let end: Int32 = 1
    private static let needsMore: Int32 = -5
}

/// RFC 7932.
final class BrotliDecoder: CodingDecoder {
    private let brotli: CodingLibrary.Brotli
    private let state: UnsafeMutableRawPointer
    private(set) var isComplete = false

    init?() {
        guard let brotli = CodingLibrary.brotli, let state = brotli.create(nil, nil, nil) else { return nil }
        self.brotli = brotli
        self.state = state
    }

    deinit { brotli.destroy(state) }

    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (taken: Int, made: Int)? {
        guard !isComplete else { return (input.count, 0) }
        var (inCount, outCount) = (input.count, output.count)
        var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var place = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        switch brotli.run(state, &inCount, &next, &outCount, &place, nil) {
        case Self.failure: return nil
        case Self.success: isComplete = true
        default: break
        }
        return (input.count - inCount, output.count - outCount)
    }

    private static let failure: Int32 = 0
    private static let success: Int32 = 1
}

/// RFC 8878: frames, one behind the other.
final class ZstdDecoder: CodingDecoder {
    private let zstd: CodingLibrary.Zstd
    private let context: UnsafeMutableRawPointer
    private(set) var isComplete = false

    init?() {
        guard let zstd = CodingLibrary.zstd, let context = zstd.create() else { return nil }
        self.zstd = zstd
        self.context = context
        _ = zstd.set(context, Self.windowLogMax, Self.largestWindow)
    }

    deinit { _ = zstd.free(context) }

    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (taken: Int, made: Int)? {
        guard !isComplete || input.first == Self.frame else { return (input.count, 0) }
        var from = larder_zstd_input(bytes: input.baseAddress, size: input.count, place: 0)
        var to = larder_zstd_output(bytes: output.baseAddress, size: output.count, place: 0)
        let left = zstd.run(context, &to, &from)
        guard zstd.isError(left) == 0 else { return nil }
        isComplete = left == 0
        return (from.place, to.place)
    }

    private static let windowLogMax: Int32 = 100
    /// 8 MB, as RFC 9659 has it for the Web.
    private static let largestWindow: Int32 = 23
    /// Each begins so.
    private static let frame: UInt8 = 0x28
}

/// Undoes gzip (RFC 1952) of files that are compressed in themselves, such as `sitemap.xml.gz`.
package enum Gzip {
    private static let pieceByteCount = 64 * 1024

    package static func isGzip(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B
    }

    /// The content of all members; nil for what is no gzip, is damaged or cut short, or becomes longer than the limit. What
    /// stands behind the last member, such as the zeros with which some writers pad, is passed over.
    package static func inflate(_ bytes: Span<UInt8>, limit: Int) -> [UInt8]? {
        guard let decoder = InflateDecoder(isGzip: true) else { return nil }
        var output: [UInt8] = []
        let isRead = bytes.withUnsafeBytes { input in
            withUnsafeTemporaryAllocation(byteCount: pieceByteCount, alignment: 1) { piece in
                var rest = input
                while true {
                    guard let (taken, made) = decoder.run(rest, piece), output.count + made <= limit else {
                        return false
                    }
                    output.append(contentsOf: piece[..<made])
                    rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
                    if rest.isEmpty && made < piece.count || taken == 0 && made == 0 { return decoder.isComplete }
                }
            }
        }
        return isRead ? output : nil
    }
}
