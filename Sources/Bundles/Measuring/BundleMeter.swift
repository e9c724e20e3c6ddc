package import Digest

/// Measures a bundle while its bytes come, and gives the verdict when all are there. It belongs to one thread.
package final class BundleMeter {
    private let bundle: Bundle
    private var decoded: BodyMeter
    /// Nil for a body without a content coding.
    private var encoded: BodyMeter?

    /// - Parameters:
    ///   - isCoded: whether the response had a content coding. Then what it says of the bytes as they were sent
    ///     is held against those that `updateEncoded` is given, and stays open when there are none.
    ///   - others: what is computed beside what the bundle names.
    package init(_ bundle: Bundle, isCoded: Bool = false, and others: Set<DigestAlgorithm> = []) {
        self.bundle = bundle
        // Both of the decoded body: a digest that is the other's says what went wrong.
        decoded = BodyMeter(others.union(bundle.algorithms(of: .decoded)).union(bundle.algorithms(of: .encoded)))
        encoded = isCoded ? BodyMeter(bundle.algorithms(of: .encoded)) : nil
    }

    /// Takes the next bytes of the decoded body.
    package func update(_ bytes: Span<UInt8>) {
        decoded.update(bytes)
    }

    /// Takes the next bytes of the body as it was sent; for one without a content coding there is no need.
    package func updateEncoded(_ bytes: Span<UInt8>) {
        encoded?.update(bytes)
    }

    /// What was measured. To be called once, and instead of the others.
    package func measurement() -> Measurement {
        let body = decoded.finish()
        guard let encoded else { return Measurement(uncoded: body) }
        return Measurement(decoded: body, encoded: encoded.isTouched ? encoded.finish() : nil)
    }

    /// To be called once.
    package func finding() -> Finding { bundle.finding(on: measurement()) }

    /// To be called once.
    package func verdict() -> Verdict { finding().verdict }

    package static func finding(on bundle: Bundle, bytes: [UInt8]) -> Finding {
        let meter = BundleMeter(bundle)
        meter.update(bytes.span)
        return meter.finding()
    }

    package static func verdict(on bundle: Bundle, bytes: [UInt8]) -> Verdict {
        finding(on: bundle, bytes: bytes).verdict
    }
}
