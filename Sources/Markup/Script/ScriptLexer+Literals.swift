/// Literals, comments and white space.
extension ScriptLexer {
    /// Returns the first offset at or after `start` whose byte is not in the table.
    @inline(__always)
    func skip(_ table: UnsafePointer<Bool>, from start: Int) -> Int {
        Self.skip(table, bytes, from: start, to: count)
    }

    // Static, so that the loop does not load and store the properties of the lexer.
    @inline(__always)
    private static func skip(
        _ table: UnsafePointer<Bool>, _ bytes: UnsafePointer<UInt8>, from start: Int, to end: Int
    ) -> Int {
        var index = start
        while index < end, table[Int(bytes[index])] { index &+= 1 }
        return index
    }

    /// Returns the end of a name with escapes or non-ASCII letters.
    func unusualNameEnd(from start: Int) -> Int {
        var index = start
        while index < count {
            let byte = bytes[index]
            if alphabet.name[Int(byte)] {
                index += 1
            } else if byte == UInt8(ascii: "\\") {
                index = min(index + 2, count)
                guard index < count, bytes[index] == UInt8(ascii: "{") else { continue }
                index += 1
                while index < count, bytes[index].isHex { index += 1 }
                if index < count, bytes[index] == UInt8(ascii: "}") { index += 1 }
            } else if byte >= 0x80, spaceLength(at: index) == 0 {
                index += 1
            } else {
                return index
            }
        }
        return index
    }

    mutating func string(_ quote: UInt8) -> ScriptToken {
        let start = index
        var end = start &+ 1
        while end < count {
            end = skip(alphabet.string, from: end)
            guard end < count else { break }
            let byte = bytes[end]
            if byte == quote {
                index = end &+ 1
                return token(.string, start, start &+ 1..<end)
            }
            if byte == UInt8(ascii: "\\") {
                let isPair = end &+ 2 < count && bytes[end &+ 1] == 0x0D && bytes[end &+ 2] == 0x0A
                end &+= isPair ? 3 : 2
            } else if byte == 0x0A || byte == 0x0D {
                break
            } else {
                end &+= 1
            }
        }
        index = min(end, count)
        return token(.badString, start, start &+ 1..<index)
    }

    mutating func number() -> ScriptToken {
        let start = index
        var end = start &+ 1
        while end < count {
            let byte = bytes[end]
            if alphabet.name[Int(byte)] || byte == UInt8(ascii: ".") {
                end &+= 1
                // A dot without a digit after it ends the number, so that `1..toString` has a property. `1.e5` is thus read as
                // a number and a name.
                if byte == UInt8(ascii: "."), end < count, !bytes[end].isDigit { break }
            } else if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-"),
                bytes[end &- 1] | 0x20 == UInt8(ascii: "e"),
                bytes[start] != UInt8(ascii: "0") || bytes[start &+ 1] | 0x20 != UInt8(ascii: "x")
            {
                // The sign of an exponent, as in `1e+5`. `0x1e+5` is an addition.
                end &+= 1
            } else {
                break
            }
        }
        index = end
        return token(.number, start, start..<end)
    }

    /// Reads a template after its backtick, or after the `}` of a substitution.
    mutating func template(_ start: Int, isContinued: Bool) -> ScriptToken {
        let inside = index
        var end = index
        while end < count {
            end = skip(alphabet.template, from: end)
            guard end < count else { break }
            switch bytes[end] {
            case UInt8(ascii: "`"):
                index = end &+ 1
                return token(isContinued ? .templateEnd : .template, start, inside..<end)
            case UInt8(ascii: "\\"):
                end &+= 2
            default:
                if end &+ 1 < count, bytes[end &+ 1] == UInt8(ascii: "{") {
                    index = end &+ 2
                    openSubstitution()
                    return token(.templatePart, start, inside..<end)
                }
                end &+= 1
            }
        }
        index = count
        return token(.badString, start, inside..<count)
    }

    /// Reads a comment, a regular expression or a division. Returns nil for a comment that does not name a
    /// source map.
    mutating func slash() -> ScriptToken? {
        let start = index
        let next = start &+ 1 < count ? bytes[start &+ 1] : 0
        if next == UInt8(ascii: "/") {
            index = lineEnd(from: start &+ 2)
            return sourceMap(in: start &+ 2..<index)
        }
        if next == UInt8(ascii: "*") {
            let end = blockEnd(from: start &+ 2)
            index = min(end &+ 2, count)
            return sourceMap(in: start &+ 2..<end)
        }
        if isOperandExpected, start >= regexLimit {
            if let end = regexEnd(from: start &+ 1) {
                index = skip(alphabet.name, from: end)
                return token(.regex, start, start..<index)
            }
        }
        index = start &+ 1
        return token(.punctuator, start, start..<index)
    }

    /// Returns the offset after the closing `/` of a regular expression. If the line has none, returns nil and no
    /// other slash on the line is tried.
    private mutating func regexEnd(from start: Int) -> Int? {
        var end = start
        var isInClass = false
        while end < count {
            end = skip(alphabet.regex, from: end)
            guard end < count else { break }
            switch bytes[end] {
            case UInt8(ascii: "["): isInClass = true
            case UInt8(ascii: "]"): isInClass = false
            case UInt8(ascii: "/"): if !isInClass { return end &+ 1 }
            case UInt8(ascii: "\\"):
                // An escaped line end still ends the line.
                if end &+ 1 < count, bytes[end &+ 1] != 0x0A, bytes[end &+ 1] != 0x0D { end &+= 1 }
            case 0xE2:
                if !isLineSeparator(at: end) { break }
                regexLimit = end
                return nil
            default:
                regexLimit = end
                return nil
            }
            end &+= 1
        }
        regexLimit = count
        return nil
    }

    // MARK: Comments and white space

    private func blockEnd(from start: Int) -> Int {
        var end = start
        while end < count {
            end = bytes.find(UInt8(ascii: "*"), from: end, to: count)
            if end &+ 1 < count, bytes[end &+ 1] == UInt8(ascii: "/") { return end }
            end &+= 1
        }
        return count
    }

    func lineEnd(from start: Int) -> Int {
        var end = start
        while end < count {
            end = skip(alphabet.line, from: end)
            if end < count, bytes[end] == 0xE2, !isLineSeparator(at: end) {
                end &+= 1
                continue
            }
            return end
        }
        return count
    }

    /// Whether U+2028 or U+2029 starts here.
    private func isLineSeparator(at start: Int) -> Bool {
        start + 2 < count && bytes[start] == 0xE2 && bytes[start + 1] == 0x80
            && bytes[start + 2] & 0xFE == 0xA8
    }

    /// Returns the length of the non-ASCII white space at an offset; 0 if there is none.
    func spaceLength(at start: Int) -> Int {
        guard bytes[start] >= 0xC2, start + 1 < count else { return 0 }
        if bytes[start] == 0xC2 { return bytes[start + 1] == 0xA0 ? 2 : 0 }
        guard start + 2 < count else { return 0 }
        switch (bytes[start], bytes[start + 1], bytes[start + 2]) {
        // U+FEFF, U+3000, U+1680 and U+205F.
        case (0xEF, 0xBB, 0xBF), (0xE3, 0x80, 0x80), (0xE1, 0x9A, 0x80), (0xE2, 0x81, 0x9F): return 3
        // U+2000 to U+200A, U+2028, U+2029 and U+202F.
        case (0xE2, 0x80, 0x80...0x8A), (0xE2, 0x80, 0xA8...0xA9), (0xE2, 0x80, 0xAF): return 3
        default: return 0
        }
    }

    /// Returns the offset after a byte order mark and a `#!` line at the start of the script, as far as they are there.
    func hashbangEnd() -> Int {
        // White space before `#!`, other than a byte order mark, makes the script invalid. The result does not matter then.
        let start = count > 2 && spaceLength(at: 0) == 3 ? 3 : 0
        guard start + 1 < count, bytes[start] == UInt8(ascii: "#"), bytes[start + 1] == UInt8(ascii: "!")
        else {
            return start
        }
        return lineEnd(from: start)
    }

    /// Whether `<!--`, or `-->` at the start of a line, begins here (ECMAScript, Annex B.1.1). Modules do not
    /// have these comments, but practically never contain such operators either.
    func isMarkupComment(at start: Int) -> Bool {
        if bytes[start] == UInt8(ascii: "<") {
            return start + 3 < count && bytes[start + 1] == UInt8(ascii: "!")
                && bytes[start + 2] == UInt8(ascii: "-")
                && bytes[start + 3] == UInt8(ascii: "-")
        }
        guard start + 2 < count, bytes[start + 1] == UInt8(ascii: "-"), bytes[start + 2] == UInt8(ascii: ">")
        else {
            return false
        }
        var offset = start
        while offset > 0, bytes[offset - 1] == 0x20 || bytes[offset - 1] == 0x09 { offset -= 1 }
        return offset == 0 || bytes[offset - 1] == 0x0A || bytes[offset - 1] == 0x0D
    }

    /// Reads `# sourceMappingURL=…` at the start of a comment.
    private mutating func sourceMap(in comment: Range<Int>) -> ScriptToken? {
        // In lower case, because `starts(with:at:)` ignores case.
        let prefix: StaticString = " sourcemappingurl="
        let start = 1 + prefix.utf8CodeUnitCount
        guard comment.count > start,
            bytes[comment.lowerBound] == UInt8(ascii: "#") || bytes[comment.lowerBound] == UInt8(ascii: "@")
        else { return nil }
        let text = Bytes(start: bytes, count: count).part(comment)
        guard text.starts(with: prefix, at: 1) else { return nil }
        var range = text.trimmed(start..<text.count)
        if let space = text[range].firstIndex(where: \.isSpace) { range = range.lowerBound..<space }
        // Not recorded in the history, because it is not a token of the script.
        return ScriptToken(
            kind: .sourceMap,
            range: comment.lowerBound + range.lowerBound..<comment.lowerBound + range.upperBound)
    }

    /// Returns the start of the next token at or after `start`.
    func skipTrivia(from start: Int) -> Int {
        var index = start
        while index < count {
            let byte = bytes[index]
            let next = index + 1 < count ? bytes[index + 1] : 0
            if byte <= 0x20 {
                index += 1
            } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "/") {
                index = lineEnd(from: index + 2)
            } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
                index = min(blockEnd(from: index + 2) + 2, count)
            } else if byte >= 0x80, spaceLength(at: index) > 0 {
                index += spaceLength(at: index)
            } else {
                return index
            }
        }
        return count
    }
}
