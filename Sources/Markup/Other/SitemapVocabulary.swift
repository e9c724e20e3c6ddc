/// Sitemaps and their indexes, with the extensions for pictures, films and other languages.
final class SitemapVocabulary: XMLVocabulary {
    func opened(_ scanner: XMLScanner) {
        if scanner.isElement("link") { scanner.add(scanner.attribute("href"), .alternate) }
    }

    func closed(_ scanner: XMLScanner) {
        if scanner.isElement("loc") {
            scanner.addContent(scanner.isElement("image", out: 1) ? .image : .sitemapEntry)
        } else if scanner.isElement("sitemap") {
            // Some indexes leave out the `<loc>`.
            scanner.addContent(.sitemapEntry)
        } else if scanner.isElement("content_loc") {
            scanner.addContent(.media)
        } else if scanner.isElement("thumbnail_loc") {
            scanner.addContent(.image)
        } else if scanner.isElement("player_loc") {
            scanner.addContent(.frame)
        } else if scanner.isElement("license") {
            scanner.addContent(.about)
        }
    }
}

extension SitemapVocabulary {
    /// A sitemap may also be a plain list of addresses, one a line.
    static func scan(_ text: SourceText, _ sink: LinkSink) {
        let first = text.bytes.first { !$0.isSpace && ![0xEF, 0xBB, 0xBF].contains($0) }
        if first == UInt8(ascii: "<") {
            XMLScanner.scan(text, sink, SitemapVocabulary())
            return
        }
        TextLines.forEach(text.bytes) { line in
            if ScriptAddress(text.bytes.part(line)) == .absolute { sink.add(line, in: text, .sitemapEntry, .line) }
        }
    }
}
