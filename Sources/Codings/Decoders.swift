internal import CCodings
package import Web

// MARK: - ContentCoding

/// A content coding that Larder can decode (RFC 9110, section 8.4.1).
package enum ContentCoding: String, CaseIterable, Sendable {
    case deflate, gzip, br, zstd

    /// Returns nil for an unknown name, such as that of a character set. The name must be in lower case.
    package init?(named name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether Larder may decode a response: the client accepts its codings, Larder can decode them, and the
    /// response does not forbid transformations.
    ///
    /// - Parameter codings: the client's `Accept-Encoding`; nil if the request is Larder's own. Then the
    ///   result is true.
    package static func accepts(_ codings: String?, _ fields: HTTPFields) -> Bool {
        guard let codings, fields.isCoded else { return true }
        let taken = Set(names(codings))
        // RFC 9111, section 5.2.2.6, and RFC 9110, section 7.7: removing a coding is a transformation.
        if fields.elements("Cache-Control").contains(where: { HTTPGrammar.matches($0, "no-transform") }) {
            return false
        }
        return fields.elements("Content-Encoding").allSatisfy { name in
            let coding = ContentCoding(named: name.lowercased())
            return coding.map { $0.isKnown && taken.contains($0.rawValue) } ?? false
        }
    }

    /// Returns the `Accept-Encoding` for a request to the origin on behalf of a client: the client's codings
    /// that Larder can decode, or "identity".
    package static func shared(with codings: String) -> String {
        if codings.isEmpty { return "identity" }
        let taken = names(codings)
        let shared = allCases.filter { $0.isKnown && taken.contains($0.rawValue) }.map(\.rawValue)
        return shared.isEmpty ? "identity" : shared.joined(separator: ", ")
    }

    /// Returns the codings in an `Accept-Encoding` in lower case, without those that a weight of 0 excludes.
    private static func names(_ codings: String) -> [String] {
        var fields = HTTPFields()
        fields.append("Accept-Encoding", codings)
        return fields.elements("Accept-Encoding").compactMap { element in
            let words = String(element).lowercased().split(separator: ";").map { word in
                String(word.filter { $0 != " " && $0 != "\t" })
            }
            let isRefused = words.dropFirst().contains {
                $0.hasPrefix("q=0") && !$0.dropFirst(3).contains { $0 > "0" }
            }
            return isRefused ? nil : words.first
        }
    }

    /// The `Accept-Encoding` of Larder's own requests: all codings that it can decode.
    package static let accepted = allCases.filter(\.isKnown).map(\.rawValue).joined(separator: ", ")

    /// Whether the library for the coding is available.
    private var isKnown: Bool {
        switch self {
        case .deflate, .gzip: CodingLibrary.zlib != nil
        case .br: CodingLibrary.brotli != nil
        case .zstd: CodingLibrary.zstd != nil
        }
    }

    /// Returns a decoder; nil if the library is not available.
    package func decoder() -> (any CodingDecoder)? {
        switch self {
        case .deflate, .gzip: InflateDecoder(isGzip: self == .gzip)
        case .br: BrotliDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}

/// A streaming decoder of one coding.
package protocol CodingDecoder: AnyObject {
    /// Whether the input so far ends where the coding ends. If not, the body was cut short, even if its
    /// length is as promised.
    var isComplete: Bool { get }
    /// Decodes some of the input into the output and returns how many bytes were read and written; nil if the
    /// input is not valid in this coding. The caller passes the rest of the input in the next call.
    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
        taken: Int, made: Int
    )?
}

// MARK: - InflateDecoder

/// Decodes gzip and deflate. For the coding deflate, servers should send the zlib format, but some send the
/// raw stream; both are accepted.
package final class InflateDecoder: CodingDecoder {
    private let zlib: CodingLibrary.Zlib
    /// Allocated, since zlib requires that the stream keeps its address.
    private let stream: UnsafeMutablePointer<larder_zlib_stream>
    private let isGzip: Bool
    private let isBare: Bool
    private var isStarted = false
    /// The first byte, if it came alone. It is not enough to distinguish the two formats of deflate.
    private var first: UInt8?
    package private(set) var isComplete = false

    /// - Parameter isBare: whether the input is a raw deflate stream, as in zip files.
    package init?(isGzip: Bool, isBare: Bool = false) {
        guard let zlib = CodingLibrary.zlib else { return nil }
        self.zlib = zlib
        self.isGzip = isGzip
        self.isBare = isBare
        stream = .allocate(capacity: 1)
        stream.initialize(to: larder_zlib_stream())
    }

    deinit {
        if isStarted { _ = zlib.end(stream) }
        stream.deallocate()
    }

    package func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
        taken: Int, made: Int
    )? {
        if !isStarted {
            guard isGzip || isBare || first != nil || input.count > 1 else {
                first = input.first
                return (input.count, 0)
            }
            guard start(input) else { return nil }
        }
        if isComplete {
            // RFC 1952, section 2.2: another member may follow. Other bytes after the end are ignored.
            guard isGzip, input.first == 0x1F, zlib.reset(stream) == 0 else { return (input.count, 0) }
            isComplete = false
        }
        if var first {
            // One byte does not produce output.
            self.first = nil
            guard withUnsafeBytes(of: &first, { step($0, output) }) != nil else { return nil }
        }
        return step(input, output)
    }

    private func start(_ input: UnsafeRawBufferPointer) -> Bool {
        var windowBits: Int32 = 15
        if isGzip {
            windowBits += 16
        } else if isBare {
            windowBits = -windowBits
        } else {
            let head = [first].compactMap { $0 } + input.prefix(2)
            // RFC 1950, section 2.2: the compression method, and the check bits of the two bytes.
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

// MARK: - BrotliDecoder

/// Decodes brotli (RFC 7932). Bytes after the end of the stream are ignored.
package final class BrotliDecoder: CodingDecoder {
    private let brotli: CodingLibrary.Brotli
    private let state: UnsafeMutableRawPointer
    package private(set) var isComplete = false

    package init?() {
        guard let brotli = CodingLibrary.brotli, let state = brotli.create(nil, nil, nil) else { return nil }
        self.brotli = brotli
        self.state = state
    }

    deinit { brotli.destroy(state) }

    package func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
        taken: Int, made: Int
    )? {
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

// MARK: - ZstdDecoder

/// Decodes zstd (RFC 8878): one or more frames. Other bytes after the end of a frame are ignored.
package final class ZstdDecoder: CodingDecoder {
    private let zstd: CodingLibrary.Zstd
    private let context: UnsafeMutableRawPointer
    package private(set) var isComplete = false

    package init?() {
        guard let zstd = CodingLibrary.zstd, let context = zstd.create() else { return nil }
        self.zstd = zstd
        self.context = context
        _ = zstd.set(context, Self.windowLogMax, Self.largestWindow)
    }

    deinit { _ = zstd.free(context) }

    package func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
        taken: Int, made: Int
    )? {
        guard !isComplete || input.first == Self.frame else { return (input.count, 0) }
        var from = larder_zstd_input(bytes: input.baseAddress, size: input.count, place: 0)
        var to = larder_zstd_output(bytes: output.baseAddress, size: output.count, place: 0)
        let left = zstd.run(context, &to, &from)
        guard zstd.isError(left) == 0 else { return nil }
        isComplete = left == 0
        return (from.place, to.place)
    }

    private static let windowLogMax: Int32 = 100
    /// The binary logarithm of the maximum window size: 8 MB, as RFC 9659 requires for the coding `zstd`.
    private static let largestWindow: Int32 = 23
    /// The first byte of each frame.
    private static let frame: UInt8 = 0x28
}

// MARK: - XZDecoder

/// Decodes the .xz format: one or more streams. It is not a content coding of HTTP; imported files use it.
package final class XZDecoder: CodingDecoder {
    private let xz: CodingLibrary.XZ
    /// Allocated, so that liblzma finds the stream at the same address in each call.
    private let stream: UnsafeMutablePointer<larder_xz_stream>
    private var isStarted = false
    package private(set) var isComplete = false

    /// Returns nil if liblzma is not available.
    package init?() {
        guard let xz = CodingLibrary.xz else { return nil }
        self.xz = xz
        stream = .allocate(capacity: 1)
        stream.initialize(to: larder_xz_stream())
    }

    deinit {
        xz.end(stream)
        stream.deallocate()
    }

    package func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
        taken: Int, made: Int
    )? {
        guard !isComplete || input.first == Self.mark else { return (input.count, 0) }
        if !isStarted || isComplete {
            guard xz.start(stream, Self.mostMemory, 0) == Self.good else { return nil }
            (isStarted, isComplete) = (true, false)
        }
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        (stream.pointee.avail_in, stream.pointee.avail_out) = (input.count, output.count)
        let told = xz.run(stream, Self.goOn)
        guard told == Self.good || told == Self.end || told == Self.noProgress else { return nil }
        isComplete = told == Self.end
        return (input.count - stream.pointee.avail_in, output.count - stream.pointee.avail_out)
    }

    /// The memory limit of the decoder in bytes. Files made by `xz -9` need 65 MB.
    private static let mostMemory: UInt64 = 128 << 20
    /// The first byte of each stream.
    private static let mark: UInt8 = 0xFD
    private static let goOn: Int32 = 0
    private static let good: Int32 = 0
    private static let end: Int32 = 1
    private static let noProgress: Int32 = 10
}

// MARK: - Gzip

/// Decompresses files that are gzip files themselves (RFC 1952), such as `sitemap.xml.gz`.
package enum Gzip {
    private static let pieceByteCount = 64 * 1024

    package static func isGzip(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B
    }

    /// Returns the content of all members; nil if the bytes are not gzip, are damaged or cut short, or
    /// decompress to more than `limit` bytes. Bytes after the last member, such as padding zeros, are
    /// ignored.
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
                    if rest.isEmpty && made < piece.count || taken == 0 && made == 0 {
                        return decoder.isComplete
                    }
                }
            }
        }
        return isRead ? output : nil
    }
}
