internal import Bundles
internal import Digest
internal import Web

/// Which weak evidence was asked for. It is told, and neither fails nor proves anything.
struct Evidence: Sendable, Equatable {
    var hasEntityTags = false
    /// What hashed file names are prefixes of.
    var names: Set<DigestAlgorithm> = []

    init(_ options: [CheckOptions.Evidence]) {
        for option in options {
            switch option {
            case .entityTags: hasEntityTags = true
            case .names(let algorithm): names.insert(DigestAlgorithm(algorithm))
            }
        }
    }
}

extension DigestAlgorithm {
    fileprivate init(_ algorithm: CheckOptions.Evidence.Algorithm) {
        switch algorithm {
        case .md5: self = .md5
        case .sha1: self = .sha1
        case .sha256: self = .sha256
        case .sha384: self = .sha384
        case .sha512: self = .sha512
        }
    }
}

extension Bundle {
    /// With what its own name says of it, where that was asked for.
    func adding(_ evidence: Evidence) -> Bundle {
        guard !evidence.names.isEmpty, let name = HashedName(reference) else { return self }
        var bundle = self
        for algorithm in evidence.names.sorted(by: { $0.byteCount < $1.byteCount }) {
            if let claim = name.claim(algorithm) { bundle.claims.append(claim) }
        }
        return bundle
    }

    /// With what its response says of it.
    func adding(_ fields: HTTPFields, _ evidence: Evidence) -> Bundle {
        var bundle = self
        bundle.claims += Claim.list(from: fields)
        if evidence.hasEntityTags, let tag = fields.entityTag, let claim = Claim(tag) { bundle.claims.append(claim) }
        return bundle
    }
}
