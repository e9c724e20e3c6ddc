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

    /// Nil for a body without a coding. What is none, a character set as a rule, is passed over, as browsers do.
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
        _ bytes: UnsafeRawBufferPointer, in layer: Int, _ give: (UnsafeRawBufferPointer) throws(FetchFailure) -> Void
    ) throws(FetchFailure) {
        guard layer < layers.count else { return try give(bytes) }
        var rest = bytes
        while true {
            guard let (taken, made) = layers[layer].decoder.run(rest, output[layer]) else {
                throw FetchFailure(.nonsense, "the body is not in the coding \(layers[layer].coding.rawValue)")
            }
            if made > 0 { try take(UnsafeRawBufferPointer(rebasing: output[layer][..<made]), in: layer + 1, give) }
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            // A full piece may not be all that there is.
            if rest.isEmpty, made < output[layer].count { return }
            guard taken > 0 || made > 0 else { return }
        }
    }

    /// Nil when every coding has come to its end, or nothing came at all.
    var flaw: FetchFailure? {
        guard takenByteCount > 0, let cut = layers.first(where: { !$0.decoder.isComplete }) else { return nil }
        return FetchFailure(.broken, "the body ends before its coding does, \(cut.coding.rawValue)")
    }
}
