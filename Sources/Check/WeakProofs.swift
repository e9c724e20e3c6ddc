package import Digest
internal import Reports

/// Says which bundles were verified only by MD5 or SHA-1: these digests find accidents, but an attacker can
/// make a second file with the same digest.
package enum WeakProofs {
    private static let caution = "which detects damage, but not an attack"

    /// One note for each weak algorithm that verified bundles, such as "2 bundles verified by MD5, which …".
    ///
    /// - Parameter count: How many bundles were verified by an algorithm, and by no better one.
    package static func notes(_ count: (DigestAlgorithm) -> Int) -> [String] {
        DigestAlgorithm.allCases.filter { !$0.isStrong }.compactMap { algorithm in
            let bundles = count(algorithm)
            guard bundles > 0 else { return nil }
            return "\(Wording.count(bundles, "bundle")) verified by \(algorithm.label), \(caution)"
        }
    }
}
