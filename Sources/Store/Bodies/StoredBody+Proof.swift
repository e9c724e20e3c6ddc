internal import Digest

extension StoredBody {
    /// Whether the content has the bytes that the body was kept for. Reads all of them, in constant memory.
    package func isWhole(_ content: BodyContent) throws(StoreError) -> Bool {
        let (digest, count) = try content.measure()
        return count == byteCount && digest.bytes == sha256
    }
}
