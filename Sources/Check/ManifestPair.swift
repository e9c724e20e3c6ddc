internal import Bundles
internal import Digest

/// A manifest that only names another one, such as `chcp.json`, and the one that it names. If keys are trusted, each of
/// them is signed. That alone would let a server combine any two that were ever signed:
///
/// | the first one gives | the second one counts if |
/// | --- | --- |
/// | the digest of the second one | it has this digest, also without trusted keys |
/// | its version, which the second one lacks | the time of its signature is known, so that its age can be compared, too |
/// | neither | it would count alone |
struct ManifestPair {
    private let first: Manifest
    private let firstName: String
    private let second: ManifestLoader.Document
    private let secondName: String

    init(
        _ first: Manifest, named firstName: ManifestLocation, _ second: ManifestLoader.Document,
        named secondName: ManifestLocation
    ) {
        (self.first, self.firstName) = (first, firstName.name)
        (self.second, self.secondName) = (second, secondName.name)
    }

    /// Whether only the signatures say that the version belongs to the second manifest (`ManifestAge.isVersionSeparate`).
    ///
    /// - Throws: `LarderError` of kind `.refused` if the two do not belong together.
    func isVersionSeparate() throws(LarderError) -> Bool {
        if let expected = first.continuationDigest {
            guard DigestStream.digest(expected.algorithm, of: second.bytes.span) == expected else {
                throw LarderError(
                    .refused,
                    "the manifest \(secondName) is refused: it is not the one whose digest \(firstName) gives, so that the "
                        + "files of two releases are combined: have its publisher publish both again, or try again if a "
                        + "release is being published now")
            }
            return false
        }
        guard first.version != nil, second.manifest.version == nil, let signer = second.signer else {
            return false
        }
        let signature = try? MinisignSignature(signer.signature)
        guard second.manifest.created != nil || signature?.timestamp != nil else {
            throw LarderError(
                .refused,
                "the manifest \(secondName) is refused: nothing proves that it belongs to \(firstName), which does not give its "
                    + "digest, and its signature has no time: have its publisher write both with larder manifest, or sign "
                    + "with a \"timestamp:\" in the trusted comment")
        }
        return true
    }
}
