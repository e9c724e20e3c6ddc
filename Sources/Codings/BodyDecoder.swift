package import Web

/// Decodes a body that has one or more content codings, the last applied first.
///
/// If there are several, the output of each decoder is the input of the next.
package final class BodyDecoder {
    private var layers: [(coding: ContentCoding, decoder: any CodingDecoder)] = []
    private var output: [UnsafeMutableRawBufferPointer] = []
    /// The number of encoded bytes that were passed to `take`.
    package private(set) var takenByteCount = 0

    /// The maximum number of codings of a body, each of which needs memory for a decoder.
    private static let mostCodings = 4
    private static let pieceSize = 32 * 1024

    /// The names of codings that exist but that Larder cannot decode.
    private static let foreign: Set<String> = ["compress", "x-compress", "dcb", "dcz"]

    /// Returns nil for a body without a known coding. Unknown names, usually those of character sets, are
    /// ignored as in browsers.
    ///
    /// - Throws: `CodingFault` if the body has a coding that cannot be decoded, or too many codings.
    package init?(_ fields: HTTPFields) throws(CodingFault) {
        guard fields.isCoded else { return nil }
        let names = fields.elements("Content-Encoding").map { $0.lowercased() }
        if let name = names.first(where: Self.foreign.contains) {
            throw .unknown(name)
        }
        let codings = names.compactMap(ContentCoding.init(named:))
        guard !codings.isEmpty else { return nil }
        guard codings.count <= Self.mostCodings else {
            throw .nested(codings.count)
        }
        for coding in codings.reversed() {
            guard let decoder = coding.decoder() else { throw .unknown(coding.rawValue) }
            layers.append((coding, decoder))
            output.append(.allocate(byteCount: Self.pieceSize, alignment: 1))
        }
    }

    deinit { for piece in output { piece.deallocate() } }

    /// Decodes a piece of the body and passes the output to `give` in pieces. Their bytes are valid only
    /// during the call.
    ///
    /// - Parameter fault: converts the error for invalid input to the caller's error type.
    package func take<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void,
        fault: (CodingFault) -> Failure
    ) throws(Failure) {
        takenByteCount += bytes.count
        try take(bytes, in: 0, give, fault)
    }

    private func take<Failure: Error>(
        _ bytes: UnsafeRawBufferPointer, in layer: Int,
        _ give: (UnsafeRawBufferPointer) throws(Failure) -> Void, _ fault: (CodingFault) -> Failure
    ) throws(Failure) {
        guard layer < layers.count else { return try give(bytes) }
        var rest = bytes
        while true {
            guard let (taken, made) = layers[layer].decoder.run(rest, output[layer]) else {
                throw fault(.damaged(layers[layer].coding.rawValue))
            }
            if made > 0 {
                try take(UnsafeRawBufferPointer(rebasing: output[layer][..<made]), in: layer + 1, give, fault)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            // If the output buffer is full, the decoder may have more output.
            if rest.isEmpty, made < output[layer].count { return }
            guard taken > 0 || made > 0 else { return }
        }
    }

    /// An error if the body so far ends before one of its codings does; nil if it is complete or empty.
    package var flaw: CodingFault? {
        guard takenByteCount > 0, let cut = layers.first(where: { !$0.decoder.isComplete }) else {
            return nil
        }
        return .cut(cut.coding.rawValue)
    }
}

/// The reason why a body cannot be decoded.
package enum CodingFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// A coding that Larder cannot decode.
    case unknown(String)
    /// The number of codings exceeds the maximum.
    case nested(Int)
    /// The bytes are not valid in this coding.
    case damaged(String)
    /// The bytes end before the coding does.
    case cut(String)

    package var description: String {
        switch self {
        case .unknown(let name): "the body is in the coding \(name), which nobody asked for"
        case .nested(let count): "the body is in \(count) codings, one around the other"
        case .damaged(let name): "the body is not in the coding \(name)"
        case .cut(let name): "the body ends before its coding does, \(name)"
        }
    }
}

/// A limit on the growth of a body when its content coding is removed. Text typically grows tenfold and a
/// table of zeros a thousandfold; unlimited growth is an attack that fills the disk (a decompression bomb).
package struct ExpansionLimit: Sendable {
    /// The maximum ratio of decoded to encoded bytes.
    package var factor = 200
    /// The size in bytes up to which a decoded body may have any ratio.
    package var floor = 1024 * 1024

    package init() {}

    package func isExceeded(byteCount: Int, codedByteCount: Int) -> Bool {
        byteCount > floor && byteCount / max(1, factor) > codedByteCount
    }
}
