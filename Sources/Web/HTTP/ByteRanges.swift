/// Which bytes of a body a client asks for (RFC 9110, section 14.2).
package struct ByteRanges: Sendable, Equatable {
    private enum Spec: Sendable, Equatable {
        case from(Int, through: Int)
        case last(Int)
    }

    private let specs: [Spec]

    /// No client has reason to ask for more at once.
    private static let countLimit = 32

    /// Reads a `Range` field. Nil when the unit is not bytes, when it is malformed, or when it asks for too
    /// many: then the whole is the answer.
    package init?(_ text: String) {
        var scanner = FieldScanner(Array(HTTPGrammar.trimmed(Array(text.utf8))))
        guard HTTPGrammar.lowercased(scanner.token()) == "bytes", scanner.consume(0x3D) else { return nil }
        var specs: [Spec] = []
        while true {
            scanner.skipSpaceAndCommas()
            if scanner.isAtEnd { break }
            guard specs.count < Self.countLimit, let spec = Self.spec(&scanner) else { return nil }
            specs.append(spec)
            scanner.skipSpace()
            guard scanner.isAtEnd || scanner.next == 0x2C else { return nil }
        }
        guard !specs.isEmpty else { return nil }
        self.specs = specs
    }

    /// The parts of a body of this length, in the order asked for; sorted and joined when they overlap, so
    /// that they never add up to more than the whole. Empty when none of them exists: 416.
    package func resolved(in length: Int) -> [Range<Int>] {
        let ranges: [Range<Int>] = specs.compactMap { spec in
            switch spec {
            case .from(let first, let last): first < length ? first..<min(last, length - 1) + 1 : nil
            case .last(let count): count > 0 && length > 0 ? max(0, length - count)..<length : nil
            }
        }
        let joined = ranges.joiningTouching()
        let isDisjoint = joined.lazy.map(\.count).reduce(0, +) == ranges.lazy.map(\.count).reduce(0, &+)
        return isDisjoint ? ranges : joined
    }

    private static func spec(_ scanner: inout FieldScanner) -> Spec? {
        if scanner.consume(0x2D) {
            let digits = scanner.take(while: \.isASCIIDigit)
            return digits.isEmpty ? nil : .last(number(digits))
        }
        let first = scanner.take(while: \.isASCIIDigit)
        guard !first.isEmpty, scanner.consume(0x2D) else { return nil }
        let last = scanner.take(while: \.isASCIIDigit)
        let (lower, upper) = (number(first), last.isEmpty ? .max : number(last))
        return lower <= upper ? .from(lower, through: upper) : nil
    }

    /// What no `Int` can hold lies behind the end of every body.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        digits.reduce(0) { value, digit in
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(digit - 0x30))
            return overflow || carry ? .max : sum
        }
    }
}

extension [Range<Int>] {
    /// Sorted, and those that overlap or touch made one.
    func joiningTouching() -> [Range<Int>] {
        var joined: [Range<Int>] = []
        for range in sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        return joined
    }
}

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
            guard let first = scanner.exactInteger(), scanner.consume(0x2D),
                let last = scanner.exactInteger(),
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

/// What a file says that lies beside the beginning of a body while the rest is on its way: should the run be killed,
/// the next one goes on with it.
package struct PartHead: Sendable {
    /// How a file beside `path` is called.
    package static let ending = ".head"

    /// When the machine was started: what was written since then is there as long as the machine runs, though nobody
    /// saw to it that it reached the disk.
    package var boot: String
    package var href: String
    /// The header block of the answer that began the body.
    package var fields: String

    package init(boot: String, href: String, fields: String) {
        (self.boot, self.href, self.fields) = (boot, href, fields)
    }

    package var text: String { "\(boot)\n\(href)\n\(fields)" }

    package init?(text: String) {
        let lines = text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, !lines[0].isEmpty else { return nil }
        self.init(boot: String(lines[0]), href: String(lines[1]), fields: String(lines[2]))
    }
}
