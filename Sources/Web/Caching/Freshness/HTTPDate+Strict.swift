extension HTTPDate {
    /// Reads the three forms of RFC 9110, section 5.6.7, and nothing else, letters in either case.
    ///
    /// Elsewhere a date may be read with forgiveness; an `Expires` that is none of these must count as past (RFC 9111,
    /// section 5.3).
    init?(strict text: String, now: HTTPDate) {
        let bytes = Array(text.utf8)
        let weekday = bytes.prefix(while: \.isASCIIAlpha).count
        let shapes = weekday == 3 ? [Self.fixedDate, Self.asctime] : weekday >= 6 ? [Self.rfc850] : []
        guard shapes.contains(where: { Self.matches(bytes[weekday...], $0) }) else { return nil }
        self.init(text, now: now)
    }

    // What stands behind the weekday: `a` a letter, `0` a digit, `_` a digit or a space, all else itself.
    private static let fixedDate = Array(", 00 aaa 0000 00:00:00 GMT".utf8)
    private static let rfc850 = Array(", 00-aaa-00 00:00:00 GMT".utf8)
    private static let asctime = Array(" aaa _0 00:00:00 0000".utf8)

    private static func matches(_ bytes: ArraySlice<UInt8>, _ shape: [UInt8]) -> Bool {
        guard bytes.count == shape.count else { return false }
        return zip(bytes, shape).allSatisfy { byte, sign in
            switch sign {
            case UInt8(ascii: "a"): byte.isASCIIAlpha
            case UInt8(ascii: "0"): byte.isASCIIDigit
            case UInt8(ascii: "_"): byte.isASCIIDigit || byte == 0x20
            default: byte.lowercasedASCII == sign.lowercasedASCII
            }
        }
    }
}
