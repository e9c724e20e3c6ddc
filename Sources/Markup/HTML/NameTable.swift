/// A table that gives numbers to a fixed set of lower-case names. The caller computes the hash of a name
/// while it scans the name.
struct NameTable: @unchecked Sendable {
    // Safe to share: only the code that builds a table changes it, before it is shared. The memory is never
    // freed, so looking up a tag retains nothing.
    private static let bits: UInt32 = 11
    private static let mask = 1 << Int(bits) - 1
    private static let recordBytes = 32

    private let slots: UnsafeMutablePointer<UInt8> = allocate(1 << Int(bits))
    /// The names, each in a slot of the same size and with its length in front.
    private let nameRecords: UnsafeMutablePointer<UInt8> = allocate(256 * recordBytes)
    private(set) var names: [[UInt8]] = [[]]
    /// The hash slots of names that fit into one word.
    private let shortSlots: UnsafeMutablePointer<UInt8> = allocate(1 << Int(bits))
    private let words: UnsafeMutablePointer<UInt64> = allocate(256)

    private static func allocate<Value: FixedWidthInteger>(_ count: Int) -> UnsafeMutablePointer<Value> {
        let memory = UnsafeMutablePointer<Value>.allocate(capacity: count)
        memory.initialize(repeating: 0, count: count)
        return memory
    }

    /// The hash of the empty name.
    static let seed: UInt32 = 0

    /// Adds the next byte of a name to its hash. Upper and lower case have the same hash.
    @inline(__always)
    static func add(_ byte: UInt8, to hash: UInt32) -> UInt32 {
        (hash ^ UInt32(byte | 0x20)) &* 0x9E37_79B1
    }

    /// Returns the number of a name, and adds the name if it is new. There are at most 255 names.
    mutating func number(_ name: String) -> UInt8 {
        let bytes = Array(name.utf8)
        let hash = bytes.reduce(Self.seed) { Self.add($1, to: $0) }
        let known = bytes.withUnsafeBufferPointer { bytes in
            bytes.baseAddress.map { find(hash, $0, 0..<bytes.count) } ?? 0
        }
        if known != 0 || bytes.isEmpty { return known }
        precondition(names.count <= 255 && bytes.count < Self.recordBytes)
        let number = UInt8(names.count)
        names.append(bytes)
        let record = nameRecords + Int(number) * Self.recordBytes
        record.pointee = UInt8(bytes.count)
        for (index, byte) in bytes.enumerated() { record[index + 1] = byte }
        var slot = Self.slot(hash)
        while slots[slot] != 0 { slot = (slot + 1) & Self.mask }
        slots[slot] = number
        if let short = ShortName(bytes) {
            var slot = Self.slot(short)
            while shortSlots[slot] != 0 { slot = (slot + 1) & Self.mask }
            (shortSlots[slot], words[Int(number)]) = (number, short.word)
        }
        return number
    }

    /// Returns the number of a name; 0 if it is unknown.
    @inline(__always)
    func find(_ name: ShortName) -> UInt8 {
        var slot = Self.slot(name)
        while true {
            let number = shortSlots[slot]
            if number == 0 || words[Int(number)] == name.word { return number }
            slot = (slot &+ 1) & Self.mask
        }
    }

    /// Returns the number of the name with this hash in a range of `text`; 0 if it is unknown.
    @inline(__always)
    func find(_ hash: UInt32, _ text: UnsafePointer<UInt8>, _ range: Range<Int>) -> UInt8 {
        var slot = Self.slot(hash)
        while true {
            let number = slots[slot]
            if number == 0 || isEqual(nameRecords + Int(number) &* Self.recordBytes, text, range) {
                return number
            }
            slot = (slot &+ 1) & Self.mask
        }
    }

    @inline(__always)
    private func isEqual(_ record: UnsafePointer<UInt8>, _ text: UnsafePointer<UInt8>, _ range: Range<Int>)
        -> Bool
    {
        guard Int(record.pointee) == range.count else { return false }
        var (offset, index) = (1, range.lowerBound)
        while index < range.upperBound {
            guard text[index].lowercased == record[offset] else { return false }
            (offset, index) = (offset &+ 1, index &+ 1)
        }
        return true
    }

    @inline(__always)
    private static func slot(_ hash: UInt32) -> Int {
        Int(hash >> (32 - bits))
    }

    @inline(__always)
    private static func slot(_ name: ShortName) -> Int {
        Int(truncatingIfNeeded: (name.word &* 0x9E37_79B9_7F4A_7C15) >> UInt64(64 - bits))
    }
}

/// A set of numbers from a ``NameTable``.
struct NameSet {
    private var words = SIMD4<UInt64>.zero

    /// Returns false if the set already contains the number.
    mutating func insert(_ number: UInt8) -> Bool {
        let word = Int(number >> 6)
        let bit: UInt64 = 1 << UInt64(number & 63)
        defer { words[word] |= bit }
        return words[word] & bit == 0
    }
}

/// A name of at most seven letters, as most are, which is looked up as one word.
struct ShortName {
    /// The letters in lower case.
    let word: UInt64
    let count: Int

    /// Reads the letters at an offset of a text that ends at `end`, up to a byte that may end a name. Returns
    /// nil if there are none or more than seven, or if fewer than eight bytes are left. Some other bytes
    /// count as letters here, but no known name contains them.
    @inline(__always)
    init?(_ text: UnsafePointer<UInt8>, at offset: Int, to end: Int) {
        guard offset &+ 8 <= end else { return nil }
        let bytes = UInt64(littleEndian: UnsafeRawPointer(text + offset).loadUnaligned(as: UInt64.self))
        // A letter has one of the two upper bits set; a byte that ends a name has neither.
        let others = ~(bytes | bytes << 1) & 0x8080_8080_8080_8080
        let bits = others.trailingZeroBitCount & ~7
        guard bits > 0, bits < 64 else { return nil }
        let mask = (1 as UInt64) << UInt64(bits) &- 1
        word = (bytes | 0x2020_2020_2020_2020) & mask
        count = bits / 8
    }

    /// Returns nil for a name that is longer or contains other characters.
    fileprivate init?(_ name: [UInt8]) {
        guard name.allSatisfy(\.isLetter) else { return nil }
        let text = name + [UInt8](repeating: 0, count: 8)
        let short = text.withUnsafeBufferPointer { text in
            text.baseAddress.flatMap { ShortName($0, at: 0, to: text.count) }
        }
        guard let short else { return nil }
        self = short
    }
}
