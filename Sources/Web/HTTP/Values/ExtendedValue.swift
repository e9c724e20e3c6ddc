/// A parameter value with its character set and language, as `filename*` and `title*` have it (RFC 8187).
struct ExtendedValue: Equatable {
    let text: String
    let language: String

    /// Nil when the form or a percent escape is malformed or the character set is neither UTF-8 nor ISO 8859-1.
    init?(_ value: String) {
        var scanner = FieldScanner(value)
        let charset = HTTPGrammar.lowercased(scanner.take { $0 != 0x27 })
        guard scanner.consume(0x27) else { return nil }
        language = HTTPGrammar.text(scanner.take { $0 != 0x27 })
        guard scanner.consume(0x27) else { return nil }
        var bytes: [UInt8] = []
        while let byte = scanner.next {
            _ = scanner.consume(byte)
            guard byte == 0x25 else {
                bytes.append(byte)
                continue
            }
            guard let high = scanner.next?.hexDigitValue, let low = scanner.following?.hexDigitValue else { return nil }
            scanner.advance(2)
            bytes.append(high << 4 | low)
        }
        switch charset {
        case "utf-8":
            guard let decoded = String(validating: bytes, as: UTF8.self) else { return nil }
            text = decoded
        case "iso-8859-1":
            var decoded = ""
            decoded.unicodeScalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
            text = decoded
        default: return nil
        }
    }
}
