/// A moment with the precision that HTTP has, which is one second.
package struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Between the first second of the year 1 and the last of 9999, so that every value has a text.
    package let secondsSinceEpoch: Int64

    /// A moment outside the years 1 to 9999 becomes the nearest inside them.
    package init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = min(max(secondsSinceEpoch, -62_135_596_800), 253_402_300_799)
    }

    /// Reads the three forms of RFC 9110, section 5.6.7, and what browsers forgive: a missing or wrong weekday, one
    /// digit where two belong, dashes for spaces, full month names, no seconds, other zones.
    ///
    /// A year of two digits lies between 1970 and 2069; when `now` is given, it is instead the latest such year that
    /// is at most 50 years ahead.
    package init?(_ text: String, now: HTTPDate? = nil) {
        self.init(utf8: Array(text.utf8), now: now)
    }

    init?(utf8 bytes: [UInt8], now: HTTPDate?) {
        var parser = HTTPDateParser(bytes)
        guard let seconds = parser.parse(now: now) else { return nil }
        self.init(secondsSinceEpoch: seconds)
    }

    init(_ civil: CivilDate) {
        self.init(secondsSinceEpoch: civil.secondsSinceEpoch)
    }

    /// The form that RFC 9110 has senders write: `Sun, 06 Nov 1994 08:49:37 GMT`.
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

    /// The moment so many seconds later, or earlier when negative.
    package func advanced(bySeconds seconds: Int64) -> HTTPDate {
        let (sum, overflow) = secondsSinceEpoch.addingReportingOverflow(seconds)
        return HTTPDate(secondsSinceEpoch: overflow ? (seconds > 0 ? .max : .min) : sum)
    }
}
