extension WebURL {
    /// The longest input that is looked at; what is longer is no URL. Offsets fit 32 bits with room to spare.
    package static let maximumByteCount = 16 << 20

    /// The URL that `text` names, resolved against `base` when it is relative; nil when the standard calls it a
    /// failure.
    package init?(_ text: String, base: WebURL? = nil) {
        self.init(utf8: text.utf8.span, base: base)
    }

    /// The URL that `bytes` names. `queryEncoding` is the character set of the document in which it stands: browsers
    /// encode the query of an http URL in it. Malformed UTF-8 is read as U+FFFD.
    package init?(utf8 bytes: Span<UInt8>, base: WebURL? = nil, queryEncoding: TextEncoding = .utf8) {
        guard bytes.count <= Self.maximumByteCount else { return nil }
        let input = bytes.extracting(Self.trimmedRange(of: bytes))
        if let plain = WebURL(plain: input, base: base) {
            self = plain
            return
        }
        if input.indices.allSatisfy({ input[$0] < 0x80 && !Self.isTabOrNewline(input[$0]) }) {
            self.init(clean: input, base: base, queryEncoding: queryEncoding)
        } else {
            let clean = TextEncoding.repairedUTF8(input).filter { !Self.isTabOrNewline($0) }
            self.init(clean: clean.span, base: base, queryEncoding: queryEncoding)
        }
    }

    private init?(clean input: Span<UInt8>, base: WebURL?, queryEncoding: TextEncoding) {
        var parser = URLParser(queryEncoding: queryEncoding, capacity: input.count + (base?.href.utf8.count ?? 0) + 8)
        guard parser.parse(input, base: base) else { return nil }
        self.init(href: String(decoding: parser.output, as: UTF8.self), layout: parser.layout)
    }

    /// The range without C0 controls and spaces at either end.
    private static func trimmedRange(of bytes: Span<UInt8>) -> Range<Int> {
        var lower = 0
        var upper = bytes.count
        while lower < upper, bytes[lower] <= 0x20 { lower += 1 }
        while lower < upper, bytes[upper - 1] <= 0x20 { upper -= 1 }
        return lower..<upper
    }

    /// The standard drops these anywhere in a URL.
    private static func isTabOrNewline(_ byte: UInt8) -> Bool {
        byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

extension [UInt8] {
    init(copying bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer { [UInt8]($0) }
    }
}
