internal import Web

/// Requested ranges of a body. Each line of the input is a value of `Range`.
struct RangeTarget: Target {
    let name = "range"
    let suffixes = [".ranges"]
    let pieces = [
        "bytes=", "bytes", "=", "-", ",", " ", "\t", "0-0", "0-", "-1", "5-9", "9-5", "-0", "1000-",
        "99999999999999999999",
        "9223372036854775807", "9223372036854775806-9223372036854775807", ",,", "items=", "\n",
    ]
    private static let lengths = [0, 1, 10, 1000, Int.max]

    func fault(_ input: [UInt8]) -> String? {
        for line in input.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            guard let ranges = ByteRanges(text) else { continue }
            for length in Self.lengths {
                if let fault = fault(ranges.resolved(in: length), in: length) {
                    return "\(fault) in \(length): \(text)"
                }
            }
        }
        return nil
    }

    /// Ranges must lie inside the body, be no longer in total than the body, and survive a round trip.
    private func fault(_ parts: [Range<Int>], in length: Int) -> String? {
        guard parts.allSatisfy({ !$0.isEmpty && $0.lowerBound >= 0 && $0.upperBound <= length }) else {
            return "a place"
        }
        var left = length
        for part in parts {
            guard part.count <= left else { return "more than the whole" }
            left -= part.count
        }
        guard !parts.isEmpty else { return nil }
        let text = parts.map { "\($0.lowerBound)-\($0.upperBound - 1)" }.joined(separator: ",")
        guard ByteRanges("bytes=" + text)?.resolved(in: length) == parts else { return "written again" }
        for part in parts {
            let written = ContentRange(range: part, total: length)
            guard ContentRange(written.text) == written else { return "a part's place" }
        }
        return nil
    }
}
