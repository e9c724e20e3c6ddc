/// The delay and URL of a `Refresh` field or `<meta http-equiv=refresh>`, parsed by the HTML standard's
/// shared declarative refresh steps.
package struct RefreshDirective: Sendable, Equatable {
    /// The delay, at most 2^31 seconds.
    package let seconds: Int
    /// The byte range of the URL in the text, without quotes and surrounding spaces; nil if the document
    /// itself is reloaded. It may be empty. It may contain tabs and line ends, which URL parsing removes.
    package let urlRange: Range<Int>?
    /// The text in `urlRange`.
    package let url: String?

    /// Returns nil if the text is not a valid refresh.
    package init?(_ text: String) {
        self.init(bytes: Array(text.utf8))
    }

    /// Returns nil if the text is not a valid refresh. The text must be in an ASCII-compatible encoding, with
    /// character references already decoded.
    package init?(utf8: Span<UInt8>) {
        self.init(bytes: utf8.withUnsafeBufferPointer { Array($0) })
    }

    private init?(bytes: [UInt8]) {
        var scanner = FieldScanner(bytes)
        scanner.skip(while: Self.isSpace)
        let digits = scanner.take(while: \.isASCIIDigit)
        guard !digits.isEmpty || scanner.next == 0x2E else { return nil }
        seconds = HTTPGrammar.cappedInteger(digits) ?? 0
        scanner.skip { $0.isASCIIDigit || $0 == 0x2E }
        if let byte = scanner.next {
            guard byte == 0x3B || byte == 0x2C || Self.isSpace(byte) else { return nil }
            scanner.skip(while: Self.isSpace)
            if !scanner.consume(0x3B) { _ = scanner.consume(0x2C) }
            scanner.skip(while: Self.isSpace)
        }
        guard let first = scanner.next else {
            (urlRange, url) = (nil, nil)
            return
        }
        var unquoted = scanner
        if Self.skipPrefix(&unquoted) {
            scanner = unquoted
        } else if first != 0x22, first != 0x27 {
            let range = Self.trimmed(scanner.position..<bytes.count, in: bytes)
            (urlRange, url) = (range, HTTPGrammar.text(bytes[range]))
            return
        }
        var end = bytes.count
        if let quote = scanner.next, quote == 0x22 || quote == 0x27 {
            _ = scanner.consume(quote)
            end = bytes[scanner.position...].firstIndex(of: quote) ?? end
        }
        let range = Self.trimmed(scanner.position..<end, in: bytes)
        (urlRange, url) = (range, HTTPGrammar.text(bytes[range]))
    }

    /// Skips `url =` in any case and spacing. Returns false if the next characters are anything else.
    private static func skipPrefix(_ scanner: inout FieldScanner) -> Bool {
        for letter in "url".utf8 {
            guard let byte = scanner.next, byte | 0x20 == letter else { return false }
            scanner.advance(1)
        }
        scanner.skip(while: isSpace)
        guard scanner.consume(0x3D) else { return false }
        scanner.skip(while: isSpace)
        return true
    }

    /// Whether a byte is ASCII whitespace, which includes the form feed.
    private static func isSpace(_ byte: UInt8) -> Bool { HTTPGrammar.isAnySpace(byte) || byte == 0x0C }

    /// The range without the C0 controls and spaces at its ends, which URL parsing strips.
    private static func trimmed(_ range: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
        var range = range
        while let first = range.first, bytes[first] <= 0x20 { range.removeFirst() }
        while let last = range.last, bytes[last] <= 0x20 { range.removeLast() }
        return range
    }
}
