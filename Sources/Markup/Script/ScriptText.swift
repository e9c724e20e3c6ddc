/// The escapes of strings in scripts and in JSON.
enum ScriptText {
    /// Decodes the content of a string, of a template without substitutions, or of a JSON string.
    static func unescape(_ bytes: Bytes, into output: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == UInt8(ascii: "\\"), index + 1 < bytes.count else {
                index += 1
                output.append(byte)
                continue
            }
            unescape(bytes, &index, into: &output)
        }
    }

    /// Decodes the escape that starts with the backslash at `index`, and moves after it. At least one byte
    /// must follow the backslash.
    static func unescape(_ bytes: Bytes, _ index: inout Int, into output: inout [UInt8]) {
        let escaped = bytes[index + 1]
        index += 2
        switch escaped {
        case UInt8(ascii: "n"): output.append(0x0A)
        case UInt8(ascii: "t"): output.append(0x09)
        case UInt8(ascii: "r"): output.append(0x0D)
        case UInt8(ascii: "b"): output.append(0x08)
        case UInt8(ascii: "f"): output.append(0x0C)
        case UInt8(ascii: "v"): output.append(0x0B)
        case 0x0A: break
        case 0x0D: if index < bytes.count, bytes[index] == 0x0A { index += 1 }
        case UInt8(ascii: "x"): output.append(codePoint: hex(bytes, &index, 2) ?? 0xFFFD)
        case UInt8(ascii: "u"): output.append(codePoint: unicode(bytes, &index))
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            index -= 1
            output.append(codePoint: octal(bytes, &index))
        default: output.append(escaped)
        }
    }

    private static func hex(_ bytes: Bytes, _ index: inout Int, _ length: Int) -> UInt32? {
        guard index + length <= bytes.count else { return nil }
        var value: UInt32 = 0
        for offset in index..<index + length {
            guard bytes[offset].isHex else { return nil }
            value = value << 4 | bytes[offset].hexValue
        }
        index += length
        return value
    }

    /// Decodes `\u{…}`, four digits, or two groups of four digits for a surrogate pair.
    private static func unicode(_ bytes: Bytes, _ index: inout Int) -> UInt32 {
        if index < bytes.count, bytes[index] == UInt8(ascii: "{") {
            index += 1
            var value: UInt32 = 0
            while index < bytes.count, bytes[index].isHex {
                value = min(value << 4 | bytes[index].hexValue, 0x110000)
                index += 1
            }
            if index < bytes.count, bytes[index] == UInt8(ascii: "}") { index += 1 }
            return value
        }
        guard let high = hex(bytes, &index, 4) else { return 0xFFFD }
        guard 0xD800..<0xDC00 ~= high, index + 1 < bytes.count, bytes[index] == UInt8(ascii: "\\"),
            bytes[index + 1] == UInt8(ascii: "u")
        else { return high }
        var next = index + 2
        guard let low = hex(bytes, &next, 4), 0xDC00..<0xE000 ~= low else { return high }
        index = next
        return 0x10000 + (high - 0xD800) << 10 + (low - 0xDC00)
    }

    private static func octal(_ bytes: Bytes, _ index: inout Int) -> UInt32 {
        var value: UInt32 = 0
        var count = 0
        while index < bytes.count, count < 3, 0x30...0x37 ~= bytes[index],
            value * 8 + bytes[index].hexValue < 256
        {
            value = value * 8 + bytes[index].hexValue
            index += 1
            count += 1
        }
        return value
    }

    /// Appends one byte of a reference, escaped for a script string or template with any quotes.
    static func escape(_ byte: UInt8, into output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "$"):
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        default: escapeJSON(byte, into: &output)
        }
    }

    /// Appends one byte of a reference, escaped for a JSON string. `<` is escaped as well, so that the result
    /// never contains `</script`.
    static func escapeJSON(_ byte: UInt8, into output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "\""):
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        case 0..<0x20, 0x7F, UInt8(ascii: "<"):
            let digits = String(byte, radix: 16)
            output.append(contentsOf: (digits.utf8.count == 1 ? "\\u000\(digits)" : "\\u00\(digits)").utf8)
        default: output.append(byte)
        }
    }
}
