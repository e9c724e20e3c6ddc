package import Digest
internal import Web

/// Subresource Integrity metadata from an attribute, an import map or a manifest.
///
/// Of several algorithms only the strongest counts, and any of its digests may match. Text without a known
/// algorithm requires nothing. A malformed digest matches no body.
package struct Integrity: Sendable, Hashable {
    /// The metadata as it was written.
    package let text: String
    /// The strongest algorithm in the text; nil if it has no known one.
    package let algorithm: DigestAlgorithm?
    /// The valid digests of the strongest algorithm.
    package let digests: [Digest]
    /// The words that browsers ignore: malformed digests and unknown algorithms.
    package let unusable: [String]

    package init(_ text: String) {
        self.text = text
        var strongest: DigestAlgorithm?
        var digests: [Digest] = []
        var unusable: [String] = []
        let words = text.utf8.split { $0 <= 0x20 }.prefix(ManifestLimits.maxIntegrityDigests)
        for word in words {
            let expression = word.prefix { $0 != 0x3F }
            let name = expression.prefix { $0 != 0x2D }
            guard let algorithm = Self.algorithm(name), expression.count > name.count else {
                unusable.append(String(decoding: word, as: UTF8.self))
                continue
            }
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
        self.unusable = unusable
    }

    package init(_ digest: Digest) {
        self.init("\(digest.algorithm.rawValue)-\(Base64.encode(digest.bytes))")
    }

    /// Whether a browser accepts the body. It accepts any body if no known algorithm is named.
    package func isMet(by bytes: Span<UInt8>) -> Bool {
        algorithm.map { digests.contains(DigestStream.digest($0, of: bytes)) } ?? true
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

    /// Decodes a digest. The SRI grammar also allows the base64url alphabet.
    private static func digest(_ algorithm: DigestAlgorithm, _ value: some Collection<UInt8>) -> Digest? {
        let plain = value.map { $0 == 0x2D ? 0x2B : $0 == 0x5F ? 0x2F : $0 }
        return Base64.decodeForgiving(String(decoding: plain, as: UTF8.self)).flatMap {
            Digest(algorithm, bytes: $0)
        }
    }
}
