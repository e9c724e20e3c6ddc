internal import Glibc
internal import Web

/// What is remembered of a body to know it again.
struct ContentPrint: Sendable, Hashable {
    /// Equal for equal contents.
    let digest: UInt64
    /// Nil when nobody looked at the words.
    let words: SimHash?
    let byteCount: Int
    /// What it says beside its links, without all that has a figure in it: the same for pages that say
    /// nothing of their own. Nil when nobody looked at the words.
    let skeleton: UInt64?

    static let longestText = 1 << 20
    /// What has fewer words is known by its bytes: many pages are empty but for a script.
    private static let leastWords = 16

    /// A body of which no more than a digest is known.
    init(digest: UInt64, byteCount: Int) {
        self.digest = digest
        self.byteCount = byteCount
        words = nil
        skeleton = nil
    }

    /// The words of a page: what stands between its tags, links left out thereby, and neither scripts nor
    /// styles. The digest is one of the words in their order.
    init(text body: Span<UInt8>) {
        var reader = WordReader()
        body.withUnsafeBufferPointer {
            reader.read(UnsafeBufferPointer(rebasing: $0.prefix(Self.longestText)))
        }
        byteCount = body.count
        skeleton = reader.skeleton
        if reader.counter.total >= Self.leastWords {
            digest = reader.digest
            words = reader.counter.finish()
        } else {
            digest = body.withUnsafeBufferPointer { Mixing.mix($0.prefix(Self.longestText)) }
            words = nil
        }
    }

    /// The same content but for a few words: a name, a date, the URL that was asked for.
    func isAlike(_ other: ContentPrint, differingBits: Int, differingSize: Double) -> Bool {
        if digest == other.digest { return true }
        guard let words, let others = other.words, words.distance(to: others) <= differingBits else {
            return false
        }
        let larger = Double(max(byteCount, other.byteCount))
        return Double(abs(byteCount - other.byteCount)) <= larger * differingSize + 64
    }
}

/// Reads the words between tags, each together with the one before it.
private struct WordReader {
    var counter = SimHash.Counter()
    var digest: UInt64 = 0
    var skeleton: UInt64 = 0
    private var previous: UInt64 = 0
    private var isInLink = false

    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) {
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "<") {
                if Self.hasName("a", bytes, at + 1) { isInLink = true }
                if Self.hasName("/a", bytes, at + 1) { isInLink = false }
                at = Self.endOfTag(in: bytes, at: at)
            } else if Self.isLetter(byte) {
                var hash: UInt64 = 0xCBF2_9CE4_8422_2325
                var hasDigit = false
                while at < bytes.count, Self.isLetter(bytes[at]) {
                    hash = (hash ^ UInt64(bytes[at].lowercasedASCII)) &* 0x0000_0100_0000_01B3
                    hasDigit = hasDigit || bytes[at].isASCIIDigit
                    at += 1
                }
                add(hash)
                if !hasDigit, !isInLink { skeleton = Mixing.mix(skeleton ^ hash) }
            } else {
                at += 1
            }
        }
    }

    private mutating func add(_ word: UInt64) {
        counter.add(Mixing.mix(previous &* 31 &+ word))
        digest = Mixing.mix(digest ^ word)
        previous = word
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte >= 0x80 }

    /// Behind the tag, and behind the whole element where that is no text.
    private static func endOfTag(in bytes: UnsafeBufferPointer<UInt8>, at start: Int) -> Int {
        let end = find(UInt8(ascii: ">"), bytes, from: start).map { $0 + 1 } ?? bytes.count
        let tag = UnsafeBufferPointer(rebasing: bytes[..<end])
        for name in ["script", "style"] as [StaticString] where hasName(name, tag, start + 1) {
            var at = end
            while let open = find(UInt8(ascii: "<"), bytes, from: at) {
                at = open + 1
                if at < bytes.count, bytes[at] == UInt8(ascii: "/"), hasName(name, bytes, at + 1) {
                    return open
                }
            }
            return bytes.count
        }
        return end
    }

    private static func find(_ byte: UInt8, _ bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(byte), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    @inline(__always)
    private static func hasName(
        _ name: StaticString, _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int
    ) -> Bool {
        let end = start + name.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        for index in start..<end where bytes[index].lowercasedASCII != name.utf8Start[index - start] {
            return false
        }
        return end == bytes.count || !bytes[end].isASCIIAlphanumeric
    }
}

/// The digests of contents that were seen, in bounded memory: newer ones take the place of older ones.
struct SeenContents: Sendable {
    private var digests: [UInt64] = []

    private static let count = 1 << 16

    func contains(_ digest: UInt64) -> Bool {
        let digest = max(1, digest)
        return !digests.isEmpty && digests[Int(truncatingIfNeeded: digest % UInt64(Self.count))] == digest
    }

    /// Whether it was there before.
    mutating func insert(_ digest: UInt64) -> Bool {
        if digests.isEmpty { digests = [UInt64](repeating: 0, count: Self.count) }
        // Zero stands for an empty place.
        let digest = max(1, digest)
        let index = Int(truncatingIfNeeded: digest % UInt64(Self.count))
        defer { digests[index] = digest }
        return digests[index] == digest
    }
}

/// A fingerprint of words that differs in few bits when few of the words differ.
struct SimHash: Sendable, Hashable {
    let bits: UInt64

    /// How many bits differ, of 64. Texts that have nothing in common differ in about 32.
    func distance(to other: SimHash) -> Int { (bits ^ other.bits).nonzeroBitCount }

    /// Counts for each bit in how many hashes it is set. It counts in bytes, eight bits at once, and carries
    /// over in time.
    struct Counter {
        private var small = SIMD8<UInt64>()
        private var inSmall = 0
        private var counts = [Int](repeating: 0, count: 64)
        private(set) var total = 0

        mutating func add(_ hash: UInt64) {
            for byte in 0..<8 {
                // Each bit of the byte comes to stand in a byte of its own.
                let spread =
                    (hash >> UInt64(byte * 8) & 0xFF) &* 0x0101_0101_0101_0101 & 0x8040_2010_0804_0201
                small[byte] &+= (spread &+ 0x7F7F_7F7F_7F7F_7F7F) >> 7 & 0x0101_0101_0101_0101
            }
            inSmall += 1
            total += 1
            if inSmall == 255 { carry() }
        }

        private mutating func carry() {
            for bit in 0..<64 { counts[bit] += Int(small[bit / 8] >> UInt64(bit % 8 * 8) & 0xFF) }
            small = SIMD8()
            inSmall = 0
        }

        mutating func finish() -> SimHash {
            carry()
            var bits: UInt64 = 0
            for bit in 0..<64 where counts[bit] * 2 > total { bits |= 1 << UInt64(bit) }
            return SimHash(bits: bits)
        }
    }
}

/// Spreads numbers over all 64 bits, the same way in every run, where Swift's `Hasher` has a seed of its own
/// in each.
enum Mixing {
    /// A permutation in which every bit of the number moves half of the bits.
    static func mix(_ number: UInt64) -> UInt64 {
        var value = number &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    static func mix(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var value: UInt64 = 0
        var word: UInt64 = 0
        var count: UInt64 = 0
        for byte in bytes {
            word = word << 8 | UInt64(byte)
            count += 1
            guard count % 8 == 0 else { continue }
            value = mix(value ^ word)
            word = 0
        }
        return mix(value ^ word) ^ count
    }
}
