/// Base64 by RFC 4648, section 4.
package enum Base64 {
    /// Encodes bytes on one line, with padding.
    package static func encode(_ bytes: Span<UInt8>) -> String {
        var text: [UInt8] = []
        encode(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the encoded bytes to a text.
    ///
    /// Uses plain pointers and machine words, since it runs on large journals and archives, also in builds
    /// without optimization.
    package static func encode(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        text += [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { (target, end) in
            bytes.withUnsafeBufferPointer { bytes in
                guard let source = bytes.baseAddress, let target = target.baseAddress else { return }
                end = digits.withUnsafeBufferPointer { digits in
                    digits.baseAddress.map { encode(source, bytes.count, to: target, $0) } ?? 0
                }
            }
        }
    }

    /// Writes the encoded bytes and returns the number of characters.
    private static func encode(
        _ source: UnsafePointer<UInt8>, _ count: Int, to target: UnsafeMutablePointer<UInt8>,
        _ digits: UnsafePointer<UInt8>
    ) -> Int {
        var from = 0
        var to = 0
        while from < count {
            // Missing bytes of the last group are zero here, and padding in the text.
            let second = from + 1 < count ? Int(source[from + 1]) : 0
            let third = from + 2 < count ? Int(source[from + 2]) : 0
            let group = Int(source[from]) << 16 | second << 8 | third
            target[to] = digits[group >> 18]
            target[to + 1] = digits[group >> 12 & 63]
            target[to + 2] = from + 1 < count ? digits[group >> 6 & 63] : 0x3D
            target[to + 3] = from + 2 < count ? digits[group & 63] : 0x3D
            from += 3
            to += 4
        }
        return to
    }

    package static func encode(_ bytes: [UInt8]) -> String { encode(bytes.span) }

    /// Decodes canonical base64: with padding and without spaces, and with zeros in unused bits. Returns nil
    /// for all other texts.
    package static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 4), let decoded = decodeForgiving(text, skippingSpace: false)
        else {
            return nil
        }
        return encode(decoded) == text ? decoded : nil
    }

    /// Decodes base64 like the forgiving decoder of the Infra standard: padding may be missing, and unused
    /// bits are ignored. Returns nil for all other errors. ASCII whitespace is an error only if
    /// `skippingSpace` is false.
    package static func decodeForgiving(_ text: String, skippingSpace: Bool = true) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decodeDigits($0, skippingSpace: skippingSpace) }
    }

    static func decodeForgiving(_ text: some Collection<UInt8>, skippingSpace: Bool) -> [UInt8]? {
        Array(text).withUnsafeBufferPointer { decodeDigits($0, skippingSpace: skippingSpace) }
    }

    private static func decodeDigits(_ text: UnsafeBufferPointer<UInt8>, skippingSpace: Bool) -> [UInt8]? {
        guard let source = text.baseAddress else { return [] }
        var digitCount = 0
        var paddingCount = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { (target, end) in
            guard let target = target.baseAddress else { return }
            var group = 0
            var at = 0
            while at < text.count {
                let byte = source[at]
                at += 1
                if skippingSpace, HTTPGrammar.isAnySpace(byte) || byte == 0x0C { continue }
                if byte == 0x3D {
                    paddingCount += 1
                    continue
                }
                let value = value(byte)
                guard paddingCount == 0, value >= 0 else {
                    digitCount = -1
                    return
                }
                group = (group << 6 | value) & 0xFF_FFFF
                digitCount += 1
                if digitCount & 3 == 0 {
                    target[end] = UInt8(truncatingIfNeeded: group >> 16)
                    target[end + 1] = UInt8(truncatingIfNeeded: group >> 8)
                    target[end + 2] = UInt8(truncatingIfNeeded: group)
                    end += 3
                }
            }
            let rest = digitCount & 3
            if rest > 1 {
                // Drops the bits that do not fill a byte.
                target[end] = UInt8(truncatingIfNeeded: rest == 2 ? group >> 4 : group >> 10)
                if rest == 3 { target[end + 1] = UInt8(truncatingIfNeeded: group >> 2) }
                end += rest - 1
            }
        }
        guard digitCount >= 0 else { return nil }
        let rest = digitCount & 3
        guard rest != 1, paddingCount == 0 || (rest != 0 && rest + paddingCount == 4) else { return nil }
        return bytes
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// The six bits of a digit; -1 for other bytes.
    @inline(__always)
    private static func value(_ byte: UInt8) -> Int {
        let byte = Int(byte)
        if byte >= 0x61 { return byte <= 0x7A ? byte - 0x61 + 26 : -1 }
        if byte >= 0x41 { return byte <= 0x5A ? byte - 0x41 : -1 }
        if byte >= 0x30 { return byte <= 0x39 ? byte - 0x30 + 52 : -1 }
        return byte == 0x2B ? 62 : byte == 0x2F ? 63 : -1
    }
}

/// Hexadecimal encoding of bytes, with two digits each.
package enum Hex {
    /// Encodes bytes in lower case.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xF))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A faster overload for arrays, which are encoded by the million.
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

    /// Decodes digits in either case. Returns nil unless the text consists of pairs of digits.
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
