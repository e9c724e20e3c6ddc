internal import Web

/// A version that was parsed so that two of them can be put in order. Tools write versions in many ways; those of
/// different kinds have no order.
enum ManifestVersion: Equatable {
    /// Numbers with dots, such as `5.0.0.12`, with an optional suffix.
    case release(Release)
    /// A year, a month and a day, and further numbers: `2026-11-28`, `2026.11.28-3`, `2026-11-28T10:00:00Z`.
    case date([Number])
    /// One number with many digits: a compact date, seconds since 1970, or a counter.
    case stamp(Number)
    /// Text without an order, such as the hash of a commit.
    case name

    /// The maximum length of a version that has an order, in bytes. Longer ones are names.
    private static let maxByteCount = 128
    /// The minimum number of digits of a stamp. A shorter number is a release, such as `12`.
    private static let minStampDigits = 8

    init(_ text: String) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty, bytes.count <= Self.maxByteCount else {
            self = .name
            return
        }
        let hasLetter = bytes[0] | 0x20 == UInt8(ascii: "v")
        // Times with different zones are comparable in UTC. Semantic Versioning, clause 10: build metadata (after a
        // plus) has no precedence.
        let core =
            HTTPDate(rfc3339: text).map { Array($0.iso8601.utf8)[...] }
            ?? bytes[(hasLetter ? 1 : 0)...].prefix { $0 != UInt8(ascii: "+") }
        if let groups = Self.groups(of: core) {
            if Self.isDate(groups) {
                self = .date(groups.map { Number($0) })
                return
            }
            if groups.count == 1, groups[0].count >= Self.minStampDigits {
                self = .stamp(Number(groups[0]))
                return
            }
        }
        self = Release(core, hasLetter: hasLetter).map(Self.release) ?? .name
    }

    /// Compares with another version.
    func order(after other: ManifestVersion) -> ManifestAge.Order {
        switch (self, other) {
        case (.release(let one), .release(let two)): one.order(after: two)
        case (.date(let one), .date(let two)): Number.order(of: one, after: two)
        // Numbers with different numbers of digits may be of different kinds, such as seconds and milliseconds.
        case (.stamp(let one), .stamp(let two)) where one.digits.count == two.digits.count:
            Number.order(of: [one], after: [two])
        case (.release, _), (.date, _), (.stamp, _), (.name, _): .unknown
        }
    }

    /// The groups of digits of a text that has only digits, single separators, and perhaps a final `Z`; nil for
    /// another text.
    private static func groups(of bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>]? {
        let isInUTC = bytes.last == UInt8(ascii: "Z") && bytes.contains(UInt8(ascii: "T"))
        let groups = bytes.dropLast(isInUTC ? 1 : 0).split(omittingEmptySubsequences: false) {
            ".-_:T ".utf8.contains($0)
        }
        return groups.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) } ? groups : nil
    }

    private static func isDate(_ groups: [ArraySlice<UInt8>]) -> Bool {
        guard groups.count >= 3, groups[0].count == 4 else { return false }
        let (year, month, day) = (groups[0].number, groups[1].number, groups[2].number)
        return (1970...9999).contains(year) && (1...12).contains(month) && (1...31).contains(day)
    }

    /// A whole number with any number of digits.
    struct Number: Comparable {
        /// The digits without leading zeros.
        let digits: [UInt8]

        init(_ digits: some Sequence<UInt8>) {
            self.digits = Array(digits.drop { $0 == UInt8(ascii: "0") })
        }

        static let zero = Number([])

        static func < (one: Number, two: Number) -> Bool {
            one.digits.count == two.digits.count
                ? one.digits.lexicographicallyPrecedes(two.digits) : one.digits.count < two.digits.count
        }

        /// Compares lists of numbers. Missing ones are zero: `1.2` and `1.2.0` are the same.
        static func order(of one: [Number], after two: [Number]) -> ManifestAge.Order {
            for index in 0..<max(one.count, two.count) {
                let first = index < one.count ? one[index] : .zero
                let second = index < two.count ? two[index] : .zero
                if first != second { return first > second ? .newer : .older }
            }
            return .same
        }
    }

    /// A version of Semantic Versioning 2.0, or one with fewer or more numbers, with or without a `v` before it.
    struct Release: Equatable {
        let numbers: [Number]
        /// The identifiers of a pre-release; empty for a release.
        let prerelease: [ArraySlice<UInt8>]
        /// The number of commits after the release, in the output of `git describe`: `1.2.0-14-g3f2a9c8`.
        let distance: Number

        /// Returns nil for another text.
        ///
        /// - Parameter hasLetter: whether a `v` was before the text.
        init?(_ text: ArraySlice<UInt8>, hasLetter: Bool) {
            let core = text.prefix { $0 != UInt8(ascii: "-") }
            let groups = core.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard groups.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) }) else { return nil }
            numbers = groups.map { Number($0) }
            guard core.count < text.count else {
                (prerelease, distance) = ([], .zero)
                return
            }
            // `1234567-dirty` is probably the hash of a commit.
            guard numbers.count > 1 || hasLetter else { return nil }
            let suffix = text[text.index(after: core.endIndex)...]
            let rest: ArraySlice<UInt8>
            (rest, distance) = Self.splitDistance(suffix)
            prerelease =
                rest.isEmpty
                ? [] : rest.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            let isValid = prerelease.allSatisfy { identifier in
                !identifier.isEmpty
                    && identifier.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            }
            guard isValid, !suffix.isEmpty else { return nil }
        }

        /// Splits the suffix of `git describe` off: `14-g3f2a9c8` or `rc.1-14-g3f2a9c8-dirty`.
        private static func splitDistance(
            _ text: ArraySlice<UInt8>
        ) -> (rest: ArraySlice<UInt8>, distance: Number) {
            var parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            if parts.last.map({ $0.elementsEqual("dirty".utf8) }) ?? false { parts.removeLast() }
            guard let hash = parts.popLast(), hash.first == UInt8(ascii: "g"), hash.count > 4,
                hash.dropFirst().allSatisfy({ $0.isASCIIDigit || ($0 | 0x20) &- 0x61 < 6 }),
                let count = parts.popLast(), !count.isEmpty,
                count.allSatisfy(\.isASCIIDigit)
            else { return (text, .zero) }
            // Without a part before it, the count is all that follows the numbers.
            let end = parts.isEmpty ? text.startIndex : count.startIndex - 1
            return (text[..<end], Number(count))
        }

        func order(after other: Release) -> ManifestAge.Order {
            let order = Number.order(of: numbers, after: other.numbers)
            guard order == .same else { return order }
            let identifiers = orderOfPrerelease(after: other)
            guard identifiers == .same else { return identifiers }
            return Number.order(of: [distance], after: [other.distance])
        }

        /// Semantic Versioning, clause 11.
        private func orderOfPrerelease(after other: Release) -> ManifestAge.Order {
            guard !prerelease.isEmpty, !other.prerelease.isEmpty else {
                if prerelease.isEmpty, other.prerelease.isEmpty { return .same }
                return prerelease.isEmpty ? .newer : .older
            }
            for (one, two) in zip(prerelease, other.prerelease) where !one.elementsEqual(two) {
                let areNumbers = (one.allSatisfy(\.isASCIIDigit), two.allSatisfy(\.isASCIIDigit))
                switch areNumbers {
                case (true, true):
                    let order = Number.order(of: [Number(one)], after: [Number(two)])
                    if order != .same { return order }
                case (true, false): return .older
                case (false, true): return .newer
                case (false, false): return two.lexicographicallyPrecedes(one) ? .newer : .older
                }
            }
            let (count, otherCount) = (prerelease.count, other.prerelease.count)
            return count == otherCount ? .same : count > otherCount ? .newer : .older
        }
    }
}

extension ArraySlice<UInt8> {
    /// The value of at most four digits; -1 for more.
    fileprivate var number: Int {
        count > 4 ? -1 : reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}
