/// Which bytes of a whole a partial response holds (RFC 9110, section 14.4).
package struct ContentRange: Sendable, Hashable {
    /// Nil in an answer that the range asked for cannot be had, `bytes */1234`.
    package let range: Range<Int>?
    /// The length of the whole; nil when the server does not know it.
    package let total: Int?

    /// The part is all that there is.
    package var isWhole: Bool { range?.lowerBound == 0 && range?.upperBound == total }

    /// Nil when the unit is not bytes or the numbers make no sense together.
    package init?(_ text: String) {
        var scanner = FieldScanner(Array(HTTPGrammar.trimmed(Array(text.utf8))))
        guard HTTPGrammar.lowercased(scanner.token()) == "bytes" else { return nil }
        scanner.skipSpace()
        if scanner.consume(0x2A) {
            range = nil
        } else {
            guard let first = scanner.exactInteger(), scanner.consume(0x2D), let last = scanner.exactInteger(),
                first <= last, last < Int.max
            else { return nil }
            range = first..<last + 1
        }
        guard scanner.consume(0x2F) else { return nil }
        if scanner.consume(0x2A) {
            guard range != nil else { return nil }
            total = nil
        } else {
            guard let total = scanner.exactInteger(), total >= range?.upperBound ?? 0 else { return nil }
            self.total = total
        }
        guard scanner.isAtEnd else { return nil }
    }

    /// A part of a whole whose length is known, or the refusal when there is no range.
    package init(range: Range<Int>?, total: Int) {
        self.range = range
        self.total = total
    }

    /// `bytes 0-99/1234`
    package var text: String {
        let whole = total.map { String($0) } ?? "*"
        guard let range, !range.isEmpty else { return "bytes */\(whole)" }
        return "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole)"
    }
}
