internal import COpenSSL

/// A private key for ECDSA signatures with SHA-256 on the curve P-384, which readers of signed web archives
/// support. It is immutable, and OpenSSL allows concurrent use of a key, so any thread may use it.
///
///     let key = SigningKey()
///     let signature = key?.sign(bytes)
package final class SigningKey: @unchecked Sendable {
    private let pointer: OpaquePointer

    private static let curve = "P-384"

    /// Generates a new key; nil if OpenSSL fails.
    package init?() {
        guard let pointer = larder_new_signing_key(Self.curve) else { return nil }
        self.pointer = pointer
    }

    /// Restores a key from the bytes of `der`; nil if they are not a P-384 key.
    package init?(der bytes: [UInt8]) {
        let key = bytes.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &next, bytes.count)
        }
        guard let key else { return nil }
        pointer = key
        guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC, EVP_PKEY_get_bits(pointer) == 384 else {
            return nil
        }
    }

    deinit { EVP_PKEY_free(pointer) }

    /// The private key in DER. Must be kept secret.
    package var der: [UInt8] { Self.der { i2d_PrivateKey(pointer, &$0) } }

    /// The public key, with which others verify signatures: a SubjectPublicKeyInfo in DER.
    package var publicKey: [UInt8] { Self.der { i2d_PUBKEY(pointer, &$0) } }

    /// Calls one of OpenSSL's encoding functions, which allocate their output, and returns a copy of it.
    private static func der(_ encode: (inout UnsafeMutablePointer<UInt8>?) -> Int32) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = encode(&bytes)
        guard count > 0, let bytes else { return [] }
        defer { CRYPTO_free(bytes, #file, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Returns the signature of the bytes as two concatenated 48-byte numbers, the format of the Web
    /// Cryptography API; nil if OpenSSL fails.
    package func sign(_ bytes: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: 256)
        var count = signature.count
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pointer) == 1,
            EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1
        else { return nil }
        return DERSignature.numbers(Array(signature[..<count]), size: 48)
    }

    /// Whether the signature of the bytes is valid for a public key. Accepts keys on any curve; returns false
    /// if the key or the signature is malformed.
    package static func verify(_ signature: [UInt8], of bytes: [UInt8], by publicKey: [UInt8]) -> Bool {
        guard (2...256).contains(signature.count), publicKey.count <= 4096 else { return false }
        let key = publicKey.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_PUBKEY(nil, &next, bytes.count)
        }
        guard let key else { return false }
        defer { EVP_PKEY_free(key) }
        let size = (Int(EVP_PKEY_get_bits(key)) + 7) / 8
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC, signature.count == size * 2,
            let context = EVP_MD_CTX_new()
        else {
            return false
        }
        defer { EVP_MD_CTX_free(context) }
        let encoded = DERSignature.encoded(signature)
        return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
            && EVP_DigestVerify(context, encoded, encoded.count, bytes, bytes.count) == 1
    }
}

/// Converts signatures between two concatenated numbers and OpenSSL's format, a DER sequence of two integers
/// (RFC 3279, section 2.2.3).
enum DERSignature {
    /// Returns the concatenated numbers of a DER signature; nil if it is malformed.
    ///
    /// - Parameter size: the size of each number in bytes.
    static func numbers(_ bytes: [UInt8], size: Int) -> [UInt8]? {
        guard bytes.count >= 2, bytes[0] == 0x30, Int(bytes[1]) == bytes.count - 2 else { return nil }
        // A sequence (tag 0x30) of two integers (tag 0x02), each tag followed by a length of one byte.
        var (offset, numbers) = (2, [UInt8]())
        for _ in 0..<2 {
            guard offset + 2 <= bytes.count, bytes[offset] == 0x02,
                offset + 2 + Int(bytes[offset + 1]) <= bytes.count
            else {
                return nil
            }
            let number = bytes[(offset + 2)..<(offset + 2 + Int(bytes[offset + 1]))].drop { $0 == 0 }
            guard number.count <= size else { return nil }
            numbers += [UInt8](repeating: 0, count: size - number.count) + number
            offset += 2 + Int(bytes[offset + 1])
        }
        return offset == bytes.count ? numbers : nil
    }

    /// Returns the DER encoding of two concatenated numbers of the same size.
    static func encoded(_ numbers: [UInt8]) -> [UInt8] {
        let half = numbers.count / 2
        let parts = [numbers[..<half], numbers[half...]].flatMap { number in
            let bare = number.drop { $0 == 0 }
            // A first byte with the high bit set would make the number negative.
            let positive = (bare.first ?? 0x80) & 0x80 == 0 ? Array(bare) : [0] + bare
            return [0x02, UInt8(positive.count)] + positive
        }
        return parts.count < 0x80
            ? [0x30, UInt8(parts.count)] + parts : [0x30, 0x81, UInt8(parts.count)] + parts
    }
}
