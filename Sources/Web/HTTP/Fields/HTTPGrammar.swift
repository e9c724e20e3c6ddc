/// The characters of HTTP's grammar (RFC 9110, section 5.6), told from bytes.
package enum HTTPGrammar {
    /// Space or tab.
    @inline(__always)
    package static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// The Fetch standard's "HTTP whitespace": space, tab and line ends.
    @inline(__always)
    static func isAnySpace(_ byte: UInt8) -> Bool { isSpace(byte) || byte == 0x0A || byte == 0x0D }

    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E: true
        default: false
        }
    }

    static func isToken(_ bytes: some Sequence<UInt8>) -> Bool {
        var isEmpty = true
        for byte in bytes {
            guard isToken(byte) else { return false }
            isEmpty = false
        }
        return !isEmpty
    }

    /// The text in lower case, as far as it is ASCII.
    package static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.map(\.lowercasedASCII), as: UTF8.self)
    }

    /// Whether two texts differ at most in the case of ASCII letters.
    package static func matches(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        return zip(left, right).allSatisfy { $0 == $1 || $0.lowercasedASCII == $1.lowercasedASCII }
    }

    /// The text of bytes that ought to be UTF-8 and else are ISO 8859-1, so that no byte of a field is lost.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        text.unicodeScalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        return text
    }

    /// The text of a field's bytes, of which no other bytes have the same: those that are no UTF-8 stand as characters for
    /// private use, from U+EF80 on, and are bytes again where the text is sent.
    ///
    /// - Parameter isReceived: no such character stands for a byte yet.
    static func reversibleText(_ bytes: some Collection<UInt8>, isReceived: Bool) -> String {
        if let text = String(validating: bytes, as: UTF8.self), !isReceived || !hasStandIn(text) { return text }
        var text = ""
        text.unicodeScalars.append(
            contentsOf: bytes.lazy.map { byte in
                byte < 0x80 ? Unicode.Scalar(byte) : Unicode.Scalar(standIns + UInt32(byte)) ?? Unicode.Scalar(byte)
            })
        return text
    }

    private static let standIns: UInt32 = 0xEF00

    /// The bytes that a field's text stands for.
    package static func bytes(of text: String) -> [UInt8] {
        guard hasStandIn(text) else { return Array(text.utf8) }
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            if let byte = byte(of: scalar) { bytes.append(byte) } else { bytes += UTF8.encode(scalar) ?? .init() }
        }
        return bytes
    }

    /// The byte that a character stands for; nil for one that stands for itself.
    package static func byte(of scalar: Unicode.Scalar) -> UInt8? {
        (standIns + 0x80...standIns + 0xFF).contains(scalar.value) ? UInt8(scalar.value - standIns) : nil
    }

    /// In UTF-8 they are EE BE 80 to EE BF BF.
    private static func hasStandIn(_ text: String) -> Bool {
        var last: UInt8 = 0
        return text.utf8.contains { byte in
            defer { last = byte }
            return last == 0xEE && (byte == 0xBE || byte == 0xBF)
        }
    }

    /// A delta or a count by RFC 9111, section 1.2.2: digits only, and what is beyond 2^31 is 2^31.
    static func cappedInteger(_ bytes: some Collection<UInt8>) -> Int? {
        guard !bytes.isEmpty else { return nil }
        var value = 0
        for byte in bytes {
            guard byte.isASCIIDigit else { return nil }
            value = min(value * 10 + Int(byte - 0x30), 1 << 31)
        }
        return value
    }

    /// The same without spaces and tabs at both ends.
    package static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        var rest = bytes[...]
        while let first = rest.first, isSpace(first) { rest.removeFirst() }
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }
}
