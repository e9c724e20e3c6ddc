/// Finds the links of WebVTT: those of its `STYLE` blocks, which browsers do not load, but other players may.
enum CaptionScanner {
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        let bytes = text.bytes
        var start: Int?
        var place = 0
        while place < bytes.count {
            let end = bytes[place...].firstIndex(of: 0x0A) ?? bytes.count
            let line = bytes.trimmed(place..<end)
            if let style = start {
                if line.isEmpty || end == bytes.count {
                    CSSScanner.scan(text.part(style..<end, adding: .isGuess), sink)
                    start = nil
                }
            } else if bytes.part(line).equals("style") {
                start = min(end + 1, bytes.count)
            }
            place = end + 1
        }
    }
}
