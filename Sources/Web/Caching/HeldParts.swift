/// Which bytes of a body are held, and of which version they are (RFC 9111, sections 3.3 and 3.4).
package struct HeldParts: Sendable, Equatable {
    /// Sorted, apart from each other, none empty.
    package let ranges: [Range<Int>]
    /// The length of the whole; nil while no server has told it.
    package let total: Int?
    /// By which parts of the same version know each other; nil when the version has no strong entity tag.
    package let entityTag: EntityTag?

    /// Parts that come in more pieces than this are not worth keeping track of.
    private static let countLimit = 1024

    private init(ranges: [Range<Int>], total: Int?, entityTag: EntityTag?) {
        self.ranges = ranges
        self.total = total
        self.entityTag = entityTag
    }

    /// What a 206 with one part brings; nil when it does not say which, or as many bytes did not come.
    package init?(partial fields: HTTPFields, byteCount: Int) {
        guard let range = fields["Content-Range"].flatMap({ ContentRange($0) }), let bytes = range.range,
            bytes.count == byteCount
        else { return nil }
        self.init(ranges: [bytes], total: range.total, entityTag: Self.strongTag(fields))
    }

    /// What a 200 brings that broke off after so many bytes; `byteCount` of all when it did not.
    package init(whole fields: HTTPFields, byteCount: Int, isComplete: Bool) {
        self.init(
            ranges: [0..<max(0, byteCount)].joiningTouching(),
            total: isComplete ? byteCount : fields.contentLength.flatMap { $0 >= byteCount ? $0 : nil },
            entityTag: Self.strongTag(fields))
    }

    private static func strongTag(_ fields: HTTPFields) -> EntityTag? {
        fields.entityTag.flatMap { $0.isWeak ? nil : $0 }
    }

    package var isComplete: Bool {
        guard let total else { return false }
        return total == 0 || ranges == [0..<total]
    }

    package func holds(_ range: Range<Int>) -> Bool {
        range.isEmpty
            || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    /// Whether all that a request asks for is held.
    package func holds(_ wanted: ByteRanges) -> Bool {
        guard let total else { return false }
        let ranges = wanted.resolved(in: total)
        return !ranges.isEmpty && ranges.allSatisfy { holds($0) }
    }

    /// Both together; nil when they may be of different versions: only the same strong entity tag proves that
    /// they are not.
    package func combined(with other: HeldParts) -> HeldParts? {
        guard let entityTag, let otherTag = other.entityTag, entityTag.matchesStrongly(otherTag),
            total == nil || other.total == nil || total == other.total
        else { return nil }
        let joined = (ranges + other.ranges).joiningTouching()
        let total = total ?? other.total
        guard joined.count <= Self.countLimit, (joined.last?.upperBound ?? 0) <= total ?? .max else {
            return nil
        }
        return HeldParts(ranges: joined, total: total, entityTag: entityTag)
    }

    /// The fields that ask for the first gap, or for the whole if the version has changed meanwhile; nil when
    /// nothing is missing, or when what came could not be combined with what is held.
    package var completion: HTTPFields? {
        guard !isComplete, let entityTag else { return nil }
        let start = ranges.first.flatMap { $0.lowerBound == 0 ? $0.upperBound : nil } ?? 0
        let end = ranges.first { $0.lowerBound > start }?.lowerBound
        return ["Range": "bytes=\(start)-" + (end.map { String($0 - 1) } ?? ""), "If-Range": entityTag.text]
    }
}
