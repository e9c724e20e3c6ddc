internal import Glibc
internal import Web

/// A fingerprint of a body, to recognise the same or similar content.
struct ContentPrint: Sendable, Hashable {
    /// A digest that is equal for equal contents.
    let digest: UInt64
    /// Nil if the words were not examined.
    let words: SimHash?
    let byteCount: Int
    /// A hash of the words outside links that contain no digit. It is the same for pages that have no content
    /// of their own. Nil if the words were not examined.
    let skeleton: UInt64?
    /// The number of words; 0 if they were not examined.
    let wordCount: Int

    /// The maximum number of bytes that are examined.
    static let maxTextBytes = 1 << 20
    /// With fewer words, the digest is that of the bytes: many pages are empty apart from a script.
    private static let minWords = 16

    /// Creates a fingerprint from a digest alone.
    init(digest: UInt64, byteCount: Int) {
        self.digest = digest
        self.byteCount = byteCount
        words = nil
        skeleton = nil
        wordCount = 0
    }

    /// Creates a fingerprint of a page from the words between its tags, without scripts and styles. The
    /// digest is that of the words in their order.
    init(text body: Span<UInt8>) {
        var reader = WordReader()
        body.withUnsafeBufferPointer {
            reader.read(UnsafeBufferPointer(rebasing: $0.prefix(Self.maxTextBytes)))
        }
        byteCount = body.count
        skeleton = reader.skeleton
        wordCount = reader.counter.total
        if reader.counter.total >= Self.minWords {
            digest = reader.digest
            words = reader.counter.finish()
        } else {
            digest = body.withUnsafeBufferPointer { Mixing.mix($0.prefix(Self.maxTextBytes)) }
            words = nil
        }
    }

    /// Whether the contents are the same apart from a few words, such as a name, a date, or the requested
    /// URL.
    ///
    /// - Parameters:
    ///   - differingBits: The maximum distance of the word fingerprints in bits.
    ///   - differingSize: The maximum difference in size, as a fraction of the larger one.
    func isAlike(_ other: ContentPrint, differingBits: Int, differingSize: Double) -> Bool {
        if digest == other.digest { return true }
        guard let words, let others = other.words, words.distance(to: others) <= differingBits else {
            return false
        }
        let larger = Double(max(byteCount, other.byteCount))
        return Double(abs(byteCount - other.byteCount)) <= larger * differingSize + 64
    }
}

/// The pieces of a page's text: numbers, and words together with the word before them in the same element. In
/// languages that are written without spaces, each character counts as a word. A page that shows the rows of another
/// one in another order has nearly the same pieces.
struct TextPieces: Sendable {
    /// The hashes of all different words with the word before each, and of all different numbers.
    let words: [UInt32]
    let numbers: [UInt32]

    private static let limit = 8192

    init(_ body: Span<UInt8>) {
        var reader = WordReader()
        reader.pieces = ([], [])
        body.withUnsafeBufferPointer {
            reader.read(UnsafeBufferPointer(rebasing: $0.prefix(ContentPrint.maxTextBytes)))
        }
        words = Array((reader.pieces?.words ?? []).prefix(Self.limit))
        numbers = Array((reader.pieces?.numbers ?? []).prefix(Self.limit))
    }
}

/// Reads the words between tags, each together with the one before it.
private struct WordReader {
    var counter = SimHash.Counter()
    var digest: UInt64 = 0
    var skeleton: UInt64 = 0
    /// The pieces of the text (`TextPieces`); nil if they are not wanted.
    var pieces: (words: Set<UInt32>, numbers: Set<UInt32>)?
    private var previous: UInt64 = 0
    private var previousInElement: UInt64 = 0
    private var isInLink = false

    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) {
        let wantsPieces = pieces != nil
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            if byte == UInt8(ascii: "<") {
                if Self.hasName("a", bytes, at + 1) { isInLink = true }
                if Self.hasName("/a", bytes, at + 1) { isInLink = false }
                at = Self.endOfTag(in: bytes, at: at)
                previousInElement = 0
            } else if Self.isLetter(byte) {
                var hash: UInt64 = 0xCBF2_9CE4_8422_2325
                var hasDigit = false
                let start = at
                // With pieces, a character of three bytes or more is a word, as in Chinese.
                let isCharacter = wantsPieces && byte >= 0xE0
                while at < bytes.count, Self.isLetter(bytes[at]) {
                    if isCharacter
                        ? at > start && bytes[at] & 0xC0 != 0x80 : wantsPieces && bytes[at] >= 0xE0
                    {
                        break
                    }
                    hash = (hash ^ UInt64(bytes[at].lowercasedASCII)) &* 0x0000_0100_0000_01B3
                    hasDigit = hasDigit || bytes[at].isASCIIDigit
                    at += 1
                }
                add(hash)
                if wantsPieces { addPiece(hash, hasDigit: hasDigit) }
                if !hasDigit, !isInLink { skeleton = Mixing.mix(skeleton ^ hash) }
            } else {
                at += 1
            }
        }
    }

    private mutating func addPiece(_ word: UInt64, hasDigit: Bool) {
        if hasDigit {
            // A link's text may be a number of a page or of results.
            if !isInLink { pieces?.numbers.insert(UInt32(truncatingIfNeeded: Mixing.mix(word))) }
        } else {
            pieces?.words.insert(UInt32(truncatingIfNeeded: Mixing.mix(previousInElement &* 31 &+ word)))
            previousInElement = word
        }
    }

    private mutating func add(_ word: UInt64) {
        counter.add(Mixing.mix(previous &* 31 &+ word))
        digest = Mixing.mix(digest ^ word)
        previous = word
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte.isASCIIAlphanumeric || byte >= 0x80 }

    /// The position after the tag, or after the content of a script or style element.
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

/// The digests of contents that were seen, in bounded memory. A newer digest replaces an older one in the
/// same slot.
struct SeenContents: Sendable {
    private var digests: [UInt64] = []

    private static let count = 1 << 16

    func contains(_ digest: UInt64) -> Bool {
        let digest = max(1, digest)
        return !digests.isEmpty && digests[Int(truncatingIfNeeded: digest % UInt64(Self.count))] == digest
    }

    /// Inserts a digest. Unlike `Set.insert`, returns true if it was present before.
    mutating func checkAndInsert(_ digest: UInt64) -> Bool {
        if digests.isEmpty { digests = [UInt64](repeating: 0, count: Self.count) }
        // Zero marks an empty slot.
        let digest = max(1, digest)
        let index = Int(truncatingIfNeeded: digest % UInt64(Self.count))
        defer { digests[index] = digest }
        return digests[index] == digest
    }
}

/// A fingerprint of a text's words. Texts that differ in few words have fingerprints that differ in few bits.
struct SimHash: Sendable, Hashable {
    let bits: UInt64

    /// The number of differing bits, out of 64. Unrelated texts differ in about 32.
    func distance(to other: SimHash) -> Int { (bits ^ other.bits).nonzeroBitCount }

    /// Counts for each bit in how many hashes it is set. It adds eight bits at once in byte counters, and
    /// carries these over before they overflow.
    struct Counter {
        private var small = SIMD8<UInt64>()
        private var inSmall = 0
        private var counts = [Int](repeating: 0, count: 64)
        private(set) var total = 0

        mutating func add(_ hash: UInt64) {
            for byte in 0..<8 {
                // Spread the eight bits of the byte over eight bytes.
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

/// Mixes numbers over all 64 bits, with the same result in every run. Swift's `Hasher` has a different seed
/// in each process.
enum Mixing {
    /// A permutation in which each bit of the number affects about half of the result's bits.
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
