internal import Bundles
internal import Digest
internal import Store

extension Bundle {
    /// Reads a body once for both digests.
    init(_ reference: String, of content: BodyContent) throws(StoreError) {
        var md5 = DigestStream(.md5)
        var sha256 = DigestStream(.sha256)
        var byteCount = 0
        try content.eachPiece { piece in
            md5.update(piece)
            sha256.update(piece)
            byteCount += piece.count
        }
        self.init(reference: reference, digests: [md5.finish(), sha256.finish()], byteCount: byteCount)
    }
}

extension ManifestReport {
    init(_ manifest: Manifest, skipped: [Skipped]) {
        self.init(
            text: manifest.json, bundles: manifest.bundles.count,
            byteCount: manifest.bundles.reduce(0) { $0 + Int64($1.byteCount ?? 0) }, skipped: skipped)
    }
}
