internal import Digest
internal import Web

/// A share of devices or reports, in hundredths of a per cent.
package struct Share: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// From 0 to 10,000.
    package let hundredths: Int

    package static let none = Share(checked: 0)
    package static let all = Share(checked: 10_000)

    private init(checked hundredths: Int) { self.hundredths = hundredths }

    /// Returns nil unless the number is from 0 to 10,000.
    package init?(hundredths: Int) {
        guard (0...10_000).contains(hundredths) else { return nil }
        self.hundredths = hundredths
    }

    /// Parses a percentage with at most two digits after the point, such as `10%`, `0.5%` or `100`. Returns nil for another text.
    package init?(_ text: String) {
        let digits = text.utf8.last == UInt8(ascii: "%") ? text.utf8.dropLast() : text.utf8[...]
        let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }),
            (1...3).contains(parts[0].count), let whole = Int(String(decoding: parts[0], as: UTF8.self))
        else { return nil }
        var fraction = 0
        if parts.count == 2 {
            guard (1...2).contains(parts[1].count),
                let digits = Int(String(decoding: parts[1], as: UTF8.self))
            else { return nil }
            fraction = parts[1].count == 1 ? digits * 10 : digits
        }
        self.init(hundredths: whole * 100 + fraction)
    }

    package static func < (one: Share, two: Share) -> Bool { one.hundredths < two.hundredths }

    /// The share as a percentage, such as `10%` or `0.5%`.
    package var description: String {
        let (whole, rest) = (hundredths / 100, hundredths % 100)
        guard rest > 0 else { return "\(whole)%" }
        return rest % 10 == 0 ? "\(whole).\(rest / 10)%" : "\(whole).\(rest < 10 ? "0" : "")\(rest)%"
    }

    /// Whether a part is at least this share of a whole. False if the whole is 0.
    func isReached(by part: Int, of whole: Int) -> Bool {
        whole > 0 && part * 10_000 >= whole * hundredths
    }

    /// Whether the sample of this share for a roll-out contains a device. A larger share contains the devices of a smaller one.
    /// Each roll-out has another sample, so that not always the same devices get a release first.
    package func contains(device: String, of rollout: String) -> Bool {
        guard self < .all else { return true }
        // A rollout's ID has no zero byte, so that no two pairs have the same text.
        let text = Array(rollout.utf8) + [0] + Array(device.utf8)
        let digest = DigestStream.digest(.sha256, of: text.span).bytes
        let hash = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return hash.multipliedFullWidth(by: 10_000).high < UInt64(hundredths)
    }
}
