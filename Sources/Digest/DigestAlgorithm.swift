/// The hash functions that the web's manifests and headers name.
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

    /// As people write it: `MD5`, `SHA-256`.
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
