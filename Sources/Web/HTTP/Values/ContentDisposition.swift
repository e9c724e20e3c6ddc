/// What a `Content-Disposition` says (RFC 6266).
package struct ContentDisposition: Sendable, Equatable {
    /// In lower case; `inline` when the field begins with a parameter.
    package let kind: String
    /// The name as it was sent, `filename*` before `filename`. It may hold anything: never use it as a path.
    package let rawFileName: String?

    /// Whether the user agent is to save the body rather than show it. What is neither known kind counts as it too.
    package var isAttachment: Bool { kind != "inline" }

    /// Nil when there is neither a kind nor a parameter.
    package init?(_ text: String) {
        var scanner = FieldScanner(text)
        scanner.skipSpace()
        var start = scanner
        let kind = scanner.token()
        scanner.skipSpace()
        if scanner.next == 0x3D {
            self.kind = "inline"
        } else {
            self.kind = kind.isEmpty ? "inline" : HTTPGrammar.lowercased(kind)
            guard !kind.isEmpty || scanner.next == 0x3B else { return nil }
            scanner.skip { $0 != 0x3B }
            _ = scanner.consume(0x3B)
            start = scanner
        }
        rawFileName = Self.fileName(&start)
    }

    private static func fileName(_ scanner: inout FieldScanner) -> String? {
        var plain: String?
        var extended: String?
        while !scanner.isAtEnd {
            scanner.skip { HTTPGrammar.isSpace($0) || $0 == 0x3B }
            let name = HTTPGrammar.lowercased(scanner.token())
            scanner.skipSpace()
            if scanner.consume(0x3D) {
                scanner.skipSpace()
                let value = HTTPGrammar.text(scanner.parameterValue { $0 == 0x3B })
                if name == "filename", plain == nil { plain = value }
                if name == "filename*", extended == nil { extended = ExtendedValue(value)?.text }
            }
            scanner.skip { $0 != 0x3B }
        }
        return extended ?? plain
    }

    /// The last component of the name, fit to be one file's name: no separators, control characters or leading dots,
    /// at most 255 bytes. Nil when nothing is left.
    package var fileName: String? {
        guard let rawFileName else { return nil }
        let component = rawFileName.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? [][...]
        let kept = component.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
        var name = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in kept.drop(while: { $0 == "." || $0 == " " }) {
            byteCount += UTF8.width(scalar)
            if byteCount > 255 { break }
            name.append(scalar)
        }
        while let last = name.last, last == " " { name.removeLast() }
        return name.isEmpty ? nil : String(name)
    }
}
