import Web

/// Signs responses like a server that supports Signature-based Integrity.
package struct ResponseSigner: Sendable {
    /// The public key.
    package let key: [UInt8]
    private let sign: @Sendable ([UInt8]) -> [UInt8]
    private let sha256: @Sendable ([UInt8]) -> [UInt8]

    /// - Parameters:
    ///   - sign: returns the Ed25519 signature of bytes.
    ///   - sha256: returns the SHA-256 of bytes.
    package init(
        key: [UInt8], sign: @escaping @Sendable ([UInt8]) -> [UInt8],
        sha256: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) {
        (self.key, self.sign, self.sha256) = (key, sign, sha256)
    }

    /// The word for an `integrity` attribute.
    package var word: String { "ed25519-\(Base64.encode(key))" }

    /// The fields that sign a body.
    ///
    /// - Parameters:
    ///   - components: further components to cover, with their values.
    ///   - parameters: parameters in front of the key, such as `expires=1;`.
    ///   - tag: the name of the profile.
    package func fields(
        of body: String, covering components: [(identifier: String, value: String)] = [],
        _ parameters: String = "", tag: String = "ed25519-integrity"
    ) -> [(String, String)] {
        let digest = "sha-256=:\(Base64.encode(sha256(Array(body.utf8)))):"
        let all = [(identifier: "\"unencoded-digest\";sf", value: digest)] + components
        let names = all.map(\.identifier).joined(separator: " ")
        let input = "(\(names));\(parameters)keyid=\"\(Base64.encode(key))\";tag=\"\(tag)\""
        let lines = all.map { "\($0.identifier): \($0.value)" } + ["\"@signature-params\": \(input)"]
        let signature = sign(Array(lines.joined(separator: "\n").utf8))
        return [
            ("Unencoded-Digest", digest), ("Signature-Input", "sig=\(input)"),
            ("Signature", "sig=:\(Base64.encode(signature)):"),
        ]
    }

    /// A script that any origin may load, with a signature of `signed`; of its own text if that is nil.
    package func script(
        _ text: String, signed: String? = nil,
        covering components: [(identifier: String, value: String)] = [],
        _ parameters: String = ""
    ) -> OriginAnswer {
        var answer = OriginAnswer.file(text, type: "text/javascript").adding(
            "Access-Control-Allow-Origin", "*")
        for (name, value) in fields(of: signed ?? text, covering: components, parameters) {
            answer = answer.adding(name, value)
        }
        return answer
    }
}
