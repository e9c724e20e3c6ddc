/// Finds the links of HLS playlists (RFC 8216): the lines that are not tags, and the `URI` attributes of
/// tags.
enum PlaylistScanner {
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        let bytes = text.bytes
        var isVariant = false
        TextLines.forEach(bytes) { line in
            if bytes[line.lowerBound] != UInt8(ascii: "#") {
                if !isVariable(bytes.part(line)) {
                    sink.add(
                        line, in: text, isVariant || isPlaylist(bytes.part(line)) ? .playlist : .media, .line)
                }
                isVariant = false
            } else if bytes.starts(with: "#ext", at: line.lowerBound) {
                isVariant = bytes.starts(with: "#ext-x-stream-inf", at: line.lowerBound)
                attributes(line, text, sink)
            }
        }
    }

    private static func attributes(_ line: Range<Int>, _ text: SourceText, _ sink: LinkSink) {
        let bytes = text.bytes
        guard let colon = bytes[line].firstIndex(of: UInt8(ascii: ":")) else { return }
        let kind = kind(bytes.part(line.lowerBound..<colon))
        HLSAttributes.forEach(bytes, line) { name, value, isQuoted in
            let isAddress = name.equals("uri") || name.equals("x-asset-uri") || name.equals("x-asset-list")
            if isQuoted, isAddress, !isVariable(bytes.part(value)) {
                sink.add(value, in: text, kind, .line)
            }
        }
    }

    private static func kind(_ tag: Bytes) -> LinkKind {
        if tag.equals("#ext-x-key") || tag.equals("#ext-x-session-key") || tag.equals("#ext-x-session-data") {
            return .data
        }
        if tag.equals("#ext-x-map") || tag.equals("#ext-x-part") || tag.equals("#ext-x-preload-hint") {
            return .media
        }
        return .playlist
    }

    private static func isPlaylist(_ address: Bytes) -> Bool {
        FileEndings.kind(ofFile: address) == .playlist
    }

    /// Whether a URL contains `{$name}`, which another tag or the URL of the playlist defines.
    private static func isVariable(_ address: Bytes) -> Bool {
        address.firstIndex(of: "{$") != nil
    }
}

/// Finds the links in the `STYLE` blocks of WebVTT. Browsers do not load them, but other players may.
enum CaptionScanner {
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        let bytes = text.bytes
        var start: Int?
        var offset = 0
        while offset < bytes.count {
            let end = bytes[offset...].firstIndex(of: 0x0A) ?? bytes.count
            let line = bytes.trimmed(offset..<end)
            if let style = start {
                if line.isEmpty || end == bytes.count {
                    CSSScanner.scan(text.part(style..<end, adding: .isGuess), sink)
                    start = nil
                }
            } else if bytes.part(line).equals("style") {
                start = min(end + 1, bytes.count)
            }
            offset = end + 1
        }
    }
}

/// The lines of a text.
enum TextLines {
    /// Calls `body` with each line that is not blank, without surrounding white space.
    static func forEach(_ bytes: Bytes, _ body: (Range<Int>) -> Void) {
        var start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
            let line = bytes.trimmed(start..<end)
            if !line.isEmpty { body(line) }
            start = end + 1
        }
    }
}
