package import Web

extension DocumentText {
    /// The rest of a longer text is ignored, since indexing more has no use.
    static let maxTextBytes = 4 << 20
    /// Further sections are ignored.
    static let maxSections = 10_000
    /// Longer titles are truncated.
    static let maxTitleBytes = 300
    /// Longer anchors are ignored.
    static let maxAnchorBytes = 400

    /// Whether bodies of this format contain text to read.
    package static func hasText(_ format: BodyFormat) -> Bool {
        switch format {
        case .html, .xhtml, .plainText, .feed: true
        case .opaque, .css, .javaScript, .svg, .xml, .json, .webManifest, .importMap, .speculationRules,
            .jsonLD,
            .hls, .dash, .webVTT, .sitemap, .pagefindIndex:
            false
        }
    }

    /// Reads a stored body by its form, which is its format and character set.
    package init(_ body: Span<UInt8>, form: String) {
        self.init()
        let format = BodyFormat(form: form) ?? .opaque
        let charset = form.firstIndex(of: ";").map { String(form[form.index(after: $0)...]) }
        let encoding = charset.flatMap { TextEncoding(label: $0) } ?? .utf8
        guard Self.hasText(format), body.count <= BodyReading.maxBytes else { return }
        switch format {
        case .html, .xhtml: self = HTMLTextReader.read(encoding.decode(body))
        case .feed: self = FeedText.read(encoding.decode(body))
        default: self = PlainText.read(encoding.decode(body))
        }
    }

    /// Reads HTML as delivered.
    ///
    /// - Parameter charset: The character set in the HTTP header.
    package init(html body: Span<UInt8>, charset: String?) {
        self.init()
        guard body.count <= BodyReading.maxBytes else { return }
        let encoding = body.withUnsafeBufferPointer { BodyFormat.html.encoding(of: $0, charset: charset) }
        self = HTMLTextReader.read(encoding.decode(body))
    }

    /// Reads Markdown in UTF-8.
    package init(markdown body: Span<UInt8>) {
        self.init()
        guard body.count <= BodyReading.maxBytes else { return }
        self = PlainText.readMarkdown(TextEncoding.utf8.decode(body))
    }

    /// Reads the plain text that another program extracted from a document, in UTF-8.
    package init(plain body: Span<UInt8>) {
        self.init()
        guard body.count <= BodyReading.maxBytes else { return }
        self = PlainText.read(TextEncoding.utf8.decode(body))
    }

    mutating func addSection(_ start: Int, anchor: String, title: String) {
        guard sections.count < Self.maxSections else { return }
        sections.append(Section(start: start, anchor: anchor, title: Self.truncateTitle(title)))
    }

    /// Returns a title cut to the maximum length.
    static func truncateTitle(_ title: String) -> String {
        title.utf8.count <= maxTitleBytes ? title : String(title.unicodeScalars.prefix(maxTitleBytes / 2))
    }
}
