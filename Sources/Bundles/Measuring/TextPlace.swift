/// Follows line and column through a body that comes in pieces.
struct TextPlace {
    private var offset = 0
    private var line = 1
    private var column = 1
    /// CR, LF and CRLF end one line each.
    private var isBehindCR = false
    /// No text has a NUL; what is written in UTF-16 has them everywhere, and no columns that anyone could find again.
    private var isText = true

    mutating func pass(_ bytes: some Collection<UInt8>) {
        for byte in bytes {
            switch byte {
            case 0x0A where isBehindCR: break
            case 0x0A, 0x0D:
                line += 1
                column = 1
            case 0: isText = false
            case 0x80...0xBF: break
            default: column += 1
            }
            isBehindCR = byte == 0x0D
        }
        offset += bytes.count
    }

    /// The difference between what follows here on both sides.
    func difference(expected: ArraySlice<UInt8>, found: ArraySlice<UInt8>) -> Difference {
        let isText = isText && !expected.prefix(Self.nearby).contains(0) && !found.prefix(Self.nearby).contains(0)
        // A byte that goes on with a scalar differs within the column of that scalar.
        let isInside = [expected.first, found.first].contains { $0.map { $0 & 0xC0 == 0x80 } ?? false }
        return Difference(
            offset: offset, line: isText ? line : nil, column: isText ? max(1, isInside ? column - 1 : column) : nil,
            expected: expected.first, found: found.first)
    }

    /// How far behind the difference a NUL still says that this is no text.
    private static let nearby = 512
}
