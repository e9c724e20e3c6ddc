/// The bytes of a body that a `Range` field requests (RFC 9110, section 14.2).
package struct ByteRanges: Sendable, Equatable {
    /// A range in a `Range` field: from an offset on, or the last bytes of the body.
    private enum Spec: Sendable, Equatable {
        case from(Int, through: Int)
        case last(Int)

        /// The range in a body of this length; nil if the body ends before it.
        func range(in length: Int) -> Range<Int>? {
            switch self {
            case .from(let first, let last):
                if first < length { return first..<min(last, length - 1) + 1 }
            case .last(let count):
                if count > 0 && length > 0 { return max(0, length - count)..<length }
            }
            return nil
        }
    }

    private let specs: [Spec]

    /// A field with more ranges is ignored. Clients have no reason to request more, and many small ranges are a known
    /// attack (RFC 9110, section 17.15).
    private static let maxRanges = 32

    /// Parses a `Range` field. Returns nil if the unit is not bytes, the field is malformed, or it requests
    /// more than 32 ranges: the response then contains the whole body.
    package init?(_ text: String) {
        var scanner = FieldScanner(Array(HTTPGrammar.trimmed(Array(text.utf8))))
        guard HTTPGrammar.lowercased(scanner.token()) == "bytes", scanner.consume(0x3D) else { return nil }
        var specs: [Spec] = []
        while true {
            scanner.skipSpaceAndCommas()
            if scanner.isAtEnd { break }
            guard specs.count < Self.maxRanges, let spec = Self.spec(&scanner) else { return nil }
            specs.append(spec)
            scanner.skipSpace()
            guard scanner.isAtEnd || scanner.next == 0x2C else { return nil }
        }
        guard !specs.isEmpty else { return nil }
        self.specs = specs
    }

    /// The ranges in a body of this length, in the requested order. If they overlap, they are sorted and
    /// merged, so that they never add up to more than the body. Empty if none of them exists; the status is
    /// then 416.
    package func resolved(in length: Int) -> [Range<Int>] {
        let ranges = specs.compactMap { $0.range(in: length) }
        let merged = ranges.mergingAdjacent()
        let mergedBytes = merged.reduce(0) { sum, range in sum + range.count }
        let allBytes = ranges.reduce(0) { sum, range in sum &+ range.count }
        return mergedBytes == allBytes ? ranges : merged
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

    /// The value of the digits, or `Int.max` if that overflows: both are beyond the end of every body.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        digits.reduce(0) { value, digit in
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int(digit - 0x30))
            return overflow || carry ? .max : sum
        }
    }
}

extension [Range<Int>] {
    /// The ranges, sorted, with overlapping and adjacent ones merged.
    func mergingAdjacent() -> [Range<Int>] {
        var merged: [Range<Int>] = []
        for range in sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }
}

/// The bytes of a whole body that a partial response contains (RFC 9110, section 14.4).
package struct ContentRange: Sendable, Hashable {
    /// The range; nil in a 416 response, as in `bytes */1234`.
    package let range: Range<Int>?
    /// The length of the whole body; nil if the server does not know it.
    package let total: Int?

    /// Whether the part is the whole body.
    package var isWhole: Bool { range?.lowerBound == 0 && range?.upperBound == total }

    /// Returns nil if the unit is not bytes or the numbers contradict each other.
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

    /// Creates a part of a body of known length; without a range, the value for a 416 response.
    package init(range: Range<Int>?, total: Int) {
        self.range = range
        self.total = total
    }

    /// The value of the field: `bytes 0-99/1234`.
    package var text: String {
        let whole = total.map { String($0) } ?? "*"
        guard let range, !range.isEmpty else { return "bytes */\(whole)" }
        return "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole)"
    }
}

/// The contents of a `.head` file, which is stored beside an incomplete body while the rest is downloaded. If the run
/// is killed, the next run uses it to resume the download.
package struct PartialDownloadHead: Sendable {
    /// The suffix that is appended to the path of the body.
    package static let pathSuffix = ".head"

    /// The ID of the current boot of the machine. The body is usable only during the same boot, since it is
    /// not synced to the disk.
    package var boot: String
    /// The URL of the body.
    package var href: String
    /// The header block of the response that began the body.
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
