internal import Digest

/// Measures a bundle while its bytes come, and gives the verdict when all are there. It belongs to one thread.
package final class BundleMeter {
    private let bundle: Bundle
    private let streams: [Stream]
    private var byteCount = 0

    package init(_ bundle: Bundle) {
        self.bundle = bundle
        streams = Set(bundle.digests.map(\.algorithm)).map(Stream.init)
    }

    package func update(_ bytes: Span<UInt8>) {
        byteCount += bytes.count
        for stream in streams { stream.update(bytes) }
    }

    /// To be called once.
    package func verdict() -> Verdict {
        bundle.verdict(byteCount: byteCount, measured: streams.compactMap { $0.finish() })
    }

    package static func verdict(on bundle: Bundle, bytes: [UInt8]) -> Verdict {
        let meter = BundleMeter(bundle)
        meter.update(bytes.span)
        return meter.verdict()
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
