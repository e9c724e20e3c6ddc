package import Web

/// The format of a body, which determines how it is scanned. The raw values are stored.
package enum BodyFormat: UInt8, CaseIterable, Sendable {
    /// A body that is not scanned.
    case opaque = 0
    case html = 1
    case xhtml = 2
    case css = 3
    case javaScript = 4
    case svg = 5
    case xml = 6
    case json = 7
    case webManifest = 8
    case importMap = 9
    case speculationRules = 10
    case jsonLD = 11
    case hls = 12
    case dash = 13
    case webVTT = 14
    case sitemap = 15
    case feed = 16
    case plainText = 17
    /// The list of the files of a Pagefind search.
    case pagefindIndex = 18
}

extension BodyFormat {
    /// The name of the format, as a store keeps it.
    package var name: String { Self.names[Int(rawValue)] }

    /// Returns nil for an unknown name.
    package init?(name: String) {
        guard let format = Self.byName[name] else { return nil }
        self = format
    }

    /// The names by raw value. Describing a case at run time costs more than scanning a small body.
    private static let names = allCases.map { "\($0)" }

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.name, $0) })
}

extension BodyFormat {
    /// Whether a browser shows the body as a document that may run scripts.
    package var isDocument: Bool { self == .html || isXMLDocument }

    /// XHTML, SVG, or other XML that may contain elements of those.
    package var isXMLDocument: Bool {
        switch self {
        case .xhtml, .svg, .xml: true
        case .opaque, .html, .css, .javaScript, .json, .webManifest, .importMap, .speculationRules, .jsonLD,
            .hls,
            .dash, .webVTT, .sitemap, .feed, .plainText, .pagefindIndex:
            false
        }
    }

    /// Whether the body is a page of HTML elements, in either syntax.
    package var isHTML: Bool {
        switch self {
        case .html, .xhtml: true
        case .opaque, .css, .javaScript, .svg, .xml, .json, .webManifest, .importMap, .speculationRules,
            .jsonLD,
            .hls, .dash, .webVTT, .sitemap, .feed, .plainText, .pagefindIndex:
            false
        }
    }

    /// Whether the body lists the parts and the renditions of a film or sound.
    package var isPlaylist: Bool {
        switch self {
        case .hls, .dash: true
        case .opaque, .html, .xhtml, .css, .javaScript, .svg, .xml, .json, .webManifest, .importMap,
            .speculationRules, .jsonLD, .webVTT, .sitemap, .feed, .plainText, .pagefindIndex:
            false
        }
    }

    /// Whether a different body of this format may affect the scripts of a page.
    package var affectsScripts: Bool {
        switch self {
        case .html, .xhtml, .xml, .javaScript, .importMap, .json, .jsonLD, .webManifest, .feed, .plainText:
            true
        case .opaque, .css, .svg, .speculationRules, .hls, .dash, .webVTT, .sitemap, .pagefindIndex: false
        }
    }

    /// Returns the format in the form that a store keeps with a body, which is the part before the semicolon.
    package init?(form: String) {
        self.init(name: String(form.prefix { $0 != ";" }))
    }
}

// MARK: - Detection of the format

extension BodyFormat {
    /// Determines the format by the media type, and by the URL's file name and the first bytes if the type is
    /// missing or too general.
    package init(mediaType: MediaType?, url: WebURL, body: Span<UInt8>) {
        let essence = mediaType?.essence ?? ""
        if let format = Self.format(ofEssence: essence) {
            self = format
            return
        }
        let sniffed = body.withUnsafeBufferPointer { Self.sniff($0, path: url.path) }
        switch essence {
        case "text/plain":
            // Plain text is never markup, but scripts and playlists are often sent with this type.
            self = sniffed.isMarkup ? .plainText : sniffed
        case "text/xml", "application/xml":
            self = body.withUnsafeBufferPointer { Self.sniffXML($0) }
        case "application/json", "text/json":
            self = sniffed == .webManifest ? .webManifest : .json
        default:
            self = sniffed
        }
    }

    /// Whether the media type alone excludes links in the body.
    package static func isOpaque(_ mediaType: MediaType?) -> Bool {
        format(ofEssence: mediaType?.essence ?? "") == .opaque
    }

    /// Whether a body of this media type contains links to the assets that it needs.
    package static func linksToAssets(_ mediaType: MediaType?) -> Bool {
        [.html, .xhtml, .css, .svg].contains(format(ofEssence: mediaType?.essence ?? ""))
    }

    /// Returns the format of a media type; nil if the type is too general.
    private static func format(ofEssence essence: String) -> BodyFormat? {
        switch essence {
        case "text/html": return .html
        case "application/xhtml+xml": return .xhtml
        case "text/css": return .css
        case "image/svg+xml": return .svg
        case "application/manifest+json": return .webManifest
        case "application/importmap+json": return .importMap
        case "application/speculationrules+json": return .speculationRules
        case "application/ld+json": return .jsonLD
        case "application/vnd.apple.mpegurl", "application/x-mpegurl", "audio/mpegurl", "audio/x-mpegurl":
            return .hls
        case "application/dash+xml": return .dash
        case "application/rss+xml", "application/atom+xml", "application/rdf+xml": return .feed
        case "text/vtt": return .webVTT
        case "text/xsl", "text/xslt": return .xml
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
        case .css, .javaScript, .json, .webManifest, .importMap, .speculationRules, .jsonLD, .hls, .dash,
            .webVTT,
            .sitemap, .pagefindIndex,
            .plainText:
            false
        }
    }

    /// Whether a media type is one of JavaScript (MIME Sniffing standard).
    static func isJavaScript(_ essence: Bytes) -> Bool {
        let names: [StaticString] = [
            "text/javascript", "application/javascript", "application/ecmascript", "application/x-ecmascript",
            "application/x-javascript", "text/ecmascript", "text/x-ecmascript", "text/x-javascript",
            "text/jscript",
            "text/livescript", "text/javascript1.0", "text/javascript1.1", "text/javascript1.2",
            "text/javascript1.3",
            "text/javascript1.4", "text/javascript1.5",
        ]
        return names.contains { essence.equals($0) }
    }

    private static func sniff(_ body: Bytes, path: String) -> BodyFormat {
        let name = path.utf8.suffix(16).map(\.lowercased)
        let suffix = name.lastIndex(of: UInt8(ascii: ".")).map {
            String(decoding: name[($0 + 1)...], as: UTF8.self)
        }
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
        case "pf_meta": return .pagefindIndex
        case "rss", "atom", "rdf": return .feed
        case "xml", "xsl", "xslt": return sniffXML(body)
        default: return sniffContent(body)
        }
    }

    /// Returns the format by the first bytes.
    private static func sniffContent(_ body: Bytes) -> BodyFormat {
        var start = body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        while start < body.count, body[start].isSpace { start += 1 }
        let head = body.part(start..<min(body.count, start + 1024))
        if head.starts(with: "#extm3u") { return .hls }
        if head.starts(with: "webvtt") { return .webVTT }
        if head.starts(with: "<?xml") { return sniffXML(body) }
        for mark: StaticString in [
            "<!doctype html", "<html", "<head", "<body", "<script", "<title", "<meta", "<!--",
        ]
        where head.starts(with: mark) { return .html }
        if head.starts(with: "<svg") { return .svg }
        if let first = head.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return .json }
        return .opaque
    }

    /// Returns the format of an XML document by its root element. Elements inside it say nothing: an XSLT style sheet
    /// contains the HTML that it makes.
    private static func sniffXML(_ body: Bytes) -> BodyFormat {
        let head = body.part(0..<min(body.count, 4096))
        var lexer = XMLLexer(head)
        while let token = lexer.next() {
            guard case .start(let tag) = token else { continue }
            let name = head.part(tag.name)
            let local = name.part((name.lastIndex(of: UInt8(ascii: ":")) ?? -1) + 1..<name.count)
            let formats: [(StaticString, BodyFormat)] = [
                ("svg", .svg), ("html", .xhtml), ("urlset", .sitemap), ("sitemapindex", .sitemap),
                ("rss", .feed),
                ("feed", .feed), ("mpd", .dash),
            ]
            return formats.first { local.equals($0.0) }?.1 ?? .xml
        }
        return .xml
    }

    // MARK: - Scanning

    /// Finds the links of a text in this format: a whole body, or a script or style sheet inside one.
    ///
    /// A scanner adds each link to the sink with its place in the text, in ascending order. A format without
    /// a scanner has no links.
    func scan(_ text: SourceText, _ sink: LinkSink) {
        switch self {
        case .html: HTMLScanner.scan(text, sink)
        case .css: CSSScanner.scan(text, sink)
        case .javaScript: ScriptScanner.scan(text, sink)
        case .xhtml, .svg, .xml, .json, .webManifest, .importMap, .speculationRules, .jsonLD, .hls, .dash,
            .webVTT,
            .sitemap, .feed, .pagefindIndex:
            scanOther(text, sink)
        case .plainText, .opaque: break
        }
    }

    /// Finds the links of formats other than HTML, CSS and scripts.
    private func scanOther(_ text: SourceText, _ sink: LinkSink) {
        switch self {
        case .svg, .xhtml:
            XMLProlog.scan(text, sink)
            HTMLScanner.scan(text, sink, isXML: true)
        case .xml: XMLScanner.scan(text, sink, XMLDocumentVocabulary())
        case .sitemap: SitemapVocabulary.scan(text, sink)
        case .feed: XMLScanner.scan(text, sink, FeedVocabulary())
        case .dash: DASHVocabulary.scan(text, sink)
        case .hls: PlaylistScanner.scan(text, sink)
        case .webVTT: CaptionScanner.scan(text, sink)
        case .pagefindIndex: PagefindIndex.scan(text, sink)
        case .json: JSONScanner.document(text, sink)
        case .webManifest: JSONScanner.scan(text, sink) { $1.webManifest($0) }
        case .importMap: JSONScanner.scan(text, sink) { $1.importMap($0) }
        case .speculationRules: JSONScanner.scan(text, sink) { $1.speculationRules($0) }
        case .jsonLD: JSONScanner.scan(text, sink) { $1.linkedData($0) }
        case .html, .css, .javaScript, .plainText, .opaque: break
        }
    }
}
