/// UTF-16 in either byte order.
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
            // A surrogate without its other half is no scalar value.
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
