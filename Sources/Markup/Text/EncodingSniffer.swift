internal import Web

extension BodyFormat {
    /// The encoding of a body: byte order mark, HTTP header, the body's own declaration, then the format's default.
    func encoding(of body: Bytes, charset: String?) -> TextEncoding {
        if let mark = TextEncoding.byteOrderMark(of: Span(_unsafeElements: body)) { return mark.encoding }
        if let charset, let named = TextEncoding(label: charset) { return named }
        switch self {
        case .html: return HTMLPrescan.encoding(of: body) ?? .windows1252
        case .css: return Self.cssCharset(body) ?? .utf8
        case .xhtml, .svg, .xml, .dash, .sitemap, .feed: return Self.xmlDeclaration(body) ?? .utf8
        case .opaque, .javaScript, .json, .webManifest, .importMap, .speculationRules, .jsonLD, .hls, .webVTT,
            .plainText:
            return .utf8
        }
    }

    /// `@charset "…";` as the very first bytes. What names UTF-16 cannot be true.
    private static func cssCharset(_ body: Bytes) -> TextEncoding? {
        let mark: StaticString = "@charset \""
        guard body.count > 10, mark.withUTF8Buffer({ body.prefix(10).elementsEqual($0) }),
            let end = body.prefix(1024).dropFirst(10).firstIndex(of: UInt8(ascii: "\"")),
            end + 1 < body.count, body[end + 1] == UInt8(ascii: ";")
        else { return nil }
        return HTMLPrescan.declared(body.part(10..<end))
    }

    /// `<?xml … encoding="…"?>`
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
        return HTMLPrescan.declared(head.part(index + 1..<close))
    }
}
