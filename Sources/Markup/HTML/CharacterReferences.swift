/// The character references of the HTML standard, decoded as in an attribute value.
enum CharacterReferences {
    /// A decoded reference: its length in bytes, and its code points. A `second` of 0 means that there is
    /// only one.
    struct Reference {
        var length: Int
        var first: UInt32
        var second: UInt32 = 0
    }

    /// Decodes the reference that starts at the `&` at `start`; nil if the `&` is a plain character.
    static func read(_ bytes: Bytes, at start: Int) -> Reference? {
        let next = start + 1
        guard next < bytes.count else { return nil }
        if bytes[next] == UInt8(ascii: "#") { return readNumeric(bytes, at: start) }
        return bytes[next].isLetter || bytes[next].isDigit ? readNamed(bytes, at: start) : nil
    }

    private static func readNumeric(_ bytes: Bytes, at start: Int) -> Reference? {
        var index = start + 2
        let isHex = index < bytes.count && bytes[index] | 0x20 == UInt8(ascii: "x")
        if isHex { index += 1 }
        let digits = index
        var value: UInt32 = 0
        while index < bytes.count, isHex ? bytes[index].isHex : bytes[index].isDigit {
            value = min(value &* (isHex ? 16 : 10) &+ bytes[index].hexValue, 0x110000)
            index += 1
        }
        guard index > digits else { return nil }
        if index < bytes.count, bytes[index] == UInt8(ascii: ";") { index += 1 }
        return Reference(length: index - start, first: codePoint(ofNumber: value))
    }

    /// Implements the numeric character reference end state: invalid characters, and the C1 codes, which are
    /// decoded as windows-1252.
    private static func codePoint(ofNumber value: UInt32) -> UInt32 {
        switch value {
        case 0, 0xD800...0xDFFF, 0x110000...: 0xFFFD
        case 0x80...0x9F: c1[Int(value - 0x80)]
        default: value
        }
    }

    private static let c1: [UInt32] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152,
        0x8D, 0x17D,
        0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A,
        0x153, 0x9D,
        0x17E, 0x178,
    ]

    private static func readNamed(_ bytes: Bytes, at start: Int) -> Reference? {
        let lower = start + 1
        var upper = lower
        while upper < bytes.count, upper - lower <= NamedReferences.maxNameBytes,
            bytes[upper].isLetter || bytes[upper].isDigit
        {
            upper += 1
        }
        if upper < bytes.count, bytes[upper] == UInt8(ascii: ";"),
            let match = NamedReferences.find(bytes.part(lower..<upper))
        {
            return Reference(length: upper + 1 - start, first: match.first, second: match.second)
        }
        var end = min(upper, lower + NamedReferences.maxBareNameBytes)
        while end > lower + 1 {
            if let match = NamedReferences.find(bytes.part(lower..<end)), match.countsWithoutSemicolon {
                // In an attribute, `&copy=` and `&copyright` are not references, because old URLs use them as
                // parameters.
                if end < bytes.count {
                    let next = bytes[end]
                    if next == UInt8(ascii: "=") || next.isLetter || next.isDigit { return nil }
                }
                return Reference(length: end - start, first: match.first, second: match.second)
            }
            end -= 1
        }
        return nil
    }

    /// Decodes the references of an attribute value, and applies the tokenizer's preprocessing: line ends
    /// become line feeds, NUL becomes U+FFFD.
    static func decode(_ bytes: Bytes, into output: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case UInt8(ascii: "&"):
                guard let reference = read(bytes, at: index - 1) else {
                    output.append(byte)
                    continue
                }
                output.append(codePoint: reference.first)
                if reference.second != 0 { output.append(codePoint: reference.second) }
                index += reference.length - 1
            case 0x0D:
                output.append(0x0A)
                if index < bytes.count, bytes[index] == 0x0A { index += 1 }
            case 0:
                output.append(codePoint: 0xFFFD)
            default:
                output.append(byte)
            }
        }
    }

    /// Whether the bytes contain `&`, a carriage return or NUL, so that ``decode(_:into:)`` may change them.
    static func mayBeIn(_ bytes: Bytes) -> Bool {
        var marks: UInt8 = 0
        for byte in bytes { marks |= byte == UInt8(ascii: "&") || byte == 0x0D || byte == 0 ? 1 : 0 }
        return marks != 0
    }
}

extension NamedReferences {
    /// An entry of the table.
    struct Match {
        var first: UInt32
        var second: UInt32
        var countsWithoutSemicolon: Bool
    }

    /// Finds a name by binary search. Each step moves to the next start of an entry.
    static func find(_ name: Bytes) -> Match? {
        table.withUTF8Buffer { text in
            var lower = 0
            var upper = text.count
            while lower < upper {
                var start = lower + (upper - lower) / 2
                while start > lower, text[start - 1] != UInt8(ascii: " ") { start -= 1 }
                var index = start
                var matched = 0
                while matched < name.count, text[index] == name[matched] {
                    index += 1
                    matched += 1
                }
                let isEnd = text[index] == UInt8(ascii: "=") || text[index] == UInt8(ascii: "!")
                if isEnd, matched == name.count { return value(text, at: index) }
                if isEnd || (matched < name.count && text[index] < name[matched]) {
                    while index < upper, text[index] != UInt8(ascii: " ") { index += 1 }
                    lower = index + 1
                } else {
                    upper = start == lower ? lower : start - 1
                }
            }
            return nil
        }
    }

    private static func value(_ text: Bytes, at mark: Int) -> Match {
        var first: UInt32 = 0
        var value: UInt32 = 0
        var index = mark + 1
        while index < text.count, text[index] != UInt8(ascii: " ") {
            if text[index] == UInt8(ascii: "+") {
                first = value
                value = 0
            } else {
                value = value << 4 | text[index].hexValue
            }
            index += 1
        }
        let countsWithoutSemicolon = text[mark] == UInt8(ascii: "!")
        return first == 0
            ? Match(first: value, second: 0, countsWithoutSemicolon: countsWithoutSemicolon)
            : Match(first: first, second: value, countsWithoutSemicolon: countsWithoutSemicolon)
    }
}
