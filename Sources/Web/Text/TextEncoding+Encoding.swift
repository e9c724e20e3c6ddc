extension TextEncoding {
    /// What stands for a character that an encoding does not have.
    package enum Unencodable: Sendable {
        /// `&#8224;`, as in a form's values.
        case characterReference
        /// `%26%238224%3B`, as in the query of a URL.
        case percentEncodedReference
    }

    /// The text, which is UTF-8, in the encoding's bytes. UTF-16 and replacement have no encoder: it stays UTF-8.
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

    /// Hands over each scalar of UTF-8, U+FFFD for what is malformed.
    func forEachScalar(_ body: (Unicode.Scalar) -> Void) {
        withUnsafeBufferPointer { bytes in
            for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars { body(scalar) }
        }
    }
}
