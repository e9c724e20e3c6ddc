internal import COpenSSL
internal import Web

/// The hash of a body, with its algorithm.
package struct Digest: Hashable, Sendable, CustomStringConvertible {
    package let algorithm: DigestAlgorithm
    package let bytes: [UInt8]

    /// Returns nil if the number of bytes is not that of the algorithm.
    package init?(_ algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Returns nil unless the text has exactly as many hexadecimal digits, in upper or lower case, as the
    /// algorithm requires.
    package init?(_ algorithm: DigestAlgorithm, hex: String) {
        guard hex.utf8.count == algorithm.byteCount * 2, let bytes = Hex.decode(hex) else { return nil }
        self.init(algorithm, bytes: bytes)
    }

    /// The digest in lower-case hexadecimal digits.
    package var hex: String { Hex.encode(bytes) }

    package var description: String { "\(algorithm.label) \(hex)" }
}

/// The hash functions that manifests and HTTP headers use.
package enum DigestAlgorithm: String, Hashable, Sendable, CaseIterable {
    case md5
    case sha1
    case sha256
    case sha384
    case sha512

    package var byteCount: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Whether the algorithm is collision-resistant. For MD5 and SHA-1, attackers can make two bodies with
    /// the same digest.
    package var isStrong: Bool {
        switch self {
        case .md5, .sha1: false
        case .sha256, .sha384, .sha512: true
        }
    }

    /// The usual name for display, such as "MD5" or "SHA-256".
    package var label: String {
        switch self {
        case .md5: "MD5"
        case .sha1: "SHA-1"
        case .sha256: "SHA-256"
        case .sha384: "SHA-384"
        case .sha512: "SHA-512"
        }
    }
}

/// Computes a digest piece by piece in constant memory. It belongs to one thread.
///
/// Failures of libcrypto are preconditions: they are possible only for lack of memory or with a broken
/// installation, and a wrong digest must never be returned.
package struct DigestStream: ~Copyable {
    package let algorithm: DigestAlgorithm
    private let context: OpaquePointer

    package init(_ algorithm: DigestAlgorithm) {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, Self.method(of: algorithm), nil) == 1
        else {
            preconditionFailure("libcrypto has no \(algorithm.label), or no memory is left")
        }
        self.algorithm = algorithm
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBytes { bytes in
            let result = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
            precondition(result == 1, "libcrypto stopped hashing")
        }
    }

    package consuming func finish() -> Digest {
        let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { bytes, count in
            let result = EVP_DigestFinal_ex(context, bytes.baseAddress, nil)
            precondition(result == 1, "libcrypto did not finish a hash")
            count = algorithm.byteCount
        }
        guard let digest = Digest(algorithm, bytes: bytes) else {
            preconditionFailure("libcrypto's \(algorithm.label) has another length")
        }
        return digest
    }

    /// Returns the digest of bytes that are all in memory.
    package static func digest(_ algorithm: DigestAlgorithm, of bytes: Span<UInt8>) -> Digest {
        var stream = DigestStream(algorithm)
        stream.update(bytes)
        return stream.finish()
    }

    /// Returns the HMAC-SHA256 of a message (RFC 2104), which can be computed only with the key.
    package static func hmac(_ key: [UInt8], _ message: Span<UInt8>) -> Digest {
        // RFC 2104: H((K ^ opad) + H((K ^ ipad) + message)), where K is padded to the 64 bytes of a SHA-256 block.
        // The arrays below need names: the compiler rejects the span of a temporary value.
        let short = key.count > 64 ? digest(.sha256, of: key.span).bytes : key
        let padded = short + Array(repeating: 0, count: 64 - short.count)
        let (innerKey, outerKey) = (padded.map { $0 ^ 0x36 }, padded.map { $0 ^ 0x5C })
        var inner = DigestStream(.sha256)
        inner.update(innerKey.span)
        inner.update(message)
        let innerDigest = inner.finish()
        var outer = DigestStream(.sha256)
        outer.update(outerKey.span)
        outer.update(innerDigest.bytes.span)
        return outer.finish()
    }

    private static func method(of algorithm: DigestAlgorithm) -> OpaquePointer? {
        switch algorithm {
        case .md5: Methods.md5
        case .sha1: Methods.sha1
        case .sha256: Methods.sha256
        case .sha384: Methods.sha384
        case .sha512: Methods.sha512
        }
    }

    /// The methods, fetched once, since libcrypto 3 would otherwise look them up at each use. They are immutable
    /// and never freed.
    private enum Methods {
        nonisolated(unsafe) static let md5 = EVP_MD_fetch(nil, "MD5", nil)
        nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)
        nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
        nonisolated(unsafe) static let sha384 = EVP_MD_fetch(nil, "SHA384", nil)
        nonisolated(unsafe) static let sha512 = EVP_MD_fetch(nil, "SHA512", nil)
    }
}
