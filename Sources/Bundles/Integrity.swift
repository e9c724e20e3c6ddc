package import Digest
internal import Web

/// Subresource Integrity metadata from an attribute, an import map or a manifest.
///
/// If there are digests of several algorithms, only those of the strongest count, and one of them must match. If there are
/// public keys (`ed25519-…`), one of them must have signed the response, in addition to the digest. Text without a known
/// algorithm requires nothing. A malformed digest matches no body, and a malformed key has signed nothing.
package struct Integrity: Sendable, Hashable {
    /// The metadata as it was written.
    package let text: String
    /// The strongest algorithm in the text; nil if it has no known one.
    package let algorithm: DigestAlgorithm?
    /// The valid digests of the strongest algorithm.
    package let digests: [Digest]
    /// The valid public keys of Ed25519 signatures.
    package let keys: [Ed25519PublicKey]
    /// Whether one of the keys must have signed the response. If all are malformed, no response is accepted.
    package let requiresSignature: Bool
    /// The words that no response can match (malformed digests and keys), and those that browsers ignore (unknown
    /// algorithms).
    package let unusable: [String]

    /// The name of the signature algorithm in front of a key.
    static let signatureAlgorithm = "ed25519"

    package init(_ text: String) {
        self.text = text
        var keys: [Ed25519PublicKey] = []
        var requiresSignature = false
        var strongest: DigestAlgorithm?
        var digests: [Digest] = []
        var unusable: [String] = []
        let words = text.utf8.split { $0 <= 0x20 }.prefix(ManifestLimits.maxIntegrityDigests)
        for word in words {
            let expression = word.prefix { $0 != 0x3F }
            let name = expression.prefix { $0 != 0x2D }
            if HTTPGrammar.lowercased(name) == Self.signatureAlgorithm, expression.count > name.count {
                requiresSignature = true
                let key = Self.decode(expression.dropFirst(name.count + 1)).flatMap { Ed25519PublicKey($0) }
                if let key {
                    keys.append(key)
                } else {
                    unusable.append(String(decoding: word, as: UTF8.self))
                }
                continue
            }
            guard let algorithm = Self.algorithm(name), expression.count > name.count else {
                unusable.append(String(decoding: word, as: UTF8.self))
                continue
            }
            // Of the three algorithms, the one with the longer digest is the stronger one.
            if let known = strongest, algorithm.byteCount < known.byteCount { continue }
            if algorithm != strongest { digests = [] }
            strongest = algorithm
            if let digest = Self.digest(algorithm, expression.dropFirst(name.count + 1)) {
                digests.append(digest)
            } else {
                unusable.append(String(decoding: word, as: UTF8.self))
            }
        }
        algorithm = strongest
        self.digests = digests
        self.keys = keys
        self.requiresSignature = requiresSignature
        self.unusable = unusable
    }

    /// Whether a browser accepts the body. It accepts any body if no known algorithm is named.
    ///
    /// - Parameter response: the digests and signatures in the header fields of the response; nil if these are not known.
    ///   The body is then refused if a signature is required.
    package func isMet(by bytes: Span<UInt8>, _ response: ResponseIntegrity?) -> Bool {
        if let response, !response.accepts(bytes) { return false }
        if requiresSignature, response.flatMap(signer) == nil { return false }
        return algorithm.map { digests.contains(DigestStream.digest($0, of: bytes)) } ?? true
    }

    /// The first of the keys that has signed the response.
    func signer(of response: ResponseIntegrity) -> Ed25519PublicKey? {
        keys.first { response.signers.contains($0) }
    }

    /// The value of `Accept-Signature` (RFC 9421, section 5.1), by which a browser asks the server for a signature by
    /// one of the keys; nil if there is none.
    package var acceptSignature: String? {
        guard !keys.isEmpty else { return nil }
        return keys.enumerated().map { number, key in
            "sig\(number)=(\"unencoded-digest\";sf);keyid=\"\(Base64.encode(key.bytes))\";tag=\"ed25519-integrity\""
        }.joined(separator: ", ")
    }

    /// The keys of which one is expected to have signed, as reports show them.
    var expectedSigner: String {
        switch keys.count {
        case 0: "a signature by a key, which \"\(text)\" does not name"
        case 1: "a signature by \(keys[0].integrityText)"
        default: "a signature by one of " + keys.map(\.integrityText).joined(separator: ", ")
        }
    }

    /// The expected digests, as reports show them.
    var expected: String {
        switch digests.count {
        case 0: "a digest, which \"\(text)\" is not"
        case 1: digests[0].description
        default: "any of " + digests.map(\.description).joined(separator: ", ")
        }
    }

    private static func algorithm(_ name: some Collection<UInt8>) -> DigestAlgorithm? {
        let known: [DigestAlgorithm] = [.sha256, .sha384, .sha512]
        return known.first { $0.rawValue.utf8.elementsEqual(name.map(\.lowercasedASCII)) }
    }

    private static func digest(_ algorithm: DigestAlgorithm, _ value: some Collection<UInt8>) -> Digest? {
        decode(value).flatMap { Digest(algorithm, bytes: $0) }
    }

    /// Decodes a digest or a key. The SRI grammar also allows the base64url alphabet.
    private static func decode(_ value: some Collection<UInt8>) -> [UInt8]? {
        let plain = value.map { $0 == 0x2D ? 0x2B : $0 == 0x5F ? 0x2F : $0 }
        return Base64.decodeForgiving(String(decoding: plain, as: UTF8.self))
    }
}
