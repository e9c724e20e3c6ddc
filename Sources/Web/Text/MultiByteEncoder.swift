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
        // These exceptions are steps of the encoders in the WHATWG's Encoding standard, where iconv differs.
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
