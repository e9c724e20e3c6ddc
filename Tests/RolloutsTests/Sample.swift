import Digest
import Rollouts
import Testing

enum Sample {
    /// A file whose content is its name.
    static func file(
        _ name: String, mediaType: String = "application/javascript", byteCount: Int64? = nil
    ) throws -> ReleaseFile {
        try #require(
            ReleaseFile(
                key: "key-\(name)", url: "https://example.com/\(name)",
                sha256: DigestStream.digest(.sha256, of: Array(name.utf8).span), mediaType: mediaType,
                byteCount: byteCount))
    }
}
