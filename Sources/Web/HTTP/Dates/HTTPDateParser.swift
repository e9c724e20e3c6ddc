/// Finds day, month, year, time and zone in a date by their shapes, in the manner of RFC 6265, section 5.1.1: in all of
/// the forms that HTTP ever had, each part can be told by how it looks.
struct HTTPDateParser {
    private var scanner: FieldScanner
    private var year: Int?
    private var yearDigits = 0
    private var month: Int?
    private var day: Int?
    private var time: (hour: Int, minute: Int, second: Int)?
    private var zoneMinutes = 0

    init(_ bytes: [UInt8]) { scanner = FieldScanner(bytes) }

    /// Longer than any date; a value beyond it is not looked at.
    private static let lengthLimit = 128

    mutating func parse(now: HTTPDate?) -> Int64? {
        guard scanner.bytes.count <= Self.lengthLimit else { return nil }
        while let byte = scanner.next {
            let isUnderstood: Bool
            switch byte {
            case 0x30...0x39: isUnderstood = readNumber()
            case 0x41...0x5A, 0x61...0x7A: isUnderstood = readWord()
            case 0x2B where hasTimeAndYear, 0x2D where hasTimeAndYear: isUnderstood = readOffset()
            case 0x28:
                scanner.skip { $0 != 0x29 }
                isUnderstood = scanner.consume(0x29)
            case 0x20, 0x09, 0x2C, 0x2D, 0x2F, 0x2E:
                scanner.skip { $0 == byte }
                isUnderstood = true
            default: isUnderstood = false
            }
            guard isUnderstood else { return nil }
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

    /// RFC 9110, section 5.6.7: what seems more than 50 years ahead is the most recent such year in the past.
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

    /// Which of the names, three letters each, the word is or begins with, as "Thurs" and "Thursday" do with "Thu".
    private static func index(of word: ArraySlice<UInt8>, in names: [UInt8]) -> Int? {
        guard word.count >= 3 else { return nil }
        let letters = (word[word.startIndex] | 0x20, word[word.startIndex + 1] | 0x20, word[word.startIndex + 2] | 0x20)
        return stride(from: 0, to: names.count, by: 3)
            .first { (names[$0], names[$0 + 1], names[$0 + 2]) == letters }
            .map { $0 / 3 }
    }

    /// Reads `+hhmm` or `-hhmm` behind the time.
    private mutating func readOffset() -> Bool {
        let isNegative = scanner.next == 0x2D
        _ = scanner.consume(isNegative ? 0x2D : 0x2B)
        let digits = scanner.take(while: \.isASCIIDigit)
        guard digits.count == 4, let value = HTTPGrammar.cappedInteger(digits), value % 100 < 60, value < 2400 else {
            return false
        }
        zoneMinutes = (value / 100 * 60 + value % 100) * (isNegative ? -1 : 1)
        return true
    }

    /// The names of RFC 822, in minutes east of Greenwich.
    private static let zones: [String: Int] = [
        "gmt": 0, "ut": 0, "utc": 0, "z": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
        "mst": -420, "mdt": -360, "pst": -480, "pdt": -420,
    ]
}
