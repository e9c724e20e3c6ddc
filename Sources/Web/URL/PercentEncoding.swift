/// A set of ASCII bytes. Never contains bytes from 0x80 on.
struct ByteSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ members: some Sequence<UInt8>) {
        for byte in members where byte < 0x80 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte &- 64) }
        }
    }

    init(_ members: StaticString) {
        self = members.withUTF8Buffer { ByteSet($0) }
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte < 64 ? low : high) &>> UInt64(byte & 63) & 1 != 0
    }

    func union(_ other: ByteSet) -> ByteSet {
        var result = self
        result.low |= other.low
        result.high |= other.high
        return result
    }

    func union(_ members: StaticString) -> ByteSet { union(ByteSet(members)) }
}

/// The percent-encode sets of the URL standard, section 1.3. Bytes outside ASCII are always encoded.
extension ByteSet {
    static let c0Control = ByteSet(0...0x1F).union("\u{7F}")
    static let fragment = c0Control.union(" \"<>`")
    static let query = c0Control.union(" \"#<>")
    static let specialQuery = query.union("'")
    static let path = query.union("?^`{}")
    static let userinfo = path.union("/:;=@[\\]|")

    /// The bytes that are forbidden in the host of a URL whose scheme is not special.
    static let forbiddenHost = ByteSet("\0\t\n\r #/:<>?@[\\]^|")
    /// The bytes that are forbidden in a domain in its ASCII form.
    static let forbiddenDomain = forbiddenHost.union(c0Control).union("%")
}

extension [UInt8] {
    /// Appends the bytes, with those in `set` and those outside ASCII as `%XX`.
    mutating func appendPercentEncoded(_ bytes: Span<UInt8>, _ set: ByteSet) {
        var copied = 0
        for index in bytes.indices {
            let byte = bytes[index]
            if byte < 0x80, !set.contains(byte) { continue }
            append(bytes.extracting(copied..<index))
            appendPercentEncoded(byte)
            copied = index + 1
        }
        append(bytes.extracting(copied..<bytes.count))
    }

    /// Appends a byte as `%XX`.
    package mutating func appendPercentEncoded(_ byte: UInt8) {
        append(UInt8(ascii: "%"))
        append((byte >> 4).upperHexDigit)
        append(byte.upperHexDigit)
    }

    mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// Decodes every valid `%XX` in the bytes. Other percent signs are unchanged.
    ///
    /// - Parameter mark: the byte before the two digits: `=` for quoted-printable text (RFC 2045, section
    ///   6.7).
    package init(percentDecoding bytes: Span<UInt8>, mark: UInt8 = UInt8(ascii: "%")) {
        self = []
        reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == mark, index + 2 < bytes.count,
                let high = bytes[index + 1].hexDigitValue, let low = bytes[index + 2].hexDigitValue
            {
                append(high << 4 | low)
                index += 3
            } else {
                append(bytes[index])
                index += 1
            }
        }
    }
}

extension String {
    /// Creates a text from bytes, with `%XX` in place of those that are not plain.
    ///
    /// - Parameter isPlain: whether a byte is left as it is.
    package init(percentEncoding bytes: some Sequence<UInt8>, except isPlain: (UInt8) -> Bool) {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if isPlain(byte) { encoded.append(byte) } else { encoded.appendPercentEncoded(byte) }
        }
        self.init(decoding: encoded, as: UTF8.self)
    }
}
