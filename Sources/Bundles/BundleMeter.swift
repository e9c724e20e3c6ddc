package import Digest

/// Hashes the body of a bundle while it arrives, and compares it with the bundle at the end. Not thread-safe.
package final class BundleMeter {
    private let bundle: Bundle
    private var decoded: BodyMeter
    private let isCoded: Bool
    private let response: ResponseIntegrity?

    /// - Parameters:
    ///   - response: the digests and signatures in its header fields; nil if they are not known.
    ///   - isCoded: whether the response had a content coding. Claims about the encoded body are then not
    ///     checked.
    ///   - others: algorithms to compute in addition to those of the bundle.
    package init(
        _ bundle: Bundle, _ response: ResponseIntegrity? = nil, isCoded: Bool = false,
        and others: Set<DigestAlgorithm> = []
    ) {
        self.bundle = bundle
        self.response = response
        // The decoded body is hashed for claims about both forms: a match with the other form explains a
        // mismatch.
        decoded = BodyMeter(
            others.union(bundle.algorithms(of: .decoded)).union(bundle.algorithms(of: .encoded))
                .union(response?.digestAlgorithms ?? []))
        self.isCoded = isCoded
    }

    /// Adds the next bytes of the decoded body.
    package func update(_ bytes: Span<UInt8>) {
        decoded.update(bytes)
    }

    /// Returns the measurement. Call only one of `measurement()`, `finding()` and `verdict()`, and only once.
    package func measurement() -> Measurement {
        let body = decoded.finish()
        return Measurement(decoded: body, encoded: isCoded ? nil : body, response)
    }

    /// Returns the finding. Call at most once.
    package func finding() -> Finding { bundle.finding(on: measurement()) }

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

    /// Returns the result. Call at most once.
    func finish() -> Measurement.Body {
        Measurement.Body(byteCount: byteCount, digests: streams.compactMap { $0.finish() })
    }

    /// A reference to a digest stream, because an array cannot contain noncopyable values.
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

/// The size of a body and those of its digests that were computed, now or earlier, and the
/// digests and signatures in its header fields.
package struct Measurement: Sendable, Equatable {
    /// The size and digests of one form of the body.
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
    /// The body with its content coding; nil if it had one and the encoded bytes are not available.
    package var encoded: Body?
    /// The digests and signatures in the header fields of the response; nil if the fields are not known.
    package var response: ResponseIntegrity?

    package init(decoded: Body, encoded: Body?, _ response: ResponseIntegrity? = nil) {
        self.decoded = decoded
        self.encoded = encoded
        self.response = response
    }

    /// Creates the measurement of a body without content coding, whose two forms are the same.
    package init(uncoded body: Body, _ response: ResponseIntegrity? = nil) {
        self.init(decoded: body, encoded: body, response)
    }
}
