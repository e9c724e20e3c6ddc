package import Digest
package import Web

/// A statement about a body, from a manifest, a header field, an ETag or a file name. For example, `Repr-Digest:
/// sha-256=:…:` states the SHA-256 of the body with its content coding.
package struct Claim: Sendable, Hashable {
    /// The property of the body that is stated.
    package enum Content: Sendable, Hashable {
        case digest(Digest)
        /// Any digest of the strongest algorithm may match.
        case integrity(Integrity)
        case byteCount(Int)
        /// The first digits of the digest, as lower-case hexadecimal digits.
        case prefix(DigestAlgorithm, String)
    }

    /// The form of the body that the claim is about.
    package enum Subject: String, Sendable, Hashable {
        /// The body after all content codings are decoded, as browsers use it and the store contains it.
        case decoded
        /// The body as sent: with its content coding, without transfer coding. The same as `decoded` if there
        /// is no content coding.
        case encoded
    }

    /// The weight of a claim.
    package enum Strength: Sendable, Hashable {
        /// If the claim does not hold, the body is wrong.
        case strong
        /// The claim may have another meaning, or hold by chance. It is reported, but neither fails nor
        /// verifies a body.
        case weak
    }

    package var content: Content
    package var subject: Subject
    package var strength: Strength
    /// The origin of the claim, as reports show it: `md5`, `integrity`, `Repr-Digest`, `ETag`, `file name`.
    package var source: String

    package init(
        _ content: Content, of subject: Subject = .decoded, _ strength: Strength = .strong, source: String
    ) {
        self.content = content
        self.subject = subject
        self.strength = strength
        self.source = source
    }

    /// Creates a claim whose source is the algorithm's name in manifests.
    package init(_ digest: Digest) {
        self.init(.digest(digest), source: digest.algorithm.rawValue)
    }

    package init(byteCount: Int) {
        self.init(.byteCount(byteCount), source: Self.sizeSource)
    }

    static let sizeSource = "size"
    static let unencodedDigestSource = "Unencoded-Digest"
    static let signatureSource = "Signature"

    package init(_ integrity: Integrity) {
        self.init(.integrity(integrity), source: "integrity")
    }

    /// Whether the claim comes from a digest or signature field of the response (`fieldNames`). False for the
    /// weak claim of an ETag.
    var isFromResponse: Bool { Self.fieldNames.contains(source) }

    /// The digest algorithm that is needed to check the claim; nil if none is.
    package var algorithm: DigestAlgorithm? {
        switch content {
        case .digest(let digest): digest.algorithm
        case .integrity(let integrity): integrity.algorithm
        case .byteCount: nil
        case .prefix(let algorithm, _): algorithm
        }
    }

    /// Whether the claim verifies a body for which it holds.
    package var isProof: Bool {
        guard strength == .strong else { return false }
        switch content {
        case .digest: return true
        case .integrity(let integrity): return integrity.algorithm != nil || integrity.requiresSignature
        // A size or a prefix may match by chance.
        case .byteCount, .prefix: return false
        }
    }
}

extension Claim {
    /// The result of checking a claim.
    enum Outcome: Equatable {
        case holds
        case fails(Failure)
        /// The claim cannot be checked: the reason.
        case unchecked(String)
    }

    /// A claim that failed, with the value that was found instead.
    package struct Failure: Sendable, Equatable {
        /// The origin of the claim, as reports show it; see `Claim.source`.
        package let source: String
        package let subject: Subject
        /// The expected value, as reports show it: `MD5 …`, `7 bytes`, `any of SHA-256 …, SHA-256 …`.
        package let expected: String
        package let found: String
        /// A possible cause, if one is known.
        package let hint: String?
        /// The algorithm of the digest; nil for a size or a signature.
        package let algorithm: DigestAlgorithm?

        /// The failure of a response whose signature is wrong, whether or not a manifest or page demands one.
        static func wrongSignature(found: String) -> Failure {
            Failure(
                source: signatureSource, subject: .decoded, expected: "valid signatures", found: found,
                hint: nil, algorithm: nil)
        }

        /// Whether the claim comes from a digest or signature field of the response, as in `Claim.isFromResponse`.
        var isFromResponse: Bool { Claim.fieldNames.contains(source) }
    }

    /// Compares the claim with a measured body.
    func outcome(on measurement: Measurement) -> Outcome {
        guard let body = subject == .decoded ? measurement.decoded : measurement.encoded else {
            return .unchecked("\(source) covers the bytes as they were sent, which are not available")
        }
        switch content {
        case .byteCount(let count):
            return count == body.byteCount ? .holds : failure("\(count) bytes", "\(body.byteCount) bytes")
        case .digest(let digest):
            return compare(digest.algorithm, digest.description, body, measurement) { $0 == digest }
        case .prefix(let algorithm, let hex):
            return compare(algorithm, "\(algorithm.label) \(hex)…", body, measurement) {
                $0.hex.hasPrefix(hex)
            }
        case .integrity(let integrity):
            guard let algorithm = integrity.algorithm else {
                return integrity.requiresSignature
                    ? signatureOutcome(integrity, measurement) : .unchecked("\(source) has no known digest")
            }
            let outcome = compare(algorithm, integrity.expected, body, measurement) {
                integrity.digests.contains($0)
            }
            guard integrity.requiresSignature, outcome == .holds else { return outcome }
            return signatureOutcome(integrity, measurement)
        }
    }

    /// Checks that one of the keys in the integrity metadata has signed the response. The signature covers only the digest
    /// in the header fields; `Bundle.finding(on:)` compares that digest with the body.
    private func signatureOutcome(_ integrity: Integrity, _ measurement: Measurement) -> Outcome {
        guard let response = measurement.response else {
            return .unchecked(
                "\(source) names a key, but the header fields with the signature are not available")
        }
        // Not a failure here, because `Bundle.finding(on:)` already reports the wrong signature.
        if let refusal = response.refusal { return .unchecked(refusal) }
        return integrity.signer(of: response) == nil
            ? failure(integrity.expectedSigner, response.found) : .holds
    }

    /// The outcome of a claim about a digest.
    ///
    /// - Parameter agrees: whether the measured digest satisfies the claim.
    private func compare(
        _ algorithm: DigestAlgorithm, _ expected: String, _ body: Measurement.Body,
        _ measurement: Measurement,
        _ agrees: (Digest) -> Bool
    ) -> Outcome {
        guard let found = body.digest(algorithm) else {
            return .unchecked("its \(algorithm.label) was not computed")
        }
        guard !agrees(found) else { return .holds }
        // Proxies that compress responses often leave the digest of the uncompressed body.
        let matchesDecodedBody =
            subject == .encoded && measurement.decoded.digest(algorithm).map(agrees) == true
        return failure(
            expected, found.description, algorithm,
            hint: matchesDecodedBody ? "it matches the decoded body, which was compressed on the way" : nil)
    }

    private func failure(
        _ expected: String, _ found: String, _ algorithm: DigestAlgorithm? = nil, hint: String? = nil
    ) -> Outcome {
        .fails(
            Failure(
                source: source, subject: subject, expected: expected, found: found, hint: hint,
                algorithm: algorithm))
    }
}

extension Claim {
    /// Returns the claims that the header fields of a response make about its body. All are strong.
    ///
    /// | field | is about |
    /// | --- | --- |
    /// | `Repr-Digest`, `Digest` | the whole representation in its content coding, also in a partial response |
    /// | `Content-Digest`, `Content-MD5` | the content of this response, in its content coding |
    /// | `id-sha-256` and the like in `Digest` (RFC 5843) | the decoded body |
    ///
    /// Unknown algorithms and digests of a wrong length are ignored. `Unencoded-Digest` is not included:
    /// `ResponseIntegrity` reads it together with the signatures.
    ///
    /// - Parameter isPartial: whether the response is a 206. Fields about its content alone are then ignored.
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
        // `fieldNames` lists these names too.
        add(fields.joinedValues("Repr-Digest").map(FieldDigest.parseStructured) ?? [], "Repr-Digest")
        add(fields.joinedValues("Digest").map(FieldDigest.parseLegacy) ?? [], "Digest")
        guard !isPartial else { return list }
        add(fields.joinedValues("Content-Digest").map(FieldDigest.parseStructured) ?? [], "Content-Digest")
        add(fields["Content-MD5"].flatMap(FieldDigest.parseContentMD5).map { [$0] } ?? [], "Content-MD5")
        return list
    }

    fileprivate static let fieldNames = [
        "Repr-Digest", "Digest", "Content-Digest", "Content-MD5", unencodedDigestSource, signatureSource,
    ]

    /// Creates a weak claim from an ETag with 32 hexadecimal digits; returns nil for every other tag. S3 and
    /// similar servers use the MD5 of objects that were uploaded in one piece, but other servers use such
    /// tags without any digest. A tag of the form `hex-N`, for objects uploaded in several parts, is not a
    /// digest.
    package init?(_ tag: EntityTag) {
        let digits = String(tag.text.dropFirst(tag.isWeak ? 2 : 0).filter { $0 != "\"" })
        guard let md5 = Digest(.md5, hex: digits) else { return nil }
        // A server that compresses responses makes the tag weak, but it still describes the uncompressed
        // body.
        self.init(.digest(md5), of: tag.isWeak ? .decoded : .encoded, .weak, source: "ETag")
    }

    /// Algorithms by their names in RFC 9530's registry, RFC 3230 and RFC 5843.
    private static let known: [String: (DigestAlgorithm, Subject)] = [
        "md5": (.md5, .encoded), "sha": (.sha1, .encoded), "sha-1": (.sha1, .encoded),
        "sha-256": (.sha256, .encoded), "sha-384": (.sha384, .encoded), "sha-512": (.sha512, .encoded),
        "id-sha": (.sha1, .decoded), "id-sha-256": (.sha256, .decoded), "id-sha-512": (.sha512, .decoded),
    ]
}
