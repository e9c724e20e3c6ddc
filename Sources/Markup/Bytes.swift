internal import Glibc

/// Borrowed bytes inside one call: what the scanners walk.
typealias Bytes = UnsafeBufferPointer<UInt8>

extension UInt8 {
    /// White space of the HTML standard: tab, line feed, form feed, carriage return, space.
    @inline(__always) var isSpace: Bool {
        self == 0x20 || self == 0x0A || self == 0x09 || self == 0x0D || self == 0x0C
    }
    @inline(__always) var isLetter: Bool { (self | 0x20) &- 0x61 < 26 }
    @inline(__always) var isDigit: Bool { self &- 0x30 < 10 }
    @inline(__always) var isHex: Bool { isDigit || (self | 0x20) &- 0x61 < 6 }
    @inline(__always) var lowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }

    /// The value of a hexadecimal digit.
    @inline(__always) var hexValue: UInt32 {
        UInt32(self < 0x3A ? self &- 0x30 : (self | 0x20) &- 0x61 &+ 10)
    }
}

extension Bytes {
    /// A part of these bytes, counted from its own zero.
    @inline(__always)
    func part(_ range: Range<Int>) -> Bytes {
        Bytes(rebasing: self[range])
    }

    /// Whether the bytes are the same, in just this case.
    func isEqual(to other: Bytes) -> Bool {
        guard count == other.count else { return false }
        guard let bytes = baseAddress, let others = other.baseAddress else { return true }
        return memcmp(bytes, others, count) == 0
    }

    /// Compares without ASCII case; `name` is lower case.
    func equals(_ name: StaticString) -> Bool {
        count == name.utf8CodeUnitCount && starts(with: name)
    }

    /// Compares the start without ASCII case; `name` is lower case.
    func starts(with name: StaticString, at offset: Int = 0) -> Bool {
        let length = name.utf8CodeUnitCount
        guard count - offset >= length else { return false }
        return name.withUTF8Buffer { expected in
            for index in 0..<length where self[offset + index].lowercased != expected[index] { return false }
            return true
        }
    }

    /// The range without the white space at both ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, self[lower].isSpace { lower += 1 }
        while upper > lower, self[upper - 1].isSpace { upper -= 1 }
        return lower..<upper
    }

    /// Whether one of the words between white space is `word`, without ASCII case.
    func containsWord(_ word: StaticString) -> Bool {
        var found = false
        forEachWord { found = found || part($0).equals(word) }
        return found
    }

    /// Calls with each stretch between white space.
    func forEachWord(_ body: (Range<Int>) -> Void) {
        var index = 0
        while index < count {
            while index < count, self[index].isSpace { index += 1 }
            let start = index
            while index < count, !self[index].isSpace { index += 1 }
            if index > start { body(start..<index) }
        }
    }

    /// Where `text` starts, without ASCII case, at or behind `offset`; `text` is lower case and not empty.
    func firstIndex(of text: StaticString, from offset: Int = 0) -> Int? {
        var index = offset
        while index + text.utf8CodeUnitCount <= count {
            if starts(with: text, at: index) { return index }
            index += 1
        }
        return nil
    }
}

extension [UInt8] {
    /// Appends a code point as UTF-8; one that is none as U+FFFD.
    mutating func append(codePoint: UInt32) {
        let scalar = Unicode.Scalar(codePoint) ?? "\u{FFFD}"
        append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
}

extension UnsafePointer<UInt8> {
    /// The first `byte` at or behind `index` and before `end`, else `end`. Eight bytes a step for the first
    /// few, since most stretches between two marks are short, then libc's.
    @inline(__always)
    func find(_ byte: UInt8, from index: Int, to end: Int) -> Int {
        var index = index
        let pattern = 0x0101_0101_0101_0101 &* UInt64(byte)
        var steps = 4
        while index &+ 8 <= end, steps > 0 {
            let word =
                UInt64(littleEndian: UnsafeRawPointer(self + index).loadUnaligned(as: UInt64.self)) ^ pattern
            // The lowest byte that became zero gets its high bit set; borrows only disturb the bytes above
            // it.
            let hit = (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
            if hit != 0 { return index &+ hit.trailingZeroBitCount &>> 3 }
            index &+= 8
            steps &-= 1
        }
        guard index < end else { return end }
        guard let hit = memchr(self + index, Int32(byte), end &- index) else { return end }
        return UnsafeRawPointer(hit) - UnsafeRawPointer(self)
    }
}
