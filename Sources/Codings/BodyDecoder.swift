package import Web

/// Undoes all the codings of one body, the last one first.
package final class BodyDecoder {
    private var layers: [(coding: ContentCoding, decoder: any CodingDecoder)] = []
    private var output: [UnsafeMutableRawBufferPointer] = []
    /// What came, in its codings.
    package private(set) var takenByteCount = 0

    /// Nobody means more; each costs memory.
    private static let mostCodings = 4
    private static let pieceSize = 32 * 1024

    /// Codings that there are, and that cannot be undone here.
    private static let foreign: Set<String> = ["compress", "x-compress", "dcb", "dcz"]

    /// Nil for a body without a coding. What is none, a character set as a rule, is passed over, as browsers
    /// do.
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

    /// Hands on what the bytes are without their codings, in pieces.
    ///
    /// - Parameter fault: makes the caller's error of what is not in the coding.
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
            // A full piece may not be all that there is.
            if rest.isEmpty, made < output[layer].count { return }
            guard taken > 0 || made > 0 else { return }
        }
    }

    /// Nil when every coding has come to its end, or nothing came at all.
    package var flaw: CodingFault? {
        guard takenByteCount > 0, let cut = layers.first(where: { !$0.decoder.isComplete }) else {
            return nil
        }
        return .cut(cut.coding.rawValue)
    }
}

/// Why a body's codings cannot be undone.
package enum CodingFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// One that there is, and that cannot be undone here.
    case unknown(String)
    /// So many, one around the other.
    case nested(Int)
    /// The bytes are not in it.
    case damaged(String)
    /// The bytes end before it does.
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

/// How large a body may become when its content coding is undone. A page of text shrinks to a tenth, a table
/// of zeros to a thousandth; what grows without measure was made to fill a disk.
package struct ExpansionLimit: Sendable {
    /// So many bytes out of one.
    package var factor = 200
    /// Smaller bodies may come from as little as they like.
    package var floor = 1024 * 1024

    package init() {}

    package func isExceeded(byteCount: Int, codedByteCount: Int) -> Bool {
        byteCount > floor && byteCount / max(1, factor) > codedByteCount
    }
}
