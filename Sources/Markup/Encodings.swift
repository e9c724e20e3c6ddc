package import Web

extension BodyFormat {
    /// Returns the encoding of a body, by its byte order mark, the HTTP header, its own declaration, or the
    /// default of the format, in this order.
    func encoding(of body: Bytes, charset: String?) -> TextEncoding {
        if let mark = TextEncoding.byteOrderMark(of: Span(_unsafeElements: body)) { return mark.encoding }
        if let charset, let named = TextEncoding(label: charset) { return named }
        return encodingDeclaredInText(of: body) ?? (self == .html ? .windows1252 : .utf8)
    }

    /// Returns the encoding that a body itself declares, independent of the HTTP header; nil if there is
    /// none.
    package func declaredEncoding(of body: Span<UInt8>) -> TextEncoding? {
        body.withUnsafeBufferPointer {
            TextEncoding.byteOrderMark(of: body)?.encoding ?? encodingDeclaredInText(of: $0)
        }
    }

    private func encodingDeclaredInText(of body: Bytes) -> TextEncoding? {
        switch self {
        case .html: HTMLPrescan.declaredEncoding(of: body)
        case .css: Self.cssCharset(body)
        case .xhtml, .svg, .xml, .dash, .sitemap, .feed: Self.xmlDeclaration(body)
        case .opaque, .javaScript, .json, .webManifest, .importMap, .speculationRules, .jsonLD, .hls, .webVTT,
            .plainText, .pagefindIndex:
            nil
        }
    }

    /// Reads `@charset "…";` from the very first bytes. UTF-16 cannot be true there, because the bytes are
    /// ASCII.
    private static func cssCharset(_ body: Bytes) -> TextEncoding? {
        let mark: StaticString = "@charset \""
        guard body.count > 10, mark.withUTF8Buffer({ body.prefix(10).elementsEqual($0) }),
            let end = body.prefix(1024).dropFirst(10).firstIndex(of: UInt8(ascii: "\"")),
            end + 1 < body.count, body[end + 1] == UInt8(ascii: ";")
        else { return nil }
        return HTMLPrescan.encoding(forLabel: body.part(10..<end))
    }

    /// Reads `<?xml … encoding="…"?>`.
    private static func xmlDeclaration(_ body: Bytes) -> TextEncoding? {
        guard body.starts(with: "<?xml"), let end = body.prefix(1024).firstIndex(of: UInt8(ascii: ">")) else {
            return nil
        }
        let head = body.part(0..<end)
        guard var index = head.firstIndex(of: "encoding") else { return nil }
        index += 8
        while index < end, head[index].isSpace || head[index] == UInt8(ascii: "=") { index += 1 }
        guard index < end, head[index] == 0x22 || head[index] == 0x27,
            let close = head[(index + 1)...].firstIndex(of: head[index])
        else { return nil }
        return HTMLPrescan.encoding(forLabel: head.part(index + 1..<close))
    }
}

/// Finds the encoding that a document declares: first by the prescan of the HTML standard, which ignores the
/// structure of scripts and similar content, then by the first `<meta>` that the tokenizer finds, where a
/// browser would restart parsing.
struct HTMLPrescan {
    /// The number of bytes that the prescan reads.
    private static let maxPrescanBytes = 1024

    static func declaredEncoding(of body: Bytes) -> TextEncoding? {
        var prescan = HTMLPrescan(bytes: body.part(0..<min(body.count, maxPrescanBytes)))
        return prescan.scan() ?? MetaCharset.find(in: body)
    }

    /// Returns the encoding of a label in a document. UTF-16 becomes UTF-8, because the label itself was
    /// readable as ASCII.
    static func encoding(forLabel label: Bytes) -> TextEncoding? {
        switch TextEncoding(label: Span(_unsafeElements: label)) {
        case .utf16le, .utf16be: .utf8
        case .userDefined: .windows1252
        case let encoding: encoding
        }
    }

    private let bytes: Bytes
    private var index = 0

    private init(bytes: Bytes) {
        self.bytes = bytes
    }

    private mutating func scan() -> TextEncoding? {
        while index < bytes.count {
            if bytes.starts(with: "<!--", at: index) {
                guard let end = commentEnd() else { return nil }
                index = end
            } else if bytes.starts(with: "<meta", at: index), index + 5 < bytes.count,
                bytes[index + 5].isSpace || bytes[index + 5] == UInt8(ascii: "/")
            {
                index += 6
                if let found = readMeta() { return found }
            } else if bytes[index] == UInt8(ascii: "<"), isTag {
                while index < bytes.count, !bytes[index].isSpace, bytes[index] != UInt8(ascii: ">") {
                    index += 1
                }
                while readAttribute() != nil {}
            } else if bytes.starts(with: "<!", at: index) || bytes.starts(with: "</", at: index)
                || bytes.starts(with: "<?", at: index)
            {
                while index < bytes.count, bytes[index] != UInt8(ascii: ">") { index += 1 }
            }
            index += 1
        }
        return nil
    }

    /// Returns the end of a comment. The dashes of `-->` may be those of `<!--`.
    private func commentEnd() -> Int? {
        var end = index + 4
        while end < bytes.count {
            if bytes[end] == UInt8(ascii: ">"), bytes[end - 1] == UInt8(ascii: "-"),
                bytes[end - 2] == UInt8(ascii: "-")
            {
                return end
            }
            end += 1
        }
        return nil
    }

    /// Whether a tag starts here: `<` or `</` and a letter.
    private var isTag: Bool {
        var next = index + 1
        if next < bytes.count, bytes[next] == UInt8(ascii: "/") { next += 1 }
        return next < bytes.count && bytes[next].isLetter
    }

    private mutating func readMeta() -> TextEncoding? {
        var seen: [[UInt8]] = []
        var needsPragma: Bool?
        var hasPragma = false
        var charset: TextEncoding?
        while let attribute = readAttribute() {
            if seen.contains(attribute.name) { continue }
            seen.append(attribute.name)
            attribute.value.withUnsafeBufferPointer { value in
                if attribute.name.elementsEqual("http-equiv".utf8) {
                    hasPragma = hasPragma || value.equals("content-type")
                } else if attribute.name.elementsEqual("content".utf8) {
                    if charset == nil, let found = Self.charset(inContent: value) {
                        charset = found
                        needsPragma = true
                    }
                } else if attribute.name.elementsEqual("charset".utf8) {
                    charset = Self.encoding(forLabel: value)
                    needsPragma = false
                }
            }
        }
        guard index < bytes.count, let needsPragma, !needsPragma || hasPragma else { return nil }
        return charset
    }

    /// Reads `charset=…` in a `content` value (extracting a character encoding from a meta element).
    static func charset(inContent value: Bytes) -> TextEncoding? {
        var index = 0
        while let found = value.firstIndex(of: "charset", from: index) {
            index = found + 7
            while index < value.count, value[index].isSpace { index += 1 }
            guard index < value.count else { return nil }
            guard value[index] == UInt8(ascii: "=") else { continue }
            index += 1
            while index < value.count, value[index].isSpace { index += 1 }
            guard index < value.count else { return nil }
            let mark = value[index]
            if mark == UInt8(ascii: "\"") || mark == UInt8(ascii: "'") {
                guard let end = value[(index + 1)...].firstIndex(of: mark) else { return nil }
                return encoding(forLabel: value.part(index + 1..<end))
            }
            let end = value[index...].firstIndex { $0.isSpace || $0 == UInt8(ascii: ";") } ?? value.count
            return encoding(forLabel: value.part(index..<end))
        }
        return nil
    }

    /// Reads the next attribute, in lower case; nil at the end of the tag or of the bytes.
    private mutating func readAttribute() -> (name: [UInt8], value: [UInt8])? {
        while index < bytes.count, bytes[index].isSpace || bytes[index] == UInt8(ascii: "/") { index += 1 }
        guard index < bytes.count, bytes[index] != UInt8(ascii: ">") else { return nil }
        var name: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "="), !name.isEmpty { break }
            if byte.isSpace { break }
            if byte == UInt8(ascii: "/") || byte == UInt8(ascii: ">") { return (name, []) }
            name.append(byte.lowercased)
            index += 1
        }
        while index < bytes.count, bytes[index].isSpace { index += 1 }
        guard index < bytes.count else { return nil }
        guard bytes[index] == UInt8(ascii: "=") else { return (name, []) }
        index += 1
        while index < bytes.count, bytes[index].isSpace { index += 1 }
        guard index < bytes.count else { return nil }
        var value: [UInt8] = []
        let quote = bytes[index]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            index += 1
            while index < bytes.count, bytes[index] != quote {
                value.append(bytes[index].lowercased)
                index += 1
            }
            guard index < bytes.count else { return nil }
            index += 1
            return (name, value)
        }
        while index < bytes.count, !bytes[index].isSpace, bytes[index] != UInt8(ascii: ">") {
            value.append(bytes[index].lowercased)
            index += 1
        }
        return index < bytes.count ? (name, value) : nil
    }
}

/// Finds the first `<meta>` in a document that declares an encoding, at any place.
final class MetaCharset: HTMLSkimmerDelegate {
    private let text: Bytes
    private let vocabulary = HTMLVocabulary.shared
    private var encoding: TextEncoding?

    private init(_ text: Bytes) {
        self.text = text
    }

    static func find(in text: Bytes) -> TextEncoding? {
        let finder = MetaCharset(text)
        var skimmer = HTMLSkimmer(text, vocabulary: finder.vocabulary, finder)
        skimmer?.skim()
        return finder.encoding
    }

    func didFindTag(_ tag: HTMLTag) {
        guard tag.name == vocabulary.element.meta, encoding == nil else { return }
        if let charset = value(vocabulary.attribute.charset, of: tag) {
            encoding = HTMLPrescan.encoding(forLabel: charset)
        } else if let pragma = value(vocabulary.attribute.httpEquiv, of: tag), pragma.equals("content-type"),
            let content = value(vocabulary.attribute.content, of: tag)
        {
            encoding = HTMLPrescan.charset(inContent: content)
        }
    }

    func didFindContent(_ range: Range<Int>, of name: UInt8, _ form: HTMLContentForm) {}

    func didFindComment(_ range: Range<Int>) {}

    private func value(_ name: UInt8, of tag: HTMLTag) -> Bytes? {
        tag.attributes.first { $0.name == name }.map { text.part($0.valueRange) }
    }
}

extension TextEncoding {
    /// Returns a copy of the text in which no character ends in an ASCII byte, so that each `\` or `{` is a
    /// real one. All offsets stay the same. Returns nil if the encoding has no such characters or the text
    /// needs no change.
    func maskingTrailBytes(_ text: Bytes) -> [UInt8]? {
        let isLead: (UInt8) -> Bool
        switch self {
        case .shiftJIS: isLead = { 0x81...0x9F ~= $0 || 0xE0...0xFC ~= $0 }
        case .gbk, .gb18030, .big5: isLead = { 0x81...0xFE ~= $0 }
        default: return nil
        }
        guard text.contains(where: isLead) else { return nil }
        var copy = Array(text)
        var index = 0
        while index + 1 < copy.count {
            guard isLead(copy[index]), copy[index + 1] >= 0x40 else {
                index += 1
                continue
            }
            copy[index + 1] |= 0x80
            index += 2
        }
        return copy
    }
}
