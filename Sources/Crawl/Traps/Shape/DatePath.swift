internal import Web

/// Recognises dates in URLs: `/2031/05/17/`, `/2031-05-17`, `/20310517`, `?year=2031&month=5`.
///
/// A year alone may as well be a number: it is one only with a month behind it, or by the name of its parameter.
struct DatePath {
    private enum Part {
        case year, month
    }

    /// What the segment before was.
    private var last: Part?

    /// `{year}`, `{month}` or `{day}` for a segment that is one, seen by what stands around it.
    mutating func part(_ segment: ArraySlice<UInt8>, before next: ArraySlice<UInt8>) -> String? {
        switch last {
        case .year:
            last = .month
            return "{month}"
        case .month where Self.number(segment, in: 1...31, digits: 1...2) != nil:
            last = nil
            return "{day}"
        case .month, nil:
            last = nil
            guard Self.isYear(segment), Self.isMonth(next) else { return nil }
            last = .year
            return "{year}"
        }
    }

    /// What the value of a parameter with this name is, if it is part of a date.
    static func part(ofValue value: ArraySlice<UInt8>, named name: ArraySlice<UInt8>) -> String? {
        switch String(decoding: name.prefix(16).map(\.lowercasedASCII), as: UTF8.self) {
        case "year", "yr", "y": isYear(value) ? "{year}" : nil
        case "month", "mon", "mo": isMonth(value) ? "{month}" : nil
        case "day", "dy", "week": number(value, in: 1...53, digits: 1...2) == nil ? nil : "{day}"
        // Seconds since 1970, or thousandths of them.
        case "t", "ts", "time", "timestamp", "date", "from", "to", "start", "end", "at": isTime(value) ? "{time}" : nil
        // As WordPress has it: 203105.
        case "m":
            value.count == 6 && isYear(value.prefix(4)) && isMonth(value.dropFirst(4)) ? "{date}" : nil
        default: nil
        }
    }

    /// Where a date ends that begins here, written `2031-05-17`, `2031_05` or `20310517`.
    static func endOfDate(in bytes: ArraySlice<UInt8>, at start: Int) -> Int? {
        let rest = bytes[start...]
        guard rest.count >= 7, isYear(rest.prefix(4)) else { return nil }
        let digits = rest.prefix { $0.isASCIIDigit }
        if digits.count == 8 {
            let isDate = isMonth(digits.dropFirst(4).prefix(2)) && isDay(digits.dropFirst(6))
            return isDate && isEnd(bytes, digits.endIndex) ? digits.endIndex : nil
        }
        let separator = rest[start + 4]
        // ISO 8601: 2031-W05.
        if separator == UInt8(ascii: "-"), rest[start + 5] | 0x20 == UInt8(ascii: "w"), rest.count >= 8,
            number(rest[(start + 6)..<(start + 8)], in: 1...53, digits: 2...2) != nil
        {
            return isEnd(bytes, start + 8) ? start + 8 : nil
        }
        guard separator == UInt8(ascii: "-") || separator == UInt8(ascii: "_"), isMonth(rest[(start + 5)..<(start + 7)])
        else { return nil }
        if rest.count >= 10, rest[start + 7] == separator, isDay(rest[(start + 8)..<(start + 10)]) {
            return isEnd(bytes, start + 10) ? start + 10 : nil
        }
        return isEnd(bytes, start + 7) ? start + 7 : nil
    }

    /// From 1990 to 2100.
    private static func isTime(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count == 10 || bytes.count == 13 || bytes.count == 9 else { return false }
        let seconds = bytes.count == 13 ? bytes.prefix(10) : bytes
        return number(seconds, in: 631_152_000...4_102_444_800, digits: 9...10) != nil
            && bytes.allSatisfy(\.isASCIIDigit)
    }

    private static func isEnd(_ bytes: ArraySlice<UInt8>, _ index: Int) -> Bool {
        index == bytes.endIndex || !bytes[index].isASCIIAlphanumeric
    }

    private static func isYear(_ bytes: ArraySlice<UInt8>) -> Bool {
        number(bytes, in: 1800...2999, digits: 4...4) != nil
    }

    private static func isDay(_ bytes: ArraySlice<UInt8>) -> Bool { number(bytes, in: 1...31, digits: 1...2) != nil }

    private static func isMonth(_ bytes: ArraySlice<UInt8>) -> Bool {
        number(bytes, in: 1...12, digits: 1...2) != nil || isMonthName(bytes)
    }

    private static func isMonthName(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard (3...9).contains(bytes.count) else { return false }
        let name = String(decoding: bytes.map(\.lowercasedASCII), as: UTF8.self)
        return monthNames.contains { $0 == name || $0.prefix(3) == name }
    }

    private static let monthNames = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]

    private static func number(
        _ bytes: ArraySlice<UInt8>, in range: ClosedRange<Int>, digits: ClosedRange<Int>
    ) -> Int? {
        guard digits.contains(bytes.count), bytes.allSatisfy(\.isASCIIDigit) else { return nil }
        let number = bytes.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return range.contains(number) ? number : nil
    }
}
