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
    /// Whether the text of a key is a certificate.
    static func isCertificate(_ text: String) -> Bool {
        text.hasPrefix(CodeSigningCertificate.storedPrefix) || CodeSigningCertificate.occurs(in: text)
    }

    /// Reads a certificate as it is stored, or the text of a PEM file with one certificate.
    static func certificate(_ text: String) throws(CodeSigningError) -> CodeSigningCertificate {
        let prefix = CodeSigningCertificate.storedPrefix
        guard text.hasPrefix(prefix) else { return try CodeSigningCertificate(pem: text) }
        guard let bytes = Base64.decode(String(text.dropFirst(prefix.count))) else {
            throw .unreadable("a certificate is not base64")
        }
        return try CodeSigningCertificate(der: bytes)
    }

    /// Decides whether a response of a server of Expo Updates is accepted.
    ///
    /// - Parameter time: when the certificates must be valid, in seconds since 1970.
    func verify(_ response: ExpoResponse, at time: Int64) throws(ManifestRefusal) -> ManifestSigner {
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
    /// Precedes the base64 of a certificate that is stored with a site.
    static let storedPrefix = "certificate:"

    /// The certificate as it is stored with a site.
    var storedText: String { Self.storedPrefix + Base64.encode(bytes) }

    /// The certificate as the signer of a manifest.
    var signerText: String { "x509:" + fingerprint }

    /// The certificate in messages.
    var name: String { "the certificate \(fingerprint.prefix(16))…" }
}
