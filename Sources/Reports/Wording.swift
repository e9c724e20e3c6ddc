package import Web

/// Formats sizes, durations, counts and dates in the same way for the portal and the command.
package enum Wording {
    /// `1 page`, `1,234 pages`.
    package static func count(_ count: Int, _ noun: String, plural: String? = nil) -> String {
        "\(number(count)) \(count == 1 ? noun : plural ?? noun + "s")"
    }

    /// `1,234,567`
    package static func number(_ number: Int) -> String {
        let digits = Array(String(number.magnitude).utf8)
        var text: [UInt8] = number < 0 ? [UInt8(ascii: "-")] : []
        for (offset, digit) in digits.enumerated() {
            if offset > 0, (digits.count - offset).isMultiple(of: 3) { text.append(UInt8(ascii: ",")) }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }

    // MARK: - Sizes

    /// `999 B`, `1.5 kB`, `2.0 GB`: a size in decimal units.
    package static func bytes(_ count: some BinaryInteger) -> String {
        let units = ["kB", "MB", "GB", "TB"]
        guard count >= 1000 else { return "\(count) B" }
        var value = Double(count) / 1000
        var unit = 0
        // Values that would be rounded to 1000.0 become 1.0 of the next unit.
        while value >= 999.95, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        return "\(oneDecimal(value)) \(units[unit])"
    }

    // MARK: - Durations

    /// `250 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`.
    package static func time(_ duration: Duration) -> String {
        let seconds = duration / .seconds(1)
        if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
        if seconds < 60 { return "\(oneDecimal(seconds)) s" }
        let whole = Int(seconds.rounded())
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole % 3600 / 60) min"
    }

    /// A running time in whole seconds.
    package static func clock(_ duration: Duration) -> String {
        let whole = Int(duration / .seconds(1))
        return whole < 60 ? "\(max(0, whole)) s" : time(.seconds(whole))
    }

    /// A duration rounded like an estimate.
    package static func roughTime(_ duration: Duration) -> String {
        let seconds = Int((duration / .seconds(1)).rounded(.up))
        if seconds < 10 { return "\(max(1, seconds)) s" }
        if seconds < 60 { return "\((seconds + 4) / 5 * 5) s" }
        if seconds < 3600 { return "\((seconds + 30) / 60) min" }
        return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }

    /// A number of events per second.
    package static func rate(_ perSecond: Double) -> String {
        perSecond < 99.95 ? oneDecimal(perSecond) : number(Int(perSecond.rounded()))
    }

    // MARK: - Dates

    /// The time since an event, in the largest unit of which there are at least two, or in minutes. A time that
    /// is less than a minute ahead counts as now, since clocks differ, and since releases of one second get different times.
    package static func age(_ seconds: Int64) -> String {
        guard seconds >= 60 else { return seconds <= -60 ? "in the future" : "just now" }
        let units: [(noun: String, length: Int64)] = [
            ("minute", 60), ("hour", 3600), ("day", 86_400), ("week", 7 * 86_400), ("month", 30 * 86_400),
            ("year", 365 * 86_400),
        ]
        let unit = units.last { seconds >= 2 * $0.length } ?? units[0]
        return "\(count(Int(seconds / unit.length), unit.noun)) ago"
    }

    /// A date for a sentence: `20 Nov 2026, 15:10 UTC`.
    package static func moment(_ seconds: Int64) -> String {
        let words = HTTPDate(secondsSinceEpoch: seconds).text.split(separator: " ")
        guard words.count == 6 else { return "" }
        let day = words[1].hasPrefix("0") ? words[1].dropFirst() : words[1]
        return "\(day) \(words[2]) \(words[3]), \(words[4].prefix(5)) UTC"
    }

    /// A date for lists and JSON: `2026-11-20T15:10:00Z`.
    package static func date(_ seconds: Int64) -> String { HTTPDate(secondsSinceEpoch: seconds).iso8601 }

    /// A date for a sentence: `20 Nov 2026, 15:10 UTC`.
    package static func moment(_ date: Timestamp) -> String { moment(date.secondsSinceEpoch) }

    /// A date for lists and JSON: `2026-11-20T15:10:00Z`.
    package static func date(_ date: Timestamp) -> String { date.description }

    /// The date at which an update is due; nil if there is none, or it is due now (0).
    package static func date(due seconds: Int64?) -> String? { seconds == 0 ? nil : seconds.map { date($0) } }

    // MARK: - Texts

    /// The beginning of a text, up to a number of bytes, cut at a character boundary.
    package static func cut(_ text: String, to byteCount: Int = 300) -> String {
        guard text.utf8.count > byteCount else { return text }
        var bytes = text.utf8.prefix(byteCount)
        while let last = bytes.last, last & 0xc0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last >= 0xc0 { bytes.removeLast() }
        return "\(Substring(bytes))…"
    }

    private static func oneDecimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

/// A number of bytes, which users write as `500M`, `2G`, `1.5GiB` or `0`.
public struct ByteSize: Sendable, Hashable {
    /// The number of bytes.
    public let byteCount: Int64

    /// Creates a size from a number of bytes.
    public init(_ byteCount: Int64) {
        self.byteCount = byteCount
    }

    /// Parses a decimal number with an optional unit: `k`, `M`, `G` and `T` are powers of 1000, and powers of 1024 if
    /// an `i` follows. A `B` may follow the unit. Spaces may precede the unit, as in the sizes that `Wording.bytes` writes.
    /// Case does not matter. Nil for any other text, and if the size exceeds `Int64`.
    ///
    /// The fraction may follow a comma, as in German. `1,500M` is nil, since it may also mean 1500 megabytes.
    public init?(_ text: String) {
        // Texts that were copied from a page may contain no-break spaces, U+00A0 and U+202F.
        let spaced = text.replacing("\u{A0}", with: " ").replacing("\u{202F}", with: " ")
        var bytes = Array(spaced.utf8)[...]
        while bytes.first == UInt8(ascii: " ") { bytes.removeFirst() }
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
        let digits = bytes.prefix(while: Self.isDigit)
        var rest = bytes[digits.endIndex...]
        var fraction = rest[..<rest.startIndex]
        if let separator = rest.first, separator == UInt8(ascii: ".") || separator == UInt8(ascii: ",") {
            fraction = rest.dropFirst().prefix(while: Self.isDigit)
            guard !fraction.isEmpty, separator == UInt8(ascii: ".") || fraction.count != 3 else { return nil }
            rest = rest[fraction.endIndex...]
        }
        rest = rest.drop { $0 == UInt8(ascii: " ") }
        guard let unit = Self.unit(rest), let whole = Int64(String(decoding: digits, as: UTF8.self)) else {
            return nil
        }
        let (count, overflow) = whole.multipliedReportingOverflow(by: unit)
        guard !overflow else { return nil }
        // Six digits suffice: a millionth of the largest unit is a megabyte. More digits could overflow.
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
