/// Which bytes may stand where in a head.
enum HeadBytes {
    /// Compares without regard to ASCII case; `text` is in lower case.
    static func matches(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for (offset, index) in range.enumerated() where lowercased(bytes[index]) != text.utf8Start[offset] {
            return false
        }
        return true
    }

    /// RFC 9110 §5.6.2.
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e...0x60, 0x7c, 0x7e:
            true
        default: false
        }
    }

    /// `name`, `name:port` or `[address]:port`, and nothing that a URL would take for a user, a path or a query.
    static func isAuthority(_ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) -> Bool {
        var rest = range
        if let first = rest.first, bytes[first] == 0x5b {
            guard let end = rest.first(where: { bytes[$0] == 0x5d }),
                (first + 1..<end).allSatisfy({ isHexDigit(bytes[$0]) || bytes[$0] == 0x3a || bytes[$0] == 0x2e })
            else { return false }
            rest = end + 1..<rest.upperBound
        } else {
            rest = rest.drop { isNameByte(bytes[$0]) }
        }
        return rest.isEmpty || bytes[rest.lowerBound] == 0x3a && rest.dropFirst().allSatisfy { isDigit(bytes[$0]) }
    }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    static func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(lowercased(byte)) }

    static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

    /// RFC 3986 §3.2.2: a registered name.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x21, 0x24...0x2e, 0x3b, 0x3d, 0x5f, 0x7e: true
        default: false
        }
    }
}
