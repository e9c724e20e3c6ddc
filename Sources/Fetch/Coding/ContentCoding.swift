/// A coding that servers may send content in (RFC 9110, section 8.4.1).
enum ContentCoding: String, CaseIterable, Sendable {
    case deflate, gzip, br, zstd

    /// Nil for what is none, such as the name of a character set. The name is in lower case.
    init?(named name: String) {
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
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
    /// Whether what came so far ends where the coding ends: what breaks off is not whole, whatever its length promised.
    var isComplete: Bool { get }
    /// Takes some of the input and fills some of the output, and says how much of each; nil for what is not in the coding.
    func run(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) -> (taken: Int, made: Int)?
}
