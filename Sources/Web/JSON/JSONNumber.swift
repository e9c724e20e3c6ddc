// Rounding a Double reaches libm, which only this import links.
internal import Glibc

/// A JSON number as it was written. Nothing is rounded until somebody asks for an `Int` or a `Double`.
package struct JSONNumber: Sendable, Hashable {
    package let text: String

    init(text: String) { self.text = text }

    /// The exact integer, also of `2.0` and `1e3`; nil when there is a fraction or `Int` cannot hold it.
    package var int: Int? {
        if let exact = Int(text) { return exact }
        // Beyond 2^53 a Double no longer tells neighbouring integers apart.
        guard let double, abs(double) <= 9_007_199_254_740_992 else { return nil }
        return Int(exactly: double)
    }

    /// The nearest `Double`; nil when the number lies outside its range.
    package var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }
}
