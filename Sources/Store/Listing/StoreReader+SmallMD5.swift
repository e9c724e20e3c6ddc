internal import Digest

extension StoreReader {
    /// The MD5 of a body's bytes: the one that is kept, else the one that they have where they are no more than so many. Nil
    /// as well for a body that is gone.
    package func md5(of body: StoredBody, upTo byteCount: Int) throws(StoreError) -> [UInt8]? {
        if let kept = body.md5 { return kept }
        guard body.byteCount <= byteCount else { return nil }
        return try md5(of: body)?.bytes
    }
}
