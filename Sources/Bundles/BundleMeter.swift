package import Digest

/// Measures a bundle while its bytes come, and gives the verdict when all are there. It belongs to one
/// thread.
package final class BundleMeter {
    private let bundle: Bundle
    private var decoded: BodyMeter
    private let isCoded: Bool

    /// - Parameters:
    ///   - isCoded: whether the response had a content coding. Then what it says of the bytes as they were
    ///     sent stays open.
    ///   - others: what is computed beside what the bundle names.
    package init(_ bundle: Bundle, isCoded: Bool = false, and others: Set<DigestAlgorithm> = []) {
        self.bundle = bundle
        // Both of the decoded body: a digest that is the other's says what went wrong.
        decoded = BodyMeter(
            others.union(bundle.algorithms(of: .decoded)).union(bundle.algorithms(of: .encoded)))
        self.isCoded = isCoded
    }

    /// Takes the next bytes of the decoded body.
    package func update(_ bytes: Span<UInt8>) {
        decoded.update(bytes)
    }

    /// What was measured. To be called once, and instead of the others.
    package func measurement() -> Measurement {
        let body = decoded.finish()
        return isCoded ? Measurement(decoded: body, encoded: nil) : Measurement(uncoded: body)
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

/// Counts and hashes one body.
struct BodyMeter {
    private let streams: [Stream]
    private var byteCount = 0

    init(_ algorithms: Set<DigestAlgorithm>) {
        streams = algorithms.sorted { $0.byteCount < $1.byteCount }.map(Stream.init)
    }

    mutating func update(_ bytes: Span<UInt8>) {
        byteCount += bytes.count
        for stream in streams { stream.update(bytes) }
    }

    /// To be called once.
    func finish() -> Measurement.Body {
        Measurement.Body(byteCount: byteCount, digests: streams.compactMap { $0.finish() })
    }

    /// An array cannot hold what cannot be copied, so each stream gets a reference.
    private final class Stream {
        private var stream: DigestStream?

        init(_ algorithm: DigestAlgorithm) {
            stream = DigestStream(algorithm)
        }

        func update(_ bytes: Span<UInt8>) {
            stream?.update(bytes)
        }

        func finish() -> Digest? {
            stream.take()?.finish()
        }
    }
}

/// What is known of a body: how long it is, and such digests as were computed, now or earlier.
package struct Measurement: Sendable, Equatable {
    package struct Body: Sendable, Equatable {
        package var byteCount: Int
        package var digests: [Digest]

        package init(byteCount: Int, digests: [Digest]) {
            self.byteCount = byteCount
            self.digests = digests
        }

        package func digest(_ algorithm: DigestAlgorithm) -> Digest? {
            digests.first { $0.algorithm == algorithm }
        }
    }

    package var decoded: Body
    /// Nil when the body had a content coding and its bytes with that coding are not at hand.
    package var encoded: Body?

    package init(decoded: Body, encoded: Body?) {
        self.decoded = decoded
        self.encoded = encoded
    }

    /// Of a body that had no content coding, so that both are the same.
    package init(uncoded body: Body) {
        self.init(decoded: body, encoded: body)
    }
}
