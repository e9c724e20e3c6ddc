package import Digest

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
