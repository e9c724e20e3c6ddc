package import Database
package import Digest

/// The MD5 digests of stored bodies. Digests that are not stored yet are computed, and `store` stores them.
package struct KnownMD5s {
    private let reader: StoreReader
    /// By the SHA-256 of the body.
    private var computed: [[UInt8]: (body: StoredBody, md5: Digest)] = [:]
    /// The number of bytes that may still be read.
    private var bytesLeft: Int

    /// - Parameter byteCount: The number of bytes of bodies to read at most for computing digests.
    package init(_ reader: StoreReader, upTo byteCount: Int = .max) {
        self.reader = reader
        bytesLeft = byteCount
    }

    /// Returns the MD5 of the body. Nil if the body is missing or damaged, or if it exceeds the rest of the
    /// limit. Throws if its file cannot be read.
    package mutating func md5(of body: StoredBody) throws(StoreError) -> Digest? {
        if let known = computed[body.sha256] { return known.md5 }
        guard body.md5 != nil || body.byteCount <= bytesLeft else { return nil }
        guard let md5 = try reader.md5(of: body) else { return nil }
        if body.md5 == nil {
            computed[body.sha256] = (body, md5)
            bytesLeft -= body.byteCount
        }
        return md5
    }

    /// Records an MD5 that was computed elsewhere, so that `store` stores it if the stored one is missing or
    /// different.
    package mutating func record(_ md5: Digest, of body: StoredBody) {
        if body.md5 != md5.bytes { computed[body.sha256] = (body, md5) }
    }

    /// Stores the computed digests. Does nothing if the store is not writable, busy or full, because the
    /// digests only save time.
    package func store(in folder: StoreFolder) throws(StoreError) {
        guard !computed.isEmpty else { return }
        do throws(StoreError) {
            try StoreWriter(folder).storeMD5s(Array(computed.values))
        } catch {
            switch error.reason {
            case .denied, .busy, .full: return
            case .request, .missing, .unusable, .unreachable, .failed: throw error
            }
        }
    }
}
