internal import Bundles
internal import Digest
internal import Web

/// Code signing of Expo Updates: the signature of a manifest or directive by a certificate that the user trusts.
///
/// | the response | decision |
/// | --- | --- |
/// | is signed by the trusted certificate | accepted |
/// | is signed by a certificate that the trusted one has signed, sent with it | accepted |
/// | has no `expo-signature`, or an unreadable one | refused |
/// | is signed by another key, or has other bytes than were signed | refused |
/// | a certificate is expired, not for signing code, or too weak | refused |
///
/// `keyid` is ignored, as the key is that of the certificate.
extension ManifestTrust {
    /// Decides whether a response of a server of Expo Updates is accepted.
    ///
    /// - Parameter time: when the certificates must be valid, in seconds since 1970; nil for a stored response, which was verified
    ///   before.
    func verify(_ response: ExpoResponse, at time: Int64?) throws(ManifestRefusal) -> ManifestSigner {
        guard let text = response.signature else { throw .unsigned("it has no expo-signature") }
        let signature: [UInt8]
        do throws(ExpoSignatureError) {
            signature = try ExpoSignature(text).bytes
        } catch {
            throw .damaged(error.description)
        }
        let chain: [CodeSigningCertificate]
        do throws(CodeSigningError) {
            chain = try CodeSigningCertificate.list(pem: response.certificateChain ?? "")
        } catch {
            throw .damaged(error.description)
        }
        var refusals: [CodeSigningError] = []
        for certificate in certificates {
            do throws(CodeSigningError) {
                try certificate.verify(signature, of: response.signedBytes, chain: chain, at: time)
                return ManifestSigner(key: certificate.signerText, signature: text)
            } catch {
                refusals.append(error)
            }
        }
        let reasons = Set(refusals.filter { $0 != .mismatch }.map(\.description)).sorted()
        throw reasons.isEmpty ? .otherSigner : .untrusted(reasons.joined(separator: "; "))
    }
}

extension CodeSigningCertificate {
    /// The certificate in messages.
    var name: String { "the certificate \(fingerprint.prefix(16))…" }
}
