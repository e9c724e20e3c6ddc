extension TextEncoding {
    /// The bytes with each maximal part of a malformed sequence replaced by U+FFFD, as in the standard's
    /// decoder.
    package static func repairedUTF8(_ bytes: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var copied = 0
        var index = 0
        while index < bytes.count {
            let (length, isWellFormed) = UTF8Sequence.measure(bytes, at: index)
            if !isWellFormed {
                output.append(bytes.extracting(copied..<index))
                output += [UInt8].replacementCharacter
                copied = index + length
            }
            index += length
        }
        output.append(bytes.extracting(copied..<bytes.count))
        return output
    }
}

/// The length of UTF-8 sequences.
enum UTF8Sequence {
    /// The number of bytes at `start` that form a character or the longest possible beginning of one, and
    /// whether they are a complete character.
    @inline(__always)
    static func measure(_ bytes: Span<UInt8>, at start: Int) -> (length: Int, isWellFormed: Bool) {
        let lead = bytes[start]
        if lead < 0x80 { return (1, true) }
        // The range of the second byte excludes overlong forms, surrogates and values above U+10FFFF.
        let (length, second): (Int, ClosedRange<UInt8>)
        switch lead {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return (1, false)
        }
        guard start + 1 < bytes.count, second.contains(bytes[start + 1]) else { return (1, false) }
        var read = 2
        while read < length {
            guard start + read < bytes.count, bytes[start + read] & 0xC0 == 0x80 else { return (read, false) }
            read += 1
        }
        return (length, true)
    }
}

/// A decoder for UTF-16 in either byte order.
enum UTF16Decoder {
    static func decode(_ bytes: Span<UInt8>, isBigEndian: Bool) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var index = 0
        while index + 1 < bytes.count {
            let unit = unit(bytes, at: index, isBigEndian)
            index += 2
            if unit & 0xFC00 == 0xD800, index + 1 < bytes.count {
                let low = self.unit(bytes, at: index, isBigEndian)
                if low & 0xFC00 == 0xDC00 {
                    output.append(utf8: 0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF)
                    index += 2
                    continue
                }
            }
            // An unpaired surrogate is not a scalar value, so it becomes U+FFFD.
            output.append(utf8: unit)
        }
        if index < bytes.count { output += [UInt8].replacementCharacter }
        return output
    }

    private static func unit(_ bytes: Span<UInt8>, at index: Int, _ isBigEndian: Bool) -> UInt32 {
        let (high, low) = isBigEndian ? (bytes[index], bytes[index + 1]) : (bytes[index + 1], bytes[index])
        return UInt32(high) << 8 | UInt32(low)
    }
}
