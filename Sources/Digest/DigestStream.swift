internal import COpenSSL

/// Hashes bytes as they come, in constant memory.
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

    /// The digest of bytes that are all at hand.
    package static func digest(_ algorithm: DigestAlgorithm, of bytes: Span<UInt8>) -> Digest {
        var stream = DigestStream(algorithm)
        stream.update(bytes)
        return stream.finish()
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

    /// Fetched once: libcrypto 3 would look a method up again at each use. They are constant and never freed.
    private enum Methods {
        nonisolated(unsafe) static let md5 = EVP_MD_fetch(nil, "MD5", nil)
        nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)
        nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
        nonisolated(unsafe) static let sha384 = EVP_MD_fetch(nil, "SHA384", nil)
        nonisolated(unsafe) static let sha512 = EVP_MD_fetch(nil, "SHA512", nil)
    }
}
