internal import Digest

/// Counts and hashes one body.
struct BodyMeter {
    private let streams: [Stream]
    private var byteCount = 0
    /// Whether any bytes were announced, be it none.
    private(set) var isTouched = false

    init(_ algorithms: Set<DigestAlgorithm>) {
        streams = algorithms.sorted { $0.byteCount < $1.byteCount }.map(Stream.init)
    }

    mutating func update(_ bytes: Span<UInt8>) {
        isTouched = true
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
