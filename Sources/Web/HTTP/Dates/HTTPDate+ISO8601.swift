extension HTTPDate {
    /// Reads RFC 3339's profile of ISO 8601 as the W3C's note cuts it down: a year, a month, a day, or a moment with its
    /// zone (`2004-12-23T18:00:15+00:00`). What is missing is the first of its kind; fractions of a second are dropped,
    /// and no zone means UTC.
    package init?(iso8601 text: String) {
        var scanner = FieldScanner(Array(HTTPGrammar.trimmed(Array(text.utf8))))
        guard var civil = scanner.isoDate() else { return nil }
        var offset = 0
        if scanner.consume(0x54) || scanner.consume(0x74) || scanner.consume(0x20) {
            guard scanner.readISOTime(into: &civil), let zone = scanner.isoOffset() else { return nil }
            offset = zone
        }
        guard scanner.isAtEnd, civil.isValid else { return nil }
        self.init(secondsSinceEpoch: civil.secondsSinceEpoch - Int64(offset))
    }

    /// `1994-11-06T08:49:37Z`
    package var iso8601: String {
        let civil = CivilDate(secondsSinceEpoch: secondsSinceEpoch)
        let date = [CivilDate.padded(civil.year, 4), CivilDate.padded(civil.month, 2), CivilDate.padded(civil.day, 2)]
        return "\(date.joined(separator: "-"))T\(civil.clock)Z"
    }
}

extension FieldScanner {
    /// The number that the next so many digits write.
    fileprivate mutating func number(_ count: Int) -> Int? {
        let start = position
        while position < start + count, let byte = next, byte.isASCIIDigit { advance(1) }
        return position == start + count ? HTTPGrammar.cappedInteger(bytes[start..<position]) : nil
    }

    fileprivate mutating func isoDate() -> CivilDate? {
        guard let year = number(4) else { return nil }
        guard consume(0x2D) else { return CivilDate(year: year, month: 1, day: 1) }
        guard let month = number(2) else { return nil }
        guard consume(0x2D) else { return CivilDate(year: year, month: month, day: 1) }
        guard let day = number(2) else { return nil }
        return CivilDate(year: year, month: month, day: day)
    }

    fileprivate mutating func readISOTime(into civil: inout CivilDate) -> Bool {
        guard let hour = number(2), consume(0x3A), let minute = number(2) else { return false }
        (civil.hour, civil.minute) = (hour, minute)
        guard consume(0x3A) else { return true }
        guard let second = number(2) else { return false }
        civil.second = second
        guard consume(0x2E) || consume(0x2C) else { return true }
        return !take(while: \.isASCIIDigit).isEmpty
    }

    /// Seconds east of Greenwich.
    fileprivate mutating func isoOffset() -> Int? {
        if isAtEnd || consume(0x5A) || consume(0x7A) { return 0 }
        let sign = consume(0x2D) ? -1 : 1
        guard sign < 0 || consume(0x2B), let hours = number(2), hours < 24 else { return nil }
        if isAtEnd { return sign * hours * 3600 }
        _ = consume(0x3A)
        guard let minutes = number(2), minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}
