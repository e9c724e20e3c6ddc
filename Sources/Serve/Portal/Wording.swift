internal import Web

/// Sizes, times and counts as people read them.
enum Wording {
    /// `1 page`, `1,234 pages`.
    static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude).utf8)
        var text: [UInt8] = number < 0 ? [UInt8(ascii: "-")] : []
        for (offset, digit) in digits.enumerated() {
            if offset > 0, (digits.count - offset).isMultiple(of: 3) { text.append(UInt8(ascii: ",")) }
            text.append(digit)
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func bytes(_ count: Int64) -> String {
        guard count >= 1000 else { return "\(count) B" }
        let units = ["kB", "MB", "GB", "TB"]
        var value = Double(count) / 1000
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1000
            unit += 1
        }
        if value >= 99.95 { return "\(Int(value.rounded())) \(units[unit])" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }

    /// How long ago something was: the largest unit of which there are at least two, or one.
    static func age(_ seconds: Int64) -> String {
        guard seconds >= 60 else { return seconds < 0 ? "in the future" : "just now" }
        let units: [(noun: String, length: Int64)] = [
            ("minute", 60), ("hour", 3600), ("day", 86_400), ("week", 7 * 86_400), ("month", 30 * 86_400),
            ("year", 365 * 86_400),
        ]
        let unit = units.last { seconds >= 2 * $0.length } ?? units[0]
        return "\(count(Int(seconds / unit.length), unit.noun)) ago"
    }

    /// `20 Nov 2026, 15:10 UTC`
    static func moment(_ seconds: Int64) -> String {
        let words = HTTPDate(secondsSinceEpoch: seconds).text.split(separator: " ")
        guard words.count == 6 else { return "" }
        let day = words[1].hasPrefix("0") ? words[1].dropFirst() : words[1]
        return "\(day) \(words[2]) \(words[3]), \(words[4].prefix(5)) UTC"
    }

    /// At most so many bytes of a text, cut where a character begins.
    static func cut(_ text: String, to byteCount: Int = 300) -> String {
        guard text.utf8.count > byteCount else { return text }
        var bytes = text.utf8.prefix(byteCount)
        while let last = bytes.last, last & 0xc0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last >= 0xc0 { bytes.removeLast() }
        return "\(Substring(bytes))…"
    }
}

extension HTMLWriter {
    /// How long ago it was, and when exactly.
    mutating func time(_ seconds: Int64, now: Int64) {
        let date = HTTPDate(secondsSinceEpoch: seconds).iso8601
        element(
            "time", ["datetime": date, "title": Wording.moment(seconds)], text: Wording.age(now - seconds))
    }

    mutating func moment(_ seconds: Int64) {
        let date = HTTPDate(secondsSinceEpoch: seconds).iso8601
        element("time", ["datetime": date], text: Wording.moment(seconds))
    }
}
