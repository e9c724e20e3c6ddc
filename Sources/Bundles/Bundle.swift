package import Digest

/// A resource with what is expected of it.
package struct Bundle: Sendable, Equatable {
    /// As the manifest means it, as a URL: absolute, or relative to the manifest's base.
    package var reference: String
    /// Every strong one must hold.
    package var claims: [Claim]
    package var version: String?
    package var isRequired: Bool

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

    /// The single digests that the decoded body must have. An `integrity`, which may list several, is not among them.
    package var digests: [Digest] {
        claims.compactMap { claim in
            guard case .digest(let digest) = claim.content, claim.isProof, claim.subject == .decoded
            else { return nil }
            return digest
        }
    }

    /// How long the decoded body must be.
    package var byteCount: Int? {
        for claim in claims where claim.strength == .strong && claim.subject == .decoded {
            if case .byteCount(let count) = claim.content { return count }
        }
        return nil
    }

    /// Whether anything is said of it that can prove a body right. Without, all there is to find is whether it is
    /// there.
    package var isProvable: Bool { claims.contains(where: \.isProof) }

    /// What has to be computed to check it.
    package func algorithms(of subject: Claim.Subject) -> Set<DigestAlgorithm> {
        Set(claims.filter { $0.subject == subject }.compactMap(\.algorithm))
    }
}
