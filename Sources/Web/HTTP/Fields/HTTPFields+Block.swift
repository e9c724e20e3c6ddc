extension HTTPFields {
    /// Reads the lines `Name: value` of a message's head, ended by CRLF or LF. What is no field line (a status line, an
    /// empty line, a name that is no token) is left out; a line that starts with a space continues the one before
    /// (RFC 9112, section 5.2). Values that are not UTF-8 are bytes (RFC 9110, section 5.5): see `reversibleText`. Where they are
    /// addresses or names of files, they are read as ISO 8859-1.
    ///
    /// - Parameter isReceived: it came from a server, and not out of `block`.
    package init(block: Span<UInt8>, isReceived: Bool = false) {
        self.init()
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
                    continueLast(HTTPGrammar.reversibleText(HTTPGrammar.trimmed(line), isReceived: isReceived))
                    continue
                }
                continues = false
                guard let colon = line.firstIndex(of: 0x3A) else { continue }
                // Space before the colon is malformed, yet browsers and curl forgive it.
                let name = HTTPGrammar.trimmed(line[..<colon])
                guard HTTPGrammar.isToken(name) else { continue }
                continues = true
                let (fieldName, value) = (HTTPGrammar.text(name), HTTPGrammar.trimmed(line[(colon + 1)...]))
                let isRead = Self.readNames.contains { HTTPGrammar.matches($0, fieldName) }
                append(
                    fieldName,
                    isRead ? HTTPGrammar.text(value) : HTTPGrammar.reversibleText(value, isReceived: isReceived))
            }
        }
    }

    private static let readNames = ["Location", "Content-Location", "Content-Disposition", "Link", "Refresh"]

    /// The lines of a message's head, CRLF behind each, without the empty line that ends it. What would break out of its
    /// line cannot: CR, LF and NUL in a value become spaces, and a field whose name is no token is left out.
    package var block: String {
        var text = ""
        for field in list where HTTPGrammar.isToken(field.name.utf8) {
            text += field.name
            text += ": "
            let isBroken = field.value.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 }
            if isBroken {
                text.unicodeScalars.append(
                    contentsOf: field.value.unicodeScalars.map { $0 == "\n" || $0 == "\r" || $0 == "\0" ? " " : $0 })
            } else {
                text += field.value
            }
            text += "\r\n"
        }
        return text
    }
}
