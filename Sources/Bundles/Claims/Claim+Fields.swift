internal import Digest
package import Web

extension Claim {
    /// What the fields of a response say of its body, all of it strong.
    ///
    /// | field | speaks of |
    /// | --- | --- |
    /// | `Repr-Digest`, `Digest` | the whole representation in its content coding, also in a partial response |
    /// | `Content-Digest`, `Content-MD5` | what this response carries, in its content coding |
    /// | `id-sha-256` and the like in `Digest` (RFC 5843) | the decoded body |
    ///
    /// Algorithms that are not known, and digests of a wrong length, say nothing.
    ///
    /// - Parameter isPartial: whether it is a 206; then what speaks of its part alone is left out.
    package static func list(from fields: HTTPFields, isPartial: Bool = false) -> [Claim] {
        var list: [Claim] = []
        func add(_ digests: [FieldDigest], _ source: String) {
            for digest in digests {
                guard let (algorithm, subject) = known[digest.algorithm],
                    let digest = Digest(algorithm, bytes: digest.bytes)
                else { continue }
                let claim = Claim(.digest(digest), of: subject, source: source)
                if !list.contains(claim) { list.append(claim) }
            }
        }
        add(fields.combined("Repr-Digest").map(FieldDigest.structured) ?? [], "Repr-Digest")
        add(fields.combined("Digest").map(FieldDigest.legacy) ?? [], "Digest")
        guard !isPartial else { return list }
        add(fields.combined("Content-Digest").map(FieldDigest.structured) ?? [], "Content-Digest")
        add(fields["Content-MD5"].flatMap(FieldDigest.contentMD5).map { [$0] } ?? [], "Content-MD5")
        return list
    }

    /// What an ETag may say: 32 hexadecimal digits are the MD5 of what S3 and its like store in one piece, and also
    /// what some servers call by no digest at all, so it is weak. Nil for every other tag; `hex-N`, of several parts,
    /// is none.
    package init?(_ tag: EntityTag) {
        let digits = String(tag.text.dropFirst(tag.isWeak ? 2 : 0).filter { $0 != "\"" })
        guard let md5 = Digest(.md5, hex: digits) else { return nil }
        // A server that compresses on the way makes the tag weak, and means what it had before.
        self.init(.digest(md5), of: tag.isWeak ? .decoded : .encoded, .weak, source: "ETag")
    }

    /// By the names of RFC 9530's registry, of RFC 3230 and of RFC 5843.
    private static let known: [String: (DigestAlgorithm, Subject)] = [
        "md5": (.md5, .encoded), "sha": (.sha1, .encoded), "sha-1": (.sha1, .encoded),
        "sha-256": (.sha256, .encoded), "sha-384": (.sha384, .encoded), "sha-512": (.sha512, .encoded),
        "id-sha": (.sha1, .decoded), "id-sha-256": (.sha256, .decoded), "id-sha-512": (.sha512, .decoded),
    ]
}
