/// The character classes of HTTP's grammar (RFC 9110, section 5.6), and conversions between bytes and text.
package enum HTTPGrammar {
    /// Whether a byte is a space or a tab.
    @inline(__always)
    package static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether a byte is HTTP whitespace as in the Fetch standard: space, tab, CR or LF.
    @inline(__always)
    static func isAnySpace(_ byte: UInt8) -> Bool { isSpace(byte) || byte == 0x0A || byte == 0x0D }

    package static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x30...0x39, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E:
            true
        default: false
        }
    }

    package static func isToken(_ bytes: some Sequence<UInt8>) -> Bool {
        var isEmpty = true
        for byte in bytes {
            guard isToken(byte) else { return false }
            isEmpty = false
        }
        return !isEmpty
    }

    /// The text with ASCII letters in lower case.
    package static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.map(\.lowercasedASCII), as: UTF8.self)
    }

    /// Whether two texts are equal, regardless of the case of ASCII letters.
    package static func matches(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8, right.utf8)
        guard left.count == right.count else { return false }
        // A fast path for contiguous texts, which nearly all are: this runs several times for each message.
        let isSame = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                left.indices.allSatisfy { index in
                    left[index] == right[index]
                        || left[index].lowercasedASCII == right[index].lowercasedASCII
                }
            }
        }
        return (isSame ?? nil)
            ?? zip(left, right).allSatisfy { $0 == $1 || $0.lowercasedASCII == $1.lowercasedASCII }
    }

    /// The text of bytes that should be UTF-8. Other bytes are read as ISO 8859-1, so that none is lost.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = asciiText(bytes) { return text }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        text.unicodeScalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        return text
    }

    /// The text of a field's bytes, from which `bytes(of:)` restores the same bytes. If they are not UTF-8,
    /// each byte from 0x80 becomes a private-use character (U+EF80 to U+EFFF).
    ///
    /// - Parameter isReceived: whether the bytes were received from a server. Such private-use characters in
    ///   them are then encoded byte by byte, since they do not stand for bytes.
    static func reversibleText(_ bytes: some Collection<UInt8>, isReceived: Bool) -> String {
        if let text = asciiText(bytes) { return text }
        if let text = String(validating: bytes, as: UTF8.self), !isReceived || !hasByteScalars(text) {
            return text
        }
        var text = ""
        text.unicodeScalars.append(
            contentsOf: bytes.lazy.map { byte in
                byte < 0x80
                    ? Unicode.Scalar(byte)
                    : Unicode.Scalar(byteScalarBase + UInt32(byte)) ?? Unicode.Scalar(byte)
            })
        return text
    }

    /// The text of bytes that are all ASCII, as nearly all fields are; nil for others.
    private static func asciiText(_ bytes: some Collection<UInt8>) -> String? {
        let text = bytes.withContiguousStorageIfAvailable { bytes in
            isASCII(bytes) ? String(decoding: bytes, as: UTF8.self) : nil
        }
        return text ?? nil
    }

    /// Whether all bytes are ASCII. Has no early exit, so that the compiler can vectorize the loop.
    private static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var all: UInt8 = 0
        for byte in bytes { all |= byte }
        return all < 0x80
    }

    /// The private-use character for a byte is this plus the byte.
    private static let byteScalarBase: UInt32 = 0xEF00

    /// The bytes of a field's text: the inverse of `reversibleText`.
    package static func bytes(of text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return bytes
    }

    /// Appends the bytes of a field's text to a buffer.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        guard hasByteScalars(text) else {
            let isWhole: Void? = text.utf8.withContiguousStorageIfAvailable { bytes.append(contentsOf: $0) }
            if isWhole == nil { bytes.append(contentsOf: text.utf8) }
            return
        }
        for scalar in text.unicodeScalars {
            if let byte = byte(of: scalar) {
                bytes.append(byte)
            } else {
                bytes += UTF8.encode(scalar) ?? .init()
            }
        }
    }

    /// The byte that a private-use character from `reversibleText` stands for; nil for other characters.
    package static func byte(of scalar: Unicode.Scalar) -> UInt8? {
        (byteScalarBase + 0x80...byteScalarBase + 0xFF).contains(scalar.value)
            ? UInt8(scalar.value - byteScalarBase) : nil
    }

    /// Whether a text contains such private-use characters. In UTF-8, they are EE BE 80 to EE BF BF.
    private static func hasByteScalars(_ text: String) -> Bool {
        if text.utf8.withContiguousStorageIfAvailable(isASCII) == true { return false }
        var last: UInt8 = 0
        return text.utf8.contains { byte in
            defer { last = byte }
            return last == 0xEE && (byte == 0xBE || byte == 0xBF)
        }
    }

    /// The value of a number of seconds (RFC 9111, section 1.2.2) or a count, at most 2^31. Nil if there are
    /// no digits or other bytes.
    static func cappedInteger(_ bytes: some Collection<UInt8>) -> Int? {
        guard !bytes.isEmpty else { return nil }
        var value = 0
        for byte in bytes {
            guard byte.isASCIIDigit else { return nil }
            value = min(value * 10 + Int(byte - 0x30), 1 << 31)
        }
        return value
    }

    /// The bytes without leading and trailing spaces and tabs.
    package static func trimmed<Bytes: BidirectionalCollection<UInt8>>(_ bytes: Bytes) -> Bytes.SubSequence {
        var rest = bytes[...]
        while let first = rest.first, isSpace(first) { rest.removeFirst() }
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return rest
    }
}

extension HTTPGrammar {
    /// The text as a quoted string, with quotes and backslashes escaped.
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }
}

// MARK: - FieldScanner

/// A cursor over the bytes of a field's value. It only moves forward and stops at the end.
struct FieldScanner {
    let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(_ text: String) { self.init(Array(text.utf8)) }

    var isAtEnd: Bool { position == bytes.count }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// The byte after the next one.
    var following: UInt8? { position + 1 < bytes.count ? bytes[position + 1] : nil }

    /// Skips a number of bytes, but not beyond the end.
    mutating func advance(_ count: Int) { position = min(position + count, bytes.count) }

    /// Skips a byte if it is the next one. Returns whether it was.
    mutating func consume(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    mutating func skip(while predicate: (UInt8) -> Bool) {
        while position < bytes.count, predicate(bytes[position]) { position += 1 }
    }

    mutating func skipSpace() { skip(while: HTTPGrammar.isSpace) }

    /// Skips spaces, tabs and the commas of empty list elements (RFC 9110, section 5.6.1).
    mutating func skipSpaceAndCommas() { skip { HTTPGrammar.isSpace($0) || $0 == 0x2C } }

    mutating func take(while predicate: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        skip(while: predicate)
        return bytes[start..<position]
    }

    mutating func token() -> ArraySlice<UInt8> { take(while: HTTPGrammar.isToken) }

    /// Reads a decimal number. Returns nil if there are no digits or the number overflows `Int`.
    mutating func exactInteger() -> Int? {
        let digits = take(while: \.isASCIIDigit)
        guard !digits.isEmpty else { return nil }
        var value = 0
        for digit in digits {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(digit - 0x30))
            guard !overflow, !carry else { return nil }
            value = sum
        }
        return value
    }

    /// Reads a quoted string, up to the end if the closing quote is missing. Returns its text without quotes
    /// and escapes. The next byte must be the opening quote.
    mutating func quotedString() -> [UInt8] {
        var value: [UInt8] = []
        position += 1
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == 0x22 { break }
            if byte == 0x5C, position < bytes.count {
                value.append(bytes[position])
                position += 1
            } else {
                value.append(byte)
            }
        }
        return value
    }

    /// Reads a value after `=`: a quoted string, or the bytes up to a separator without surrounding spaces.
    mutating func parameterValue(until isSeparator: (UInt8) -> Bool) -> [UInt8] {
        if next == 0x22 {
            let value = quotedString()
            skip { !isSeparator($0) }
            return value
        }
        return Array(HTTPGrammar.trimmed(take { !isSeparator($0) }))
    }

    /// Skips to the next comma that is not in a quoted string.
    mutating func skipElement() {
        while let byte = next, byte != 0x2C {
            if byte == 0x22 { _ = quotedString() } else { position += 1 }
        }
    }
}
