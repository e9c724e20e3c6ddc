/// The character classes of ASCII that the web's grammars use.
extension UInt8 {
    package var isASCIIDigit: Bool { self &- 0x30 < 10 }
    package var isASCIIAlpha: Bool { (self | 0x20) &- 0x61 < 26 }
    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIIAlpha }
    package var isASCIIUppercase: Bool { self &- 0x41 < 26 }
    package var lowercasedASCII: UInt8 { isASCIIUppercase ? self | 0x20 : self }

    /// The value of a hexadecimal digit in either case; nil for other bytes.
    package var hexDigitValue: UInt8? {
        if isASCIIDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// The upper-case hexadecimal digit for the low four bits.
    var upperHexDigit: UInt8 {
        let digit = self & 0x0F
        return digit < 10 ? digit &+ 0x30 : digit &+ 0x37
    }
}

extension Span<UInt8> {
    /// Whether the bytes at `start` begin with `prefix`.
    @inline(__always)
    package func starts(with prefix: StaticString, at start: Int = 0) -> Bool {
        guard count - start >= prefix.utf8CodeUnitCount else { return false }
        return prefix.withUTF8Buffer { prefix in
            prefix.indices.allSatisfy { self[start + $0] == prefix[$0] }
        }
    }

    /// Whether the bytes are `name`, regardless of the case of ASCII letters. `name` must be in lower case.
    @inline(__always)
    func equalsIgnoringASCIICase(_ name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { name in
            name.indices.allSatisfy { self[$0].lowercasedASCII == name[$0] }
        }
    }
}

extension String {
    /// The text with control characters and bidirectional controls escaped as in JSON. Line feeds and tabs
    /// are unchanged.
    package var withVisibleControls: String {
        guard utf8.contains(where: { $0 < 0x20 && $0 != 0x0A && $0 != 0x09 || $0 >= 0x7F }) else {
            return self
        }
        var text = ""
        for scalar in unicodeScalars {
            if Self.isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: false
        case 0...0x1F, 0x7F...0x9F: true
        // The marks, embeddings, overrides and isolates of the bidirectional algorithm, and the line
        // separators.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// The text on one line, with control characters and bidirectional controls escaped. Text from outside
    /// must not add lines to a log, where they may have a meaning, and must not hide other text in a
    /// terminal.
    package var visible: String {
        if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return self }
        return escaping { scalar in
            switch scalar {
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}"..."\u{202e}", "\u{2066}"..."\u{2069}",
                "\u{200e}", "\u{200f}", "\u{61c}":
                "\\u{\(String(scalar.value, radix: 16))}"
            default: HTTPGrammar.byte(of: scalar).map { "\\x" + String($0, radix: 16) }
            }
        }
    }

    /// The text with some scalars replaced. Works on scalars, since a carriage return and a line feed are one
    /// `Character`.
    package func escaping(_ replacement: (Unicode.Scalar) -> String?) -> String {
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            if let replacement = replacement(scalar) {
                result += replacement
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
