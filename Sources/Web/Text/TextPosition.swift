/// A position in a text as in editors: line and column start at 1, and a column is one Unicode scalar.
package struct TextPosition: Sendable, Hashable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    /// Finds the position of a byte in a UTF-8 text. Lines end with LF, CRLF or CR; a byte order mark takes
    /// no column. An offset outside the text counts as the nearest end. Takes time linear in the offset.
    package init(of offset: Int, in source: Span<UInt8>) {
        let end = max(0, min(offset, source.count))
        var line = 1
        var lineStart = 0
        if source.count >= 3, source[0] == 0xEF, source[1] == 0xBB, source[2] == 0xBF { lineStart = 3 }
        var at = lineStart
        while at < end {
            let byte = source[at]
            at += 1
            let isBreak = byte == 0x0A || (byte == 0x0D && !(at < source.count && source[at] == 0x0A))
            if isBreak {
                line += 1
                lineStart = at
            }
        }
        var column = 1
        at = lineStart
        while at < end {
            if source[at] & 0xC0 != 0x80 { column += 1 }
            at += 1
        }
        self.init(line: line, column: column)
    }

    package var description: String { "\(line):\(column)" }
}
