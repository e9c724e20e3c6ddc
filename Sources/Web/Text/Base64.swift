/// Base64 of RFC 4648, section 4.
package enum Base64 {
    /// The text, padded, on one line.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count / 3 + 1) * 4)
        var at = 0
        while at < bytes.count {
            let count = min(3, bytes.count - at)
            var group = UInt32(bytes[at]) << 16
            if count > 1 { group |= UInt32(bytes[at + 1]) << 8 }
            if count > 2 { group |= UInt32(bytes[at + 2]) }
            for index in 0..<4 {
                text.append(index <= count ? digit(UInt8(group >> (18 - 6 * UInt32(index)) & 63)) : 0x3D)
            }
            at += count
        }
        return String(decoding: text, as: UTF8.self)
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

    private static func digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: value + 0x41
        case 26..<52: value - 26 + 0x61
        case 52..<62: value - 52 + 0x30
        case 62: 0x2B
        default: 0x2F
        }
    }

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
