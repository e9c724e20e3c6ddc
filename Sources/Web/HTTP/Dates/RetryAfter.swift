/// When a server wants to be asked again (RFC 9110, section 10.2.3).
package enum RetryAfter: Sendable, Equatable {
    /// At most 2^31.
    case seconds(Int)
    case date(HTTPDate)

    /// Nil when the text is neither a number nor a date.
    package init?(_ text: String, now: HTTPDate? = nil) {
        let trimmed = Array(HTTPGrammar.trimmed(Array(text.utf8)))
        if let seconds = HTTPGrammar.cappedInteger(trimmed) {
            self = .seconds(seconds)
        } else if let date = HTTPDate(utf8: trimmed, now: now) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// How long to wait from now on; 0 when the date has passed.
    package func delay(now: HTTPDate) -> Int {
        switch self {
        case .seconds(let seconds): seconds
        case .date(let date): Int(min(max(0, date.secondsSinceEpoch - now.secondsSinceEpoch), 1 << 31))
        }
    }
}
