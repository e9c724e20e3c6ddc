package import Web

extension BodyFormat {
    /// How a body is read: by its media type, and by its name and first bytes where the type is missing or says
    /// nothing.
    package init(mediaType: MediaType?, url: WebURL, body: Span<UInt8>) {
        let essence = mediaType?.essence ?? ""
        if let format = Self.named(essence) {
            self = format
            return
        }
        let sniffed = body.withUnsafeBufferPointer { Self.sniffed($0, path: url.path) }
        switch essence {
        case "text/plain":
            // Never markup, but scripts and playlists are often sent as such.
            self = sniffed.isMarkup ? .plainText : sniffed
        case "text/xml", "application/xml":
            self = body.withUnsafeBufferPointer { Self.xml($0) }
        case "application/json", "text/json":
            self = sniffed == .webManifest ? .webManifest : .json
        default:
            self = sniffed
        }
    }

    /// Whether the media type alone says that there is nothing to be found in it.
    package static func isOpaque(_ mediaType: MediaType?) -> Bool { named(mediaType?.essence ?? "") == .opaque }

    /// What a media type says; nil when it says nothing of use.
    private static func named(_ essence: String) -> BodyFormat? {
        switch essence {
        case "text/html": return .html
        case "application/xhtml+xml": return .xhtml
        case "text/css": return .css
        case "image/svg+xml": return .svg
        case "application/manifest+json": return .webManifest
        case "application/importmap+json": return .importMap
        case "application/speculationrules+json": return .speculationRules
        case "application/ld+json": return .jsonLD
        case "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl": return .hls
        case "application/dash+xml": return .dash
        case "application/rss+xml", "application/atom+xml", "application/rdf+xml": return .feed
        case "text/vtt": return .webVTT
        case "", "text/plain", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*",
            "text/xml", "application/xml", "application/json", "text/json":
            return nil
        default: break
        }
        if essence.utf8.withContiguousStorageIfAvailable({ isJavaScript($0) }) ?? false { return .javaScript }
        if essence.hasSuffix("+xml") { return .xml }
        if essence.hasSuffix("+json") { return .json }
        return .opaque
    }

    private var isMarkup: Bool {
        switch self {
        case .opaque, .html, .xhtml, .svg, .xml, .feed: true
        case .css, .javaScript, .json, .webManifest, .importMap, .speculationRules, .jsonLD, .hls, .dash, .webVTT,
            .sitemap,
            .plainText:
            false
        }
    }

    /// The media types of JavaScript (MIME Sniffing standard).
    static func isJavaScript(_ essence: Bytes) -> Bool {
        let names: [StaticString] = [
            "text/javascript", "application/javascript", "application/ecmascript", "application/x-ecmascript",
            "application/x-javascript", "text/ecmascript", "text/x-ecmascript", "text/x-javascript", "text/jscript",
            "text/livescript", "text/javascript1.0", "text/javascript1.1", "text/javascript1.2", "text/javascript1.3",
            "text/javascript1.4", "text/javascript1.5",
        ]
        return names.contains { essence.equals($0) }
    }

    private static func sniffed(_ body: Bytes, path: String) -> BodyFormat {
        let name = path.utf8.suffix(16).map(\.lowercased)
        let suffix = name.lastIndex(of: UInt8(ascii: ".")).map { String(decoding: name[($0 + 1)...], as: UTF8.self) }
        switch suffix {
        case "html", "htm", "shtml", "php", "asp", "aspx", "jsp": return .html
        case "xhtml", "xht": return .xhtml
        case "css": return .css
        case "js", "mjs", "cjs": return .javaScript
        case "svg": return .svg
        case "json", "map": return .json
        case "webmanifest": return .webManifest
        case "m3u8", "m3u": return .hls
        case "mpd": return .dash
        case "vtt": return .webVTT
        case "rss", "atom", "rdf": return .feed
        case "xml", "xsl", "xslt": return xml(body)
        default: return byContent(body)
        }
    }

    /// What the first bytes say.
    private static func byContent(_ body: Bytes) -> BodyFormat {
        var start = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < body.count, body[start].isSpace { start += 1 }
        let head = body.part(start..<min(body.count, start + 1024))
        if head.starts(with: "#extm3u") { return .hls }
        if head.starts(with: "webvtt") { return .webVTT }
        if head.starts(with: "<?xml") { return xml(body) }
        for mark: StaticString in ["<!doctype html", "<html", "<head", "<body", "<script", "<title", "<meta", "<!--"]
        where head.starts(with: mark) { return .html }
        if head.starts(with: "<svg") { return .svg }
        if let first = head.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return .json }
        return .opaque
    }

    /// Which vocabulary of XML, by the first element.
    private static func xml(_ body: Bytes) -> BodyFormat {
        let head = body.part(0..<min(body.count, 2048))
        if head.firstIndex(of: "<svg") != nil { return .svg }
        if head.firstIndex(of: "<html") != nil { return .xhtml }
        if head.firstIndex(of: "<urlset") != nil || head.firstIndex(of: "<sitemapindex") != nil { return .sitemap }
        if head.firstIndex(of: "<rss") != nil || head.firstIndex(of: "<feed") != nil { return .feed }
        if head.firstIndex(of: "<mpd") != nil { return .dash }
        return .xml
    }
}
