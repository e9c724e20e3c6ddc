/// The error statuses that count as success in a check of links, beside those below 400.
public struct AcceptedStatuses: Sendable, Equatable {
    private var ranges: [ClosedRange<Int>] = []

    /// Accepts no error status.
    public init() {}

    /// Reads a list such as `403,500..=599`. `200..300` leaves out its end, as in Rust.
    ///
    /// Returns nil for anything else, and for numbers that are not statuses.
    public init?(_ text: String) {
        for item in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let range = Self.range(item) else { return nil }
            ranges.append(range)
        }
    }

    /// Whether a response with the status counts as success.
    public func contains(_ status: Int) -> Bool { ranges.contains { $0.contains(status) } }

    private static let statuses = 100...999

    private static func range(_ text: Substring) -> ClosedRange<Int>? {
        let text = text.drop { $0 == " " }
        guard let dots = text.firstRange(of: "..") else { return number(text).map { $0...$0 } }
        var end = text[dots.upperBound...]
        let includesEnd = end.hasPrefix("=")
        if includesEnd { end = end.dropFirst() }
        guard
            let first = dots.lowerBound == text.startIndex
                ? statuses.lowerBound : number(text[..<dots.lowerBound])
        else { return nil }
        guard !end.isEmpty else { return includesEnd ? nil : first...statuses.upperBound }
        // The exclusive end of all statuses is 1000.
        guard let given = number(end, upTo: includesEnd ? 999 : 1000) else { return nil }
        let last = includesEnd ? given : given - 1
        return first <= last ? first...last : nil
    }

    private static func number(_ text: Substring, upTo max: Int = 999) -> Int? {
        guard (3...4).contains(text.utf8.count), text.utf8.first != 0x30,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int(text), (statuses.lowerBound...max).contains(number)
        else { return nil }
        return number
    }
}
