internal import COpenSSL
internal import Web

/// A private key for RSASSA-PKCS1-v1_5 signatures with SHA-256, which sign updates for Expo's client. It is immutable, and
/// OpenSSL allows concurrent use of a key, so any thread may use it.
package final class RSAPrivateKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// The maximum size of a PEM file. A key of 16,384 bits has about 12,700 bytes.
    package static let maxTextBytes = 16 * 1024
    /// The same limits as for the public keys of those who verify.
    private static let allowedBits: ClosedRange<Int32> = 2048...16_384

    /// Reads a PEM file with one private key, as OpenSSL and Expo's tools write it: PKCS #8 ("PRIVATE KEY") or PKCS #1
    /// ("RSA PRIVATE KEY"), without a passphrase. Returns nil for anything else, and for keys of under 2048 bits.
    package init?(pem: String) {
        guard let bytes = Self.decode(pem) else { return nil }
        let key = bytes.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &next, bytes.count)
        }
        ERR_clear_error()
        guard let key else { return nil }
        pointer = key
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA, Self.allowedBits.contains(EVP_PKEY_get_bits(key))
        else { return nil }
    }

    deinit { EVP_PKEY_free(pointer) }

    private static func decode(_ pem: String) -> [UInt8]? {
        guard pem.utf8.count <= maxTextBytes else { return nil }
        let lines = pem.utf8.split { $0 == 0x0A || $0 == 0x0D }.map { String(Substring($0)) }
        guard lines.count >= 3, let first = lines.first, let last = lines.last,
            ["PRIVATE KEY", "RSA PRIVATE KEY"].contains(where: {
                first == "-----BEGIN \($0)-----" && last == "-----END \($0)-----"
            })
        else { return nil }
        return Base64.decode(lines.dropFirst().dropLast().joined())
    }

    /// Returns the signature of the message. The same message always has the same signature.
    ///
    /// Failures of libcrypto are preconditions, as in ``DigestStream``: an invalid signature must never be returned.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("no memory is left") }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(pointer)))
        var count = signature.count
        // The padding of RSA keys is PKCS1-v1_5 unless another one is set.
        let isSigned =
            EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pointer) == 1
            && EVP_DigestSign(context, &signature, &count, message, message.count) == 1
        precondition(isSigned && count <= signature.count, "libcrypto did not sign")
        return Array(signature[..<count])
    }
}
