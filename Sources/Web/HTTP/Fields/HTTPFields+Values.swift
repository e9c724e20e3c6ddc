extension HTTPFields {
    /// The elements of all lists of this name, cut at commas that no quoted string holds; empty ones are left out.
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

    /// The type of the content as the Fetch standard extracts it: of several, the last one that is a type, with the
    /// character set of an earlier one of the same essence if it has none itself.
    package var contentType: MediaType? {
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

    /// How many seconds a cache on the way kept the response, at most 2^31; of several values the first counts.
    package var age: Int? {
        elements("Age").first.flatMap { HTTPGrammar.cappedInteger($0.utf8) }
    }

    /// The moment that a field such as `Date`, `Expires` or `Last-Modified` names; nil when it is missing or malformed.
    package func date(_ name: String, now: HTTPDate? = nil) -> HTTPDate? {
        self[name].flatMap { HTTPDate($0, now: now) }
    }

    package var entityTag: EntityTag? { self["ETag"].flatMap { EntityTag($0) } }
}
