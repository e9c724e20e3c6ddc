/// The ASCII classes that the web's grammars are written in.
extension UInt8 {
    package var isASCIIDigit: Bool { self &- 0x30 < 10 }
    package var isASCIIAlpha: Bool { (self | 0x20) &- 0x61 < 26 }
    package var isASCIIAlphanumeric: Bool { isASCIIDigit || isASCIIAlpha }
    package var isASCIIUppercase: Bool { self &- 0x41 < 26 }
    package var lowercasedASCII: UInt8 { isASCIIUppercase ? self | 0x20 : self }

    /// The value of a hexadecimal digit in either case.
    package var hexDigitValue: UInt8? {
        if isASCIIDigit { return self &- 0x30 }
        let letter = (self | 0x20) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// The upper-case hexadecimal digit of the low four bits.
    package var upperHexDigit: UInt8 {
        let digit = self & 0x0F
        return digit < 10 ? digit &+ 0x30 : digit &+ 0x37
    }
}

extension Span<UInt8> {
    /// Whether the bytes of `prefix` stand at `start`.
    @inline(__always)
    package func starts(with prefix: StaticString, at start: Int = 0) -> Bool {
        guard count - start >= prefix.utf8CodeUnitCount else { return false }
        return prefix.withUTF8Buffer { prefix in
            prefix.indices.allSatisfy { self[start + $0] == prefix[$0] }
        }
    }

    /// Whether these are the bytes of `name`, which is in lower case, but for the case of ASCII letters.
    @inline(__always)
    package func equalsIgnoringASCIICase(_ name: StaticString) -> Bool {
        guard count == name.utf8CodeUnitCount else { return false }
        return name.withUTF8Buffer { name in
            name.indices.allSatisfy { self[$0].lowercasedASCII == name[$0] }
        }
    }
}

extension String {
    /// The same with control characters, and what turns the direction of text around, written as JSON would
    /// write them. Line feeds and tabs stay.
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
        // Marks, embeddings, overrides and isolates of the bidirectional algorithm, and the ends of lines
        // that are no line feed.
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension String {
    /// On one line, with nothing in it that a terminal obeys: what comes from outside may not write lines of
    /// its own into a log, where some have a meaning, nor hide what stands there.
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

    /// With some scalars written otherwise. By scalars, since a carriage return and a line feed are one
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
