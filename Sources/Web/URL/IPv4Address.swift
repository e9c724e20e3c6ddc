/// An IPv4 address, read as leniently as browsers do: one to four numbers in octal, decimal or hexadecimal.
struct IPv4Address {
    private var value: UInt32

    /// Whether the last label of a domain is a number, so that it is an address or nothing.
    static func isNamed(by domain: Span<UInt8>) -> Bool {
        var end = domain.count
        if end > 0, domain[end - 1] == UInt8(ascii: ".") { end -= 1 }
        var start = end
        while start > 0, domain[start - 1] != UInt8(ascii: ".") { start -= 1 }
        let last = domain.extracting(start..<end)
        guard !last.isEmpty, last[0].isASCIIDigit else { return false }
        return last.indices.allSatisfy { last[$0].isASCIIDigit } || number(last) != nil
    }

    init?(_ text: Span<UInt8>) {
        var end = text.count
        if end > 0, text[end - 1] == UInt8(ascii: ".") { end -= 1 }
        var value: UInt64 = 0
        var partCount = 0
        var start = 0
        while true {
            var dot = start
            while dot < end, text[dot] != UInt8(ascii: ".") { dot += 1 }
            guard let part = Self.number(text.extracting(start..<dot)) else { return nil }
            partCount += 1
            guard partCount <= 4 else { return nil }
            if dot == end {
                // The last number fills all the bytes that the others leave.
                let bits = UInt64(8 * (5 - partCount))
                guard part >> bits == 0 else { return nil }
                self.value = UInt32(value << bits | part)
                return
            }
            guard part <= 255 else { return nil }
            value = value << 8 | part
            start = dot + 1
        }
    }

    func append(to output: inout [UInt8]) {
        for shift in stride(from: 24, through: 0, by: -8) {
            output += String(value >> UInt32(shift) & 0xFF).utf8
            if shift > 0 { output.append(UInt8(ascii: ".")) }
        }
    }

    /// What is too large for any address stays too large, and does not overflow.
    private static func number(_ text: Span<UInt8>) -> UInt64? {
        guard !text.isEmpty else { return nil }
        var radix: UInt64 = 10
        var start = 0
        if text.count >= 2, text[0] == UInt8(ascii: "0") {
            let isHexadecimal = text[1] | 0x20 == UInt8(ascii: "x")
            radix = isHexadecimal ? 16 : 8
            start = isHexadecimal ? 2 : 1
        }
        var value: UInt64 = 0
        for index in start..<text.count {
            guard let digit = text[index].hexDigitValue, digit < radix else { return nil }
            value = min(value * radix + UInt64(digit), 1 << 40)
        }
        return value
    }
}
