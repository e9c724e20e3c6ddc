package import Digest

/// The proof that a bundle is right: the strongest digest that it matches, and the trusted key that signed the digest.
///
/// Its text is shown beside verdicts, and stored with those that the portal shows: `sha256, signed by RWQf…`.
package struct BundleProof: Sendable, Equatable {
    package let algorithm: DigestAlgorithm
    /// The key that signed the manifest, as minisign's text; nil if no signature was required.
    package let signer: String?

    package init(_ algorithm: DigestAlgorithm, signer: String?) {
        self.algorithm = algorithm
        self.signer = signer
    }

    /// Splits a stored detail into the proof at its beginning and the rest after `; `; nil if it begins with no proof.
    package static func split(_ detail: String) -> (proof: BundleProof, rest: String?)? {
        let bytes = Array(detail.utf8)
        let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
        let comma = bytes[..<end].firstIndex(of: UInt8(ascii: ",")) ?? end
        guard let algorithm = DigestAlgorithm(rawValue: String(decoding: bytes[..<comma], as: UTF8.self)),
            comma == end || bytes[comma..<end].starts(with: Self.signedBy.utf8)
        else { return nil }
        let signer = bytes[comma..<end].dropFirst(Self.signedBy.utf8.count)
        let rest = bytes[end...].dropFirst("; ".utf8.count)
        return (
            BundleProof(algorithm, signer: signer.isEmpty ? nil : String(decoding: signer, as: UTF8.self)),
            rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
        )
    }

    private static let signedBy = ", signed by "

    /// The proof with the whole key.
    package var text: String { algorithm.rawValue + (signer.map { Self.signedBy + $0 } ?? "") }

    /// The proof with a fingerprint in place of the key, for people.
    package var brief: String { brief(with: []) }

    /// The same with further digests that match too: `sha256, md5, signed by RWQf…`.
    package func brief(with otherAlgorithms: [String]) -> String {
        ([algorithm.rawValue] + otherAlgorithms).joined(separator: ", ")
            + (signer.map { Self.signedBy + Self.fingerprint(ofKey: $0) } ?? "")
    }

    /// The proofs of several bundles, with the number of each: `sha256 (12), md5 (1), signed by RWQf…`. Nil if there is no proof.
    ///
    /// - Parameter count: the number of bundles of which an algorithm is the strongest.
    package static func summary(signer: String?, _ count: (DigestAlgorithm) -> Int) -> String? {
        let counts = DigestAlgorithm.allCases.reversed().compactMap { algorithm -> String? in
            let count = count(algorithm)
            return count > 0 ? "\(algorithm.rawValue) (\(count))" : nil
        }
        guard !counts.isEmpty else { return nil }
        return counts.joined(separator: ", ") + (signer.map { signedBy + fingerprint(ofKey: $0) } ?? "")
    }

    /// A short form of a public key or of the digest of a certificate, for messages; the text itself if it is neither.
    package static func fingerprint(ofKey text: String) -> String {
        let signer = (try? CodeSigningCertificate(storedText: text))?.signerText ?? text
        let prefix = CodeSigningCertificate.signerPrefix
        if signer.hasPrefix(prefix) { return signer.prefix(prefix.count + 16) + "…" }
        return (try? MinisignPublicKey(text))?.fingerprint ?? text
    }
}
