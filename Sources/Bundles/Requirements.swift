package import Digest
package import Web

/// What bodies have to be, by their URLs, whoever brings them in: the digests of the manifests that are in force.
package struct Requirements: Sendable, Equatable {
    private var bundles: [String: Bundle] = [:]

    package init() {}

    package var isEmpty: Bool { bundles.isEmpty }

    /// Nil where nothing is said that could prove a body right.
    package subscript(_ url: WebURL) -> Bundle? { bundles.isEmpty ? nil : bundles[url.key.href] }

    /// What has no digest proves nothing, and requires nothing.
    package mutating func require(_ bundle: Bundle, at url: WebURL) {
        guard bundle.isProvable else { return }
        bundles[url.key.href] = bundle
    }

    /// What is required here already counts more.
    package mutating func add(_ others: Requirements) {
        bundles.merge(others.bundles) { own, _ in own }
    }
}

extension Bundle {
    /// What the digests prove that are known of a body; nil where it takes others, which only the bytes give.
    package func finding(knowing digests: [Digest], byteCount: Int) -> Finding? {
        for claim in claims {
            guard let algorithm = claim.algorithm else { continue }
            guard digests.contains(where: { $0.algorithm == algorithm }) else { return nil }
        }
        return finding(on: Measurement(uncoded: Measurement.Body(byteCount: byteCount, digests: digests)))
    }
}
