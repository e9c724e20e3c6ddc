/// A set of numbers that a ``NameTable`` gives.
struct NameSet {
    private var words = SIMD4<UInt64>.zero

    /// False when the number is in the set already.
    mutating func insert(_ number: UInt8) -> Bool {
        let word = Int(number >> 6)
        let bit: UInt64 = 1 << UInt64(number & 63)
        defer { words[word] |= bit }
        return words[word] & bit == 0
    }
}

/// Numbers for a fixed set of lower-case names, found by a hash that the caller sums up while it walks the name.
struct NameTable {
    private static let bits: UInt32 = 11

    private var slots = [UInt8](repeating: 0, count: 1 << Self.bits)
    private(set) var names: [[UInt8]] = [[]]

    /// The hash of the empty name.
    static let seed: UInt32 = 0

    /// Adds the next byte of a name; upper and lower case give the same.
    @inline(__always)
    static func add(_ byte: UInt8, to hash: UInt32) -> UInt32 {
        (hash ^ UInt32(byte | 0x20)) &* 0x9E37_79B1
    }

    /// The number of a name, given now or before. There is room for 255.
    mutating func number(_ name: String) -> UInt8 {
        let bytes = Array(name.utf8)
        if let known = names.firstIndex(of: bytes) { return UInt8(known) }
        precondition(names.count <= 255)
        let number = UInt8(names.count)
        names.append(bytes)
        var slot = Self.slot(bytes.reduce(Self.seed) { Self.add($1, to: $0) })
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = number
        return number
    }

    /// The number of the name with this hash in a range of `text`; 0 when it is none of ours.
    @inline(__always)
    func find(_ hash: UInt32, _ text: UnsafePointer<UInt8>, _ range: Range<Int>) -> UInt8 {
        slots.withUnsafeBufferPointer { slots in
            var slot = Self.slot(hash)
            while true {
                let number = slots[slot]
                if number == 0 || isEqual(number, text, range) { return number }
                slot = (slot + 1) & (slots.count - 1)
            }
        }
    }

    private func isEqual(_ number: UInt8, _ text: UnsafePointer<UInt8>, _ range: Range<Int>) -> Bool {
        names[Int(number)].withUnsafeBufferPointer { name in
            guard name.count == range.count else { return false }
            for index in 0..<name.count where text[range.lowerBound + index].lowercased != name[index] { return false }
            return true
        }
    }

    @inline(__always)
    private static func slot(_ hash: UInt32) -> Int {
        Int(hash >> (32 - bits))
    }
}
