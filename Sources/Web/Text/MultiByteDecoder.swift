/// A decoder for GBK, gb18030, Big5, Shift_JIS and EUC-KR. It uses iconv for valid input and replaces
/// malformed bytes by the rules of the standard.
struct MultiByteDecoder: ~Copyable {
    private let encoding: TextEncoding
    private var converter: TextConverter?

    /// Whether the input consists of complete characters, so that an unknown pair of bytes is replaced as
    /// one.
    private let isWhole: Bool

    init(_ encoding: TextEncoding, isWhole: Bool = false) {
        self.encoding = encoding
        self.isWhole = isWhole
        converter = encoding.iconvName.flatMap { TextConverter(to: "UTF-8", from: $0) }
    }

    mutating func decode(_ bytes: Span<UInt8>, into output: inout [UInt8]) {
        var position = 0
        while position < bytes.count {
            let stop = converter?.convert(bytes, from: &position, to: &output) ?? .malformed
            switch stop {
            case .end:
                return
            case .incomplete where isBeginning(bytes.extracting(position...)):
                output += [UInt8].replacementCharacter
                return
            case .incomplete, .malformed:
                position += replace(bytes, at: position, &output)
            }
        }
    }

    /// Whether `bytes` are the beginning of a character that is cut off.
    private func isBeginning(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count > 1 else { return true }
        guard encoding == .gbk || encoding == .gb18030, bytes[1].isASCIIDigit else { return false }
        return bytes.count == 2 || bytes.count == 3 && (0x81...0xFE).contains(bytes[2])
    }

    /// Appends the standard's replacement for bytes that iconv does not know, and returns their number.
    private func replace(_ bytes: Span<UInt8>, at position: Int, _ output: inout [UInt8]) -> Int {
        let lead = bytes[position]
        switch (encoding, lead) {
        case (_, ..<0x80):
            // Reached only if the system lacks the conversion.
            output.append(lead)
            return 1
        case (.gbk, 0x80), (.gb18030, 0x80):
            output.append(utf8: 0x20AC)
            return 1
        case (.shiftJIS, 0x80):
            output.append(utf8: 0x80)
            return 1
        case (.shiftJIS, 0xA0), (.shiftJIS, 0xFD...0xFF), (_, 0x80), (_, 0xFF):
            output += [UInt8].replacementCharacter
            return 1
        default:
            output += [UInt8].replacementCharacter
            // Keeps an ASCII byte after an invalid lead byte, since it may be a quote or an angle bracket of
            // the markup.
            return position + 1 < bytes.count && (isWhole || bytes[position + 1] >= 0x80) ? 2 : 1
        }
    }
}

// MARK: - MultiByteEncoder

/// An encoder for East Asian encodings, one scalar at a time.
struct MultiByteEncoder: ~Copyable {
    private let encoding: TextEncoding
    private var converter: TextConverter?

    init(_ encoding: TextEncoding) {
        self.encoding = encoding
        converter = encoding.iconvName.flatMap { TextConverter(to: $0, from: "UTF-8") }
    }

    /// Appends the bytes of a scalar outside ASCII. Returns false if it has none.
    mutating func append(_ scalar: Unicode.Scalar, to output: inout [UInt8]) -> Bool {
        var scalar = scalar
        switch (encoding, scalar.value) {
        case (.gb18030, 0xE5E5), (.gbk, 0xE5E5):
            return false
        case (.gbk, 0x20AC):
            output.append(0x80)
            return true
        case (.shiftJIS, 0xA5), (.eucJP, 0xA5):
            output.append(0x5C)
            return true
        case (.shiftJIS, 0x203E), (.eucJP, 0x203E):
            output.append(0x7E)
            return true
        case (.shiftJIS, 0x2212), (.eucJP, 0x2212):
            scalar = "\u{FF0D}"
        default:
            break
        }
        let start = output.count
        let source = [UInt8](String(scalar).utf8)
        var position = 0
        guard converter?.convert(source.span, from: &position, to: &output) == .end,
            isAllowed(output[start...])
        else {
            output.removeSubrange(start...)
            return false
        }
        return true
    }

    /// Whether the standard's encoder writes these bytes. iconv knows more characters.
    private func isAllowed(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let lead = bytes.first else { return false }
        switch encoding {
        case .gbk: return bytes.count == 2
        case .big5: return lead >= 0xA1
        case .eucJP: return bytes.count == 2
        case .shiftJIS: return !(0xF0...0xF9).contains(lead)
        default: return true
        }
    }
}

// MARK: - JISDecoder

/// A decoder for EUC-JP and ISO-2022-JP. Both encode JIS X 0208, with the rows that NEC added, as row and
/// cell. These pairs are converted to Shift_JIS first, in which glibc has the characters of the standard; in
/// its EUC-JP, it does not.
struct JISDecoder: ~Copyable {
    private var output: [UInt8] = []
    private var shiftJIS: [UInt8] = []
    private var decoder = MultiByteDecoder(.shiftJIS, isWhole: true)
    private var supplement: TextConverter?

    static func decodeEUC(_ bytes: Span<UInt8>) -> [UInt8] {
        var decoder = JISDecoder(capacity: bytes.count * 3 / 2)
        decoder.readEUC(bytes)
        return decoder.finish()
    }

    static func decodeISO2022(_ bytes: Span<UInt8>) -> [UInt8] {
        var decoder = JISDecoder(capacity: bytes.count)
        decoder.readISO2022(bytes)
        return decoder.finish()
    }

    private init(capacity: Int) {
        output.reserveCapacity(capacity)
    }

    private consuming func finish() -> [UInt8] {
        flush()
        return output
    }

    private mutating func flush() {
        var pending: [UInt8] = []
        swap(&pending, &shiftJIS)
        decoder.decode(pending.span, into: &output)
        pending.removeAll(keepingCapacity: true)
        shiftJIS = pending
    }

    private mutating func appendScalar(_ scalar: UInt32) {
        flush()
        output.append(utf8: scalar)
    }

    private mutating func appendMalformed() { appendScalar(0xFFFD) }

    private mutating func appendHalfwidthKatakana(_ byte: UInt8) { shiftJIS.append(byte | 0x80) }

    /// Appends a character of JIS X 0208. `row` and `cell` start at 0x21.
    private mutating func appendPair(_ row: UInt8, _ cell: UInt8) {
        let (row, cell) = (row - 0x21, cell - 0x21)
        let lead = row / 2 + (row < 62 ? 0x81 : 0xC1)
        if row % 2 == 1 {
            shiftJIS += [lead, cell + 0x9F]
        } else {
            shiftJIS += [lead, cell + (cell < 63 ? 0x40 : 0x41)]
        }
    }
}

// MARK: - EUC-JP

extension JISDecoder {
    private static let highPart: ClosedRange<UInt8> = 0xA1...0xFE

    private mutating func readEUC(_ bytes: Span<UInt8>) {
        var index = 0
        while index < bytes.count {
            let lead = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            switch lead {
            case ..<0x80:
                shiftJIS.append(lead)
                index += 1
            case 0x8E where (0xA1...0xDF).contains(next):
                appendHalfwidthKatakana(next)
                index += 2
            case 0x8F where Self.highPart.contains(next):
                index += 2 + readSupplement(next, index + 2 < bytes.count ? bytes[index + 2] : 0)
            case Self.highPart where Self.highPart.contains(next):
                appendPair(lead & 0x7F, next & 0x7F)
                index += 2
            case 0x8E, 0x8F, Self.highPart:
                appendMalformed()
                index += next < 0x80 ? 1 : 2
            default:
                appendMalformed()
                index += 1
            }
        }
    }

    /// Reads a character of JIS X 0212, which follows 0x8F. Returns the number of bytes after the first two
    /// that it consumed.
    private mutating func readSupplement(_ row: UInt8, _ cell: UInt8) -> Int {
        guard Self.highPart.contains(cell) else {
            appendMalformed()
            return cell < 0x80 ? 0 : 1
        }
        if supplement == nil { supplement = TextConverter(to: "UTF-32BE", from: "EUC-JP-MS") }
        let scalar = supplement?.scalar(of: [0x8F, row, cell]) ?? 0xFFFD
        // glibc has private-use characters where the standard has none.
        appendScalar((0xE000...0xF8FF).contains(scalar) ? 0xFFFD : scalar)
        return 1
    }
}

// MARK: - ISO-2022-JP

extension JISDecoder {
    private mutating func readISO2022(_ bytes: Span<UInt8>) {
        let part: ClosedRange<UInt8> = 0x21...0x7E
        var mode = ISO2022JP.Mode.ascii
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if let next = ISO2022JP.Mode(escapedIn: bytes, at: index) {
                mode = next
                index += ISO2022JP.escapeByteCount
                continue
            }
            index += 1
            switch mode {
            case .ascii where ISO2022JP.isPlain(byte):
                shiftJIS.append(byte)
            case .roman where byte == 0x5C:
                appendScalar(0xA5)
            case .roman where byte == 0x7E:
                appendScalar(0x203E)
            case .roman where ISO2022JP.isPlain(byte):
                shiftJIS.append(byte)
            case .katakana where (0x21...0x5F).contains(byte):
                appendHalfwidthKatakana(byte)
            case .doubleByte where byte == 0x0A:
                shiftJIS.append(byte)
            case .doubleByte where part.contains(byte):
                guard index < bytes.count, bytes[index] != ISO2022JP.escape else {
                    appendMalformed()
                    continue
                }
                if part.contains(bytes[index]) {
                    appendPair(byte, bytes[index])
                } else {
                    appendMalformed()
                }
                index += 1
            default:
                appendMalformed()
            }
        }
    }
}

// MARK: - ISO2022JP

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
