/// A point in time with a precision of one second. Its description is the date in ISO 8601: `2026-01-31T12:00:00Z`.
///
/// It is the type of dates in the public API, which does not use Foundation.
public struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The seconds since the beginning of 1970 in UTC, without leap seconds. Negative before.
    public let secondsSinceEpoch: Int64

    /// Creates a point in time from the seconds since the beginning of 1970 in UTC.
    public init(secondsSinceEpoch: Int64) { self.secondsSinceEpoch = secondsSinceEpoch }

    /// Creates a point in time from a date in ISO 8601, with or without a time: `2026-01-31T12:00:00Z`, `2026-01-31`.
    /// Without a time it is the beginning of the day in UTC. Returns nil if the text is no such date.
    public init?(_ text: String) {
        guard let date = HTTPDate(iso8601: text) else { return nil }
        secondsSinceEpoch = date.secondsSinceEpoch
    }

    /// The date in ISO 8601, in UTC: `2026-01-31T12:00:00Z`. Dates outside the years 1 to 9999 have the text of the nearest
    /// one in them.
    public var description: String { HTTPDate(secondsSinceEpoch: secondsSinceEpoch).iso8601 }

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }
}
