internal import CCodings
internal import Glibc
internal import Web

/// Undoes all the codings of one body, the last one first.
final class BodyDecoder {
    private var layers: [(coding: ContentCoding, decoder: any CodingDecoder)] = []
    private var output: [UnsafeMutableRawBufferPointer] = []
    /// What came, in its codings.
    private(set) var takenByteCount = 0

    /// Nobody means more; each costs memory.
    private static let mostCodings = 4
    private static let pieceSize = 32 * 1024

    /// Codings that there are, and that cannot be undone here.
    private static let foreign: Set<String> = ["compress", "x-compress", "dcb", "dcz"]

    /// Nil for a body without a coding. What is none, a character set as a rule, is passed over, as browsers
    /// do.
    init?(_ fields: HTTPFields) throws(FetchFailure) {
        guard fields.isCoded else { return nil }
        let names = fields.elements("Content-Encoding").map { $0.lowercased() }
        if let name = names.first(where: Self.foreign.contains) {
            throw FetchFailure(.nonsense, "the body is in the coding \(name), which nobody asked for")
        }
        let codings = names.compactMap(ContentCoding.init(named:))
        guard !codings.isEmpty else { return nil }
        guard codings.count <= Self.mostCodings else {
            throw FetchFailure(.tooLarge, "the body is in \(codings.count) codings, one around the other")
        }
        for coding in codings.reversed() {
            layers.append((coding, try coding.decoder()))
            output.append(.allocate(byteCount: Self.pieceSize, alignment: 1))
        }
    }

    deinit { for piece in output { piece.deallocate() } }

    /// Hands on what the bytes are without their codings, in pieces.
    func take(
        _ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) throws(FetchFailure) -> Void
    ) throws(FetchFailure) {
        takenByteCount += bytes.count
        try take(bytes, in: 0, give)
    }

    private func take(
        _ bytes: UnsafeRawBufferPointer, in layer: Int,
        _ give: (UnsafeRawBufferPointer) throws(FetchFailure) -> Void
    ) throws(FetchFailure) {
        guard layer < layers.count else { return try give(bytes) }
        var rest = bytes
        while true {
            guard let (taken, made) = layers[layer].decoder.run(rest, output[layer]) else {
                throw FetchFailure(
                    .nonsense, "the body is not in the coding \(layers[layer].coding.rawValue)")
            }
            if made > 0 {
                try take(UnsafeRawBufferPointer(rebasing: output[layer][..<made]), in: layer + 1, give)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            // A full piece may not be all that there is.
            if rest.isEmpty, made < output[layer].count { return }
            guard taken > 0 || made > 0 else { return }
        }
    }

    /// Nil when every coding has come to its end, or nothing came at all.
    var flaw: FetchFailure? {
        guard takenByteCount > 0, let cut = layers.first(where: { !$0.decoder.isComplete }) else {
            return nil
        }
        return FetchFailure(.broken, "the body ends before its coding does, \(cut.coding.rawValue)")
    }
}

// MARK: - ContentCoding

/// A coding that servers may send content in (RFC 9110, section 8.4.1).
enum ContentCoding: String, CaseIterable, Sendable {
    case deflate, gzip, br, zstd

    /// Nil for what is none, such as the name of a character set. The name is in lower case.
    init?(named name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether somebody takes the codings of a body, and they can be undone here.
    ///
    /// - Parameter codings: an `Accept-Encoding`; nil takes whatever comes.
    static func accepts(_ codings: String?, _ fields: HTTPFields) -> Bool {
        guard let codings, fields.isCoded else { return true }
        let taken = Set(names(codings))
        // RFC 9111, section 5.2.2.6, and RFC 9110, section 7.7.
        if fields.elements("Cache-Control").contains(where: { HTTPGrammar.matches($0, "no-transform") }) {
            return false
        }
        return fields.elements("Content-Encoding").allSatisfy { name in
            let coding = ContentCoding(named: name.lowercased())
            return coding.map { $0.isKnown && taken.contains($0.rawValue) } ?? false
        }
    }

    /// What a server is asked for in the stead of somebody who takes these.
    static func shared(with codings: String) -> String {
        let taken = names(codings)
        let shared = allCases.filter { $0.isKnown && taken.contains($0.rawValue) }.map(\.rawValue)
        return shared.isEmpty ? "identity" : shared.joined(separator: ", ")
    }

    /// Those of an `Accept-Encoding` that are not refused by a weight of 0.
    private static func names(_ codings: String) -> [String] {
        var fields = HTTPFields()
        fields.append("Accept-Encoding", codings)
        return fields.elements("Accept-Encoding").compactMap { element in
            let words = String(element).lowercased().split(separator: ";").map { word in
                String(word.filter { $0 != " " && $0 != "\t" })
            }
            let isRefused = words.dropFirst().contains { $0.hasPrefix("q=0") && !$0.dropFirst(3).contains { $0 > "0" } }
            return isRefused ? nil : words.first
        }
    }

    /// What a request asks for: all that can be undone here.
    static let accepted = allCases.filter(\.isKnown).map(\.rawValue).joined(separator: ", ")

    private var isKnown: Bool {
        switch self {
        case .deflate, .gzip: CodingLibrary.zlib != nil
        case .br: CodingLibrary.brotli != nil
        case .zstd: CodingLibrary.zstd != nil
        }
    }

    func decoder() throws(FetchFailure) -> any CodingDecoder {
        let decoder: (any CodingDecoder)? =
            switch self {
            case .deflate, .gzip: InflateDecoder(isGzip: self == .gzip)
            case .br: BrotliDecoder()
            case .zstd: ZstdDecoder()
            }
        guard let decoder else {
            throw FetchFailure(.nonsense, "the body is in the coding \(rawValue), which nobody asked for")
        }
        return decoder
    }
}

/// Undoes one coding, piece by piece.
protocol CodingDecoder: AnyObject {
    /// Whether what came so far ends where the coding ends: what breaks off is not whole, whatever its length
    /// promised.
    var isComplete: Bool { get }
    /// Takes some of the input and fills some of the output, and says how much of each; nil for what is not
    /// in the coding.
    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
        taken: Int, made: Int
    )?
}

/// How large a body may become when its content coding is undone. A page of text shrinks to a tenth, a table
/// of zeros to a thousandth; what grows without measure was made to fill a disk.
package struct ExpansionLimit: Sendable {
    /// So many bytes out of one.
    package var factor = 200
    /// Smaller bodies may come from as little as they like.
    package var floor = 1024 * 1024

    package init() {}

    func isExceeded(byteCount: Int, codedByteCount: Int) -> Bool {
        byteCount > floor && byteCount / max(1, factor) > codedByteCount
    }
}

// MARK: - InflateDecoder

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

    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
        taken: Int, made: Int
    )? {
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

// MARK: - BrotliDecoder

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

    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
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

    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (
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
    /// 8 MB, as RFC 9659 has it for the Web.
    private static let largestWindow: Int32 = 23
    /// Each begins so.
    private static let frame: UInt8 = 0x28
}

// MARK: - Gzip

/// Undoes gzip (RFC 1952) of files that are compressed in themselves, such as `sitemap.xml.gz`.
package enum Gzip {
    private static let pieceByteCount = 64 * 1024

    package static func isGzip(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B
    }

    /// The content of all members; nil for what is no gzip, is damaged or cut short, or becomes longer than
    /// the limit. What stands behind the last member, such as the zeros with which some writers pad, is
    /// passed over.
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

// MARK: - CodingLibrary

/// What libcurl brings along to undo content codings; nil for what it does not.
enum CodingLibrary {
    static let zlib = Zlib()
    static let brotli = Brotli()
    static let zstd = Zstd()

    struct Zlib: Sendable {
        let start: larder_zlib_init
        let run: larder_zlib_run
        let reset: larder_zlib_step
        let end: larder_zlib_step

        init?() {
            guard let start = CodingLibrary.find("inflateInit2_", larder_zlib_init.self),
                let run = CodingLibrary.find("inflate", larder_zlib_run.self),
                let reset = CodingLibrary.find("inflateReset", larder_zlib_step.self),
                let end = CodingLibrary.find("inflateEnd", larder_zlib_step.self)
            else { return nil }
            (self.start, self.run, self.reset, self.end) = (start, run, reset, end)
        }
    }

    struct Brotli: Sendable {
        let create: larder_brotli_create
        let run: larder_brotli_run
        let destroy: larder_brotli_destroy

        init?() {
            guard let create = CodingLibrary.find("BrotliDecoderCreateInstance", larder_brotli_create.self),
                let run = CodingLibrary.find("BrotliDecoderDecompressStream", larder_brotli_run.self),
                let destroy = CodingLibrary.find("BrotliDecoderDestroyInstance", larder_brotli_destroy.self)
            else { return nil }
            (self.create, self.run, self.destroy) = (create, run, destroy)
        }
    }

    struct Zstd: Sendable {
        let create: larder_zstd_create
        let set: larder_zstd_set
        let run: larder_zstd_run
        let isError: larder_zstd_is_error
        let free: larder_zstd_free

        init?() {
            guard let create = CodingLibrary.find("ZSTD_createDStream", larder_zstd_create.self),
                let set = CodingLibrary.find("ZSTD_DCtx_setParameter", larder_zstd_set.self),
                let run = CodingLibrary.find("ZSTD_decompressStream", larder_zstd_run.self),
                let isError = CodingLibrary.find("ZSTD_isError", larder_zstd_is_error.self),
                let free = CodingLibrary.find("ZSTD_freeDStream", larder_zstd_free.self)
            else { return nil }
            (self.create, self.set, self.run, self.isError, self.free) = (create, set, run, isError, free)
        }
    }

    /// The type is the one that `shim.h` gives for the name.
    private static func find<Function>(_ name: String, _: Function.Type) -> Function? {
        dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
    }
}
