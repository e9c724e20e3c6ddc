/// The digests of contents that were seen, in bounded memory: newer ones take the place of older ones.
struct SeenContents: Sendable {
    private var digests: [UInt64] = []

    private static let count = 1 << 16

    func contains(_ digest: UInt64) -> Bool {
        let digest = max(1, digest)
        return !digests.isEmpty && digests[Int(truncatingIfNeeded: digest % UInt64(Self.count))] == digest
    }

    /// Whether it was there before.
    mutating func insert(_ digest: UInt64) -> Bool {
        if digests.isEmpty { digests = [UInt64](repeating: 0, count: Self.count) }
        // Zero stands for an empty place.
        let digest = max(1, digest)
        let index = Int(truncatingIfNeeded: digest % UInt64(Self.count))
        defer { digests[index] = digest }
        return digests[index] == digest
    }
}
