internal import Digest
internal import Store
internal import Web

/// What an archive is to have, in a few words whatever its size: how many responses, and the sum of their digests. Equal for
/// the same responses in whatever order.
struct ArchiveTally: Equatable {
    private(set) var count = 0
    private var sum: [UInt64] = [0, 0, 0, 0]

    /// - Parameter sha256: of the body; nil where there is none.
    mutating func add(_ response: ArchivedResponse, sha256: Digest?) {
        count += 1
        // An answer without a body, and one with an empty one, are written alike.
        let isEmpty = response.body.map { $0.byteCount == 0 } ?? false
        let text =
            "\(response.url)\n\(response.request.text)\n\(response.notes?.variant ?? "")\n\(response.status)\n"
            + "\(response.fetched)\n\(response.fields.block)\n\(isEmpty ? "" : sha256?.hex ?? "")"
        let digest = DigestStream.digest(.sha256, of: Array(text.utf8).span)
        for (place, byte) in digest.bytes.enumerated() {
            let part = UInt64(byte) << UInt64(place % 8 * 8)
            sum[place / 8] = sum[place / 8] &+ part
        }
    }
}
