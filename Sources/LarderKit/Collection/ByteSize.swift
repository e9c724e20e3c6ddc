/// A number of bytes as a person writes it: `500M`, `2G`, `1.5GiB`, `0`.
public struct ByteSize: Sendable, Hashable {
    public let byteCount: Int64

    public init(_ byteCount: Int64) {
        self.byteCount = byteCount
    }

    /// Digits, with a fraction or without, and a unit or none: `k`, `M`, `G` and `T` are powers of 1000, with an `i` behind
    /// them powers of 1024; a `B` may follow; case is nothing. Nil for anything else, and for more than can be counted.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        let digits = bytes.prefix(while: Self.isDigit)
        var rest = bytes[digits.endIndex...]
        var fraction = rest[..<rest.startIndex]
        if rest.first == UInt8(ascii: ".") {
            fraction = rest.dropFirst().prefix(while: Self.isDigit)
            guard !fraction.isEmpty else { return nil }
            rest = rest[fraction.endIndex...]
        }
        guard let unit = Self.unit(rest), let whole = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
        let (count, overflow) = whole.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        // A millionth of the largest unit is a megabyte: what is finer tells nothing, and could overflow.
        let part = fraction.prefix(6).reduce((of: Int64(0), in: Int64(1))) { part, digit in
            (part.of * 10 + Int64(digit - UInt8(ascii: "0")), part.in * 10)
        }
        let (sum, isTooMuch) = count.addingReportingOverflow(unit * part.of / part.in)
        guard !isTooMuch else { return nil }
        byteCount = sum
    }

    private static func unit(_ text: ArraySlice<UInt8>) -> Int64? {
        var letters = text.map { $0 | 0x20 }
        if letters.last == UInt8(ascii: "b") { letters.removeLast() }
        let base: Int64 = letters.last == UInt8(ascii: "i") ? 1024 : 1000
        if base == 1024 { letters.removeLast() }
        guard let letter = letters.first else { return base == 1000 ? 1 : nil }
        guard letters.count == 1, let power = Array("kmgt".utf8).firstIndex(of: letter) else { return nil }
        return (0...power).reduce(1) { unit, _ in unit * base }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
