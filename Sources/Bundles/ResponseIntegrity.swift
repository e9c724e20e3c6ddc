package import Digest
package import Web

/// The digests and signatures in the header fields of a response by which browsers check it: `Unencoded-Digest`, and
/// those signatures in `Signature` and `Signature-Input` that follow the profile of Signature-based Integrity
/// (wicg.github.io/signature-based-sri). A signature covers `Unencoded-Digest`, and this field the decoded body.
///
/// Browsers check them in every response, and refuse one in which they are wrong (`refusal`). A page can also demand in
/// an `integrity` attribute that one of some keys has signed the response (`Integrity.keys`).
package struct ResponseIntegrity: Sendable, Equatable {
    /// The digests of the decoded body, all of which must match. Unknown algorithms are ignored, as by browsers.
    package let digests: [Digest]
    /// The keys that have signed the response, without duplicates.
    package let signers: [Ed25519PublicKey]
    /// Why browsers refuse the response whatever its body is, in words that follow "found"; nil if they do not.
    package let refusal: String?
    /// Whether one of the signatures expires one day.
    package let expires: Bool
    /// The signatures that do not count, each with the reason.
    package let ignored: [String]

    /// The fields that belong together. An answer with another body, or to another URL, must not contain them.
    package static let fieldNames: FieldNames = ["signature", "signature-input", "unencoded-digest"]

    /// `tag` of a signature for this profile, and the one of its first versions, which Chromium still accepts.
    private static let tag = "ed25519-integrity"
    private static let earlierTag = "sri"

    /// The maximum number of signatures that are verified. A response with more is refused: verifying costs time, and
    /// none of the signatures may be wrong.
    private static let maxSignatures = 32
    /// How far `created` may be in the future, since the clocks of servers differ.
    private static let maxClockDifferenceSeconds: Int64 = 60

    /// Verifies the signatures of a response.
    ///
    /// - Parameter now: the time in seconds since 1970 at which the response counts, which may be when it was received.
    package init(of message: SignedMessage, at now: Int64) {
        let unencoded = message.fields.joinedValues("Unencoded-Digest").map(FieldDigest.parseStructured) ?? []
        var digests: [Digest] = []
        for field in unencoded {
            guard let digest = Self.algorithms[field.algorithm].flatMap({ Digest($0, bytes: field.bytes) })
            else {
                continue
            }
            digests.append(digest)
        }
        var signers: [Ed25519PublicKey] = []
        var refusal: String?
        var ignored: [String] = []
        var expires = false
        var count = 0
        // Most responses have none, and parsing two fields for nothing would be a waste.
        let signatures =
            message.fields.contains("Signature") ? MessageSignature.list(from: message.fields) : []
        for signature in signatures where Self.isForIntegrity(signature) {
            switch Self.key(of: signature) {
            case .failure(let problem): ignored.append("signature \(signature.label) \(problem.reason)")
            case .success(let key):
                count += 1
                guard refusal == nil else { continue }
                guard count <= Self.maxSignatures else {
                    refusal = "more than \(Self.maxSignatures) signatures"
                    continue
                }
                if let problem = Self.problem(of: signature, by: key, in: message, at: now) {
                    refusal = "a signature that \(problem)"
                } else if let reason = Self.reasonNotToCount(signature, digests, at: now) {
                    ignored.append("signature \(signature.label) \(reason)")
                } else if !signers.contains(key) {
                    signers.append(key)
                }
                if signature[parameter: "expires"] != nil { expires = true }
            }
        }
        self.digests = digests
        self.signers = refusal == nil ? signers : []
        self.refusal = refusal
        self.ignored = ignored
        self.expires = expires
    }

    /// The algorithms that `Unencoded-Digest` may use.
    private static let algorithms: [String: DigestAlgorithm] = [
        "sha-256": .sha256, "sha-384": .sha384, "sha-512": .sha512,
    ]

    /// Whether the signature is for browsers. Others, such as those between a proxy and its origin, are not checked.
    private static func isForIntegrity(_ signature: MessageSignature) -> Bool {
        guard case .string(let text)? = signature[parameter: "tag"] else { return false }
        return text == tag || text == earlierTag
    }

    /// Returns the key of a signature that follows the profile, or the reason why it does not.
    private static func key(
        of signature: MessageSignature
    ) -> Result<Ed25519PublicKey, MessageSignature.Unusable> {
        func problem(_ reason: String) -> Result<Ed25519PublicKey, MessageSignature.Unusable> {
            .failure(MessageSignature.Unusable(reason))
        }
        guard let digest = signature.components.first(where: { $0.name == "unencoded-digest" }) else {
            return problem("does not cover Unencoded-Digest")
        }
        guard digest.hasOnly("sf") else { return problem("must cover \"unencoded-digest\";sf") }
        for component in signature.components where component != digest {
            guard isAllowed(component) else {
                return problem("covers \(component.identifier), which is not allowed")
            }
        }
        // The algorithm follows from the tag.
        guard signature[parameter: "alg"] == nil else { return problem("must not have the parameter alg") }
        for name in ["created", "expires"] {
            guard let value = signature[parameter: name] else { continue }
            guard case .integer(0...) = value else { return problem("needs a whole number as \(name)") }
        }
        if let nonce = signature[parameter: "nonce"] {
            guard case .string = nonce else { return problem("needs a string as nonce") }
        }
        guard case .string(let text)? = signature[parameter: "keyid"],
            let key = Base64.decodeForgiving(text).flatMap({ Ed25519PublicKey($0) })
        else { return problem("needs an Ed25519 key in base64 as keyid") }
        guard signature.signature.count == 64 else { return problem("does not have 64 bytes") }
        return .success(key)
    }

    /// Whether the profile allows a signature to cover the component.
    private static func isAllowed(_ component: MessageSignature.Component) -> Bool {
        guard component.isDerived else {
            let isName = component.name.utf8.allSatisfy {
                HTTPGrammar.isToken($0) && !(0x41...0x5A).contains($0)
            }
            return isName && !component.name.isEmpty && component.name != "unencoded-digest"
                && component.parameters.allSatisfy {
                    ["req", "bs"].contains($0.key) && $0.value == .boolean(true)
                }
        }
        return switch component.name {
        case "@status": component.parameters.isEmpty
        case "@query-param": component.has("req") && component.parameters.count == 2
        case "@authority", "@method", "@path", "@query", "@request-target", "@scheme", "@target-uri":
            component.hasOnly("req")
        default: false
        }
    }

    /// Why a signature is wrong, in words that follow "that"; nil if it is valid.
    private static func problem(
        of signature: MessageSignature, by key: Ed25519PublicKey, in message: SignedMessage, at now: Int64
    ) -> String? {
        if case .integer(let expiry)? = signature[parameter: "expires"], Int64(expiry) < now {
            return "expired on \(HTTPDate(secondsSinceEpoch: Int64(expiry)).text)"
        }
        do throws(MessageSignature.Unusable) {
            let base = try signature.base(of: message)
            return key.verifies(signature.signature, of: base)
                ? nil : "is not by \(key.integrityText), which it names"
        } catch {
            return error.reason
        }
    }

    /// Why a valid signature does not satisfy a page that demands its key; nil if it does. Browsers do not refuse the
    /// response for such a reason if no page demands the key.
    private static func reasonNotToCount(
        _ signature: MessageSignature, _ digests: [Digest], at now: Int64
    ) -> String? {
        if digests.isEmpty { return "covers no digest of a known algorithm" }
        if case .integer(let created)? = signature[parameter: "created"],
            Int64(created) > now + maxClockDifferenceSeconds
        {
            return "was made on \(HTTPDate(secondsSinceEpoch: Int64(created)).text), which is in the future"
        }
        return nil
    }

    /// The algorithms that are needed to check the digests.
    package var digestAlgorithms: Set<DigestAlgorithm> { Set(digests.map(\.algorithm)) }

    /// The digests as claims about the body.
    var claims: [Claim] { digests.map { Claim(.digest($0), source: Claim.unencodedDigestSource) } }

    /// Whether browsers accept a body with these fields if no page demands a key.
    package func accepts(_ bytes: Span<UInt8>) -> Bool {
        refusal == nil && digests.allSatisfy { DigestStream.digest($0.algorithm, of: bytes) == $0 }
    }

    /// The signatures that were found, as reports show them beside the expected one.
    var found: String {
        if signers.isEmpty { return ignored.first.map { "none: \($0)" } ?? "none" }
        return "one by " + signers.map(\.integrityText).joined(separator: ", ")
    }
}

extension Ed25519PublicKey {
    /// The key as an `integrity` attribute names it.
    package var integrityText: String { "\(Integrity.signatureAlgorithm)-\(Base64.encode(bytes))" }
}
