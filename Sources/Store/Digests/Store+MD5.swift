package import Digest

extension StoreReader {
    /// The MD5 of a body: the one that is kept, else the one that its bytes have. Nil for a body that is gone, or damaged.
    package func md5(of body: StoredBody) throws(StoreError) -> Digest? {
        if let kept = body.md5.flatMap({ Digest(.md5, bytes: $0) }) { return kept }
        guard let content = try content(of: body) else { return nil }
        var stream = DigestStream(.md5)
        var proof = DigestStream(.sha256)
        try content.eachPiece { piece in
            stream.update(piece)
            proof.update(piece)
        }
        let md5 = stream.finish()
        return proof.finish().bytes == body.sha256 ? md5 : nil
    }
}

extension StoreWriter {
    /// Keeps what was computed, so that nobody has to compute it again.
    package func keep(md5s: [(body: StoredBody, md5: Digest)]) throws(StoreError) {
        try transaction { () throws(StoreError) in
            for (body, md5) in md5s where body.md5 != md5.bytes {
                try run("UPDATE body SET md5 = ? WHERE sha256 = ?", .blob(md5.bytes), .blob(body.sha256))
            }
        }
    }
}
