internal import Web

/// The HTML start tag around a link, read again from the document. Link tables record only the ranges of links, so
/// code that needs the element or other attributes of the tag uses this type.
///
///     let tag = EnclosingTag(around: occurrence.range, in: source, mustBeWholeValue: true)
///     if tag?.element == "link" { … }
package struct EnclosingTag {
    package struct Attribute {
        /// The name in lower case.
        package let name: String
        /// The offset of the name in the document.
        package let nameStart: Int
        /// The range of the value in the document, without quotation marks. Empty if the attribute has no value.
        package let valueRange: Range<Int>
    }

    /// The name of the element in lower case.
    package private(set) var element = ""
    package private(set) var attributes: [Attribute] = []

    /// The maximum number of bytes from the start of the link back to the start of the tag, and onwards to its end. A
    /// tag that starts earlier is not found; a tag that ends later loses its last attributes.
    private static let maxTagBytes = 64 << 10
    /// Attributes of a tag beyond this number are ignored.
    private static let maxAttributes = 256
    /// The maximum number of `<` characters before the link that are tried as the start of the tag. It bounds the
    /// time for values with many `<`.
    private static let maxAttempts = 16

    /// Finds the tag by going back from the link. Returns nil if there is no tag with the link in the value of an
    /// attribute.
    ///
    /// - Parameters:
    ///   - link: The range of the link in `text`. It must not be empty.
    ///   - text: The document.
    ///   - mustBeWholeValue: Whether to accept only a tag in which the link is the whole value, except for white space
    ///     around it. Use false for links in a longer value, such as `srcset`.
    package init?(around link: Range<Int>, in text: [UInt8], mustBeWholeValue: Bool) {
        let offset = link.lowerBound
        let searchEnd = max(0, offset - Self.maxTagBytes)
        var (start, attempts) = (offset, 0)
        while start > searchEnd, attempts < Self.maxAttempts {
            start -= 1
            guard text[start] == UInt8(ascii: "<") else { continue }
            attempts += 1
            // A value may contain text that looks like a tag. The link is not in an attribute of that tag.
            guard read(from: start + 1, containing: offset, text),
                let value = attribute(at: offset)?.valueRange
            else {
                continue
            }
            if !mustBeWholeValue || Self.trimmingSpace(value, in: text) == link { return }
        }
        return nil
    }

    /// Returns the attribute whose value contains an offset in the document.
    func attribute(at offset: Int) -> Attribute? { attributes.first { $0.valueRange.contains(offset) } }

    /// Returns the value of an attribute as it is written in the document, with its character references. Nil if the
    /// tag lacks the attribute.
    func value(of name: String, in text: [UInt8]) -> String? {
        attributes.first { $0.name == name }.map { Self.string(text, $0.valueRange) }
    }

    /// Returns the words of an attribute's value, such as those of `rel`, in lower case.
    func words(of name: String, in text: [UInt8]) -> [Substring] {
        (value(of: name, in: text) ?? "").lowercased().split {
            $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r"
        }
    }

    private static func string(_ text: [UInt8], _ range: Range<Int>) -> String {
        String(decoding: text[range], as: UTF8.self)
    }

    /// Reads the element and the attributes of a tag whose `<` is before `start`. Returns whether the value of one of
    /// the attributes contains `offset`.
    private mutating func read(from start: Int, containing offset: Int, _ text: [UInt8]) -> Bool {
        var position = start
        let end = min(text.count, offset + Self.maxTagBytes)
        /// Moves `position` past all bytes that satisfy the condition, and returns their range.
        func skip(_ isSkipped: (UInt8) -> Bool) -> Range<Int> {
            let first = position
            while position < end, isSkipped(text[position]) { position += 1 }
            return first..<position
        }
        attributes = []
        element = Self.string(text, skip { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") })
            .lowercased()
        guard !element.isEmpty else { return false }
        while attributes.count < Self.maxAttributes {
            _ = skip { Self.isSpace($0) || $0 == UInt8(ascii: "/") }
            guard position < end, text[position] != UInt8(ascii: ">") else { break }
            let name = skip { !Self.isSpace($0) && !"=>/".utf8.contains($0) }
            guard !name.isEmpty else { return false }
            _ = skip(Self.isSpace)
            var valueRange = position..<position
            if position < end, text[position] == UInt8(ascii: "=") {
                position += 1
                _ = skip(Self.isSpace)
                if position < end, text[position] == UInt8(ascii: "\"") || text[position] == UInt8(ascii: "'")
                {
                    let quote = text[position]
                    position += 1
                    valueRange = skip { $0 != quote }
                    position += 1
                } else {
                    valueRange = skip { !Self.isSpace($0) && $0 != UInt8(ascii: ">") }
                }
            }
            let lowercasedName = Self.string(text, name).lowercased()
            attributes.append(
                Attribute(name: lowercasedName, nameStart: name.lowerBound, valueRange: valueRange))
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

    /// Whether HTML treats the byte as white space: a tab, line feed, form feed, carriage return or space.
    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte) && byte != 0x0B
    }
}
