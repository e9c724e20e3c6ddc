package import Web

/// Decodes a body with one or more content codings, piece by piece. It belongs to one thread.
///
/// `Content-Encoding` lists the codings in the order in which the server applied them, so they are removed from
/// last to first: for "gzip, br", the output of the brotli decoder is the input of the gzip decoder.
package final class BodyDecoder {
    /// The decoders in the order in which they are applied: the last coding of `Content-Encoding` is first.
    private var layers: [(coding: String, decoder: any CodingDecoder)] = []
    /// An output buffer for each layer.
    private var outputBuffers: [UnsafeMutableRawBufferPointer] = []
    /// The number of encoded bytes that were passed to `decode`.
    package private(set) var encodedByteCount = 0
    /// The size of the dictionary that the body was compressed with; 0 if there is none.
    package let dictionaryByteCount: Int

    /// Rejects a body with more codings, since each needs memory for a decoder.
    private static let maxCodings = 4
    private static let outputBufferBytes = 32 * 1024

    /// Registered codings that Larder cannot decode.
    private static let unsupported: Set<String> = ["compress", "x-compress"]

    /// Creates the decoders for a body with these header fields. Returns nil if `Content-Encoding` has no known
    /// coding. Unknown names, which are usually names of character sets, are ignored as in browsers.
    ///
    /// - Parameter dictionary: the dictionary that the request offered. Without one, `dcb` and `dcz` are unsupported.
    /// - Throws: `CodingError` if the body has a coding that cannot be decoded, or too many codings.
    package init?(_ fields: HTTPFields, dictionary: CompressionDictionary? = nil) throws(CodingError) {
        guard fields.isCoded else { return nil }
        let names = fields.elements("Content-Encoding").map { $0.lowercased() }
        if let name = names.first(where: Self.unsupported.contains) {
            throw .unsupported(name)
        }
        let codings = names.filter {
            ContentCoding(named: $0) != nil || DictionaryCoding(rawValue: $0) != nil
        }
        guard !codings.isEmpty else { return nil }
        guard codings.count <= Self.maxCodings else {
            throw .tooManyCodings(codings.count)
        }
        let usesDictionary = codings.contains { DictionaryCoding(rawValue: $0) != nil }
        dictionaryByteCount = usesDictionary ? dictionary?.byteCount ?? 0 : 0
        for coding in codings.reversed() {
            let dictionaryCoding = DictionaryCoding(rawValue: coding)
            let decoder =
                dictionaryCoding == nil
                ? ContentCoding(named: coding)?.decoder()
                : dictionary.flatMap { dictionaryCoding?.decoder($0) }
            guard let decoder else { throw .unsupported(coding) }
            layers.append((coding, decoder))
            outputBuffers.append(.allocate(byteCount: Self.outputBufferBytes, alignment: 1))
        }
    }

    deinit { for buffer in outputBuffers { buffer.deallocate() } }

    /// Decodes a piece of the body. Ignores bytes after the end of the encoded data.
    ///
    /// - Parameters:
    ///   - receive: receives each piece of the output, whose bytes are valid only during the call.
    ///   - wrapping: converts the error for invalid input to the caller's error type.
    package func decode<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ receive: (UnsafeRawBufferPointer) throws(Failure) -> Void,
        wrapping: (CodingError) -> Failure
    ) throws(Failure) {
        encodedByteCount += bytes.count
        try decode(bytes, in: 0, receive, wrapping)
    }

    /// Decodes bytes with this layer and those after it. Beyond the last layer, they are the output.
    private func decode<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, in layer: Int,
        _ receive: (UnsafeRawBufferPointer) throws(Failure) -> Void, _ wrapping: (CodingError) -> Failure
    ) throws(Failure) {
        guard layer < layers.count else { return try receive(bytes) }
        var rest = bytes
        while true {
            guard let (consumed, produced) = layers[layer].decoder.decode(rest, into: outputBuffers[layer])
            else {
                throw wrapping(.invalidData(layers[layer].coding))
            }
            if produced > 0 {
                let decoded = UnsafeRawBufferPointer(rebasing: outputBuffers[layer][..<produced])
                try decode(decoded, in: layer + 1, receive, wrapping)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[consumed...])
            // If the output buffer is full, the decoder may have more output.
            if rest.isEmpty, produced < outputBuffers[layer].count { return }
            // Prevents an endless loop if a decoder makes no progress.
            guard consumed > 0 || produced > 0 else { return }
        }
    }

    /// The error `CodingError.truncated` if the bytes so far are not a complete body; nil for a complete or an empty
    /// one. Read it after the last piece.
    package var truncation: CodingError? {
        guard encodedByteCount > 0, let incomplete = layers.first(where: { !$0.decoder.isComplete }) else {
            return nil
        }
        return .truncated(incomplete.coding)
    }
}

/// The reason why a body cannot be decoded. The strings are names of codings.
package enum CodingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A coding that Larder cannot decode.
    case unsupported(String)
    /// The body has more codings than the maximum, namely this number.
    case tooManyCodings(Int)
    /// The bytes are not valid in this coding.
    case invalidData(String)
    /// The body ends before the encoded data is complete.
    case truncated(String)

    package var description: String {
        switch self {
        case .unsupported(let name): "the body is in the coding \(name), which is not supported"
        case .tooManyCodings(let count): "the body is in \(count) codings, one around the other"
        case .invalidData(let name): "the body is not in the coding \(name)"
        case .truncated(let name): "the body ends before its coding does, \(name)"
        }
    }
}

/// A limit on the growth of a body when its content coding is removed, against decompression bombs.
///
/// Text typically grows tenfold and a table of zeros a thousandfold. Without a limit, a response of some megabytes
/// could fill the disk.
package struct ExpansionLimit: Sendable {
    /// The maximum ratio of decoded to encoded bytes.
    package var factor = 200
    /// The size in bytes up to which a decoded body may have any ratio.
    package var floor = 1024 * 1024
    /// A body that was compressed with a dictionary may have any ratio up to this multiple of the dictionary, since
    /// a few bytes stand for a whole unchanged body.
    var dictionaryFactor = 4

    package init() {}

    /// Whether a body that decoded to `byteCount` bytes so far grew too much.
    package func isExceeded(byteCount: Int, encodedByteCount: Int, dictionaryByteCount: Int = 0) -> Bool {
        byteCount > max(floor, dictionaryFactor * dictionaryByteCount)
            && byteCount / max(1, factor) > encodedByteCount
    }
}
