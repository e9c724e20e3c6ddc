/// Numbers of URLs as the store keeps them: with a comma before and after each.
enum LinkLists {
    static func text(_ numbers: [Int64]) -> String {
        guard !numbers.isEmpty else { return "" }
        var bytes: [UInt8] = [comma]
        bytes.reserveCapacity(numbers.count * 6)
        for number in numbers {
            append(number, to: &bytes)
            bytes.append(comma)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What is no number is left out.
    static func numbers(_ text: String) -> [Int64] {
        var numbers: [Int64] = []
        var number: Int64?
        for byte in text.utf8 {
            if byte == comma {
                if let number { numbers.append(number) }
                number = nil
            } else if (0x30...0x39).contains(byte) {
                let (product, overflow) = (number ?? 0).multipliedReportingOverflow(by: 10)
                number = overflow ? nil : product + Int64(byte - 0x30)
            }
        }
        return numbers
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &bytes) }
        bytes.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
    }

    private static let comma = UInt8(ascii: ",")
}
