internal import Digest

extension Claim {
    enum Outcome: Equatable {
        case holds
        case fails(Failure)
        /// What it speaks of is not known; the text says why.
        case open(String)
    }

    /// One that did not hold, and what was found instead.
    package struct Failure: Sendable, Equatable {
        /// Who expected it, as people know it; see `Claim.source`.
        package let source: String
        package let subject: Subject
        /// As reports show it: `MD5 …`, `7 bytes`, `any of SHA-256 …, SHA-256 …`.
        package let expected: String
        package let found: String
        /// What may have happened, where it shows.
        package let hint: String?
    }

    func outcome(on measurement: Measurement) -> Outcome {
        guard let body = subject == .decoded ? measurement.decoded : measurement.encoded else {
            return .open("\(source) speaks of the bytes as they were sent, which are not at hand")
        }
        switch content {
        case .byteCount(let count):
            return count == body.byteCount ? .holds : failure("\(count) bytes", "\(body.byteCount) bytes")
        case .digest(let digest):
            return compare(digest.algorithm, digest.description, body, measurement) { $0 == digest }
        case .prefix(let algorithm, let hex):
            return compare(algorithm, "\(algorithm.label) \(hex)…", body, measurement) { $0.hex.hasPrefix(hex) }
        case .integrity(let integrity):
            guard let algorithm = integrity.algorithm else { return .open("\(source) has no digest that is known") }
            return compare(algorithm, integrity.expected, body, measurement) { integrity.digests.contains($0) }
        }
    }

    private func compare(
        _ algorithm: DigestAlgorithm, _ expected: String, _ body: Measurement.Body, _ measurement: Measurement,
        _ agrees: (Digest) -> Bool
    ) -> Outcome {
        guard let found = body.digest(algorithm) else { return .open("its \(algorithm.label) was not measured") }
        guard !agrees(found) else { return .holds }
        // Proxies that compress on the way tend to leave the digest of what they were given.
        let isOfTheOther = subject == .encoded && measurement.decoded.digest(algorithm).map(agrees) == true
        return failure(
            expected, found.description,
            hint: isOfTheOther ? "it is that of the decoded body: something on the way compressed it" : nil)
    }

    private func failure(_ expected: String, _ found: String, hint: String? = nil) -> Outcome {
        .fails(Failure(source: source, subject: subject, expected: expected, found: found, hint: hint))
    }
}
