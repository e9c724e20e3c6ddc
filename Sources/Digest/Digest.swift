/// The finished hash of a body.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
    package let algorithm: DigestAlgorithm
    package let bytes: [UInt8]

    /// Nil when the count of bytes is not the algorithm's.
    package init?(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Nil unless the text is exactly the algorithm's count of hexadecimal digits, in either case.
    package init?(_ algorithm: DigestAlgorithm, hex: String) {
        let digits = hex.utf8
        guard digits.count == algorithm.byteCount * 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(algorithm.byteCount)
        var high: UInt8?
        for digit in digits {
            guard let value = Self.value(ofHexDigit: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        self.init(algorithm, bytes: bytes)
    }

    /// Lower case hexadecimal.
    package var hex: String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            var end = 0
            for byte in bytes {
                text[end] = Self.hexDigit(byte >> 4)
                text[end + 1] = Self.hexDigit(byte & 15)
                end += 2
            }
            return end
        }
    }

    package var description: String { "\(algorithm.label) \(hex)" }

    private static func value(ofHexDigit digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x61 + value - 10
    }
}
