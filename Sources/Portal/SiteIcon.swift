internal import Store
internal import Web

/// The icon of a site: the image that its stored start page names, else `/favicon.ico`.
enum SiteIcon {
    /// Larger icons are not shown.
    private static let maxBytes = 256 * 1024
    /// Only this part of the start page is searched.
    private static let maxHeadBytes = 128 * 1024
    /// Further links to icons are ignored.
    private static let maxCandidates = 6

    /// Returns the URL of the icon; nil if none is stored.
    static func find(of start: String, _ reader: StoreReader) throws(StoreError) -> String? {
        guard let url = WebURL(start), url.isHTTP else { return nil }
        var candidates: [WebURL] = []
        if let page = try reader.response(for: url.key.href)?.body, page.form.hasPrefix("html"),
            let bytes = try reader.content(of: page)?.load()
        {
            let head = Array(bytes.prefix(maxHeadBytes))
            candidates = links(in: head).compactMap { WebURL($0, base: url) }
        }
        if let usual = WebURL("/favicon.ico", base: url) { candidates.append(usual) }
        for candidate in candidates.prefix(maxCandidates) where candidate.isHTTP {
            guard let icon = try reader.response(for: candidate.key.href), icon.status == 200,
                let body = icon.body, (1...maxBytes).contains(body.byteCount),
                // Some servers answer with a page in place of an icon.
                let bytes = try reader.content(of: body)?.load(), type(of: bytes) != nil
            else { continue }
            return candidate.key.href
        }
        return nil
    }

    /// The media type of an image, by its first bytes; nil if it is none that browsers show as an icon.
    static func type(of bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
        if bytes.starts(with: [0, 0, 1, 0]) { return "image/x-icon" }
        if bytes.starts(with: Array("GIF8".utf8)) { return "image/gif" }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return "image/webp"
        }
        return bytes.prefix(1024).contains("<svg".utf8) ? "image/svg+xml" : nil
    }

    /// The targets of `<link rel=icon>` in the order of the document.
    ///
    /// It reads only the attributes of `link` tags. A wrong target does no harm, since only stored images are shown.
    static func links(in html: [UInt8]) -> [String] {
        var links: [String] = []
        var rest = html[...]
        while links.count < maxCandidates, let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            guard
                lowercased(rest.prefix(5)) == Array("link ".utf8)
                    || lowercased(rest.prefix(5)) == Array("link\n".utf8)
            else { continue }
            let end = rest.firstIndex(of: UInt8(ascii: ">")) ?? rest.endIndex
            let tag = rest[..<end]
            rest = rest[end...]
            guard let kind = attribute("rel", of: tag), let target = attribute("href", of: tag) else {
                continue
            }
            let words = lowercased(Array(kind.utf8)[...]).split(separator: UInt8(ascii: " "))
            if words.contains(where: {
                $0.elementsEqual("icon".utf8) || $0.elementsEqual("apple-touch-icon".utf8)
            }) {
                links.append(target)
            }
        }
        return links
    }

    private static func lowercased(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        bytes.map { (0x41...0x5a).contains($0) ? $0 + 32 : $0 }
    }

    /// The value of an attribute of a tag, quoted or not; nil if the tag does not have it.
    private static func attribute(_ name: String, of tag: ArraySlice<UInt8>) -> String? {
        let pattern = Array(" \(name)=".utf8)
        let spaces: Set<UInt8> = [0x09, 0x0a, 0x0d]
        let plain = tag.map { spaces.contains($0) ? 0x20 : $0 }
        let lower = lowercased(plain[...])
        guard lower.count > pattern.count,
            let start = (0...(lower.count - pattern.count)).first(where: {
                lower[$0...].starts(with: pattern)
            })
        else { return nil }
        let value = plain[(start + pattern.count)...]
        guard let first = value.first else { return nil }
        let isQuoted = first == UInt8(ascii: "\"") || first == UInt8(ascii: "'")
        let content = (isQuoted ? value.dropFirst() : value).prefix { $0 != (isQuoted ? first : 0x20) }
        return String(decoding: content, as: UTF8.self).replacing("&amp;", with: "&")
    }
}
