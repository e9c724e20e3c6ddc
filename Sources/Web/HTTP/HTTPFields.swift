/// The fields of an HTTP message, in their order, with the case and the repetition in which they came.
package struct HTTPFields: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var list: [Field]

    package init() { list = [] }

    package init(_ list: [Field]) { self.list = list }

    package var isEmpty: Bool { list.isEmpty }

    package mutating func append(_ name: String, _ value: String) {
        list.append(Field(name: name, value: value))
    }

    /// With spaces for the control characters that no value may have, and that some readers end a line by
    /// (RFC 9110 §5.5).
    package var withoutControls: HTTPFields {
        func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }
        func hasControl(_ text: String) -> Bool {
            text.utf8.withContiguousStorageIfAvailable { $0.contains(where: isControl) }
                ?? text.utf8.contains(where: isControl)
        }
        guard list.contains(where: { hasControl($0.value) }) else { return self }
        return HTTPFields(
            list.map { field in
                Field(
                    name: field.name,
                    value: HTTPGrammar.text(
                        HTTPGrammar.bytes(of: field.value).map { isControl($0) ? 0x20 : $0 }))
            })
    }

    /// Leaves one field of this name, where its first one stood or else at the end.
    package mutating func set(_ name: String, _ value: String) {
        guard let first = list.firstIndex(where: { HTTPGrammar.matches($0.name, name) }) else {
            append(name, value)
            return
        }
        let tail = list[(first + 1)...].filter { !HTTPGrammar.matches($0.name, name) }
        list.replaceSubrange(first..., with: CollectionOfOne(Field(name: name, value: value)) + tail)
    }

    /// Goes on with the value of the last field, a space between.
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

    /// All values of a name as the one list that they are by RFC 9110, section 5.3; nil when there is no such
    /// field.
    package func combined(_ name: String) -> String? {
        let values = all(name)
        return values.count > 1 ? values.joined(separator: ", ") : values.first
    }
}

/// Names of fields, told apart from others by their lengths first: that spares most of them being read.
package struct FieldNames: Sendable, ExpressibleByArrayLiteral {
    /// A handful, as a rule: none of them is worth being hashed.
    private var names: [String]
    /// A bit for each length that there is, the last one for all that are longer.
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
    /// The elements of all lists of this name, cut at commas that no quoted string holds; empty ones are left
    /// out.
    package func elements(_ name: String) -> [String] {
        guard let text = combined(name) else { return [] }
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

    /// The type of the content as the Fetch standard extracts it: of several, the last one that is a type,
    /// with the character set of an earlier one of the same essence if it has none itself.
    package var contentType: MediaType? {
        let values = all("Content-Type")
        guard !values.isEmpty else { return nil }
        if values.count == 1, !values[0].utf8.contains(UInt8(ascii: ",")) {
            return MediaType(values[0]).flatMap { $0.essence == "*/*" ? nil : $0 }
        }
        var found: MediaType?
        var charset: String?
        for element in elements("Content-Type") {
            guard let type = MediaType(element), type.essence != "*/*" else { continue }
            if type.essence != found?.essence { charset = nil }
            charset = type.charset ?? charset
            found = type.charset == nil ? type.adding(charset: charset) : type
        }
        return found
    }

    /// The length of the content in bytes; nil when there is none, or no number, or several that differ.
    package var contentLength: Int? {
        let lengths = Set(elements("Content-Length"))
        guard lengths.count == 1, let text = lengths.first else { return nil }
        var scanner = FieldScanner(text)
        guard let length = scanner.exactInteger(), scanner.isAtEnd else { return nil }
        return length
    }

    /// How many seconds a cache on the way kept the response, at most 2^31; of several values the first
    /// counts.
    package var age: Int? {
        elements("Age").first.flatMap { HTTPGrammar.cappedInteger($0.utf8) }
    }

    /// The moment that a field such as `Date`, `Expires` or `Last-Modified` names; nil when it is missing or
    /// malformed.
    package func date(_ name: String, now: HTTPDate? = nil) -> HTTPDate? {
        self[name].flatMap { HTTPDate($0, now: now) }
    }

    /// Whether the body had a content coding when it was sent.
    package var isCoded: Bool {
        guard contains("Content-Encoding") else { return false }
        return elements("Content-Encoding").contains { $0.lowercased() != "identity" }
    }

    package var entityTag: EntityTag? { self["ETag"].flatMap { EntityTag($0) } }
}

extension HTTPFields {
    /// Reads the lines `Name: value` of a message's head, ended by CRLF or LF. What is no field line (a
    /// status line, an empty line, a name that is no token) is left out; a line that starts with a space
    /// continues the one before (RFC 9112, section 5.2). Values that are not UTF-8 are bytes (RFC 9110,
    /// section 5.5): see `reversibleText`. Where they are addresses or names of files, they are read as ISO
    /// 8859-1.
    ///
    /// - Parameter isReceived: it came from a server, and not out of `block`.
    package init(block: Span<UInt8>, isReceived: Bool = false) {
        self.init()
        list.reserveCapacity(12)
        block.withUnsafeBufferPointer { bytes in
            var rest = bytes[...]
            var continues = false
            while !rest.isEmpty {
                let end = rest.firstIndex(of: 0x0A) ?? rest.endIndex
                var line = rest[..<end]
                rest = rest[min(end + 1, rest.endIndex)...]
                if line.last == 0x0D { line.removeLast() }
                if let first = line.first, HTTPGrammar.isSpace(first) {
                    guard continues else { continue }
                    continueLast(
                        HTTPGrammar.reversibleText(HTTPGrammar.trimmed(line), isReceived: isReceived))
                    continue
                }
                continues = false
                guard let colon = line.firstIndex(of: 0x3A) else { continue }
                // Space before the colon is malformed, yet browsers and curl forgive it.
                let name = HTTPGrammar.trimmed(line[..<colon])
                guard HTTPGrammar.isToken(name) else { continue }
                continues = true
                let (fieldName, value) = (HTTPGrammar.text(name), HTTPGrammar.trimmed(line[(colon + 1)...]))
                let isRead = Self.readNames.contains(fieldName)
                append(
                    fieldName,
                    isRead
                        ? HTTPGrammar.text(value) : HTTPGrammar.reversibleText(value, isReceived: isReceived))
            }
        }
    }

    private static let readNames: FieldNames = [
        "location", "content-location", "content-disposition", "link", "refresh",
    ]

    /// The lines of a message's head, CRLF behind each, without the empty line that ends it. What would break
    /// out of its line cannot: CR, LF and NUL in a value become spaces, and a field whose name is no token is
    /// left out.
    package var block: String {
        var text = ""
        appendBlock(to: &text)
        return text
    }

    /// The same, behind other text.
    package func appendBlock(to text: inout String) {
        for field in list where HTTPGrammar.isToken(field.name.utf8) {
            text += field.name
            text += ": "
            func isBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D || byte == 0 }
            let isBroken =
                field.value.utf8.withContiguousStorageIfAvailable { $0.contains(where: isBreak) }
                ?? field.value.utf8.contains(where: isBreak)
            if isBroken {
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
