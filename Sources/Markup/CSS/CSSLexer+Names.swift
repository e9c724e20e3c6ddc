extension CSSLexer {
    /// Letters, digits, `-`, `_` and everything outside of ASCII; NUL is read as U+FFFD.
    @inline(__always)
    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte >= 0x80
            || byte == 0
    }

    /// The name that ends here, if it is one of a function: what starts as a number is the unit of a dimension.
    func nameBefore(_ end: Int) -> Range<Int> {
        var start = end
        while start > lastEnd, Self.isNameByte(bytes[start - 1]) { start -= 1 }
        return startsName(at: start) && start < end ? start..<end : end..<end
    }

    /// Whether an identifier starts here.
    func startsName(at start: Int) -> Bool {
        guard start < bytes.count else { return false }
        let byte = bytes[start]
        if byte == UInt8(ascii: "\\") { return isEscape(at: start) }
        if byte == UInt8(ascii: "-") {
            guard start + 1 < bytes.count else { return false }
            let next = bytes[start + 1]
            if next == UInt8(ascii: "-") { return true }
            return next == UInt8(ascii: "\\") ? isEscape(at: start + 1) : Self.isNameByte(next) && !next.isDigit
        }
        return Self.isNameByte(byte) && !byte.isDigit
    }

    /// A backslash that is not in front of a line end.
    private func isEscape(at start: Int) -> Bool {
        guard start + 1 < bytes.count else { return true }
        let next = bytes[start + 1]
        return next != 0x0A && next != 0x0D && next != 0x0C
    }

    /// Moves behind an escape; false when the backslash here is none.
    mutating func skipEscape() -> Bool {
        guard isEscape(at: index) else { return false }
        index += 1
        guard index < bytes.count else { return true }
        guard bytes[index].isHex else {
            index += 1
            return true
        }
        let end = min(index + 6, bytes.count)
        while index < end, bytes[index].isHex { index += 1 }
        if index < bytes.count, bytes[index].isSpace {
            index += bytes[index] == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A ? 2 : 1
        }
        return true
    }

    mutating func skipName() {
        while index < bytes.count {
            if Self.isNameByte(bytes[index]) {
                index += 1
            } else if bytes[index] != UInt8(ascii: "\\") || !skipEscape() {
                return
            }
        }
    }

    /// At a backslash outside of strings: the name it belongs to, when a `(` follows; the place is behind the `(` then.
    mutating func escapedName() -> Range<Int>? {
        var start = index
        while start > lastEnd, Self.isNameByte(bytes[start - 1]) { start -= 1 }
        let isName = startsName(at: start)
        guard skipEscape() else {
            index += 1
            lastEnd = index
            return nil
        }
        skipName()
        let end = index
        lastEnd = index
        guard isName, index < bytes.count, bytes[index] == UInt8(ascii: "(") else { return nil }
        index += 1
        return start..<end
    }
}
