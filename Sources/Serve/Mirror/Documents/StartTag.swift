/// A start tag as it stands in a document. It is read where something is looked for in it, not for every tag.
struct StartTag {
    struct Attribute {
        let name: Range<Int>
        /// Without its quotes; empty where it has none.
        let value: Range<Int>
    }

    let name: Range<Int>
    /// Behind its `>`.
    let end: Int
    private(set) var attributes: [Attribute] = []

    /// The tag whose `<` stands at `start`, by the HTML standard's tokenizer; nil when it is none, or does not end.
    init?(_ bytes: UnsafeBufferPointer<UInt8>, at start: Int) {
        guard start < bytes.count, bytes[start] == UInt8(ascii: "<") else { return nil }
        var position = start + 1
        func skip(while isWanted: (UInt8) -> Bool) -> Range<Int> {
            let first = position
            while position < bytes.count, isWanted(bytes[position]) { position += 1 }
            return first..<position
        }
        guard position < bytes.count, (0x61...0x7a).contains(bytes[position] | 0x20) else { return nil }
        name = skip { !Self.isSpace($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ">") }
        while true {
            _ = skip { Self.isSpace($0) || $0 == UInt8(ascii: "/") }
            guard position < bytes.count else { return nil }
            if bytes[position] == UInt8(ascii: ">") { break }
            let attribute = position
            position += 1
            _ = skip { byte in
                !Self.isSpace(byte) && byte != UInt8(ascii: "/") && byte != UInt8(ascii: ">")
                    && byte != UInt8(ascii: "=")
            }
            let name = attribute..<position
            _ = skip(while: Self.isSpace)
            guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else {
                attributes.append(Attribute(name: name, value: position..<position))
                continue
            }
            position += 1
            _ = skip(while: Self.isSpace)
            guard position < bytes.count else { return nil }
            let quote = bytes[position]
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
                let value = skip { !Self.isSpace($0) && $0 != UInt8(ascii: ">") }
                attributes.append(Attribute(name: name, value: value))
                continue
            }
            position += 1
            let value = skip { $0 != quote }
            guard position < bytes.count else { return nil }
            position += 1
            attributes.append(Attribute(name: name, value: value))
        }
        end = position + 1
    }

    /// The tag around a place in it; nil when the place is not inside one. Few tags hold a `<` of their own.
    static func around(_ place: Int, in bytes: UnsafeBufferPointer<UInt8>) -> (start: Int, tag: StartTag)? {
        var start = place
        for _ in 0..<8 {
            guard let found = bytes[..<start].lastIndex(of: UInt8(ascii: "<")), place - found < 16_384 else {
                return nil
            }
            if let tag = StartTag(bytes, at: found), tag.end > place { return (found, tag) }
            start = found
        }
        return nil
    }

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d || byte == 0x0c
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Without regard to ASCII case; `text` is in lower case.
    func says(_ text: StaticString, at range: Range<Int>) -> Bool {
        guard range.count == text.utf8CodeUnitCount, range.upperBound <= count else { return false }
        for offset in 0..<range.count {
            let byte = self[range.lowerBound + offset]
            let lowered = (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
            if lowered != text.utf8Start[offset] { return false }
        }
        return true
    }

    /// Where a word stands, without regard to ASCII case; `text` is in lower case and begins with a letter.
    func places(of text: StaticString) -> [Int] {
        var places: [Int] = []
        let length = text.utf8CodeUnitCount
        guard count >= length else { return [] }
        let first = text.utf8Start[0]
        for start in 0...(count - length) where self[start] | 0x20 == first {
            if says(text, at: start..<start + length) { places.append(start) }
        }
        return places
    }
}
