extension BodyFormat {
    /// Finds the links of what is neither HTML, CSS nor a script.
    func scanOther(_ text: SourceText, _ sink: LinkSink) {
        switch self {
        case .svg, .xhtml:
            XMLProlog.scan(text, sink)
            HTMLScanner.scan(text, sink, isXML: true)
        case .xml: XMLScanner.scan(text, sink, XMLDocumentVocabulary())
        case .sitemap: SitemapVocabulary.scan(text, sink)
        case .feed: XMLScanner.scan(text, sink, FeedVocabulary())
        case .dash: XMLScanner.scan(text, sink, DASHVocabulary())
        case .hls: PlaylistScanner.scan(text, sink)
        case .webVTT: CaptionScanner.scan(text, sink)
        case .json: JSONScanner.document(text, sink)
        case .webManifest: JSONScanner.scan(text, sink) { $1.webManifest($0) }
        case .importMap: JSONScanner.scan(text, sink) { $1.importMap($0) }
        case .speculationRules: JSONScanner.scan(text, sink) { $1.speculationRules($0) }
        case .jsonLD: JSONScanner.scan(text, sink) { $1.linkedData($0) }
        case .html, .css, .javaScript, .plainText, .opaque: break
        }
    }
}
