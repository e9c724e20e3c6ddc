internal import Codings
internal import Markup
internal import Web

extension ReferenceList {
    /// Returns the pages in a sitemap, or the sitemaps in a sitemap index. The format is XML, a feed or text
    /// lines, possibly compressed with gzip. A robots.txt, whose role is `.guide` too, has no links.
    ///
    /// - Returns: the links, and whether there are more than the maximum per document (`maxLinks`).
    mutating func readSitemap(
        _ bytes: [UInt8], _ mediaType: MediaType?, at url: WebURL, by scanner: LinkScanner
    ) -> (links: [FoundLink], isOverlong: Bool) {
        let inflated = Gzip.isGzip(bytes.span) ? Gzip.inflate(bytes.span, limit: Sitemap.maxBytes) : bytes
        guard let bytes = inflated, url.path != "/robots.txt" else { return ([], false) }
        let format = BodyFormat(mediaType: nil, url: url, body: bytes.span)
        guard format != .opaque else { return Sitemap.lines(of: bytes, maxLinks: maxLinks) }
        removeAll()
        let table = scanner.scan(bytes.span, as: format, charset: mediaType?.charset) { append($0, $1) }
        let links = resolve(against: url, table: table)
        guard Sitemap.listsSitemaps(bytes) else { return (links, isCut) }
        return (links.compactMap(\.url).map { FoundLink(url: $0, role: .guide) }, isCut)
    }
}

private enum Sitemap {
    /// The maximum uncompressed size of a sitemap, by the sitemap protocol.
    static let maxBytes = 52_428_800
    /// The size of the beginning of a document in which its root element is searched.
    private static let inspectedByteCount = 4096

    /// Whether the document is a sitemap index.
    static func listsSitemaps(_ bytes: [UInt8]) -> Bool {
        let root = Array("<sitemapindex".utf8)
        let beginning = bytes.prefix(inspectedByteCount)
        return beginning.indices.contains { beginning[$0...].starts(with: root) }
    }

    /// The pages in a sitemap of text: one URL per line. Other lines are ignored, such as those of robots.txt.
    static func lines(of bytes: [UInt8], maxLinks: Int) -> (links: [FoundLink], isOverlong: Bool) {
        let lines = bytes.split(maxSplits: maxLinks) { $0 == 0x0A || $0 == 0x0D }
        let links = lines.prefix(maxLinks).compactMap { line -> FoundLink? in
            // Spaces, tabs and the bytes of a byte order mark.
            let text = line.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
            guard text.starts(with: "http".utf8), let target = WebURL(utf8: Array(text).span) else {
                return nil
            }
            return FoundLink(url: target.key, role: .page)
        }
        return (links, lines.count > maxLinks)
    }
}
