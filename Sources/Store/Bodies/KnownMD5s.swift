package import Digest

/// The MD5s of held bodies: those that the store keeps, and those that are computed here, for the store to
/// keep.
package struct KnownMD5s {
    private let reader: StoreReader
    /// By the SHA-256 of the body.
    private var computed: [[UInt8]: (body: StoredBody, md5: Digest)] = [:]
    /// How many bytes may still be read.
    private var room: Int

    /// - Parameter byteCount: how many bytes are read at most to compute what nobody computed yet.
    package init(_ reader: StoreReader, upTo byteCount: Int = .max) {
        self.reader = reader
        room = byteCount
    }

    /// Nil for a body that is gone from the database, or that there is no room for. Fails when its file
    /// cannot be read.
    package mutating func md5(of body: StoredBody) throws(StoreError) -> Digest? {
        if let known = computed[body.sha256] { return known.md5 }
        guard body.md5 != nil || body.byteCount <= room else { return nil }
        guard let md5 = try reader.md5(of: body) else { return nil }
        if body.md5 == nil {
            computed[body.sha256] = (body, md5)
            room -= body.byteCount
        }
        return md5
    }

    /// Takes what somebody else has computed, and keeps it where something else is kept.
    package mutating func note(_ md5: Digest, of body: StoredBody) {
        if body.md5 != md5.bytes { computed[body.sha256] = (body, md5) }
    }

    /// Keeps what was computed, where this user may write and nobody else does just now: it saves time and
    /// nothing else, so that what hinders it is no failure.
    package func keep(in folder: StoreFolder) throws(StoreError) {
        guard !computed.isEmpty else { return }
        do throws(StoreError) {
            try StoreWriter(folder).keep(md5s: Array(computed.values))
        } catch {
            switch error.reason {
            case .denied, .busy, .full: return
            case .request, .missing, .unusable, .unreachable, .failed: throw error
            }
        }
    }
}
