import Codings
import Glibc
import System
import TestOrigin
import Testing

/// Encoders, tested with Python's decoders, and decoders, tested with Python's encoders.
@Suite(.enabled(if: Python.isInstalled, "python3 is not installed")) struct EncoderTests {
    enum Sample: CaseIterable {
        case empty, oneByte, text, noise

        var bytes: [UInt8] {
            switch self {
            case .empty: []
            case .oneByte: [7]
            case .text: Array(String(repeating: "plum jam. ", count: 30_000).utf8)
            case .noise: EncoderTests.noise(200_000)
            }
        }
    }

    @Test(arguments: Sample.allCases, [Deflater.Format.gzip, .raw])
    func `Python inflates the output of Deflater for pieces of any size`(
        sample: Sample, format: Deflater.Format
    )
        throws
    {
        let bytes = sample.bytes
        let deflater = try #require(Deflater(format, level: 6))
        var deflated: [[UInt8]] = []
        for pieceSize in [1000, 1 << 20] {
            var made: [UInt8] = []
            for start in stride(from: 0, to: bytes.count, by: pieceSize) {
                bytes[start..<min(bytes.count, start + pieceSize)].withUnsafeBytes { piece in
                    deflater.compress(piece) { made += $0 }
                }
            }
            deflater.finish { made += $0 }
            deflated.append(made)
        }
        #expect(deflated[0] == deflated[1], "the second stream is the same, with the memory of the first")
        #expect(
            try Python.decode(
                deflated[0], format == .gzip ? "gzip.decompress(data)" : "zlib.decompress(data, -15)")
                == bytes)
    }

    @Test(arguments: Sample.allCases, [Deflater.Format.gzip, .raw])
    func `Python inflates the output of OneShotDeflater`(sample: Sample, format: Deflater.Format) throws {
        // libdeflate is optional.
        guard let deflater = OneShotDeflater(format, level: 6) else { return }
        var made: [UInt8] = Array("before".utf8)
        deflater.add(sample.bytes, to: &made)
        #expect(made.starts(with: Array("before".utf8)))
        let program = format == .gzip ? "gzip.decompress(data)" : "zlib.decompress(data, -15)"
        #expect(try Python.decode(Array(made.dropFirst(6)), program) == sample.bytes)
    }

    @Test(arguments: Sample.allCases)
    func `a checksum equals that of Python for pieces of any size`(sample: Sample) throws {
        var (whole, inPieces) = (Checksum(), Checksum())
        sample.bytes.withUnsafeBytes { whole.update($0) }
        for byte in sample.bytes { withUnsafeBytes(of: byte) { inPieces.update($0) } }
        #expect(whole.value == inPieces.value)
        let digits = try Python.decode(sample.bytes, "str(zlib.crc32(data)).encode()")
        #expect(String(decoding: digits, as: UTF8.self) == String(whole.value))
    }

    @Test(arguments: Sample.allCases)
    func `zstd frames decode to their input, and damage to the checksum is an error`(sample: Sample) throws {
        let bytes = sample.bytes
        let encoder = try #require(ZstdEncoder(level: 3))
        for _ in 0..<2 {
            var frame: [UInt8] = []
            bytes.withUnsafeBytes { bytes in encoder.compress(bytes) { frame += $0 } }
            encoder.finish { frame += $0 }
            let decoder = try #require(ContentCoding.zstd.decoder())
            #expect(try decoded(frame, by: decoder) == bytes)
            // The last four bytes are a checksum of the content.
            frame[frame.count - 1] ^= 1
            let another = try #require(ContentCoding.zstd.decoder())
            #expect(throws: TestError.self) { try decoded(frame, by: another) }
        }
    }

    @Test func `a body is compressed only if that makes it an eighth smaller`() throws {
        try #require(ZstdFrame.isAvailable)
        let text = Sample.text.bytes
        let frame = try #require(ZstdFrame.compress(text))
        #expect(frame.count < text.count / 8)
        #expect(ZstdFrame.decompress(frame, byteCount: text.count) == text)
        #expect(ZstdFrame.decompress(frame, byteCount: text.count - 1) == nil)
        #expect(ZstdFrame.decompress(frame, byteCount: text.count + 1) == nil)
        #expect(ZstdFrame.decompress(Array(frame.dropLast()), byteCount: text.count) == nil)
        #expect(ZstdFrame.decompress(text, byteCount: text.count) == nil)
        #expect(ZstdFrame.compress(Sample.noise.bytes) == nil)
        #expect(ZstdFrame.compress([]) == nil)
    }

    @Test(arguments: Sample.allCases)
    func `xz files with several streams are decoded, and truncated ones are incomplete`(sample: Sample) throws
    {
        let file = try Python.decode(sample.bytes, "lzma.compress(data) + lzma.compress(data)")
        let decoder = try #require(XZDecoder())
        #expect(try decoded(file, by: decoder) == sample.bytes + sample.bytes)
        let cut = try #require(XZDecoder())
        _ = try? decoded(Array(file.dropLast(9)), by: cut)
        #expect(!cut.isComplete)
    }

    @Test(arguments: Sample.allCases)
    func `gzip files are decompressed up to the limit`(sample: Sample) throws {
        let file = try Python.decode(sample.bytes, "gzip.compress(data)")
        let (isGzip, decoded) = (Gzip.isGzip(file.span), Gzip.inflate(file.span, limit: sample.bytes.count))
        #expect(isGzip)
        #expect(decoded == sample.bytes)
        guard !sample.bytes.isEmpty else { return }
        let tooLong = Gzip.inflate(file.span, limit: sample.bytes.count - 1)
        #expect(tooLong == nil)
    }

    /// Incompressible bytes, the same on each call.
    fileprivate static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 1
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    /// Decodes bytes in pieces of 999 bytes. Throws if they are invalid or truncated.
    private func decoded(_ bytes: [UInt8], by decoder: any CodingDecoder) throws -> [UInt8] {
        var output: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 10_000)
        for start in stride(from: 0, to: bytes.count, by: 999) {
            var rest = bytes[start..<min(bytes.count, start + 999)]
            while true {
                let step = rest.withUnsafeBytes { from in
                    room.withUnsafeMutableBytes { decoder.decode(from, into: $0) }
                }
                guard let (taken, made) = step else { throw TestError("the bytes are not in the coding") }
                output += room[..<made]
                rest = rest.dropFirst(taken)
                if rest.isEmpty && made < room.count || taken == 0 && made == 0 { break }
            }
        }
        guard decoder.isComplete else { throw TestError("the coding ends too early") }
        return output
    }
}

/// Evaluates Python expressions.
private enum Python {
    static let path: String? = ["/usr/bin/python3", "/usr/local/bin/python3"].first { (path: String) in
        access(path, X_OK) == 0
    }
    static var isInstalled: Bool { path != nil }

    /// - Parameter expression: converts the bytes object `data` to another one.
    static func decode(_ data: [UInt8], _ expression: String) throws -> [UInt8] {
        let folder = try TemporaryFolder()
        try folder.write(data, to: "input")
        let program = """
            import gzip, lzma, sys, zlib
            data = open(sys.argv[1], "rb").read()
            open(sys.argv[2], "wb").write(\(expression))
            """
        let child = try ChildProcess(
            #require(path), ["-c", program, folder.file("input"), folder.file("output")])
        let ending = child.wait()
        guard ending.status == 0 else { throw TestError("python3: \(ending.errors)") }
        return try WholeFile.read(folder.file("output"), atMost: 1 << 22)
    }
}
