/// A decoder for GBK, gb18030, Big5, Shift_JIS and EUC-KR. It uses iconv for valid input and replaces
/// malformed bytes by the rules of the WHATWG's Encoding standard.
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
