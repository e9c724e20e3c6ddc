internal import COpenSSL

/// A private key for ECDSA signatures with SHA-256 on the curve P-384, which readers of signed web archives
/// support. It is immutable, so any thread may use it.
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

    /// Restores a key from the bytes of `stored`; nil if they are not a P-384 key.
    package init?(stored bytes: [UInt8]) {
        let found = bytes.withUnsafeBufferPointer { bytes in
            var place = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &place, bytes.count)
        }
        guard let found else { return nil }
        pointer = found
        guard EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC, EVP_PKEY_get_bits(pointer) == 384 else {
            return nil
        }
    }

    deinit { EVP_PKEY_free(pointer) }

    /// The private key in DER. Must be kept secret.
    package var stored: [UInt8] { Self.encoded { i2d_PrivateKey(pointer, &$0) } }

    /// The public key, with which others verify signatures: a SubjectPublicKeyInfo in DER.
    package var publicKey: [UInt8] { Self.encoded { i2d_PUBKEY(pointer, &$0) } }

    private static func encoded(_ encode: (inout UnsafeMutablePointer<UInt8>?) -> Int32) -> [UInt8] {
        var place: UnsafeMutablePointer<UInt8>?
        let count = encode(&place)
        guard count > 0, let place else { return [] }
        defer { CRYPTO_free(place, #file, #line) }
        return Array(UnsafeBufferPointer(start: place, count: Int(count)))
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
            var place = bytes.baseAddress
            return d2i_PUBKEY(nil, &place, bytes.count)
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
        var (at, numbers) = (2, [UInt8]())
        for _ in 0..<2 {
            guard at + 2 <= bytes.count, bytes[at] == 0x02, at + 2 + Int(bytes[at + 1]) <= bytes.count else {
                return nil
            }
            let number = bytes[(at + 2)..<(at + 2 + Int(bytes[at + 1]))].drop { $0 == 0 }
            guard number.count <= size else { return nil }
            numbers += [UInt8](repeating: 0, count: size - number.count) + number
            at += 2 + Int(bytes[at + 1])
        }
        return at == bytes.count ? numbers : nil
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
