extension TextEncoding {
    /// The text as well-formed UTF-8, without the encoding's own byte order mark. What is malformed becomes U+FFFD;
    /// decoding never fails.
    package func decode(_ bytes: Span<UInt8>) -> [UInt8] {
        var text = bytes
        if let mark = Self.byteOrderMark(of: bytes), mark.encoding == self {
            text = bytes.extracting(mark.byteCount...)
        }
        if isASCIICompatible, text.isASCII {
            return [UInt8](copying: text)
        }
        switch self {
        case .utf8:
            return Self.repairedUTF8(text)
        case .utf16le:
            return UTF16Decoder.decode(text, isBigEndian: false)
        case .utf16be:
            return UTF16Decoder.decode(text, isBigEndian: true)
        case .eucJP:
            return JISDecoder.decodeEUC(text)
        case .iso2022JP:
            return JISDecoder.decodeISO2022(text)
        case .replacement:
            return text.isEmpty ? [] : [UInt8].replacementCharacter
        case .gbk, .gb18030, .big5, .shiftJIS, .eucKR:
            var decoder = MultiByteDecoder(self)
            var output: [UInt8] = []
            output.reserveCapacity(text.count * 3 / 2)
            decoder.decode(text, into: &output)
            return output
        default:
            return SingleByteTable.of(self).decode(text)
        }
    }
}

extension [UInt8] {
    static let replacementCharacter: [UInt8] = [0xEF, 0xBF, 0xBD]

    /// Appends one scalar value; U+FFFD for what is none.
    mutating func append(utf8 value: UInt32) {
        let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
        for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(unit) }
    }
}
