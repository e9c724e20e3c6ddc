/// The HTML start tag around a link, for decisions that need other attributes too.
package struct TagAround {
    package struct Attribute {
        /// The name in lower case.
        package let name: String
        package let nameStart: Int
        package let value: Range<Int>
    }

    /// The name of the element in lower case.
    package private(set) var element = ""
    package private(set) var attributes: [Attribute] = []

    private static let longest = 64 << 10
    private static let mostAttributes = 256
    private static let mostTries = 16

    /// Finds the tag. Returns nil if no tag has the link, which must not be empty, in the value of an
    /// attribute.
    ///
    /// - Parameter isWhole: Whether the link is the whole value, except for white space around it.
    package init?(around link: Range<Int>, in text: [UInt8], isWhole: Bool) {
        let place = link.lowerBound
        let least = max(0, place - Self.longest)
        var (start, tries) = (place, 0)
        while start > least, tries < Self.mostTries {
            start -= 1
            guard text[start] == UInt8(ascii: "<") else { continue }
            tries += 1
            // Text in a value may look like a tag, but then its attributes do not include the link.
            guard read(from: start + 1, to: place, text), let value = attribute(at: place)?.value else {
                continue
            }
            if !isWhole || Self.trimmed(value, in: text) == link { return }
        }
        return nil
    }

    /// Returns the attribute whose value contains the position.
    func attribute(at place: Int) -> Attribute? { attributes.first { $0.value.contains(place) } }

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

    /// Reads the rest of the tag. Returns whether the value of one of its attributes contains `place`.
    private mutating func read(from start: Int, to place: Int, _ text: [UInt8]) -> Bool {
        var at = start
        let end = min(text.count, place + Self.longest)
        func skip(_ isSkipped: (UInt8) -> Bool) -> Range<Int> {
            let first = at
            while at < end, isSkipped(text[at]) { at += 1 }
            return first..<at
        }
        attributes = []
        element = Self.text(text, skip { ($0 | 0x20) &- 0x61 < 26 || $0 == 0x2D || ($0 &- 0x30) < 10 })
            .lowercased()
        guard !element.isEmpty else { return false }
        while attributes.count < Self.mostAttributes {
            _ = skip { Self.isSpace($0) || $0 == UInt8(ascii: "/") }
            guard at < end, text[at] != UInt8(ascii: ">") else { break }
            let name = skip { !Self.isSpace($0) && !"=>/".utf8.contains($0) }
            guard !name.isEmpty else { return false }
            _ = skip(Self.isSpace)
            var value = at..<at
            if at < end, text[at] == UInt8(ascii: "=") {
                at += 1
                _ = skip(Self.isSpace)
                if at < end, text[at] == 0x22 || text[at] == 0x27 {
                    let quote = text[at]
                    at += 1
                    value = skip { $0 != quote }
                    at += 1
                } else {
                    value = skip { !Self.isSpace($0) && $0 != UInt8(ascii: ">") }
                }
            }
            let lowered = Self.text(text, name).lowercased()
            attributes.append(Attribute(name: lowered, nameStart: name.lowerBound, value: value))
        }
        return attribute(at: place) != nil
    }

    private static func trimmed(_ range: Range<Int>, in text: [UInt8]) -> Range<Int> {
        let isText = { (place: Int) in !isSpace(text[place]) }
        guard let first = range.first(where: isText), let last = range.last(where: isText) else {
            return range.lowerBound..<range.lowerBound
        }
        return first..<last + 1
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B
    }
}
