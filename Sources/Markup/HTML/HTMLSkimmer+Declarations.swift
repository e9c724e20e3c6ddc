extension HTMLSkimmer {
    /// Behind `<!`: a comment, CDATA in foreign content, or something that ends at the next `>`: a doctype ends there
    /// even inside its quotes, as a bogus comment does.
    mutating func declaration(at start: Int) -> Int {
        let text = Bytes(start: bytes, count: count)
        if text.starts(with: "--", at: start + 2) { return comment(from: start + 4) }
        if foreign.namespace != .html || dialect.hasCDATA, isCDATA(at: start) {
            return cdataEnd(from: start + Self.cdataMark).next
        }
        return behind(UInt8(ascii: ">"), from: start)
    }

    static var cdataMark: Int { 9 }

    /// Whether `<![CDATA[` stands here, in just this case.
    func isCDATA(at start: Int) -> Bool {
        guard count - start >= Self.cdataMark else { return false }
        let mark: StaticString = "<![CDATA["
        for index in 0..<Self.cdataMark where bytes[start + index] != mark.utf8Start[index] { return false }
        return true
    }

    /// Where the text of a CDATA section ends, and the place behind `]]>`.
    func cdataEnd(from start: Int) -> (text: Int, next: Int) {
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: ">"), from: index, to: count)
            guard index < count else { return (count, count) }
            if index - start >= 2, bytes[index - 1] == UInt8(ascii: "]"), bytes[index - 2] == UInt8(ascii: "]") {
                return (index - 2, index + 1)
            }
            index += 1
        }
    }

    /// Behind `<!--`. The comment ends at `-->` or `--!>`, and at once at `>` or `->`.
    private mutating func comment(from start: Int) -> Int {
        let dash = UInt8(ascii: "-")
        var index = start
        while true {
            index = bytes.find(UInt8(ascii: ">"), from: index, to: count)
            guard index < count else {
                delegate.skimmed(comment: start..<count)
                return count
            }
            let length = index - start
            if length == 0 || (length == 1 && bytes[start] == dash) { return index + 1 }
            let isBang = length >= 3 && bytes[index - 1] == UInt8(ascii: "!")
            let end = isBang ? index - 1 : index
            if end - start >= 2, bytes[end - 1] == dash, bytes[end - 2] == dash {
                delegate.skimmed(comment: start..<end - 2)
                return index + 1
            }
            index += 1
        }
    }
}
