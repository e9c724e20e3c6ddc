internal import COpenSSL
internal import Web

/// A public key for signatures by ECDSA or RSA, read from PEM as OpenSSL writes it ("BEGIN PUBLIC KEY"). It is immutable,
/// and OpenSSL allows concurrent use of a key, so any thread may use it.
package final class PEMPublicKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// A longer text is not a key. An RSA key of 16,384 bits has about 2,900 bytes.
    private static let maxTextBytes = 8 * 1024
    private static let maxSignatureBytes = 2048
    /// The TUF specification requires at least 2048 bits. Larger keys than the maximum only cost time.
    private static let allowedRSABits: ClosedRange<Int32> = 2048...16_384

    /// Returns nil if the text is not exactly one public key.
    ///
    /// The text is decoded here and not by OpenSSL's `PEM_read_bio_PUBKEY`, which asks on the terminal for a passphrase if
    /// the text says that it is encrypted.
    package init?(_ pem: String) {
        guard pem.utf8.count <= Self.maxTextBytes, let bytes = Self.decode(pem) else { return nil }
        let key = bytes.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            let key = d2i_PUBKEY(nil, &next, bytes.count)
            guard let key, let start = bytes.baseAddress, next == start + bytes.count else {
                EVP_PKEY_free(key)
                return nil
            }
            return key
        }
        ERR_clear_error()
        guard let key else { return nil }
        pointer = key
    }

    /// Takes ownership of an OpenSSL object, such as the key of a certificate.
    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    deinit { EVP_PKEY_free(pointer) }

    /// The public key as a SubjectPublicKeyInfo in DER; nil if the text is not PEM.
    private static func decode(_ pem: String) -> [UInt8]? {
        let lines = pem.utf8.split { $0 == 0x0A || $0 == 0x0D }.map { String(Substring($0)) }
        guard lines.count >= 3, lines.first == "-----BEGIN PUBLIC KEY-----",
            lines.last == "-----END PUBLIC KEY-----"
        else { return nil }
        return Base64.decode(lines.dropFirst().dropLast().joined())
    }

    /// Whether the signature is a valid ECDSA signature with SHA-256, in DER, by a key on the curve P-256. Returns false if
    /// the key is of another kind.
    package func verifiesECDSAOnP256(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC, curve == "prime256v1" else { return false }
        return verifies(signature, of: message) { _ in true }
    }

    /// Whether the signature is a valid RSASSA-PSS signature with SHA-256 and a salt of any length (RFC 8017, section 8.1).
    /// Returns false if the key is of another kind or has under 2048 bits.
    package func verifiesRSAPSS(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA,
            Self.allowedRSABits.contains(EVP_PKEY_get_bits(pointer))
        else { return false }
        return verifies(signature, of: message) { context in
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_AUTO) == 1
        }
    }

    /// Whether the signature is a valid RSASSA-PKCS1-v1_5 signature with SHA-256 (RFC 8017, section 8.2). Returns false if the
    /// key is of another kind or has under 2048 bits.
    func verifiesRSAPKCS1(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA,
            Self.allowedRSABits.contains(EVP_PKEY_get_bits(pointer))
        else { return false }
        return verifies(signature, of: message) {
            EVP_PKEY_CTX_set_rsa_padding($0, RSA_PKCS1_PADDING) == 1
        }
    }

    /// OpenSSL's name of the curve; nil if the key is not on a named curve.
    private var curve: String? {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1 else { return nil }
        return String(decoding: name.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func verifies(
        _ signature: [UInt8], of message: [UInt8], configure: (OpaquePointer?) -> Bool
    ) -> Bool {
        guard (1...Self.maxSignatureBytes).contains(signature.count), let context = EVP_MD_CTX_new() else {
            return false
        }
        defer {
            EVP_MD_CTX_free(context)
            // A wrong signature leaves an error on this thread's queue, which TLS would take for its own.
            ERR_clear_error()
        }
        var keyContext: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &keyContext, EVP_sha256(), nil, pointer) == 1,
            configure(keyContext)
        else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
