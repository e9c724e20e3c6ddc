/// A small sample of a body by which similar bodies are found: the smallest hashes of all its pieces of 64 bytes.
///
/// Two bodies share about the same part of their samples as of their pieces. Where the pieces are in the bodies makes no
/// difference.
struct BodySketch: Sendable, Equatable {
    /// The smallest hashes, in ascending order.
    let hashes: [UInt64]

    /// The maximum number of hashes in a sample.
    static let maxHashes = 64
}

/// Computes a sketch piece by piece. The memory does not depend on the size of the body.
struct BodySketcher {
    /// The hash of the last 64 bytes: each step shifts the oldest byte out.
    private var rolling: UInt64 = 0
    private var byteCount = 0
    private var candidates: [UInt64] = []
    /// Larger hashes are not among the smallest.
    private var limit = UInt64.max

    private static let windowBytes = 64
    private static let maxCandidates = 16 * BodySketch.maxHashes

    /// A random number for each byte, the same in each run.
    private static let numbers: [UInt64] = {
        // SplitMix64.
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<256).map { _ in
            state &+= 0x9E37_79B9_7F4A_7C15
            return mix(state)
        }
    }()

    private static func mix(_ number: UInt64) -> UInt64 {
        var mixed = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func update(_ piece: Span<UInt8>) {
        var rolling = rolling
        let start = byteCount
        Self.numbers.withUnsafeBufferPointer { numbers in
            for index in piece.indices {
                rolling = (rolling << 1) &+ numbers[Int(piece[index])]
                guard start + index >= Self.windowBytes - 1 else { continue }
                let hash = Self.mix(rolling)
                if hash < limit { add(hash) }
            }
        }
        self.rolling = rolling
        byteCount += piece.count
    }

    private mutating func add(_ hash: UInt64) {
        candidates.append(hash)
        if candidates.count >= Self.maxCandidates { shorten() }
    }

    private mutating func shorten() {
        var smallest: [UInt64] = []
        for hash in candidates.sorted() where hash != smallest.last {
            smallest.append(hash)
            if smallest.count == BodySketch.maxHashes {
                limit = hash
                break
            }
        }
        candidates = smallest
    }

    consuming func finish() -> BodySketch {
        shorten()
        return BodySketch(hashes: candidates)
    }
}
