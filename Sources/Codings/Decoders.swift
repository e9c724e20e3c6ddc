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
    /// - Parameter acceptEncoding: the client's `Accept-Encoding`; nil if the request is Larder's own. Then the
    ///   result is true.
    package static func canDecode(_ fields: HTTPFields, forClientAccepting acceptEncoding: String?) -> Bool {
        guard let acceptEncoding, fields.isCoded else { return true }
        let accepted = Set(acceptedNames(in: acceptEncoding))
        // RFC 9111, section 5.2.2.6, and RFC 9110, section 7.7: removing a coding is a transformation.
        if fields.elements("Cache-Control").contains(where: { HTTPGrammar.matches($0, "no-transform") }) {
            return false
        }
        return fields.elements("Content-Encoding").allSatisfy { name in
            let coding = ContentCoding(named: name.lowercased())
            return coding.map { $0.isAvailable && accepted.contains($0.rawValue) } ?? false
        }
    }

    /// Returns the `Accept-Encoding` for a request to the origin on behalf of a client: the client's codings
    /// that Larder can decode, or "identity".
    package static func acceptEncoding(forClient clientValue: String) -> String {
        if clientValue.isEmpty { return "identity" }
        let accepted = acceptedNames(in: clientValue)
        let shared = allCases.filter { $0.isAvailable && accepted.contains($0.rawValue) }.map(\.rawValue)
        return shared.isEmpty ? "identity" : shared.joined(separator: ", ")
    }

    /// Returns the codings in an `Accept-Encoding` in lower case, without those that a weight of 0 excludes.
    private static func acceptedNames(in acceptEncoding: String) -> [String] {
        var fields = HTTPFields()
        fields.append("Accept-Encoding", acceptEncoding)
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
    package static let acceptEncoding = allCases.filter(\.isAvailable).map(\.rawValue).joined(separator: ", ")

    /// Whether the library for the coding is available.
    private var isAvailable: Bool {
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

/// A streaming decoder of one coding. It belongs to one thread.
package protocol CodingDecoder: AnyObject {
    /// Whether the input so far ends where the coding ends. If it is false at the end of a body, the body was
    /// truncated, even if its size matches `Content-Length`.
    var isComplete: Bool { get }
    /// Decodes some of the input into the output and returns the number of bytes read and written; nil if the
    /// input is not valid in this coding. The caller passes the rest of the input in the next call.
    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (
        consumed: Int, produced: Int
    )?
}

// MARK: - InflateDecoder

/// Decodes gzip and deflate.
///
/// For the coding deflate, RFC 9110 (section 8.4.1.2) requires the zlib format, but some servers send a raw deflate
/// stream. The decoder accepts both and distinguishes them by the first two bytes.
package final class InflateDecoder: CodingDecoder {
    private let zlib: CodingLibrary.Zlib
    /// Allocated, since zlib requires that the stream keeps its address.
    private let stream: UnsafeMutablePointer<larder_zlib_stream>
    private let isGzip: Bool
    private let isRaw: Bool
    private var isStarted = false
    /// The first byte, if the first call passed only one byte. It is not enough to distinguish the two formats of
    /// deflate, so it waits for the second one.
    private var firstByte: UInt8?
    package private(set) var isComplete = false

    /// - Parameter isRaw: whether the input is a raw deflate stream, as in zip files.
    package init?(isGzip: Bool, isRaw: Bool = false) {
        guard let zlib = CodingLibrary.zlib else { return nil }
        self.zlib = zlib
        self.isGzip = isGzip
        self.isRaw = isRaw
        stream = .allocate(capacity: 1)
        stream.initialize(to: larder_zlib_stream())
    }

    deinit {
        if isStarted { _ = zlib.inflateEnd(stream) }
        stream.deallocate()
    }

    package func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (
        consumed: Int, produced: Int
    )? {
        if !isStarted {
            guard isGzip || isRaw || firstByte != nil || input.count > 1 else {
                firstByte = input.first
                return (input.count, 0)
            }
            guard start(input) else { return nil }
        }
        if isComplete {
            // RFC 1952, section 2.2: another member may follow. Other bytes after the end are ignored.
            guard isGzip, input.first == 0x1F, zlib.inflateReset(stream) == 0 else { return (input.count, 0) }
            isComplete = false
        }
        if var firstByte {
            // One byte does not produce output.
            self.firstByte = nil
            guard withUnsafeBytes(of: &firstByte, { inflate($0, into: output) }) != nil else { return nil }
        }
        return inflate(input, into: output)
    }

    /// Detects the format and initializes zlib for it. Returns false if that fails.
    private func start(_ input: UnsafeRawBufferPointer) -> Bool {
        // zlib.h: 15 is the maximum window for the zlib format, plus 16 selects gzip, and negated a raw stream.
        var windowBits: Int32 = 15
        if isGzip {
            windowBits += 16
        } else if isRaw {
            windowBits = -windowBits
        } else {
            let head = [firstByte].compactMap { $0 } + input.prefix(2)
            // RFC 1950, section 2.2: the compression method, and the check bits of the two bytes.
            let isZlib = head[0] & 0x0F == 8 && (Int(head[0]) << 8 + Int(head[1])) % 31 == 0
            if !isZlib { windowBits = -windowBits }
        }
        let size = Int32(MemoryLayout<larder_zlib_stream>.size)
        isStarted = zlib.inflateInit(stream, windowBits, "1", size) == 0
        return isStarted
    }

    private func inflate(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> (consumed: Int, produced: Int)? {
        let (inCount, outCount) = (min(input.count, 1 << 30), min(output.count, 1 << 30))
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_in = UInt32(inCount)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(outCount)
        switch zlib.inflate(stream, Self.noFlush) {
        case Self.ok, Self.bufferError: break
        case Self.end: isComplete = true
        default: return nil
        }
        return (inCount - Int(stream.pointee.avail_in), outCount - Int(stream.pointee.avail_out))
    }

    // Constants of zlib.h: Z_NO_FLUSH, Z_OK, Z_STREAM_END and Z_BUF_ERROR, which only means that zlib needs more
    // input or room for output.
    private static let noFlush: Int32 = 0
    private static let ok: Int32 = 0
    private static let end: Int32 = 1
    private static let bufferError: Int32 = -5
}

// MARK: - BrotliDecoder

/// Decodes brotli (RFC 7932). Bytes after the end of the stream are ignored.
final class BrotliDecoder: CodingDecoder {
    private let brotli: CodingLibrary.Brotli
    private let state: UnsafeMutableRawPointer
    /// Kept, since brotli does not copy its bytes.
    private let dictionary: CompressionDictionary?
    private(set) var isComplete = false

    /// - Parameter dictionary: the dictionary that the stream was compressed with.
    init?(dictionary: CompressionDictionary? = nil) {
        guard let brotli = CodingLibrary.brotli, let state = brotli.createInstance(nil, nil, nil) else {
            return nil
        }
        self.brotli = brotli
        self.state = state
        self.dictionary = dictionary
        guard let dictionary else { return }
        let bytes = dictionary.bytes
        let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        guard let attach = brotli.attachDictionary, attach(state, Self.rawDictionary, bytes.count, start) != 0
        else { return nil }
    }

    deinit { brotli.destroyInstance(state) }

    func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (
        consumed: Int, produced: Int
    )? {
        guard !isComplete else { return (input.count, 0) }
        var (inCount, outCount) = (input.count, output.count)
        var nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var nextOut = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        switch brotli.decompressStream(state, &inCount, &nextIn, &outCount, &nextOut, nil) {
        case Self.failure: return nil
        case Self.success: isComplete = true
        default: break
        }
        return (input.count - inCount, output.count - outCount)
    }

    // BROTLI_DECODER_RESULT_ERROR and BROTLI_DECODER_RESULT_SUCCESS. The other results ask for input or room.
    private static let failure: Int32 = 0
    private static let success: Int32 = 1
    /// BROTLI_SHARED_DICTIONARY_RAW.
    private static let rawDictionary: Int32 = 0
}

// MARK: - ZstdDecoder

/// Decodes zstd (RFC 8878): one or more frames. Other bytes after the end of a frame are ignored.
package final class ZstdDecoder: CodingDecoder {
    private let zstd: CodingLibrary.Zstd
    private let context: UnsafeMutableRawPointer
    /// Kept, since zstd does not copy its bytes.
    private let dictionary: CompressionDictionary?
    /// Whether the next byte begins a frame. zstd uses a dictionary for one frame only.
    private var isAtStart = true
    package private(set) var isComplete = false

    /// - Parameter dictionary: the dictionary that every frame was compressed with.
    package init?(dictionary: CompressionDictionary? = nil) {
        guard let zstd = CodingLibrary.zstd, let context = zstd.createDStream() else { return nil }
        self.zstd = zstd
        self.context = context
        self.dictionary = dictionary
        let maxWindowLog = dictionary?.maxWindowLog ?? Self.maxWindowLog
        _ = zstd.setDParameter(context, Self.windowLogMax, maxWindowLog)
    }

    deinit { _ = zstd.freeDStream(context) }

    package func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (
        consumed: Int, produced: Int
    )? {
        guard !isComplete || input.first == Self.frameStart else { return (input.count, 0) }
        if let dictionary, isAtStart {
            let code = zstd.referDecoderPrefix(context, dictionary.bytes.baseAddress, dictionary.bytes.count)
            guard zstd.isError(code) == 0 else { return nil }
        }
        var from = larder_zstd_input(bytes: input.baseAddress, size: input.count, place: 0)
        var to = larder_zstd_output(bytes: output.baseAddress, size: output.count, place: 0)
        // Returns 0 at the end of a frame, otherwise a hint of how many more bytes to pass.
        let hint = zstd.decompressStream(context, &to, &from)
        guard zstd.isError(hint) == 0 else { return nil }
        isComplete = hint == 0
        isAtStart = isComplete
        return (from.place, to.place)
    }

    /// The parameter ZSTD_d_windowLogMax.
    private static let windowLogMax: Int32 = 100
    /// The binary logarithm of the maximum window size: 8 MB, as RFC 9659 requires for the coding `zstd`. Frames
    /// with a larger window are rejected, since they would need more memory.
    static let maxWindowLog: Int32 = 23
    /// The first byte of each frame's magic number.
    private static let frameStart: UInt8 = 0x28
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

    package func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (
        consumed: Int, produced: Int
    )? {
        guard !isComplete || input.first == Self.streamStart else { return (input.count, 0) }
        if !isStarted || isComplete {
            guard xz.streamDecoder(stream, Self.maxMemoryBytes, 0) == Self.ok else { return nil }
            (isStarted, isComplete) = (true, false)
        }
        stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        (stream.pointee.avail_in, stream.pointee.avail_out) = (input.count, output.count)
        let result = xz.code(stream, Self.run)
        guard result == Self.ok || result == Self.streamEnd || result == Self.bufferError else { return nil }
        isComplete = result == Self.streamEnd
        return (input.count - stream.pointee.avail_in, output.count - stream.pointee.avail_out)
    }

    /// The memory limit of the decoder. It rejects streams that need more. Files made by `xz -9` need 65 MB.
    private static let maxMemoryBytes: UInt64 = 128 << 20
    /// The first byte of each stream's magic number.
    private static let streamStart: UInt8 = 0xFD
    // LZMA_RUN, LZMA_OK, LZMA_STREAM_END and LZMA_BUF_ERROR, which only means that the call made no progress.
    private static let run: Int32 = 0
    private static let ok: Int32 = 0
    private static let streamEnd: Int32 = 1
    private static let bufferError: Int32 = 10
}

// MARK: - Gzip

/// Decompresses gzip files (RFC 1952) such as `sitemap.xml.gz`. Such a body is a gzip file itself, independently of
/// the content coding of its response.
package enum Gzip {
    private static let pieceBytes = 64 * 1024

    /// Whether the bytes start with gzip's magic number.
    package static func isGzip(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B
    }

    /// Returns the content of all members; nil if the bytes are not gzip, are damaged or cut short, or
    /// decompress to more than `limit` bytes. Bytes after the last member, such as padding zeros, are
    /// ignored.
    package static func inflate(_ bytes: Span<UInt8>, limit: Int) -> [UInt8]? {
        guard let decoder = InflateDecoder(isGzip: true) else { return nil }
        var output: [UInt8] = []
        let isComplete = bytes.withUnsafeBytes { input in
            withUnsafeTemporaryAllocation(byteCount: pieceBytes, alignment: 1) { piece in
                var rest = input
                while true {
                    guard let (consumed, produced) = decoder.decode(rest, into: piece),
                        output.count + produced <= limit
                    else {
                        return false
                    }
                    output.append(contentsOf: piece[..<produced])
                    rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
                    if rest.isEmpty && produced < piece.count || consumed == 0 && produced == 0 {
                        return decoder.isComplete
                    }
                }
            }
        }
        return isComplete ? output : nil
    }
}
