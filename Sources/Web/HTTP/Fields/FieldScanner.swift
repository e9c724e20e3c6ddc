/// A cursor over the bytes of one field value. Nothing it does goes beyond the end or back.
struct FieldScanner {
    let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(_ text: String) { self.init(Array(text.utf8)) }

    var isAtEnd: Bool { position == bytes.count }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// The byte behind the next one.
    var following: UInt8? { position + 1 < bytes.count ? bytes[position + 1] : nil }

    /// Steps over so many bytes, or to the end.
    mutating func advance(_ count: Int) { position = min(position + count, bytes.count) }

    /// Steps over this byte if it is the next one.
    mutating func consume(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    mutating func skip(while predicate: (UInt8) -> Bool) {
        while position < bytes.count, predicate(bytes[position]) { position += 1 }
    }

    mutating func skipSpace() { skip(while: HTTPGrammar.isSpace) }

    /// Steps over spaces, tabs and the commas of empty list elements (RFC 9110, section 5.6.1).
    mutating func skipSpaceAndCommas() { skip { HTTPGrammar.isSpace($0) || $0 == 0x2C } }

    mutating func take(while predicate: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        skip(while: predicate)
        return bytes[start..<position]
    }

    mutating func token() -> ArraySlice<UInt8> { take(while: HTTPGrammar.isToken) }

    /// Reads digits as a number; nil when there are none or `Int` cannot hold it.
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

    /// Reads a quoted string from its opening quote to behind its closing one, or to the end when that is missing, and
    /// gives what it stands for. The next byte must be the opening quote.
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

    /// Reads a value behind `=`: a quoted string, or what stands until a separator, spaces at its end left out.
    mutating func parameterValue(until isSeparator: (UInt8) -> Bool) -> [UInt8] {
        if next == 0x22 {
            let value = quotedString()
            skip { !isSeparator($0) }
            return value
        }
        return Array(HTTPGrammar.trimmed(take { !isSeparator($0) }))
    }

    /// Steps to the next comma that no quoted string holds.
    mutating func skipElement() {
        while let byte = next, byte != 0x2C {
            if byte == 0x22 { _ = quotedString() } else { position += 1 }
        }
    }
}
