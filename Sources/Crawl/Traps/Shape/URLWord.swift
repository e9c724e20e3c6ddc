internal import Web

/// What the words in URLs are: numbers, dates, keys, or words.
enum URLWord {
    private static let leastKey = 16
    private static let leastHex = 8

    /// Appends a segment of a path, with `{n}`, `{date}`, `{uuid}`, `{hex}` and `{key}` in the places of such.
    static func appendShape(
        of segment: ArraySlice<UInt8>, to shape: inout [UInt8], _ traits: inout URLShape.Traits
    ) {
        var at = segment.startIndex
        while at < segment.endIndex {
            let byte = segment[at]
            if byte == UInt8(ascii: "%"), segment.endIndex - at >= 3 {
                // An escape stands for a letter; the digits in it are no number.
                shape.append(contentsOf: segment[at..<at + 3])
                at += 3
            } else if byte.isASCIIAlphanumeric {
                let (kind, end) = kind(in: segment, at: at, &traits)
                if let kind {
                    shape.append(contentsOf: kind.utf8)
                } else {
                    appendWord(segment[at..<end], to: &shape, &traits)
                }
                at = end
            } else {
                shape.append(byte)
                at += 1
            }
        }
    }

    /// What the value of a parameter is; a word is `{text}`.
    static func kind(
        ofValue value: ArraySlice<UInt8>, named name: ArraySlice<UInt8>, _ traits: inout URLShape.Traits
    ) -> String {
        if value.isEmpty { return "" }
        if let part = DatePath.part(ofValue: value, named: name) {
            traits.insert(.dates)
            return part
        }
        let (kind, end) = kind(in: value, at: value.startIndex, &traits)
        return end == value.endIndex ? kind ?? "{text}" : "{text}"
    }

    /// What begins here, and where it ends; nil for a word.
    private static func kind(
        in bytes: ArraySlice<UInt8>, at start: Int, _ traits: inout URLShape.Traits
    ) -> (String?, end: Int) {
        var (end, digits, hexDigits) = (start, 0, 0)
        while end < bytes.endIndex, bytes[end].isASCIIAlphanumeric {
            if bytes[end].isASCIIDigit { digits += 1 }
            if bytes[end].hexDigitValue != nil { hexDigits += 1 }
            end += 1
        }
        let count = end - start
        if count == 8, hexDigits == 8, let end = endOfUUID(in: bytes, at: start) {
            traits.insert(.keys)
            return ("{uuid}", end)
        }
        guard digits > 0 else { return (nil, end) }
        if let end = DatePath.endOfDate(in: bytes, at: start) {
            traits.insert(.dates)
            return ("{date}", end)
        }
        if digits == count {
            traits.insert(.numbers)
            return ("{n}", end)
        }
        guard count >= leastHex, hexDigits == count || count >= leastKey else { return (nil, end) }
        traits.insert(.keys)
        return (hexDigits == count ? "{hex}" : "{key}", end)
    }

    /// A word as it is, numbers in it as `{n}`: `page2` is `page{n}`.
    private static func appendWord(
        _ word: ArraySlice<UInt8>, to shape: inout [UInt8], _ traits: inout URLShape.Traits
    ) {
        var isInNumber = false
        for byte in word {
            if !byte.isASCIIDigit { shape.append(byte) } else if !isInNumber { shape.append(contentsOf: "{n}".utf8) }
            isInNumber = byte.isASCIIDigit
            if isInNumber { traits.insert(.numbers) }
        }
    }

    /// Eight, four, four, four and twelve hexadecimal digits with hyphens between.
    private static func endOfUUID(in bytes: ArraySlice<UInt8>, at start: Int) -> Int? {
        let end = start + 36
        guard end <= bytes.endIndex, end == bytes.endIndex || !bytes[end].isASCIIAlphanumeric else { return nil }
        for (offset, byte) in bytes[start..<end].enumerated() {
            switch offset {
            case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
            default: guard byte.hexDigitValue != nil else { return nil }
            }
        }
        return end
    }
}
