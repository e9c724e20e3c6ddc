internal import Bundles
internal import Web

/// The header fields of a signed response, and the `integrity` attribute in its field `Integrity`.
struct SignaturesTarget: Target {
    let name = "signatures"
    let suffixes = [".signed"]
    let pieces = [
        "Unencoded-Digest: ", "Signature-Input: ", "Signature: ", "Integrity: ", "\r\n", "sig=(",
        "\"unencoded-digest\"",
        ";sf", ";req", ";bs", ";name=\"a\"", "\"@path\"", "\"@query-param\"", "\"@status\"", "\"@authority\"",
        "\"content-type\"", ");", "keyid=\"", "tag=\"ed25519-integrity\"", "tag=\"sri\"", "alg=", "created=",
        "expires=",
        "nonce=\"\"", "sha-256=:", "sha-512=:", ":", ", ", "ed25519-", "sha256-", "?", "=", "%\"%c3%bc\"",
        "1.0", "-0", "é",
    ]

    func fault(_ input: [UInt8]) -> String? {
        let fields = HTTPFields(block: input.span)
        for line in fields.list {
            guard let dictionary = StructuredDictionary(line.value) else { continue }
            // The canonical text is a dictionary, and does not change again.
            guard StructuredDictionary(dictionary.text)?.text == dictionary.text else {
                return "a canonical text: \(dictionary.text)"
            }
        }
        guard let url = WebURL("https://example.com/a?a=1&b=%20+") else { return "no URL: a" }
        let message = SignedMessage(url: url, status: 200, fields: fields)
        for signature in MessageSignature.list(from: fields) {
            guard let base = try? signature.base(of: message) else { continue }
            // Each component has one line, so that none can pretend to be another.
            guard base.split(separator: UInt8(ascii: "\n")).count == signature.components.count + 1 else {
                return "the lines of a base: \(String(decoding: base, as: UTF8.self))"
            }
        }
        let stated = ResponseIntegrity(of: message, at: 1_700_000_000)
        guard stated.signers.isEmpty || stated.refusal == nil && !stated.digests.isEmpty else {
            return "a signer of a refused response: \(stated)"
        }
        let integrity = Integrity(fields["Integrity"] ?? "")
        let body: [UInt8] = [1]
        if integrity.isMet(by: body.span, stated), integrity.requiresSignature, stated.signers.isEmpty {
            return "a demand that nothing meets: \(integrity.text)"
        }
        if integrity.requiresSignature, integrity.isMet(by: body.span, nil) {
            return "a lost signature: \(integrity.text)"
        }
        return nil
    }
}
