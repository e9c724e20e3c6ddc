/// ISO-2022-JP, in which escape sequences switch between ASCII, JIS X 0201 and JIS X 0208.
enum ISO2022JP {
    /// The character set that an escape sequence selects.
    enum Mode {
        case ascii, roman, katakana, doubleByte

        /// The mode that an escape sequence at `start` selects; nil if there is none.
        init?(escapedIn bytes: Span<UInt8>, at start: Int) {
            guard bytes[start] == escape, start + escapeByteCount <= bytes.count else { return nil }
            switch (bytes[start + 1], bytes[start + 2]) {
            case (UInt8(ascii: "("), UInt8(ascii: "B")): self = .ascii
            case (UInt8(ascii: "("), UInt8(ascii: "J")): self = .roman
            case (UInt8(ascii: "("), UInt8(ascii: "I")): self = .katakana
            case (UInt8(ascii: "$"), UInt8(ascii: "@")), (UInt8(ascii: "$"), UInt8(ascii: "B")):
                self = .doubleByte
            default: return nil
            }
        }
    }

    static let escape: UInt8 = 0x1B
    static let escapeByteCount = 3

    /// Whether a byte stands for itself in a single-byte mode.
    static func isPlain(_ byte: UInt8) -> Bool {
        byte < 0x80 && byte != 0x0E && byte != 0x0F && byte != escape
    }

    /// An encoder for ISO-2022-JP, which switches between the modes.
    struct Encoder: ~Copyable {
        private let unencodable: TextEncoding.Unencodable
        private var pairs = MultiByteEncoder(.eucJP)
        private var mode = Mode.ascii
        private var output: [UInt8] = []

        init(_ unencodable: TextEncoding.Unencodable) {
            self.unencodable = unencodable
        }

        mutating func encode(_ utf8: Span<UInt8>) -> [UInt8] {
            for scalar in String(decoding: TextEncoding.repairedUTF8(utf8), as: UTF8.self).unicodeScalars {
                encodeScalar(scalar)
            }
            enter(.ascii)
            return output
        }

        private mutating func encodeScalar(_ scalar: Unicode.Scalar) {
            switch scalar.value {
            case 0x0E, 0x0F, UInt32(escape):
                // These bytes would be decoded as escapes.
                enter(.ascii)
                unencodable.append("\u{FFFD}", to: &output)
            case 0xA5:
                enter(.roman)
                output.append(0x5C)
            case 0x203E:
                enter(.roman)
                output.append(0x7E)
            case 0x5C, 0x7E:
                enter(.ascii)
                output.append(UInt8(truncatingIfNeeded: scalar.value))
            case 0..<0x80:
                if mode == .doubleByte { enter(.ascii) }
                output.append(UInt8(truncatingIfNeeded: scalar.value))
            default:
                appendPair(scalar)
            }
        }

        private mutating func appendPair(_ scalar: Unicode.Scalar) {
            var pair: [UInt8] = []
            guard pairs.append(scalar, to: &pair), pair.count == 2, pair[0] >= 0xA1 else {
                enter(.ascii)
                unencodable.append(scalar, to: &output)
                return
            }
            enter(.doubleByte)
            output += pair.map { $0 & 0x7F }
        }

        private mutating func enter(_ next: Mode) {
            guard next != mode else { return }
            mode = next
            output.append(escape)
            switch next {
            case .ascii: output += "(B".utf8
            case .roman: output += "(J".utf8
            case .katakana: output += "(I".utf8
            case .doubleByte: output += "$B".utf8
            }
        }
    }
}
