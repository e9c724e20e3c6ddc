internal import Glibc

/// Bytes that a scanner borrows during one call.
typealias Bytes = UnsafeBufferPointer<UInt8>

extension UInt8 {
    /// Whether the byte is white space of the HTML standard: tab, line feed, form feed, carriage return or
    /// space.
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
    /// Returns a part of these bytes with indices from 0 on.
    @inline(__always)
    func part(_ range: Range<Int>) -> Bytes {
        Bytes(rebasing: self[range])
    }

    /// Whether the bytes are equal, including their case.
    func isEqual(to other: Bytes) -> Bool {
        guard count == other.count else { return false }
        guard let bytes = baseAddress, let others = other.baseAddress else { return true }
        return memcmp(bytes, others, count) == 0
    }

    /// Compares ignoring ASCII case. `name` is in lower case.
    func equals(_ name: StaticString) -> Bool {
        count == name.utf8CodeUnitCount && starts(with: name)
    }

    /// Compares the bytes from `offset` on, ignoring ASCII case. `name` is in lower case.
    func starts(with name: StaticString, at offset: Int = 0) -> Bool {
        let length = name.utf8CodeUnitCount
        guard count - offset >= length else { return false }
        return name.withUTF8Buffer { expected in
            for index in 0..<length where self[offset + index].lowercased != expected[index] { return false }
            return true
        }
    }

    /// Returns the range without surrounding white space.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var lower = range.lowerBound
        var upper = range.upperBound
        while lower < upper, self[lower].isSpace { lower += 1 }
        while upper > lower, self[upper - 1].isSpace { upper -= 1 }
        return lower..<upper
    }

    /// Whether one of the words separated by white space is `word`, ignoring ASCII case.
    func containsWord(_ word: StaticString) -> Bool {
        var isFound = false
        forEachWord { isFound = isFound || part($0).equals(word) }
        return isFound
    }

    /// Calls `body` with the range of each word between white space.
    func forEachWord(_ body: (Range<Int>) -> Void) {
        var index = 0
        while index < count {
            while index < count, self[index].isSpace { index += 1 }
            let start = index
            while index < count, !self[index].isSpace { index += 1 }
            if index > start { body(start..<index) }
        }
    }

    /// Returns the first occurrence of `text` at or after `offset`, ignoring ASCII case. `text` is in lower
    /// case and not empty.
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
    /// Appends a code point as UTF-8, or U+FFFD if it is not valid.
    mutating func append(codePoint: UInt32) {
        let scalar = Unicode.Scalar(codePoint) ?? "\u{FFFD}"
        append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
}

extension UnsafePointer<UInt8> {
    /// Returns the first `byte` at or after `index` and before `end`, or `end` if there is none. It checks
    /// the first few words of eight bytes itself, since most distances are short, then calls libc.
    @inline(__always)
    func find(_ byte: UInt8, from index: Int, to end: Int) -> Int {
        var index = index
        let pattern = 0x0101_0101_0101_0101 &* UInt64(byte)
        var steps = 4
        while index &+ 8 <= end, steps > 0 {
            let word =
                UInt64(littleEndian: UnsafeRawPointer(self + index).loadUnaligned(as: UInt64.self)) ^ pattern
            // The lowest zero byte gets its high bit set. Borrows only affect the bytes above it.
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
