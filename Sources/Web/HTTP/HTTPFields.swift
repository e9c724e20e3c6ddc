/// The header fields of an HTTP message, in the order, case and repetition in which they were received.
package struct HTTPFields: Sendable, Equatable {
    /// A header field.
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The fields in the order of the message.
    package private(set) var list: [Field]

    package init() { list = [] }

    package init(_ list: [Field]) { self.list = list }

    package var isEmpty: Bool { list.isEmpty }

    package mutating func append(_ name: String, _ value: String) {
        list.append(Field(name: name, value: value))
    }

    /// The fields for a client, with each control character in a value replaced by a space. RFC 9110, section
    /// 5.5, forbids all of them except tabs, and some parsers take them for line ends. `block` replaces only
    /// CR, LF and NUL, because it must preserve a stored response.
    package var withoutControls: HTTPFields {
        func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }
        func withoutControls(_ text: String) -> String {
            var replaced = ""
            replaced.unicodeScalars.append(
                contentsOf: text.unicodeScalars.map { $0.isASCII && isControl(UInt8($0.value)) ? " " : $0 })
            return replaced
        }
        func hasControl(_ text: String) -> Bool {
            text.utf8.withContiguousStorageIfAvailable { $0.contains(where: isControl) }
                ?? text.utf8.contains(where: isControl)
        }
        guard list.contains(where: { hasControl($0.value) }) else { return self }
        return HTTPFields(list.map { Field(name: $0.name, value: withoutControls($0.value)) })
    }

    /// Replaces all fields of this name by one, at the position of the first; appends it if there is none.
    package mutating func set(_ name: String, _ value: String) {
        guard let first = list.firstIndex(where: { HTTPGrammar.matches($0.name, name) }) else {
            append(name, value)
            return
        }
        let tail = list[(first + 1)...].filter { !HTTPGrammar.matches($0.name, name) }
        list.replaceSubrange(first..., with: CollectionOfOne(Field(name: name, value: value)) + tail)
    }

    /// Appends a space and the text to the value of the last field.
    private mutating func continueLast(_ text: String) {
        guard !list.isEmpty, !text.isEmpty else { return }
        if !list[list.count - 1].value.isEmpty { list[list.count - 1].value += " " }
        list[list.count - 1].value += text
    }

    package mutating func remove(_ name: String) {
        list.removeAll { HTTPGrammar.matches($0.name, name) }
    }

    /// The first value of a name, compared without regard to ASCII case.
    package subscript(name: String) -> String? {
        list.first { HTTPGrammar.matches($0.name, name) }?.value
    }

    package func contains(_ name: String) -> Bool { self[name] != nil }

    /// Every value of a name, in order.
    package func all(_ name: String) -> [String] {
        list.compactMap { HTTPGrammar.matches($0.name, name) ? $0.value : nil }
    }

    /// All values of a name, joined to one list as in RFC 9110, section 5.3; nil if there is no such field.
    package func joinedValues(_ name: String) -> String? {
        let values = all(name)
        return values.count > 1 ? values.joined(separator: ", ") : values.first
    }
}

/// A small set of field names. `contains` looks at the length of a name first, which excludes most names that are
/// not in the set.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
    /// An array, since hashing a name costs more than comparing it with a few others.
    private var names: [String]
    /// A bit for each length in bytes that occurs. The last bit stands for 63 bytes and more.
    private var lengths: UInt64 = 0

    package init(_ names: some Sequence<String>) {
        self.names = Array(names)
        for name in self.names { lengths |= Self.bit(name) }
    }

    package init(arrayLiteral names: String...) { self.init(names) }

    package func contains(_ name: String) -> Bool {
        lengths & Self.bit(name) != 0 && names.contains { HTTPGrammar.matches($0, name) }
    }

    func adding(_ others: [String]) -> FieldNames {
        others.isEmpty ? self : FieldNames(names + others)
    }

    private static func bit(_ name: String) -> UInt64 { 1 << min(63, UInt64(name.utf8.count)) }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0, value: $1) })
    }
}

extension HTTPFields {
    /// The elements of the lists in all fields of a name. Commas in quoted strings do not separate elements.
    /// Empty elements are left out.
    package func elements(_ name: String) -> [String] {
        guard let text = joinedValues(name) else { return [] }
        var scanner = FieldScanner(text)
        var elements: [String] = []
        while true {
            scanner.skipSpaceAndCommas()
            if scanner.isAtEnd { return elements }
            let start = scanner.position
            scanner.skipElement()
            elements.append(HTTPGrammar.text(HTTPGrammar.trimmed(scanner.bytes[start..<scanner.position])))
        }
    }

    /// The media type of the content, extracted as in the Fetch standard: the last valid one, with the
    /// charset of an earlier one of the same essence if it has none itself.
    package var contentType: MediaType? {
        let values = all("Content-Type")
        guard !values.isEmpty else { return nil }
        if values.count == 1, !values[0].utf8.contains(UInt8(ascii: ",")) {
            return MediaType(values[0]).flatMap { $0.essence == "*/*" ? nil : $0 }
        }
        var last: MediaType?
        var charset: String?
        for element in elements("Content-Type") {
            guard let type = MediaType(element), type.essence != "*/*" else { continue }
            if type.essence != last?.essence { charset = nil }
            charset = type.charset ?? charset
            last = type.charset == nil ? type.adding(charset: charset) : type
        }
        return last
    }

    /// The length of the content in bytes; nil if the field is missing, is not a number, or has several
    /// values that differ.
    package var contentLength: Int? {
        let lengths = Set(elements("Content-Length"))
        guard lengths.count == 1, let text = lengths.first else { return nil }
        var scanner = FieldScanner(text)
        guard let length = scanner.exactInteger(), scanner.isAtEnd else { return nil }
        return length
    }

    /// The estimate of caches for the time in seconds since the origin generated or validated the response (RFC
    /// 9111, section 5.1), at most 2^31 (section 1.2.2). If there are several values, the first counts.
    package var age: Int? {
        elements("Age").first.flatMap { HTTPGrammar.cappedInteger($0.utf8) }
    }

    /// The date in a field such as `Date`, `Expires` or `Last-Modified`; nil if it is missing or malformed.
    package func date(_ name: String, now: HTTPDate? = nil) -> HTTPDate? {
        self[name].flatMap { HTTPDate($0, now: now) }
    }

    /// Whether the body has a content coding other than `identity`.
    package var isCoded: Bool {
        guard contains("Content-Encoding") else { return false }
        return elements("Content-Encoding").contains { $0.lowercased() != "identity" }
    }

    package var entityTag: EntityTag? { self["ETag"].flatMap { EntityTag($0) } }
}

extension HTTPFields {
    /// Parses the lines `Name: value` of a message's head, which end in CRLF or LF. Skips lines that are not
    /// fields: a status line, an empty line, a name that is not a token. A line that starts with a space
    /// continues the previous one (RFC 9112, section 5.2).
    ///
    /// Bytes of a value that are not UTF-8 are preserved (RFC 9110, section 5.5; see `reversibleText`). In
    /// fields that contain URLs or file names, a value that is not UTF-8 is read as ISO 8859-1 instead.
    ///
    /// - Parameter isReceived: whether the block was received from a server. In a block that `block` wrote, some
    ///   private-use characters stand for bytes that are not UTF-8; in a received one they are themselves.
    package init(block: Span<UInt8>, isReceived: Bool = false) {
        self.init()
        list.reserveCapacity(12)
        block.withUnsafeBufferPointer { bytes in
            var rest = bytes[...]
            // Whether the previous line was a field, which a line that starts with a space continues.
            var canContinue = false
            while !rest.isEmpty {
                let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
                var line = rest[..<end]
                rest = rest[min(end + 1, rest.endIndex)...]
                if line.last == 0x0D { line.removeLast() }
                if let first = line.first, HTTPGrammar.isSpace(first) {
                    guard canContinue else { continue }
                    continueLast(
                        HTTPGrammar.reversibleText(HTTPGrammar.trimmed(line), isReceived: isReceived))
                    continue
                }
                canContinue = false
                guard let colon = line.firstIndex(of: 0x3A) else { continue }
                // A space before the colon is malformed, but browsers and curl allow it.
                let name = HTTPGrammar.trimmed(line[..<colon])
                guard HTTPGrammar.isToken(name) else { continue }
                canContinue = true
                let (fieldName, value) = (HTTPGrammar.text(name), HTTPGrammar.trimmed(line[(colon + 1)...]))
                let isURLOrFileName = Self.urlAndFileNameFields.contains(fieldName)
                append(
                    fieldName,
                    isURLOrFileName
                        ? HTTPGrammar.text(value) : HTTPGrammar.reversibleText(value, isReceived: isReceived))
            }
        }
    }

    /// The fields that contain URLs or file names, whose text Larder interprets.
    private static let urlAndFileNameFields: FieldNames = [
        "location", "content-location", "content-disposition", "link", "refresh",
    ]

    /// The header block: each field in a line that ends in CRLF, without the final empty line. CR, LF and NUL
    /// in a value become spaces, and a field whose name is not a token is left out, so that no field can
    /// inject another one.
    package var block: String {
        var text = ""
        appendBlock(to: &text)
        return text
    }

    /// Appends the header block to a text.
    package func appendBlock(to text: inout String) {
        for field in list where HTTPGrammar.isToken(field.name.utf8) {
            text += field.name
            text += ": "
            func isDangerous(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D || byte == 0 }
            let needsReplacement =
                field.value.utf8.withContiguousStorageIfAvailable { $0.contains(where: isDangerous) }
                ?? field.value.utf8.contains(where: isDangerous)
            if needsReplacement {
                text.unicodeScalars.append(
                    contentsOf: field.value.unicodeScalars.map {
                        $0 == "\n" || $0 == "\r" || $0 == "\0" ? " " : $0
                    })
            } else {
                text += field.value
            }
            text += "\r\n"
        }
    }
}
