/// The escapes of CSS Syntax 3.
enum CSSText {
    /// Undoes the escapes of the inside of a string or of an unquoted url.
    static func unescape(_ bytes: Bytes, isURL: Bool = false, into output: inout [UInt8]) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == 0 {
                output.append(codePoint: 0xFFFD)
            } else if byte != UInt8(ascii: "\\") || index == bytes.count {
                // A backslash at the end of the text stands for nothing in a string, and for U+FFFD elsewhere.
                if byte != UInt8(ascii: "\\") {
                    output.append(byte)
                } else if isURL {
                    output.append(codePoint: 0xFFFD)
                }
            } else if bytes[index] == 0x0A || bytes[index] == 0x0C {
                index += 1
            } else if bytes[index] == 0x0D {
                index += index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
            } else if bytes[index].isHex {
                output.append(codePoint: hexEscape(bytes, &index))
            } else if bytes[index] == 0 {
                output.append(codePoint: 0xFFFD)
                index += 1
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
    }

    /// Up to six digits and one white space behind them.
    private static func hexEscape(_ bytes: Bytes, _ index: inout Int) -> UInt32 {
        let end = min(index + 6, bytes.count)
        var value: UInt32 = 0
        while index < end, bytes[index].isHex {
            value = value << 4 | bytes[index].hexValue
            index += 1
        }
        if index < bytes.count, bytes[index].isSpace {
            index += bytes[index] == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
        }
        return value == 0 ? 0xFFFD : value
    }

    /// Appends one byte of a reference; `isURL` where there are no quotes around it.
    static func escape(_ byte: UInt8, isURL: Bool, into output: inout [UInt8]) {
        switch byte {
        case 0..<0x20, 0x7F, UInt8(ascii: "<"):
            output.append(contentsOf: "\\\(String(byte, radix: 16)) ".utf8)
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"):
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        case UInt8(ascii: "("), UInt8(ascii: ")"), 0x20:
            if isURL { output.append(UInt8(ascii: "\\")) }
            output.append(byte)
        default:
            output.append(byte)
        }
    }
}

extension CSSText {
    /// Compares a name, which may have escapes, without ASCII case; `expected` is lower case.
    static func name(_ bytes: Bytes, equals expected: StaticString) -> Bool {
        guard bytes.contains(UInt8(ascii: "\\")) else { return bytes.equals(expected) }
        var name: [UInt8] = []
        unescape(bytes, into: &name)
        return name.withUnsafeBufferPointer { $0.equals(expected) }
    }
}
