internal import Web

/// The value of the field `expo-signature`: a structured dictionary of strings with the signature in base64 (`sig`), the
/// name of the key (`keyid`) and the algorithm (`alg`).
package struct ExpoSignature: Sendable, Equatable {
    /// The RSASSA-PKCS1-v1_5 signature with SHA-256.
    package var bytes: [UInt8]
    /// The name of the key; nil if the field has none. It only helps to find the key, so that a verifier may ignore it.
    package var keyID: String?

    /// The algorithm of signatures, the only one that Expo Updates has.
    package static let algorithm = "rsa-v1_5-sha256"
    /// The maximum size of the field. A signature by the largest key has under 3000 bytes.
    private static let maxTextBytes = 8 * 1024

    package init(_ bytes: [UInt8], keyID: String?) {
        (self.bytes, self.keyID) = (bytes, keyID)
    }

    /// Parses the field.
    package init(_ text: String) throws(ExpoSignatureError) {
        guard text.utf8.count <= Self.maxTextBytes else { throw .tooLarge(Self.maxTextBytes) }
        guard let dictionary = StructuredDictionary(text) else { throw .notADictionary }
        if let algorithm = dictionary["alg"], algorithm != .item(.string(Self.algorithm)) {
            throw .unknownAlgorithm
        }
        guard case .item(.string(let base64)) = dictionary["sig"], let bytes = Base64.decode(base64) else {
            throw .noSignature
        }
        self.bytes = bytes
        if case .item(.string(let name)) = dictionary["keyid"] { keyID = name }
    }

    /// The field with its algorithm.
    package var text: String {
        let name = keyID.map { ", keyid=\(StructuredDictionary.Item.string($0).text)" } ?? ""
        return "sig=\"\(Base64.encode(bytes))\"\(name), alg=\"\(Self.algorithm)\""
    }
}

/// Why a field `expo-signature` cannot be read, as a clause.
package enum ExpoSignatureError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The maximum number of bytes.
    case tooLarge(Int)
    case notADictionary
    case unknownAlgorithm
    case noSignature

    package var description: String {
        switch self {
        case .tooLarge(let limit): "expo-signature is larger than \(limit) bytes"
        case .notADictionary: "expo-signature is not a structured dictionary"
        case .unknownAlgorithm: "expo-signature has another algorithm than \(ExpoSignature.algorithm)"
        case .noSignature: "expo-signature has no \"sig\" in base64"
        }
    }
}
