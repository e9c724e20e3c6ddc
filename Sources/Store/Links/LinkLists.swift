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

    /// What is no number between two commas is left out.
    static func numbers(_ text: String) -> [Int64] {
        var numbers: [Int64] = []
        var number: Int64?
        var isNumber = false
        for byte in text.utf8 {
            if byte == comma {
                if isNumber, let number { numbers.append(number) }
                number = nil
                isNumber = true
            } else {
                let (tens, isTooLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                let (sum, isLarger) = tens.addingReportingOverflow(Int64(byte) - 0x30)
                isNumber = isNumber && (0x30...0x39).contains(byte) && !isTooLarge && !isLarger
                number = isNumber ? sum : nil
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
