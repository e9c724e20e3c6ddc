extension Bundle {
    /// What a measurement proves: every strong claim must hold, and one of them must be a digest.
    package func finding(on measurement: Measurement) -> Finding {
        var failures: [Claim.Failure] = []
        var remarks: [String] = []
        var gaps: [String] = []
        var isProven = false
        for claim in claims {
            switch (claim.outcome(on: measurement), claim.strength) {
            case (.holds, .strong): isProven = isProven || claim.isProof
            case (.holds, .weak): remarks.append("\(claim.source) agrees, which proves nothing")
            case (.fails(let failure), .strong): failures.append(failure)
            case (.fails(let failure), .weak):
                remarks.append(
                    "\(claim.source) does not agree, which fails nothing: "
                        + "expected \(failure.expected), found \(failure.found)")
            case (.open(let reason), .strong):
                // What was sent may be gone while what it decodes to is there and can be proven.
                if claim.subject == .encoded { remarks.append(reason) } else { gaps.append(reason) }
            case (.open(let reason), .weak): remarks.append(reason)
            }
        }
        if !failures.isEmpty {
            let mismatch = Mismatch(
                failures: failures, expectedByteCount: byteCount, foundByteCount: measurement.decoded.byteCount)
            return Finding(.mismatch(mismatch), remarks: remarks)
        }
        if isProven, gaps.isEmpty { return Finding(.verified, remarks: remarks) }
        return Finding(.unverifiable(gaps.first ?? remarks.first ?? nothingSaid), remarks: remarks)
    }

    private var nothingSaid: String {
        byteCount == nil ? "the manifest gives no digest" : "the manifest gives no digest, only a size, which is right"
    }
}
