package import Digest

/// A resource with an expected digest.
package struct Bundle: Sendable, Equatable {
    /// As the manifest writes it: absolute, or relative to the manifest's base.
    package var reference: String
    /// All of them must agree.
    package var digests: [Digest]
    package var byteCount: Int?
    package var isRequired: Bool

    package init(reference: String, digests: [Digest], byteCount: Int? = nil, isRequired: Bool = true) {
        self.reference = reference
        self.digests = digests
        self.byteCount = byteCount
        self.isRequired = isRequired
    }

    /// What bytes of this size and these digests prove. `measured` has one digest for each algorithm of `digests`.
    func verdict(byteCount: Int, measured: [Digest]) -> Verdict {
        if let expected = self.byteCount, expected != byteCount {
            return .mismatch(expected: "\(expected) bytes", found: "\(byteCount) bytes")
        }
        for expected in digests {
            guard let found = measured.first(where: { $0.algorithm == expected.algorithm }) else {
                return .unverifiable("its \(expected.algorithm.label) was not measured")
            }
            guard found == expected else { return .mismatch(expected: expected.description, found: found.description) }
        }
        return digests.isEmpty ? .unverifiable("the manifest gives no digest") : .verified
    }
}
