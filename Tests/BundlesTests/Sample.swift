import Bundles
import Digest
import Web

/// A body with its digests.
enum Sample {
    static let body = Array("console.log(\"larder\");\n".utf8)
    static let altered = Array("console.log(\"Larder\");\n".utf8)

    static let md5 = hex(.md5)
    static let sha1 = hex(.sha1)
    static let sha256 = hex(.sha256)
    static let sri = integrity(.sha384)

    static func digest(_ algorithm: DigestAlgorithm, of bytes: [UInt8] = body) -> Digest {
        DigestStream.digest(algorithm, of: bytes.span)
    }

    static func hex(_ algorithm: DigestAlgorithm, of bytes: [UInt8] = body) -> String {
        digest(algorithm, of: bytes).hex
    }

    static func integrity(_ algorithm: DigestAlgorithm, of bytes: [UInt8] = body) -> String {
        "\(algorithm.rawValue)-\(Base64.encode(digest(algorithm, of: bytes).bytes))"
    }

    static func base64(_ algorithm: DigestAlgorithm, of bytes: [UInt8] = body) -> String {
        Base64.encode(digest(algorithm, of: bytes).bytes)
    }

    static func base64URL(_ algorithm: DigestAlgorithm, of bytes: [UInt8] = body) -> String {
        String(
            base64(algorithm, of: bytes).map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }.filter { $0 != "=" })
    }

    static func measured(_ bytes: [UInt8]) -> Measurement.Body {
        Measurement.Body(
            byteCount: bytes.count, digests: DigestAlgorithm.allCases.map { digest($0, of: bytes) })
    }

    static func manifest(_ text: String, _ format: ManifestFormat? = nil) throws(ManifestError) -> Manifest {
        try Manifest(Array(text.utf8), file: "m", format: format)
    }
}
