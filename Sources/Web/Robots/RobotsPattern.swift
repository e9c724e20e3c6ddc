/// The path of one rule, cut at its wildcards. Matching takes time linear in the path however many there are.
struct RobotsPattern: Sendable {
    /// The normalised text without stars and without the `$` at its end.
    private let literals: [UInt8]
    /// What stands between stars. The first begins the path, unless a star came first.
    private let pieces: [Range<Int>]
    /// What the search for a piece falls back to, see `borders(of:_:)`.
    private let borders: [UInt32]
    private let beginsWithStar: Bool
    private let endsWithStar: Bool
    private let isAnchoredAtEnd: Bool
    /// How many bytes the normalised pattern has, wildcards included; the longest pattern that matches decides.
    let length: Int

    init(_ text: ArraySlice<UInt8>) {
        let normalized = Self.normalized(text, isPattern: true)
        length = normalized.count
        isAnchoredAtEnd = normalized.last == 0x24
        let body = isAnchoredAtEnd ? normalized.dropLast() : normalized[...]
        beginsWithStar = body.first == 0x2A
        endsWithStar = body.last == 0x2A
        var literals: [UInt8] = []
        var pieces: [Range<Int>] = []
        for piece in body.split(separator: 0x2A) {
            pieces.append(literals.count..<literals.count + piece.count)
            literals.append(contentsOf: piece)
        }
        self.literals = literals
        self.pieces = pieces
        // A piece that begins the path is compared once and needs no table.
        let searched = body.first == 0x2A ? pieces : Array(pieces.dropFirst())
        borders = searched.isEmpty ? [] : Self.borders(of: literals, searched)
    }

    /// Whether the pattern matches a normalised path from its beginning.
    func matches(_ path: UnsafeRawBufferPointer) -> Bool {
        literals.withUnsafeBytes { literals in
            var at = 0
            for (index, range) in pieces.enumerated() {
                let piece = UnsafeRawBufferPointer(rebasing: literals[range])
                let rest = UnsafeRawBufferPointer(rebasing: path[at...])
                let isLast = index == pieces.count - 1
                if index == 0, !beginsWithStar {
                    guard rest.starts(with: piece) else { return false }
                    at += piece.count
                } else if isLast, isAnchoredAtEnd, !endsWithStar {
                    return rest.count >= piece.count && rest.suffix(piece.count).elementsEqual(piece)
                } else {
                    guard let end = end(of: range, in: path, from: at, literals) else { return false }
                    at = end
                }
            }
            return !isAnchoredAtEnd || endsWithStar || at == path.count
        }
    }

    /// Finds the end of the leftmost place of a piece at or behind a byte of the path (Knuth, Morris and Pratt). The
    /// leftmost is always good enough: the star behind the piece takes whatever is left.
    private func end(
        of range: Range<Int>, in path: UnsafeRawBufferPointer, from start: Int, _ literals: UnsafeRawBufferPointer
    ) -> Int? {
        var matched = 0
        for at in start..<path.count {
            while matched > 0, path[at] != literals[range.lowerBound + matched] {
                matched = Int(borders[range.lowerBound + matched - 1])
            }
            if path[at] == literals[range.lowerBound + matched] { matched += 1 }
            if matched == range.count { return at + 1 }
        }
        return nil
    }

    /// For each byte of a piece, how long a proper beginning of the piece also ends there.
    private static func borders(of literals: [UInt8], _ pieces: [Range<Int>]) -> [UInt32] {
        var borders = [UInt32](repeating: 0, count: literals.count)
        for piece in pieces {
            var length = 0
            for at in piece.dropFirst() {
                while length > 0, literals[at] != literals[piece.lowerBound + length] {
                    length = Int(borders[piece.lowerBound + length - 1])
                }
                if literals[at] == literals[piece.lowerBound + length] { length += 1 }
                borders[at] = UInt32(length)
            }
        }
        return borders
    }

    /// One form of percent-encoding for both sides (RFC 9309, section 2.2.2): escapes of unreserved characters are
    /// decoded, other escapes are in upper case, and what no URL holds bare is escaped. A star or a dollar sign that is
    /// no wildcard is escaped too, for a pattern can only name it so. A malformed escape stays.
    static func normalized(_ text: some Collection<UInt8>, isPattern: Bool) -> [UInt8] {
        let bytes = Array(text)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            if byte == 0x25, at + 2 < bytes.count, let high = bytes[at + 1].hexDigitValue,
                let low = bytes[at + 2].hexDigitValue
            {
                let decoded = high << 4 | low
                if isUnreserved(decoded) { result.append(decoded) } else { appendEscape(of: decoded, to: &result) }
                at += 3
                continue
            }
            let isWildcard = isPattern && (byte == 0x2A || (byte == 0x24 && at == bytes.count - 1))
            if isBare(byte) || isWildcard { result.append(byte) } else { appendEscape(of: byte, to: &result) }
            at += 1
        }
        return result
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
    }

    /// Whether the byte stands for itself: printable, and neither a wildcard nor one of those that URLs always escape in
    /// a path or in a query.
    private static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x22, 0x24, 0x27, 0x2A, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B, 0x7C, 0x7D: false
        case 0x21...0x7E: true
        default: false
        }
    }

    private static func appendEscape(of byte: UInt8, to result: inout [UInt8]) {
        result.append(0x25)
        result.append((byte >> 4).upperHexDigit)
        result.append(byte.upperHexDigit)
    }
}
