extension ScriptScanner {
    private static let kinds: [(StaticString, LinkKind)] = [
        ("js", .script), ("mjs", .module), ("css", .style), ("png", .image), ("jpg", .image), ("jpeg", .image),
        ("gif", .image), ("webp", .image), ("avif", .image), ("svg", .image), ("bmp", .image), ("ico", .icon),
        ("woff2", .font), ("woff", .font), ("ttf", .font), ("otf", .font), ("eot", .font), ("mp4", .media),
        ("webm", .media), ("ogv", .media), ("mp3", .media), ("ogg", .media), ("m4a", .media), ("wav", .media),
        ("flac", .media), ("vtt", .track), ("m3u8", .playlist), ("mpd", .playlist), ("webmanifest", .manifest),
        ("json", .data), ("wasm", .data), ("html", .page), ("htm", .page),
    ]

    /// What a file is for, by its name.
    func kind(ofFile literal: ScriptLiteral, else kind: LinkKind) -> LinkKind {
        Self.kind(ofFile: text.bytes.part(literal.range)) ?? kind
    }

    static func kind(ofFile name: Bytes) -> LinkKind? {
        let path = name.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard let dot = path.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let suffix = name.part(dot + 1..<path.endIndex)
        return kinds.first { suffix.equals($0.0) }?.1
    }

    func address(_ literal: ScriptLiteral) -> ScriptAddress {
        head(literal).withUnsafeBufferPointer { ScriptAddress($0) }
    }

    /// The first bytes of what the literal says.
    private func head(_ literal: ScriptLiteral) -> [UInt8] {
        var head: [UInt8] = []
        let written = text.bytes.part(
            literal.range.lowerBound..<min(literal.range.upperBound, literal.range.lowerBound + 64))
        if written.contains(UInt8(ascii: "\\")) {
            ScriptText.unescape(written, into: &head)
        } else {
            head.append(contentsOf: written.prefix(8))
        }
        return head
    }
}
