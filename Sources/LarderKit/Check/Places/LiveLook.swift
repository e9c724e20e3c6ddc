internal import Bundles
internal import Digest

/// What one answer for a bundle told.
struct LiveLook: Sendable {
    /// Nil when no answer came.
    let status: Int?
    var examination: Examination
    /// With what the answer says of its body.
    var answered: Bundle?
    var measured: Measurement?
    /// The answer speaks of its bytes as they were sent, and they were decoded on the way.
    var wantsEncoded = false
    /// From the body that it was compared with.
    var difference: Difference?

    /// Worth asking again: while servers are brought up to date, one has what another has not.
    var isDoubtful: Bool {
        switch examination.finding.verdict {
        case .mismatch: true
        case .missing: status == 404 || status == 410
        case .verified, .unverifiable, .skew: false
        }
    }

    /// With the bytes as they were sent, which another look has measured.
    func examination(withEncoded other: LiveLook) -> Examination {
        guard let measured, let sent = other.measured?.decoded, let bundle = other.answered else { return examination }
        let both = Measurement(decoded: measured.decoded, encoded: sent)
        return Examination(bundle.finding(on: both), measured: both)
    }

    /// After the same was asked for once more: a server that says two things has two releases.
    func examination(askedAgain other: LiveLook, comparedWith good: Examination.GoodBody?) -> Examination {
        if let skew = skew(with: other) {
            return Examination(Finding(.skew(skew), remarks: examination.finding.remarks))
        }
        var examination = examination
        if let good, let difference = other.difference { examination.add(difference, from: good) }
        return examination
    }

    private func skew(with other: LiveLook) -> Skew? {
        guard let measured, let again = other.measured else {
            guard let status, let second = other.status, other.examination.finding.verdict == .verified else {
                return nil
            }
            return .generation(by: "status", first: "\(status)", second: "\(second)")
        }
        for digest in measured.decoded.digests {
            guard let second = again.decoded.digest(digest.algorithm), second != digest else { continue }
            return .generation(by: digest.algorithm.label, first: digest.hex, second: second.hex)
        }
        return nil
    }
}
