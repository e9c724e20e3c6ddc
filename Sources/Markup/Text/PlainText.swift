internal import Web

/// A reader of text without markup, or with the markup of Markdown.
enum PlainText {
    static func read(_ text: [UInt8]) -> DocumentText {
        var document = DocumentText()
        var lines = BlockLines(maxBytes: DocumentText.maxTextBytes)
        text.withUnsafeBufferPointer { lines.append($0, keepsLines: true) }
        lines.breakLine()
        document.body = lines.bytes
        document.title = DocumentText.truncateTitle(firstLine(document.body))
        return document
    }

    /// Reads Markdown. Headings become sections with the anchors that common generators use; the markup of
    /// words and links is removed.
    static func readMarkdown(_ text: [UInt8]) -> DocumentText {
        var document = DocumentText()
        var lines = BlockLines(maxBytes: DocumentText.maxTextBytes)
        var isCode = false
        for line in text.split(separator: UInt8(ascii: "\n")) where !lines.isFull {
            if line.starts(with: "```".utf8) || line.starts(with: "~~~".utf8) {
                isCode.toggle()
                continue
            }
            let level = isCode ? 0 : line.prefix { $0 == UInt8(ascii: "#") }.count
            let start = lines.startBlock()
            var block = BlockLines(maxBytes: DocumentText.maxTextBytes)
            let content =
                isCode ? Array(line) : removeInlineMarkup(line.dropFirst((1...6).contains(level) ? level : 0))
            content.withUnsafeBufferPointer { block.append($0) }
            lines.append(block.line)
            if (1...6).contains(level) {
                document.addSection(start, anchor: slug(block.line), title: block.line)
                if document.title.isEmpty { document.title = DocumentText.truncateTitle(block.line) }
            }
        }
        lines.breakLine()
        document.body = lines.bytes
        if document.title.isEmpty { document.title = DocumentText.truncateTitle(firstLine(document.body)) }
        return document
    }

    /// Removes inline markup: `[words](address)` becomes its words, asterisks and backquotes are dropped.
    private static func removeInlineMarkup(_ line: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = line.startIndex
        while index < line.endIndex {
            let byte = line[index]
            if byte == UInt8(ascii: "]"), index + 1 < line.endIndex, line[index + 1] == UInt8(ascii: "("),
                let end = line[index...].firstIndex(of: UInt8(ascii: ")"))
            {
                index = end
            } else if !"*`[]".utf8.contains(byte) {
                bytes.append(byte)
            }
            index += 1
        }
        return bytes
    }

    private static func slug(_ title: String) -> String {
        var bytes: [UInt8] = []
        for byte in title.utf8 {
            switch byte {
            case 0x41...0x5A: bytes.append(byte | 0x20)
            case 0x61...0x7A, 0x30...0x39, 0x5F, 0x80...: bytes.append(byte)
            case 0x20, 0x2D: bytes.append(0x2D)
            default: break
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func firstLine(_ body: [UInt8]) -> String {
        let line = body.prefix(2 * DocumentText.maxTitleBytes).prefix { $0 != UInt8(ascii: "\n") }
        return String(decoding: line, as: UTF8.self)
    }
}
