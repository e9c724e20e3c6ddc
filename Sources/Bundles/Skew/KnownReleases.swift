internal import Digest

/// What other releases say of the same bundles: the manifest before, that of another server, that of a visit.
package struct KnownReleases: Sendable {
    private var names: [String] = []
    /// Which release has which digest under which reference.
    private var owners: [Key: Int] = [:]

    private struct Key: Hashable, Sendable {
        let reference: String
        let digest: Digest
    }

    package init() {}

    /// - Parameter name: how reports call it, such as its version or its file. The first that knows a digest is named.
    package mutating func add(_ manifest: Manifest, name: String) {
        let number = names.count
        names.append(name)
        for bundle in manifest.bundles {
            for digest in bundle.statedDigests {
                let key = Key(reference: bundle.reference, digest: digest)
                if owners[key] == nil { owners[key] = number }
            }
        }
    }

    /// A mismatch whose body another release has under the same reference is a skew; every other finding stays.
    package func explain(
        _ finding: Finding, of bundle: Bundle, measured: Measurement, expected: String
    ) -> Finding {
        guard case .mismatch = finding.verdict else { return finding }
        for digest in measured.decoded.digests {
            guard let owner = owners[Key(reference: bundle.reference, digest: digest)] else { continue }
            return Finding(.skew(.release(expected: expected, found: names[owner])), remarks: finding.remarks)
        }
        return finding
    }
}

extension Bundle {
    /// Every digest that is said to be the decoded body's, those of an `integrity` too.
    fileprivate var statedDigests: [Digest] {
        claims.filter { $0.isProof && $0.subject == .decoded }.flatMap { claim in
            switch claim.content {
            case .digest(let digest): [digest]
            case .integrity(let integrity): integrity.digests
            case .byteCount, .prefix: [Digest]()
            }
        }
    }
}
