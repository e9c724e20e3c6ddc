internal import Web

/// What a person reads in an HTML document: its text without markup, scripts and styles, white space made one space.
package enum DocumentText {
    /// - Parameters:
    ///   - charset: what the HTTP header says.
    ///   - limit: of bytes; what is beyond is left out.
    package static func read(_ body: Span<UInt8>, charset: String?, limit: Int) -> String {
        let encoding = body.withUnsafeBufferPointer { BodyFormat.html.encoding(of: $0, charset: charset) }
        let source = encoding.decode(body)
        var writer = Writer(limit: limit)
        source.withUnsafeBufferPointer { read($0, into: &writer) }
        // The limit may have cut through a character.
        if writer.isFull {
            for _ in 0..<3 where String(validating: writer.text, as: UTF8.self) == nil { writer.text.removeLast() }
        }
        return String(decoding: writer.text, as: UTF8.self)
    }

    private struct Writer {
        var text: [UInt8] = []
        let limit: Int
        private var isSpaceDue = false

        init(limit: Int) {
            self.limit = limit
        }

        var isFull: Bool { text.count >= limit }

        mutating func space() { isSpaceDue = !text.isEmpty }

        mutating func add(_ byte: UInt8) {
            guard !isFull else { return }
            if byte.isSpace { return space() }
            if isSpaceDue { text.append(0x20) }
            isSpaceDue = false
            text.append(byte)
        }

        mutating func add(_ point: UInt32) {
            guard point != 0, let scalar = Unicode.Scalar(point) else { return }
            if scalar == "\u{A0}" { return space() }
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { add(byte) }
        }
    }

    private static func read(_ document: Bytes, into writer: inout Writer) {
        var index = 0
        while index < document.count, !writer.isFull {
            let byte = document[index]
            if byte == UInt8(ascii: "<"), let (end, name) = PageText.tag(at: index, in: document) {
                if !isInline(name) { writer.space() }
                index = end
            } else if byte == UInt8(ascii: "&"), let reference = CharacterReferences.read(document, at: index) {
                writer.add(reference.first)
                writer.add(reference.second)
                index += reference.length
            } else {
                writer.add(byte)
                index += 1
            }
        }
    }

    /// Elements that end no word.
    private static func isInline(_ name: Bytes) -> Bool { inline.contains { name.equals($0) } }

    private static let inline: [StaticString] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark",
        "q",
        "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "!--",
    ]
}
