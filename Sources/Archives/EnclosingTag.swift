/// The HTML start tag around a link, for decisions that need other attributes too.
package struct EnclosingTag {
    package struct Attribute {
        /// The name in lower case.
        package let name: String
        package let nameStart: Int
        package let value: Range<Int>
    }

    /// The name of the element in lower case.
    package private(set) var element = ""
    package private(set) var attributes: [Attribute] = []

    /// The maximum distance of the link from the beginning and the end of the tag. A larger tag is not found.
    private static let maxTagBytes = 64 << 10
    /// Further attributes of a tag are ignored.
    private static let maxAttributes = 256
    /// The maximum number of `<` characters before the link that are tried as the beginning of the tag.
    private static let maxAttempts = 16

    /// Finds the tag. Returns nil if no tag has the link, which must not be empty, in the value of an
    /// attribute.
    ///
    /// - Parameter isWhole: Whether the link is the whole value, except for white space around it.
    package init?(around link: Range<Int>, in text: [UInt8], isWhole: Bool) {
        let offset = link.lowerBound
        let searchEnd = max(0, offset - Self.maxTagBytes)
        var (start, attempts) = (offset, 0)
        while start > searchEnd, attempts < Self.maxAttempts {
            start -= 1
            guard text[start] == UInt8(ascii: "<") else { continue }
            attempts += 1
            // Text in a value may look like a tag, but then its attributes do not include the link.
            guard read(from: start + 1, to: offset, text), let value = attribute(at: offset)?.value else {
                continue
            }
            if !isWhole || Self.trimmingSpace(value, in: text) == link { return }
        }
        return nil
    }

    /// Returns the attribute whose value contains the position.
    func attribute(at offset: Int) -> Attribute? { attributes.first { $0.value.contains(offset) } }

    /// Returns the value of an attribute, without decoding character references.
    func value(of name: String, in text: [UInt8]) -> String? {
        attributes.first { $0.name == name }.map { Self.text(text, $0.value) }
    }

    /// Returns the words of an attribute's value in lower case.
    func words(of name: String, in text: [UInt8]) -> [Substring] {
        (value(of: name, in: text) ?? "").lowercased().split {
            $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r"
        }
    }

    private static func text(_ text: [UInt8], _ range: Range<Int>) -> String {
        String(decoding: text[range], as: UTF8.self)
    }

    /// Reads the rest of the tag. Returns whether the value of one of its attributes contains `offset`.
    private mutating func read(from start: Int, to offset: Int, _ text: [UInt8]) -> Bool {
        var position = start
        let end = min(text.count, offset + Self.maxTagBytes)
        func skip(_ isSkipped: (UInt8) -> Bool) -> Range<Int> {
            let first = position
            while position < end, isSkipped(text[position]) { position += 1 }
            return first..<position
        }
        attributes = []
        element = Self.text(text, skip { ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || ($0 &- 0x30) < 10 })
            .lowercased()
        guard !element.isEmpty else { return false }
        while attributes.count < Self.maxAttributes {
            _ = skip { Self.isSpace($0) || $0 == UInt8(ascii: "/") }
            guard position < end, text[position] != UInt8(ascii: ">") else { break }
            let name = skip { !Self.isSpace($0) && !"=>/".utf8.contains($0) }
            guard !name.isEmpty else { return false }
            _ = skip(Self.isSpace)
            var value = position..<position
            if position < end, text[position] == UInt8(ascii: "=") {
                position += 1
                _ = skip(Self.isSpace)
                if position < end, text[position] == 0x22 || text[position] == 0x27 {
                    let quote = text[position]
                    position += 1
                    value = skip { $0 != quote }
                    position += 1
                } else {
                    value = skip { !Self.isSpace($0) && $0 != UInt8(ascii: ">") }
                }
            }
            let lowered = Self.text(text, name).lowercased()
            attributes.append(Attribute(name: lowered, nameStart: name.lowerBound, value: value))
        }
        return attribute(at: offset) != nil
    }

    /// Returns the range without white space at its beginning and end.
    private static func trimmingSpace(_ range: Range<Int>, in text: [UInt8]) -> Range<Int> {
        let isText = { (offset: Int) in !isSpace(text[offset]) }
        guard let first = range.first(where: isText), let last = range.last(where: isText) else {
            return range.lowerBound..<range.lowerBound
        }
        return first..<last + 1
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B
    }
}
