/// The byte ranges of a body that are stored, and the version of the body that they belong to (RFC 9111, sections 3.3
/// and 3.4).
package struct StoredRanges: Sendable, Equatable {
    /// The ranges in ascending order. They are not empty, and neither overlap nor touch.
    package let ranges: [Range<Int>]
    /// The length of the whole body; nil if it is not known.
    package let total: Int?
    /// The strong entity tag, which proves that parts are of the same version; nil if the version has none.
    package let entityTag: EntityTag?

    /// Parts are not merged if the result would have more ranges.
    private static let maxRanges = 1024

    private init(ranges: [Range<Int>], total: Int?, entityTag: EntityTag?) {
        self.ranges = ranges
        self.total = total
        self.entityTag = entityTag
    }

    /// The part in a 206 response with one range. Nil if its `Content-Range` is missing or malformed, or does
    /// not match the number of bytes that were received.
    package init?(partial fields: HTTPFields, byteCount: Int) {
        guard let range = fields["Content-Range"].flatMap({ ContentRange($0) }), let bytes = range.range,
            bytes.count == byteCount
        else { return nil }
        self.init(ranges: [bytes], total: range.total, entityTag: Self.strongTag(fields))
    }

    private static func strongTag(_ fields: HTTPFields) -> EntityTag? {
        fields.entityTag.flatMap { $0.isWeak ? nil : $0 }
    }

    package var isComplete: Bool {
        guard let total else { return false }
        return total == 0 || ranges == [0..<total]
    }

    package func contains(_ range: Range<Int>) -> Bool {
        range.isEmpty
            || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    /// Whether all requested ranges are stored. False if the length of the body is not known.
    package func contains(_ wanted: ByteRanges) -> Bool {
        guard let total else { return false }
        let ranges = wanted.resolved(in: total)
        return !ranges.isEmpty && ranges.allSatisfy { contains($0) }
    }

    /// The ranges of both. Nil unless equal strong entity tags prove that both are of the same version; also nil if
    /// their lengths contradict each other or there are too many ranges.
    package func merging(_ other: StoredRanges) -> StoredRanges? {
        guard let entityTag, let otherTag = other.entityTag, entityTag.matchesStrongly(otherTag),
            total == nil || other.total == nil || total == other.total
        else { return nil }
        let merged = (ranges + other.ranges).mergingAdjacent()
        let total = total ?? other.total
        guard merged.count <= Self.maxRanges, (merged.last?.upperBound ?? 0) <= total ?? .max else {
            return nil
        }
        return StoredRanges(ranges: merged, total: total, entityTag: entityTag)
    }

    /// The header fields that request the first gap, or the whole body if its version has changed. Nil if the
    /// body is complete, or if a new part could not be combined with the stored ones.
    package var completionRequest: HTTPFields? {
        guard !isComplete, let entityTag else { return nil }
        let start = ranges.first.flatMap { $0.lowerBound == 0 ? $0.upperBound : nil } ?? 0
        let end = ranges.first { $0.lowerBound > start }?.lowerBound
        return ["Range": "bytes=\(start)-" + (end.map { String($0 - 1) } ?? ""), "If-Range": entityTag.text]
    }
}
