// The canonical texts of structured fields (RFC 9651, section 4.1). A signature covers a field in this form if its
// component has the parameter `sf`, so that a proxy may add spaces without making the signature invalid.

extension StructuredDictionary {
    /// The canonical text of the dictionary (RFC 9651, section 4.1.2).
    package var text: String { members.map(\.text).joined(separator: ", ") }
}

extension StructuredDictionary.Member {
    /// The canonical text: the key with its value and parameters.
    package var text: String {
        if case .item(.boolean(true)) = value { return key + Self.text(of: parameters) }
        return "\(key)=\(valueText)"
    }

    /// The canonical text of the value and its parameters, without the key.
    var valueText: String {
        switch value {
        case .item(let item): return item.text + Self.text(of: parameters)
        case .list(let items):
            let texts = zip(items, listParameters).map { $0.text + Self.text(of: $1) }
            return "(\(texts.joined(separator: " ")))" + Self.text(of: parameters)
        }
    }

    /// The canonical text of parameters (RFC 9651, section 4.1.1.2). A parameter that is true is only its key.
    package static func text(of parameters: [StructuredDictionary.Parameter]) -> String {
        parameters.map { $0.value == .boolean(true) ? ";\($0.key)" : ";\($0.key)=\($0.value.text)" }.joined()
    }
}

extension StructuredDictionary.Item {
    /// The canonical text of the item (RFC 9651, section 4.1.3).
    package var text: String {
        switch self {
        case .integer(let number): return String(number)
        case .decimal(let digits): return Self.canonicalDecimal(digits)
        case .string(let text): return Self.quoted(text)
        case .token(let text): return text
        case .bytes(let bytes): return ":\(Base64.encode(bytes)):"
        case .boolean(let isTrue): return isTrue ? "?1" : "?0"
        case .date(let seconds): return "@\(seconds)"
        case .displayString(let text): return Self.displayText(text)
        }
    }

    /// The decimal without leading zeros, and without zeros at its end except for one after the point.
    private static func canonicalDecimal(_ written: String) -> String {
        let isNegative = written.utf8.first == UInt8(ascii: "-")
        let digits = Array(written.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "0") })
        let point = digits.firstIndex(of: UInt8(ascii: ".")) ?? digits.count
        var fraction = Array(digits[point...].dropFirst())
        while fraction.count > 1, fraction.last == UInt8(ascii: "0") { fraction.removeLast() }
        let whole = point == 0 ? [UInt8(ascii: "0")] : Array(digits[..<point])
        let isZero = point == 0 && fraction.allSatisfy { $0 == UInt8(ascii: "0") }
        return String(
            decoding: (isNegative && !isZero ? [UInt8(ascii: "-")] : []) + whole + [UInt8(ascii: ".")]
                + (fraction.isEmpty ? [UInt8(ascii: "0")] : fraction), as: UTF8.self)
    }

    private static func quoted(_ text: String) -> String {
        let escaped = text.utf8.flatMap { byte -> [UInt8] in
            byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), byte] : [byte]
        }
        return "\"\(String(decoding: escaped, as: UTF8.self))\""
    }

    /// Percent signs, quotes and everything outside printable ASCII are encoded, in lower case.
    private static func displayText(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%"), byte != UInt8(ascii: "\"") {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes += Hex.encode([byte]).utf8
            }
        }
        return "%\"\(String(decoding: bytes, as: UTF8.self))\""
    }
}
