/// Base64 of RFC 4648, section 4.
package enum Base64 {
    /// The text, padded, on one line.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var text: [UInt8] = []
        encode(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The same behind other text.
    package static func encode(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        let start = text.count
        // What is not written over pads it.
        text.append(contentsOf: repeatElement(0x3D, count: (bytes.count + 2) / 3 * 4))
        let whole = bytes.count / 3 * 3
        digits.withUnsafeBufferPointer { digits in
            text.withUnsafeMutableBufferPointer { text in
                var end = start
                func add(_ group: UInt32, _ count: UInt32) {
                    for index in 0..<count {
                        text[end] = digits[Int(group >> (18 - 6 * index) & 63)]
                        end += 1
                    }
                }
                for at in stride(from: 0, to: whole, by: 3) {
                    add(UInt32(bytes[at]) << 16 | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2]), 4)
                }
                if bytes.count == whole + 1 { add(UInt32(bytes[whole]) << 16, 2) }
                if bytes.count == whole + 2 {
                    add(UInt32(bytes[whole]) << 16 | UInt32(bytes[whole + 1]) << 8, 3)
                }
            }
        }
    }

    package static func encode(_ bytes: [UInt8]) -> String { encode(bytes.span) }

    /// What canonical base64 stands for: padded, no spaces, unused bits zero. Nil for anything else.
    package static func decode(_ text: String) -> [UInt8]? {
        let utf8 = text.utf8
        guard utf8.count.isMultiple(of: 4), let decoded = decodeForgiving(utf8, skippingSpace: false) else {
            return nil
        }
        return encode(decoded) == text ? decoded : nil
    }

    /// What the Infra standard's forgiving decode makes of the text: ASCII whitespace is skipped, padding may
    /// be missing, unused bits are dropped. Nil when it fails even so.
    package static func decodeForgiving(_ text: String) -> [UInt8]? {
        decodeForgiving(text.utf8, skippingSpace: true)
    }

    static func decodeForgiving(_ text: some Collection<UInt8>, skippingSpace: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3 + 2)
        var group: UInt32 = 0
        var digitCount = 0
        var paddingCount = 0
        for byte in text {
            if skippingSpace, HTTPGrammar.isAnySpace(byte) || byte == 0x0C { continue }
            if byte == 0x3D {
                paddingCount += 1
                continue
            }
            guard paddingCount == 0, let value = value(byte) else { return nil }
            group = group << 6 | UInt32(value)
            digitCount += 1
            if digitCount.isMultiple(of: 4) {
                bytes.append(UInt8(truncatingIfNeeded: group >> 16))
                bytes.append(UInt8(truncatingIfNeeded: group >> 8))
                bytes.append(UInt8(truncatingIfNeeded: group))
            }
        }
        let rest = digitCount % 4
        guard rest != 1, paddingCount == 0 || (rest != 0 && rest + paddingCount == 4) else { return nil }
        if rest == 2 { bytes.append(UInt8(truncatingIfNeeded: group >> 4)) }
        if rest == 3 {
            bytes.append(UInt8(truncatingIfNeeded: group >> 10))
            bytes.append(UInt8(truncatingIfNeeded: group >> 2))
        }
        return bytes
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    @inline(__always)
    private static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x41...0x5A: byte - 0x41
        case 0x61...0x7A: byte - 0x61 + 26
        case 0x30...0x39: byte - 0x30 + 52
        case 0x2B: 62
        case 0x2F: 63
        default: nil
        }
    }
}

/// Bytes as hexadecimal digits, two each.
package enum Hex {
    /// In lower case.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xF))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The same without a look at each byte by way of a protocol: for what is written by the million.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            var end = 0
            for byte in bytes {
                text[end] = digit(byte >> 4)
                text[end + 1] = digit(byte & 0xF)
                end += 2
            }
            return end
        }
    }

    /// Both cases are read; nil for anything but pairs of digits.
    package static func decode(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var high: UInt8?
        for byte in text.utf8 {
            guard let value = byte.hexDigitValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }

    private static func digit(_ value: UInt8) -> UInt8 { value + (value > 9 ? 0x57 : 0x30) }
}
