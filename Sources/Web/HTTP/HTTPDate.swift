/// A point in time with the precision of HTTP, which is one second.
package struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The seconds since 1970, between the first second of the year 1 and the last of 9999, so that every
    /// value has a text.
    package let secondsSinceEpoch: Int64

    /// Clamps times outside the years 1 to 9999.
    package init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = min(max(secondsSinceEpoch, -62_135_596_800), 253_402_300_799)
    }

    /// Parses the three formats of RFC 9110, section 5.6.7, and the deviations that browsers accept: a
    /// missing or wrong weekday, one digit instead of two, dashes instead of spaces, full month names, no
    /// seconds, other zones.
    ///
    /// A year with two digits is between 1970 and 2069. If `now` is given, it is instead the latest such year
    /// that is at most 50 years later.
    package init?(_ text: String, now: HTTPDate? = nil) {
        if let parsed = text.utf8.withContiguousStorageIfAvailable(CivilDate.init(imfFixdate:)),
            let civil = parsed
        {
            self.init(civil)
        } else {
            self.init(utf8: Array(text.utf8), now: now)
        }
    }

    init?(utf8 bytes: [UInt8], now: HTTPDate?) {
        var parser = HTTPDateParser(bytes)
        guard let seconds = parser.parse(now: now) else { return nil }
        self.init(secondsSinceEpoch: seconds)
    }

    init(_ civil: CivilDate) {
        self.init(secondsSinceEpoch: civil.secondsSinceEpoch)
    }

    /// The preferred format of RFC 9110: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var text: String {
        let civil = CivilDate(secondsSinceEpoch: secondsSinceEpoch)
        let weekday = CivilDate.weekdayNames[civil.weekday]
        let month = CivilDate.monthNames[civil.month - 1]
        return
            "\(weekday), \(CivilDate.padded(civil.day, 2)) \(month) \(CivilDate.padded(civil.year, 4)) \(civil.clock) GMT"
    }

    package var description: String { text }

    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }

    /// The time after a number of seconds, or before it if negative.
    package func adding(seconds: Int64) -> HTTPDate {
        let (sum, overflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
        return HTTPDate(secondsSinceEpoch: overflow ? (seconds > 0 ? .max : .min) : sum)
    }
}

// MARK: - HTTPDateParser

/// A parser that recognizes day, month, year, time and zone by their form, as in RFC 6265, section 5.1.1.
///
/// In all formats that HTTP has used, the form of each part identifies it: a word is a weekday, a month or a zone, a
/// number before a colon begins the time, the first number of one or two digits is the day, and the next one is the
/// year. So the order of the parts and the separators do not matter.
struct HTTPDateParser {
    private var scanner: FieldScanner
    private var year: Int?
    private var yearDigits = 0
    private var month: Int?
    private var day: Int?
    private var time: (hour: Int, minute: Int, second: Int)?
    private var zoneMinutes = 0

    init(_ bytes: [UInt8]) { scanner = FieldScanner(bytes) }

    /// Values longer than this are rejected; no date is as long.
    private static let maxBytes = 128

    /// Returns the seconds since 1970; nil if the text is not a date.
    mutating func parse(now: HTTPDate?) -> Int64? {
        guard scanner.bytes.count <= Self.maxBytes else { return nil }
        while let byte = scanner.next {
            let isValid: Bool
            switch byte {
            case 0x30...0x39: isValid = readNumber()
            case 0x41...0x5A, 0x61...0x7A: isValid = readWord()
            case 0x2B where hasTimeAndYear, 0x2D where hasTimeAndYear: isValid = readOffset()
            case 0x28:
                scanner.skip { $0 != 0x29 }
                isValid = scanner.consume(0x29)
            case 0x20, 0x09, 0x2C, 0x2D, 0x2F, 0x2E:
                scanner.skip { $0 == byte }
                isValid = true
            default: isValid = false
            }
            guard isValid else { return nil }
        }
        guard let year, let month, let day, let time else { return nil }
        var civil = CivilDate(
            year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
        guard yearDigits == 2 else { return civil.isValid ? seconds(civil) : nil }
        civil.year = Self.fullYear(year, civil: civil, now: now)
        return civil.isValid ? seconds(civil) : nil
    }

    private var hasTimeAndYear: Bool { time != nil && year != nil }

    private func seconds(_ civil: CivilDate) -> Int64 {
        civil.secondsSinceEpoch - Int64(zoneMinutes) * 60
    }

    /// RFC 9110, section 5.6.7: a year that seems more than 50 years ahead is the latest year in the past
    /// with the same last two digits.
    private static func fullYear(_ twoDigits: Int, civil: CivilDate, now: HTTPDate?) -> Int {
        guard let now else { return twoDigits + (twoDigits < 70 ? 2000 : 1900) }
        let today = CivilDate(secondsSinceEpoch: now.secondsSinceEpoch)
        var limit = today
        limit.year += 50
        var guess = civil
        guess.year = (today.year / 100 + 1) * 100 + twoDigits
        while guess.secondsSinceEpoch > limit.secondsSinceEpoch { guess.year -= 100 }
        return guess.year
    }

    private mutating func readNumber() -> Bool {
        let digits = scanner.take(while: \.isASCIIDigit)
        guard let value = HTTPGrammar.cappedInteger(digits) else { return false }
        if scanner.next == 0x3A { return readTime(hour: value) }
        switch digits.count {
        case 1 where day == nil, 2 where day == nil:
            day = value
        case 2, 4:
            guard year == nil else { return false }
            year = value
            yearDigits = digits.count
        default: return false
        }
        return true
    }

    private mutating func readTime(hour: Int) -> Bool {
        guard time == nil, scanner.consume(0x3A) else { return false }
        let minute = scanner.take(while: \.isASCIIDigit)
        var second: ArraySlice<UInt8> = [0x30]
        if scanner.consume(0x3A) { second = scanner.take(while: \.isASCIIDigit) }
        guard (1...2).contains(minute.count), (1...2).contains(second.count),
            let minute = HTTPGrammar.cappedInteger(minute), let second = HTTPGrammar.cappedInteger(second)
        else { return false }
        time = (hour, minute, second)
        return true
    }

    private mutating func readWord() -> Bool {
        let word = scanner.take(while: \.isASCIIAlpha)
        if let number = Self.index(of: word, in: Self.months) {
            guard month == nil else { return false }
            month = number + 1
            return true
        }
        if Self.index(of: word, in: Self.weekdays) != nil { return true }
        guard time != nil, let zone = Self.zones[HTTPGrammar.lowercased(word)] else { return false }
        zoneMinutes = zone
        return true
    }

    private static let months = Array("janfebmaraprmayjunjulaugsepoctnovdec".utf8)
    private static let weekdays = Array("sunmontuewedthufrisat".utf8)

    /// The index of the name that the word is or begins with, as "Thurs" and "Thursday" begin with "Thu".
    /// Each name has three letters.
    private static func index(of word: ArraySlice<UInt8>, in names: [UInt8]) -> Int? {
        guard word.count >= 3 else { return nil }
        let letters = (
            word[word.startIndex] | 0x20, word[word.startIndex + 1] | 0x20, word[word.startIndex + 2] | 0x20
        )
        return stride(from: 0, to: names.count, by: 3)
            .first { (names[$0], names[$0 + 1], names[$0 + 2]) == letters }
            .map { $0 / 3 }
    }

    /// Reads `+hhmm` or `-hhmm` after the time.
    private mutating func readOffset() -> Bool {
        let isNegative = scanner.next == 0x2D
        _ = scanner.consume(isNegative ? 0x2D : 0x2B)
        let digits = scanner.take(while: \.isASCIIDigit)
        guard digits.count == 4, let value = HTTPGrammar.cappedInteger(digits), value % 100 < 60, value < 2400
        else {
            return false
        }
        zoneMinutes = (value / 100 * 60 + value % 100) * (isNegative ? -1 : 1)
        return true
    }

    /// The zone names of RFC 822, in minutes east of Greenwich.
    private static let zones: [String: Int] = [
        "gmt": 0, "ut": 0, "utc": 0, "z": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
        "mst": -420, "mdt": -360, "pst": -480, "pdt": -420,
    ]
}

extension HTTPDate {
    /// Parses only the three formats of RFC 9110, section 5.6.7. The case of letters does not matter.
    ///
    /// Unlike other dates, an `Expires` in any other format must count as expired (RFC 9111, section 5.3).
    init?(strict text: String, now: HTTPDate) {
        let bytes = Array(text.utf8)
        let weekday = bytes.prefix(while: \.isASCIIAlpha).count
        let formats = weekday == 3 ? [Self.imfFixdate, Self.asctime] : weekday >= 6 ? [Self.rfc850] : []
        guard formats.contains(where: { Self.matches(bytes[weekday...], $0) }) else { return nil }
        self.init(text, now: now)
    }

    // Formats after the weekday: `a` is a letter, `0` a digit, `_` a digit or a space. Other characters match
    // themselves.
    private static let imfFixdate = Array(", 00 aaa 0000 00:00:00 GMT".utf8)
    private static let rfc850 = Array(", 00-aaa-00 00:00:00 GMT".utf8)
    private static let asctime = Array(" aaa _0 00:00:00 0000".utf8)

    private static func matches(_ bytes: ArraySlice<UInt8>, _ format: [UInt8]) -> Bool {
        guard bytes.count == format.count else { return false }
        return zip(bytes, format).allSatisfy { byte, symbol in
            switch symbol {
            case UInt8(ascii: "a"): byte.isASCIIAlpha
            case UInt8(ascii: "0"): byte.isASCIIDigit
            case UInt8(ascii: "_"): byte.isASCIIDigit || byte == 0x20
            default: byte.lowercasedASCII == symbol.lowercasedASCII
            }
        }
    }
}

extension HTTPDate {
    /// Parses RFC 3339's profile of ISO 8601 with the reductions of the W3C's note: a year, a month, a day,
    /// or a date with time and zone (`2004-12-23T18:00:15+00:00`). A missing month or day is the first.
    /// Fractions of a second are dropped, and a time without a zone is in UTC.
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

    /// Parses a time of RFC 3339: date, time and zone are required, as in `2026-01-31T12:00:00Z` or
    /// `2026-01-31T13:00:00.25+01:00`. Fractions of a second are dropped.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        // The other reader accepts shorter forms too, so the form is checked here.
        let form = Array("0000-00-00T00:00:00".utf8)
        guard bytes.count > form.count,
            zip(bytes, form).allSatisfy({ byte, symbol in
                symbol == UInt8(ascii: "0") ? byte.isASCIIDigit : byte == symbol || byte == symbol | 0x20
            })
        else { return nil }
        let zone = bytes[form.count...].drop { $0.isASCIIDigit || $0 == UInt8(ascii: ".") }
        switch zone.first {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"): guard zone.count == 1 else { return nil }
        case UInt8(ascii: "+"), UInt8(ascii: "-"): guard zone.count == "+01:00".utf8.count else { return nil }
        default: return nil
        }
        self.init(iso8601: text)
    }

    /// The time in ISO 8601: `1994-11-06T08:49:37Z`.
    package var iso8601: String {
        let civil = CivilDate(secondsSinceEpoch: secondsSinceEpoch)
        let date = [
            CivilDate.padded(civil.year, 4), CivilDate.padded(civil.month, 2), CivilDate.padded(civil.day, 2),
        ]
        return "\(date.joined(separator: "-"))T\(civil.clock)Z"
    }
}

extension FieldScanner {
    /// Reads a number with exactly this many digits.
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

    /// Reads the zone, in seconds east of Greenwich.
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

// MARK: - CivilDate

/// A date and time of the proleptic Gregorian calendar, without zone or leap seconds.
struct CivilDate {
    var year: Int
    var month: Int
    var day: Int
    var hour = 0
    var minute = 0
    var second = 0

    /// Whether the date exists, in the years 1 to 9999. The second may be 60.
    var isValid: Bool {
        (1...9999).contains(year) && (1...12).contains(month) && day >= 1
            && day <= Self.days(in: month, of: year)
            && (0...23).contains(hour) && (0...59).contains(minute) && (0...60).contains(second)
    }

    var secondsSinceEpoch: Int64 {
        Int64(daysSinceEpoch) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    /// The days since 1970-01-01, by Howard Hinnant's `days_from_civil`. It counts years from March, so that the leap
    /// day is the last day of a year, and in eras of 400 years, which all have 146,097 days.
    var daysSinceEpoch: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// Parses the format that nearly all senders use, `Sun, 06 Nov 1994 08:49:37 GMT`; nil for all other
    /// texts, valid dates or not.
    init?(imfFixdate text: UnsafeBufferPointer<UInt8>) {
        guard text.count == 29 else { return nil }
        func number(_ start: Int, _ count: Int) -> Int? {
            var value = 0
            for byte in text[start..<start + count] {
                guard byte.isASCIIDigit else { return nil }
                value = value * 10 + Int(byte &- 0x30)
            }
            return value
        }
        func word(_ start: Int) -> UInt32 {
            UInt32(text[start]) << 16 | UInt32(text[start + 1]) << 8 | UInt32(text[start + 2])
        }
        guard text[3] == UInt8(ascii: ","), text[19] == UInt8(ascii: ":"), text[22] == UInt8(ascii: ":"),
            text[4] == 0x20, text[7] == 0x20, text[11] == 0x20, text[16] == 0x20, text[25] == 0x20,
            word(26) == Self.word("GMT"), Self.weekdayWords.contains(word(0)),
            let month = Self.monthWords.firstIndex(of: word(8)),
            let day = number(5, 2), let year = number(12, 4), let hour = number(17, 2),
            let minute = number(20, 2), let second = number(23, 2)
        else { return nil }
        self.init(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
        guard isValid else { return nil }
    }

    private static func word(_ name: String) -> UInt32 { name.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
    private static let weekdayWords = weekdayNames.map(word)
    private static let monthWords = monthNames.map(word)

    init(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The inverse of `secondsSinceEpoch` (`civil_from_days`).
    init(secondsSinceEpoch seconds: Int64) {
        let (days, rest) = Self.floorDivide(Int(seconds), 86_400)
        let (era, dayOfEra) = Self.floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
    }

    /// The day of the week; 0 is Sunday.
    var weekday: Int { Self.floorDivide(daysSinceEpoch + 4, 7).remainder }

    /// The time of day: `08:49:37`.
    var clock: String {
        "\(Self.padded(hour, 2)):\(Self.padded(minute, 2)):\(Self.padded(second, 2))"
    }

    static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func floorDivide(_ value: Int, _ divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    static let weekdayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// The number with leading zeros up to a width.
    static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

// MARK: - RetryAfter

/// The time after which a server accepts the next request (RFC 9110, section 10.2.3).
package enum RetryAfter: Sendable, Equatable {
    /// A number of seconds, at most 2^31.
    case seconds(Int)
    case date(HTTPDate)

    /// Returns nil if `Retry-After` is missing, or neither a number nor a date.
    package init?(_ fields: HTTPFields, now: HTTPDate? = nil) {
        guard let text = fields["Retry-After"] else { return nil }
        self.init(text, now: now)
    }

    /// Returns nil if the text is neither a number nor a date.
    init?(_ text: String, now: HTTPDate? = nil) {
        let trimmed = Array(HTTPGrammar.trimmed(Array(text.utf8)))
        if let seconds = HTTPGrammar.cappedInteger(trimmed) {
            self = .seconds(seconds)
        } else if let date = HTTPDate(utf8: trimmed, now: now) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// The time to wait from now on; zero if the date has passed.
    package func delay(now: HTTPDate) -> Duration {
        switch self {
        case .seconds(let seconds): .seconds(seconds)
        case .date(let date): .seconds(min(max(0, date.secondsSinceEpoch - now.secondsSinceEpoch), 1 << 31))
        }
    }
}
