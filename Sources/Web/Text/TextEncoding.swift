/// A character encoding of the Encoding Standard. Raw values are stored, so they must never change.
package enum TextEncoding: UInt8, CaseIterable, Hashable, Sendable {
    case utf8 = 0
    case utf16le, utf16be
    case windows1252
    case ibm866
    case isoLatin2, isoLatin3, isoLatin4, isoCyrillic, isoArabic, isoGreek, isoHebrewVisual, isoHebrewLogical
    case isoLatin6, isoLatin7, isoLatin8, isoLatin9, isoLatin10
    case koi8r, koi8u
    case macintosh, macCyrillic
    case windows874, windows1250, windows1251, windows1253, windows1254, windows1255
    case windows1256, windows1257, windows1258
    case gbk, gb18030, big5
    case eucJP, iso2022JP, shiftJIS
    case eucKR
    case replacement, userDefined

    /// Whether bytes below 0x80 between characters are always ASCII, so that a scanner for ASCII delimiters
    /// can read the bytes without decoding them.
    package var isASCIICompatible: Bool {
        switch self {
        case .utf16le, .utf16be, .iso2022JP, .replacement: false
        default: true
        }
    }

    /// The encoding for queries and forms of a document in this encoding.
    package var outputEncoding: TextEncoding {
        switch self {
        case .utf16le, .utf16be, .replacement: .utf8
        default: self
        }
    }

    /// The encoding that a byte order mark indicates, and the length of the mark.
    package static func byteOrderMark(of bytes: Span<UInt8>) -> (encoding: TextEncoding, byteCount: Int)? {
        guard bytes.count >= 2 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0xFE, 0xFF): return (.utf16be, 2)
        case (0xFF, 0xFE): return (.utf16le, 2)
        case (0xEF, 0xBB) where bytes.count >= 3 && bytes[2] == 0xBF: return (.utf8, 3)
        default: return nil
        }
    }
}

extension TextEncoding {
    /// Decodes bytes to well-formed UTF-8 and removes a byte order mark of this encoding. Never fails:
    /// malformed bytes become U+FFFD.
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

    /// Appends a scalar value; U+FFFD if the value is invalid.
    mutating func append(utf8 value: UInt32) {
        let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
        for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(unit) }
    }
}

extension TextEncoding {
    /// The replacement for characters that an encoding lacks.
    package enum Unencodable: Sendable {
        /// A character reference such as `&#8224;`, as in the values of forms.
        case characterReference
        /// A percent-encoded reference such as `%26%238224%3B`, as in the queries of URLs.
        case percentEncodedReference
    }

    /// Encodes a UTF-8 text. UTF-16 and `replacement` have no encoder; the text stays UTF-8.
    package func encode(_ utf8: Span<UInt8>, unencodable: Unencodable = .characterReference) -> [UInt8] {
        switch outputEncoding {
        case .utf8:
            return Self.repairedUTF8(utf8)
        case _ where isASCIICompatible && utf8.isASCII:
            return [UInt8](copying: utf8)
        case .iso2022JP:
            var encoder = ISO2022JP.Encoder(unencodable)
            return encoder.encode(utf8)
        case .gbk, .gb18030, .big5, .eucJP, .shiftJIS, .eucKR:
            var encoder = MultiByteEncoder(self)
            return Self.encode(utf8, unencodable) { encoder.append($0, to: &$1) }
        default:
            let table = SingleByteTable.of(self)
            return Self.encode(utf8, unencodable) { table.append($0, to: &$1) }
        }
    }

    private static func encode(
        _ utf8: Span<UInt8>, _ unencodable: Unencodable, append: (Unicode.Scalar, inout [UInt8]) -> Bool
    ) -> [UInt8] {
        var output: [UInt8] = []
        utf8.forEachScalar { scalar in
            if scalar.isASCII {
                output.append(UInt8(truncatingIfNeeded: scalar.value))
            } else if !append(scalar, &output) {
                unencodable.append(scalar, to: &output)
            }
        }
        return output
    }
}

extension TextEncoding.Unencodable {
    func append(_ scalar: Unicode.Scalar, to output: inout [UInt8]) {
        switch self {
        case .characterReference: output += "&#\(scalar.value);".utf8
        case .percentEncodedReference: output += "%26%23\(scalar.value)%3B".utf8
        }
    }
}

extension Span<UInt8> {
    var isASCII: Bool {
        var bits: UInt8 = 0
        for index in indices { bits |= self[index] }
        return bits < 0x80
    }

    /// Calls a closure with each scalar of the UTF-8 text; with U+FFFD for malformed bytes.
    func forEachScalar(_ body: (Unicode.Scalar) -> Void) {
        withUnsafeBufferPointer { bytes in
            for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars { body(scalar) }
        }
    }
}
