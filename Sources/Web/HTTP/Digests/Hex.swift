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
