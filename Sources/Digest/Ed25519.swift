internal import COpenSSL

/// A public key for Ed25519 signatures (RFC 8032). It verifies the signatures of its private key.
package struct Ed25519PublicKey: Hashable, Sendable {
    /// The encoded point, 32 bytes.
    package let bytes: [UInt8]

    package static let byteCount = 32

    /// Returns nil unless there are exactly 32 bytes. Bytes that encode no point of the curve make a key for
    /// which no signature is valid.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Whether the signature of the whole message is valid. A signature that does not have 64 bytes is invalid.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard signature.count == Ed25519PrivateKey.signatureByteCount,
            let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
        else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        // There is no digest to name: Ed25519 hashes the message itself.
        return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

/// A private key for Ed25519 signatures (RFC 8032). The seed is the key and must be kept secret.
///
///     let key = Ed25519PrivateKey()
///     let signature = key?.sign(message)
package struct Ed25519PrivateKey: Sendable {
    /// The 32 bytes from which RFC 8032 derives everything else.
    package let seed: [UInt8]
    package let publicKey: Ed25519PublicKey

    static let signatureByteCount = 64
    private static let seedByteCount = 32

    /// Generates a new key; nil if OpenSSL fails.
    package init?() {
        var source = SystemRandomNumberGenerator()
        self.init(seed: (0..<Self.seedByteCount).map { _ in UInt8.random(in: 0 ... .max, using: &source) })
    }

    /// Restores a key; nil unless there are exactly 32 bytes, or if OpenSSL fails.
    package init?(seed: [UInt8]) {
        guard seed.count == Self.seedByteCount, let key = Self.handle(seed) else { return nil }
        defer { EVP_PKEY_free(key) }
        var bytes = [UInt8](repeating: 0, count: Ed25519PublicKey.byteCount)
        var count = bytes.count
        guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == bytes.count,
            let publicKey = Ed25519PublicKey(bytes)
        else { return nil }
        self.seed = seed
        self.publicKey = publicKey
    }

    /// Returns the signature of the message, 64 bytes. The same message always has the same signature.
    ///
    /// Failures of libcrypto are preconditions, as in ``DigestStream``: an invalid signature must never be
    /// returned.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let key = Self.handle(seed), let context = EVP_MD_CTX_new() else {
            preconditionFailure("libcrypto has no Ed25519, or no memory is left")
        }
        defer {
            EVP_MD_CTX_free(context)
            EVP_PKEY_free(key)
        }
        var signature = [UInt8](repeating: 0, count: Self.signatureByteCount)
        var count = signature.count
        let isSigned =
            EVP_DigestSignInit(context, nil, nil, nil, key) == 1
            && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        precondition(isSigned && count == signature.count, "libcrypto did not sign")
        return signature
    }

    /// Returns the key as OpenSSL represents it. The caller frees it.
    private static func handle(_ seed: [UInt8]) -> OpaquePointer? {
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
    }
}
