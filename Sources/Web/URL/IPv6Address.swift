/// An IPv6 address: eight pieces of 16 bits.
struct IPv6Address {
    private var pieces = InlineArray<8, UInt16>(repeating: 0)

    init?(_ text: Span<UInt8>) {
        var reader = Reader(pieces: pieces)
        guard reader.read(text) else { return nil }
        pieces = reader.pieces
    }

    /// Appends it without brackets, in lower case, the longest run of two or more zeros as `::`.
    func append(to output: inout [UInt8]) {
        let zeros = longestZeros
        var index = 0
        while index < 8 {
            if index == zeros.lowerBound, !zeros.isEmpty {
                output += (index == 0 ? "::" : ":").utf8
                index = zeros.upperBound
                continue
            }
            output += String(pieces[index], radix: 16).utf8
            if index < 7 { output.append(UInt8(ascii: ":")) }
            index += 1
        }
    }

    /// The first of the longest; empty when no run has two pieces.
    private var longestZeros: Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in 0...8 where index == 8 || pieces[index] != 0 {
            if index - start > max(longest.count, 1) { longest = start..<index }
            start = index + 1
        }
        return longest
    }
}

extension IPv6Address {
    /// The IPv6 parser of the standard, section 3.5.
    private struct Reader {
        var pieces: InlineArray<8, UInt16>
        private var pieceIndex = 0
        private var compression: Int?
        private var position = 0

        init(pieces: InlineArray<8, UInt16>) { self.pieces = pieces }

        mutating func read(_ text: Span<UInt8>) -> Bool {
            if text.starts(with: ":", at: 0) {
                guard text.starts(with: "::", at: 0) else { return false }
                position = 2
                compression = 0
            }
            while position < text.count {
                guard pieceIndex < 8 else { return false }
                if text[position] == UInt8(ascii: ":") {
                    guard compression == nil else { return false }
                    position += 1
                    compression = pieceIndex
                    continue
                }
                let start = position
                let value = readHexadecimal(text)
                if text.starts(with: ".", at: position) {
                    position = start
                    guard readIPv4(text) else { return false }
                    break
                }
                guard position > start else { return false }
                if text.starts(with: ":", at: position) {
                    position += 1
                    guard position < text.count else { return false }
                } else if position < text.count {
                    return false
                }
                pieces[pieceIndex] = value
                pieceIndex += 1
            }
            return expand()
        }

        private mutating func readHexadecimal(_ text: Span<UInt8>) -> UInt16 {
            var value: UInt16 = 0
            let end = min(position + 4, text.count)
            while position < end, let digit = text[position].hexDigitValue {
                value = value << 4 | UInt16(digit)
                position += 1
            }
            return value
        }

        /// Four decimal numbers without leading zeros fill two pieces and end the address.
        private mutating func readIPv4(_ text: Span<UInt8>) -> Bool {
            guard pieceIndex <= 6 else { return false }
            for part in 0..<4 {
                if part > 0 {
                    guard text.starts(with: ".", at: position) else { return false }
                    position += 1
                }
                let start = position
                var value: UInt16 = 0
                while position < text.count, text[position].isASCIIDigit {
                    guard position == start || value > 0 else { return false }
                    value = value * 10 + UInt16(text[position] - UInt8(ascii: "0"))
                    guard value <= 255 else { return false }
                    position += 1
                }
                guard position > start else { return false }
                pieces[pieceIndex] = pieces[pieceIndex] << 8 | value
                if part % 2 == 1 { pieceIndex += 1 }
            }
            return position == text.count
        }

        /// Moves what stands behind `::` to the end.
        private mutating func expand() -> Bool {
            guard let compression else { return pieceIndex == 8 }
            var target = 7
            while pieceIndex > compression, target >= pieceIndex {
                pieceIndex -= 1
                pieces.swapAt(pieceIndex, target)
                target -= 1
            }
            return true
        }
    }
}
