package import Digest
package import Web

/// A resource with its expected digests and size.
///
/// A manifest, response headers and other sources each make claims about the body. `finding(on:)` compares a measured body
/// with all of them:
///
/// | claims | verdict |
/// | --- | --- |
/// | a strong claim fails | `mismatch` |
/// | all strong claims hold, and one of them is a digest or a signature | `verified` |
/// | no strong claim is a digest or a signature, or a strong claim cannot be checked | `unverifiable` |
///
/// A claim about the encoded body that cannot be checked does not count. A bundle whose digests are too weak
/// (`reasonTooWeak`) is `unverifiable` instead of `verified`.
package struct Bundle: Sendable, Equatable {
    /// The URL as the manifest gives it: absolute, or relative to the manifest's base.
    package var reference: String
    /// The claims about the body. Every strong claim must hold.
    package var claims: [Claim]
    package var version: String?
    package var isRequired: Bool
    /// Whether only SHA-256 or stronger digests verify the body. MD5 and SHA-1 find accidents, but do not
    /// stop attackers.
    var requiresStrongDigest = false
    /// The trusted key that signed the manifest of the bundle, as minisign's text; nil if no signature was required.
    package var signer: String?

    package init(
        reference: String, claims: [Claim], version: String? = nil, isRequired: Bool = true
    ) {
        self.reference = reference
        self.claims = claims
        self.version = version
        self.isRequired = isRequired
    }

    package init(reference: String, digests: [Digest], byteCount: Int? = nil, isRequired: Bool = true) {
        self.init(
            reference: reference,
            claims: digests.map { Claim($0) } + (byteCount.map { [Claim(byteCount: $0)] } ?? []),
            isRequired: isRequired)
    }

    /// The digests that the decoded body must have, without those of an `integrity`, which may list
    /// alternatives.
    package var digests: [Digest] {
        claims.compactMap { claim in
            guard case .digest(let digest) = claim.content, claim.isProof, claim.subject == .decoded
            else { return nil }
            return digest
        }
    }

    /// The required size of the decoded body; nil if no claim gives it.
    package var byteCount: Int? {
        for claim in claims where claim.strength == .strong && claim.subject == .decoded {
            if case .byteCount(let count) = claim.content { return count }
        }
        return nil
    }

    /// Whether a claim can verify the body. If not, a check can only find out whether the body exists.
    package var canBeVerified: Bool { claims.contains(where: \.isProof) }

    /// The claim, such as `sha256`, in which this and another entry of one URL contradict each other; nil if none does.
    package func contradiction(with other: Bundle) -> String? {
        other.claims.first { new in claims.contains { $0.contradicts(new) } }?.source
    }

    /// The strongest digest algorithm that the decoded body is verified by; nil if there is none.
    package var strongestAlgorithm: DigestAlgorithm? { provingAlgorithms.first }

    /// The digest algorithms that the decoded body is verified by, the strongest first. All of them must match.
    package var provingAlgorithms: [DigestAlgorithm] {
        let algorithms = claims.filter { $0.isProof && $0.subject == .decoded }.compactMap(\.algorithm)
        return DigestAlgorithm.allCases.reversed().filter { algorithms.contains($0) }
    }

    /// The reason why the digests are too weak; nil if they suffice.
    ///
    /// Digests in header fields do not count: the server that sent the body wrote them too, so that they show damage on the
    /// way, but no attack. A signature by a key that the manifest names suffices.
    package var reasonTooWeak: String? {
        guard requiresStrongDigest, !requiresSignature else { return nil }
        var listed = self
        listed.claims.removeAll(where: \.isFromResponse)
        guard let algorithm = listed.strongestAlgorithm else {
            return "the manifest gives no digest"
        }
        return algorithm.isStrong ? nil : "its strongest digest is \(algorithm.label), which is too weak"
    }

    /// The same bundle, verified only by SHA-256 or stronger digests.
    package var requiringStrongDigest: Bundle {
        var bundle = self
        bundle.requiresStrongDigest = true
        return bundle
    }

    /// The integrity metadata among the claims.
    private var integrities: [Integrity] {
        claims.compactMap { if case .integrity(let integrity) = $0.content { integrity } else { nil } }
    }

    /// Whether a key must have signed the response. Only its header fields can then verify the body.
    package var requiresSignature: Bool { integrities.contains(where: \.requiresSignature) }

    /// The value of `Accept-Signature` in a request for the bundle; nil if no key is demanded.
    package var acceptSignature: String? { integrities.lazy.compactMap(\.acceptSignature).first }

    /// Returns the digest algorithms that are needed to check the claims about the decoded or the encoded body.
    package func algorithms(of subject: Claim.Subject) -> Set<DigestAlgorithm> {
        Set(claims.filter { $0.subject == subject }.compactMap(\.algorithm))
    }
}

extension Bundle {
    /// Returns the verdict on a measured body (see the table at `Bundle`). The digests and signatures in the header fields of
    /// the response must be right too, as for browsers.
    package func finding(on measurement: Measurement) -> Finding {
        var failures: [Claim.Failure] = []
        var remarks: [String] = []
        var gaps: [String] = []
        var isProven = false
        if let refusal = measurement.response?.refusal { failures.append(.wrongSignature(found: refusal)) }
        for claim in claims + (measurement.response?.claims ?? []) {
            switch (claim.outcome(on: measurement), claim.strength) {
            case (.holds, .strong): isProven = isProven || claim.isProof
            case (.holds, .weak): remarks.append("\(claim.source) matches, which proves nothing")
            case (.fails(let failure), .strong): failures.append(failure)
            case (.fails(let failure), .weak):
                remarks.append(
                    "\(claim.source) does not match, which is not an error: "
                        + "expected \(failure.expected), found \(failure.found)")
            case (.unchecked(let reason), .strong):
                // The encoded bytes may no longer be available, while the decoded body can still be verified.
                if claim.subject == .encoded { remarks.append(reason) } else { gaps.append(reason) }
            case (.unchecked(let reason), .weak): remarks.append(reason)
            }
        }
        if !failures.isEmpty {
            let mismatch = Mismatch(
                failures: failures, expectedByteCount: byteCount,
                foundByteCount: measurement.decoded.byteCount)
            return Finding(.mismatch(mismatch), remarks: remarks)
        }
        if isProven, gaps.isEmpty {
            var finding = Finding(reasonTooWeak.map { .unverifiable($0) } ?? .verified, remarks: remarks)
            if let response = measurement.response, let signer = signer(of: response) {
                finding.signer = signer
                finding.signedAlgorithm = DigestAlgorithm.allCases.last(
                    where: response.digestAlgorithms.contains)
            }
            return finding
        }
        return Finding(.unverifiable(gaps.first ?? remarks.first ?? reasonUnverifiable), remarks: remarks)
    }

    /// The key that an `integrity` demands and that has signed the response; nil if there is none.
    private func signer(of response: ResponseIntegrity) -> Ed25519PublicKey? {
        integrities.lazy.compactMap { $0.signer(of: response) }.first
    }

    private var reasonUnverifiable: String {
        byteCount == nil
            ? "the manifest gives no digest" : "the manifest gives no digest, only a size, which matches"
    }
}

/// A verdict, with remarks that do not change it.
package struct Finding: Sendable, Equatable {
    package var verdict: Verdict
    /// Weak evidence, and claims that could not be checked; one sentence each.
    package var remarks: [String]
    /// The key that a page or manifest demands, and that has signed the response; nil if none is demanded.
    package var signer: Ed25519PublicKey?
    /// The strongest digest that the signature covers.
    package var signedAlgorithm: DigestAlgorithm?

    package init(_ verdict: Verdict, remarks: [String] = []) {
        self.verdict = verdict
        self.remarks = remarks
    }
}

// MARK: - Verdict

/// The result of checking one bundle.
package enum Verdict: Sendable, Equatable {
    case verified
    /// A digest or size does not match.
    case mismatch(Mismatch)
    /// The body could not be obtained: the reason.
    case missing(String)
    /// The body can be neither verified nor refuted: the reason.
    case unverifiable(String)
    /// The body belongs to another release.
    case skew(Skew)

    package var name: String {
        switch self {
        case .verified: "verified"
        case .mismatch: "mismatch"
        case .missing: "missing"
        case .unverifiable: "unverifiable"
        case .skew: "skew"
        }
    }

    package var detail: String? {
        switch self {
        case .verified: nil
        case .mismatch(let mismatch): mismatch.description
        case .missing(let reason), .unverifiable(let reason): reason
        case .skew(let skew): skew.description
        }
    }
}

// MARK: - Mismatch

/// The differences between a body and its expected digests and size.
package struct Mismatch: Sendable, Equatable, CustomStringConvertible {
    /// The claims that failed. The others hold or could not be checked. Never empty.
    package let failures: [Claim.Failure]
    /// The expected size of the decoded body; nil if it is not known.
    package private(set) var expectedByteCount: Int?
    /// The actual size; nil if it was not counted.
    package let foundByteCount: Int?
    /// The first difference from the expected body, if both are available.
    package private(set) var difference: Difference?

    init(failures: [Claim.Failure], expectedByteCount: Int?, foundByteCount: Int?) {
        self.failures = failures
        self.expectedByteCount = expectedByteCount
        self.foundByteCount = foundByteCount
    }

    /// - Parameter byteCount: The size of the expected body, which the manifest may not contain.
    package mutating func add(_ difference: Difference, from byteCount: Int?) {
        self.difference = difference
        expectedByteCount = expectedByteCount ?? byteCount
    }

    /// Whether the sizes differ.
    package var hasSizeDifference: Bool { failures.contains { $0.source == Claim.sizeSource } }

    package var description: String {
        var parts = failures.map { failure in
            // "MD5 …" in the expected value says the same.
            let isNamed = failure.source == failure.algorithm?.rawValue
            let source = failures.count > 1 && !isNamed || failure.isFromResponse ? "\(failure.source): " : ""
            let hint = failure.hint.map { " (\($0))" } ?? ""
            return "\(source)expected \(failure.expected), found \(failure.found)\(hint)"
        }
        if let difference { parts.append(difference.description) }
        return parts.joined(separator: "; ")
    }

    /// The strongest digest that differs, shortened, the names of the others, and the sizes if they differ:
    /// `SHA-256 a3f45d33…, expected 34f81636…; MD5 differs too; 550 bytes, expected 546`.
    package var brief: String {
        var parts: [String] = []
        let digests = failures.filter { $0.algorithm != nil }
        // The first of several of the same strength: those of the manifest come before those of a response.
        let strongest = digests.map { $0.algorithm?.byteCount ?? 0 }.max()
        if let failure = digests.first(where: { $0.algorithm?.byteCount == strongest }) {
            let source = failure.isFromResponse ? "\(failure.source): " : ""
            let label = (failure.algorithm?.label ?? "") + " "
            let hint = failure.hint.map { " (\($0))" } ?? ""
            var expected = Self.abbreviateDigests(failure.expected)
            if expected.hasPrefix(label) { expected.removeFirst(label.count) }
            parts.append("\(source)\(Self.abbreviateDigests(failure.found)), expected \(expected)\(hint)")
            let others = Set(
                digests.filter { !$0.isFromResponse && $0.algorithm != failure.algorithm }.map(\.algorithm))
            let labels = DigestAlgorithm.allCases.reversed().filter { others.contains($0) }.map(\.label)
            if !labels.isEmpty {
                let verb = labels.count == 1 ? "differs" : "differ"
                parts.append("\(labels.joined(separator: " and ")) \(verb) too")
            }
        }
        if let size = failures.first(where: { $0.source == Claim.sizeSource }) {
            parts.append("\(size.found), expected \(size.expected.split(separator: " ").first ?? "")")
        } else if let found = foundByteCount, let expected = expectedByteCount, found != expected {
            parts.append("\(found) bytes, expected \(expected)")
        }
        // Only a signature fails.
        if parts.isEmpty { parts = failures.map { "found \($0.found), expected \($0.expected)" } }
        if let difference { parts.append(difference.description) }
        return parts.joined(separator: "; ")
    }

    /// The text with only the first eight digits of each digest.
    private static func abbreviateDigests(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).map { (word) -> String in
            let digits = word.prefix { $0.isHexDigit }
            guard digits.count > 8 else { return String(word) }
            let rest = word[digits.endIndex...]
            return "\(digits.prefix(8))…\(rest.hasPrefix("…") ? rest.dropFirst() : rest)"
        }.joined(separator: " ")
    }
}

/// The bundles that stored bodies must match, by URL: the requirements of the manifests in force.
package struct Requirements: Sendable, Equatable {
    private var bundles: [String: Bundle] = [:]

    package init() {}

    package var isEmpty: Bool { bundles.isEmpty }

    /// The URLs with requirements, in no particular order.
    package var hrefs: [String] { Array(bundles.keys) }

    /// Returns the requirements of the URLs that satisfy the predicate.
    package func filter(_ isIncluded: (String) -> Bool) -> Requirements {
        var some = Requirements()
        some.bundles = bundles.filter { isIncluded($0.key) }
        return some
    }

    /// The bundle that is required at a URL; nil if there is none.
    package subscript(_ url: WebURL) -> Bundle? { bundles.isEmpty ? nil : bundles[url.key.href] }

    /// Requires a bundle at a URL, in place of an earlier one. A bundle without a digest is ignored.
    package mutating func require(_ bundle: Bundle, at url: WebURL) {
        guard bundle.canBeVerified else { return }
        bundles[url.key.href] = bundle
    }

    /// The same requirements, met only by SHA-256 or stronger digests.
    package var requiringStrongDigests: Requirements {
        var strong = self
        strong.bundles = bundles.mapValues(\.requiringStrongDigest)
        return strong
    }

    /// Adds requirements for URLs that have none yet.
    package mutating func add(_ others: Requirements) {
        bundles.merge(others.bundles) { own, _ in own }
    }
}

extension Bundle {
    /// Returns the finding that known digests of a body give; nil if claims need digests that are not among
    /// them.
    ///
    /// - Parameter response: the digests and signatures in its header fields; nil if they are not known.
    package func finding(
        knowing digests: [Digest], byteCount: Int, _ response: ResponseIntegrity? = nil
    ) -> Finding? {
        for claim in claims + (response?.claims ?? []) {
            guard let algorithm = claim.algorithm else { continue }
            guard digests.contains(where: { $0.algorithm == algorithm }) else { return nil }
        }
        return finding(
            on: Measurement(uncoded: Measurement.Body(byteCount: byteCount, digests: digests), response))
    }
}
