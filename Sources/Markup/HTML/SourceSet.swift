/// Parses a `srcset` as the HTML standard does. A candidate whose descriptors are not understood is kept all the same:
/// another browser may understand them.
enum SourceSet {
    /// Calls with the place of each candidate's address.
    static func forEachAddress(_ bytes: Bytes, _ body: (Range<Int>) -> Void) {
        let comma = UInt8(ascii: ",")
        var index = 0
        while true {
            while index < bytes.count, bytes[index].isSpace || bytes[index] == comma { index += 1 }
            guard index < bytes.count else { return }
            let start = index
            while index < bytes.count, !bytes[index].isSpace { index += 1 }
            var end = index
            while end > start, bytes[end - 1] == comma { end -= 1 }
            body(start..<end)
            if end == index { index = descriptorsEnd(bytes, from: index) }
        }
    }

    /// The comma behind the descriptors that is not in parentheses, or the end.
    private static func descriptorsEnd(_ bytes: Bytes, from start: Int) -> Int {
        var isInParentheses = false
        var index = start
        // In parentheses there is no nesting; an opening one counts only where a descriptor may go on.
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: ","): if !isInParentheses { return index }
            case UInt8(ascii: "("): isInParentheses = true
            case UInt8(ascii: ")"): isInParentheses = false
            default: break
            }
            index += 1
        }
        return index
    }
}
